//! Masks: bits in general registers, and vectors of as many lanes as a register has.

use super::{
    super::nodes::{Arg, Code, MemoryAt, Vector},
    Narrow, Refused, of_masks,
};
use regalloc2::{Operand, RegClass, VReg};
use warpsmith_x86::{Alu, Len, MaskAlu, Shift, Vop, vector};

/// What a mask was made of, by the numbers of other masks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// Of nothing that is kept.
    Alone,
    Not(usize),
    Both(MaskAlu, usize, usize),
    /// Of the lanes of another from one on.
    From {
        of: usize,
        by: u8,
    },
    /// Of so many lanes of one, and those of another above.
    Joined {
        low: usize,
        high: usize,
        width: u8,
    },
}

/// Lanes of a mask as a vector: all bits of those that are in it, or of those that are not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) reg: VReg,
    pub(super) turned: bool,
}

/// A mask.
#[derive(Clone, Debug)]
pub(super) struct Mask {
    /// Its lanes as bits, zeros above.
    pub(super) bits: VReg,
    /// Lanes behind this many are not in it.
    pub(super) width: u8,
    /// Its bits, where they are known.
    pub(super) number: Option<u32>,
    found: Found,
    /// Vectors of eight lanes of 32 bits, and of four of 64.
    narrow: [Option<Lanes>; 4],
    wide: [Option<Lanes>; 8],
    /// The bits in all lanes of a vector.
    spread: Option<VReg>,
}

impl Mask {
    /// A mask of which only the bits are known.
    pub(super) fn of(bits: VReg) -> Mask {
        Mask::found(bits, 32, Found::Alone)
    }

    pub(super) fn found(bits: VReg, width: u8, found: Found) -> Mask {
        Mask {
            bits,
            width,
            number: None,
            found,
            narrow: [None; 4],
            wide: [None; 8],
            spread: None,
        }
    }

    /// Its vectors are only there in the part where they were made.
    pub(super) fn forget(&mut self) {
        self.narrow = [None; 4];
        self.wide = [None; 8];
        self.spread = None;
    }

    fn kept(&self, lane: u8, wide: bool) -> Option<Lanes> {
        match wide {
            true => *self.wide.get(usize::from(lane / 4))?,
            false => *self.narrow.get(usize::from(lane / 8))?,
        }
    }
}

impl Narrow {
    pub(super) fn mask(&self, old: usize) -> Result<&Mask, Refused> {
        self.masks.get(&old).ok_or(Refused)
    }

    /// A mask of the lanes of two vectors that a comparison gave, of both halves; `with` are those that count.
    pub(super) fn compared(
        &mut self,
        dst: usize,
        halves: [Lanes; 2],
        wide: bool,
        with: Option<usize>,
    ) -> Result<(), Refused> {
        let (op, each) = match wide {
            true => (&vector::SIGNS_F64, 4),
            false => (&vector::SIGNS_F32, 8),
        };
        let [low, high] = halves.map(|lanes| self.signs(op, lanes.reg));
        let high = self.idle_change(Code::Shift(Shift::Left, false, each), high, &[]);
        let mut bits = self.idle_change(Code::Alu(Alu::Or, false), high, &[low]);
        let of_half = (1u32 << each) - 1;
        let turned = halves.map(|lanes| u32::from(lanes.turned) * of_half);
        let turned = turned[0] | turned[1] << each;
        if turned != 0 {
            bits = self.idle_change(Code::AluImm(Alu::Xor, false, turned as i32), bits, &[]);
        }
        if let Some(with) = with {
            let with = self.mask(with)?.bits;
            bits = self.idle_change(Code::Alu(Alu::And, false), bits, &[with]);
        }
        let mut mask = Mask::found(bits, 2 * each, Found::Alone);
        if with.is_none() {
            for (at, lanes) in halves.into_iter().enumerate() {
                match wide {
                    true => mask.wide[at] = Some(lanes),
                    false => mask.narrow[at] = Some(lanes),
                }
            }
        }
        self.masks.insert(dst, mask);
        Ok(())
    }

    fn signs(&mut self, op: &'static Vop, v: VReg) -> VReg {
        let v = Vector {
            len: Len::L256,
            ..Vector::one(Arg::Reg(v))
        };
        self.to.vector(op, RegClass::Int, v)
    }

    pub(super) fn join_masks(
        &mut self,
        op: MaskAlu,
        dst: usize,
        a: usize,
        b: usize,
    ) -> Result<(), Refused> {
        let (x, y) = (self.mask(a)?, self.mask(b)?);
        let width = match op {
            MaskAlu::And => x.width.min(y.width),
            MaskAlu::AndNot => y.width,
            MaskAlu::Or | MaskAlu::Xor => x.width.max(y.width),
            MaskAlu::Xnor => 32,
        };
        let (mut x, y) = (x.bits, y.bits);
        let (before, alu, after) = of_masks(op);
        let not = Code::AluImm(Alu::Xor, false, -1);
        if before {
            x = self.idle_change(not, x, &[]);
        }
        let mut bits = self.idle_change(Code::Alu(alu, false), x, &[y]);
        if after {
            bits = self.idle_change(not, bits, &[]);
        }
        self.masks
            .insert(dst, Mask::found(bits, width, Found::Both(op, a, b)));
        Ok(())
    }

    /// The lanes of one mask above those of another: the result, the upper one, the lower one.
    pub(super) fn side_by_side(&mut self, width: u8, operands: &[Operand]) -> Result<(), Refused> {
        let [dst, high, low] = [0, 1, 2].map(|at| operands[at].vreg().vreg());
        let of = |narrow: &mut Self, old: usize| {
            let mask = narrow.mask(old)?;
            let (bits, own) = (mask.bits, mask.width);
            let keep = Code::AluImm(Alu::And, false, (1 << width) - 1);
            Ok(match own > width {
                true => narrow.idle_change(keep, bits, &[]),
                false => bits,
            })
        };
        let (x, y) = (of(self, high)?, of(self, low)?);
        let x = self.idle_change(Code::Shift(Shift::Left, false, width), x, &[]);
        let mut bits = self.idle_change(Code::Alu(Alu::Or, false), x, &[y]);
        let found = Found::Joined { low, high, width };
        let whole = Mask::found(bits, 2 * width, found);
        self.masks.insert(dst, whole);
        if width == 16 && [0, 8, 16, 24].iter().all(|lane| self.is_kept(dst, *lane)) {
            bits = self.packed(dst)?;
            if let Some(mask) = self.masks.get_mut(&dst) {
                mask.bits = bits;
            }
        }
        Ok(())
    }

    /// Whether lanes of a mask, or of those that it is joined of, are kept as a vector of 32-bit lanes.
    fn is_kept(&self, old: usize, lane: u8) -> bool {
        let Some(mask) = self.masks.get(&old) else {
            return false;
        };
        match mask.found {
            Found::Joined { low, high, width } if width >= 8 => match lane < width {
                true => self.is_kept(low, lane),
                false => self.is_kept(high, lane - width),
            },
            _ => mask.kept(lane, false).is_some(),
        }
    }

    /// The bits of a mask of which all lanes are kept.
    fn packed(&mut self, old: usize) -> Result<VReg, Refused> {
        let mut lanes = Vec::with_capacity(4);
        for lane in [0, 8, 16, 24] {
            lanes.push(self.lanes(old, lane, false)?);
        }
        let op = &vector::PACK_I32_I16;
        let low = self.both(op, lanes[0].reg, lanes[1].reg);
        let high = self.both(op, lanes[2].reg, lanes[3].reg);
        let bytes = self.both(&vector::PACK_I16_I8, low, high);
        // Fours of lanes: first the lower ones of each register, then the upper ones.
        let order: [u8; 32] = std::array::from_fn(|i| match i % 4 {
            0 => [0, 4, 1, 5, 2, 6, 3, 7][i / 4],
            _ => 0,
        });
        let order = self.number_lanes(order);
        let bytes = self.both(&vector::PERMUTE_I32, order, bytes);
        let bits = self.signs(&vector::SIGNS_I8, bytes);
        let turned = (0..)
            .zip(&lanes)
            .map(|(i, lanes)| u32::from(lanes.turned) * (0xFF << (8 * i)));
        let turned = turned.fold(0u32, |all, own| all | own);
        Ok(match turned {
            0 => bits,
            turned => self.idle_change(Code::AluImm(Alu::Xor, false, turned as i32), bits, &[]),
        })
    }

    /// The lanes of a mask from one on as a vector: eight of 32 bits, or four of 64.
    pub(super) fn lanes(&mut self, old: usize, lane: u8, wide: bool) -> Result<Lanes, Refused> {
        if let Some(lanes) = self.mask(old)?.kept(lane, wide) {
            return Ok(lanes);
        }
        let found = self.mask(old)?.found;
        let lanes = match found {
            Found::From { of, by } => self.lanes(of, lane + by, wide)?,
            Found::Joined { low, high, width } => match lane < width {
                true => self.lanes(low, lane, wide)?,
                false => self.lanes(high, lane - width, wide)?,
            },
            Found::Not(of) if self.is_ready(of, lane, wide) => {
                let Lanes { reg, turned } = self.lanes(of, lane, wide)?;
                let turned = !turned;
                Lanes { reg, turned }
            }
            Found::Both(op, a, b)
                if self.is_ready(a, lane, wide) && self.is_ready(b, lane, wide) =>
            {
                let (a, b) = (self.lanes(a, lane, wide)?, self.lanes(b, lane, wide)?);
                self.lanes_of_both(op, a, b)
            }
            Found::Alone | Found::Not(_) | Found::Both(..) => self.of_bits(old, lane, wide)?,
        };
        if let Some(mask) = self.masks.get_mut(&old) {
            let place = match wide {
                true => mask.wide.get_mut(usize::from(lane / 4)),
                false => mask.narrow.get_mut(usize::from(lane / 8)),
            };
            *place.ok_or(Refused)? = Some(lanes);
        }
        Ok(lanes)
    }

    /// Whether lanes are to be had without their bits.
    fn is_ready(&self, old: usize, lane: u8, wide: bool) -> bool {
        let Some(mask) = self.masks.get(&old) else {
            return false;
        };
        let of = |old: usize, lane: u8| self.is_ready(old, lane, wide);
        mask.kept(lane, wide).is_some()
            || match mask.found {
                Found::Alone => false,
                Found::Not(a) => of(a, lane),
                Found::Both(_, a, b) => of(a, lane) && of(b, lane),
                Found::From { of: a, by } => of(a, lane + by),
                Found::Joined { low, high, width } => match lane < width {
                    true => of(low, lane),
                    false => of(high, lane - width),
                },
            }
    }

    fn lanes_of_both(&mut self, op: MaskAlu, a: Lanes, b: Lanes) -> Lanes {
        // By De Morgan's laws one that is turned need not be turned back.
        let (mut x, y) = (a, b);
        if op == MaskAlu::AndNot {
            x.turned = !x.turned;
        }
        let (op, turned, swap) = match op {
            MaskAlu::Xor => (&vector::XOR_BITS, x.turned != y.turned, false),
            MaskAlu::Xnor => (&vector::XOR_BITS, x.turned == y.turned, false),
            MaskAlu::And | MaskAlu::AndNot => match (x.turned, y.turned) {
                (false, false) => (&vector::AND_BITS, false, false),
                (true, true) => (&vector::OR_BITS, true, false),
                (true, false) => (&vector::WITHOUT_BITS, false, false),
                (false, true) => (&vector::WITHOUT_BITS, false, true),
            },
            // Of a turned one and another: those that are in the turned one and not in the other are left out.
            MaskAlu::Or => match (x.turned, y.turned) {
                (false, false) => (&vector::OR_BITS, false, false),
                (true, true) => (&vector::AND_BITS, true, false),
                (true, false) => (&vector::WITHOUT_BITS, true, true),
                (false, true) => (&vector::WITHOUT_BITS, true, false),
            },
        };
        let (x, y) = if swap { (y, x) } else { (x, y) };
        let reg = self.both(op, x.reg, y.reg);
        Lanes { reg, turned }
    }

    /// Lanes by their bits: each keeps its own, and is compared with it.
    fn of_bits(&mut self, old: usize, lane: u8, wide: bool) -> Result<Lanes, Refused> {
        let turned = false;
        let Mask {
            bits,
            number,
            spread,
            ..
        } = *self.mask(old)?;
        let (count, bytes) = if wide { (4, 8) } else { (8, 4) };
        if let Some(number) = number {
            let known: [u8; 32] = std::array::from_fn(|i| {
                let own = number >> (usize::from(lane) + i / bytes) & 1;
                own as u8 * 0xFF
            });
            let reg = self.number_lanes(known);
            return Ok(Lanes { reg, turned });
        }
        debug_assert!(lane + count <= 32);
        let all = match spread {
            Some(all) => all,
            None => {
                let v = Vector {
                    len: Len::L128,
                    ..Vector::one(Arg::Reg(bits))
                };
                let first = self.to.vector(&vector::OF_GPR32, RegClass::Float, v);
                let all = self.one(&vector::SPLAT_I32, Arg::Reg(first));
                if let Some(mask) = self.masks.get_mut(&old) {
                    mask.spread = Some(all);
                }
                all
            }
        };
        // Both words of a lane of 64 bits have its bit.
        let own: [u8; 32] = std::array::from_fn(|i| {
            let bit = 1u32 << (usize::from(lane) + i / bytes);
            bit.to_le_bytes()[i % 4]
        });
        let own = Arg::Mem(self.constant(own));
        let kept = self.two(&vector::AND_BITS, all, own);
        let op = match wide {
            true => &vector::EQUAL_I64,
            false => &vector::EQUAL_I32,
        };
        let reg = self.two(op, kept, own);
        Ok(Lanes { reg, turned })
    }

    /// Lanes as a vector of those that are in the mask.
    pub(super) fn straight(&mut self, lanes: Lanes) -> VReg {
        if !lanes.turned {
            return lanes.reg;
        }
        let ones = self.words(u32::MAX);
        self.two(&vector::XOR_BITS, lanes.reg, ones)
    }

    /// `yes` in the lanes of a mask, `no` in the others.
    pub(super) fn chosen(&mut self, lanes: Lanes, yes: Arg, no: VReg) -> VReg {
        let (no, yes) = match (lanes.turned, yes) {
            (false, yes) => (no, yes),
            (true, Arg::Reg(yes)) => (yes, Arg::Reg(no)),
            (true, yes) => (self.one(&vector::LOAD, yes), Arg::Reg(no)),
        };
        let v = Vector {
            mask: Some(lanes.reg),
            ..Vector::two(no, yes)
        };
        self.made(&vector::BLEND_BY_SIGN, v)
    }

    /// Flags: whether any of the first sixteen lanes is in a mask.
    pub(super) fn test_16(&mut self, old: usize) -> Result<(), Refused> {
        let mut leaves = Vec::new();
        if !self.leaves(old, &mut leaves) {
            let bits = self.mask(old)?.bits;
            self.to.effect(Code::TestImm(0xFFFF), &[bits]);
            return Ok(());
        }
        // What is turned is in all of these, or somewhere not in the mask.
        let (mut any, mut all): (Option<VReg>, Option<VReg>) = (None, None);
        for lanes in leaves {
            let (sum, op) = match lanes.turned {
                false => (&mut any, &vector::OR_BITS),
                true => (&mut all, &vector::AND_BITS),
            };
            let old = *sum;
            let new = match old {
                None => lanes.reg,
                Some(old) if old == lanes.reg => old,
                Some(old) => self.both(op, old, lanes.reg),
            };
            match lanes.turned {
                false => any = Some(new),
                true => all = Some(new),
            }
        }
        if let Some(reg) = all {
            let turned = true;
            let off = self.straight(Lanes { reg, turned });
            any = Some(match any {
                None => off,
                Some(any) => self.both(&vector::OR_BITS, any, off),
            });
        }
        let any = any.ok_or(Refused)?;
        let v = Vector {
            len: Len::L256,
            ..Vector::one(Arg::Reg(any))
        };
        self.to.store_vector(&vector::TEST_BITS, any, v);
        Ok(())
    }

    /// The vectors of comparisons that a mask of at most sixteen lanes is the union of, if all are kept.
    fn leaves(&self, old: usize, found: &mut Vec<Lanes>) -> bool {
        let Some(mask) = self.masks.get(&old) else {
            return false;
        };
        if let Found::Both(MaskAlu::Or, a, b) = mask.found {
            return self.leaves(a, found) && self.leaves(b, found);
        }
        let own = match mask.width {
            8 => [mask.wide[0], mask.wide[1]],
            16 => [mask.narrow[0], mask.narrow[1]],
            _ => return false,
        };
        found.extend(own.into_iter().flatten());
        own.iter().all(Option::is_some)
    }

    /// The bits of the first lanes of a mask.
    pub(super) fn first_lanes(&mut self, old: usize, count: u8) -> Result<VReg, Refused> {
        let mask = self.mask(old)?;
        let (bits, width) = (mask.bits, mask.width);
        let keep = Code::AluImm(Alu::And, false, ((1u64 << count) - 1) as i32);
        Ok(match width > count {
            true => self.idle_change(keep, bits, &[]),
            false => bits,
        })
    }

    /// Writes a register to the stack.
    pub(super) fn lay(&mut self, to: u32, v: VReg) {
        let mem = Vector {
            len: Len::L256,
            ..Vector::one(Arg::Mem(MemoryAt::Stack(to)))
        };
        self.to.store_vector(&vector::STORE, v, mem);
    }
}
