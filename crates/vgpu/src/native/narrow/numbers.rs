//! Arithmetic of half a vector that AVX2 has no instruction for, and comparisons.

use super::{
    super::nodes::Arg,
    ByteBits, Narrow, Pairs, PairsOf, Refused,
    masks::Lanes,
    vectors::{From, Half, Node},
};
use regalloc2::VReg;
use warpsmith_x86::vector;

const SIGN: u64 = 1 << 63;

impl Narrow {
    /// The last operand in a register.
    fn held(&mut self, arg: Arg) -> VReg {
        match arg {
            Arg::Reg(reg) => reg,
            Arg::Mem(_) => self.one(&vector::LOAD, arg),
        }
    }

    /// All ones in the lanes of 64 bits that are below 0.
    fn signs_of(&mut self, a: VReg) -> VReg {
        let zero = self.number_lanes([0; 32]);
        self.both(&vector::GREATER_I64, zero, a)
    }

    /// The lower 64 bits of products.
    pub(super) fn product(&mut self, half: Half) -> Result<VReg, Refused> {
        let (a, b) = (half.first()?, half.last()?);
        let b = self.held(b);
        let [a_high, b_high] = [a, b].map(|x| self.by(&vector::SHR_U64, x, 32));
        let op = &vector::MUL_U32_U64;
        let (one, other) = (self.both(op, a_high, b), self.both(op, a, b_high));
        let middle = self.both(&vector::ADD_I64, one, other);
        let middle = self.by(&vector::SHL_I64, middle, 32);
        let low = self.both(op, a, b);
        Ok(self.both(&vector::ADD_I64, low, middle))
    }

    /// The larger of two numbers, or the smaller.
    fn extreme(&mut self, half: Half, larger: bool, signed: bool) -> Result<VReg, Refused> {
        let (a, b) = (half.first()?, half.last()?);
        let b = self.held(b);
        let [x, y] = match signed {
            true => [a, b],
            false => [a, b].map(|v| {
                let sign = self.quads(SIGN);
                self.two(&vector::XOR_BITS, v, sign)
            }),
        };
        let reg = self.both(&vector::GREATER_I64, x, y);
        let turned = !larger;
        Ok(self.chosen(Lanes { reg, turned }, Arg::Reg(a), b))
    }

    pub(super) fn smaller_signed(&mut self, half: Half) -> Result<VReg, Refused> {
        self.extreme(half, false, true)
    }

    pub(super) fn larger_signed(&mut self, half: Half) -> Result<VReg, Refused> {
        self.extreme(half, true, true)
    }

    pub(super) fn smaller_unsigned(&mut self, half: Half) -> Result<VReg, Refused> {
        self.extreme(half, false, false)
    }

    pub(super) fn larger_unsigned(&mut self, half: Half) -> Result<VReg, Refused> {
        self.extreme(half, true, false)
    }

    /// Numbers of 64 bits without their signs.
    pub(super) fn size(&mut self, half: Half) -> Result<VReg, Refused> {
        let a = half.last()?;
        let a = self.held(a);
        let signs = self.signs_of(a);
        let turned = self.both(&vector::XOR_BITS, a, signs);
        Ok(self.both(&vector::SUB_I64, turned, signs))
    }

    /// What is shifted in as zeros becomes the sign: it is turned, and one is taken off where it stands.
    pub(super) fn shift_signed(&mut self, half: Half) -> Result<VReg, Refused> {
        let a = half.last()?;
        let a = self.held(a);
        let by = half.imm.min(63);
        let low = self.by(&vector::SHR_U64, a, by);
        let sign = self.quads(SIGN >> by);
        let turned = self.two(&vector::XOR_BITS, low, sign);
        Ok(self.two(&vector::SUB_I64, turned, sign))
    }

    pub(super) fn shift_signed_by_lanes(&mut self, half: Half) -> Result<VReg, Refused> {
        let (a, by) = (half.first()?, half.last()?);
        let signs = self.signs_of(a);
        let turned = self.both(&vector::XOR_BITS, a, signs);
        let low = self.two(&vector::SHRV_U64, turned, by);
        Ok(self.both(&vector::XOR_BITS, low, signs))
    }

    fn rotate(&mut self, half: Half, left: bool) -> Result<VReg, Refused> {
        let (a, by) = (half.first()?, half.last()?);
        let by = self.held(by);
        let low = self.words(31);
        let by = self.two(&vector::AND_BITS, by, low);
        let all = self.words(32);
        let all = self.held(all);
        let rest = self.both(&vector::SUB_I32, all, by);
        // What is shifted by all bits is 0.
        let (up, down) = if left { (by, rest) } else { (rest, by) };
        let up = self.both(&vector::SHLV_I32, a, up);
        let down = self.both(&vector::SHRV_U32, a, down);
        Ok(self.both(&vector::OR_BITS, up, down))
    }

    pub(super) fn rotate_left(&mut self, half: Half) -> Result<VReg, Refused> {
        self.rotate(half, true)
    }

    pub(super) fn rotate_right(&mut self, half: Half) -> Result<VReg, Refused> {
        self.rotate(half, false)
    }

    /// Four products of bytes without sign and bytes with one, added to a number. Of bytes up to 128 two products are no
    /// more than 16 bits with a sign hold; of others both halves are multiplied.
    pub(super) fn dot(&mut self, node: &Node) -> Result<(), Refused> {
        let second = node.second.ok_or(Refused)?;
        let constant = self.constant_at(Some(From::Reg(second)));
        let most = match constant {
            Some(bytes) => bytes.into_iter().max(),
            None => self.largest.get(&second).copied(),
        };
        let most = most.unwrap_or(255);
        let shift = self.zeros.get(&second).map_or(0, |zeros| (*zeros).min(7));
        let whole = |shift| ByteBits {
            shift,
            most: most >> shift,
            among: false,
        };
        let half = |shift| ByteBits {
            shift,
            most: 15,
            among: true,
        };
        let parts = match most {
            0..=128 => vec![whole(0)],
            _ if most >> shift <= 128 => vec![whole(shift)],
            _ => vec![half(0), half(4)],
        };
        self.each(node, false, |narrow, half| {
            let sum = half.start.ok_or(Refused)?;
            let (a, b) = (half.first()?, half.last()?);
            Ok(narrow.dot_of_parts(a, &parts, b, sum))
        })
    }

    /// A number in some of the bits of each byte.
    fn byte_bits(&mut self, a: VReg, of: ByteBits) -> VReg {
        if of.shift == 0 && !of.among {
            return a;
        }
        if let Some(found) = self.bits.get(&(a, of)) {
            return *found;
        }
        let mut found = a;
        if of.shift > 0 {
            found = self.by(&vector::SHR_U16, found, of.shift);
        }
        // Where there are no others, none has come from the byte above.
        if of.among {
            let own = self.words(u32::from(of.most) * 0x0101_0101);
            found = self.two(&vector::AND_BITS, found, own);
        }
        self.bits.insert((a, of), found);
        found
    }

    /// Products of bytes that are taken apart. A sum that goes on is added up anew from what it was made of, in words of 16
    /// bits as long as those hold it; what nobody reads then goes.
    fn dot_of_parts(&mut self, a: VReg, parts: &[ByteBits], b: Arg, sum: VReg) -> VReg {
        let mut own = Pairs {
            sum,
            parts: Vec::with_capacity(2),
        };
        for part in parts {
            let a = self.byte_bits(a, *part);
            own.parts.push(PairsOf {
                shift: part.shift,
                words: self.two(&vector::DOT_U8_I8_PAIRS, a, b),
                most: 2 * 128 * u32::from(part.most),
            });
        }
        if let Some(before) = self.pairs.get(&sum).cloned() {
            let of = |shift| before.parts.iter().find(|part| part.shift == shift);
            let fits = |part: &PairsOf| {
                let before = of(part.shift).map_or(0, |before| before.most);
                before + part.most <= i16::MAX as u32
            };
            if own.parts.iter().all(fits) {
                for part in &mut own.parts {
                    if let Some(before) = of(part.shift) {
                        part.words = self.both(&vector::ADD_I16, before.words, part.words);
                        part.most += before.most;
                    }
                }
                let others = before.parts.iter();
                let has = |part: &&PairsOf| own.parts.iter().any(|own| own.shift == part.shift);
                let others: Vec<PairsOf> = others.filter(|part| !has(part)).copied().collect();
                own.parts.extend(others);
                own.sum = before.sum;
            }
        }
        let mut found = own.sum;
        for part in &own.parts {
            let times = self.words(0x0001_0001 << part.shift);
            let fours = self.two(&vector::DOT_I16, part.words, times);
            found = self.both(&vector::ADD_I32, found, fours);
        }
        self.pairs.insert(found, own);
        found
    }

    // Comparisons.

    /// The lanes of both halves where a relation holds.
    fn related(
        &mut self,
        node: &Node,
        f: impl Fn(&mut Self, VReg, Arg) -> Result<Lanes, Refused>,
    ) -> Result<(), Refused> {
        let second = node.second.ok_or(Refused)?;
        let last = node.last.ok_or(Refused)?;
        let is_one = self.is_one(Some(From::Reg(second))) && self.is_one(node.last);
        let a = self.half(second, 0)?;
        let b = self.arg(last, 0, 32)?;
        let low = f(self, a, b)?;
        let high = match is_one {
            true => low,
            false => {
                let a = self.half(second, 1)?;
                let b = self.arg(last, 1, 32)?;
                f(self, a, b)?
            }
        };
        self.compared(node.dst.vreg(), [low, high], node.op.is_wide(), node.mask)
    }

    pub(super) fn compare_floats(&mut self, node: &Node) -> Result<(), Refused> {
        let (op, imm) = (node.op, node.imm);
        self.related(node, |narrow, a, b| {
            let reg = narrow.both_by(op, a, b, imm);
            let turned = false;
            Ok(Lanes { reg, turned })
        })
    }

    /// Numbers below, at or above others, by the number of the relation.
    pub(super) fn compare_integers(&mut self, node: &Node) -> Result<(), Refused> {
        let wide = node.op.is_wide();
        let signed = [&vector::CMP_I32, &vector::CMP_I64].contains(&node.op);
        let (equal, greater) = match wide {
            true => (&vector::EQUAL_I64, &vector::GREATER_I64),
            false => (&vector::EQUAL_I32, &vector::GREATER_I32),
        };
        let imm = node.imm;
        self.related(node, |narrow, a, b| {
            let lanes = |reg, turned| Ok(Lanes { reg, turned });
            match imm {
                0 | 4 => return lanes(narrow.two(equal, a, b), imm == 4),
                1 | 2 | 5 | 6 => {}
                _ => return Err(Refused),
            }
            // Which of them are turned, and which have the first number as the larger one.
            let turned = matches!(imm, 2 | 5);
            let first = matches!(imm, 2 | 6);
            if !signed && !wide {
                // At or above: the larger one is the first; and so on.
                let op = match first {
                    true => &vector::MIN_U32,
                    false => &vector::MAX_U32,
                };
                let end = narrow.two(op, a, b);
                return lanes(narrow.both(equal, end, a), !turned);
            }
            let (a, b) = if signed {
                (a, b)
            } else {
                let sign = narrow.quads(SIGN);
                let b = narrow.held(b);
                let [a, b] = [a, b].map(|x| narrow.two(&vector::XOR_BITS, x, sign));
                (a, Arg::Reg(b))
            };
            let reg = match first {
                true => narrow.two(greater, a, b),
                false => {
                    let b = narrow.held(b);
                    narrow.both(greater, b, a)
                }
            };
            lanes(reg, turned)
        })
    }

    /// Whether two numbers have a bit in common, or none.
    pub(super) fn compare_bits(&mut self, node: &Node) -> Result<(), Refused> {
        let turned = [&vector::TEST_I32, &vector::TEST_I64].contains(&node.op);
        let equal = match node.op.is_wide() {
            true => &vector::EQUAL_I64,
            false => &vector::EQUAL_I32,
        };
        self.related(node, |narrow, a, b| {
            let common = match b {
                Arg::Reg(b) if b == a => a,
                b => narrow.two(&vector::AND_BITS, a, b),
            };
            let zero = narrow.words(0);
            let reg = narrow.two(equal, common, zero);
            Ok(Lanes { reg, turned })
        })
    }
}
