//! Machine instructions over virtual registers, as the register allocator reads them.

use super::{narrow::Step, rows::Copies, target::Target};
use regalloc2::{Block, Operand, OperandConstraint, OperandKind, OperandPos, RegClass, VReg};
use warpsmith_x86::{Alu, Cond, Len, MaskAlu, Shift, Vop, vector};

/// A place in memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryAt {
    /// Of the warp's frame.
    Frame(u32),
    /// Of the context.
    Ctx(u32),
    /// One of the code's constants.
    Constant(u32),
    /// Register plus bytes.
    At(VReg, i32),
    /// Of the warp's frame, the register shifted to the left behind it.
    Lane(u32, VReg, u8),
    /// Of the run's room on the stack.
    Stack(u32),
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    Reg(VReg),
    Mem(MemoryAt),
}

/// Where memory is, its registers apart: those are operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Template {
    Frame(u32),
    Ctx(u32),
    Constant(u32),
    At(i32),
    Lane(u32, u8),
    Stack(u32),
}

/// The last operand, its registers apart.
#[derive(Clone, Copy, Debug)]
pub(super) enum Last {
    None,
    Reg,
    Mem(Template),
}

/// Which of a vector instruction's operands there are. Their registers stand in this order.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorShape {
    /// The second is where the first starts from: the same register.
    pub(super) tied: bool,
    pub(super) second: bool,
    pub(super) last: Last,
    pub(super) mask: bool,
    pub(super) zero: bool,
}

/// Products of floats that go on with the same sums.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// One after the other.
    pub(super) steps: Vec<Tile>,
    /// B of other products with the same A, whose sums come behind: for each step, or for none.
    pub(super) second: Vec<u32>,
    /// Where sums start from in the frame; those of the others are operands.
    pub(super) starts: Vec<Option<u32>>,
    /// Where sums go in the frame, with NaNs as the one NaN; the others stay in registers.
    pub(super) ends: Vec<Option<u32>>,
}

/// A product of floats, with fragments on the stack (`products.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) a: u32,
    pub(super) b: u32,
    /// Elements of a register of a lane.
    pub(super) parts: u32,
    /// Registers along k.
    pub(super) blocks: u32,
    /// Whether A has a register for each k.
    pub(super) spread: bool,
}

/// What a node does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code {
    Vector {
        op: &'static Vop,
        len: Len,
        imm: u8,
        shape: VectorShape,
    },
    /// dst, dst's start, source.
    Alu(Alu, bool),
    /// dst, dst's start.
    AluImm(Alu, bool, i32),
    /// Flags alone: a, b.
    Compare(bool),
    /// Flags alone: a.
    CompareImm(bool, i32),
    /// Flags of bits: a.
    TestImm(i32),
    MovImm(u64),
    Mov(bool),
    /// Of 1, 2, 4 or 8 bytes, zeros above.
    Load(u32, Template),
    /// What the place needs, then the source.
    Store(u32, Template),
    Lea(i32),
    Imul(bool),
    ImulImm(bool, i32),
    Shift(Shift, bool, u8),
    ExtendSign,
    TrailingZeros,
    LeadingZeros,
    /// dst, source, places.
    Deposit,
    Extend(u32, bool),
    /// dst, dst's start, source.
    Cmov(Cond, bool),
    /// dst is 0 or all ones of 32 bits.
    SetAll(Cond),
    MaskAlu(MaskAlu),
    MaskNot,
    MaskJoin,
    MaskJoin8,
    MaskShift(u8),
    MaskLoad(Template),
    MaskFrom,
    MaskTo,
    MaskTest16,
    Prefetch(Template),
    /// dst, what it was, lane offsets, base, what is left of the mask, mask.
    Gather(&'static Vop),
    /// source, lane offsets, base, what is left of the mask, mask.
    Scatter(&'static Vop),
    /// Writes four registers to the stack: of each group of four lanes one lane in all of them. Source.
    Spread(u32),
    /// Sums, what they start from, then free registers: four, of two products six. The products are `Nodes::tiles`.
    Floats(u32),
    /// A product of bytes: sums and what they were, the registers of A, four free ones.
    Bytes {
        b: u32,
        blocks: u32,
        swapped: bool,
    },
    /// Two registers of rows of 16 bytes, and where those begin: their offsets, of 64 bits or not, are on the stack.
    Rows(u32, bool),
    /// Copies what lanes name by offsets that are on the stack. The flags say `Equal` where each four of them lie one behind
    /// the other.
    Copies(Copies),
    /// Asks for the lines at 32 addresses, which are on the stack.
    PrefetchRows(u32),
    /// Where memory is: dst, what the place needs.
    Address(Template),
    /// What only machines with narrow vectors need.
    Narrow(Step),
    /// Ends a block: to where turns of a loop begin.
    Turn,
    /// Ends a block: to the next but one where the condition holds.
    Fork(Cond),
    /// Leaves where the condition holds.
    ExitIf(Cond, u32),
    /// Pays for a jump, or leaves.
    Fuel(u32),
    /// Leaves.
    Exit(u32),
}

/// Nodes without branches in between, as the allocator reads them.
#[derive(Default)]
pub(super) struct NodeBlock {
    pub(super) first: u32,
    pub(super) from: Vec<Block>,
    pub(super) to: Vec<Block>,
    pub(super) params: Vec<VReg>,
    /// What its last node gives to the block it goes to.
    pub(super) gives: Vec<VReg>,
}

/// A run of nodes, being built: one part, or before a loop, the loop, and behind it.
pub(super) struct Nodes {
    pub(super) parts: Vec<NodeBlock>,
    pub(super) codes: Vec<Code>,
    /// Where the operands of each node begin.
    pub(super) firsts: Vec<u32>,
    pub(super) operands: Vec<Operand>,
    pub(super) registers: usize,
    pub(super) constants: Vec<[u8; 64]>,
    pub(super) tiles: Vec<Tiles>,
    /// The machine that they are for.
    pub(super) target: Target,
    /// Bytes of the stack that are in use, and were at most.
    stack: u32,
    pub(super) most_stack: u32,
}

/// The most room that a run has on the stack.
const STACK: u32 = 40 << 10;

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes {
            parts: vec![NodeBlock::default()],
            codes: Vec::new(),
            firsts: Vec::new(),
            operands: Vec::new(),
            registers: 0,
            constants: Vec::new(),
            tiles: Vec::new(),
            target: Target::default(),
            stack: 0,
            most_stack: 0,
        }
    }
}

/// The part where turns begin.
pub(super) const LOOP: usize = 1;

impl Nodes {
    /// Begins another part, which some part goes to.
    fn part(&mut self, from: usize) {
        let own = Block::new(self.parts.len());
        self.parts[from].to.push(own);
        self.parts.push(NodeBlock {
            first: self.codes.len() as u32,
            from: vec![Block::new(from)],
            ..NodeBlock::default()
        });
    }

    /// Goes from the first part to the loop.
    pub(super) fn jump_to_loop(&mut self, gives: &[VReg]) {
        self.push(Code::Turn, &[]);
        self.parts[0].gives = gives.to_vec();
        self.part(0);
    }

    /// What changes from turn to turn.
    pub(super) fn loop_param(&mut self, class: RegClass) -> VReg {
        let reg = self.register(class);
        self.parts[LOOP].params.push(reg);
        reg
    }

    /// Ends a part: the next one goes back to the loop, and one behind that goes on.
    pub(super) fn fork(&mut self, code: Code) {
        self.push(code, &[]);
        self.part(self.parts.len() - 1);
    }

    /// Ends a part with the next turn.
    pub(super) fn back_to_loop(&mut self, gives: &[VReg]) {
        self.push(Code::Turn, &[]);
        let last = self.parts.len() - 1;
        self.parts[last].gives = gives.to_vec();
        self.parts[last].to.push(Block::new(LOOP));
        self.parts[LOOP].from.push(Block::new(last));
    }

    /// Goes on behind a fork.
    pub(super) fn behind_fork(&mut self) {
        self.part(self.parts.len() - 2);
    }

    pub(super) fn register(&mut self, class: RegClass) -> VReg {
        self.registers += 1;
        VReg::new(self.registers - 1, class)
    }

    pub(super) fn general(&mut self) -> VReg {
        self.register(RegClass::Int)
    }

    /// 64 bytes behind the code.
    pub(super) fn constant(&mut self, bytes: [u8; 64]) -> MemoryAt {
        let found = self.constants.iter().position(|own| *own == bytes);
        MemoryAt::Constant(found.unwrap_or_else(|| {
            self.constants.push(bytes);
            self.constants.len() - 1
        }) as u32)
    }

    /// Appends a node.
    pub(super) fn push(&mut self, code: Code, operands: &[Operand]) {
        self.codes.push(code);
        self.firsts.push(self.operands.len() as u32);
        self.operands.extend_from_slice(operands);
    }

    /// The template of a place; its register goes to `operands`.
    pub(super) fn template(place: MemoryAt, operands: &mut Vec<Operand>) -> Template {
        match place {
            MemoryAt::Frame(at) => Template::Frame(at),
            MemoryAt::Ctx(at) => Template::Ctx(at),
            MemoryAt::Stack(at) => Template::Stack(at),
            MemoryAt::Constant(at) => Template::Constant(at),
            MemoryAt::At(base, offset) => {
                operands.push(Operand::reg_use(base));
                Template::At(offset)
            }
            MemoryAt::Lane(slot, index, shift) => {
                operands.push(Operand::reg_use(index));
                Template::Lane(slot, shift)
            }
        }
    }

    /// A vector instruction that writes a register of `class`.
    pub(super) fn vector(&mut self, op: &'static Vop, class: RegClass, v: Vector) -> VReg {
        let dst = self.register(class);
        let mut operands = vec![match v.tied {
            Some(_) => Operand::reg_reuse_def(dst, 1),
            None => Operand::reg_def(dst),
        }];
        operands.extend(v.tied.map(Operand::reg_use));
        self.finish_vector(op, v, operands);
        dst
    }

    /// A vector instruction that writes memory.
    pub(super) fn store_vector(&mut self, op: &'static Vop, src: VReg, v: Vector) {
        self.finish_vector(op, v, vec![Operand::reg_use(src)]);
    }

    fn finish_vector(&mut self, op: &'static Vop, v: Vector, mut operands: Vec<Operand>) {
        operands.extend(v.second.map(Operand::reg_use));
        let last = match v.last {
            None => Last::None,
            Some(Arg::Reg(reg)) => {
                operands.push(Operand::reg_use(reg));
                Last::Reg
            }
            Some(Arg::Mem(place)) => Last::Mem(Nodes::template(place, &mut operands)),
        };
        operands.extend(v.mask.map(Operand::reg_use));
        let shape = VectorShape {
            tied: v.tied.is_some(),
            second: v.second.is_some(),
            last,
            mask: v.mask.is_some(),
            zero: v.zero,
        };
        let code = Code::Vector {
            op,
            len: v.len,
            imm: v.imm,
            shape,
        };
        self.push(code, &operands);
    }

    /// A vector instruction that names its source first, and its result last.
    pub(super) fn reversed(
        &mut self,
        op: &'static Vop,
        class: RegClass,
        len: Len,
        imm: u8,
        src: VReg,
    ) -> VReg {
        let dst = self.register(class);
        let shape = VectorShape {
            tied: false,
            second: false,
            last: Last::Reg,
            mask: false,
            zero: false,
        };
        let code = Code::Vector {
            op,
            len,
            imm,
            shape,
        };
        self.push(code, &[Operand::reg_use(src), Operand::reg_def(dst)]);
        dst
    }

    /// A node that writes a general register, from sources in registers.
    pub(super) fn scalar(&mut self, code: Code, sources: &[VReg]) -> VReg {
        let dst = self.general();
        let mut operands = vec![Operand::reg_def(dst)];
        operands.extend(sources.iter().map(|src| Operand::reg_use(*src)));
        self.push(code, &operands);
        dst
    }

    /// A node that changes a general register: what it is afterwards.
    pub(super) fn change(&mut self, code: Code, start: VReg, sources: &[VReg]) -> VReg {
        let dst = self.general();
        let mut operands = vec![Operand::reg_reuse_def(dst, 1), Operand::reg_use(start)];
        operands.extend(sources.iter().map(|src| Operand::reg_use(*src)));
        self.push(code, &operands);
        dst
    }

    /// A node without result.
    pub(super) fn effect(&mut self, code: Code, sources: &[VReg]) {
        let operands: Vec<Operand> = sources.iter().map(|src| Operand::reg_use(*src)).collect();
        self.push(code, &operands);
    }

    /// A node that writes a mask register.
    pub(super) fn mask(&mut self, code: Code, sources: &[VReg]) -> VReg {
        let dst = self.register(RegClass::Vector);
        let mut operands = vec![Operand::reg_def(dst)];
        operands.extend(sources.iter().map(|src| Operand::reg_use(*src)));
        self.push(code, &operands);
        dst
    }

    /// Loads a general register.
    pub(super) fn load(&mut self, bytes: u32, place: MemoryAt) -> VReg {
        let dst = self.general();
        let mut operands = vec![Operand::reg_def(dst)];
        let template = Nodes::template(place, &mut operands);
        self.push(Code::Load(bytes, template), &operands);
        dst
    }

    /// Loads a mask of 32 bits.
    pub(super) fn load_mask(&mut self, place: MemoryAt) -> VReg {
        let dst = self.register(RegClass::Vector);
        let mut operands = vec![Operand::reg_def(dst)];
        let template = Nodes::template(place, &mut operands);
        self.push(Code::MaskLoad(template), &operands);
        dst
    }

    /// Stores a general register.
    pub(super) fn store(&mut self, bytes: u32, place: MemoryAt, src: VReg) {
        let mut operands = Vec::new();
        let template = Nodes::template(place, &mut operands);
        operands.push(Operand::reg_use(src));
        self.push(Code::Store(bytes, template), &operands);
    }

    /// Elements at `base` plus lane offsets, for the lanes of a mask; `old` for the others.
    pub(super) fn gather(
        &mut self,
        op: &'static Vop,
        old: VReg,
        index: VReg,
        base: VReg,
        mask: VReg,
    ) -> VReg {
        let dst = self.register(RegClass::Float);
        let rest = self.register(RegClass::Vector);
        let operands = [
            Operand::reg_reuse_def(dst, 1),
            Operand::reg_use(old),
            Operand::reg_use(index),
            Operand::reg_use(base),
            Operand::reg_reuse_def(rest, 5),
            Operand::reg_use(mask),
        ];
        self.push(Code::Gather(op), &operands);
        dst
    }

    /// Writes elements at `base` plus lane offsets, for the lanes of a mask.
    pub(super) fn scatter(
        &mut self,
        op: &'static Vop,
        src: VReg,
        index: VReg,
        base: VReg,
        mask: VReg,
    ) {
        let rest = self.register(RegClass::Vector);
        let operands = [
            Operand::reg_use(src),
            Operand::reg_use(index),
            Operand::reg_use(base),
            Operand::reg_reuse_def(rest, 4),
            Operand::reg_use(mask),
        ];
        self.push(Code::Scatter(op), &operands);
    }

    /// Room on the stack, in whole registers; `None` if there is none left.
    pub(super) fn room(&mut self, bytes: u32) -> Option<u32> {
        let at = self.stack;
        let end = at + bytes.next_multiple_of(64);
        if end > STACK {
            return None;
        }
        self.stack = end;
        self.most_stack = self.most_stack.max(end);
        Some(at)
    }

    /// Gives back the room from a place on.
    pub(super) fn give_back(&mut self, at: u32) {
        self.stack = self.stack.min(at);
    }

    /// Room on the stack in place of all that was there.
    pub(super) fn first_room(&mut self, bytes: u32) -> u32 {
        self.stack = 0;
        self.room(bytes).expect("a fragment has room")
    }

    /// A product of bytes: sums, from what they are before and other sources, with four free registers.
    pub(super) fn product(&mut self, code: Code, sums: &[VReg], sources: &[VReg]) -> Vec<VReg> {
        let mut operands = Vec::with_capacity(2 * sums.len() + sources.len() + 4);
        let mut found = Vec::with_capacity(sums.len());
        let mut sums = sums.to_vec();
        // The allocator lets the first sum take the place of what it was, though another operand still reads that.
        if sources.contains(&sums[0]) {
            let copy = Vector::one(Arg::Reg(sums[0]));
            sums[0] = self.vector(&vector::LOAD, RegClass::Float, copy);
        }
        for sum in &sums {
            let dst = self.register(RegClass::Float);
            operands.push(Operand::reg_reuse_def(dst, operands.len() + 1));
            operands.push(Operand::reg_use(*sum));
            found.push(dst);
        }
        operands.extend(sources.iter().map(|src| Operand::reg_use(*src)));
        for _ in 0..4 {
            operands.push(self.free(RegClass::Float));
        }
        self.push(code, &operands);
        found
    }

    /// A register that is free while a node works.
    pub(super) fn free(&mut self, class: RegClass) -> Operand {
        let free = self.register(class);
        early(free)
    }

    /// A place as a number.
    pub(super) fn address(&mut self, place: MemoryAt) -> VReg {
        let dst = self.general();
        let mut operands = vec![Operand::reg_def(dst)];
        let template = Nodes::template(place, &mut operands);
        self.push(Code::Address(template), &operands);
        dst
    }

    /// Asks for a line of memory.
    pub(super) fn prefetch(&mut self, place: MemoryAt) {
        let mut operands = Vec::new();
        let template = Nodes::template(place, &mut operands);
        self.push(Code::Prefetch(template), &operands);
    }
}

/// A register that is written while sources are still read.
pub(super) fn early(reg: VReg) -> Operand {
    let (any, def) = (OperandConstraint::Reg, OperandKind::Def);
    Operand::new(reg, any, def, OperandPos::Early)
}

/// The operands of a vector instruction.
#[derive(Clone, Copy)]
pub(super) struct Vector {
    pub(super) len: Len,
    pub(super) second: Option<VReg>,
    pub(super) last: Option<Arg>,
    /// What the result starts from: accumulators, and lanes that a mask leaves out.
    pub(super) tied: Option<VReg>,
    pub(super) mask: Option<VReg>,
    pub(super) zero: bool,
    pub(super) imm: u8,
}

impl Vector {
    /// `op dst, last`.
    pub(super) fn one(last: Arg) -> Vector {
        Vector {
            len: Len::L512,
            second: None,
            last: Some(last),
            tied: None,
            mask: None,
            zero: false,
            imm: 0,
        }
    }

    /// `op dst, second, last`.
    pub(super) fn two(second: VReg, last: Arg) -> Vector {
        Vector {
            second: Some(second),
            ..Vector::one(last)
        }
    }
}
