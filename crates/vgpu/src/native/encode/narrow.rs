//! Nodes of many instructions on machines with narrow vectors.

use super::{
    super::{
        narrow::{Lanewise, Step},
        nodes::{Tile, Tiles},
        registers::{FRAME, SCRATCH},
    },
    Encoder, NAN, Operands,
    matrix::{PART, one_of_four},
    splat_bytes,
};
use warpsmith_x86::{Alu, Cond, Gpr, Len, Mem, Rm, Vop, vector};

/// Sixteen bytes of four lanes, from A and from B, for a block of k.
#[derive(Clone, Copy)]
struct Bytes {
    a: u32,
    b: u32,
    blocks: u32,
    swapped: bool,
    each: u32,
}

impl Encoder<'_> {
    pub(super) fn step(&mut self, step: Step, o: &mut Operands<'_>) {
        match step {
            Step::Lanewise(lanewise) => self.lanewise(lanewise, o),
            Step::Floats { tiles, quarter } => {
                self.floats_of_half(&self.tiles[tiles as usize], quarter, o);
            }
            Step::Bytes {
                a,
                b,
                blocks,
                swapped,
                each,
            } => {
                let bytes = Bytes {
                    a,
                    b,
                    blocks,
                    swapped,
                    each,
                };
                self.bytes_of_half(bytes, o);
            }
            Step::Round { before, how } => {
                let before = self.stack(before);
                self.code.store_control(before);
                // No exception stops the program.
                let mut word = [0; 64];
                word[..4].copy_from_slice(&(0x1F80 | (how as u32) << 13).to_le_bytes());
                let word = self.code.constant(word);
                self.code.load_control(Mem::Constant(word));
            }
            Step::RoundAsBefore(before) => {
                let before = self.stack(before);
                self.code.load_control(before);
            }
            Step::Rows(at, wide) => self.rows_in_pairs(at, wide, o),
        }
    }

    fn narrow(&mut self, op: &Vop, reg: u8, second: u8, rm: Rm, imm: u8) {
        self.code
            .vector_full(op, Len::L256, reg, second, rm, None, imm);
    }

    fn lanewise(&mut self, lanewise: Lanewise, o: &mut Operands<'_>) {
        let Lanewise {
            bytes,
            values,
            offsets,
            from,
        } = lanewise;
        let base = o.general();
        let rest = o.changed();
        let [lane, at, value] = [(); 3].map(|()| o.general());
        let (again, done) = (self.code.label(), self.code.label());
        self.code.alu_imm(Alu::Cmp, false, rest, 0);
        self.code.jump_if(Cond::Equal, done);
        self.code.bind(again);
        self.code.trailing_zeros(lane, rest);
        let shift = if bytes == 8 { 3 } else { 2 };
        let own = self.stack_at(values, lane, shift);
        self.code.load(bytes == 8, value, own);
        let index = match offsets {
            None => (lane, bytes.trailing_zeros() as u8),
            Some((place, wide)) => {
                let own = self.stack_at(place, lane, if wide { 3 } else { 2 });
                self.code.load(wide, at, own);
                if !wide {
                    self.code.extend_sign(at, at);
                }
                (at, 0)
            }
        };
        let to = Mem::Base {
            base,
            index: Some(index),
            offset: from,
        };
        self.code.store(bytes, to, value);
        self.code.without_lowest(rest, rest);
        self.code.jump_if(Cond::NotEqual, again);
        self.code.bind(done);
    }

    /// Half of the rows of a product, the first or second one's.
    fn floats_of_half(&mut self, tiles: &Tiles, quarter: u32, o: &mut Operands<'_>) {
        let sums: [u8; 8] = std::array::from_fn(|_| o.number());
        let starts = tiles.starts.iter().skip(4 * quarter as usize);
        for (sums, start) in sums.chunks(2).zip(starts) {
            for (at, sum) in (0..).step_by(32).zip(sums) {
                let from = match start {
                    Some(slot) => Rm::Mem(Mem::at(FRAME, *slot as i32 + at)),
                    None => self.anywhere(o.next()),
                };
                self.narrow(&vector::LOAD, *sum, 0, from, 0);
            }
        }
        let free: [u8; 3] = std::array::from_fn(|_| o.number());
        for (step, tile) in tiles.steps.iter().enumerate() {
            let b = match tiles.second.get(step) {
                Some(second) if quarter >= 2 => *second,
                _ => tile.b,
            };
            let tile = Tile { b, ..*tile };
            self.half_tile(tile, quarter % 2, (&sums, free));
        }
        let ends = tiles.ends.iter().skip(4 * quarter as usize);
        let halves = ends.flat_map(|end| [*end, end.map(|end| end + 32)]);
        let ends = halves.zip(sums);
        let ends: Vec<(u32, u8)> = ends.filter_map(|(end, sum)| Some((end?, sum))).collect();
        self.put_half_sums(&ends, free);
    }

    /// Writes registers to their places, NaNs as the one NaN: all are looked through, two by two, before one is changed.
    fn put_half_sums(&mut self, sums: &[(u32, u8)], free: [u8; 3]) {
        if sums.is_empty() {
            return;
        }
        let [found, other, _] = free;
        for (at, pair) in sums.chunks(2).enumerate() {
            let to = if at == 0 { found } else { other };
            let last = Rm::Reg(pair[pair.len() - 1].1);
            self.narrow(&vector::CMP_F32, to, pair[0].1, last, 3);
            if at > 0 {
                self.narrow(&vector::OR_BITS, found, found, Rm::Reg(other), 0);
            }
        }
        let none = self.code.label();
        let (op, from) = (&vector::SIGNS_F32, Rm::Reg(found));
        self.code.vector(op, Len::L256, SCRATCH.0, 0, from);
        self.code.alu_imm(Alu::Cmp, false, SCRATCH, 0);
        self.code.jump_if(Cond::Equal, none);
        let nan = self.code.constant(splat_bytes(NAN, false));
        for (_, sum) in sums {
            self.narrow(&vector::LOAD, other, 0, Rm::Reg(*sum), 0);
            self.with_one_nan(*sum, Rm::Reg(other), Rm::Mem(Mem::Constant(nan)));
        }
        self.code.bind(none);
        for (to, sum) in sums {
            self.put(Mem::at(FRAME, *to as i32), *sum);
        }
    }

    /// Adds half of the rows of a product to `sums[2 (2 odd + register) + half of the register]`.
    fn half_tile(&mut self, tile: Tile, half: u32, with: (&[u8; 8], [u8; 3])) {
        self.of_blocks(tile, |encoder| encoder.half_block(tile, half, with));
    }

    fn half_block(&mut self, tile: Tile, half: u32, (sums, free): (&[u8; 8], [u8; 3])) {
        let (columns, row) = ([free[0], free[1]], free[2]);
        let (each, shift) = if tile.spread { (256, 3) } else { (64, 1) };
        for t in 0..4 {
            for part in 0..tile.parts {
                for (odd, to) in (0..).zip(columns) {
                    let at = tile.b + PART * part + 32 * t + 16 * odd;
                    let from = Rm::Mem(self.stack_behind(at, 0));
                    self.narrow(&vector::SPLAT_PAIR_128, to, 0, from, 0);
                }
                for (register, piece) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let at = tile.a + each * (4 * part + 2 * half + register) + 32 * piece;
                    if tile.spread {
                        let from = Rm::Mem(self.stack_behind(at + 64 * t, shift));
                        self.narrow(&vector::LOAD, row, 0, from, 0);
                    } else {
                        let from = Rm::Mem(self.stack_behind(at, shift));
                        self.narrow(&vector::SHUFFLE_I32, row, 0, from, one_of_four(t));
                    }
                    for (odd, column) in (0..).zip(columns) {
                        let sum = sums[(2 * (2 * odd + register) + piece) as usize];
                        self.narrow(&vector::FMA_F32, sum, row, Rm::Reg(column), 0);
                    }
                }
            }
        }
    }

    /// The same of bytes: even and odd ones of columns and rows as words, two products of which are added at once.
    fn bytes_of_half(&mut self, bytes: Bytes, o: &mut Operands<'_>) {
        let sums = Self::sums(o, 8);
        let free: [u8; 5] = std::array::from_fn(|_| o.number());
        let columns = [[free[0], free[1]], [free[2], free[3]]];
        let (row, product) = (free[4], self.shared.target.scratch());
        for block in 0..bytes.blocks {
            for word in 0..4 {
                for (odd, [even_bytes, odd_bytes]) in (0..).zip(columns) {
                    let at = bytes.b + 128 * block + 16 * word + 64 * odd;
                    let from = Rm::Mem(self.stack(at));
                    self.narrow(&vector::SPLAT_PAIR_128, odd_bytes, 0, from, 0);
                    // The destination of a shift by a constant stands in the second place.
                    let from = Rm::Reg(odd_bytes);
                    self.narrow(&vector::SHL_I16, 0, even_bytes, from, 8);
                    let down = match bytes.swapped {
                        true => &vector::SHR_U16,
                        false => &vector::SHR_I16,
                    };
                    self.narrow(down, 0, even_bytes, Rm::Reg(even_bytes), 8);
                    self.narrow(down, 0, odd_bytes, from, 8);
                }
                for (register, piece) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let at = bytes.a + bytes.each * block + 128 * register + 64 * piece;
                    for parity in 0..2 {
                        let from = Rm::Mem(self.stack(at + 32 * parity));
                        self.narrow(&vector::SHUFFLE_I32, row, 0, from, one_of_four(word));
                        for (odd, column) in (0..).zip(columns) {
                            let sum = sums[(2 * (2 * odd + register) + piece) as usize];
                            let column = Rm::Reg(column[parity as usize]);
                            self.narrow(&vector::DOT_I16, product, row, column, 0);
                            self.narrow(&vector::ADD_I32, sum, sum, Rm::Reg(product), 0);
                        }
                    }
                }
            }
        }
    }

    /// Four registers of two rows each.
    fn rows_in_pairs(&mut self, at: u32, wide: bool, o: &mut Operands<'_>) {
        let to: [u8; 4] = std::array::from_fn(|_| o.number());
        let host = o.general();
        let each = if wide { 8 } else { 4 };
        for row in 0..8 {
            let offset = self.stack(at + each * row);
            self.code.load(wide, SCRATCH, offset);
            let from = Rm::Mem(Mem::Base {
                base: host,
                index: Some((SCRATCH, 0)),
                offset: 0,
            });
            let to = to[row as usize / 2];
            if row % 2 == 0 {
                self.code.vector(&vector::LOAD, Len::L128, to, 0, from);
            } else {
                self.narrow(&vector::JOIN_128, to, to, from, 1);
            }
        }
    }

    /// A general register in all lanes of a vector register.
    pub(super) fn splat_general(&mut self, wide: bool, to: u8, from: Gpr) {
        let (of, splat) = match wide {
            true => (&vector::OF_GPR64, &vector::SPLAT_I64),
            false => (&vector::OF_GPR32, &vector::SPLAT_I32),
        };
        self.code.vector(of, Len::L128, to, 0, Rm::Reg(from.0));
        self.narrow(splat, to, 0, Rm::Reg(to), 0);
    }

    /// A value with NaNs as the one NaN: the larger of a number and the smallest one, or of a NaN and that.
    pub(super) fn with_one_nan(&mut self, to: u8, from: Rm, nan: Rm) {
        let own = match from {
            Rm::Reg(own) => own,
            Rm::Mem(_) | Rm::Broadcast(_) => {
                self.narrow(&vector::LOAD, to, 0, from, 0);
                to
            }
        };
        self.narrow(&vector::CMP_F32, to, own, Rm::Reg(own), 7);
        self.narrow(&vector::XOR_BITS, to, to, nan, 0);
        self.narrow(&vector::MAX_I32, to, to, from, 0);
    }
}
