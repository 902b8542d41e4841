//! Code for loads and stores: whole registers where lanes are neighbours, one element where all have the same address.
//!
//! Every access is compared with the window it goes to. What is not inside, not aligned, or not as it was guessed
//! leaves the run, and the interpreter does it, or says what is wrong with it.

use super::{
    accesses::{Access, items},
    apart::Apart,
    nodes::{Arg, Code, MemoryAt, Vector},
    reach::{Reach, Span},
    rows::PAIRS,
    shapes::Lanes,
    values::{Coder, Known, Skip, ValueId},
};
use crate::{exec::Ctx, memory::Window};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::ir::{Address, Base, Inst, Operand};
use warpsmith_x86::{Alu, Cond, Shift, vector};

/// An access that has been checked.
enum Checked {
    /// All lanes go to one place behind a host pointer.
    One(VReg, i32),
    /// They go to neighbouring elements, from such a place on.
    Neighbours(VReg, i32),
    /// The same of lanes that are here alone: others may be outside.
    Some(VReg),
    Apart(Apart),
}

/// Sixteen numbers of words, as the bytes of a register.
pub(super) fn words(of: impl Fn(u32) -> u32) -> [u8; 64] {
    let mut bytes = [0; 64];
    for (i, cell) in bytes.chunks_mut(4).enumerate() {
        cell.copy_from_slice(&of(i as u32).to_le_bytes());
    }
    bytes
}

impl Coder<'_, '_> {
    /// The address of an access, as a value and the bytes to be added to it.
    pub(super) fn address(&mut self, operand: &Operand) -> Result<(ValueId, i64, bool), Skip> {
        let Operand::Addr(Address { base, offset }) = operand else {
            return Err(Skip);
        };
        match base {
            Base::Reg(reg) => {
                let wide = self.l.type_of(*reg).bits() > 32;
                Ok((self.read_reg(*reg), *offset, wide))
            }
            Base::Var(var) => {
                let address = self.l.layout().address(*var).ok_or(Skip)?;
                Ok((self.constant(address, true), *offset, true))
            }
            Base::Absolute => Err(Skip),
        }
    }

    /// Checks an access.
    fn check(&mut self, access: Access, operand: &Operand, store: bool) -> Result<Checked, Skip> {
        let (value, offset, wide) = self.address(operand)?;
        let each = access.bytes * access.count;
        let step = i64::from(each);
        let mut uniform = self.is_uniform(value);
        let guessed = self.guesses(operand);
        let is_here = self.active.is_some() && self.guard.is_none() && access.count == 1;
        let is_here = is_here && (wide || access.shared);
        let base = match self.affine(value) {
            _ if uniform => self.scalar(value)?,
            Some((base, found)) if found == step && access.count == 1 && self.waits.is_some() => {
                let at = self.some_neighbours(access, base, offset, wide)?;
                return Ok(Checked::Some(at));
            }
            Some((base, found)) if found == step => base,
            None if self.active.is_none() && guessed == Lanes::Affine(step) => {
                self.doubt(operand);
                self.verify(value, step, wide)?
            }
            None if self.active.is_none() && !store && guessed == Lanes::Affine(0) => {
                self.doubt(operand);
                uniform = true;
                self.verify(value, 0, wide)?
            }
            None if is_here && !store && guessed == Lanes::Affine(0) => {
                let base = self.verify_here(value, 0, wide)?;
                let at = self.some_one(access, base, offset, wide)?;
                return Ok(Checked::One(at, 0));
            }
            None if is_here && guessed == Lanes::Affine(step) => {
                let base = self.verify_here(value, step, wide)?;
                let at = self.some_neighbours(access, base, offset, wide)?;
                return Ok(Checked::Some(at));
            }
            _ => return self.apart(access, value, offset, wide).map(Checked::Apart),
        };
        let lanes = if uniform { 1 } else { 32 };
        let own = Span {
            from: offset,
            to: offset + i64::from(lanes * each),
            align: each,
        };
        let key = (value, access.shared);
        let found = self.reached.get(&key);
        let found = found.and_then(|all| all.iter().find(|reach| reach.span.has(own)).copied());
        let Reach { at, span } = match found {
            Some(reach) => reach,
            None => {
                let span = self.span(access, operand, lanes, own);
                let at = self.reach(access, base, wide, span);
                let reach = Reach { at, span };
                self.reached.entry(key).or_default().push(reach);
                reach
            }
        };
        let from = (offset - span.from) as i32;
        Ok(if uniform {
            Checked::One(at, from)
        } else {
            Checked::Neighbours(at, from)
        })
    }

    /// Remembers that what an address is guessed to be like is checked here.
    fn doubt(&mut self, operand: &Operand) {
        if let Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        }) = operand
        {
            self.doubts.push((self.block, self.at, *reg));
        }
    }

    /// What the lanes of an address are guessed to be like.
    fn guesses(&self, operand: &Operand) -> Lanes {
        match operand {
            Operand::Addr(Address {
                base: Base::Reg(reg),
                ..
            }) => self.shapes[reg.index()],
            _ => Lanes::Varying,
        }
    }

    /// A field of the window that an access goes to.
    pub(super) fn field(&mut self, access: Access, field: usize) -> VReg {
        let window = if access.shared {
            std::mem::offset_of!(Ctx, shared)
        } else {
            std::mem::offset_of!(Ctx, global)
        };
        let at = (window + field) as u32;
        let key = Known::Field(at);
        if let Some(reg) = self.windows.get(&key) {
            return *reg;
        }
        let reg = self.nodes.load(8, MemoryAt::Ctx(at));
        self.windows.insert(key, reg);
        reg
    }

    /// Finds what is known of a window.
    pub(super) fn window(&mut self, known: Known) {
        match known {
            Known::Field(at) => {
                let reg = self.nodes.load(8, MemoryAt::Ctx(at));
                self.windows.insert(known, reg);
            }
            Known::Limit { shared, len } => {
                let access = Access {
                    shared,
                    bytes: 1,
                    signed: false,
                    count: 1,
                };
                self.limit(access, len);
            }
            Known::Own(bytes) => {
                self.own_memory(bytes);
            }
        }
    }

    /// Where in its window an access of `len` bytes begins at most.
    pub(super) fn limit(&mut self, access: Access, len: u32) -> VReg {
        let key = Known::Limit {
            shared: access.shared,
            len,
        };
        if let Some(reg) = self.windows.get(&key) {
            return *reg;
        }
        let size = self.field(access, Window::SIZE_AT);
        let code = Code::AluImm(Alu::Sub, true, len as i32);
        let reg = self.nodes.change(code, size, &[]);
        self.exit_if(Cond::Below);
        self.windows.insert(key, reg);
        reg
    }

    pub(super) fn load(&mut self, access: Access, inst: &Inst) -> Result<(), Skip> {
        let to = items(inst.operands.first().ok_or(Skip)?);
        let (at, from) = match self.check(access, inst.operands.get(1).ok_or(Skip)?, false)? {
            Checked::Neighbours(at, from) => (at, from),
            Checked::Some(at) => {
                let value = self.load_some(access, at)?;
                return self.put(&to[0], value);
            }
            Checked::One(at, from) => {
                for (k, item) in to.iter().enumerate() {
                    let offset = (k as u32 * access.bytes) as i32;
                    self.load_one(access, item, MemoryAt::At(at, from + offset))?;
                }
                return Ok(());
            }
            Checked::Apart(apart)
                if (access.bytes, access.count) == (4, 4) && self.lanes_of_now().is_none() =>
            {
                // Sixteen bytes to a lane are loaded as they are: gathers take every word alone.
                let rows = self.rows_of(apart)?;
                return self.put_fours(to, rows.map(Arg::Reg));
            }
            Checked::Apart(apart) if self.is_of_pairs(access, &apart) => {
                let lanes = self.room(PAIRS);
                self.pairs(apart, lanes, false);
                self.put_pairs(to, |at| Arg::Mem(MemoryAt::Stack(lanes + at)))?;
                self.nodes.give_back(lanes);
                return Ok(());
            }
            Checked::Apart(apart) => {
                for (k, item) in to.iter().enumerate() {
                    let value = self.gather(access, &apart, k as u32);
                    self.put(item, value)?;
                }
                return Ok(());
            }
        };
        let len = 32 * access.bytes * access.count;
        if !access.shared {
            // It is mostly read on and on; the caches are slow to notice where a warp reads two rows in turn.
            for line in (0..len).step_by(64) {
                self.nodes
                    .prefetch(MemoryAt::At(at, from + (len + line) as i32));
            }
        }
        let mem = |offset: u32| Arg::Mem(MemoryAt::At(at, from + offset as i32));
        match (access.bytes, access.count) {
            (8, 1) => {
                let regs = [0, 64, 128, 192]
                    .map(|offset| self.vector(&vector::LOAD, Vector::one(mem(offset))));
                let value = self.of_quads(regs);
                self.put(&to[0], value)
            }
            (4, 1) => {
                let regs =
                    [0, 64].map(|offset| self.vector(&vector::LOAD, Vector::one(mem(offset))));
                let value = self.of_lanes(regs, false);
                self.put(&to[0], value)
            }
            (1 | 2, 1) => {
                let op = match (access.bytes, access.signed) {
                    (1, false) => &vector::ZERO_I8_I32,
                    (1, true) => &vector::SIGN_I8_I32,
                    (_, false) => &vector::ZERO_I16_I32,
                    (_, true) => &vector::SIGN_I16_I32,
                };
                let half = 16 * access.bytes;
                let regs = [0, half].map(|offset| self.vector(op, Vector::one(mem(offset))));
                let value = self.of_lanes(regs, false);
                self.put(&to[0], value)
            }
            (4, 2) => self.put_pairs(to, mem),
            (4, 4) => {
                let rows: [Arg; 8] = std::array::from_fn(|i| mem(64 * i as u32));
                self.put_fours(to, rows)
            }
            _ => Err(Skip),
        }
    }

    /// Whether an access of lanes apart from each other is one of two words of all of them.
    fn is_of_pairs(&self, access: Access, apart: &Apart) -> bool {
        let is_pair = (access.bytes, access.count) == (4, 2);
        is_pair && apart.is_wide() && self.lanes_of_now().is_none()
    }

    /// Two words to each lane, from four rows of eight lanes: where row `at` bytes behind the first is.
    fn put_pairs(&mut self, to: &[Operand], row: impl Fn(u32) -> Arg) -> Result<(), Skip> {
        let mut columns = [[None; 2]; 2];
        for half in 0..2u32 {
            let at = 128 * half;
            let first = self.vector(&vector::LOAD, Vector::one(row(at)));
            for k in 0..2 {
                let column = self.pick(first, row(at + 64), words(|i| 2 * i + k));
                columns[k as usize][half as usize] = Some(column);
            }
        }
        self.put_columns(to, &columns)
    }

    /// Row `k` of eight of sixteen lanes, two words of each.
    fn row_of_pairs(&mut self, [a, b]: [VReg; 2], k: u32) -> VReg {
        let index = words(|i| (i & 1) * 16 + 8 * k + (i >> 1));
        self.pick(a, Arg::Reg(b), index)
    }

    /// Four words to each lane, from eight rows of four lanes.
    fn put_fours(&mut self, to: &[Operand], rows: [Arg; 8]) -> Result<(), Skip> {
        let mut columns = [[None; 2]; 4];
        for (half, rows) in rows.chunks(4).enumerate() {
            let firsts = [rows[0], rows[2]].map(|row| match row {
                Arg::Reg(reg) => reg,
                row => self.vector(&vector::LOAD, Vector::one(row)),
            });
            for k in [0, 2] {
                // Words k and k + 1 of eight lanes, one behind the other.
                let index = words(|i| 4 * (i & 7) + k + (i >> 3));
                let low = self.pick(firsts[0], rows[1], index);
                let high = self.pick(firsts[1], rows[3], index);
                for (column, imm) in [(k, 0x44), (k + 1, 0xEE)] {
                    let v = Vector {
                        imm,
                        ..Vector::two(low, Arg::Reg(high))
                    };
                    let column = &mut columns[column as usize][half];
                    *column = Some(self.vector(&vector::SHUFFLE_I64X2, v));
                }
            }
        }
        self.put_columns(to, &columns)
    }

    /// Words of two registers, by their numbers.
    fn pick(&mut self, first: VReg, second: Arg, index: [u8; 64]) -> VReg {
        let place = self.nodes.constant(index);
        let index = self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)));
        self.vector(
            &vector::PERMUTE2_I32,
            Vector {
                tied: Some(index),
                ..Vector::two(first, second)
            },
        )
    }

    fn put_columns(&mut self, to: &[Operand], columns: &[[Option<VReg>; 2]]) -> Result<(), Skip> {
        for (item, column) in to.iter().zip(columns) {
            let [Some(low), Some(high)] = *column else {
                return Err(Skip);
            };
            let value = self.of_lanes([low, high], false);
            self.put(item, value)?;
        }
        Ok(())
    }

    /// One element for all lanes.
    fn load_one(&mut self, access: Access, item: &Operand, place: MemoryAt) -> Result<(), Skip> {
        let Operand::Reg(reg) = item else {
            return Ok(());
        };
        let value = if access.bytes == 4 && !self.wants_scalar(*reg) {
            let v = self.vector(&vector::SPLAT_I32, Vector::one(Arg::Mem(place)));
            self.of_splat(v, false)
        } else {
            let mut loaded = self.nodes.load(access.bytes, place);
            if access.signed && access.bytes < 4 {
                let code = Code::Extend(8 * access.bytes, true);
                loaded = self.nodes.scalar(code, &[loaded]);
            }
            self.of_scalar(loaded, access.bytes == 8)
        };
        self.put(item, value)
    }

    pub(super) fn store(&mut self, access: Access, inst: &Inst) -> Result<(), Skip> {
        let from = items(inst.operands.get(1).ok_or(Skip)?);
        let bits = 8 * access.bytes;
        let mut values = Vec::with_capacity(from.len());
        for item in from {
            values.push(self.read(item, bits)?);
        }
        let (at, start) = match self.check(access, inst.operands.first().ok_or(Skip)?, true)? {
            Checked::Neighbours(at, start) => (at, start),
            Checked::Some(at) => (at, 0),
            Checked::One(at, start) => {
                return self.store_one(access, MemoryAt::At(at, start), &values);
            }
            Checked::Apart(apart) if self.is_of_pairs(access, &apart) => {
                let &[a, b] = &values[..] else {
                    return Err(Skip);
                };
                let (a, b) = (self.lanes_exact(a)?, self.lanes_exact(b)?);
                let lanes = self.room(PAIRS);
                for (at, (half, k)) in (lanes..).step_by(64).zip([(0, 0), (0, 1), (1, 0), (1, 1)]) {
                    let row = self.row_of_pairs([a[half], b[half]], k);
                    self.lay(at, row);
                }
                self.pairs(apart, lanes, true);
                self.nodes.give_back(lanes);
                return Ok(());
            }
            Checked::Apart(apart) => {
                for (k, value) in values.into_iter().enumerate() {
                    self.scatter(access, &apart, k as u32, value)?;
                }
                return Ok(());
            }
        };
        let guard = self.lanes_of_now();
        let mem = |offset: u32| Vector::one(Arg::Mem(MemoryAt::At(at, start + offset as i32)));
        if access.bytes == 8 {
            let &[value] = &values[..] else {
                return Err(Skip);
            };
            for (j, reg) in self.quads(value)?.into_iter().enumerate() {
                let mask = guard.map(|guard| self.part(guard, 8 * j as u8));
                let v = Vector {
                    mask,
                    ..mem(64 * j as u32)
                };
                self.nodes.store_vector(&vector::STORE_I64, reg, v);
            }
            return Ok(());
        }
        let mut columns = Vec::with_capacity(values.len());
        for value in values {
            columns.push(self.lanes_exact(value)?);
        }
        for half in 0..2 {
            let own: Vec<VReg> = columns.iter().map(|column| column[half]).collect();
            let start = half as u32 * 16 * access.bytes * access.count;
            if let &[a] = &own[..] {
                let op = match access.bytes {
                    1 => &vector::NARROW_I32_I8,
                    2 => &vector::NARROW_I32_I16,
                    _ => &vector::STORE_I32,
                };
                let mask = guard.map(|guard| self.part(guard, 16 * half as u8));
                let v = Vector { mask, ..mem(start) };
                self.nodes.store_vector(op, a, v);
                continue;
            }
            match (access.bytes, &own[..]) {
                (4, &[a, b]) => {
                    for k in 0..2u32 {
                        let row = self.row_of_pairs([a, b], k);
                        let v = Vector {
                            mask: self.row_mask(2 * half as u32 + k, 2),
                            ..mem(start + 64 * k)
                        };
                        self.nodes.store_vector(&vector::STORE_I32, row, v);
                    }
                }
                (4, &[a, b, c, d]) => {
                    for (k, row) in self.rows([a, b, c, d]).into_iter().enumerate() {
                        let v = Vector {
                            mask: self.row_mask(4 * half as u32 + k as u32, 4),
                            ..mem(start + 64 * k as u32)
                        };
                        self.nodes.store_vector(&vector::STORE_I32, row, v);
                    }
                }
                _ => return Err(Skip),
            }
        }
        Ok(())
    }

    /// The words of row `row` that lanes write, `count` to a lane; `None` for all.
    fn row_mask(&mut self, row: u32, count: u32) -> Option<VReg> {
        let lanes = self.lanes_of_now()?;
        let own = self.nodes.scalar(Code::MaskTo, &[lanes]);
        let first = 16 / count * row;
        let own = match first {
            0 => own,
            first => {
                let code = Code::Shift(Shift::Right, false, first as u8);
                self.nodes.change(code, own, &[])
            }
        };
        // The bit of each lane at its first word, then at all of them.
        let places = if count == 4 { 0x1111 } else { 0x5555 };
        let places = self.nodes.scalar(Code::MovImm(places), &[]);
        let bits = self.nodes.scalar(Code::Deposit, &[own, places]);
        let all = (1 << count) - 1;
        let bits = self.nodes.scalar(Code::ImulImm(false, all), &[bits]);
        Some(self.nodes.mask(Code::MaskFrom, &[bits]))
    }

    /// Four words of each of 16 lanes, lane after lane.
    fn rows(&mut self, [a, b, c, d]: [VReg; 4]) -> [VReg; 4] {
        let mut two = |op, x: VReg, y: VReg| self.vector(op, Vector::two(x, Arg::Reg(y)));
        let (ab, cd) = (two(&vector::LOW_I32, a, b), two(&vector::LOW_I32, c, d));
        let (more_ab, more_cd) = (two(&vector::HIGH_I32, a, b), two(&vector::HIGH_I32, c, d));
        let first = two(&vector::LOW_I64, ab, cd);
        let second = two(&vector::HIGH_I64, ab, cd);
        let third = two(&vector::LOW_I64, more_ab, more_cd);
        let fourth = two(&vector::HIGH_I64, more_ab, more_cd);
        let mut pieces = |imm, x: VReg, y: VReg| {
            let v = Vector {
                imm,
                ..Vector::two(x, Arg::Reg(y))
            };
            self.nodes.vector(&vector::SHUFFLE_128, RegClass::Float, v)
        };
        let low = [
            pieces(0b01_00_01_00, first, second),
            pieces(0b01_00_01_00, third, fourth),
        ];
        let high = [
            pieces(0b11_10_11_10, first, second),
            pieces(0b11_10_11_10, third, fourth),
        ];
        [
            pieces(0b10_00_10_00, low[0], low[1]),
            pieces(0b11_01_11_01, low[0], low[1]),
            pieces(0b10_00_10_00, high[0], high[1]),
            pieces(0b11_01_11_01, high[0], high[1]),
        ]
    }
}
