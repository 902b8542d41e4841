//! Nodes that are many instructions: products of matrices, and rows that are copied.

use super::{
    super::{
        nodes::{Tile, Tiles},
        registers::{FRAME, SCRATCH},
        rows::Copies,
    },
    Encoder, Operands,
};
use warpsmith_x86::{Alu, Cond, Gpr, Len, Mem, Rm, vector};

/// Bytes of B for a part of a product of floats; A has as many for some bits more.
pub(super) const PART: u32 = 128;

/// Lane `t` of each group of four in all of them.
pub(super) fn one_of_four(t: u32) -> u8 {
    (t * 0b0101_0101) as u8
}

impl Encoder<'_> {
    /// A place in the run's room on the stack.
    pub(super) fn stack(&self, at: u32) -> Mem {
        Mem::at(Gpr::RSP, self.shared.spilled + at as i32)
    }

    fn full(&mut self, op: &vector::Vop, reg: u8, second: u8, rm: Rm, imm: u8) {
        self.code
            .vector_full(op, Len::L512, reg, second, rm, None, imm);
    }

    pub(super) fn spread(&mut self, at: u32, o: &mut Operands<'_>) {
        let from = Rm::Reg(o.number());
        let v = self.shared.target.scratch();
        for t in 0..4 {
            self.full(&vector::SHUFFLE_I32, v, 0, from, one_of_four(t));
            self.put(self.stack(at + 64 * t), v);
        }
    }

    /// Sums: what they become, which is what they were.
    pub(super) fn sums(o: &mut Operands<'_>, count: usize) -> Vec<u8> {
        let sums = (0..count).map(|_| o.changed().0);
        sums.collect()
    }

    /// The even and odd columns of one k, for all groups.
    fn columns(&mut self, to: [u8; 2], from: [Mem; 2]) {
        for (from, to) in from.into_iter().zip(to) {
            self.full(&vector::SPLAT_128, to, 0, Rm::Mem(from), 0);
        }
    }

    /// A place in the run's room on the stack, and what the scratch register has, shifted to the left, behind it.
    pub(super) fn stack_behind(&self, at: u32, shift: u8) -> Mem {
        self.stack_at(at, SCRATCH, shift)
    }

    /// The same, by what a register has.
    pub(super) fn stack_at(&self, at: u32, index: Gpr, shift: u8) -> Mem {
        Mem::Base {
            base: Gpr::RSP,
            index: Some((index, shift)),
            offset: self.shared.spilled + at as i32,
        }
    }

    /// Products that go on with the same sums, or two each with the same A.
    pub(super) fn floats(&mut self, tiles: &Tiles, o: &mut Operands<'_>) {
        let sums: Vec<u8> = tiles.starts.iter().map(|_| o.number()).collect();
        for (sum, start) in sums.iter().zip(&tiles.starts) {
            let from = match start {
                Some(slot) => Rm::Mem(Mem::at(FRAME, *slot as i32)),
                None => self.anywhere(o.next()),
            };
            self.full(&vector::LOAD, *sum, 0, from, 0);
        }
        let products = 1 + usize::from(!tiles.second.is_empty());
        let columns: Vec<[u8; 2]> = (0..products).map(|_| [o.number(), o.number()]).collect();
        let rows = [o.number(), o.number()];
        for (at, tile) in tiles.steps.iter().enumerate() {
            let second = tiles.second.get(at);
            let b: Vec<u32> = std::iter::once(tile.b).chain(second.copied()).collect();
            self.tile(*tile, &b, (&sums, &columns, rows));
        }
        let ends = tiles.ends.iter().zip(&sums);
        let ends: Vec<(u32, u8)> = ends
            .filter_map(|(end, sum)| Some(((*end)?, *sum)))
            .collect();
        self.put_sums(&ends);
    }

    /// Code for a block of fragments, for all of a tile's one after the other, so that that of many products stays short:
    /// the scratch register has how far the block is behind the first, in bytes of B.
    pub(super) fn of_blocks(&mut self, tile: Tile, body: impl FnOnce(&mut Self)) {
        let again = self.code.label();
        self.code.mov_imm(SCRATCH, 0);
        self.code.bind(again);
        body(self);
        let (block, end) = (PART * tile.parts, PART * tile.parts * tile.blocks);
        if tile.blocks > 1 {
            self.code.alu_imm(Alu::Add, false, SCRATCH, block as i32);
            self.code.alu_imm(Alu::Cmp, false, SCRATCH, end as i32);
            self.code.jump_if(Cond::Below, again);
        }
    }

    /// Adds a product with each B to `sums[2 (2 half + odd) + register]` of its own.
    fn tile(&mut self, tile: Tile, b: &[u32], with: (&[u8], &[[u8; 2]], [u8; 2])) {
        self.of_blocks(tile, |encoder| encoder.block(tile, b, with));
    }

    fn block(
        &mut self,
        tile: Tile,
        b: &[u32],
        (sums, columns, rows): (&[u8], &[[u8; 2]], [u8; 2]),
    ) {
        let (each, shift) = if tile.spread { (256, 3) } else { (64, 1) };
        for t in 0..4 {
            for part in 0..tile.parts {
                for (b, columns) in b.iter().zip(columns) {
                    let at = b + PART * part + 32 * t;
                    let from = [0, 16].map(|odd| self.stack_behind(at + odd, 0));
                    self.columns(*columns, from);
                }
                for (register, half) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let at = tile.a + (PART << shift) * part + each * (2 * half + register);
                    let row = rows[register as usize];
                    if tile.spread {
                        let from = Rm::Mem(self.stack_behind(at + 64 * t, shift));
                        self.full(&vector::LOAD, row, 0, from, 0);
                    } else {
                        let from = Rm::Mem(self.stack_behind(at, shift));
                        self.full(&vector::SHUFFLE_I32, row, 0, from, one_of_four(t));
                    }
                    for (sums, columns) in sums.chunks(8).zip(columns) {
                        for odd in 0..2 {
                            let sum = sums[(2 * (2 * half + odd) + register) as usize];
                            let column = Rm::Reg(columns[odd as usize]);
                            self.full(&vector::FMA_F32, sum, row, column, 0);
                        }
                    }
                }
            }
        }
    }

    /// The same of bytes, four of k at once.
    pub(super) fn bytes(&mut self, b: u32, blocks: u32, swapped: bool, o: &mut Operands<'_>) {
        // Each sum has two operands, each register of A and each free one has one.
        let left = o.allocs.len() - 4;
        let halves = left / (8 + 2 * blocks as usize);
        let sums = Self::sums(o, 4 * halves);
        let a: Vec<u8> = (0..2 * halves * blocks as usize)
            .map(|_| o.number())
            .collect();
        let free: [u8; 4] = std::array::from_fn(|_| o.number());
        let (columns, rows) = ([free[0], free[1]], [free[2], free[3]]);
        for block in 0..blocks as usize {
            for word in 0..4 {
                let at = b + 128 * block as u32 + 16 * word;
                let from = [0, 64].map(|odd| self.stack(at + odd));
                self.columns(columns, from);
                for half in 0..halves {
                    for register in 0..2 {
                        let row = rows[register];
                        let from = Rm::Reg(a[2 * (block * halves + half) + register]);
                        self.full(&vector::SHUFFLE_I32, row, 0, from, one_of_four(word));
                        for odd in 0..2 {
                            let sum = sums[2 * (2 * half + odd) + register];
                            let column = columns[odd];
                            let (unsigned, signed) = if swapped {
                                (column, row)
                            } else {
                                (row, column)
                            };
                            let op = &vector::DOT_U8_I8;
                            self.full(op, sum, unsigned, Rm::Reg(signed), 0);
                        }
                    }
                }
            }
        }
    }

    /// Two registers of four rows each.
    pub(super) fn rows(&mut self, at: u32, wide: bool, o: &mut Operands<'_>) {
        let to = [o.number(), o.number()];
        let host = o.general();
        for (first, to) in [(0, to[0]), (4, to[1])] {
            for row in 0..4 {
                let each = if wide { 8 } else { 4 };
                let offset = self.stack(at + each * (first + row));
                self.code.load(wide, SCRATCH, offset);
                let from = Rm::Mem(Mem::Base {
                    base: host,
                    index: Some((SCRATCH, 0)),
                    offset: 0,
                });
                if row == 0 {
                    self.code.vector(&vector::LOAD, Len::L128, to, 0, from);
                } else {
                    self.full(&vector::INSERT_128, to, to, from, row as u8);
                }
            }
        }
    }

    /// The lines at 32 addresses.
    pub(super) fn prefetch_rows(&mut self, at: u32) {
        for lane in 0..32 {
            self.code.load(true, SCRATCH, self.stack(at + 8 * lane));
            self.code.prefetch(Mem::at(SCRATCH, 0));
        }
    }

    pub(super) fn copies(&mut self, copies: Copies, o: &mut Operands<'_>) {
        match copies {
            Copies::Rows { to, from } => self.copy_rows(to, from, o),
            Copies::Pairs {
                offsets,
                lanes,
                store,
            } => self.pairs(offsets, lanes, store, o),
        }
    }

    /// Thirty-two bytes at once where four lanes are neighbours, which the flags say; else eight of each lane.
    fn pairs(&mut self, offsets: u32, lanes: u32, store: bool, o: &mut Operands<'_>) {
        let (host, lane, value) = (o.general(), o.general(), o.general());
        let (again, apart, done) = (self.code.label(), self.code.label(), self.code.label());
        let v = self.shared.target.scratch();
        let there = Mem::Base {
            base: host,
            index: Some((SCRATCH, 0)),
            offset: 0,
        };
        self.code.jump_if(Cond::NotEqual, apart);
        for four in (0..256).step_by(32) {
            self.code.load(true, SCRATCH, self.stack(offsets + four));
            let here = self.stack(lanes + four);
            let (from, to) = if store { (here, there) } else { (there, here) };
            self.code
                .vector(&vector::LOAD, Len::L256, v, 0, Rm::Mem(from));
            self.code
                .vector(&vector::STORE, Len::L256, v, 0, Rm::Mem(to));
        }
        self.code.jump(done);
        self.code.bind(apart);
        self.code.mov_imm(lane, 0);
        self.code.bind(again);
        let own = |encoder: &Self, at: u32| encoder.stack_at(at, lane, 3);
        let (place, here) = (own(self, offsets), own(self, lanes));
        self.code.load(true, SCRATCH, place);
        let (from, to) = if store { (here, there) } else { (there, here) };
        self.code.load(true, value, from);
        self.code.store(8, to, value);
        self.code.alu_imm(Alu::Add, false, lane, 1);
        self.code.alu_imm(Alu::Cmp, false, lane, 32);
        self.code.jump_if(Cond::Below, again);
        self.code.bind(done);
    }

    /// Sixty-four bytes at once where four lanes are neighbours, which the flags say; else four rows in a turn.
    fn copy_rows(&mut self, to: u32, from: u32, o: &mut Operands<'_>) {
        let (target, source) = (o.general(), o.general());
        let lane = o.general();
        let (again, apart, done) = (self.code.label(), self.code.label(), self.code.label());
        self.code.jump_if(Cond::NotEqual, apart);
        let (v, len) = (self.shared.target.scratch(), self.shared.target.len());
        for row in (0..32).step_by(4) {
            self.code.load(true, SCRATCH, self.stack(from + 8 * row));
            self.code.load(false, lane, self.stack(to + 4 * row));
            for part in (0..64).step_by(self.shared.target.bytes() as usize) {
                let mem = |base, index| {
                    Rm::Mem(Mem::Base {
                        base,
                        index: Some((index, 0)),
                        offset: part,
                    })
                };
                let from = mem(source, SCRATCH);
                self.code.vector(&vector::LOAD, len, v, 0, from);
                self.code
                    .vector(&vector::STORE, len, v, 0, mem(target, lane));
            }
            // What lies behind comes next where rows are copied piece by piece.
            self.code.prefetch(Mem::Base {
                base: source,
                index: Some((SCRATCH, 0)),
                offset: 64,
            });
        }
        self.code.jump(done);
        self.code.bind(apart);
        self.code.mov_imm(lane, 0);
        self.code.bind(again);
        for row in 0..4 {
            let at = self.stack_at(from + 8 * row, lane, 3);
            self.code.load(true, SCRATCH, at);
            let mem = |base| {
                Rm::Mem(Mem::Base {
                    base,
                    index: Some((SCRATCH, 0)),
                    offset: 0,
                })
            };
            let v = self.shared.target.scratch();
            self.code
                .vector(&vector::LOAD, Len::L128, v, 0, mem(source));
            let at = self.stack_at(to + 4 * row, lane, 2);
            self.code.load(false, SCRATCH, at);
            self.code
                .vector(&vector::STORE, Len::L128, v, 0, mem(target));
        }
        self.code.alu_imm(Alu::Add, false, lane, 4);
        self.code.alu_imm(Alu::Cmp, false, lane, 32);
        self.code.jump_if(Cond::Below, again);
        self.code.bind(done);
    }
}
