//! `malloc` and `free` of kernels.

use super::*;

/// Each thread takes and gives back a block again and again, much more than the heap holds, and one more than it holds.
const HEAP: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .extern .func (.param .b64 r) malloc(.param .b64 s);\n.extern .func free(.param .b64 p);\n\
    .visible .entry k(.param .u64 out) {\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n\
    ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nmov.u32 %r2, 0;\nmov.u32 %r5, 0;\n\
    LOOP:\n{ .param .b64 s; st.param.b64 [s], 3000; .param .b64 v; call.uni (v), malloc, (s); ld.param.b64 %d3, [v]; }\n\
    setp.eq.u64 %p1, %d3, 0;\n@%p1 bra NONE;\n\
    st.u32 [%d3], %r1;\nst.u32 [%d3+2996], %r2;\nld.u32 %r3, [%d3];\nld.u32 %r4, [%d3+2996];\n\
    setp.eq.u32 %p2, %r3, %r1;\nsetp.eq.and.u32 %p2, %r4, %r2, %p2;\n@%p2 add.u32 %r5, %r5, 1;\n\
    NONE:\n{ .param .b64 p; st.param.b64 [p], %d3; call.uni free, (p); }\n\
    add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p3, %r2, 100;\n@%p3 bra LOOP;\n\
    { .param .b64 s; st.param.b64 [s], 9000000; .param .b64 v; call.uni (v), malloc, (s); ld.param.b64 %d3, [v]; }\n\
    setp.eq.u64 %p1, %d3, 0;\n@%p1 add.u32 %r5, %r5, 1000;\nst.global.u32 [%d1], %r5;\nret;\n}\n";

#[test]
fn blocks_of_the_heap_are_each_thread_s_own_and_come_back() -> Result<(), u32> {
    let program = program()?;
    let (ptx, name) = (text(HEAP), text("k"));
    let module = handle(|out| cuModuleLoadData(out, Image::of(&ptx)))?;
    let kernel = handle(|out| cuModuleGetFunction(out, module, Text::of(&name)))?;
    let out = get(|out| cuMemAlloc_v2(out, 4 * 256))?;
    let params: [*const u8; 1] = [(&raw const out).cast()];
    let launched = cuLaunchKernel(
        kernel,
        4,
        1,
        1,
        256,
        1,
        1,
        0,
        Handle::NULL,
        Pointers::of(&params),
        Pointers::NONE,
    );
    assert_eq!(launched, 0);
    let mut found = [0u32; 256];
    assert_eq!(cuMemcpyDtoH_v2(words(&mut found), out, 4 * 256), 0);
    assert_eq!(found, [1100; 256]);
    assert_eq!(cuModuleUnload(module), 0);
    assert_eq!(cuMemFree_v2(out), 0);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    Ok(())
}
