//! Code that is made while its kernel runs takes the interpreter's place between CTAs, and barriers let warps go on whether
//! they are counted or not: the results are the same.

use warpsmith_ptx::{parse::parse, target::PtxVersion, verify::verify};
use warpsmith_vgpu::{Compile, Config, Launch, Machine};

/// Each thread sums words of its CTA, over rounds between barriers; warps take different numbers of steps, and those of the
/// second half of the CTA leave early, in a round that depends on the CTA.
const TEXT: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 rounds) {
.reg .b64 %o; .reg .b32 %r<8>; .reg .pred %p<3>;
.shared .align 4 .b8 s[512];
ld.param.u64 %o, [out];
ld.param.u32 %r0, [rounds];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 128, %r1;
mad.wide.u32 %o, %r3, 4, %o;
mov.u32 %r4, 0;
shl.b32 %r5, %r1, 2;
mov.u32 %r6, s;
add.u32 %r5, %r5, %r6;
and.b32 %r7, %r2, 7;
LOOP:
mad.lo.u32 %r3, %r3, 1664525, 1013904223;
st.shared.u32 [%r5], %r3;
bar.sync 0;
xor.b32 %r6, %r1, 31;
shl.b32 %r6, %r6, 2;
mov.u32 %r2, s;
add.u32 %r6, %r6, %r2;
ld.shared.u32 %r6, [%r6];
setp.gt.u32 %p1, %r6, 0x80000000;
@%p1 bra ODD;
add.u32 %r4, %r4, %r6;
bra NEXT;
ODD:
xor.b32 %r4, %r4, %r6;
NEXT:
bar.sync 0;
setp.gt.u32 %p2, %r1, 63;
setp.eq.and.u32 %p2, %r0, %r7, %p2;
@%p2 bra DONE;
sub.u32 %r0, %r0, 1;
setp.ne.u32 %p0, %r0, 0;
@%p0 bra LOOP;
DONE:
st.global.u32 [%o], %r4;
ret;
}";

/// What the kernel computes.
fn expected(ctas: u32, rounds: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for cta in 0..ctas {
        let mut states: Vec<u32> = (0..128).map(|t| cta * 128 + t).collect();
        let mut sums = vec![0u32; 128];
        let mut here = 128;
        for left in (1..=rounds).rev() {
            for state in &mut states[..here] {
                *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            }
            for t in 0..here {
                let word = states[t ^ 31];
                sums[t] = if word > 0x8000_0000 {
                    sums[t] ^ word
                } else {
                    sums[t].wrapping_add(word)
                };
            }
            if left == cta & 7 {
                here = 64;
            }
        }
        all.extend(sums);
    }
    all
}

/// Replays the kernel, made ready or launched each time.
fn replays(compile: Compile, prepared: bool, workers: usize, seed: Option<u64>) {
    const CTAS: u32 = 200;
    const ROUNDS: u32 = 40;
    let module = parse(TEXT).unwrap_or_else(|e| panic!("{}", e[0]));
    let module = verify(module).unwrap_or_else(|e| panic!("{}", e[0]));
    let machine = Machine::new(Config {
        memory: 1 << 22,
        workers,
        max_ptx: PtxVersion::new(9, 0),
        compile,
        seed,
        ..Config::default()
    })
    .expect("a machine");
    let stream = machine.stream().expect("a stream");
    let module = machine.load(&module).expect("it loads");
    let bytes = u64::from(CTAS) * 128 * 4;
    let out = machine.alloc(bytes).expect("memory");
    let mut params = out.to_le_bytes().to_vec();
    params.extend_from_slice(&ROUNDS.to_le_bytes());
    let launch = Launch {
        kernel: module.kernel("k").expect("it is there"),
        grid: [CTAS, 1, 1],
        block: [128, 1, 1],
        dynamic_shared: 0,
        params,
        cooperative: false,
        cluster: None,
    };
    let ready = stream.prepare(vec![launch.clone()]).expect("it is right");
    let wanted = expected(CTAS, ROUNDS);
    for turn in 0..4 {
        machine
            .write(out, &vec![0xA5; bytes as usize])
            .expect("it is ours");
        if prepared {
            stream.replay(&ready).expect("it is ready");
        } else {
            stream.launch(launch.clone()).expect("it is right");
        }
        stream.synchronize().expect("it ends");
        let mut found = vec![0; bytes as usize];
        machine.read(out, &mut found).expect("it is ours");
        for (at, (word, wanted)) in found.chunks(4).zip(&wanted).enumerate() {
            let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
            assert_eq!(
                word, *wanted,
                "thread {at} in turn {turn}, {compile:?}, {seed:?}"
            );
        }
    }
}

#[test]
fn code_takes_the_interpreters_place_while_a_kernel_runs() {
    for workers in [1, 2] {
        for prepared in [true, false] {
            replays(Compile::Worth, prepared, workers, None);
        }
    }
}

#[test]
fn barriers_let_whole_and_parted_warps_go_on() {
    for compile in [Compile::Never, Compile::Always] {
        replays(compile, true, 2, None);
    }
}

#[test]
fn blocks_and_lanes_in_any_order_give_the_same_compiled() {
    for seed in 1..=8 {
        for compile in [Compile::Never, Compile::Always] {
            replays(compile, true, 2, Some(seed));
        }
    }
}
