//! Code for `mma.sync`: fragments are prepared once for all products of a run that use them, and stand on the stack.
//!
//! A register of an accumulator is two vector registers, as all lanes are: lane `4 g + t` has row `g`. So a product of
//! four-lane groups wants for each k the element of A that lane `t` of the group has, in all four lanes, and of B the
//! same four columns for every group.
//!
//! - A float of A is widened, and either spread (one register for each k) or left as it is and spread when it is used:
//!   that costs four stores for each register once, this a shuffle for each product.
//! - B is widened and turned, so that the four even and the four odd columns of a k lie side by side: one load brings
//!   them to all groups.
//! - Bytes are multiplied by `vpdpbusd`, of which one side has no sign. Of two signed sides A gets 128 more, and each
//!   sum 128 times its column less.
//!
//! How products are rounded is said in `exec/mma/mod.rs`.

use super::{
    accesses::items,
    kinds::{reads, writes},
    nodes::{Arg, Code, MemoryAt, Vector},
    target,
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId},
    qual::Qual,
    types::Type,
};
use warpsmith_x86::{Len, vector};

/// What A and B have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Element {
    F16,
    Brain,
    Tf32,
    /// With the signs of A and B.
    Bytes {
        a: bool,
        b: bool,
    },
}

impl Element {
    /// Elements of a register of a lane, of those that are multiplied one by one.
    pub(super) fn parts(self) -> u32 {
        match self {
            Element::F16 | Element::Brain => 2,
            Element::Tf32 | Element::Bytes { .. } => 1,
        }
    }
}

/// A product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) element: Element,
    /// Rows in eights.
    halves: u32,
    /// Registers along k.
    pub(super) blocks: u32,
}

/// A fragment that has been prepared.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    /// Where it stands on the stack.
    pub(super) at: u32,
    /// Its own registers: of A, bytes.
    regs: Vec<VReg>,
}

/// Which fragment: its values, and how they are prepared.
pub(super) type FragmentKey = (Vec<ValueId>, Element, Side);

/// The operand that a fragment is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    A { spread: bool },
    B,
}

/// Products with the same fragment of A from which on it is spread once for all, where that is worth its stores.
const OFTEN: usize = 3;

/// The most bytes of fragments beside each other.
const MOST_KEPT: u32 = 8 << 10;

/// The registers of an operand that is nothing else.
fn registers(inst: &Inst, operand: usize) -> Option<Vec<RegId>> {
    let items = items(inst.operands.get(operand)?);
    let regs = items.iter().map(|item| match item {
        Operand::Reg(reg) => Some(*reg),
        _ => None,
    });
    regs.collect()
}

/// What `mma.sync` is, if it is compiled.
pub(super) fn product(l: &Lowerer<'_>, inst: &Inst) -> Option<Product> {
    let types: Vec<Type> = inst.quals.types().collect();
    let &[d, a, b, c] = types.as_slice() else {
        return None;
    };
    let has = |qual| inst.quals.has(qual);
    let halves = if has(Qual::M8n8k16) { 1 } else { 2 };
    let (element, blocks) = match (d, a, b, c) {
        (Type::F32, Type::F16, Type::F16, Type::F32)
        | (Type::F32, Type::BF16, Type::BF16, Type::F32) => {
            let blocks = match (has(Qual::M16n8k8), has(Qual::M16n8k16)) {
                (true, _) => 1,
                (_, true) => 2,
                _ => return None,
            };
            let element = if a == Type::F16 {
                Element::F16
            } else {
                Element::Brain
            };
            (element, blocks)
        }
        (Type::F32, Type::TF32, Type::TF32, Type::F32) => {
            let blocks = match (has(Qual::M16n8k4), has(Qual::M16n8k8)) {
                (true, _) => 1,
                (_, true) => 2,
                _ => return None,
            };
            (Element::Tf32, blocks)
        }
        (Type::S32, Type::S8 | Type::U8, Type::S8 | Type::U8, Type::S32) => {
            let blocks = match (has(Qual::M16n8k32), halves == 1 || has(Qual::M16n8k16)) {
                (true, _) => 2,
                (_, true) => 1,
                _ => return None,
            };
            let (a, b) = (a == Type::S8, b == Type::S8);
            // One side at least has signs.
            if !a && !b {
                return None;
            }
            (Element::Bytes { a, b }, blocks)
        }
        _ => return None,
    };
    let product = Product {
        element,
        halves,
        blocks,
    };
    let counts = [2 * halves, halves * blocks, blocks, 2 * halves];
    let fits = inst.operands.len() == 4
        && inst
            .operands
            .iter()
            .zip(counts)
            .enumerate()
            .all(|(at, (operand, count))| {
                let items = items(operand);
                items.len() == count as usize
                    && items.iter().all(|item| match at {
                        0 => writes(l, Some(item), 32),
                        _ => reads(l, Some(item), 32),
                    })
            });
    fits.then_some(product)
}

impl Coder<'_, '_> {
    pub(super) fn product(&mut self, product: Product, inst: &Inst) -> Result<(), Skip> {
        if self.lanes_of_now().is_some() {
            return Err(Skip);
        }
        let [to, a, b, c] = &inst.operands[..] else {
            return Err(Skip);
        };
        if self.touches_pending(a) || self.touches_pending(b) {
            self.make_products();
        }
        let [a, b] = [self.all(a)?, self.all(b)?];
        if !matches!(product.element, Element::Bytes { .. }) {
            return self.product_of_floats(product, inst, (a, b));
        }
        self.make_products();
        let c = self.all(c)?;
        let mut sums = Vec::with_capacity(8);
        let tile = self.bytes(product, (a, b, c), &mut sums)?;
        let sources = sums.split_off(4 * product.halves as usize);
        let sums = self.nodes.product(tile, &sums, &sources);
        for (item, regs) in items(to).iter().zip(sums.chunks(2)) {
            let value = self.of_lanes([regs[0], regs[1]], false);
            self.put(item, value)?;
        }
        Ok(())
    }

    /// The values of an operand's registers.
    pub(super) fn all(&mut self, operand: &Operand) -> Result<Vec<ValueId>, Skip> {
        let items = items(operand);
        items.iter().map(|item| self.read(item, 32)).collect()
    }

    /// Whether the fragment of A is spread once for all products that have it: that is worth its stores if they are some.
    pub(super) fn is_spread(&self, inst: &Inst) -> bool {
        let all = self.insts[self.block].iter();
        let same = all.filter(|other| {
            other.is_some_and(|other| {
                other.op == inst.op && other.operands.get(1) == inst.operands.get(1)
            })
        });
        !target::shuffles_are_free() && same.count() >= OFTEN
    }

    /// Room on the stack; what stood there before is used up and forgotten if there is too little.
    pub(super) fn room(&mut self, bytes: u32) -> u32 {
        if let Some(at) = self.nodes.room(bytes) {
            return at;
        }
        self.make_products();
        self.fragments.clear();
        self.kept.clear();
        self.nodes.first_room(bytes)
    }

    /// Room for the fragment of an operand of the current instruction. Behind it is that of the same operand of products
    /// that go on with its sums, so that one piece of code makes all of them.
    fn room_of(&mut self, inst: &Inst, operand: usize, bytes: u32) -> u32 {
        let Some(own) = registers(inst, operand) else {
            return self.room(bytes);
        };
        if let Some(at) = self.kept.remove(&(operand, own)) {
            return at;
        }
        let behind = self.goes_on_as(inst, operand, MOST_KEPT / bytes);
        let at = self.room(bytes * (1 + behind.len() as u32));
        for (own, place) in behind.into_iter().zip(1..) {
            self.kept.insert((operand, own), at + bytes * place);
        }
        at
    }

    /// The registers of an operand of the products behind this one that go on with its sums, in order.
    fn goes_on_as(&self, inst: &Inst, operand: usize, most: u32) -> Vec<Vec<RegId>> {
        let behind = self.insts[self.block].get(self.at + 1..);
        let mut sums = inst.operands.first();
        let mut found: Vec<Vec<RegId>> = Vec::new();
        for other in behind.into_iter().flatten() {
            let Some(other) = other else {
                break;
            };
            let same = other.op == inst.op && other.quals == inst.quals;
            let own = registers(other, operand).filter(|_| same && other.guard.is_none());
            let Some(own) = own.filter(|_| other.operands.get(3) == sums) else {
                break;
            };
            if found.len() as u32 + 1 >= most || found.contains(&own) {
                break;
            }
            found.push(own);
            sums = other.operands.first();
        }
        found
    }

    fn fragment(
        &mut self,
        key: FragmentKey,
        make: impl FnOnce(&mut Self, &[ValueId]) -> Result<Fragment, Skip>,
    ) -> Result<Fragment, Skip> {
        if let Some(found) = self.fragments.get(&key) {
            return Ok(found.clone());
        }
        let made = make(self, &key.0)?;
        self.fragments.insert(key, made.clone());
        Ok(made)
    }

    /// A of floats, of an instruction: for each block of k, part, half of the rows and vector register the widened elements, for spread
    /// ones each of the four of a group in a register of its own.
    pub(super) fn rows_of_floats(
        &mut self,
        (product, inst): (Product, &Inst),
        a: Vec<ValueId>,
        spread: bool,
    ) -> Result<Fragment, Skip> {
        let Product {
            element,
            halves,
            blocks,
        } = product;
        let key = (a, element, Side::A { spread });
        self.fragment(key, |coder, a| {
            let each = if spread { 256 } else { 64 };
            let bytes = each * blocks * element.parts() * halves * 2;
            let at = coder.room_of(inst, 1, bytes);
            let mut to = at;
            for block in 0..blocks {
                for part in 0..element.parts() {
                    for half in 0..halves {
                        let value = a[(block * halves + half) as usize];
                        for v in coder.lanes(value)? {
                            let wide = coder.widened(element, part, v);
                            if spread {
                                coder.nodes.effect(Code::Spread(to), &[wide]);
                            } else {
                                coder.lay(to, wide);
                            }
                            to += each;
                        }
                    }
                }
            }
            let regs = Vec::new();
            Ok(Fragment { at, regs })
        })
    }

    /// B of floats: for each block of k, part and lane of a group the even columns, then the odd ones.
    pub(super) fn columns_of_floats(
        &mut self,
        (product, inst): (Product, &Inst),
        b: Vec<ValueId>,
    ) -> Result<Fragment, Skip> {
        let Product {
            element, blocks, ..
        } = product;
        self.fragment((b, element, Side::B), |coder, b| {
            let at = coder.room_of(inst, 2, 128 * blocks * element.parts());
            let mut to = at;
            for value in b {
                let lanes = coder.lanes(*value)?;
                for part in 0..element.parts() {
                    let wide = lanes.map(|v| coder.widened(element, part, v));
                    for pair in 0..2 {
                        // Column by column, from the elements that lanes 2 pair and 2 pair + 1 of a group have.
                        let turned = coder.permuted(
                            wide,
                            std::array::from_fn(|i| {
                                let (t, column) = (2 * pair + i as u32 / 8, i as u32 % 8);
                                4 * (2 * (column % 4) + column / 4) + t
                            }),
                        );
                        coder.lay(to, turned);
                        to += 64;
                    }
                }
            }
            let regs = Vec::new();
            Ok(Fragment { at, regs })
        })
    }

    /// Writes a register to the stack.
    pub(super) fn lay(&mut self, to: u32, v: VReg) {
        let mem = Vector::one(Arg::Mem(MemoryAt::Stack(to)));
        self.nodes.store_vector(&vector::STORE, v, mem);
    }

    /// One of the elements of each lane, as f32.
    fn widened(&mut self, element: Element, part: u32, v: VReg) -> VReg {
        match (element, part) {
            (Element::F16, _) => {
                let v = if part == 0 {
                    v
                } else {
                    self.by(&vector::SHR_U32, v, 16)
                };
                let op = &vector::NARROW_I32_I16;
                let half = self.nodes.reversed(op, RegClass::Float, Len::L512, 0, v);
                self.vector(&vector::F32_OF_F16, Vector::one(Arg::Reg(half)))
            }
            (Element::Brain, 0) => self.by(&vector::SHL_I32, v, 16),
            (Element::Brain, _) => self.with_constant(&vector::AND, v, 0xFFFF_0000),
            // A tensor core reads 19 bits.
            (Element::Tf32, _) => self.with_constant(&vector::AND, v, 0xFFFF_E000),
            (Element::Bytes { .. }, _) => v,
        }
    }

    /// Bytes: `sums` gets what the sums start from, then the registers of A.
    fn bytes(
        &mut self,
        product: Product,
        (a, b, c): (Vec<ValueId>, Vec<ValueId>, Vec<ValueId>),
        sums: &mut Vec<VReg>,
    ) -> Result<Code, Skip> {
        let Product {
            element, blocks, ..
        } = product;
        let Element::Bytes { a: signed, b: both } = element else {
            return Err(Skip);
        };
        let moved = signed && both;
        let side = Side::A { spread: false };
        let a = self.fragment((a, element, side), |coder, a| {
            let mut regs = Vec::with_capacity(8);
            for value in a {
                for v in coder.lanes_exact(*value)? {
                    regs.push(if moved {
                        coder.with_constant(&vector::XOR, v, 0x8080_8080)
                    } else {
                        v
                    });
                }
            }
            Ok(Fragment { at: 0, regs })
        })?;
        // The columns of even and of odd numbers, for each of the four words of k; what each sum has too much.
        let b = self.fragment((b, element, Side::B), |coder, b| {
            let at = coder.room(128 * blocks);
            let mut to = at;
            for value in b {
                let lanes = coder.lanes_exact(*value)?;
                for odd in 0..2 {
                    let turned = coder.permuted(
                        lanes,
                        std::array::from_fn(|i| {
                            let (word, t) = (i as u32 / 4, i as u32 % 4);
                            4 * (2 * t + odd) + word
                        }),
                    );
                    coder.lay(to, turned);
                    to += 64;
                }
            }
            let mut regs = Vec::new();
            if moved {
                for odd in 0..2 {
                    let mut sum = coder.whole(0);
                    let weights = coder.whole(0x8080_8080);
                    for block in 0..blocks {
                        for word in 0..4 {
                            let place = MemoryAt::Stack(at + 128 * block + 64 * odd + 16 * word);
                            let own = Vector::one(Arg::Mem(place));
                            let own = coder.vector(&vector::SPLAT_128, own);
                            let dot = Vector {
                                tied: Some(sum),
                                ..Vector::two(weights, Arg::Reg(own))
                            };
                            sum = coder.vector(&vector::DOT_U8_I8, dot);
                        }
                    }
                    regs.push(sum);
                }
            }
            Ok(Fragment { at, regs })
        })?;
        for (at, c) in c.into_iter().enumerate() {
            for v in self.lanes_exact(c)? {
                sums.push(match b.regs.get(at % 2) {
                    Some(more) => self.plain(&vector::SUB_I32, v, *more),
                    None => v,
                });
            }
        }
        sums.extend(a.regs);
        Ok(Code::Bytes {
            b: b.at,
            blocks,
            // Which side has no signs.
            swapped: signed && !both,
        })
    }
}
