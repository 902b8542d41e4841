//! Functions of three bits, of which AVX2 has only those of two.

use super::{super::nodes::Arg, Narrow, Refused, vectors::Half};
use regalloc2::VReg;
use warpsmith_x86::vector;

/// One of the functions of the second and third bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Two {
    Constant(bool),
    /// The second bit, or its opposite.
    B(bool),
    C(bool),
    And(bool),
    Or(bool),
    Xor(bool),
    /// The second and not the third, and the other way round; or the opposites.
    OnlyB(bool),
    OnlyC(bool),
}

/// The function with this table: bit `2 b + c` is what it gives.
fn two(table: u8) -> Two {
    match table & 15 {
        0b0000 => Two::Constant(false),
        0b1111 => Two::Constant(true),
        0b1100 => Two::B(false),
        0b0011 => Two::B(true),
        0b1010 => Two::C(false),
        0b0101 => Two::C(true),
        0b1000 => Two::And(false),
        0b0111 => Two::And(true),
        0b1110 => Two::Or(false),
        0b0001 => Two::Or(true),
        0b0110 => Two::Xor(false),
        0b1001 => Two::Xor(true),
        0b0100 => Two::OnlyB(false),
        0b1011 => Two::OnlyB(true),
        0b0010 => Two::OnlyC(false),
        _ => Two::OnlyC(true),
    }
}

/// Whatever bits are worked on: registers, or tables in a test.
trait Bits {
    type Value: Copy;
    fn ones(&mut self) -> Self::Value;
    fn and(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn or(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn xor(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// Bits of `b` that `a` has not.
    fn without(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
}

fn not<B: Bits>(bits: &mut B, a: B::Value) -> B::Value {
    let ones = bits.ones();
    bits.xor(a, ones)
}

/// A function of two bits, or its opposite; the second of the result says which.
fn either<B: Bits>(bits: &mut B, own: Two, b: B::Value, c: B::Value) -> (B::Value, bool) {
    match own {
        Two::Constant(one) => (bits.ones(), !one),
        Two::B(turned) => (b, turned),
        Two::C(turned) => (c, turned),
        Two::And(turned) => (bits.and(b, c), turned),
        Two::Or(turned) => (bits.or(b, c), turned),
        Two::Xor(turned) => (bits.xor(b, c), turned),
        Two::OnlyB(turned) => (bits.without(c, b), turned),
        Two::OnlyC(turned) => (bits.without(b, c), turned),
    }
}

/// The function of three bits with this table: bit `4 a + 2 b + c` is what it gives.
fn three<B: Bits>(bits: &mut B, table: u8, a: B::Value, b: B::Value, c: B::Value) -> B::Value {
    let (no, yes) = (two(table), two(table >> 4));
    let straight = |bits: &mut B, own: Two| {
        let (value, turned) = either(bits, own, b, c);
        if turned { not(bits, value) } else { value }
    };
    match (no, yes) {
        (no, yes) if no == yes => straight(bits, no),
        (Two::Constant(false), yes) => match either(bits, yes, b, c) {
            (value, true) => bits.without(value, a),
            (value, false) => bits.and(a, value),
        },
        (no, Two::Constant(false)) => {
            let value = straight(bits, no);
            bits.without(a, value)
        }
        (no, Two::Constant(true)) => {
            let value = straight(bits, no);
            bits.or(a, value)
        }
        (no, _) => {
            // Where `a` is, it is what it is without, and the difference.
            let change = two((table ^ table >> 4) & 15);
            let value = straight(bits, no);
            let change = match change {
                Two::Constant(true) => a,
                change => match either(bits, change, b, c) {
                    (change, true) => bits.without(change, a),
                    (change, false) => bits.and(a, change),
                },
            };
            bits.xor(value, change)
        }
    }
}

impl Bits for Narrow {
    type Value = VReg;

    fn ones(&mut self) -> VReg {
        self.number_lanes([0xFF; 32])
    }

    fn and(&mut self, a: VReg, b: VReg) -> VReg {
        self.both(&vector::AND_BITS, a, b)
    }

    fn or(&mut self, a: VReg, b: VReg) -> VReg {
        self.both(&vector::OR_BITS, a, b)
    }

    fn xor(&mut self, a: VReg, b: VReg) -> VReg {
        self.both(&vector::XOR_BITS, a, b)
    }

    fn without(&mut self, a: VReg, b: VReg) -> VReg {
        self.both(&vector::WITHOUT_BITS, a, b)
    }
}

impl Narrow {
    /// A half of `vpternlogd`.
    pub(super) fn ternary(&mut self, half: Half) -> Result<VReg, Refused> {
        let a = half.start.ok_or(Refused)?;
        let b = half.first()?;
        let c = match half.last()? {
            Arg::Reg(c) => c,
            c @ Arg::Mem(_) => self.one(&vector::LOAD, c),
        };
        Ok(three(self, half.imm, a, b, c))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, three};

    /// Tables of functions.
    struct Tables;

    impl Bits for Tables {
        type Value = u8;

        fn ones(&mut self) -> u8 {
            0xFF
        }

        fn and(&mut self, a: u8, b: u8) -> u8 {
            a & b
        }

        fn or(&mut self, a: u8, b: u8) -> u8 {
            a | b
        }

        fn xor(&mut self, a: u8, b: u8) -> u8 {
            a ^ b
        }

        fn without(&mut self, a: u8, b: u8) -> u8 {
            !a & b
        }
    }

    #[test]
    fn all_functions_of_three_bits_have_their_table() {
        for table in 0..=255 {
            assert_eq!(three(&mut Tables, table, 0xF0, 0xCC, 0xAA), table);
        }
    }
}
