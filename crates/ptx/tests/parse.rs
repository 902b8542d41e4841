//! The parser on text of many kinds, right and wrong.

use warpsmith_ptx::{
    diag::{Code, Diagnostic},
    ir::{Imm, Init, Module, Operand, Span, StmtKind},
    parse::parse,
    print::print,
    verify::verify,
};

fn body(text: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 input)\n{{\n{text}\n}}\n"
    )
}

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|found| panic!("{found:#?}\n{text}"));
    let printed = print(&module);
    let again = parse(&printed).unwrap_or_else(|found| panic!("{found:#?}\n{printed}"));
    assert_eq!(module, again, "{printed}");
    assert_eq!(printed, print(&again));
    module
}

fn faults(text: &str) -> Vec<(Code, u32)> {
    let found: Vec<Diagnostic> = parse(text).expect_err(text);
    found
        .into_iter()
        .map(|one| match one.span {
            Span::Ptx { line, .. } => (one.code, line),
            other => panic!("no line: {other}"),
        })
        .collect()
}

fn syntax(expected: &'static str, found: &str) -> Code {
    Code::Syntax {
        expected,
        found: found.to_owned(),
    }
}

#[test]
fn every_case_survives_printing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            module(&std::fs::read_to_string(&path).unwrap());
            seen += 1;
        }
    }
    assert!(seen >= 12, "{seen} cases");
}

#[test]
fn constants_have_their_values() {
    let text = body(
        ".reg .b32 %r<2>; .reg .b64 %rd; .reg .f32 %f; .reg .f64 %d;
         mov.u32 %r0, 0x1F; mov.u32 %r0, 017; mov.u32 %r0, 0b101; mov.u32 %r0, 'a';
         mov.u32 %r0, (1+2)*4-7%4; mov.u32 %r0, -5; mov.u64 %rd, 0xFFFFFFFFFFFFFFFFU;
         mov.u64 %rd, -9223372036854775808; mov.f32 %f, 0f3F800000; mov.f32 %f, -1.5;
         mov.f64 %d, 1e3; mov.u32 %r0, 1 ? 2 << 3 : 4; mov.u32 %r0, WARP_SZ; mov.u32 %r0, ~0;",
    );
    let module = module(&text);
    let values: Vec<Operand> = module.functions[0]
        .body
        .iter()
        .flatten()
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Inst(inst) => Some(inst.operands[1].clone()),
            _ => None,
        })
        .collect();
    let ints = [31, 15, 5, 97, 9, -5];
    for (value, want) in values.iter().zip(ints) {
        assert_eq!(*value, Operand::Imm(Imm::Int(want)));
    }
    let rest = [
        Imm::Uint(u64::MAX),
        Imm::Int(i64::MIN),
        Imm::F32(0x3F80_0000),
        Imm::F32((-1.5f32).to_bits()),
        Imm::F64(1000f64.to_bits()),
        Imm::Int(16),
    ];
    for (value, want) in values[6..].iter().zip(rest) {
        assert_eq!(*value, Operand::Imm(want));
    }
    assert_eq!(values[13], Operand::Imm(Imm::Int(-1)));
}

#[test]
fn nested_scopes_get_unique_names() {
    let text = body(
        ".reg .b32 %r<4>; .reg .pred p;
         { .reg .b32 t; .reg .b32 %r<2>; mov.b32 t, %r1; L: bra L; }
         { .reg .b32 t; .reg .pred p; mov.b32 t, %r3; L: @p bra L; }
         @!p bra DONE; DONE: ret;",
    );
    let printed = print(&module(&text));
    for part in [
        "t_1",
        "%r_1_<2>",
        "L_1:",
        "@p_1 bra L_1",
        "mov.b32 t, %r_1_1",
        "mov.b32 t_1, %r3",
    ] {
        assert!(printed.contains(part), "{part} in\n{printed}");
    }
}

#[test]
fn initialisers_may_name_what_comes_before() {
    let text = ".version 7.8 .target sm_80 .address_size 64
        .global .align 4 .b8 first[16] = {1, 0x2};
        .global .u64 t[3] = {first, generic(first)+8, 7};";
    let module = module(text);
    let Some(Init::List(items)) = &module.vars[1].init else {
        panic!("{:?}", module.vars[0]);
    };
    assert!(matches!(
        items[1],
        Init::Address {
            generic: true,
            offset: 8,
            ..
        }
    ));
    assert_eq!(
        faults(".version 7.8 .target sm_80\n.global .u64 t = late;\n.global .u32 late;"),
        vec![(
            Code::UnknownSymbol {
                name: "late".into()
            },
            2
        )]
    );
}

#[test]
fn faults_have_codes_and_lines() {
    let unknown = |name: &str| Code::UnknownSymbol {
        name: name.to_owned(),
    };
    assert_eq!(
        faults(&body(
            ".reg .b32 %r<2>;\nadd.s32 %r0, %r1, %r2;\nfoo.s32 %r0;\nadd.q32 %r0, %r0, 1;\nbra NOWHERE;\nmov.b32 %r0, {%r1;\nmov.u32 %r0, 99999999999999999999;\nmov.b32 %r0, 1/0;\n.reg .v4 .b32 %v;\n.weird 3;\nmov.u32 %r0, %r1.b0;"
        )),
        vec![
            (unknown("%r2"), 7),
            (Code::UnknownOpcode { name: "foo".into() }, 8),
            (
                Code::UnknownQualifier {
                    op: "add",
                    name: "q32".into()
                },
                9
            ),
            (
                Code::UndefinedLabel {
                    name: "NOWHERE".into()
                },
                10
            ),
            (syntax("}", ";"), 11),
            (
                Code::NumberOverflow {
                    text: "99999999999999999999".into()
                },
                12
            ),
            (Code::DivisionByZero, 13),
            (
                Code::Unsupported {
                    what: "vector registers".into()
                },
                14
            ),
            (
                Code::UnknownDirective {
                    name: ".weird".into()
                },
                15
            ),
            (syntax(";", ".b0"), 16),
        ]
    );
    assert_eq!(
        faults(".version 7.8\n.target sm_80\n/* open"),
        vec![(Code::UnterminatedComment, 3)]
    );
    assert_eq!(
        faults(".version 7.8\n.target sm_77\n"),
        vec![(
            Code::UnknownTarget {
                name: "sm_77".into()
            },
            2
        )]
    );
    assert_eq!(
        faults(".target sm_80"),
        vec![(
            Code::Head {
                name: ".target",
                rule: "must come behind `.version`"
            },
            1
        )]
    );
    assert_eq!(
        faults("// nothing"),
        vec![
            (Code::MissingDirective { name: ".version" }, 1),
            (Code::MissingDirective { name: ".target" }, 1)
        ]
    );
    assert_eq!(
        faults(&body(".reg .b32 %r<2000000>;")),
        vec![(
            Code::TooMany {
                what: "registers",
                limit: 1 << 20
            },
            6
        )]
    );
    assert_eq!(
        faults(".version 7.8\n.target sm_80\n.entry k()\n{\nret;"),
        vec![(Code::UnterminatedBody, 4)]
    );
    assert_eq!(
        faults(&body(".reg .b32 a;\n.reg .b32 a;\nL: L: ret;")),
        vec![
            (Code::DuplicateLabel { name: "L".into() }, 8),
            (Code::DuplicateSymbol { name: "a".into() }, 7),
        ]
    );
}

#[test]
fn deep_and_huge_text_ends_in_findings() {
    let deep = format!("mov.u32 %r0, {}1;", "(".repeat(100_000));
    let text = body(&format!(".reg .b32 %r0; {deep}"));
    assert!(matches!(faults(&text)[0].0, Code::TooDeep { .. }));
    let scopes = body(&format!("{}{}", "{".repeat(100_000), "}".repeat(100_000)));
    assert!(matches!(faults(&scopes)[0].0, Code::TooDeep { .. }));
    let many = body(&"bad;".repeat(100_000));
    assert!(faults(&many).len() <= 1000);
    let init = format!(
        ".version 7.8 .target sm_80 .global .u32 a[1] = {};",
        "{".repeat(50_000)
    );
    assert!(parse(&init).is_err());
}

#[test]
fn instructions_cut_short_are_refused() {
    for line in [
        "wmma;",
        "wmma.store;",
        "wmma.load;",
        "wmma.store.sync;",
        "mma;",
        "cp;",
        "cp.async;",
        "mul.lo;",
        "cvt.pack;",
        "cvta.to;",
        "shf.l;",
        "suld.b;",
        "barrier.cluster;",
        "st.async;",
        "ld.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32.f32;",
    ] {
        let verified = parse(&body(line)).and_then(verify);
        assert!(verified.is_err(), "{line}");
    }
}

#[test]
fn mutations_never_panic() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut refused = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let text = &text[..text.len().min(6000)];
        for _ in 0..60 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..1 + random(3) {
                let at = random(bytes.len());
                match random(5) {
                    0 => bytes[at] = b"{}[]();:.,<>@!|\"'/*-+%0aZ\n"[random(26)],
                    1 => {
                        bytes.remove(at);
                    }
                    2 => bytes.truncate(at.max(1)),
                    3 => {
                        let to = (at + random(40)).min(bytes.len());
                        let copy = bytes[at..to].to_vec();
                        let into = random(bytes.len());
                        bytes.splice(into..into, copy);
                    }
                    _ => {
                        let to = (at + random(40)).min(bytes.len());
                        bytes.drain(at..to);
                    }
                }
                if bytes.is_empty() {
                    bytes.push(b'.');
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            match parse(&text) {
                Ok(module) => {
                    let printed = print(&module);
                    assert_eq!(parse(&printed).as_ref(), Ok(&module), "{printed}");
                }
                Err(found) => {
                    assert!(!found.is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}
