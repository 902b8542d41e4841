//! Calls that go wrong, and forms that no compiled program of the suite has.
#![allow(missing_docs)]

mod common;

use common::Bench;
use warpsmith_ptx::{parse, verify};
use warpsmith_vgpu::{Config, Error, FaultKind, Launch, Machine, Misuse, Tier, check::Checks};

fn fault(text: &str, params: &[u64]) -> FaultKind {
    let bench = Bench::new(text, Tier::best());
    match bench.run(1, 32, params) {
        Err(Error::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn recursion_without_end_is_a_full_stack() {
    // Without parameters, with some that lie on the stack, by way of another, and by a pointer.
    let texts = [
        (
            "f",
            ".func f()\n{\ncall.uni f;\nret;\n}\n.visible .entry k()\n{\ncall.uni f;\nret;\n}\n",
        ),
        (
            "deep",
            ".func (.param .b32 r) deep(.param .b64 x)\n{\n.reg .b64 %d<2>;\n.reg .b32 %r<2>;\n\
             ld.param.u64 %d0, [x];\nadd.u64 %d0, %d0, 1;\n{\n.param .b64 y;\n.param .b32 z;\n\
             st.param.b64 [y], %d0;\ncall.uni (z), deep, (y);\nld.param.b32 %r0, [z];\n}\n\
             st.param.b32 [r], %r0;\nret;\n}\n\
             .visible .entry k()\n{\n.param .b64 y;\n.param .b32 z;\nst.param.b64 [y], 1;\n\
             call.uni (z), deep, (y);\nret;\n}\n",
        ),
        (
            "grow",
            ".func grow(.param .b64 x)\n{\n.reg .b64 %d<3>;\nld.param.u64 %d0, [x];\n\
             alloca.u64 %d1, %d0;\nst.local.u64 [%d1], %d0;\nret;\n}\n\
             .visible .entry k()\n{\n.param .b64 y;\nst.param.b64 [y], 100000;\ncall.uni grow, (y);\nret;\n}\n",
        ),
    ];
    for (name, text) in texts {
        for checks in [None, Some(Checks::default())] {
            let config = Config {
                memory: 64 << 20,
                checks,
                ..Config::default()
            };
            let bench = Bench::with(text, config);
            match bench.run(1, 32, &[]) {
                Err(Error::Fault(fault)) => match fault.kind {
                    FaultKind::StackFull { function } => assert_eq!(function, name),
                    other => panic!("{name}: {other:?}"),
                },
                other => panic!("{name}: {other:?}"),
            }
            assert_eq!(bench.machine.take_findings(), [], "{name}");
        }
    }
}

#[test]
fn local_memory_has_bounds_whatever_the_alignment() {
    let text = ".visible .entry k()\n{\n.reg .b64 %d<2>;\n.local .align 8 .b8 own[64];\nmov.u64 %d0, own;\n\
                add.u64 %d0, %d0, 65536;\nst.local.u64 [%d0], %d0;\nret;\n}\n";
    assert_eq!(fault(text, &[]), FaultKind::OutOfBounds { bytes: 8 });
}

#[test]
fn a_parameter_is_read_by_its_generic_address_and_not_written() {
    let text = |what: &str| {
        format!(
            ".visible .entry k(.param .u64 out, .param .align 4 .b8 s[24])\n{{\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n\
             ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\n\
             mov.b64 %d2, s;\ncvta.param.u64 %d2, %d2;\n{what}ret;\n}}\n"
        )
    };
    // Of one place, of each lane's, and of two words at once.
    let reads = [
        ("ld.u32 %r1, [%d2+4];\nst.global.u32 [%d0], %r1;\n", [2, 2]),
        (
            "add.u64 %d2, %d2, %d1;\nld.u32 %r1, [%d2];\nst.global.u32 [%d0], %r1;\n",
            [1, 2],
        ),
        (
            "ld.v2.u32 {%r1, %r2}, [%d2+8];\nadd.u32 %r1, %r1, %r2;\nst.global.u32 [%d0], %r1;\n",
            [7, 7],
        ),
        (
            "cvta.to.param.u64 %d3, %d2;\nld.param.u32 %r1, [%d3+12];\nst.global.u32 [%d0], %r1;\n",
            [4, 4],
        ),
    ];
    for tier in Tier::available() {
        for (body, want) in reads {
            let bench = Bench::new(&text(body), tier);
            let out = bench.words(&[0; 2]);
            let values = [1u64 | 2 << 32, 3 | 4 << 32, 5 | 6 << 32];
            bench
                .run(1, 2, &[out, values[0], values[1], values[2]])
                .expect("runs");
            assert_eq!(bench.read(out, 2), want, "{body}");
        }
        for write in ["st.u32 [%d2], 1;\n", "red.add.u32 [%d2], 1;\n"] {
            let bench = Bench::new(&text(write), tier);
            match bench.run(1, 32, &[0; 4]) {
                Err(Error::Fault(fault)) => {
                    assert_eq!(fault.kind, FaultKind::Misuse(Misuse::ParameterStore));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_call_of_a_number_is_a_fault() {
    let text = ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<2>;\nld.param.u64 %d0, [p];\n\
                proto: .callprototype () _ ();\ncall %d0, proto;\nret;\n}\n";
    assert_eq!(fault(text, &[0x1234]), FaultKind::Misuse(Misuse::Callee));
}

#[test]
fn a_call_of_what_is_not_there_is_refused_by_name() {
    let text = ".extern .func (.param .b64 r) malloc(.param .b64 a);\n\
                .visible .entry k()\n{\n.param .b64 x;\n.param .b64 z;\n\
                call.uni (z), malloc, (x);\nret;\n}\n";
    let bench = Bench::new(text, Tier::best());
    let Err(Error::Unsupported { what, .. }) = bench.run(1, 32, &[]) else {
        panic!("it ran");
    };
    assert_eq!(what, "a call of malloc");
}

/// Threads below 2 print their number, a fraction, a text in global memory and a large integer.
const PRINTS: &str = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
    .global .b8 text[5] = {111, 110, 101, 0};\n\
    .global .b8 format[17] = {37, 117, 58, 37, 53, 46, 49, 102, 32, 37, 115, 32, 37, 108, 100, 10, 0};\n\
    .visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<8>;\n.reg .f64 %f<3>;\n.reg .pred %p;\n\
    .local .align 8 .b8 list[32];\n.param .b64 x;\n.param .b64 y;\n.param .b32 z;\n\
    ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nsetp.gt.u32 %p, %r0, 1;\n@%p bra done;\n\
    st.local.u32 [list], %r0;\ncvt.rn.f64.u32 %f0, %r0;\nmul.f64 %f0, %f0, 0d3FE0000000000000;\n\
    st.local.f64 [list+8], %f0;\nmov.u64 %d1, text;\ncvta.global.u64 %d1, %d1;\nst.local.u64 [list+16], %d1;\n\
    st.local.u64 [list+24], 1099511627776;\nmov.u64 %d2, format;\ncvta.global.u64 %d2, %d2;\n\
    mov.u64 %d3, list;\ncvta.local.u64 %d3, %d3;\nst.param.b64 [x], %d2;\nst.param.b64 [y], %d3;\n\
    call.uni (z), vprintf, (x, y);\nld.param.b32 %r1, [z];\nmul.wide.u32 %d4, %r0, 4;\n\
    add.u64 %d4, %d0, %d4;\nst.global.u32 [%d4], %r1;\ndone:\nret;\n}\n";

#[test]
fn what_kernels_print_is_kept_until_it_is_taken() {
    for checks in [None, Some(Checks::default())] {
        let config = Config {
            memory: 64 << 20,
            checks,
            ..Config::default()
        };
        let bench = Bench::with(PRINTS, config);
        let out = bench.words(&[0; 32]);
        for _ in 0..2 {
            bench.run(1, 32, &[out]).expect("no fault");
        }
        let once = "0:  0.0 one 1099511627776\n1:  0.5 one 1099511627776\n";
        assert_eq!(bench.machine.take_printed(), once.repeat(2));
        assert_eq!(bench.machine.take_printed(), "");
        assert_eq!(bench.read(out, 3), [4, 4, 0]);
        assert_eq!(bench.machine.take_findings(), []);
    }
}

#[test]
fn a_format_outside_of_memory_is_a_fault() {
    let text = PRINTS.replace("st.param.b64 [x], %d2", "st.param.b64 [x], 77");
    let bench = Bench::new(&text, Tier::best());
    let out = bench.words(&[0; 32]);
    let Err(Error::Fault(fault)) = bench.run(1, 32, &[out]) else {
        panic!("no fault");
    };
    assert_eq!(fault.kind, FaultKind::OutOfBounds { bytes: 1 });
    assert_eq!(fault.address, Some(77));
}

#[test]
fn a_guarded_call_is_made_by_the_lanes_of_its_guard() {
    let text = ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<3>;\n.reg .pred %p;\nld.param.b32 %r0, [a];\n\
                st.param.b32 [r], 7;\nsetp.lt.u32 %p, %r0, 8;\n@%p ret;\nmul.lo.s32 %r1, %r0, 3;\n\
                st.param.b32 [r], %r1;\nret;\n}\n\
                .visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n.reg .pred %p;\n\
                .param .b32 x;\n.param .b32 y;\nmov.u32 %r0, %tid.x;\nst.param.b32 [x], %r0;\nst.param.b32 [y], -1;\n\
                setp.ne.u32 %p, %r0, 5;\n@%p call (y), f, (x);\nld.param.b32 %r1, [y];\nld.param.u64 %d0, [out];\n\
                mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d2, %d0, %d1;\nst.global.b32 [%d2], %r1;\nret;\n}\n";
    let bench = Bench::new(text, Tier::best());
    let out = bench.words(&[0; 40]);
    bench.run(1, 40, &[out]).expect("no fault");
    let want: Vec<u32> = (0..40)
        .map(|i| match i {
            5 => u32::MAX,
            0..8 => 7,
            _ => 3 * i,
        })
        .collect();
    assert_eq!(bench.read(out, 40), want);
}

/// Runs a kernel of sm_100 on 32 threads with one buffer.
fn on_sm_100(body: &str, words: &[u32]) -> Vec<u32> {
    let text = format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<12>;\n\
         .reg .b64 %d<4>;\n.reg .f32 %f<3>;\nld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n"
    );
    let module = parse::parse(&text).unwrap_or_else(|e| panic!("{}", e[0]));
    let module = verify::verify(module).unwrap_or_else(|e| panic!("{}", e[0]));
    let machine = Machine::new(Config {
        memory: 1 << 20,
        workers: 1,
        ..Config::default()
    })
    .expect("a machine");
    let stream = machine.stream().expect("a stream");
    let kernel = machine.load(&module).expect("loads").kernel("k");
    let at = machine.alloc(4 * words.len() as u64).expect("memory");
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    machine.write(at, &bytes).expect("in range");
    let launch = Launch {
        kernel: kernel.expect("there"),
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        params: at.to_le_bytes().to_vec(),
        cooperative: false,
        cluster: None,
    };
    stream.launch(launch).expect("enqueued");
    stream.synchronize().expect("no fault");
    let mut bytes = vec![0; 4 * words.len()];
    machine.read(at, &mut bytes).expect("in range");
    let words = bytes.chunks_exact(4);
    words
        .map(|c| u32::from_le_bytes(c.try_into().expect("4 bytes")))
        .collect()
}

#[test]
fn eight_words_move_at_once() {
    let body = "mul.wide.u32 %d1, %r0, 32;\nadd.u64 %d2, %d0, %d1;\n\
                ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d2];\nadd.u32 %r1, %r1, %r8;\n\
                st.global.v8.b32 [%d2], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};";
    let words: Vec<u32> = (0..256).map(|i| i * i).collect();
    let want: Vec<u32> = words
        .chunks(8)
        .flat_map(|w| [w[7], w[6], w[5], w[4], w[3], w[2], w[1], w[0] + w[7]])
        .collect();
    assert_eq!(on_sm_100(body, &words), want);
}

#[test]
fn floats_are_reduced_over_members() {
    let body = "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d2, %d0, %d1;\nld.global.f32 %f0, [%d2];\n\
                redux.sync.max.abs.f32 %f1, %f0, -1;\nredux.sync.min.NaN.f32 %f2, %f0, -1;\n\
                st.global.f32 [%d2], %f1;\nst.global.f32 [%d2+128], %f2;";
    let mut words: Vec<u32> = (0..64).map(|i| (3.0 - i as f32).to_bits()).collect();
    let big = (28f32).to_bits();
    let got = on_sm_100(body, &words);
    assert!(got[..32].iter().all(|x| *x == big), "{got:x?}");
    assert!(got[32..].iter().all(|x| *x == (-28f32).to_bits()));
    words[9] = 0x7FC0_0001;
    let got = on_sm_100(body, &words);
    assert!(got[..32].iter().all(|x| *x == big), "the NaN loses");
    assert!(got[32..].iter().all(|x| *x == 0x7FFF_FFFF), "the NaN wins");
}
