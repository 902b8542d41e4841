//! What linked modules are.

use super::*;
use crate::fatbin::wrap;
use warpsmith_ptx::ir::Linkage;

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

fn linked(pieces: &[&str]) -> Result<String, String> {
    let pieces: Vec<(String, String)> = pieces
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("piece {at}"), format!("{HEAD}{text}")))
        .collect();
    let text = link_texts(&pieces)?;
    let module = parse(&text).map_err(|found| format!("{found:?}\n{text}"))?;
    warpsmith_ptx::verify::verify(module).map_err(|found| format!("{found:?}\n{text}"))?;
    Ok(text)
}

/// A function that gives `value`, with what it keeps to itself.
fn gives(name: &str, linkage: &str, value: u32) -> String {
    format!(
        ".global .u32 own = {value};\n{linkage} .func (.param .b32 r) {name}() {{ .reg .b32 %r<2>; .reg .b64 %d<2>;\n\
         mov.u64 %d1, own; ld.global.u32 %r1, [%d1]; st.param.b32 [r], %r1; ret; }}\n"
    )
}

const CALLS: &str = ".extern .func (.param .b32 r) f();\n.extern .global .u32 there;\n\
    .visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 %d1, [p];\n\
    { .param .b32 v; call.uni (v), f; ld.param.b32 %r1, [v]; }\n\
    mov.u64 %d2, there; ld.global.u32 %r2, [%d2]; add.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1; ret; }\n";

#[test]
fn what_one_declares_another_defines_in_any_order() {
    let there = ".visible .global .u32 there = 5;\n";
    let own = ".global .u32 own = 1;\n.visible .entry other(.param .u64 p) { ret; }\n";
    let f = gives("f", ".visible", 3);
    for pieces in [[CALLS, &*f, there, own], [own, there, &*f, CALLS]] {
        let text = linked(&pieces).expect("they link");
        let module = parse(&text).expect("PTX");
        let named = |name: &str| module.vars.iter().filter(|var| var.name == name).count();
        assert_eq!((named("there"), named("own")), (1, 1), "{text}");
        assert!(
            module.vars.iter().all(|var| var.linkage != Linkage::Extern),
            "{text}"
        );
        let bodies = module
            .functions
            .iter()
            .filter(|one| one.name == "f" && one.body.is_some());
        assert_eq!(bodies.count(), 1, "{text}");
        assert_eq!(module.vars.len(), 3, "{text}");
    }
}

#[test]
fn of_weak_definitions_one_is_left_and_a_strong_one_wins() {
    let there = ".visible .global .u32 there = 5;\n";
    let (weak, strong) = (gives("f", ".weak", 1), gives("f", ".visible", 2));
    for pieces in [
        [CALLS, there, &*weak, &*strong],
        [&*strong, &*weak, CALLS, there],
    ] {
        let text = linked(&pieces).expect("they link");
        let module = parse(&text).expect("PTX");
        let bodies: Vec<_> = module
            .functions
            .iter()
            .filter(|one| one.name == "f" && one.body.is_some())
            .collect();
        assert_eq!(bodies.len(), 1, "{text}");
        assert_eq!(bodies[0].linkage, Linkage::Visible, "{text}");
    }
    linked(&[CALLS, there, &weak, &weak]).expect("the first is taken");
}

#[test]
fn common_variables_are_one_and_as_large_as_the_largest() {
    let text = linked(&[
        ".common .global .align 4 .b8 c[4];\n",
        ".common .global .align 4 .b8 c[64];\n",
    ]);
    let module = parse(&text.expect("they link")).expect("PTX");
    assert_eq!(module.vars.len(), 1);
    assert_eq!(module.vars[0].bytes(), Some(64));
}

#[test]
fn modules_for_debugging_are_linked_without_what_only_debuggers_read() {
    let debug = ".version 7.0\n.target sm_70, debug\n.address_size 64\n.file 1 \"a.cu\"\n";
    let pieces = ["one", "two"].map(|name| {
        let text = format!("{debug}.visible .entry {name}() {{ .loc 1 3 0\nret; }}\n.section .debug_str {{ .b8 0 }}\n");
        (name.to_owned(), text)
    });
    let text = link_texts(&pieces).expect("they link");
    let module = parse(&text).expect("PTX");
    assert_eq!(
        (module.files.len(), module.functions.len()),
        (2, 2),
        "{text}"
    );
    assert!(warpsmith_ptx::verify::verify(module).is_ok(), "{text}");
}

#[test]
fn what_clashes_or_is_missing_is_named() {
    let strong = gives("f", ".visible", 2);
    let twice = linked(&[&strong, &strong]).expect_err("twice");
    assert_eq!(twice, "error: `f` is defined by piece 0 and by piece 1");
    let there = ".visible .global .u32 there = 5;\n";
    let twice = linked(&[there, there]).expect_err("twice");
    assert_eq!(twice, "error: `there` is defined by piece 0 and by piece 1");
    let other = ".visible .func (.param .b64 r) f() { ret; }\n";
    let other = linked(&[CALLS, other, there]).expect_err("another result");
    assert_eq!(
        other,
        "error: `f` has other parameters in piece 0 than in piece 1"
    );
    let missing = linked(&[CALLS, there]).expect_err("nothing defines it");
    assert!(
        missing.contains("function `f` of another module"),
        "{missing}"
    );
}

#[test]
fn the_device_runtime_comes_along_where_it_is_called() {
    let calls = format!(
        "{HEAD}.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n\
         .visible .entry k() {{ {{ .param .b32 s; st.param.b32 [s], 1; .param .b64 v; \
         call.uni (v), cudaCGGetIntrinsicHandle, (s); }} ret; }}\n"
    );
    let text = completed(&parse(&calls).expect("PTX"))
        .expect("they link")
        .expect("it is called");
    let module = parse(&text).expect("PTX");
    assert!(warpsmith_ptx::verify::verify(module).is_ok(), "{text}");
    assert_eq!(completed(&parse(HEAD).expect("PTX")), Ok(None));
}

#[test]
fn the_heap_comes_along_where_it_is_called_and_not_where_it_is_only_declared() {
    let declared = format!(
        "{HEAD}.extern .func (.param .b64 r) malloc(.param .b64 s);\n.extern .func free(.param .b64 p);\n.visible .entry k() {{\n"
    );
    let only = format!("{declared}ret; }}\n");
    assert_eq!(completed(&parse(&only).expect("PTX")), Ok(None));
    let calls = format!(
        "{declared}{{ .param .b64 s; st.param.b64 [s], 8; .param .b64 v; call.uni (v), malloc, (s); }} ret; }}\n"
    );
    let text = completed(&parse(&calls).expect("PTX"))
        .expect("they link")
        .expect("it is called");
    let module = parse(&text).expect("PTX");
    assert!(
        !module
            .functions
            .iter()
            .any(|one| GRID.contains(&one.name.as_ref())),
        "{text}"
    );
    assert!(warpsmith_ptx::verify::verify(module).is_ok(), "{text}");
}

#[test]
fn code_is_unwrapped() {
    assert_eq!(unwrapped(&wrap("text")), b"text");
    assert_eq!(unwrapped(b"text\0\0"), b"text");
    assert_eq!(unwrapped(b"\0"), b"");
}
