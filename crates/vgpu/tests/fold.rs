//! Single instructions on constants give what NVIDIA's assembler computes when it folds them.
//!
//! Each line of `fold.txt` is a statement and its result, read from the code that ptxas 13.5 writes for sm_100.
#![allow(missing_docs)]

use std::fmt::Write as _;
use warpsmith_ptx::{
    parse::parse,
    target::PtxVersion,
    verify::{Verified, verify},
};
use warpsmith_vgpu::{Compile, Config, Launch, Machine};

const HEADER: &str = ".version 8.6\n.target sm_100\n.address_size 64\n";

/// A kernel that stores register 0 of the class that the statement mentions first.
fn kernel(text: &mut String, index: usize, statement: &str) {
    let class = statement
        .match_indices('%')
        .map(|(at, _)| &statement[at + 1..at + 3])
        .find(|name| name.ends_with('0'))
        .map_or("d0", |name| name);
    let store = match class {
        "l0" => "st.global.u64 [%out], %l0;",
        "g0" => "mov.b64 %l9, %g0; st.global.u64 [%out], %l9;",
        "h0" => "cvt.u64.u16 %l9, %h0; st.global.u64 [%out], %l9;",
        "f0" => "mov.b32 %d9, %f0; cvt.u64.u32 %l9, %d9; st.global.u64 [%out], %l9;",
        "p0" => "selp.u64 %l9, 1, 0, %p0; st.global.u64 [%out], %l9;",
        _ => "cvt.u64.u32 %l9, %d0; st.global.u64 [%out], %l9;",
    };
    write!(
        text,
        ".visible .entry k{index}(.param .u64 o)\n{{\n.reg .b32 %d<10>;\n.reg .b64 %l<10>, %out;\n.reg .b16 %h<10>;\n\
         .reg .f32 %f<10>;\n.reg .f64 %g<10>;\n.reg .pred %p<10>;\nld.param.u64 %out, [o];\n{statement}\n{store}\nret;\n}}\n",
    )
    .expect("a string grows");
}

#[test]
fn instructions_on_constants_give_what_the_assembler_folds() {
    let cases: Vec<(&str, u64)> = include_str!("fold.txt")
        .lines()
        .map(|line| {
            let (statement, result) = line.split_once(" => 0x").expect("a result");
            let result = u64::from_str_radix(result, 16).expect("hexadecimal");
            (statement, result)
        })
        .collect();
    assert!(cases.len() > 2000);
    let mut text = HEADER.to_owned();
    for (index, (statement, _)) in cases.iter().enumerate() {
        kernel(&mut text, index, statement);
    }
    let module = parse(&text).unwrap_or_else(|e| panic!("{}", e[0]));
    let module = verify(module).unwrap_or_else(|e| panic!("{}", e[0]));
    for compile in [Compile::Never, Compile::Always] {
        gives(&module, &cases, compile);
    }
}

fn gives(module: &Verified, cases: &[(&str, u64)], compile: Compile) {
    let machine = Machine::new(Config {
        memory: 1 << 20,
        workers: 1,
        max_ptx: PtxVersion::new(9, 0),
        compile,
        ..Config::default()
    })
    .expect("a machine");
    let stream = machine.stream().expect("a stream");
    let module = machine.load(module).expect("loads");
    let out = machine.alloc(8).expect("memory");
    let mut faults = Vec::new();
    for (index, (statement, want)) in cases.iter().enumerate() {
        let launch = Launch {
            kernel: module.kernel(&format!("k{index}")).expect("there"),
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared: 0,
            params: out.to_le_bytes().to_vec(),
            cooperative: false,
            cluster: None,
        };
        if let Err(error) = stream.launch(launch).and_then(|()| stream.synchronize()) {
            faults.push(format!("{statement}: {error}"));
            continue;
        }
        let mut bytes = [0; 8];
        machine.read(out, &mut bytes).expect("in range");
        let got = u64::from_le_bytes(bytes);
        if got != *want {
            faults.push(format!("{statement}: {got:#x}, not {want:#x}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {}, {compile:?}:\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
}
