"""Kernels in PTX for the tests."""

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"

#: y[i] = a * x[i] + y[i] for i < n; `{guard}` is what keeps threads from going beyond n.
_SAXPY = (
    HEAD
    + """
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    {guard}
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd3, %rd5;
    add.u64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
    ret;
}}
"""
)
SAXPY = _SAXPY.format(guard="setp.ge.u32 %p1, %r5, %r1;\n    @%p1 ret;")
#: Without the comparison with n.
UNGUARDED = _SAXPY.format(guard="")

#: Never ends.
ENDLESS = (
    HEAD
    + """
.visible .entry endless(.param .u64 word)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [word];
again:
    ld.volatile.global.u32 %r1, [%rd1];
    add.u32 %r2, %r1, 1;
    st.volatile.global.u32 [%rd1], %r2;
    bra again;
}
"""
)

TRAP = HEAD + ".visible .entry stops()\n.reqntid 32\n{\n    trap;\n}\n"

#: Which block comes first decides what is left.
TICKET = (
    HEAD
    + """
.visible .entry ticket(.param .u64 next, .param .u64 mine)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [next];
    ld.param.u64 %rd2, [mine];
    mov.u32 %r1, %ctaid.x;
    atom.global.add.u32 %r2, [%rd1], 1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r2;
    ret;
}
"""
)

#: Stores three parameters of other types.
PARAMS = (
    HEAD
    + """
.visible .entry params(.param .u64 out, .param .f64 d, .param .s16 s, .param .align 8 .b8 both[16])
{
    .reg .b16 %h<2>;
    .reg .f64 %fd<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.f64 %fd1, [d];
    ld.param.s16 %h1, [s];
    ld.param.u64 %rd2, [both+8];
    st.global.f64 [%rd1], %fd1;
    cvt.s64.s16 %rd3, %h1;
    st.global.u64 [%rd1+8], %rd3;
    st.global.u64 [%rd1+16], %rd2;
    ret;
}
"""
)
