//! Nodes for AVX2, of nodes as the compiler makes them: before registers are found, each vector of 64 bytes becomes two of 32,
//! each mask the bits of a general register.
//!
//! - The two halves of a vector may be one register, where all lanes are known to be the same. A half that is only zeros
//!   has none until it is asked for.
//! - Comparisons give masks as vectors, which are kept (`masks.rs`) for what is chosen by them in the same part. Their bits
//!   are made, too; what nobody reads in the end is left out.
//! - Which instructions there are, and what those become that AVX2 has not, is said in `table.rs`. An instruction of PTX
//!   that needs another is left to the interpreter: [`has`] tells.
//! - Flags are set by scalar nodes alone, and nothing that is put between one and its reader changes them.

mod access;
mod codes;
mod convert;
mod dead;
mod flags;
mod masks;
mod moves;
mod numbers;
mod table;
mod ternary;
mod vectors;

pub(super) use codes::{Direction, Lanewise, Step};
pub(super) use table::has;

use super::{
    exits::{Exit, Form},
    nodes::{Code, MemoryAt, NodeBlock, Nodes, Template, Vector},
    target::Target,
};
use masks::Mask;
use regalloc2::{Operand, OperandKind, RegClass, VReg};
use rustc_hash::FxHashMap;
use warpsmith_x86::{Alu, Len, MaskAlu, Shift, Vop, vector};

/// What cannot be made narrow.
#[derive(Debug)]
pub(super) struct Refused;

/// The pass, with what is known so far of the registers of the nodes that it reads, by their numbers.
struct Narrow {
    /// The constants of the nodes that it reads, and the stack that they ask for.
    old_constants: Vec<[u8; 64]>,
    behind: u32,
    to: Nodes,
    /// Of vectors: both halves. `None` is zeros.
    halves: Vec<Option<[Option<VReg>; 2]>>,
    /// Of general registers.
    general: Vec<Option<VReg>>,
    masks: FxHashMap<usize, Mask>,
    /// Of vectors that are constants: their bytes.
    constants: FxHashMap<usize, [u8; 64]>,
    /// Of vectors whose lower half was put together from two quarters: those.
    quarters: FxHashMap<usize, [VReg; 2]>,
    /// Of vectors of bytes: the largest, if it is not 255.
    largest: FxHashMap<usize, u8>,
    /// Of vectors of bytes: how many of the lowest bits are 0 in all of them, if any are.
    zeros: FxHashMap<usize, u8>,
    /// Some bits of registers of the part that is made.
    bits: FxHashMap<(VReg, ByteBits), VReg>,
    /// What sums of the part that is made are made of, where products can be added to that.
    pairs: FxHashMap<VReg, Pairs>,
    /// Of general registers that are constants: those.
    numbers: FxHashMap<usize, u64>,
    /// Nodes that are only there for their results.
    idle: Vec<bool>,
    /// Bytes of the stack behind those that the nodes ask for.
    extra: u32,
}

/// Some of the bits of each byte: a number that is shifted up in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ByteBits {
    shift: u8,
    /// How large it is at most.
    most: u8,
    /// Whether there are other bits, too.
    among: bool,
}

/// A sum of products of bytes, before it was added up.
#[derive(Clone)]
struct Pairs {
    /// What comes to it.
    sum: VReg,
    parts: Vec<PairsOf>,
}

/// Sums of two products each, or of several times two, as words of 16 bits.
#[derive(Clone, Copy)]
struct PairsOf {
    /// How many bits they are shifted down.
    shift: u8,
    words: VReg,
    /// How large a word is at most.
    most: u32,
}

/// The nodes for AVX2.
pub(super) fn narrowed(from: &Nodes, exits: &[Exit]) -> Result<Nodes, Refused> {
    let mut narrow = Narrow {
        old_constants: from.constants.clone(),
        behind: from.most_stack,
        to: Nodes::default(),
        halves: vec![None; from.registers],
        general: vec![None; from.registers],
        masks: FxHashMap::default(),
        constants: FxHashMap::default(),
        quarters: FxHashMap::default(),
        largest: FxHashMap::default(),
        zeros: FxHashMap::default(),
        bits: FxHashMap::default(),
        pairs: FxHashMap::default(),
        numbers: FxHashMap::default(),
        idle: Vec::new(),
        extra: 0,
    };
    narrow.to.target = Target::Avx2;
    narrow.to.tiles.clone_from(&from.tiles);
    narrow.to.parts.clear();
    for at in 0..from.parts.len() {
        narrow.part(from, at, exits)?;
    }
    narrow.to.most_stack = from.most_stack + narrow.extra;
    dead::removed(&mut narrow.to, &narrow.idle);
    Ok(narrow.to)
}

impl Narrow {
    fn part(&mut self, from: &Nodes, at: usize, exits: &[Exit]) -> Result<(), Refused> {
        let own = &from.parts[at];
        // What another part has found need not have been found on the way to this one, and would hold registers.
        self.masks.values_mut().for_each(Mask::forget);
        self.bits.clear();
        self.pairs.clear();
        let params = own.params.iter().flat_map(|param| self.param(*param));
        let params = params.collect();
        self.to.parts.push(NodeBlock {
            first: self.to.codes.len() as u32,
            from: own.from.clone(),
            to: own.to.clone(),
            params,
            gives: Vec::new(),
        });
        let end = from.parts.get(at + 1);
        let end = end.map_or(from.codes.len(), |part| part.first as usize);
        let (mut own_flags, mut flags_now) = (None, None);
        for node in own.first as usize..end {
            let operands = operands_of(from, node);
            let code = from.codes[node];
            if node + 1 == end {
                let mut gives = Vec::with_capacity(2 * own.gives.len());
                for give in &own.gives {
                    self.given(*give, &mut gives)?;
                }
                self.to.parts[at].gives = gives;
            }
            let first = self.to.codes.len();
            self.node(code, operands, exits)?;
            // Flags come from the same node as before.
            if flags::reads(&code) && own_flags != flags_now {
                return Err(Refused);
            }
            if flags::sets(&code) {
                own_flags = Some(node);
            }
            if self.to.codes[first..].iter().any(flags::sets) {
                flags_now = Some(node);
            }
            let idle = |code: &Code, operands: &[Operand]| {
                matches!(code, Code::Vector { .. } | Code::Gather(_))
                    && operands.iter().any(|own| own.kind() == OperandKind::Def)
            };
            for node in self.idle.len()..self.to.codes.len() {
                let is_idle = idle(&self.to.codes[node], operands_of(&self.to, node));
                self.idle.push(is_idle);
            }
        }
        Ok(())
    }

    /// A register that a part begins with.
    fn param(&mut self, param: VReg) -> Vec<VReg> {
        match param.class() {
            RegClass::Float => {
                let own = [(); 2].map(|()| self.to.register(RegClass::Float));
                self.halves[param.vreg()] = Some(own.map(Some));
                own.to_vec()
            }
            RegClass::Int => {
                let own = self.to.general();
                self.general[param.vreg()] = Some(own);
                vec![own]
            }
            RegClass::Vector => {
                let own = self.to.general();
                self.masks.insert(param.vreg(), Mask::of(own));
                vec![own]
            }
        }
    }

    /// What a part gives for one that it was to give.
    fn given(&mut self, give: VReg, gives: &mut Vec<VReg>) -> Result<(), Refused> {
        match give.class() {
            RegClass::Float => {
                for half in 0..2 {
                    gives.push(self.half(give.vreg(), half)?);
                }
            }
            RegClass::Int => gives.push(self.general_of(give)?),
            RegClass::Vector => gives.push(self.mask(give.vreg())?.bits),
        }
        Ok(())
    }

    fn node(&mut self, code: Code, operands: &[Operand], exits: &[Exit]) -> Result<(), Refused> {
        let reg = |at: usize| operands[at].vreg();
        match code {
            Code::Vector {
                op,
                len,
                imm,
                shape,
            } => self.vector_node(op, len, imm, shape, operands),
            Code::MaskAlu(op) => {
                let [dst, a, b] = [0, 1, 2].map(|at| reg(at).vreg());
                self.join_masks(op, dst, a, b)
            }
            Code::MaskNot => {
                let bits = self.mask(reg(1).vreg())?.bits;
                let bits = self.idle_change(Code::AluImm(Alu::Xor, false, -1), bits, &[]);
                let found = masks::Found::Not(reg(1).vreg());
                self.masks
                    .insert(reg(0).vreg(), Mask::found(bits, 32, found));
                Ok(())
            }
            Code::MaskJoin => self.side_by_side(16, operands),
            Code::MaskJoin8 => self.side_by_side(8, operands),
            Code::MaskShift(by) => {
                let mask = self.mask(reg(1).vreg())?;
                let (bits, width) = (mask.bits, mask.width.saturating_sub(by));
                let shift = Code::Shift(Shift::Right, false, by);
                let bits = match by {
                    0 => bits,
                    _ => self.idle_change(shift, bits, &[]),
                };
                let of = reg(1).vreg();
                let found = masks::Found::From { of, by };
                self.masks
                    .insert(reg(0).vreg(), Mask::found(bits, width, found));
                Ok(())
            }
            Code::MaskLoad(template) => {
                let place = self.place(template, operands.get(1))?;
                let bits = self.to.load(4, place);
                self.masks.insert(reg(0).vreg(), Mask::of(bits));
                Ok(())
            }
            Code::MaskFrom => {
                let from = self.general_of(reg(1))?;
                let bits = self.idle_scalar(Code::Mov(false), &[from]);
                let mut mask = Mask::of(bits);
                mask.number = self.numbers.get(&reg(1).vreg()).map(|own| *own as u32);
                self.masks.insert(reg(0).vreg(), mask);
                Ok(())
            }
            Code::MaskTo => {
                let bits = self.mask(reg(1).vreg())?.bits;
                let own = self.idle_scalar(Code::Mov(false), &[bits]);
                self.general[reg(0).vreg()] = Some(own);
                Ok(())
            }
            Code::MaskTest16 => self.test_16(reg(0).vreg()),
            Code::Gather(op) => self.gather(op, operands),
            Code::Scatter(op) => self.scatter(op, operands),
            Code::Spread(at) => self.spread(at, reg(0)),
            Code::Floats(at) => self.floats(at, operands),
            Code::Bytes { b, blocks, swapped } => self.bytes(b, blocks, swapped, operands),
            Code::Rows(at, wide) => self.rows(at, wide, operands),
            Code::Exit(exit) | Code::ExitIf(_, exit) | Code::Fuel(exit) => {
                let own = self.leaving(&exits[exit as usize], operands)?;
                self.to.push(code, &own);
                Ok(())
            }
            Code::MovImm(value) => {
                self.numbers.insert(reg(0).vreg(), value);
                self.same(code, operands)
            }
            Code::Load(_, template)
            | Code::Store(_, template)
            | Code::Address(template)
            | Code::Prefetch(template) => {
                let code = match (code, self.same_template(template)) {
                    (Code::Load(bytes, _), own) => Code::Load(bytes, own),
                    (Code::Store(bytes, _), own) => Code::Store(bytes, own),
                    (Code::Prefetch(_), own) => Code::Prefetch(own),
                    (_, own) => Code::Address(own),
                };
                self.same(code, operands)
            }
            Code::Alu(..)
            | Code::AluImm(..)
            | Code::Compare(_)
            | Code::CompareImm(..)
            | Code::TestImm(_)
            | Code::Mov(_)
            | Code::Lea(_)
            | Code::Imul(_)
            | Code::ImulImm(..)
            | Code::Shift(..)
            | Code::ExtendSign
            | Code::TrailingZeros
            | Code::LeadingZeros
            | Code::Deposit
            | Code::Extend(..)
            | Code::Cmov(..)
            | Code::SetAll(_)
            | Code::Copies(_)
            | Code::PrefetchRows(_)
            | Code::Turn
            | Code::Fork(_) => self.same(code, operands),
            Code::Narrow(_) => Err(Refused),
        }
    }

    /// A node of general registers alone.
    fn same(&mut self, code: Code, operands: &[Operand]) -> Result<(), Refused> {
        let mut own = Vec::with_capacity(operands.len());
        for operand in operands {
            let old = operand.vreg();
            if old.class() != RegClass::Int {
                return Err(Refused);
            }
            let reg = match operand.kind() {
                OperandKind::Use => self.general_of(old)?,
                OperandKind::Def => {
                    let reg = self.to.general();
                    self.general[old.vreg()] = Some(reg);
                    reg
                }
            };
            let constraint = operand.constraint();
            own.push(Operand::new(reg, constraint, operand.kind(), operand.pos()));
        }
        self.to.push(code, &own);
        Ok(())
    }

    /// The registers that a way out writes to the frame.
    fn leaving(&mut self, exit: &Exit, operands: &[Operand]) -> Result<Vec<Operand>, Refused> {
        let mut own = Vec::new();
        let mut rest = operands.iter().map(|operand| operand.vreg());
        for (_, form) in &exit.items {
            for _ in 0..form.registers() {
                let old = rest.next().ok_or(Refused)?;
                match form {
                    // One register has what all of them have.
                    Form::Splat { .. } => own.push(self.half(old.vreg(), 0)?),
                    _ => self.given(old, &mut own)?,
                }
            }
        }
        // Who goes on and who waits, where lanes have parted.
        for old in rest {
            self.given(old, &mut own)?;
        }
        Ok(own.into_iter().map(Operand::any_use).collect())
    }

    // Registers.

    fn general_of(&self, old: VReg) -> Result<VReg, Refused> {
        self.general[old.vreg()].ok_or(Refused)
    }

    /// A half of a vector, in a register.
    fn half(&mut self, old: usize, half: usize) -> Result<VReg, Refused> {
        let found = self.halves[old].ok_or(Refused)?[half];
        Ok(match found {
            Some(reg) => reg,
            None => self.number_lanes([0; 32]),
        })
    }

    /// 32 bytes in a register.
    fn number_lanes(&mut self, bytes: [u8; 32]) -> VReg {
        let place = self.constant(bytes);
        self.one(&vector::LOAD, Arg::Mem(place))
    }

    /// 32 bytes behind the code.
    fn constant(&mut self, bytes: [u8; 32]) -> MemoryAt {
        let mut both = [0; 64];
        both[..32].copy_from_slice(&bytes);
        both[32..].copy_from_slice(&bytes);
        self.to.constant(both)
    }

    /// One number for all lanes of 32 bits, as an operand.
    fn words(&mut self, value: u32) -> Arg {
        Arg::Mem(self.constant(std::array::from_fn(|i| value.to_le_bytes()[i % 4])))
    }

    /// One number for all lanes of 64 bits, as an operand.
    fn quads(&mut self, value: u64) -> Arg {
        Arg::Mem(self.constant(std::array::from_fn(|i| value.to_le_bytes()[i % 8])))
    }

    // Nodes made.

    /// `op last`.
    fn one(&mut self, op: &'static Vop, last: Arg) -> VReg {
        self.made(op, Vector::one(last))
    }

    /// `op a, last`.
    fn two(&mut self, op: &'static Vop, a: VReg, last: Arg) -> VReg {
        self.made(op, Vector::two(a, last))
    }

    /// `op a, b`.
    fn both(&mut self, op: &'static Vop, a: VReg, b: VReg) -> VReg {
        self.made(op, Vector::two(a, Arg::Reg(b)))
    }

    /// `op a, imm`.
    fn by(&mut self, op: &'static Vop, a: VReg, imm: u8) -> VReg {
        let v = Vector {
            imm,
            ..Vector::one(Arg::Reg(a))
        };
        self.made(op, v)
    }

    /// `op a, b, imm`.
    fn both_by(&mut self, op: &'static Vop, a: VReg, b: Arg, imm: u8) -> VReg {
        let v = Vector {
            imm,
            ..Vector::two(a, b)
        };
        self.made(op, v)
    }

    fn made(&mut self, op: &'static Vop, v: Vector) -> VReg {
        let v = Vector {
            len: Len::L256,
            ..v
        };
        self.to.vector(op, RegClass::Float, v)
    }

    /// The upper sixteen bytes, in the lower ones.
    fn upper(&mut self, a: VReg) -> VReg {
        self.to
            .reversed(&vector::UPPER_128, RegClass::Float, Len::L256, 1, a)
    }

    /// A register of the lower sixteen bytes of two.
    fn joined(&mut self, low: VReg, high: VReg) -> VReg {
        self.both_by(&vector::JOIN_128, low, Arg::Reg(high), 1)
    }

    /// A general register that is dropped if nobody reads it.
    fn idle_scalar(&mut self, code: Code, sources: &[VReg]) -> VReg {
        let reg = self.to.scalar(code, sources);
        self.set_idle();
        reg
    }

    fn idle_change(&mut self, code: Code, start: VReg, sources: &[VReg]) -> VReg {
        let reg = self.to.change(code, start, sources);
        self.set_idle();
        reg
    }

    /// The last node is only there for its result. So are vectors without being named here.
    fn set_idle(&mut self) {
        let last = self.to.codes.len() - 1;
        for node in self.idle.len()..last {
            let vector = matches!(self.to.codes[node], Code::Vector { .. } | Code::Gather(_));
            let writes = operands_of(&self.to, node)
                .iter()
                .any(|own| own.kind() == OperandKind::Def);
            self.idle.push(vector && writes);
        }
        self.idle.push(true);
    }

    /// Bytes of the stack that hold something from one node of this pass to the next.
    fn room(&mut self, bytes: u32) -> u32 {
        self.extra = self.extra.max(bytes.next_multiple_of(64));
        self.behind
    }

    // Places.

    fn place(&mut self, template: Template, base: Option<&Operand>) -> Result<MemoryAt, Refused> {
        let base = || self.general_of(base.ok_or(Refused)?.vreg());
        Ok(match template {
            Template::Frame(at) => MemoryAt::Frame(at),
            Template::Ctx(at) => MemoryAt::Ctx(at),
            Template::Stack(at) => MemoryAt::Stack(at),
            Template::Constant(at) => self.to.constant(self.old_constants[at as usize]),
            Template::At(offset) => MemoryAt::At(base()?, offset),
            Template::Lane(slot, shift) => MemoryAt::Lane(slot, base()?, shift),
        })
    }

    fn same_template(&mut self, template: Template) -> Template {
        match template {
            Template::Constant(at) => {
                let bytes = self.old_constants[at as usize];
                Nodes::template(self.to.constant(bytes), &mut Vec::new())
            }
            other => other,
        }
    }
}

use super::nodes::Arg;

pub(super) fn operands_of(nodes: &Nodes, node: usize) -> &[Operand] {
    let from = nodes.firsts[node] as usize;
    let to = nodes.firsts.get(node + 1);
    &nodes.operands[from..to.map_or(nodes.operands.len(), |to| *to as usize)]
}

/// A place so many bytes behind another, which is no constant.
fn behind(place: MemoryAt, bytes: u32) -> MemoryAt {
    match place {
        MemoryAt::Frame(at) => MemoryAt::Frame(at + bytes),
        MemoryAt::Ctx(at) => MemoryAt::Ctx(at + bytes),
        MemoryAt::Stack(at) => MemoryAt::Stack(at + bytes),
        MemoryAt::At(base, offset) => MemoryAt::At(base, offset + bytes as i32),
        MemoryAt::Lane(slot, index, shift) => MemoryAt::Lane(slot + bytes, index, shift),
        MemoryAt::Constant(at) => MemoryAt::Constant(at),
    }
}

/// What a mask operation is on general registers: whether the first is turned before, and the result after it.
fn of_masks(op: MaskAlu) -> (bool, Alu, bool) {
    match op {
        MaskAlu::And => (false, Alu::And, false),
        MaskAlu::AndNot => (true, Alu::And, false),
        MaskAlu::Or => (false, Alu::Or, false),
        MaskAlu::Xnor => (false, Alu::Xor, true),
        MaskAlu::Xor => (false, Alu::Xor, false),
    }
}
