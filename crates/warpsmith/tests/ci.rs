//! What a CI sees: SARIF at lines of the source, verdicts of `check`, files that are no PTX.

use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// Runs the program in a folder.
fn warpsmith(folder: &Path, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    let output = command
        .current_dir(folder)
        .args(args)
        .output()
        .expect("the program runs");
    let text = [output.stdout, output.stderr].concat();
    let status = output.status.code().expect("not killed");
    (status, String::from_utf8(text).expect("UTF-8"))
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

#[test]
fn sarif_points_at_the_source_and_relates_the_ptx() {
    let repository = folder(&[(".git/HEAD", ""), ("src/k.cu", "// 1\n")]);
    let root = fs::canonicalize(repository.path()).expect("a folder");
    // As nvcc writes it: the file by its whole path, a header of the toolkit too.
    let ptx = format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{\n.reg .b32 %r<3>; .reg .b64 %rd<2>;\n\
         ld.param.u64 %rd1, [out];\n.loc 1 12 5\nadd.u32 %r1, %r2, 1;\n.loc 2 7 1\nst.global.u32 [%rd1], %r2;\nret;\n}}\n\
         .file 1 \"{}\"\n.file 2 \"/usr/local/cuda/include/x.h\"\n",
        root.join("src/k.cu").display()
    );
    fs::create_dir_all(root.join("build")).expect("made");
    fs::write(root.join("build/k.ptx"), ptx).expect("written");
    let (status, out) = warpsmith(
        &root.join("build"),
        &["check", "k.ptx", "--format", "sarif"],
    );
    assert_eq!(status, 1, "{out}");
    let log: Value = serde_json::from_str(&out).expect("JSON");
    let run = &log["runs"][0];
    assert_eq!(run["automationDetails"]["id"], "check/");
    let base = &run["originalUriBaseIds"]["%SRCROOT%"]["uri"];
    assert_eq!(base, &json!(format!("file://{}/", root.display())));
    let places = |result: &Value| -> Vec<(String, String, u64)> {
        let related = result["relatedLocations"].as_array().expect("a list");
        let all = result["locations"]
            .as_array()
            .expect("a list")
            .iter()
            .chain(related);
        let place = |one: &Value| {
            let physical = &one["physicalLocation"];
            let artifact = &physical["artifactLocation"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (
                text(&artifact["uriBaseId"]),
                text(&artifact["uri"]),
                physical["region"]["startLine"].as_u64().expect("a line"),
            )
        };
        all.map(place).collect()
    };
    let results = run["results"].as_array().expect("a list");
    let here = |uri: &str, line| ("%SRCROOT%".to_owned(), uri.to_owned(), line);
    assert_eq!(
        places(&results[0]),
        [here("src/k.cu", 12), here("build/k.ptx", 8)]
    );
    // A header that is not in the repository cannot be shown there.
    assert_eq!(results.len(), 1, "{out}");
    // Where nothing is found the log is there, and empty.
    fs::write(
        root.join("clean.ptx"),
        format!("{HEAD}.visible .entry k() {{ ret; }}\n"),
    )
    .expect("written");
    let (status, out) = warpsmith(&root, &["check", "clean.ptx", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, &log["runs"][0]["results"]), (0, &json!([])));
}

/// A kernel whose last access is inlined twice: library code in a header of the user in the user's kernel.
fn inlined(root: &Path) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{\n.reg .b32 %r<3>; .reg .b64 %rd<2>;\n\
         .loc 1 12 5\nld.param.u64 %rd1, [out];\n\
         .loc 2 30 9, function_name S + 4, inlined_at 1 12 5\n\
         .loc 3 7 1, function_name S, inlined_at 2 30 9\nst.global.u32 [%rd1], %r2;\nret;\n}}\n\
         .file 1 \"{0}/src/k.cu\"\n.file 2 \"{0}/src/own.h\"\n.file 3 \"/usr/local/cuda/include/x.h\"\n\
         .section .debug_str {{\nS:\n.b8 95,90,51,0\n.b8 95,90,52,0\n}}\n",
        root.display()
    )
}

#[test]
fn a_finding_in_inlined_code_is_at_the_innermost_own_place() {
    let repository = folder(&[(".git/HEAD", ""), ("src/k.cu", "// 1\n")]);
    let root = fs::canonicalize(repository.path()).expect("a folder");
    fs::write(root.join("k.ptx"), inlined(&root)).expect("written");
    let own = format!("{}/src/own.h:30", root.display());
    let kernel = format!("{}/src/k.cu:12", root.display());
    let library = "/usr/local/cuda/include/x.h:7";

    let (_, out) = warpsmith(&root, &["check", "k.ptx", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&out).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    let place = |one: &Value| {
        let physical = &one["physicalLocation"];
        let uri = physical["artifactLocation"]["uri"].as_str();
        let line = physical["region"]["startLine"].as_u64();
        let message = one["message"]["text"].as_str().unwrap_or_default();
        format!(
            "{} {} {message}",
            uri.expect("a file"),
            line.expect("a line")
        )
    };
    let all = |list: &Value| -> Vec<String> {
        list.as_array().expect("a list").iter().map(place).collect()
    };
    assert_eq!(all(&result["locations"]), ["src/own.h 30 "], "{out}");
    assert_eq!(
        all(&result["relatedLocations"]),
        [
            "k.ptx 10 the PTX instruction",
            "file:///usr/local/cuda/include/x.h 7 the code that was inlined",
            "src/k.cu 12 where that was inlined"
        ]
    );
    assert_eq!(result["properties"]["source"], own);

    let (_, out) = warpsmith(&root, &["check", "k.ptx", "--format", "json"]);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let finding = &json["findings"][0];
    assert_eq!(finding["source"], own);
    assert_eq!(finding["inlined"], json!([library, own, kernel]));

    let (_, out) = warpsmith(&root, &["check", "k.ptx"]);
    let lines =
        format!("   = from {own}\n   = code inlined there: {library}\n   = inlined at {kernel}\n");
    assert!(out.contains(&lines), "{out}");
    // A run says the same, as it goes and at its end.
    let args = ["run", "k.ptx", "--entry", "k", "--arg", "zero:0", "--check"];
    let (status, out) = warpsmith(&root, &args);
    assert_eq!((status, out.contains(&lines)), (1, true), "{out}");

    // Where nothing of it is the user's own, it is where the code stands.
    let other = tempfile::tempdir().expect("a folder");
    fs::write(other.path().join("k.ptx"), inlined(&root)).expect("written");
    let (_, out) = warpsmith(other.path(), &["check", "k.ptx", "--format", "json"]);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["findings"][0]["source"], library);
}

#[test]
fn a_note_is_nobodys_bug() {
    let text = format!("{HEAD}.visible .entry k() .maxntid 2048 {{ ret; }}");
    let folder = folder(&[("k.ptx", &text)]);
    let (status, out) = warpsmith(folder.path(), &["check", "k.ptx"]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("note[launch_bounds]"), "{out}");
    assert!(out.contains("= verdict: no fault\n"), "{out}");
    let (_, out) = warpsmith(folder.path(), &["check", "k.ptx", "--format", "json"]);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["findings"][0]["verdict"], "no fault");
}

#[test]
fn the_limit_of_a_driver_is_a_version_that_there_is() {
    let text = format!("{HEAD}.visible .entry k() {{ ret; }}");
    let folder = folder(&[("k.ptx", &text)]);
    for version in ["7.9", "9.6", "0.1", "10.0"] {
        let (status, out) = warpsmith(folder.path(), &["check", "k.ptx", "--ptx-limit", version]);
        assert_eq!(status, 2, "{out}");
        let says = format!("no PTX version is known as {version}, those there are: 1.0 to 1.5,");
        assert!(
            out.contains(&says) && out.contains("7.0 to 7.8, 8.0 to 8.8"),
            "{out}"
        );
    }
    let (status, out) = warpsmith(folder.path(), &["check", "k.ptx", "--ptx-limit", "7.8"]);
    assert_eq!(status, 1, "{out}");
    let shown = "k.ptx:1:10\n    1 | .version 8.0\n      |          ^~~\n";
    assert!(out.contains(shown), "{out}");
}

#[test]
fn verdicts_tell_a_bug_from_what_is_not_done_here() {
    let kernel = ".visible .entry k() { ret; }";
    let long = "a module of two";
    let bug = "bug in the kernel";
    let other = "not supported here";
    for (text, status, state, kind, verdict) in [
        (format!("{HEAD}.const .b8 a[40000];\n.const .b8 b[40000];\n{kernel}"), 1, "findings", "const_limit", bug),
        (format!("{HEAD}.visible .entry k() {{ .local .align 4 .b8 a[600000]; .reg .b32 %r<3>; mov.u32 %r1, 0; st.local.u32 [a], %r1; ret; }}"), 1, "findings", "local_limit", bug),
        (format!("{HEAD}.visible .entry k(.param .b8 p[4353]) {{ ret; }}"), 1, "findings", "param_limit", bug),
        (format!("{HEAD}.visible .entry k() .maxnreg 0 {{ ret; }}"), 1, "findings", "launch_bounds", bug),
        (format!("{HEAD}.visible .entry k() .maxntid 32 .reqntid 32 {{ ret; }}"), 1, "findings", "launch_bounds", bug),
        (format!("{HEAD}.visible .entry k() .reqntid 2048 {{ ret; }}"), 1, "findings", "launch_bounds", bug),
        (format!("{HEAD}.visible .entry k() .maxntid 32 .maxntid 64 {{ ret; }}"), 1, "findings", "launch_bounds", bug),
        (format!("{HEAD}.target sm_80\n{kernel}"), 2, "error", "syntax", bug),
        (format!("{HEAD}{HEAD}{kernel}"), 2, "error", "syntax", bug),
        (format!("{HEAD}.global .u32 g[];\n{kernel}"), 2, "error", "syntax", bug),
        (format!("{HEAD}.visible .func f() {{ ret; }}\n.visible .func g();\n.alias g, f;\n{kernel}"), 2, "unsupported", "unsupported", other),
        (format!("{HEAD}.global .texref t;\n{kernel}"), 2, "unsupported", "unsupported", other),
        (format!("{HEAD}.extern .func f();\n.visible .entry k() {{ call f; ret; }}"), 2, "unsupported", "unsupported", other),
        (format!(".version 9.9\n.target sm_80\n.address_size 64\n{kernel}"), 2, "unsupported", "unsupported", other),
        (".version 9.5\n.target sm_100a\n.address_size 64\n.visible .entry k() { tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned; ret; }".to_owned(), 2, "unsupported", "unsupported", other),
    ] {
        let folder = folder(&[("k.ptx", &text)]);
        let (found, out) = warpsmith(folder.path(), &["check", "k.ptx", "--format", "json"]);
        let json: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{long}: {out}"));
        assert_eq!((found, json["status"].as_str()), (status, Some(state)), "{text}\n{out}");
        let first = &json["findings"][0];
        assert_eq!((first["kind"].as_str(), first["verdict"].as_str()), (Some(kind), Some(verdict)), "{text}\n{out}");
        assert!(first["line"].is_u64(), "{text}\n{out}");
    }
}

#[test]
fn files_that_are_no_ptx_say_what_they_are() {
    let folder = folder(&[
        ("reduce.cu", "__global__ void k(float *x) { x[0] = 1; }\n"),
        ("kernel.h", "#pragma once\n__global__ void k();\n"),
        ("k.ll", "target triple = \"nvptx64\"\n"),
        ("k.cubin", "\x7fELF\u{2}\u{1}"),
    ]);
    for (file, says) in [
        (
            "reduce.cu",
            "reduce.cu is CUDA C++, expected PTX; `nvcc -ptx -lineinfo",
        ),
        ("kernel.h", "kernel.h is CUDA C++"),
        ("k.ll", "k.ll is LLVM IR, expected PTX"),
        (
            "k.cubin",
            "k.cubin is a compiled binary, expected PTX; `cuobjdump -ptx",
        ),
    ] {
        for args in [&["check", file][..], &["run", file, "--entry", "k"]] {
            let (status, out) = warpsmith(folder.path(), args);
            assert!(status == 2 && out.contains(says), "{status} {out}");
        }
    }
}

#[test]
fn a_device_has_what_is_specific_to_it() {
    let text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { wgmma.fence.sync.aligned; ret; }\n";
    let family = ".version 8.8\n.target sm_120f\n.address_size 64\n.visible .entry k() { setmaxnreg.inc.sync.aligned.u32 64; ret; }\n";
    let folder = folder(&[("k.ptx", text), ("f.ptx", family)]);
    for (file, sm, status) in [
        ("k.ptx", "90", 0),
        ("k.ptx", "90a", 0),
        ("k.ptx", "100", 1),
        ("f.ptx", "120", 0),
        ("f.ptx", "121a", 0),
        ("f.ptx", "110", 1),
        ("f.ptx", "90", 1),
    ] {
        let (found, out) = warpsmith(folder.path(), &["check", file, "--sm", sm]);
        assert_eq!(found, status, "{file} {sm}: {out}");
    }
    let (status, out) = warpsmith(folder.path(), &["check", "k.ptx", "--sm", "77"]);
    assert!(
        status == 2 && out.contains("sm_100(f,a)") && out.contains("sm_121(f,a)"),
        "{out}"
    );
}

#[test]
fn the_workflow_of_the_readme_is_the_one_to_begin_with() {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(house.join(name)).expect("readable");
    let workflow = read("docs/ci/kernels.yml");
    assert!(read("README.md").contains(&format!("```yaml\n{workflow}```")));
    // It names files that are there, but for the PTX that it makes.
    for name in ["kernels/reduce.cu", "tests/reduce.json"] {
        assert!(house.join("docs/ci").join(name).is_file(), "{name}");
    }
    let script = house.join("docs/ci/tests/reduce.json");
    let script = warpsmith::script::Script::read(&script).expect("a script");
    assert!(script.ptx.ends_with("../kernels/reduce.ptx"));
}
