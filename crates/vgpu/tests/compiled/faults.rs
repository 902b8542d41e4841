//! Faults of compiled code: the same thread, address and line as when the kernel is interpreted.

use super::{INPUT, run, tiers};

/// The fault of a kernel whose lines stand between a header and `ret`, for a block of 64 threads: interpreted, and
/// for each tier that kernels are compiled for.
fn same_fault(body: &str) -> String {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<10>;\n\
         ld.param.u64 %rd0, [in];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\n{body}\nret;\n}}\n"
    );
    let input = vec![0; INPUT as usize];
    let want = run(&text, [64, 1, 1], &input, None).expect_err("it faults");
    for tier in tiers() {
        let got = run(&text, [64, 1, 1], &input, Some(tier)).expect_err("it faults");
        assert_eq!(got, want, "{tier:?}\n{text}");
    }
    want
}

/// Lanes go round a different number of times, so that no lane's address is another's and a step.
#[test]
fn lanes_that_left_a_loop_earlier_keep_their_address() {
    let fault = same_fault(
        "mov.u32 %r2, 0;\nand.b32 %r3, %r1, 3;\nround:\nadd.u64 %rd2, %rd1, %rd2;\nadd.u32 %r2, %r2, 1;\n\
         setp.le.u32 %p1, %r2, %r3;\n@%p1 bra round;\nst.global.u32 [%rd2], %r2;",
    );
    assert!(fault.contains("(1, 0, 0)"), "{fault}");
}
