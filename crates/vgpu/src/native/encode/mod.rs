//! From nodes with registers to bytes, and the ways out of a run.

mod flush;
mod matrix;
mod narrow;
mod operands;

use super::{
    entry::Entry,
    exits::{Exit, Form, Home, Next},
    nodes::{self, Code, Last, Nodes, Template, Tiles},
    registers::{CTX, FRAME, OP, SAVED, SCRATCH},
    target::Target,
};
use crate::{
    exec::part,
    op::{Ctx, MicroOp, Parted, Warp},
};
use operands::Operands;
use regalloc2::{Allocation, Edit, Inst, InstOrEdit, Output, RegClass};
use rustc_hash::FxHashMap;
use warpsmith_x86::{Alu, Assembler, Cond, Constant, Gpr, Label, Masking, Mem, Rm, Shift, vector};

/// What a stack grows by at most without being touched.
const PAGE: i32 = 4096;

/// What all runs of a program share.
pub(super) struct Shared {
    /// The machine that they are for.
    target: Target,
    /// Registers that some run changes and callers want back.
    saved: Vec<Gpr>,
    /// Bytes for what is spilled, and for all that stands on the stack.
    spilled: i32,
    stack: i32,
    /// The code of blocks that are compiled from their first op on.
    pub(super) labels: FxHashMap<u32, Label>,
    /// By the op where runs are left whose lanes are at an edge: the code that goes on from there.
    pub(super) edges: FxHashMap<u32, Label>,
    /// The first op of each block.
    pub(super) firsts: Vec<u32>,
}

impl Shared {
    pub(super) fn new(target: Target, outputs: &[&Output], stack: u32, firsts: Vec<u32>) -> Shared {
        let used = |reg: &Gpr| {
            let is = |alloc: &Allocation| {
                let found = alloc
                    .as_reg()
                    .filter(|found| found.class() == RegClass::Int);
                found.is_some_and(|found| found.hw_enc() == usize::from(reg.0))
            };
            outputs.iter().any(|output| {
                let moved = output.edits.iter().any(|(_, edit)| {
                    let Edit::Move { from, to } = edit;
                    is(from) || is(to)
                });
                moved || output.allocs.iter().any(is)
            })
        };
        let slots = outputs.iter().map(|output| output.num_spillslots).max();
        let spilled = (8 * slots.unwrap_or(0)).next_multiple_of(64) as i32;
        Shared {
            target,
            saved: SAVED.into_iter().filter(used).collect(),
            spilled,
            stack: spilled + stack as i32,
            labels: FxHashMap::default(),
            edges: FxHashMap::default(),
            firsts,
        }
    }
}

/// A run of nodes with its registers.
pub(super) struct Unit<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) output: &'a Output,
    pub(super) exits: &'a [Exit],
    /// The block that begins with it.
    pub(super) block: Option<u32>,
    /// Another run for when lanes are missing.
    pub(super) masked: Option<Label>,
    /// Who comes to it.
    pub(super) entry: Entry,
    /// Its first op, and that op's own code.
    pub(super) first: u32,
    pub(super) plain: usize,
}

/// Writes the code of a run.
pub(super) struct Encoder<'a> {
    code: &'a mut Assembler,
    output: &'a Output,
    shared: &'a Shared,
    constants: Vec<Constant>,
    tiles: &'a [Tiles],
    /// The op where the run begins, and that op's own code.
    first: u32,
    plain: usize,
    /// Whether it goes on where lanes are at an edge.
    goes_on: bool,
}

/// Lane numbers times a step, for cells `first` and on.
fn table(step: i64, first: usize, wide: bool) -> [u8; 64] {
    let mut bytes = [0; 64];
    if wide {
        for (i, cell) in bytes.chunks_mut(8).enumerate() {
            cell.copy_from_slice(&step.wrapping_mul((first + i) as i64).to_le_bytes());
        }
    } else {
        for (i, cell) in bytes.chunks_mut(4).enumerate() {
            let value = step.wrapping_mul((first + i) as i64) as i32;
            cell.copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

/// [`table`] for one of the registers that hold 32 lanes.
pub(super) fn lane_table(step: i64, register: usize, wide: bool) -> [u8; 64] {
    table(step, register * if wide { 8 } else { 16 }, wide)
}

/// One value in all cells.
pub(super) fn splat_bytes(value: u64, wide: bool) -> [u8; 64] {
    let mut bytes = [0; 64];
    let size = if wide { 8 } else { 4 };
    for cell in bytes.chunks_mut(size) {
        cell.copy_from_slice(&value.to_le_bytes()[..size]);
    }
    bytes
}

/// The one NaN of f32.
pub(super) const NAN: u64 = 0x7FFF_FFFF;

impl<'a> Encoder<'a> {
    /// Encodes a run; its offset.
    pub(super) fn run(code: &'a mut Assembler, shared: &'a Shared, unit: &Unit<'a>) -> usize {
        let constants = unit.nodes.constants.iter();
        let constants = constants.map(|bytes| code.constant(*bytes)).collect();
        let mut e = Encoder {
            code,
            output: unit.output,
            shared,
            constants,
            tiles: &unit.nodes.tiles,
            first: unit.first,
            plain: unit.plain,
            goes_on: matches!(unit.entry, Entry::Whole),
        };
        let offset = e.code.len();
        let interpret = e.enter(unit);
        if let Some(label) = unit.block.and_then(|block| shared.labels.get(&block)) {
            e.code.bind(*label);
        }
        let exits = unit.exits;
        let labels: Vec<Label> = exits.iter().map(|_| e.code.label()).collect();
        let mut ways: Vec<Vec<Allocation>> = vec![Vec::new(); exits.len()];
        let mut last = None;
        let parts: Vec<Label> = unit.nodes.parts.iter().map(|_| e.code.label()).collect();
        let steps = (0..parts.len()).flat_map(|part| {
            let block = regalloc2::Block::new(part);
            let steps = unit.output.block_insts_and_edits(unit.nodes, block);
            steps.enumerate().map(move |(at, step)| (part, at, step))
        });
        for (part, at, step) in steps {
            if at == 0 {
                e.code.bind(parts[part]);
            }
            match step {
                InstOrEdit::Edit(Edit::Move { from, to }) => e.movement(*from, *to),
                InstOrEdit::Inst(inst) => match unit.nodes.codes[inst.index()] {
                    // The first part goes on with the loop, which is the next.
                    Code::Turn if part + 1 == nodes::LOOP => {}
                    Code::Turn => e.code.jump(parts[nodes::LOOP]),
                    Code::Fork(unless) => e.code.jump_if(unless, parts[part + 2]),
                    Code::ExitIf(cond, exit) => {
                        ways[exit as usize] = unit.output.inst_allocs(inst).to_vec();
                        e.code.jump_if(cond, labels[exit as usize]);
                    }
                    Code::Fuel(exit) => {
                        ways[exit as usize] = unit.output.inst_allocs(inst).to_vec();
                        e.burn(labels[exit as usize]);
                    }
                    Code::Exit(exit) => {
                        let allocs = unit.output.inst_allocs(inst);
                        e.leave(&exits[exit as usize], allocs);
                        last = Some(exit as usize);
                    }
                    code => e.node(code, inst),
                },
            }
        }
        for (at, exit) in exits.iter().enumerate() {
            // The one where the run ends stands there.
            if Some(at) != last {
                e.code.bind(labels[at]);
                e.leave(exit, &ways[at]);
            }
        }
        if let Some(interpret) = interpret {
            e.code.bind(interpret);
            e.code.mov_imm(Gpr::RAX, unit.plain as u64);
            e.code.jump_reg(Gpr::RAX);
        }
        offset
    }

    /// From the interpreter; where whoever cannot be run here goes.
    fn enter(&mut self, unit: &Unit<'_>) -> Option<Label> {
        let interpret = match unit.entry {
            Entry::Edge(own) => {
                self.code.bind(own);
                return None;
            }
            Entry::Masked(own) => {
                self.code.bind(own);
                None
            }
            Entry::Whole => {
                let interpret = match unit.masked {
                    Some(masked) => masked,
                    None => self.code.label(),
                };
                let mask = std::mem::offset_of!(Ctx, mask) as i32;
                self.code.alu_mem_imm(Alu::Cmp, Mem::at(CTX, mask), -1);
                self.code.jump_if(Cond::NotEqual, interpret);
                unit.masked.is_none().then_some(interpret)
            }
        };
        for reg in &self.shared.saved {
            self.code.push(*reg);
        }
        let stack = self.shared.stack;
        if stack != 0 {
            self.code.push(Gpr::RBP);
            self.code.mov(true, Gpr::RBP, Gpr::RSP);
            // Pages of a stack are touched in order, so that the one behind its end is met.
            for page in 1..=stack / PAGE {
                let at = Mem::at(Gpr::RSP, -PAGE * page);
                self.code.alu_mem_imm(Alu::Cmp, at, 0);
            }
            self.code.alu_imm(Alu::Sub, true, Gpr::RSP, stack);
            self.code.alu_imm(Alu::And, true, Gpr::RSP, -64);
        }
        self.code
            .load(true, FRAME, Mem::at(CTX, Ctx::FRAME_AT as i32));
        // All runs count from the program's first op.
        let back = unit.first as i32 * size_of::<MicroOp>() as i32;
        self.code.alu_imm(Alu::Sub, true, OP, back);
        interpret
    }

    /// A jump is paid for; without fuel, or where lanes do not go in step, the interpreter does it.
    fn burn(&mut self, out: Label) {
        let warp = std::mem::offset_of!(Ctx, warp) as i32;
        self.code.load(true, SCRATCH, Mem::at(CTX, warp));
        let whole = Mem::at(SCRATCH, Warp::WHOLE_AT as i32);
        self.code.alu_mem_imm(Alu::Cmp, whole, -1);
        self.code.jump_if(Cond::NotEqual, out);
        let fuel = Mem::at(CTX, std::mem::offset_of!(Ctx, fuel) as i32);
        self.code.alu_mem_imm(Alu::Cmp, fuel, 1);
        self.code.jump_if(Cond::Less, out);
        self.code.alu_mem_imm(Alu::Sub, fuel, 1);
    }

    fn leave(&mut self, exit: &Exit, allocs: &[Allocation]) {
        let mut at = 0;
        let mut sums = Vec::new();
        for (home, form) in &exit.items {
            let count = form.registers_of(self.shared.target);
            let own = &allocs[at..at + count];
            match (self.shared.target, home, form) {
                (Target::Avx512, Home::Narrow(slot), Form::Lanes { raw: true }) => {
                    sums.extend(
                        own.iter()
                            .zip((*slot..).step_by(64))
                            .map(|(own, to)| (to, *own)),
                    );
                }
                _ => self.flush(*home, *form, own),
            }
            at += count;
        }
        self.flush_sums(&sums);
        if let Some(waits) = &exit.waits {
            self.part(waits, &allocs[at..]);
        }
        let op = match exit.next {
            Next::Op(op) => match self.shared.edges.get(&op) {
                Some(label) if self.goes_on && exit.waits.is_none() => {
                    return self.code.jump(*label);
                }
                _ => op,
            },
            Next::Block(block) => match self.shared.labels.get(&block) {
                Some(label) => return self.code.jump(*label),
                None => self.shared.firsts[block as usize],
            },
        };
        let offset = op as i32 * size_of::<MicroOp>() as i32;
        self.code.lea(true, Gpr::RAX, Mem::at(OP, offset));
        if self.shared.stack != 0 {
            self.code.mov(true, Gpr::RSP, Gpr::RBP);
            self.code.pop(Gpr::RBP);
        }
        for reg in self.shared.saved.iter().rev() {
            self.code.pop(*reg);
        }
        self.code.zero_upper();
        if exit.waits.is_some() {
            self.code.mov(true, OP, Gpr::RAX);
            self.code.mov_imm(Gpr::RAX, part as *const () as u64);
            self.code.jump_reg(Gpr::RAX);
        } else if op == self.first {
            // That op holds this run: its own code does it, or nothing would ever go on.
            self.code.mov(true, OP, Gpr::RAX);
            self.code.mov_imm(Gpr::RAX, self.plain as u64);
            self.code.jump_reg(Gpr::RAX);
        } else {
            self.code.ret();
        }
    }

    /// Writes who goes on, and who waits at which block.
    fn part(&mut self, waits: &[u32], allocs: &[Allocation]) {
        let own = std::mem::offset_of!(Ctx, parted);
        let field = |at: usize| Mem::at(CTX, (own + at) as i32);
        let first = std::mem::offset_of!(Parted, waits);
        let places = (0..waits.len()).map(|at| first + 8 * at + 4);
        let active = std::mem::offset_of!(Parted, active);
        for (at, alloc) in std::iter::once(active).chain(places).zip(allocs) {
            let lanes = match (self.shared.target, alloc.as_reg()) {
                (Target::Avx512, Some(reg)) => {
                    self.code.mask_to(SCRATCH, reg.hw_enc() as u8);
                    SCRATCH
                }
                _ => self.general(*alloc, SCRATCH),
            };
            self.code.store(4, field(at), lanes);
        }
        let count = std::mem::offset_of!(Parted, count);
        let numbers = (0..waits.len()).map(|at| (first + 8 * at, waits[at]));
        for (at, number) in numbers.chain([(count, waits.len() as u32)]) {
            self.code.mov_imm(SCRATCH, u64::from(number));
            self.code.store(4, field(at), SCRATCH);
        }
    }

    fn movement(&mut self, from: Allocation, to: Allocation) {
        let class = from.as_reg().or(to.as_reg()).map(|reg| reg.class());
        let number = |alloc: Allocation| alloc.as_reg().map(|reg| reg.hw_enc() as u8);
        match (class, number(from), number(to)) {
            (Some(RegClass::Int), Some(from), Some(to)) => {
                self.code.mov(true, Gpr(to), Gpr(from));
            }
            (Some(RegClass::Int), Some(from), None) => {
                self.code.store(8, self.spilled(to), Gpr(from));
            }
            (Some(RegClass::Int), None, Some(to)) => {
                self.code.load(true, Gpr(to), self.spilled(from));
            }
            (Some(RegClass::Float), from_reg, Some(to)) => {
                let from = from_reg.map_or_else(|| Rm::Mem(self.spilled(from)), Rm::Reg);
                let len = self.shared.target.len();
                self.code.vector(&vector::LOAD, len, to, 0, from);
            }
            (Some(RegClass::Float), Some(from), None) => self.put(self.spilled(to), from),
            (Some(RegClass::Vector), Some(from), Some(to)) => self.code.mask_mov(to, from),
            (Some(RegClass::Vector), Some(from), None) => {
                self.code.mask_store(self.spilled(to), from);
            }
            (Some(RegClass::Vector), None, Some(to)) => {
                self.code.mask_load(to, self.spilled(from));
            }
            _ => unreachable!("a move has a register"),
        }
    }

    fn node(&mut self, node: Code, inst: Inst) {
        let mut operands = Operands {
            allocs: self.output.inst_allocs(inst),
            at: 0,
        };
        let o = &mut operands;
        match node {
            Code::Vector {
                op,
                len,
                imm,
                shape,
            } => {
                let first = o.number();
                if shape.tied {
                    o.number();
                }
                let second = if shape.second { o.number() } else { 0 };
                let rm = match shape.last {
                    Last::None => Rm::Reg(0),
                    Last::Reg => Rm::Reg(o.number()),
                    Last::Mem(place) => Rm::Mem(self.place(place, o)),
                };
                let masking = shape.mask.then(|| Masking {
                    mask: o.number(),
                    zero: shape.zero,
                });
                let (reg, second) = if op.has_digit() {
                    (0, first)
                } else {
                    (first, second)
                };
                self.code
                    .vector_full(op, len, reg, second, rm, masking, imm);
            }
            Code::Alu(op, wide) => {
                let (dst, src) = (o.changed(), o.general());
                self.code.alu(op, wide, dst, src);
            }
            Code::AluImm(op, wide, value) => {
                let dst = o.changed();
                self.code.alu_imm(op, wide, dst, value);
            }
            Code::Compare(wide) => {
                let (a, b) = (o.general(), o.general());
                self.code.alu(Alu::Cmp, wide, a, b);
            }
            Code::CompareImm(wide, value) => {
                self.code.alu_imm(Alu::Cmp, wide, o.general(), value);
            }
            Code::TestImm(value) => self.code.test_imm(false, o.general(), value),
            Code::MovImm(value) => self.code.mov_imm(o.general(), value),
            Code::Mov(wide) => {
                let (dst, src) = (o.general(), o.general());
                self.code.mov(wide, dst, src);
            }
            Code::Load(bytes, place) => {
                let dst = o.general();
                let place = self.place(place, o);
                match bytes {
                    1 | 2 => self.code.load_small(bytes, dst, place),
                    bytes => self.code.load(bytes == 8, dst, place),
                }
            }
            Code::Store(bytes, place) => {
                let place = self.place(place, o);
                self.code.store(bytes, place, o.general());
            }
            Code::TrailingZeros => {
                let (dst, src) = (o.general(), o.general());
                self.code.trailing_zeros(dst, src);
            }
            Code::LeadingZeros => {
                let (dst, src) = (o.general(), o.general());
                self.code.leading_zeros(dst, src);
            }
            Code::Deposit => {
                let (dst, src, places) = (o.general(), o.general(), o.general());
                self.code.deposit(dst, src, places);
            }
            Code::Gather(op) => {
                let (dst, _) = (o.number(), o.number());
                let (index, base) = (o.number(), o.general());
                let (mask, _) = (o.number(), o.number());
                match self.shared.target {
                    Target::Avx512 => self.code.scattered(op, dst, base, index, mask),
                    Target::Avx2 => self.code.gathered(op, dst, base, index, mask),
                }
            }
            Code::Narrow(step) => self.step(step, o),
            Code::Scatter(op) => {
                let (src, index, base) = (o.number(), o.number(), o.general());
                let (mask, _) = (o.number(), o.number());
                self.code.scattered(op, src, base, index, mask);
            }
            Code::Lea(offset) => {
                let (dst, base) = (o.general(), o.general());
                self.code.lea(true, dst, Mem::at(base, offset));
            }
            Code::Imul(wide) => {
                let (dst, src) = (o.changed(), o.general());
                self.code.imul(wide, dst, src);
            }
            Code::ImulImm(wide, value) => {
                let (dst, src) = (o.general(), o.general());
                self.code.imul_imm(wide, dst, src, value);
            }
            Code::Shift(op, wide, count) => {
                let dst = o.changed();
                self.code.shift(op, wide, dst, count);
            }
            Code::ExtendSign => {
                let (dst, src) = (o.general(), o.general());
                self.code.extend_sign(dst, src);
            }
            Code::Extend(bits, signed) => {
                let (dst, src) = (o.general(), o.general());
                self.code.extend(bits, signed, dst, src);
            }
            Code::Cmov(cond, wide) => {
                let (dst, src) = (o.changed(), o.general());
                self.code.cmov(cond, wide, dst, src);
            }
            Code::SetAll(cond) => {
                // Moves leave the flags alone.
                let dst = o.general();
                self.code.mov_imm(SCRATCH, 0xFFFF_FFFF);
                self.code.mov_imm(dst, 0);
                self.code.cmov(cond, true, dst, SCRATCH);
            }
            Code::MaskAlu(op) => {
                let (dst, a, b) = (o.number(), o.number(), o.number());
                self.code.mask_alu(op, dst, a, b);
            }
            Code::MaskNot => {
                let (dst, a) = (o.number(), o.number());
                self.code.mask_not(dst, a);
            }
            Code::MaskJoin => {
                let (dst, high, low) = (o.number(), o.number(), o.number());
                self.code.mask_join(dst, high, low);
            }
            Code::MaskJoin8 => {
                let (dst, high, low) = (o.number(), o.number(), o.number());
                self.code.mask_join8(dst, high, low);
            }
            Code::MaskShift(count) => {
                let (dst, a) = (o.number(), o.number());
                self.code.mask_shift_right(dst, a, count);
            }
            Code::MaskLoad(place) => {
                let dst = o.number();
                let place = self.place(place, o);
                self.code.mask_load(dst, place);
            }
            Code::MaskFrom => {
                let (dst, src) = (o.number(), o.general());
                self.code.mask_from(dst, src);
            }
            Code::MaskTo => {
                let (dst, src) = (o.general(), o.number());
                self.code.mask_to(dst, src);
            }
            Code::MaskTest16 => {
                let a = o.number();
                self.code.mask_test16(a, a);
            }
            Code::Prefetch(place) => {
                let place = self.place(place, o);
                self.code.prefetch(place);
            }
            Code::Spread(at) => self.spread(at, o),
            Code::Floats(at) => self.floats(&self.tiles[at as usize], o),
            Code::Bytes { b, blocks, swapped } => self.bytes(b, blocks, swapped, o),
            Code::Rows(at, wide) => self.rows(at, wide, o),
            Code::Copies(copies) => self.copies(copies, o),
            Code::PrefetchRows(at) => self.prefetch_rows(at),
            Code::Address(place) => {
                let dst = o.general();
                let place = self.place(place, o);
                self.code.lea(true, dst, place);
            }
            Code::Turn | Code::Fork(_) | Code::ExitIf(..) | Code::Fuel(_) | Code::Exit(_) => {
                unreachable!("handled by the caller")
            }
        }
        debug_assert_eq!(operands.at, operands.allocs.len(), "{node:?}");
    }

    fn place(&self, template: Template, operands: &mut Operands<'_>) -> Mem {
        match template {
            Template::Frame(at) => Mem::at(FRAME, at as i32),
            Template::Ctx(at) => Mem::at(CTX, at as i32),
            Template::Constant(at) => Mem::Constant(self.constants[at as usize]),
            Template::At(offset) => Mem::at(operands.general(), offset),
            Template::Stack(at) => self.stack(at),
            Template::Lane(slot, shift) => Mem::Base {
                base: FRAME,
                index: Some((operands.general(), shift)),
                offset: slot as i32,
            },
        }
    }
}

/// The kinds of shift by a constant.
pub(super) const fn shift_of(left: bool, signed: bool) -> Shift {
    match (left, signed) {
        (true, _) => Shift::Left,
        (false, true) => Shift::Arithmetic,
        (false, false) => Shift::Right,
    }
}
