//! Each instruction form that NVIDIA's compiler emits for ordinary programs parses, verifies and can be run.
#![allow(missing_docs)]

#[path = "../../ptx/tests/common/mod.rs"]
mod modules;

use modules::Random;
use warpsmith_ptx::{
    isa,
    op::Op,
    parse::parse,
    print::print,
    qual::{Qual, Quals},
    target::{Suffix, Target},
    verify::verify,
};
use warpsmith_vgpu::{Config, Error, Launch, Machine};

/// Forms that need more than operands of their types: branches, calls and the parameters of calls, which
/// the programs of the suite have.
fn needs_context(op: Op, quals: &Quals) -> bool {
    modules::needs_context(op) || op == Op::Ret || (op == Op::St && quals.has(Qual::Param))
}

#[test]
fn each_form_can_be_run() {
    let machine = Machine::new(Config {
        memory: 16 << 20,
        workers: 1,
        ..Config::default()
    })
    .expect("a machine");
    let stream = machine.stream().expect("a stream");
    let mut random = Random(5);
    let mut faults = Vec::new();
    let mut count = 0;
    for line in include_str!("forms.txt").lines() {
        let (op, quals) = form(line);
        let Some(row) = isa::find(op, &quals) else {
            faults.push(format!("{line}: no row"));
            continue;
        };
        if needs_context(op, &quals) {
            continue;
        }
        count += 1;
        let target = match row.needs[0].target.suffix {
            Suffix::None => Target::sm(90),
            suffix => Target { sm: 90, suffix },
        };
        for _ in 0..4 {
            if let Err(error) = refusal(&mut random, &machine, &stream, (op, &quals), target) {
                faults.push(format!("{line}: {error}"));
            }
        }
    }
    assert!(count > 700, "{count}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn form(line: &str) -> (Op, Quals) {
    let mut words = line.split('.');
    let op = Op::from_name(words.next().unwrap_or("")).expect("an opcode");
    let words: Vec<Qual> = words
        .map(|word| Qual::from_name(word).expect("a qualifier"))
        .collect();
    (op, Quals::new(&words))
}

/// A kernel with a random instruction of a form, printed, parsed, verified and lowered.
fn refusal(
    random: &mut Random,
    machine: &Machine,
    stream: &warpsmith_vgpu::Stream,
    (op, quals): (Op, &Quals),
    target: Target,
) -> Result<(), Error> {
    let inst = (0..50)
        .find_map(|_| modules::instruction_of(random, op, quals, target))
        .expect("an instruction");
    let mut module = modules::module(target);
    modules::push(&mut module, inst);
    modules::finish(&mut module);
    let text = print(&module);
    let parsed = parse(&text).expect("parses");
    assert_eq!(parsed, module, "{text}");
    let verified = verify(parsed).unwrap_or_else(|found| panic!("{found:#?}\n{text}"));
    let loaded = machine.load(&verified)?;
    let kernel = loaded.kernel("kernel").expect("there");
    let launch = Launch {
        params: vec![0; kernel.param_bytes() as usize],
        kernel,
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        cooperative: false,
        cluster: None,
    };
    stream.prepare(vec![launch]).map(drop)
}
