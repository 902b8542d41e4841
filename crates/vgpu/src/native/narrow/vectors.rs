//! Vector nodes, half by half.

use super::{
    super::nodes::{Arg, Code, Last, MemoryAt, Template, Vector, VectorShape},
    Direction, Narrow, Refused, Step, behind,
    table::{self, How},
};
use regalloc2::{Operand, OperandKind, RegClass, VReg};
use warpsmith_x86::{Len, Vop, vector};

/// The last operand of a vector node.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    /// A register, by its number.
    Reg(usize),
    /// A place, and the operand that it begins with.
    Mem(Template, Option<Operand>),
}

/// A vector node, taken apart. Registers are told by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) op: &'static Vop,
    pub(super) imm: u8,
    /// What it writes; what it reads where it writes memory.
    pub(super) dst: VReg,
    pub(super) stores: bool,
    pub(super) tied: Option<usize>,
    pub(super) second: Option<usize>,
    pub(super) last: Option<From>,
    pub(super) mask: Option<usize>,
    pub(super) zero: bool,
}

/// The operands of one half.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    pub(super) imm: u8,
    pub(super) start: Option<VReg>,
    pub(super) a: Option<VReg>,
    pub(super) last: Option<Arg>,
}

impl Node {
    fn of(op: &'static Vop, imm: u8, shape: VectorShape, operands: &[Operand]) -> Option<Node> {
        let mut rest = operands.iter();
        let mut next = || rest.next().copied();
        let first = next()?;
        let tied = if shape.tied { Some(next()?) } else { None };
        let second = if shape.second { Some(next()?) } else { None };
        let mut last = match shape.last {
            Last::None => None,
            Last::Reg => Some(From::Reg(next()?.vreg().vreg())),
            Last::Mem(template) => Some(match template {
                Template::At(_) | Template::Lane(..) => From::Mem(template, Some(next()?)),
                _ => From::Mem(template, None),
            }),
        };
        let mask = if shape.mask { Some(next()?) } else { None };
        let number = |own: Option<Operand>| own.map(|own| own.vreg().vreg());
        let mut dst = first.vreg();
        let stores = first.kind() == OperandKind::Use && matches!(shape.last, Last::Mem(_));
        if first.kind() == OperandKind::Use && !stores {
            // It names its source first.
            dst = operands.get(1)?.vreg();
            last = Some(From::Reg(first.vreg().vreg()));
        }
        Some(Node {
            op,
            imm,
            dst,
            stores,
            tied: number(tied),
            second: number(second),
            last,
            mask: number(mask),
            zero: shape.zero,
        })
    }
}

impl Half {
    pub(super) fn first(&self) -> Result<VReg, Refused> {
        self.a.ok_or(Refused)
    }

    pub(super) fn last(&self) -> Result<Arg, Refused> {
        self.last.ok_or(Refused)
    }
}

impl Narrow {
    pub(super) fn vector_node(
        &mut self,
        op: &'static Vop,
        len: Len,
        imm: u8,
        shape: VectorShape,
        operands: &[Operand],
    ) -> Result<(), Refused> {
        let how = table::how(op).ok_or(Refused)?;
        if !table::fits(len, shape) {
            return Err(Refused);
        }
        let node = Node::of(op, imm, shape, operands).ok_or(Refused)?;
        let how_to_round = match len {
            Len::Down => Some(Direction::Down),
            Len::Up => Some(Direction::Up),
            Len::Zero => Some(Direction::Zero),
            Len::L128 | Len::L256 | Len::L512 => None,
        };
        match (how, how_to_round) {
            (How::Plain(own), Some(how)) => {
                let before = self.room(64);
                let round = Step::Round { before, how };
                self.to.push(Code::Narrow(round), &[]);
                self.plain(own, &node)?;
                let back = Step::RoundAsBefore(before);
                self.to.push(Code::Narrow(back), &[]);
                Ok(())
            }
            (_, Some(_)) => Err(Refused),
            (how, None) => self.made_of(how, &node),
        }
    }

    fn made_of(&mut self, how: How, node: &Node) -> Result<(), Refused> {
        match how {
            How::Plain(own) if node.stores => self.store(own, node),
            How::Plain(own) => self.plain(own, node),
            How::Each(f) => self.each(node, false, f),
            How::Wider(own) => self.wider(own, node),
            How::Whole(f) => f(self, node),
        }
    }

    /// Whether both halves of an operand are the same.
    pub(super) fn is_one(&self, from: Option<From>) -> bool {
        match from {
            None => true,
            Some(From::Reg(old)) => match self.halves[old] {
                Some([Some(low), Some(high)]) => low == high,
                Some(_) | None => false,
            },
            Some(From::Mem(Template::Constant(at), _)) => {
                let bytes = self.old_constants[at as usize];
                bytes[..32] == bytes[32..]
            }
            Some(From::Mem(..)) => false,
        }
    }

    /// The constant that an operand is.
    pub(super) fn constant_at(&self, from: Option<From>) -> Option<[u8; 64]> {
        match from {
            Some(From::Reg(old)) => self.constants.get(&old).copied(),
            Some(From::Mem(Template::Constant(at), _)) => Some(self.old_constants[at as usize]),
            Some(From::Mem(..)) | None => None,
        }
    }

    /// A half of an operand; in memory, each has so many bytes.
    pub(super) fn arg(&mut self, from: From, half: usize, bytes: u32) -> Result<Arg, Refused> {
        if let Some(constant) = self.constant_at(Some(from)) {
            let own = std::array::from_fn(|i| constant[bytes as usize * half + i % bytes as usize]);
            return Ok(Arg::Mem(self.constant(own)));
        }
        Ok(match from {
            From::Reg(old) => Arg::Reg(self.half(old, half)?),
            From::Mem(template, base) => {
                let place = self.place(template, base.as_ref())?;
                Arg::Mem(behind(place, half as u32 * bytes))
            }
        })
    }

    /// The same in a register.
    pub(super) fn in_register(&mut self, from: From, half: usize) -> Result<VReg, Refused> {
        match from {
            From::Reg(old) => self.half(old, half),
            From::Mem(..) => {
                let arg = self.arg(from, half, 32)?;
                Ok(self.one(&vector::LOAD, arg))
            }
        }
    }

    pub(super) fn set(&mut self, dst: VReg, halves: [VReg; 2]) {
        self.halves[dst.vreg()] = Some(halves.map(Some));
    }

    /// The lower half; the upper one is zeros.
    pub(super) fn set_low(&mut self, dst: VReg, low: VReg) {
        self.halves[dst.vreg()] = Some([Some(low), None]);
    }

    fn plain(&mut self, op: &'static Vop, node: &Node) -> Result<(), Refused> {
        if op == &vector::LOAD && node.mask.is_none() {
            if let Some(constant) = self.constant_at(node.last) {
                self.constants.insert(node.dst.vreg(), constant);
            }
            // One register is another: its halves are.
            if let Some(From::Reg(old)) = node.last {
                self.halves[node.dst.vreg()] = self.halves[old];
                return Ok(());
            }
        }
        if op == &vector::LOAD && node.mask.is_some() && node.tied.is_some() {
            // What is chosen by a mask needs not be moved before.
            let second = node.tied;
            return self.blend(&Node { second, ..*node });
        }
        self.bound(node);
        self.each(node, op.has_digit(), move |narrow, half| {
            if let (true, Some(Arg::Reg(reg))) = (op == &vector::LOAD, half.last) {
                return Ok(reg);
            }
            let v = Vector {
                imm: half.imm,
                second: half.a,
                last: half.last,
                tied: half.start,
                ..Vector::one(Arg::Mem(MemoryAt::Stack(0)))
            };
            Ok(narrow.made(op, v))
        })
    }

    /// How large the bytes of a result are at most, where that can be seen.
    fn bound(&mut self, node: &Node) {
        if node.mask.is_some() {
            return;
        }
        let of_constant = |bytes: [u8; 64]| bytes.into_iter().max().unwrap_or(0);
        let last = self.constant_at(node.last).map(of_constant);
        let second = node.second.map(From::Reg);
        let first = self.constant_at(second).map(of_constant);
        let known = |from: Option<From>| match from {
            Some(From::Reg(old)) => self.largest.get(&old).copied(),
            Some(From::Mem(..)) | None => None,
        };
        let (x, y) = (
            first.or_else(|| known(second)),
            last.or_else(|| known(node.last)),
        );
        let found = if node.op == &vector::LOAD {
            y
        } else if [&vector::AND, &vector::AND_I64].contains(&node.op) {
            match (x, y) {
                (Some(x), Some(y)) => Some(x.min(y)),
                (one, other) => one.or(other),
            }
        } else if node.op == &vector::SHUFFLE_I8 {
            x
        } else if node.op == &vector::ADD_I8 {
            x.zip(y).and_then(|(x, y)| x.checked_add(y))
        } else {
            None
        };
        if let Some(found) = found {
            self.largest.insert(node.dst.vreg(), found);
        }
        self.low_zeros(node);
    }

    /// How many of the lowest bits of its bytes are 0, where that can be seen.
    fn low_zeros(&mut self, node: &Node) {
        let of = |narrow: &mut Self, from: Option<From>| {
            let bytes = narrow.constant_at(from);
            let bits = bytes.map(|bytes| bytes.into_iter().fold(0, |all, byte| all | byte));
            let known = match from {
                Some(From::Reg(old)) => narrow.zeros.get(&old).copied(),
                Some(From::Mem(..)) | None => None,
            };
            bits.map_or(known.unwrap_or(0), |bits| bits.trailing_zeros() as u8)
        };
        let (second, last) = (of(self, node.second.map(From::Reg)), of(self, node.last));
        let found = if node.op == &vector::LOAD {
            last
        } else if [&vector::AND, &vector::AND_I64].contains(&node.op) {
            second.max(last)
        } else {
            0
        };
        if found > 0 {
            self.zeros.insert(node.dst.vreg(), found);
        }
    }

    /// A function of halves, once where they are the same; where a mask stands, what it gives is chosen by that.
    pub(super) fn each(
        &mut self,
        node: &Node,
        registers: bool,
        f: impl Fn(&mut Self, Half) -> Result<VReg, Refused>,
    ) -> Result<(), Refused> {
        let start = node.tied.filter(|_| node.mask.is_none());
        let is_one = self.is_one(node.last)
            && self.is_one(node.second.map(From::Reg))
            && self.is_one(start.map(From::Reg));
        let mut found = [None; 2];
        for half in 0..2 {
            if half == 1 && is_one {
                found[1] = found[0];
                continue;
            }
            let last = match node.last {
                None => None,
                Some(from) if registers => Some(Arg::Reg(self.in_register(from, half)?)),
                Some(from) => Some(self.arg(from, half, 32)?),
            };
            let mut own = |old: Option<usize>| match old {
                Some(old) => self.half(old, half).map(Some),
                None => Ok(None),
            };
            let (a, start) = (own(node.second)?, own(start)?);
            let imm = node.imm;
            found[half] = Some(f(
                self,
                Half {
                    imm,
                    start,
                    a,
                    last,
                },
            )?);
        }
        let [Some(low), Some(high)] = found else {
            return Err(Refused);
        };
        self.finish(node, [low, high])
    }

    /// Sets what a node gives, chosen by its mask.
    pub(super) fn finish(&mut self, node: &Node, found: [VReg; 2]) -> Result<(), Refused> {
        let Some(mask) = node.mask else {
            self.set(node.dst, found);
            return Ok(());
        };
        let (wide, each) = match node.op.is_wide() {
            true => (true, 4),
            false => (false, 8),
        };
        let mut chosen = found;
        for half in 0..2 {
            let lanes = self.lanes(mask, each * half as u8, wide)?;
            chosen[half] = match node.tied {
                Some(tied) => {
                    let old = self.half(tied, half)?;
                    self.chosen(lanes, Arg::Reg(found[half]), old)
                }
                None if node.zero => {
                    let op = match lanes.turned {
                        true => &vector::WITHOUT_BITS,
                        false => &vector::AND_BITS,
                    };
                    self.both(op, lanes.reg, found[half])
                }
                None => return Err(Refused),
            };
        }
        self.set(node.dst, chosen);
        Ok(())
    }

    /// Lanes that become wider: those of the lower half, or of memory.
    fn wider(&mut self, op: &'static Vop, node: &Node) -> Result<(), Refused> {
        let bytes = op.memory(Len::L256);
        let mut found = Vec::with_capacity(2);
        for half in 0..2 {
            let last = match node.last.ok_or(Refused)? {
                From::Reg(old) => match (self.quarters.get(&old), half) {
                    (Some(quarters), _) if bytes == 16 => Arg::Reg(quarters[half]),
                    (_, 0) => Arg::Reg(self.half(old, 0)?),
                    _ => {
                        let low = self.half(old, 0)?;
                        Arg::Reg(match bytes {
                            16 => self.upper(low),
                            _ => self.by(&vector::SHUFFLE_I32, low, 0xEE),
                        })
                    }
                },
                from @ From::Mem(..) => self.arg(from, half, bytes)?,
            };
            found.push(self.one(op, last));
        }
        self.finish(node, [found[0], found[1]])
    }

    /// Writes a vector to memory.
    fn store(&mut self, op: &'static Vop, node: &Node) -> Result<(), Refused> {
        let Some(From::Mem(template, base)) = node.last else {
            return Err(Refused);
        };
        let place = self.place(template, base.as_ref())?;
        for half in 0..2 {
            let reg = self.half(node.dst.vreg(), half)?;
            let to = Vector {
                len: Len::L256,
                ..Vector::one(Arg::Mem(behind(place, 32 * half as u32)))
            };
            let Some(mask) = node.mask else {
                self.to.store_vector(op, reg, to);
                continue;
            };
            let wide = node.op.is_wide();
            let (op, each) = match wide {
                true => (&vector::STORE_LANES_I64, 4),
                false => (&vector::STORE_LANES_I32, 8),
            };
            let lanes = self.lanes(mask, each * half as u8, wide)?;
            let second = Some(self.straight(lanes));
            self.to.store_vector(op, reg, Vector { second, ..to });
        }
        Ok(())
    }

    /// A general register of the first lane.
    pub(super) fn first_lane(&mut self, node: &Node) -> Result<(), Refused> {
        let Some(From::Reg(old)) = node.last else {
            return Err(Refused);
        };
        let low = self.half(old, 0)?;
        let reg = self
            .to
            .reversed(node.op, RegClass::Int, Len::L128, node.imm, low);
        self.general[node.dst.vreg()] = Some(reg);
        Ok(())
    }
}
