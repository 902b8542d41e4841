//! Floating-point arithmetic in integers: exact, then rounded once in any direction to any format.

/// Where a result that is not a number of the format goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
}

/// A binary format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits of the significand, the hidden one included.
    pub(super) precision: u32,
    pub(super) bias: i32,
    pub(super) width: u32,
    /// The largest number.
    pub(super) max: u64,
    /// What overflow gives: infinity where there is one.
    pub(super) infinity: u64,
    /// The NaN of NVIDIA's arithmetic.
    pub(super) nan: u64,
}

pub(super) const F16: Format = Format {
    precision: 11,
    bias: 15,
    width: 16,
    max: 0x7BFF,
    infinity: 0x7C00,
    nan: 0x7FFF,
};
pub(super) const BF16: Format = Format {
    precision: 8,
    bias: 127,
    width: 16,
    max: 0x7F7F,
    infinity: 0x7F80,
    nan: 0x7FFF,
};
pub(super) const F32: Format = Format {
    precision: 24,
    bias: 127,
    width: 32,
    max: 0x7F7F_FFFF,
    infinity: 0x7F80_0000,
    nan: 0x7FFF_FFFF,
};
pub(super) const F64: Format = Format {
    precision: 53,
    bias: 1023,
    width: 64,
    max: 0x7FEF_FFFF_FFFF_FFFF,
    infinity: 0x7FF0_0000_0000_0000,
    nan: 0x7FF8_0000_0000_0000,
};
/// A number in the upper 19 bits of 32.
pub(super) const TF32: Format = Format {
    precision: 11,
    bias: 127,
    width: 19,
    max: 0x3_FBFF,
    infinity: 0x3_FC00,
    nan: 0x3_FFFF,
};
/// Without infinities: overflow saturates.
pub(super) const E4M3: Format = Format {
    precision: 4,
    bias: 7,
    width: 8,
    max: 0x7E,
    infinity: 0x7E,
    nan: 0x7F,
};
/// Overflow saturates.
pub(super) const E5M2: Format = Format {
    precision: 3,
    bias: 15,
    width: 8,
    max: 0x7B,
    infinity: 0x7B,
    nan: 0x7F,
};

/// An unpacked number; a finite one is `(m + rest) * 2^e`, where `rest` is 0 or, if `inexact`, between 0
/// and 1. An inexact `m` has more bits than any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Num {
    Nan,
    Infinite(bool),
    Finite {
        negative: bool,
        m: u128,
        e: i32,
        inexact: bool,
    },
}

use Num::{Finite, Infinite, Nan};

fn exact(negative: bool, m: u128, e: i32) -> Num {
    Finite {
        negative,
        m,
        e,
        inexact: false,
    }
}

impl Num {
    /// Of an integer.
    pub(super) fn integer(x: i128) -> Num {
        exact(x < 0, x.unsigned_abs(), 0)
    }

    pub(super) fn is_negative(self) -> bool {
        match self {
            Nan => false,
            Infinite(negative) | Finite { negative, .. } => negative,
        }
    }

    fn negate(self) -> Num {
        match self {
            Nan => Nan,
            Infinite(negative) => Infinite(!negative),
            Finite {
                negative,
                m,
                e,
                inexact,
            } => Finite {
                negative: !negative,
                m,
                e,
                inexact,
            },
        }
    }

    /// The nearest integer in the direction of the mode, as a number.
    pub(super) fn integral(self, mode: Mode) -> Num {
        let Finite { negative, m, e, .. } = self else {
            return self;
        };
        if e >= 0 || m == 0 {
            return self;
        }
        exact(negative, shifted(m, (-e) as u32, false, negative, mode), 0)
    }

    /// As an integer, which it is; clamped far outside of 64 bits.
    pub(super) fn to_integer(self) -> Option<i128> {
        match self {
            Nan => None,
            Infinite(negative) => Some(if negative { i128::MIN } else { i128::MAX }),
            Finite { negative, m, e, .. } => {
                let room = m.leading_zeros() as i32 - 1;
                let magnitude = if m == 0 {
                    0
                } else if e > room {
                    i128::MAX
                } else if e >= 0 {
                    (m << e) as i128
                } else {
                    (m >> (-e).min(127)) as i128
                };
                Some(if negative { -magnitude } else { magnitude })
            }
        }
    }
}

/// `(m + rest) >> by`, rounded.
fn shifted(m: u128, by: u32, inexact: bool, negative: bool, mode: Mode) -> u128 {
    let (n, half, rest) = match by {
        0 => (m, false, inexact),
        1..=127 => {
            let half = m >> (by - 1) & 1 != 0;
            let rest = m & ((1 << (by - 1)) - 1) != 0;
            (m >> by, half, rest || inexact)
        }
        _ => (0, false, m != 0 || inexact),
    };
    let up = match mode {
        Mode::Nearest => half && (rest || n & 1 != 0),
        Mode::Zero => false,
        Mode::Down => negative && (half || rest),
        Mode::Up => !negative && (half || rest),
    };
    n + u128::from(up)
}

impl Format {
    fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    /// Whether the bits are a subnormal number.
    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude < 1 << (self.precision - 1)
    }

    /// Subnormal numbers become zero of the same sign.
    pub(super) fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) {
            bits & self.sign()
        } else {
            bits
        }
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity
    }

    /// The number that bits are; those above the width are junk. 8-bit formats have no infinity here but
    /// that of E5M2.
    pub(super) fn decode(self, bits: u64) -> Num {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        let has_infinity = self.infinity != self.max || self == E5M2;
        let infinity = if self == E5M2 { 0x7C } else { self.infinity };
        if has_infinity && magnitude == infinity {
            return Infinite(negative);
        }
        if magnitude > infinity {
            return Nan;
        }
        let field = (magnitude >> (self.precision - 1)) as i32;
        let fraction = magnitude & ((1 << (self.precision - 1)) - 1);
        let hidden = u64::from(field != 0) << (self.precision - 1);
        let e = field.max(1) - self.bias - (self.precision as i32 - 1);
        exact(negative, u128::from(fraction | hidden), e)
    }

    /// The bits of a number.
    pub(super) fn encode(self, x: Num, mode: Mode) -> u64 {
        match x {
            Nan => self.nan,
            Infinite(negative) => self.signed(negative, self.infinity),
            Finite { negative, m: 0, .. } => self.signed(negative, 0),
            Finite {
                negative,
                m,
                e,
                inexact,
            } => {
                let steps = self.precision as i32 - 1;
                let top = 127 - m.leading_zeros() as i32;
                let lowest = 1 - self.bias - steps;
                let unit = (top + e - steps).max(lowest);
                let n = if unit <= e {
                    m << (e - unit)
                } else {
                    shifted(m, (unit - e) as u32, inexact, negative, mode)
                };
                // A carry out of the significand moves into the exponent by itself.
                let field = (unit - lowest) as u128;
                let magnitude = (field << steps) + n;
                let toward = match mode {
                    Mode::Nearest => true,
                    Mode::Zero => false,
                    Mode::Down => negative,
                    Mode::Up => !negative,
                };
                let magnitude = if magnitude > u128::from(self.max) {
                    if toward { self.infinity } else { self.max }
                } else {
                    magnitude as u64
                };
                self.signed(negative, magnitude)
            }
        }
    }

    fn signed(self, negative: bool, magnitude: u64) -> u64 {
        magnitude | if negative { self.sign() } else { 0 }
    }
}

/// Sums round toward minus infinity to -0.
pub(super) fn add(a: Num, b: Num, mode: Mode) -> Num {
    let (
        Finite {
            negative: na,
            m: ma,
            e: ea,
            ..
        },
        Finite {
            negative: nb,
            m: mb,
            e: eb,
            ..
        },
    ) = (a, b)
    else {
        return match (a, b) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite(x), Infinite(y)) if x != y => Nan,
            (Infinite(x), _) | (_, Infinite(x)) => Infinite(x),
            (Finite { .. }, Finite { .. }) => Nan,
        };
    };
    let zero = exact(if na == nb { na } else { mode == Mode::Down }, 0, 0);
    match (ma, mb) {
        (0, 0) => return zero,
        (0, _) => return b,
        (_, 0) => return a,
        _ => {}
    }
    // The larger one goes to the top with two bits to spare, the smaller to the same exponent.
    let key = |m: u128, e: i32| (128 - m.leading_zeros() as i32 + e, m << m.leading_zeros());
    let ((nl, ml, el), (ns, ms, es)) = if key(ma, ea) >= key(mb, eb) {
        ((na, ma, ea), (nb, mb, eb))
    } else {
        ((nb, mb, eb), (na, ma, ea))
    };
    let lift = ml.leading_zeros() as i32 - 2;
    let (large, unit) = (ml << lift, el - lift);
    let (small, rest) = match es - unit {
        up @ 0.. => (ms << up, false),
        down if down > -128 => (ms >> -down, ms & ((1 << -down) - 1) != 0),
        _ => (0, true),
    };
    let m = if nl == ns {
        large + small
    } else {
        large - small - u128::from(rest)
    };
    if m == 0 && !rest {
        return zero;
    }
    Finite {
        negative: nl,
        m,
        e: unit,
        inexact: rest,
    }
}

pub(super) fn sub(a: Num, b: Num, mode: Mode) -> Num {
    add(a, b.negate(), mode)
}

/// Exact: of two numbers of at most 64 bits.
pub(super) fn mul(a: Num, b: Num) -> Num {
    let negative = a.is_negative() != b.is_negative();
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite(_), Finite { m: 0, .. }) | (Finite { m: 0, .. }, Infinite(_)) => Nan,
        (Infinite(_), _) | (_, Infinite(_)) => Infinite(negative),
        (Finite { m: x, e: ex, .. }, Finite { m: y, e: ey, .. }) => exact(negative, x * y, ex + ey),
    }
}

pub(super) fn div(a: Num, b: Num) -> Num {
    let negative = a.is_negative() != b.is_negative();
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinite(_), Infinite(_)) => Nan,
        (Infinite(_), Finite { .. }) => Infinite(negative),
        (Finite { .. }, Infinite(_)) => exact(negative, 0, 0),
        (Finite { m: 0, .. }, Finite { m: 0, .. }) => Nan,
        (Finite { .. }, Finite { m: 0, .. }) => Infinite(negative),
        (Finite { m: 0, .. }, Finite { .. }) => exact(negative, 0, 0),
        (Finite { m: x, e: ex, .. }, Finite { m: y, e: ey, .. }) => {
            let up = x.leading_zeros();
            let x = x << up;
            Finite {
                negative,
                m: x / y,
                e: ex - up as i32 - ey,
                inexact: x % y != 0,
            }
        }
    }
}

pub(super) fn sqrt(a: Num) -> Num {
    match a {
        Nan => Nan,
        Finite { m: 0, .. } => a,
        Infinite(true) | Finite { negative: true, .. } => Nan,
        Infinite(false) => a,
        Finite { m, e, .. } => {
            let up = m.leading_zeros() as i32;
            let up = if (e - up) % 2 != 0 { up - 1 } else { up };
            let wide = m << up;
            let root = wide.isqrt();
            Finite {
                negative: false,
                m: root,
                e: (e - up) / 2,
                inexact: root * root != wide,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> impl Iterator<Item = u64> {
        let mut x = 0x9E37_79B9_7F4A_7C15u64;
        std::iter::from_fn(move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            Some(x)
        })
    }

    /// Random numbers, half of them near each other in size.
    fn pairs(count: usize) -> Vec<(f64, f64, f64)> {
        let mut words = words();
        let mut next = move || words.next().expect("endless");
        (0..count)
            .map(|i| {
                let near = |x: u64| {
                    f64::from_bits(
                        x & 0x800F_FFFF_FFFF_FFFF | 0x3FF0_0000_0000_0000 | (x >> 60 & 3) << 52,
                    )
                };
                let any = f64::from_bits;
                let pick = |x| if i % 2 == 0 { near(x) } else { any(x) };
                (pick(next()), pick(next()), pick(next()))
            })
            .collect()
    }

    fn same(got: u64, want: f64) {
        // The compiler may give any NaN for a computation that it sees, of either sign.
        let want = std::hint::black_box(want);
        let want = if want.is_nan() {
            F64.nan
        } else {
            want.to_bits()
        };
        assert_eq!(
            got,
            want,
            "{} for {}",
            f64::from_bits(got),
            f64::from_bits(want)
        );
    }

    #[test]
    fn to_nearest_it_is_what_the_host_computes() {
        let d = |x: f64| F64.decode(x.to_bits());
        let r = |x| F64.encode(x, Mode::Nearest);
        for (a, b, c) in pairs(20_000) {
            same(r(add(d(a), d(b), Mode::Nearest)), a + b);
            same(r(sub(d(a), d(b), Mode::Nearest)), a - b);
            same(r(mul(d(a), d(b))), a * b);
            same(r(div(d(a), d(b))), a / b);
            same(r(sqrt(d(a))), a.sqrt());
            same(
                r(add(mul(d(a), d(b)), d(c), Mode::Nearest)),
                a.mul_add(b, c),
            );
            let narrow = F32.encode(d(a), Mode::Nearest);
            let want = (a as f32).to_bits();
            assert_eq!(narrow, if a.is_nan() { F32.nan } else { u64::from(want) });
        }
    }

    #[test]
    fn directed_results_enclose_the_exact_one() {
        for (a, b, c) in pairs(5_000) {
            let d = |x: f64| F64.decode(x.to_bits());
            for exact in [mul(d(a), d(b)), div(d(a), d(b)), sqrt(d(c))] {
                let at = |mode| f64::from_bits(F64.encode(exact, mode));
                let (near, low, high) = (at(Mode::Nearest), at(Mode::Down), at(Mode::Up));
                if near.is_nan() {
                    continue;
                }
                assert!(low <= near && near <= high);
                assert!(low == high || low.next_up() == high, "{low:e} {high:e}");
                let zero = at(Mode::Zero);
                assert_eq!(
                    zero.to_bits(),
                    if near.is_sign_negative() { high } else { low }.to_bits()
                );
            }
        }
    }
}
