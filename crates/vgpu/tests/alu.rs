//! Each arithmetic instruction against a scalar reference, on random and edge values, in every operand shape
//! and on every tier.

mod common;

use common::{Bench, HEADER, Words};
use half::{bf16, f16};
use warpsmith_vgpu::{Compile, Config, Machine, Tier};

/// An instruction on `%a %b %c` (32 bits), `%A %B %C` (64) or `%x %y %z` (16) to `%o`, `%O` or `%w`.
struct Case {
    text: &'static str,
    reference: fn(u64, u64, u64) -> u64,
}

fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

fn h(x: u64) -> f32 {
    f16::from_bits(x as u16).to_f32()
}

fn g(x: u64) -> f32 {
    bf16::from_bits(x as u16).to_f32()
}

/// From 0 to 1; a NaN is 0.
fn saturated(x: f32) -> u64 {
    if x > 0.0 { r(x.min(1.0)) } else { 0 }
}

/// A sum rounded toward zero; `f64` has too few bits for some, so that what it loses is found too (Knuth's TwoSum).
fn toward_zero(a: f32, b: f32) -> f32 {
    let (near, wide) = (a + b, [a, b].map(f64::from));
    let sum = wide[0] + wide[1];
    let second = sum - wide[0];
    let lost = (wide[0] - (sum - second)) + (wide[1] - second);
    let above = f64::from(near).abs() - sum.abs();
    let is_too_far = above > 0.0 || above == 0.0 && lost * sum < 0.0;
    if near.is_finite() && is_too_far {
        f32::from_bits(near.to_bits() - 1)
    } else {
        near
    }
}

/// An `f32` result, with PTX's NaN.
fn r(x: f32) -> u64 {
    if x.is_nan() {
        0x7FFF_FFFF
    } else {
        u64::from(x.to_bits())
    }
}

fn rd(x: f64) -> u64 {
    if x.is_nan() {
        0x7FF8_0000_0000_0000
    } else {
        x.to_bits()
    }
}

fn rh(x: f64) -> u64 {
    if x.is_nan() {
        0x7FFF
    } else {
        u64::from(f16::from_f64(x).to_bits())
    }
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

fn w32(x: i64) -> u64 {
    u64::from(x as u32)
}

fn yes(x: bool) -> u64 {
    u64::from(x)
}

fn min(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

macro_rules! cases {
    ($($text:literal => |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
        &[$(Case { text: $text, reference: |$a, $b, $c| $body },)*]
    };
}

const INTEGERS: &[Case] = cases! {
    "add.s32 %o, %a, %b;" => |a, b, _| w32((a as i32).wrapping_add(b as i32) as i64);
    "sub.u32 %o, %a, %b;" => |a, b, _| w32((a as i32).wrapping_sub(b as i32) as i64);
    "add.sat.s32 %o, %a, %b;" => |a, b, _| w32((a as i32).saturating_add(b as i32) as i64);
    "add.u64 %O, %A, %B;" => |a, b, _| a.wrapping_add(b);
    "sub.s64 %O, %A, %B;" => |a, b, _| a.wrapping_sub(b);
    "add.u16 %w, %x, %y;" => |a, b, _| u64::from((a as u16).wrapping_add(b as u16));
    "mul.lo.s32 %o, %a, %b;" => |a, b, _| w32((a as i32).wrapping_mul(b as i32) as i64);
    "mul.hi.s32 %o, %a, %b;" => |a, b, _| w32((a as i32 as i64 * b as i32 as i64) >> 32);
    "mul.hi.u32 %o, %a, %b;" => |a, b, _| ((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)) >> 32;
    "mul.hi.u64 %O, %A, %B;" => |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    "mul.lo.u64 %O, %A, %B;" => |a, b, _| a.wrapping_mul(b);
    "mul.wide.u32 %O, %a, %b;" => |a, b, _| (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF);
    "mul.wide.s32 %O, %a, %b;" => |a, b, _| (a as i32 as i64 * b as i32 as i64) as u64;
    "mul.wide.s16 %o, %x, %y;" => |a, b, _| w32(a as i16 as i64 * b as i16 as i64);
    "mad.lo.u32 %o, %a, %b, %c;" => |a, b, c| w32((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32) as i64);
    "mad.hi.s32 %o, %a, %b, %c;" => |a, b, c| w32(((a as i32 as i64 * b as i32 as i64) >> 32) + c as i32 as i64);
    "mad.wide.u32 %O, %a, %b, %C;" => |a, b, c| ((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)).wrapping_add(c);
    "mad.wide.s32 %O, %a, %b, %C;" => |a, b, c| ((a as i32 as i64 * b as i32 as i64) as u64).wrapping_add(c);
    "mad.lo.s64 %O, %A, %B, %C;" => |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    "div.s32 %o, %a, %b;" => |a, b, _| if b as i32 == 0 { 0xFFFF_FFFF } else { w32((a as i32).wrapping_div(b as i32) as i64) };
    "div.u32 %o, %a, %b;" => |a, b, _| (a as u32).checked_div(b as u32).map_or(0xFFFF_FFFF, u64::from);
    "rem.u32 %o, %a, %b;" => |a, b, _| (a as u32).checked_rem(b as u32).map_or(0xFFFF_FFFF, u64::from);
    "rem.s64 %O, %A, %B;" => |a, b, _| if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 };
    "neg.s32 %o, %a;" => |a, _, _| w32((a as i32).wrapping_neg() as i64);
    "abs.s32 %o, %a;" => |a, _, _| w32((a as i32).wrapping_abs() as i64);
    "abs.s64 %O, %A;" => |a, _, _| (a as i64).wrapping_abs() as u64;
    "min.s32 %o, %a, %b;" => |a, b, _| w32((a as i32).min(b as i32) as i64);
    "max.u32 %o, %a, %b;" => |a, b, _| u64::from((a as u32).max(b as u32));
    "min.u64 %O, %A, %B;" => |a, b, _| a.min(b);
    "max.s64 %O, %A, %B;" => |a, b, _| (a as i64).max(b as i64) as u64;
    "max.s16 %w, %x, %y;" => |a, b, _| u64::from((a as i16).max(b as i16) as u16);
    "sad.s32 %o, %a, %b, %c;" => |a, b, c| w32((a as i32).abs_diff(b as i32).wrapping_add(c as u32) as i64);
    "mul24.lo.u32 %o, %a, %b;" => |a, b, _| ((a & 0xFF_FFFF) * (b & 0xFF_FFFF)) & 0xFFFF_FFFF;
    "mad24.hi.s32 %o, %a, %b, %c;" => |a, b, c| w32(((((a as i32) << 8 >> 8) as i64 * ((b as i32) << 8 >> 8) as i64) >> 16) + c as i32 as i64);
    "dp4a.s32.s32 %o, %a, %b, %c;" => |a, b, c| w32((0..4).map(|i| ((a >> (8 * i)) as i8 as i64) * ((b >> (8 * i)) as i8 as i64)).sum::<i64>() + c as i32 as i64);
    "dp4a.u32.s32 %o, %a, %b, %c;" => |a, b, c| w32((0..4).map(|i| ((a >> (8 * i)) as u8 as i64) * ((b >> (8 * i)) as i8 as i64)).sum::<i64>() + c as i32 as i64);
    "dp4a.u32.u32 %o, %a, %b, %c;" => |a, b, c| w32((0..4).map(|i| ((a >> (8 * i)) as u8 as i64) * ((b >> (8 * i)) as u8 as i64)).sum::<i64>() + c as i32 as i64);
    "dp2a.lo.s32.u32 %o, %a, %b, %c;" => |a, b, c| w32((0..2).map(|i| ((a >> (16 * i)) as i16 as i64) * ((b >> (8 * i)) as u8 as i64)).sum::<i64>() + c as i32 as i64);
};

const BITS: &[Case] = cases! {
    "and.b32 %o, %a, %b;" => |a, b, _| a & b & 0xFFFF_FFFF;
    "or.b64 %O, %A, %B;" => |a, b, _| a | b;
    "xor.b16 %w, %x, %y;" => |a, b, _| (a ^ b) & 0xFFFF;
    "not.b32 %o, %a;" => |a, _, _| !a & 0xFFFF_FFFF;
    "cnot.b32 %o, %a;" => |a, _, _| yes(a as u32 == 0);
    "shl.b32 %o, %a, %b;" => |a, b, _| u64::from((a as u32).checked_shl(b as u32).unwrap_or(0));
    "shl.b64 %O, %A, %b;" => |a, b, _| a.checked_shl(b as u32).unwrap_or(0);
    "shr.u32 %o, %a, %b;" => |a, b, _| u64::from((a as u32).checked_shr(b as u32).unwrap_or(0));
    "shr.s32 %o, %a, %b;" => |a, b, _| w32((a as i32 >> (b as u32).min(31)) as i64);
    "shr.s64 %O, %A, %b;" => |a, b, _| (a as i64 >> (b as u32).min(63)) as u64;
    "shr.s16 %w, %x, %b;" => |a, b, _| u64::from((a as i16 >> (b as u32).min(15)) as u16);
    "shf.l.wrap.b32 %o, %a, %b, %c;" => |a, b, c| u64::from((((b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF) << (c & 31) >> 32) as u32);
    "shf.r.clamp.b32 %o, %a, %b, %c;" => |a, b, c| u64::from((((b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF) >> (c as u32).min(32)) as u32);
    "lop3.b32 %o, %a, %b, %c, 0x96;" => |a, b, c| (a ^ b ^ c) & 0xFFFF_FFFF;
    "lop3.b32 %o, %a, %b, %c, 0xE4;" => |a, b, c| ((c & a) | (!c & b)) & 0xFFFF_FFFF;
    "prmt.b32 %o, %a, %b, 0x6250;" => |a, b, _| {
        let all = (b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF;
        let byte = |i: u64| all >> (8 * i) & 0xFF;
        byte(0) | byte(5) << 8 | byte(2) << 16 | byte(6) << 24
    };
    "prmt.b32 %o, %a, %b, %c;" => |a, b, c| {
        let all = (b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF;
        (0..4).fold(0, |out, k| {
            let s = c >> (4 * k);
            let byte = all >> (8 * (s & 7)) & 0xFF;
            out | (if s & 8 == 0 { byte } else if byte > 127 { 255 } else { 0 }) << (8 * k)
        })
    };
    "bfe.u32 %o, %a, 5, 9;" => |a, _, _| a >> 5 & 0x1FF;
    "bfe.s32 %o, %a, 20, 40;" => |a, _, _| w32((a as i32 >> 20) as i64);
    "bfe.s32 %o, %a, 3, 7;" => |a, _, _| w32((((a as i32) << 22) >> 25) as i64);
    "bfe.u64 %O, %A, 30, 20;" => |a, _, _| a >> 30 & 0xF_FFFF;
    "bfi.b32 %o, %a, %b, 8, 12;" => |a, b, _| (b & 0xFFF0_00FF) | (a & 0xFFF) << 8;
    "bfi.b64 %O, %A, %B, 40, 30;" => |a, b, _| (b & 0xFF_FFFF_FFFF) | a << 40;
    "bfind.u32 %o, %a;" => |a, _, _| if a as u32 == 0 { 0xFFFF_FFFF } else { u64::from(31 - (a as u32).leading_zeros()) };
    "bfind.shiftamt.s32 %o, %a;" => |a, _, _| {
        let m = if (a as i32) < 0 { !(a as u32) } else { a as u32 };
        if m == 0 { 0xFFFF_FFFF } else { u64::from(m.leading_zeros()) }
    };
    "brev.b32 %o, %a;" => |a, _, _| u64::from((a as u32).reverse_bits());
    "brev.b64 %O, %A;" => |a, _, _| a.reverse_bits();
    "popc.b32 %o, %a;" => |a, _, _| u64::from((a as u32).count_ones());
    "popc.b64 %o, %A;" => |a, _, _| u64::from(a.count_ones());
    "clz.b32 %o, %a;" => |a, _, _| u64::from((a as u32).leading_zeros());
    "clz.b64 %o, %A;" => |a, _, _| u64::from(a.leading_zeros());
    "{.reg .b32 lo, hi; mov.b64 {lo, hi}, %A; mov.b64 %O, {hi, lo};}" => |a, _, _| a.rotate_left(32);
    "{.reg .b16 l, m; mov.b32 {l, m}, %a; mov.b32 %o, {m, l};}" => |a, _, _| u64::from((a as u32).rotate_left(16));
    "{.reg .b16 p, q, s, t; mov.b64 {p, q, s, t}, %A; mov.b64 %O, {t, s, q, p};}" => |a, _, _| {
        (0..4).fold(0, |out, k| out << 16 | a >> (16 * k) & 0xFFFF)
    };
    "slct.u32.s32 %o, %a, %b, %c;" => |a, b, c| (if c as i32 >= 0 { a } else { b }) & 0xFFFF_FFFF;
    "slct.u64.f32 %O, %A, %B, %c;" => |a, b, c| if f(c) >= 0.0 { a } else { b };
};

const FLOATS: &[Case] = cases! {
    "add.f32 %o, %a, %b;" => |a, b, _| r(f(a) + f(b));
    "add.rn.ftz.f32 %o, %a, %b;" => |a, b, _| r(flush(flush(f(a)) + flush(f(b))));
    "add.sat.f32 %o, %a, %b;" => |a, b, _| { let x = f(a) + f(b); if x > 0.0 { r(x.min(1.0)) } else { 0 } };
    "sub.f32 %o, %a, %b;" => |a, b, _| r(f(a) - f(b));
    "mul.f32 %o, %a, %b;" => |a, b, _| r(f(a) * f(b));
    "mul.ftz.f32 %o, %a, %b;" => |a, b, _| r(flush(flush(f(a)) * flush(f(b))));
    "fma.rn.f32 %o, %a, %b, %c;" => |a, b, c| r(f(a).mul_add(f(b), f(c)));
    "fma.rn.ftz.f32 %o, %a, %b, %c;" => |a, b, c| r(flush(flush(f(a)).mul_add(flush(f(b)), flush(f(c)))));
    "div.rn.f32 %o, %a, %b;" => |a, b, _| r(f(a) / f(b));
    "sqrt.rn.f32 %o, %a;" => |a, _, _| r(f(a).sqrt());
    "rcp.rn.f32 %o, %a;" => |a, _, _| r(1.0 / f(a));
    "neg.f32 %o, %a;" => |a, _, _| (a ^ 0x8000_0000) & 0xFFFF_FFFF;
    "abs.f32 %o, %a;" => |a, _, _| a & 0x7FFF_FFFF;
    "min.f32 %o, %a, %b;" => |a, b, _| r(min(f(a), f(b)));
    "max.f32 %o, %a, %b;" => |a, b, _| r(-min(-f(a), -f(b)));
    "max.NaN.f32 %o, %a, %b;" => |a, b, _| if f(a).is_nan() || f(b).is_nan() { 0x7FFF_FFFF } else { r(-min(-f(a), -f(b))) };
    "copysign.f32 %o, %a, %b;" => |a, b, _| (a & 0x8000_0000) | (b & 0x7FFF_FFFF);
    "add.f64 %O, %A, %B;" => |a, b, _| rd(d(a) + d(b));
    "mul.f64 %O, %A, %B;" => |a, b, _| rd(d(a) * d(b));
    "fma.rn.f64 %O, %A, %B, %C;" => |a, b, c| rd(d(a).mul_add(d(b), d(c)));
    "div.rn.f64 %O, %A, %B;" => |a, b, _| rd(d(a) / d(b));
    "sqrt.rn.f64 %O, %A;" => |a, _, _| rd(d(a).sqrt());
    "add.f16 %w, %x, %y;" => |a, b, _| rh(f64::from(h(a)) + f64::from(h(b)));
    "mul.f16 %w, %x, %y;" => |a, b, _| rh(f64::from(h(a)) * f64::from(h(b)));
    "sub.f16x2 %o, %a, %b;" => |a, b, _| rh(f64::from(h(a)) - f64::from(h(b))) | rh(f64::from(h(a >> 16)) - f64::from(h(b >> 16))) << 16;
    "max.f16 %w, %x, %y;" => |a, b, _| rh(f64::from(-min(-h(a), -h(b))));
    "neg.f16 %w, %x;" => |a, _, _| (a ^ 0x8000) & 0xFFFF;
};

/// What sm_100 has first.
const MIXED: &[Case] = cases! {
    "max.f32 %o, %a, %b, %c;" => |a, b, c| r(-min(min(-f(a), -f(b)), -f(c)));
    "min.f32 %o, %a, %b, %c;" => |a, b, c| r(min(min(f(a), f(b)), f(c)));
    "min.ftz.f32 %o, %a, %b, %c;" => |a, b, c| r(min(min(flush(f(a)), flush(f(b))), flush(f(c))));
    "max.NaN.f32 %o, %a, %b, %c;" => |a, b, c| {
        let nan = [a, b, c].iter().any(|x| f(*x).is_nan());
        if nan { 0x7FFF_FFFF } else { r(-min(min(-f(a), -f(b)), -f(c))) }
    };
    "max.abs.f32 %o, %a, %b, %c;" => |a, b, c| r(-min(min(-f(a).abs(), -f(b).abs()), -f(c).abs()));
    "min.NaN.abs.f32 %o, %a, %b, %c;" => |a, b, c| {
        let nan = [a, b, c].iter().any(|x| f(*x).is_nan());
        if nan { 0x7FFF_FFFF } else { r(min(min(f(a).abs(), f(b).abs()), f(c).abs())) }
    };
    "fma.rn.f32.f16 %o, %x, %y, %c;" => |a, b, c| r(h(a).mul_add(h(b), f(c)));
    "fma.rn.sat.f32.f16 %o, %x, %y, %c;" => |a, b, c| saturated(h(a).mul_add(h(b), f(c)));
    "fma.rn.f32.bf16 %o, %x, %y, %c;" => |a, b, c| r(g(a).mul_add(g(b), f(c)));
    "add.f32.f16 %o, %x, %b;" => |a, b, _| r(h(a) + f(b));
    "add.rn.sat.f32.bf16 %o, %x, %b;" => |a, b, _| saturated(g(a) + f(b));
    "sub.f32.f16 %o, %x, %b;" => |a, b, _| r(h(a) - f(b));
    "sub.rn.f32.bf16 %o, %x, %b;" => |a, b, _| r(g(a) - f(b));
    "sub.rz.f32.f16 %o, %x, %b;" => |a, b, _| r(toward_zero(h(a), -f(b)));
};

const COMPARISONS: &[Case] = cases! {
    "setp.eq.s32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(a as u32 == b as u32);
    "setp.lt.s32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes((a as i32) < b as i32);
    "setp.ge.u32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(a as u32 >= b as u32);
    "setp.gt.s64 %p, %A, %B; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(a as i64 > b as i64);
    "setp.le.u16 %p, %x, %y; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(a as u16 <= b as u16);
    "setp.hi.u64 %p, %A, %B; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(a > b);
    "setp.lt.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(f(a) < f(b));
    "setp.ltu.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(!(f(a) >= f(b)));
    "setp.ne.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(f(a) < f(b) || f(a) > f(b));
    "setp.neu.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(f(a) != f(b));
    "setp.equ.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(!(f(a) < f(b) || f(a) > f(b)));
    "setp.gt.ftz.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(flush(f(a)) > flush(f(b)));
    "setp.num.f32 %p, %a, %b; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(!f(a).is_nan() && !f(b).is_nan());
    "setp.geu.f64 %p, %A, %B; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(!(d(a) < d(b)));
    "setp.le.f16 %p, %x, %y; selp.u32 %o, 1, 0, %p;" => |a, b, _| yes(h(a) <= h(b));
    "setp.lt.u32 %p, %a, %c; setp.lt.and.s32 %p|%q, %a, %b, !%p; selp.u32 %o, 1, 0, %p; selp.u32 %s, 2, 0, %q; add.u32 %o, %o, %s;" =>
        |a, b, c| { let (t, k) = ((a as i32) < b as i32, a as u32 >= c as u32); yes(t && k) + 2 * yes(!t && k) };
    "set.gt.u32.s32 %o, %a, %b;" => |a, b, _| if a as i32 > b as i32 { 0xFFFF_FFFF } else { 0 };
    "set.le.f32.f32 %o, %a, %b;" => |a, b, _| if f(a) <= f(b) { 0x3F80_0000 } else { 0 };
    "setp.lt.u32 %p, %a, %b; setp.lt.u32 %q, %b, %c; xor.pred %p, %p, %q; not.pred %q, %p; and.pred %p, %p, %q; or.pred %p, %p, %q; selp.b32 %o, %a, %b, %p;" =>
        |a, b, c| (if ((a as u32) < b as u32) ^ ((b as u32) < c as u32) { b } else { a }) & 0xFFFF_FFFF;
};

const CONVERSIONS: &[Case] = cases! {
    "cvt.s32.s8 %o, %a;" => |a, _, _| w32(a as i8 as i64);
    "cvt.u8.u32 %o, %a;" => |a, _, _| a & 0xFF;
    "cvt.s64.s32 %O, %a;" => |a, _, _| a as i32 as i64 as u64;
    "cvt.u64.u32 %O, %a;" => |a, _, _| a & 0xFFFF_FFFF;
    "cvt.s64.s16 %O, %x;" => |a, _, _| a as i16 as i64 as u64;
    "cvt.u32.u64 %o, %A;" => |a, _, _| a & 0xFFFF_FFFF;
    "cvt.sat.s8.s32 %o, %a;" => |a, _, _| w32((a as i32).clamp(-128, 127) as i64);
    "cvt.sat.u16.s64 %w, %A;" => |a, _, _| (a as i64).clamp(0, 65535) as u64;
    "cvt.rn.f32.s32 %o, %a;" => |a, _, _| r(a as i32 as f32);
    "cvt.rn.f32.u32 %o, %a;" => |a, _, _| r(a as u32 as f32);
    "cvt.rn.f32.u64 %o, %A;" => |a, _, _| r(a as f32);
    "cvt.rn.f32.s8 %o, %a;" => |a, _, _| r(f32::from(a as i8));
    "cvt.rn.f64.s64 %O, %A;" => |a, _, _| rd(a as i64 as f64);
    "cvt.f64.f32 %O, %a;" => |a, _, _| rd(f64::from(f(a)));
    "cvt.rn.f32.f64 %o, %A;" => |a, _, _| r(d(a) as f32);
    "cvt.rzi.s32.f32 %o, %a;" => |a, _, _| w32(f(a) as i32 as i64);
    "cvt.rni.s32.f32 %o, %a;" => |a, _, _| w32(f(a).round_ties_even() as i32 as i64);
    "cvt.rmi.u32.f32 %o, %a;" => |a, _, _| u64::from(f(a).floor() as u32);
    "cvt.rpi.s64.f32 %O, %a;" => |a, _, _| if f(a).is_nan() { 1 << 63 } else { f(a).ceil() as i64 as u64 };
    "cvt.rzi.u8.f32 %o, %a;" => |a, _, _| u64::from(f(a) as u8);
    "cvt.rzi.s32.f64 %o, %A;" => |a, _, _| if d(a).is_nan() { 0x8000_0000 } else { w32(d(a) as i32 as i64) };
    "cvt.rni.f32.f32 %o, %a;" => |a, _, _| r(f(a).round_ties_even());
    "cvt.rmi.f32.f32 %o, %a;" => |a, _, _| r(f(a).floor());
    "cvt.sat.f32.f32 %o, %a;" => |a, _, _| if f(a) > 0.0 { r(f(a).min(1.0)) } else { 0 };
    "cvt.rn.f16.f32 %w, %a;" => |a, _, _| if f(a).is_nan() { 0x7FFF } else { u64::from(f16::from_f32(f(a)).to_bits()) };
    "cvt.rn.bf16.f32 %w, %a;" => |a, _, _| if f(a).is_nan() { 0x7FFF } else { u64::from(bf16::from_f32(f(a)).to_bits()) };
    "cvt.f32.f16 %o, %x;" => |a, _, _| r(h(a));
    "cvt.f32.bf16 %o, %x;" => |a, _, _| r(bf16::from_bits(a as u16).to_f32());
    "cvt.rn.f16x2.f32 %o, %a, %b;" => |a, b, _| {
        let one = |x: u64| if f(x).is_nan() { 0x7FFF } else { u64::from(f16::from_f32(f(x)).to_bits()) };
        one(a) << 16 | one(b)
    };
    "cvt.rn.bf16x2.f32 %o, %a, %b;" => |a, b, _| {
        let one = |x: u64| if f(x).is_nan() { 0x7FFF } else { u64::from(bf16::from_f32(f(x)).to_bits()) };
        one(a) << 16 | one(b)
    };
    "cvt.rzi.s32.f16 %o, %x;" => |a, _, _| w32(h(a) as i32 as i64);
    "cvt.rn.f16.s32 %w, %a;" => |a, _, _| rh(f64::from(a as i32));
};

/// Threads of a run: several warps, the last one not full.
const COUNT: usize = 113;

/// A module in which kernel `k{i}_{shape}` runs case `i` with the operands of `shape`'s bits scalar.
fn module(header: &str, cases: &[Case]) -> String {
    let mut text = header.to_owned();
    for (i, case) in cases.iter().enumerate() {
        for shape in 0..8 {
            text += &kernel(i, shape, case.text);
        }
    }
    text
}

fn kernel(i: usize, shape: u32, body: &str) -> String {
    let load = |bit: u32, wide: &str, from: &str| {
        let base = if shape >> bit & 1 != 0 {
            "%base".to_owned()
        } else {
            "%at".to_owned()
        };
        format!(
            "ld.param.u64 %base, [{from}];\nadd.s64 %at, %base, %off;\nld.global.u64 {wide}, [{base}];\n"
        )
    };
    let narrow = |wide: &str, word: &str, half: &str| {
        format!("cvt.u32.u64 {word}, {wide};\ncvt.u16.u64 {half}, {wide};\n")
    };
    let result = if body.contains("%O") {
        ""
    } else if body.contains("%w") {
        "cvt.u64.u16 %O, %w;\n"
    } else {
        "cvt.u64.u32 %O, %o;\n"
    };
    format!(
        ".visible .entry k{i}_{shape}(.param .u64 out, .param .u64 pa, .param .u64 pb, .param .u64 pc)\n{{\n\
         .reg .b64 %A, %B, %C, %O, %base, %at, %off, %to;\n.reg .b32 %a, %b, %c, %o, %s, %lane;\n\
         .reg .b16 %x, %y, %z, %w;\n.reg .pred %p, %q;\nmov.u32 %lane, %tid.x;\nmul.wide.u32 %off, %lane, 8;\n\
         {}{}{}{}{}{}{body}\n{result}ld.param.u64 %base, [out];\nadd.s64 %to, %base, %off;\n\
         st.global.u64 [%to], %O;\nret;\n}}\n",
        load(0, "%A", "pa"),
        load(1, "%B", "pb"),
        load(2, "%C", "pc"),
        narrow("%A", "%a", "%x"),
        narrow("%B", "%b", "%y"),
        narrow("%C", "%c", "%z"),
    )
}

const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x3F80_0000,
    0xBF80_0000,
    0x3F00_0000,
    0x4020_0000,
    0xC060_0000,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0xFFC0_1234,
    0x0000_0001,
    0x807F_FFFF,
    0x0080_0000,
    0x7F7F_FFFF,
    0x4F00_0000,
    0xCF00_0000,
    0x4B00_0001,
    0x3C00,
    0xBC00,
    0x7C00,
    0xFC00,
    0x7E01,
    0x0001,
    0x83FF,
    0x7BFF,
    0x477F_E000,
    0x477F_F000,
    0x3380_0000,
    0x3300_0000,
    0x3FF0_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    0xFFF8_0000_0000_0001,
    0x8000_0000_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF_FFFF,
    0x41DF_FFFF_FFC0_0000,
    0x0000_0001_0000_0000,
    0x0010_0000_0000_0000,
    0xBFE0_0000_0000_0000,
];

fn inputs(random: &mut Words) -> Vec<u64> {
    (0..COUNT)
        .map(|_| match random.next() % 4 {
            0 => random.next(),
            // Floats of a middling size.
            1 => (random.next() & 0x83FF_FFFF_83FF_83FF) | 0x3C00_0000_3C00_3800,
            2 => EDGES[random.next() as usize % EDGES.len()],
            _ => random.next() >> (random.next() % 64),
        })
        .collect()
}

struct Rig {
    bench: Bench,
}

/// Each tier's interpreter, and the compiler.
fn ways() -> Vec<(Tier, Compile)> {
    let tiers = Tier::available().into_iter();
    let interpreted = tiers.map(|tier| (tier, Compile::Never));
    interpreted
        .chain([(Tier::best(), Compile::Always)])
        .collect()
}

impl Rig {
    fn new(text: &str, (tier, compile): (Tier, Compile)) -> Rig {
        let config = Config {
            tier: Some(tier),
            compile,
            memory: 16 << 20,
            workers: 1,
            ..Config::default()
        };
        Rig {
            bench: Bench::whole(text, config),
        }
    }

    fn place(machine: &Machine, values: &[u64]) -> u64 {
        let at = machine.alloc(8 * values.len() as u64).expect("memory");
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        machine.write(at, &bytes).expect("in range");
        at
    }

    fn run(&self, name: &str, args: &[Vec<u64>; 3]) -> Vec<u64> {
        let machine = &self.bench.machine;
        let out = Rig::place(machine, &vec![0xDEAD; COUNT]);
        let mut params = vec![out];
        params.extend(args.iter().map(|arg| Rig::place(machine, arg)));
        let mut launch = warpsmith_vgpu::Launch {
            kernel: self.bench.module.kernel(name).expect("the kernel"),
            grid: [1; 3],
            block: [COUNT as u32, 1, 1],
            dynamic_shared: 0,
            params: Vec::new(),
            cooperative: false,
            cluster: None,
        };
        launch.params = params.iter().flat_map(|p| p.to_le_bytes()).collect();
        self.bench
            .stream
            .launch(launch)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        self.bench
            .stream
            .synchronize()
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bytes = vec![0; 8 * COUNT];
        machine.read(out, &mut bytes).expect("in range");
        params
            .into_iter()
            .for_each(|at| machine.free(at).expect("allocated"));
        bytes
            .chunks_exact(8)
            .map(|c| u64::from_le_bytes(c.try_into().expect("8")))
            .collect()
    }
}

fn check(header: &str, cases: &[Case]) {
    let text = module(header, cases);
    for way in ways() {
        let rig = Rig::new(&text, way);
        let mut random = Words(0x1234_5678_9ABC_DEF1);
        let mut wrong = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            for shape in 0..8u32 {
                let args = [
                    inputs(&mut random),
                    inputs(&mut random),
                    inputs(&mut random),
                ];
                let got = rig.run(&format!("k{i}_{shape}"), &args);
                let pick = |k: usize, t: usize| args[k][if shape >> k & 1 != 0 { 0 } else { t }];
                for (t, got) in got.iter().enumerate() {
                    let (a, b, c) = (pick(0, t), pick(1, t), pick(2, t));
                    let want = (case.reference)(a, b, c);
                    if *got != want && wrong.len() < 10 {
                        wrong.push(format!(
                            "{way:?} shape {shape} thread {t}: {} of {a:x}, {b:x}, {c:x}: {got:x}, not {want:x}",
                            case.text
                        ));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn integers_are_as_in_rust() {
    check(HEADER, INTEGERS);
}

#[test]
fn bits_are_as_in_rust() {
    check(HEADER, BITS);
}

#[test]
fn floats_are_as_in_rust() {
    check(HEADER, FLOATS);
}

#[test]
fn mixed_floats_and_the_extremes_of_three_are_as_in_rust() {
    let header = ".version 8.8\n.target sm_100\n.address_size 64\n";
    check(header, MIXED);
}

#[test]
fn comparisons_are_as_in_rust() {
    check(HEADER, COMPARISONS);
}

#[test]
fn conversions_are_as_in_rust() {
    check(HEADER, CONVERSIONS);
}

/// A function of one `f32`, its exact value, and the bounds of the manual: relative and absolute error.
struct Approximation {
    text: &'static str,
    exact: fn(f64) -> f64,
    relative: f64,
    absolute: f64,
    range: f32,
}

#[test]
fn approximations_are_within_the_manuals_bounds_and_the_same_on_every_tier() {
    let all = [
        Approximation {
            text: "ex2.approx.f32 %o, %a;",
            exact: f64::exp2,
            relative: 2f64.powf(-22.0),
            absolute: 1e-45,
            range: 150.0,
        },
        Approximation {
            text: "ex2.approx.ftz.f32 %o, %a;",
            exact: f64::exp2,
            relative: 2f64.powf(-22.0),
            absolute: 1.2e-38,
            range: 150.0,
        },
        Approximation {
            text: "lg2.approx.f32 %o, %a;",
            exact: f64::log2,
            relative: 2f64.powf(-22.0),
            absolute: 2f64.powf(-22.0),
            range: 1e30,
        },
        Approximation {
            text: "sin.approx.f32 %o, %a;",
            exact: f64::sin,
            relative: 0.0,
            absolute: 2f64.powf(-20.5),
            range: 300.0,
        },
        Approximation {
            text: "cos.approx.f32 %o, %a;",
            exact: f64::cos,
            relative: 0.0,
            absolute: 2f64.powf(-20.5),
            range: 300.0,
        },
        Approximation {
            text: "tanh.approx.f32 %o, %a;",
            exact: f64::tanh,
            relative: 2f64.powf(-11.0),
            absolute: 0.0,
            range: 20.0,
        },
        Approximation {
            text: "rsqrt.approx.f32 %o, %a;",
            exact: |x| 1.0 / x.sqrt(),
            relative: 2f64.powf(-22.9),
            absolute: 0.0,
            range: 1e30,
        },
        Approximation {
            text: "rcp.approx.f32 %o, %a;",
            exact: |x| 1.0 / x,
            relative: 2f64.powf(-23.0),
            absolute: 0.0,
            range: 1e30,
        },
        Approximation {
            text: "sqrt.approx.f32 %o, %a;",
            exact: f64::sqrt,
            relative: 2f64.powf(-23.0),
            absolute: 0.0,
            range: 1e30,
        },
    ];
    let text: String = std::iter::once(HEADER.to_owned())
        .chain(all.iter().enumerate().map(|(i, a)| kernel(i, 0, a.text)))
        .collect();
    let rigs: Vec<Rig> = ways().into_iter().map(|way| Rig::new(&text, way)).collect();
    let special = [
        0x0000_0000u64,
        0x8000_0000,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0001,
        1,
        0x8000_0001,
        0x007F_FFFF,
    ];
    for (i, a) in all.iter().enumerate() {
        let mut random = Words(77 + i as u64);
        for round in 0..60 {
            let values: Vec<u64> = (0..COUNT)
                .map(|t| {
                    let unit = random.next() as u32 as f32 / u32::MAX as f32 * 2.0 - 1.0;
                    match t {
                        0..8 if round == 0 => special[t],
                        _ if t % 2 == 0 => u64::from((unit * a.range).to_bits()),
                        _ => u64::from((unit * 4.0 * unit).to_bits()),
                    }
                })
                .collect();
            let args = [values.clone(), vec![0; COUNT], vec![0; COUNT]];
            let results: Vec<Vec<u64>> = rigs
                .iter()
                .map(|rig| rig.run(&format!("k{i}_0"), &args))
                .collect();
            assert!(
                results.iter().all(|r| *r == results[0]),
                "tiers differ: {}",
                a.text
            );
            for (x, got) in values.iter().zip(&results[0]) {
                let (x, got) = (f(*x), f64::from(f(*got)));
                let x = if a.text.contains("ftz") { flush(x) } else { x };
                let exact = (a.exact)(f64::from(x));
                let close = (got - exact).abs() <= a.relative * exact.abs() + a.absolute
                    || (exact.is_nan() && got.is_nan())
                    || f64::from(exact as f32) == got && got.is_infinite();
                assert!(close, "{} of {x:e}: {got:e}, not {exact:e}", a.text);
            }
        }
    }
}
