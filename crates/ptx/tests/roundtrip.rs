//! Random modules verify, and come back equal from their text.
#![allow(missing_docs)]

mod common;

use common::Random;
use proptest::prelude::*;
use warpsmith_ptx::{
    cfg::Cfg,
    ir::Reg,
    isa,
    parse::parse,
    print::print,
    target::{Suffix, Target},
    types::Type,
    uniform,
    verify::verify,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn printing_then_parsing_is_the_identity(seed: u64, sm in prop::sample::select(vec![75u16, 80, 90, 100]), count in 0usize..120) {
        let module = common::random(&mut Random(seed), Target::sm(sm), count);
        let text = print(&module);
        let verified = verify(module.clone());
        prop_assert!(verified.is_ok(), "{:#?}\n{}", verified.err(), text);
        let parsed = parse(&text);
        prop_assert_eq!(parsed.as_ref(), Ok(&module), "{}", text);
        // The analyses take anything that verifies.
        let cfg = Cfg::new(&module.functions[0]);
        let uniform = uniform::analyze(&module.functions[0], &cfg);
        prop_assert!(uniform.convergent(0));
    }

    #[test]
    fn registers_in_any_order_survive(order in Just((0u32..24).collect::<Vec<_>>()).prop_shuffle()) {
        let mut module = common::module(Target::sm(80));
        module.functions[0].regs = order
            .iter()
            .map(|number| Reg {
                ty: if number % 3 == 0 { Type::F32 } else { Type::B32 },
                prefix: if number % 3 == 0 { "%f" } else { "%r" }.into(),
                number: Some(*number),
            })
            .collect();
        common::finish(&mut module);
        let text = print(&module);
        let parsed = parse(&text);
        prop_assert_eq!(parsed.as_ref(), Ok(&module), "{}", text);
    }
}

/// Names that end in digits, run over a power of ten, do not follow each other, or are long.
#[test]
fn names_of_registers_survive() -> Result<(), Vec<warpsmith_ptx::diag::Diagnostic>> {
    for prefix in [
        "%r",
        "%r1",
        "%r9",
        "%a_rather_long_prefix",
        "%fourteen_long",
        "x$",
    ] {
        let last = 1002;
        let copies: String = (0..last)
            .map(|at| format!("mov.b32 {prefix}{}, {prefix}{at};\n", at + 1))
            .collect();
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n\
             .reg .b32 {prefix}<{}>;\n.reg .b32 %s7;\n.reg .b32 %s;\n\
             mov.b32 {prefix}0, 5;\n{copies}mov.b32 %s7, {prefix}{last};\nmov.b32 %s, %s7;\nret;\n}}\n",
            last + 1
        );
        let module = parse(&text)?;
        let printed = print(&module);
        assert_eq!(parse(&printed)?, module, "{prefix}");
        // Spaces apart, the text is the one that came in.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&printed), words(&text), "{prefix}");
    }
    Ok(())
}

#[test]
fn each_row_is_built_verified_and_read_back() {
    let mut random = Random(7);
    for row in isa::rows() {
        let target = match row.needs[0].target {
            first if first.suffix == Suffix::None => Target::sm(120),
            first => first,
        };
        for _ in 0..8 {
            let Some(inst) = common::instruction(&mut random, row, target) else {
                continue;
            };
            let mut module = common::module(target);
            common::push(&mut module, inst);
            common::finish(&mut module);
            let text = print(&module);
            verify(module.clone()).unwrap_or_else(|found| panic!("{found:#?}\n{text}"));
            assert_eq!(parse(&text), Ok(module), "{text}");
        }
    }
}
