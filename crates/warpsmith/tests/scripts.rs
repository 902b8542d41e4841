//! The format of run scripts: what contradicts itself is refused with its place, and the schema says the same.

#[path = "common/schema.rs"]
mod schema;

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use warpsmith::script::{Script, Settings, schema};

/// A kernel with a parameter of each kind.
const PTX: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.global .u32 table[4];\n\
    .visible .entry k(.param .u64 p, .param .u32 n, .param .f32 f, .param .b32 b, .param .align 8 .b8 s[16]) { ret; }\n\
    .visible .entry small() .reqntid 32 { ret; }\n";

/// A script with a bit of everything, and nothing wrong.
fn good() -> Value {
    json!({
        "description": "all of it", "ptx": "k.ptx", "target": "sm_80", "sms": 2, "max_blocks_per_sm": 2,
        "buffers": {
            "a": {"dtype": "f32", "count": 2, "bytes": 8, "init": {"file": "eight.bin"}, "expect": "unchanged",
                  "check": {"mode": "tol", "abs": 0.5, "rel": [0, 1]}},
            "b": {"bytes": 24, "init": {"fill": 0, "pointers": [{"offset": 0, "buffer": "a"}, {"offset": 8, "buffer": "a"}]}},
            "c": {"dtype": "i32", "count": 1, "init": {"uninitialized": true}}
        },
        "globals": [{"symbol": "table", "file": "eight.bin", "bytes": 8}],
        "launches": [{"kernel": "k", "grid": [1, 1, 1], "block": [32], "dynamic_smem": 0, "args": [
            {"kind": "ptr", "buffer": "a", "offset": 4},
            {"kind": "scalar", "type": "i32", "value": 1000, "hex": "e8030000"},
            {"kind": "scalar", "type": "f32", "value": 0.5},
            {"kind": "scalar", "hex": "00000000"},
            {"kind": "struct", "size": 16, "align": 8, "hex": "00000000000000000000000000000000",
             "pointers": [{"offset": 8, "buffer": "b"}]}]}],
        "freed": [{"launch": 0, "buffers": ["c"]}],
        "host_reads": ["a"], "leaked": ["b"], "co_resident": false, "cluster": null
    })
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let files: [(&str, &[u8]); 3] = [
        ("k.ptx", PTX.as_bytes()),
        ("eight.bin", &[0; 8]),
        ("twenty.bin", &[0; 20]),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    folder
}

/// What is said against a script, read and run.
fn said(folder: &Path, text: &str) -> Option<String> {
    let path = folder.join("s.json");
    fs::write(&path, text).expect("written");
    match Script::read(&path) {
        Err(error) => Some(error.to_string()),
        Ok(script) => {
            let report = script.run(&Settings::default());
            report.failure.map(|failure| failure.to_string())
        }
    }
}

/// Changes `good` at a JSON pointer; `None` takes the member away.
fn changed(pointer: &str, value: Option<Value>) -> Value {
    let mut script = good();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let place = script.pointer_mut(parent).expect("there");
    match (place, value) {
        (Value::Array(items), Some(value)) => {
            items[name.parse::<usize>().expect("a number")] = value
        }
        (Value::Object(members), Some(value)) => {
            members.insert(name.to_owned(), value);
        }
        (Value::Object(members), None) => {
            members.remove(name);
        }
        _ => panic!("{pointer}"),
    }
    script
}

/// What cannot be seen without the files, the other members or the kernel.
const BEYOND_SCHEMA: &str = "beyond";

#[test]
fn contradictions_are_refused_with_their_place() {
    let folder = folder();
    assert_eq!(said(folder.path(), &good().to_string()), None);
    let schema = schema();
    assert_eq!(schema::misfit(&schema, &schema, &good(), "$"), None);
    let arg = |at: usize, value: Value| (format!("/launches/0/args/{at}"), value);
    let at = |pointer: &str, value: Value| (pointer.to_owned(), value);
    let seen = "seen";
    let cases: Vec<((String, Value), &str, &str)> = vec![
        // Values against their bytes.
        (
            arg(
                1,
                json!({"kind": "scalar", "type": "i32", "value": 1000, "hex": "e9030000"}),
            ),
            "$.launches[0].args[1].hex: expected e8030000, the bytes of `value`, found \"e9030000\"",
            BEYOND_SCHEMA,
        ),
        (
            arg(1, json!({"kind": "scalar", "type": "u32", "hex": "e803"})),
            "$.launches[0].args[1].hex: expected the digits of 4 bytes",
            BEYOND_SCHEMA,
        ),
        (
            arg(1, json!({"kind": "scalar", "value": 3})),
            "$.launches[0].args[1].value: expected `type`",
            seen,
        ),
        (
            arg(1, json!({"kind": "scalar", "type": "u32"})),
            "$.launches[0].args[1]: expected `value` or `hex`",
            seen,
        ),
        (
            arg(1, json!({"kind": "scalar", "hex": ""})),
            "$.launches[0].args[1].hex",
            seen,
        ),
        (
            arg(1, json!({"kind": "scalar", "type": "u32", "value": -1})),
            "$.launches[0].args[1].value: expected a number that fits .u32",
            BEYOND_SCHEMA,
        ),
        // Types of parameters.
        (
            arg(1, json!({"kind": "scalar", "type": "f32", "value": 3})),
            "$.launches[0].args[1]: expected a .u32, the type of the parameter `n`, found a .f32",
            BEYOND_SCHEMA,
        ),
        (
            arg(1, json!({"kind": "scalar", "type": "u64", "value": 3})),
            "$.launches[0].args[1]: expected a .u32",
            BEYOND_SCHEMA,
        ),
        (
            arg(2, json!({"kind": "scalar", "type": "u32", "value": 3})),
            "$.launches[0].args[2]: expected a .f32",
            BEYOND_SCHEMA,
        ),
        (
            arg(2, json!({"kind": "ptr", "buffer": "a"})),
            "$.launches[0].args[2]: expected a .f32, the type of the parameter `f`, found an address",
            BEYOND_SCHEMA,
        ),
        (
            arg(3, json!({"kind": "scalar", "hex": "0000"})),
            "$.launches[0].args[3]: expected 4 bytes, the size of the parameter, found 2 bytes",
            BEYOND_SCHEMA,
        ),
        // Structs.
        (
            arg(4, json!({"kind": "struct", "size": 16, "hex": "00000000"})),
            "$.launches[0].args[4].hex: expected the digits of 16 bytes",
            BEYOND_SCHEMA,
        ),
        (
            arg(4, json!({"kind": "struct"})),
            "$.launches[0].args[4]: expected `size` or `hex`",
            seen,
        ),
        (
            arg(4, json!({"kind": "struct", "size": 16, "align": 3})),
            "$.launches[0].args[4].align: expected a power of two",
            BEYOND_SCHEMA,
        ),
        (
            arg(
                4,
                json!({"kind": "struct", "size": 16, "pointers": [{"offset": 9, "buffer": "b"}]}),
            ),
            "$.launches[0].args[4].pointers[0].offset",
            BEYOND_SCHEMA,
        ),
        (
            arg(
                4,
                json!({"kind": "struct", "size": 16, "pointers": [{"offset": 0, "buffer": "a"}, {"offset": 4, "buffer": "b"}]}),
            ),
            "$.launches[0].args[4].pointers[1].offset: expected 8 bytes that no other pointer has",
            BEYOND_SCHEMA,
        ),
        (
            arg(
                4,
                json!({"kind": "struct", "size": 16, "pointers": [{"offset": 0, "buffer": "z"}]}),
            ),
            "$.launches[0].args[4].pointers[0].buffer: expected the name of a buffer",
            BEYOND_SCHEMA,
        ),
        // Sizes.
        (
            at("/buffers/a/bytes", json!(12)),
            "$.buffers.a.bytes: expected 8, `count` times 4, found 12",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/a", json!({"dtype": "f32", "bytes": 10})),
            "$.buffers.a.bytes: expected a multiple of 4",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/a", json!({"dtype": "f32"})),
            "$.buffers.a: expected `bytes` or `count`",
            seen,
        ),
        (
            at("/buffers/a/init/file", json!("twenty.bin")),
            "$.buffers.a.init.file: expected a file of 8 bytes",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/a/expect", json!("twenty.bin")),
            "$.buffers.a.expect: expected a file of 8 bytes",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/b/init/pointers/1/offset", json!(4)),
            "$.buffers.b.init.pointers[1].offset: expected 8 bytes that no other",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/b/init/pointers/1/offset", json!(17)),
            "$.buffers.b.init.pointers[1].offset",
            BEYOND_SCHEMA,
        ),
        (
            at("/globals/0/bytes", json!(4)),
            "$.globals[0].bytes: expected 8, the size of the file",
            BEYOND_SCHEMA,
        ),
        (
            at(
                "/globals",
                json!([{"symbol": "table", "file": "twenty.bin"}]),
            ),
            "$.globals[0].file: expected at most the variable's 16 bytes, found 20 bytes",
            BEYOND_SCHEMA,
        ),
        (
            at("/globals/0/symbol", json!("tabel")),
            "$.globals[0].symbol: expected a variable of the module, found tabel",
            BEYOND_SCHEMA,
        ),
        (
            at(
                "/globals",
                json!([{"symbol": "table", "file": "eight.bin"}, {"symbol": "table", "file": "eight.bin"}]),
            ),
            "$.globals[1]: expected each name once",
            BEYOND_SCHEMA,
        ),
        // One of several.
        (
            at("/buffers/a/init/fill", json!(0)),
            "$.buffers.a.init.fill: expected one of `file`, `fill` and `uninitialized`",
            seen,
        ),
        (
            at("/buffers/b/init/uninitialized", json!(true)),
            "$.buffers.b.init.uninitialized: expected one of",
            seen,
        ),
        (
            at("/buffers/c/init/uninitialized", json!(false)),
            "$.buffers.c.init.uninitialized: expected true",
            seen,
        ),
        (
            at("/buffers/b/check", json!({"mode": "exact"})),
            "$.buffers.b.check: expected `expect` beside it",
            seen,
        ),
        // Tolerances.
        (
            at("/buffers/a/check", json!({"mode": "tol", "abs": -0.5})),
            "$.buffers.a.check.abs: expected a number that is not negative, found -0.5",
            seen,
        ),
        (
            at("/buffers/a/check", json!({"mode": "tol", "rel": [0, -1]})),
            "$.buffers.a.check.rel[1]: expected a number that is not negative",
            seen,
        ),
        (
            at("/buffers/a/check", json!({"mode": "tol", "abs": "nan"})),
            "$.buffers.a.check.abs: expected a number",
            seen,
        ),
        (
            at("/buffers/a/check", json!({"mode": "tol"})),
            "$.buffers.a.check: expected `abs` or `rel`",
            seen,
        ),
        (
            at("/buffers/a/check", json!({"mode": "exact", "abs": 1})),
            "$.buffers.a.check.abs",
            seen,
        ),
        (
            at("/buffers/a/check", json!({"mode": "exakt"})),
            "$.buffers.a.check.mode: expected `exact`",
            seen,
        ),
        // Names.
        (
            at("/buffers/a/expct", json!("unchanged")),
            "$.buffers.a.expct: expected another key, did you mean `expect`?, found the key `expct`",
            seen,
        ),
        (
            at("/buffers/a/init/fil", json!(0)),
            "$.buffers.a.init.fil: expected another key, did you mean `file`?",
            seen,
        ),
        (
            at("/launchs", json!([])),
            "$.launchs: expected another key, did you mean `launches`?",
            seen,
        ),
        (
            at("/launches/0/dynamic_shared", json!(0)),
            "$.launches[0].dynamic_shared: expected one of the keys kernel, grid",
            seen,
        ),
        (
            at("/globals/0/simbol", json!("x")),
            "$.globals[0].simbol",
            seen,
        ),
        (
            at("/freed/0/buffer", json!("c")),
            "$.freed[0].buffer: expected another key, did you mean `buffers`?",
            seen,
        ),
        (
            arg(0, json!({"kind": "ptr", "buffer": "a", "ofset": 4})),
            "$.launches[0].args[0].ofset",
            seen,
        ),
        (
            arg(0, json!({"kind": "pointer"})),
            "$.launches[0].args[0].kind: expected `ptr`",
            seen,
        ),
        (
            at("/buffers/a b", json!({"bytes": 4, "x": 1})),
            "$.buffers[\"a b\"].x: expected",
            seen,
        ),
        // What is given back.
        (
            at("/freed/0/launch", json!(1)),
            "$.freed[0].launch: expected a whole number from 0 to 0, found 1",
            BEYOND_SCHEMA,
        ),
        (
            at(
                "/freed",
                json!([{"launch": 0, "buffers": ["c"]}, {"launch": 0, "buffers": ["c"]}]),
            ),
            "$.freed[1].buffers[0]: expected each buffer once",
            BEYOND_SCHEMA,
        ),
        (
            at("/freed/0/buffers", json!(["a"])),
            "$.host_reads[0]: expected a buffer that `freed` does not name",
            BEYOND_SCHEMA,
        ),
        (
            at("/freed/0/buffers", json!(["b"])),
            "$.leaked[0]: expected a buffer that `freed` does not name",
            BEYOND_SCHEMA,
        ),
        (
            at("/host_reads", json!(["a", "a"])),
            "$.host_reads[1]: expected each name once",
            seen,
        ),
        (
            at("/host_reads", json!(["d"])),
            "$.host_reads[0]: expected the name of a buffer",
            BEYOND_SCHEMA,
        ),
        (
            at(
                "/buffers/d",
                json!({"bytes": 8, "init": {"file": "eight.bin"}}),
            ),
            "$.buffers.d: expected a buffer that a launch is given",
            BEYOND_SCHEMA,
        ),
        // Files that cannot be read.
        (
            at("/ptx", json!("no.ptx")),
            "$.ptx: cannot read ",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/a/init/file", json!("no.bin")),
            "$.buffers.a.init.file: cannot read ",
            BEYOND_SCHEMA,
        ),
        (
            at("/buffers/a/expect", json!("no.bin")),
            "$.buffers.a.expect: cannot read ",
            BEYOND_SCHEMA,
        ),
        (
            at("/globals/0/file", json!("no.bin")),
            "$.globals[0].file: cannot read ",
            BEYOND_SCHEMA,
        ),
        // The device.
        (
            at("/target", json!("sm_75")),
            "$.target: the module is for sm_80, the device is sm_75, in line ",
            BEYOND_SCHEMA,
        ),
        (
            at("/sms", json!(0)),
            "$.sms: expected a whole number from 1 to 1048576, found 0",
            seen,
        ),
        (
            at("/sms", json!(1_048_577)),
            "$.sms: expected a whole number from 1 to 1048576, found 1048577",
            seen,
        ),
        (
            at("/max_blocks_per_sm", json!(0)),
            "$.max_blocks_per_sm: expected a whole number from 1 to",
            seen,
        ),
        // Values of another type.
        (
            arg(1, json!({"kind": "scalar", "type": "u32", "value": true})),
            "$.launches[0].args[1].value: expected a number, found true",
            seen,
        ),
        // Launches.
        (
            at("/launches", json!([])),
            "$.launches: expected at least one launch, found a list of 0",
            seen,
        ),
        (
            at("/launches", Value::Null),
            "$.launches: expected at least one launch, found nothing",
            seen,
        ),
        (
            at("/launches/0/kernel", json!("kk")),
            "$.launches[0].kernel: expected a kernel of the module, such as k, small, found kk",
            BEYOND_SCHEMA,
        ),
        (
            at("/launches/0/grid", json!([0, 1, 1])),
            "$.launches[0].grid[0]: expected a whole number from 1 to 4294967295, found 0",
            seen,
        ),
        (
            at("/launches/0/grid", json!([1, 65536])),
            "$.launches[0].grid: expected at most 2147483647, 65535, 65535, found 1, 65536, 1",
            BEYOND_SCHEMA,
        ),
        (
            at("/launches/0/block", json!([1025])),
            "$.launches[0].block: expected at most 1024, 1024, 64, found 1025, 1, 1",
            BEYOND_SCHEMA,
        ),
        (
            at("/launches/0/block", json!([64, 32])),
            "$.launches[0].block: expected at most 1024 threads, found 64, 32, 1, which are 2048",
            BEYOND_SCHEMA,
        ),
        (
            at(
                "/launches",
                json!([{"kernel": "small", "grid": [1], "block": [64]}]),
            ),
            "$.buffers.a",
            BEYOND_SCHEMA,
        ),
        (
            at("/launches/0/grid", json!([1, 2, 3, 4])),
            "$.launches[0].grid: expected one to three",
            seen,
        ),
        (
            at("/target", json!("sm_77")),
            "$.target: expected a target",
            seen,
        ),
        (
            at("/co_resident", json!(1)),
            "$.co_resident: expected true or false",
            seen,
        ),
        (
            at("/variants", json!([1])),
            "$.variants[0]: expected text",
            seen,
        ),
    ];
    for ((pointer, value), says, where_seen) in cases {
        let script = changed(&pointer, Some(value));
        let fits = schema::misfit(&schema, &schema, &script, "$");
        assert_eq!(
            fits.is_none(),
            where_seen == BEYOND_SCHEMA,
            "{pointer} {says}: {fits:?}"
        );
        let text = serde_json::to_string_pretty(&script).expect("JSON");
        let found = said(folder.path(), &text).unwrap_or_else(|| panic!("{pointer}: {says}"));
        // The last but one needs a launch that uses what the others have.
        if says != "$.buffers.a" {
            assert!(found.starts_with(says), "{pointer}: {says}\n{found}");
            let line = found.rsplit_once(", in line ");
            let line = line.and_then(|(_, digits)| digits.parse::<usize>().ok());
            let line = line.unwrap_or_else(|| panic!("no line: {found}"));
            assert!((1..=text.lines().count()).contains(&line), "{found}");
        }
    }
    let without = changed("/ptx", None);
    assert!(schema::misfit(&schema, &schema, &without, "$").is_some());
    assert_eq!(
        said(folder.path(), &without.to_string()).as_deref(),
        Some("$.ptx: expected a PTX file, found nothing, in line 1")
    );
}

#[test]
fn the_line_of_a_contradiction_is_its_own() {
    let folder = folder();
    let text = "{\n  \"ptx\": \"k.ptx\",\n  \"buffers\": {\n    \"a\": {\"bytes\": 4},\n    \"b\": {\n      \"bytes\": 4,\n      \"expct\": \"x\"\n    }\n  }\n}\n";
    let found = said(folder.path(), text).expect("refused");
    assert!(found.ends_with("in line 7"), "{found}");
    let text =
        "{\n\"ptx\": \"k.ptx\",\n\"buffers\": {\"a\": {\"bytes\": 4},\n\"a\": {\"bytes\": 4}}}";
    let found = said(folder.path(), text).expect("refused");
    assert!(
        found.starts_with("$.buffers.a: expected each key once, found it twice"),
        "{found}"
    );
}

/// Every script of the repository.
fn all(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            all(&path, out);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            out.push(path);
        }
    }
}

#[test]
fn scripts_of_the_repository_fit_the_schema_and_the_reader() {
    let mut files = Vec::new();
    all(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/cases")),
        &mut files,
    );
    let schema = schema();
    let mut scripts = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        if json.get("launches").is_none() || json.get("ptx").is_none() {
            continue;
        }
        scripts += 1;
        assert_eq!(
            schema::misfit(&schema, &schema, &json, "$"),
            None,
            "{}",
            file.display()
        );
        if let Err(error) = Script::read(&file) {
            panic!("{}: {error}", file.display());
        }
    }
    assert!(scripts > 200, "{scripts}");
}
