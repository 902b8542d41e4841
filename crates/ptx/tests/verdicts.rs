//! What is legal: small modules, each with what NVIDIA's assembler says of it (`ptxas.rs` asks it).
#![allow(missing_docs)]

#[path = "common/verdicts.rs"]
mod verdicts;

use verdicts::{Verdict, cases};
use warpsmith_ptx::{
    diag::{Code, Diagnostic},
    ir::Span,
    parse::parse,
    print::print,
    verify::verify,
};

#[test]
fn we_take_what_the_assembler_takes_and_refuse_what_it_refuses() {
    let cases = cases();
    assert!(cases.len() > 500, "{}", cases.len());
    let mut faults = Vec::new();
    for case in &cases {
        let (verdict, found) = ours(&case.text);
        // What is wrong may have a part that is not done here.
        let fits = verdict == case.verdict
            || (case.verdict == Verdict::Refuses && verdict == Verdict::Unsupported);
        if !fits {
            faults.push(format!(
                "line {}: {:?} for {}, ours {verdict:?}: {}\n    {found:?}",
                case.line,
                case.verdict,
                case.arch,
                case.text.lines().last().unwrap_or_default(),
            ));
        }
    }
    let count = faults.len();
    assert!(faults.is_empty(), "{count} differ\n{}", faults.join("\n"));
}

#[test]
fn each_refusal_has_a_line() {
    for case in cases() {
        for one in ours(&case.text).1 {
            let has = matches!(one.span, Span::Ptx { .. });
            assert!(has, "line {}: {one}", case.line);
        }
    }
}

/// Who is told that an instruction is not done finds it in the manual.
#[test]
fn instructions_that_are_not_done_are_refused_with_their_section() {
    let sections = [
        ("tcgen05.", "9.7.16"),
        ("wgmma.mma_async.sp", "9.7.15.6"),
        ("stmatrix.sync.aligned.m16n8", "9.7.14.5.16"),
    ];
    for (form, section) in sections {
        let all = cases();
        let mut refused = all
            .iter()
            .filter(|case| case.verdict == Verdict::Unsupported && case.text.contains(form))
            .peekable();
        assert!(refused.peek().is_some(), "{form}");
        for case in refused {
            let found = ours(&case.text).1;
            let said = found[0].to_string();
            assert!(
                said.contains(&format!("PTX ISA {section}")),
                "{form}: {said}"
            );
        }
    }
}

#[test]
fn what_is_taken_survives_printing() {
    for case in cases() {
        let Ok(module) = parse(&case.text) else {
            continue;
        };
        let text = print(&module);
        let again = parse(&text).unwrap_or_else(|found| panic!("{found:#?}\n{text}"));
        assert_eq!(module, again, "line {}: {text}", case.line);
    }
}

/// What we make of a text, with the reasons.
fn ours(text: &str) -> (Verdict, Vec<Diagnostic>) {
    let found = match parse(text) {
        Ok(module) => verify(module).err().unwrap_or_default(),
        Err(found) => found,
    };
    let unsupported = |one: &Diagnostic| matches!(one.code, Code::Unsupported { .. });
    let verdict = match &found[..] {
        [] => Verdict::Takes,
        all if all.iter().all(unsupported) => Verdict::Unsupported,
        _ => Verdict::Refuses,
    };
    (verdict, found)
}
