//! Lanes that go from one half to the other, and those that are chosen.

use super::{
    super::nodes::{Arg, Vector},
    Narrow, Refused,
    masks::Lanes,
    vectors::{From, Node},
};
use regalloc2::{RegClass, VReg};
use warpsmith_x86::{Len, vector};

/// Lanes by their sources: the number of the register, and the lane of that.
type Picked = [(usize, usize); 8];

impl Narrow {
    /// One of two registers, by a mask.
    pub(super) fn blend(&mut self, node: &Node) -> Result<(), Refused> {
        let (no, yes) = (node.second.ok_or(Refused)?, node.last.ok_or(Refused)?);
        let mask = node.mask.ok_or(Refused)?;
        let wide = node.op.is_wide();
        let mut found = Vec::with_capacity(2);
        for half in 0..2 {
            let each = if wide { 4 } else { 8 };
            let lanes = self.lanes(mask, each * half as u8, wide)?;
            let no = self.half(no, half)?;
            let yes = self.arg(yes, half, 32)?;
            found.push(self.chosen(lanes, yes, no));
        }
        self.set(node.dst, [found[0], found[1]]);
        Ok(())
    }

    /// One element, or sixteen bytes, for all.
    pub(super) fn splat(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let (op, bytes) = match node.op == &vector::SPLAT_128 {
            true => (&vector::SPLAT_PAIR_128, 16),
            false => (&vector::SPLAT_I32, 4),
        };
        let last = match node.last.ok_or(Refused)? {
            From::Reg(old) => Arg::Reg(self.half(old, 0)?),
            from @ From::Mem(..) => self.arg(from, 0, bytes)?,
        };
        let all = self.one(op, last);
        self.set(node.dst, [all, all]);
        Ok(())
    }

    /// A general register for all.
    pub(super) fn splat_general(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let Some(From::Reg(old)) = node.last else {
            return Err(Refused);
        };
        let (of, splat, bytes) = match node.op.is_wide() {
            true => (&vector::OF_GPR64, &vector::SPLAT_I64, 8),
            false => (&vector::OF_GPR32, &vector::SPLAT_I32, 4),
        };
        if let Some(number) = self.numbers.get(&old) {
            let all = number.to_le_bytes();
            let constant: [u8; 64] = std::array::from_fn(|i| all[i % bytes]);
            self.constants.insert(node.dst.vreg(), constant);
        }
        let from = self.general[old].ok_or(Refused)?;
        let v = Vector {
            len: Len::L128,
            ..Vector::one(Arg::Reg(from))
        };
        let first = self.to.vector(of, RegClass::Float, v);
        let all = self.one(splat, Arg::Reg(first));
        self.set(node.dst, [all, all]);
        Ok(())
    }

    pub(super) fn take_upper(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        match (node.last, node.imm) {
            (Some(From::Reg(old)), 1) => {
                let [_, high] = self.halves[old].ok_or(Refused)?;
                self.halves[node.dst.vreg()] = Some([high, None]);
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    pub(super) fn put_upper(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let low = self.half(node.second.ok_or(Refused)?, 0)?;
        let high = self.in_register(node.last.ok_or(Refused)?, 0)?;
        if node.imm != 1 {
            return Err(Refused);
        }
        self.set(node.dst, [low, high]);
        Ok(())
    }

    /// Pieces of sixteen bytes: two of the first register, then two of the second.
    pub(super) fn shuffle_pieces(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let (a, b) = (node.second.ok_or(Refused)?, node.last.ok_or(Refused)?);
        let mut found = Vec::with_capacity(2);
        for (half, from) in [From::Reg(a), b].into_iter().enumerate() {
            let mut piece = |at: usize| {
                let place = usize::from(node.imm >> (4 * half + 2 * at) & 3);
                Ok((self.in_register(from, place / 2)?, place as u8 % 2))
            };
            let (x, y) = (piece(0)?, piece(1)?);
            found.push(self.two_pieces(x, y));
        }
        self.set(node.dst, [found[0], found[1]]);
        Ok(())
    }

    fn two_pieces(&mut self, (x, low): (VReg, u8), (y, high): (VReg, u8)) -> VReg {
        match (low, high) {
            (0, 1) if x == y => x,
            (0, 1) => self.both_by(&vector::BLEND_BY_IMM, x, Arg::Reg(y), 0xF0),
            _ => {
                let imm = low | (2 + high) << 4;
                self.both_by(&vector::PERMUTE_128, x, Arg::Reg(y), imm)
            }
        }
    }

    /// Words of one register or of two, by their numbers.
    pub(super) fn permute(&mut self, node: &Node) -> Result<(), Refused> {
        let index = node.tied.or(node.second).ok_or(Refused)?;
        let mut sources = Vec::with_capacity(4);
        if node.tied.is_some() {
            let first = node.second.ok_or(Refused)?;
            sources.extend([self.half(first, 0)?, self.half(first, 1)?]);
        }
        let last = node.last.ok_or(Refused)?;
        for half in 0..2 {
            sources.push(self.in_register(last, half)?);
        }
        self.unmasked(node)?;
        let mut found = Vec::with_capacity(2);
        for half in 0..2 {
            found.push(match self.constant_at(Some(From::Reg(index))) {
                Some(constant) => {
                    let picked = std::array::from_fn(|i| {
                        let number = usize::from(constant[4 * (8 * half + i)]);
                        let number = number % (8 * sources.len());
                        (number / 8, number % 8)
                    });
                    self.picked(&sources, picked)
                }
                None if half == 1 && self.is_one(Some(From::Reg(index))) => found[0],
                None => {
                    let index = self.half(index, half)?;
                    self.picked_by_lanes(&sources, index)
                }
            });
        }
        self.set(node.dst, [found[0], found[1]]);
        Ok(())
    }

    fn picked_by_lanes(&mut self, sources: &[VReg], index: VReg) -> VReg {
        let own = sources.iter().map(|source| {
            // The low three bits say which lane.
            self.both(&vector::PERMUTE_I32, index, *source)
        });
        let mut all: Vec<VReg> = own.collect();
        // The next ones say which register: each at the place of the sign.
        let mut by = 28;
        while all.len() > 1 {
            let reg = self.by(&vector::SHL_I32, index, by);
            let turned = false;
            let pairs = all.chunks(2);
            let pairs =
                pairs.map(|pair| self.chosen(Lanes { reg, turned }, Arg::Reg(pair[1]), pair[0]));
            all = pairs.collect();
            by -= 1;
        }
        all[0]
    }

    /// Words whose places are known.
    fn picked(&mut self, sources: &[VReg], picked: Picked) -> VReg {
        let picked = picked.map(|(source, lane)| {
            // The same register may be there more than once.
            let first = sources.iter().position(|own| *own == sources[source]);
            (first.unwrap_or(source), lane)
        });
        let mut used: Vec<usize> = picked.iter().map(|(source, _)| *source).collect();
        used.sort_unstable();
        used.dedup();
        if let &[x] = &used[..] {
            return self.picked_of_one(sources[x], picked.map(|(_, lane)| lane));
        }
        if let &[x, y] = &used[..]
            && let Some(found) = self.picked_of_two(sources, [x, y], picked)
        {
            return found;
        }
        if let &[a, b, c, d] = &used[..]
            && let Some(found) = self.picked_of_four(sources, [a, b, c, d], picked)
        {
            return found;
        }
        let mut all: Option<VReg> = None;
        for source in used {
            let lanes = picked.map(|(own, lane)| if own == source { lane } else { 0 });
            let own = self.picked_of_one(sources[source], lanes);
            let taken = (0..8).filter(|i| picked[*i].0 == source);
            let imm = taken.fold(0, |imm, i| imm | 1 << i);
            all = Some(match all {
                None => own,
                Some(all) => self.both_by(&vector::BLEND_BY_IMM, all, Arg::Reg(own), imm),
            });
        }
        all.unwrap_or(sources[0])
    }

    fn picked_of_one(&mut self, source: VReg, lanes: [usize; 8]) -> VReg {
        if (0..8).all(|i| lanes[i] == i) {
            return source;
        }
        if (0..8).all(|i| lanes[i] / 4 == i / 4 && lanes[i] % 4 == lanes[i % 4]) {
            let imm = (0..4).fold(0, |imm, i| imm | (lanes[i] as u8) << (2 * i));
            return self.by(&vector::SHUFFLE_I32, source, imm);
        }
        let index = self.number_lanes(std::array::from_fn(|i| match i % 4 {
            0 => lanes[i / 4] as u8,
            _ => 0,
        }));
        self.both(&vector::PERMUTE_I32, index, source)
    }

    /// Pairs of words that one instruction brings together, in some order.
    fn picked_of_two(
        &mut self,
        sources: &[VReg],
        used: [usize; 2],
        picked: Picked,
    ) -> Option<VReg> {
        let [first, second] = used;
        for (x, y) in [(first, second), (second, first)] {
            let unpacked = |up: usize| {
                let of = move |i: usize| {
                    (
                        if i.is_multiple_of(2) { x } else { y },
                        i / 4 * 4 + up + i % 4 / 2,
                    )
                };
                std::array::from_fn(of)
            };
            let by_halves = |imm: u8| {
                std::array::from_fn(|i| {
                    let lane = usize::from(imm >> (2 * (i % 4)) & 3);
                    (if i % 4 < 2 { x } else { y }, i / 4 * 4 + lane)
                })
            };
            let (a, b) = (sources[x], Arg::Reg(sources[y]));
            for (op, up) in [(&vector::LOW_I32, 0), (&vector::HIGH_I32, 2)] {
                if let Some(order) = order_of(unpacked(up), picked) {
                    let found = self.two(op, a, b);
                    return Some(self.in_order(found, order));
                }
            }
            for imm in 0..=255 {
                if let Some(order) = order_of(by_halves(imm), picked) {
                    let found = self.both_by(&vector::SHUFFLE_F32, a, b, imm);
                    return Some(self.in_order(found, order));
                }
            }
        }
        None
    }

    /// One word of each piece of four registers, which stands at the same place in both of them.
    fn picked_of_four(
        &mut self,
        sources: &[VReg],
        used: [usize; 4],
        picked: Picked,
    ) -> Option<VReg> {
        let mut places = [0; 4];
        for (place, source) in places.iter_mut().zip(used) {
            let mut own = picked.iter().filter(|(own, _)| *own == source);
            *place = own.next()?.1 % 4;
            if own.any(|(_, lane)| lane % 4 != *place) {
                return None;
            }
        }
        let mut pair = |x: usize, y: usize| {
            let imm = (places[x] * 0b0101 + places[y] * 0b0101_0000) as u8;
            let (a, b) = (sources[used[x]], sources[used[y]]);
            self.both_by(&vector::SHUFFLE_F32, a, Arg::Reg(b), imm)
        };
        let (low, high) = (pair(0, 1), pair(2, 3));
        let all = self.both_by(&vector::SHUFFLE_F32, low, Arg::Reg(high), 0x88);
        let order = picked.map(|(source, lane)| {
            let at = used.iter().position(|own| *own == source);
            lane / 4 * 4 + at.unwrap_or(0)
        });
        Some(self.picked_of_one(all, order))
    }

    fn in_order(&mut self, v: VReg, order: u8) -> VReg {
        match order {
            0b11_10_01_00 => v,
            order => self.by(&vector::PERMUTE_I64, v, order),
        }
    }

    /// Parts of 16 bits of two registers, by numbers that are known.
    pub(super) fn permute_halves(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let index = node.tied.map(From::Reg);
        let index = self.constant_at(index).ok_or(Refused)?;
        let first = From::Reg(node.second.ok_or(Refused)?);
        let last = node.last.ok_or(Refused)?;
        // Each piece of sixteen bytes, twice in a register.
        let mut pieces = Vec::with_capacity(8);
        for from in [first, last] {
            for half in 0..2 {
                let own = self.in_register(from, half)?;
                pieces.push(self.by(&vector::PERMUTE_I64, own, 0x44));
                pieces.push(self.by(&vector::PERMUTE_I64, own, 0xEE));
            }
        }
        let mut found = Vec::with_capacity(2);
        for half in 0..2 {
            let mut all: Option<VReg> = None;
            for (number, piece) in pieces.iter().enumerate() {
                let control: [u8; 32] = std::array::from_fn(|i| {
                    let own = usize::from(index[32 * half + i / 2 * 2]) & 63;
                    match own / 8 == number {
                        true => (2 * (own % 8) + i % 2) as u8,
                        false => 0x80,
                    }
                });
                if control == [0x80; 32] {
                    continue;
                }
                let control = Arg::Mem(self.constant(control));
                let own = self.two(&vector::SHUFFLE_I8, *piece, control);
                all = Some(match all {
                    None => own,
                    Some(all) => self.both(&vector::OR_BITS, all, own),
                });
            }
            found.push(all.ok_or(Refused)?);
        }
        self.set(node.dst, [found[0], found[1]]);
        Ok(())
    }
}

/// How the pairs of what there is are to be put in order to be what is wanted.
fn order_of(found: Picked, wanted: Picked) -> Option<u8> {
    let mut order = 0;
    for pair in 0..4 {
        let own = &wanted[2 * pair..2 * pair + 2];
        let at = (0..4).find(|at| &found[2 * at..2 * at + 2] == own)?;
        order |= (at as u8) << (2 * pair);
    }
    Some(order)
}
