//! Products of floats, made together: those that go on with the same sums are one node, and of those with the same A two
//! share its rows.
//!
//! A product waits until its sums are read or something may leave the run, as long as what comes meanwhile stays in it.

use super::{
    accesses::items,
    kinds::Kind,
    nodes::{Code, Nodes, Tile, Tiles, early},
    products::{Product, Side},
    values::{Coder, Forms, Skip, Source, ValueId},
};
use crate::lower::Dst;
use regalloc2::{Operand as Slot, RegClass, VReg};
use std::collections::VecDeque;
use warpsmith_ptx::ir::{Inst, Operand, RegId};

impl Nodes {
    /// Products of floats: sums, from those that do not start in the frame.
    pub(super) fn floats(&mut self, tiles: Tiles, from: &[VReg]) -> Vec<VReg> {
        let sums: Vec<VReg> = tiles
            .starts
            .iter()
            .map(|_| self.register(RegClass::Float))
            .collect();
        let mut operands: Vec<Slot> = sums.iter().map(|sum| early(*sum)).collect();
        operands.extend(from.iter().map(|from| Slot::any_use(*from)));
        for _ in 0..if tiles.second.is_empty() { 4 } else { 6 } {
            operands.push(self.free(RegClass::Float));
        }
        self.push(Code::Floats(self.tiles.len() as u32), &operands);
        self.tiles.push(tiles);
        sums
    }
}

impl Tile {
    /// Bytes of the fragments of A and B.
    pub(super) fn bytes(self) -> [u32; 2] {
        let b = 128 * self.parts * self.blocks;
        [if self.spread { 8 * b } else { 2 * b }, b]
    }
}

/// Products of floats that have not been made yet: what comes later may have the same A, or go on with the sums.
#[derive(Debug)]
pub(super) struct Pending {
    /// One after the other, with the same sums.
    tiles: Vec<Tile>,
    /// The registers of the sums, the values they get, and those that they start from.
    regs: Vec<RegId>,
    values: Vec<ValueId>,
    from: Vec<Start>,
}

/// What a sum starts from.
#[derive(Clone, Copy, Debug)]
enum Start {
    Lanes([VReg; 2]),
    /// Its place in the frame, from which it is loaded when it is needed.
    Frame(u32),
}

impl Kind {
    /// Whether it is sure to stay in the run, so that a product may be made behind it.
    fn stays(self) -> bool {
        matches!(
            self,
            Kind::Nothing
                | Kind::Move { .. }
                | Kind::Unpack { .. }
                | Kind::Pack { .. }
                | Kind::Int2 { .. }
                | Kind::Mad { .. }
                | Kind::Shift { .. }
                | Kind::Not { .. }
                | Kind::Lop3 { .. }
                | Kind::Float2(_)
                | Kind::Fma
                | Kind::PackHalf
                | Kind::Product(_)
        )
    }
}

impl Coder<'_, '_> {
    /// Makes the products that cannot wait until an instruction is done.
    pub(super) fn make_products_for(&mut self, kind: Kind, inst: &Inst) {
        let mut operands = inst.operands.iter();
        let waits = match kind {
            _ if inst.guard.is_some() => false,
            Kind::Product(_) => true,
            _ => kind.stays() && !operands.any(|operand| self.touches_pending(operand)),
        };
        if !waits {
            self.make_products();
        }
    }

    /// Prepares the fragments; the product itself is made when its sums are read, or nothing more can join it.
    pub(super) fn product_of_floats(
        &mut self,
        product: Product,
        inst: &Inst,
        (a, b): (Vec<ValueId>, Vec<ValueId>),
    ) -> Result<(), Skip> {
        let [to, _, _, c] = &inst.operands[..] else {
            return Err(Skip);
        };
        let often = self.is_spread(inst);
        let mut rows = self.rows_of_floats((product, inst), a.clone(), often)?;
        let b = self.columns_of_floats((product, inst), b)?;
        let key = (a, product.element, Side::A { spread: often });
        if !self.fragments.contains_key(&key) {
            // There was no room for both: B is the first of what stands there now.
            rows = self.rows_of_floats((product, inst), key.0, often)?;
        }
        let tile = Tile {
            a: rows.at,
            b: b.at,
            parts: product.element.parts(),
            blocks: product.blocks,
            spread: often,
        };
        let regs = items(to).iter().map(|item| match item {
            Operand::Reg(reg) => Ok(*reg),
            _ => Err(Skip),
        });
        let regs = regs.collect::<Result<Vec<_>, _>>()?;
        if let Some(at) = self.goes_on(&regs, c) {
            let mut own = self.pending.remove(at);
            // Nobody reads what the sums were in between.
            for reg in &own.regs {
                self.regs.remove(&reg.0);
            }
            if self.touches_pending(to) {
                self.make_products();
            }
            own.tiles.push(tile);
            own.values = self.unmade(to)?;
            own.regs = regs;
            self.pending.push(own);
            return Ok(());
        }
        if self.touches_pending(to) || self.touches_pending(c) {
            self.make_products();
        }
        let mut from = Vec::with_capacity(regs.len());
        for value in self.all(c)? {
            from.push(match self.forms_of(value) {
                Forms {
                    lanes: None,
                    splat: None,
                    source: Some(Source::Narrow(slot)),
                    ..
                } => Start::Frame(*slot),
                _ => Start::Lanes(self.lanes(value)?),
            });
        }
        let values = self.unmade(to)?;
        self.pending.push(Pending {
            tiles: vec![tile],
            regs,
            values,
            from,
        });
        Ok(())
    }

    /// Values of sums that get their registers when their product is made.
    fn unmade(&mut self, to: &Operand) -> Result<Vec<ValueId>, Skip> {
        let mut values = Vec::with_capacity(4);
        for item in items(to) {
            let value = self.add(Forms {
                raw: true,
                ..Forms::default()
            });
            self.put(item, value)?;
            values.push(value);
        }
        Ok(values)
    }

    /// Which product the sums `c` of the current instruction are of, if nothing else needs them.
    fn goes_on(&self, to: &[RegId], c: &Operand) -> Option<usize> {
        let behind = &self.live[self.block][self.at + 1];
        let is_read = |reg: &RegId| behind[reg.index() / 64] >> (reg.index() % 64) & 1 != 0;
        self.pending.iter().position(|pending| {
            let sums = pending.regs.iter().map(|reg| Operand::Reg(*reg));
            let replaced = |reg: &RegId| to.contains(reg) || !is_read(reg);
            sums.eq(items(c).iter().cloned()) && pending.regs.iter().all(replaced)
        })
    }

    /// Whether an operand has a sum of a product that has not been made yet.
    pub(super) fn touches_pending(&self, operand: &Operand) -> bool {
        let sums = self.pending.iter().flat_map(|pending| &pending.regs);
        let sums = sums.map(|reg| Operand::Reg(*reg));
        let mut sums = sums.filter(|sum| items(operand).contains(sum));
        sums.next().is_some()
    }

    /// Makes the products that have not been made yet, two with the same A at once.
    pub(super) fn make_products(&mut self) {
        let mut pending = VecDeque::from(std::mem::take(&mut self.pending));
        while let Some(first) = pending.pop_front() {
            let mut own = vec![first];
            let rows = |pending: &Pending| -> Vec<Tile> {
                let tiles = pending.tiles.iter();
                tiles.map(|tile| Tile { b: 0, ..*tile }).collect()
            };
            let same = |other: &Pending| rows(other) == rows(&own[0]);
            let at = pending.iter().position(same);
            own.extend(at.and_then(|at| pending.remove(at)));
            let ends = own
                .iter()
                .flat_map(|one| self.ends(one, own.iter().chain(&pending)))
                .collect();
            let (mut starts, mut from) = (Vec::with_capacity(16), Vec::new());
            for start in own.iter().flat_map(|own| &own.from) {
                match *start {
                    Start::Lanes(lanes) => {
                        starts.extend([None; 2]);
                        from.extend(lanes);
                    }
                    Start::Frame(slot) => starts.extend([Some(slot), Some(slot + 64)]),
                }
            }
            let second = own.get(1).map_or(&[][..], |other| &other.tiles);
            let (steps, second) = joined(&own[0].tiles, second);
            let tiles = Tiles {
                steps,
                second,
                starts,
                ends,
            };
            let places: Vec<Option<u32>> = tiles.ends.iter().copied().step_by(2).collect();
            let sums = self.nodes.floats(tiles, &from);
            let values = own.iter().flat_map(|own| &own.values);
            for ((value, regs), place) in values.zip(sums.chunks(2)).zip(places) {
                let forms = self.forms(*value);
                match place {
                    Some(slot) => forms.source = Some(Source::Narrow(slot)),
                    None => forms.lanes = Some([regs[0], regs[1]]),
                }
            }
        }
    }

    /// Where the sums of a product go in the frame, two vector registers each: to their own places, if only what comes
    /// behind the block reads them and nothing still needs what stands there: no other sum of `unmade` products starts from
    /// it. So they need not be kept until the run is left.
    fn ends<'p>(
        &self,
        own: &Pending,
        unmade: impl Iterator<Item = &'p Pending> + Clone,
    ) -> Vec<Option<u32>> {
        let place = |(reg, value): (&RegId, &ValueId)| {
            let Dst { slot, uniform } = self.l.dst_of(*reg);
            let slot = slot.0;
            let held = self.regs.get(&reg.0);
            let is_own = !uniform && held.is_some_and(|held| held.value == *value);
            let starts = unmade
                .clone()
                .flat_map(|other| other.values.iter().zip(&other.from));
            let mut others = starts.filter(|(sum, start)| {
                matches!(start, Start::Frame(at) if *at == slot) && *sum != value
            });
            let is_free = is_own
                && self.own_loop.is_none()
                && self.is_read_behind_alone(*reg)
                && others.next().is_none()
                && !self.reads_frame(slot);
            is_free.then_some(slot)
        };
        let places = own.regs.iter().zip(&own.values).map(place);
        let both = |slot: Option<u32>| [slot, slot.map(|slot| slot + 64)];
        places.flat_map(both).collect()
    }

    /// Whether a register is read behind the block, and by nothing from the current instruction to its end.
    fn is_read_behind_alone(&self, reg: RegId) -> bool {
        let is_live = |live: &Vec<u64>| live[reg.index() / 64] >> (reg.index() % 64) & 1 != 0;
        let own = Operand::Reg(reg);
        let reads = |inst: &Inst| {
            let guard = inst.guard.is_some_and(|guard| guard.reg == reg);
            let operands = || inst.operands.iter();
            guard || operands().any(|operand| operand == &own || items(operand).contains(&own))
        };
        let mut rest = self.insts[self.block].iter().skip(self.at).flatten();
        self.live[self.block].last().is_some_and(is_live) && !rest.any(|inst| reads(inst))
    }

    /// Whether a value is still to be loaded from a place of the frame.
    fn reads_frame(&self, slot: u32) -> bool {
        let mut held = self.regs.values().map(|held| self.forms_of(held.value));
        held.any(|forms| {
            matches!(forms.source, Some(Source::Narrow(at)) if at == slot) && forms.lanes.is_none()
        })
    }
}

/// Tiles, and B of others with the same A: those whose fragments lie behind each other are one of more blocks.
fn joined(tiles: &[Tile], others: &[Tile]) -> (Vec<Tile>, Vec<u32>) {
    let (mut steps, mut second): (Vec<Tile>, Vec<u32>) = (Vec::new(), Vec::new());
    for (at, tile) in tiles.iter().enumerate() {
        let other = others.get(at).map(|other| other.b);
        if let Some(last) = steps.last_mut() {
            let [a, b] = last.bytes();
            let behind = last.a + a == tile.a && last.b + b == tile.b;
            let alike = Tile {
                a: 0,
                b: 0,
                blocks: 0,
                ..*last
            } == Tile {
                a: 0,
                b: 0,
                blocks: 0,
                ..*tile
            };
            if behind && alike && second.last().map(|last| last + b) == other {
                last.blocks += tile.blocks;
                continue;
            }
        }
        steps.push(*tile);
        second.extend(other);
    }
    (steps, second)
}
