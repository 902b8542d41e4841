//! Loads whose value some lanes throw away: a compiler reads first what only a condition beside it asks for, and puts
//! both together by logic. Such a read counts, as to races, only for lanes that the other side leaves open.
//!
//! Which lanes a value matters to is followed within its block, up to where something is done with it.

use super::{Lowerer, describe::access, guess::Guesses};
use crate::{
    analysis::{Block, Term, roles, uniform::insts},
    check::Access,
    error::Error,
    exec::deferred::{self, Reading},
    op::{AccessId, Slot, SpanId},
};
use rustc_hash::{FxHashMap, FxHashSet};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId, Stmt},
    op::Op,
    qual::Qual,
    types::Type,
};

/// Where a mask comes from: mask `from`, in lanes where predicate `when` has that value, if there is one.
#[derive(Clone, Debug)]
struct MaskSource {
    from: usize,
    when: Option<(Operand, bool)>,
}

/// What is done before an instruction or the end of a block. Masks are numbered for each load; 0 has its lanes.
#[derive(Clone, Debug)]
enum Act {
    /// A mask is made of others.
    Make { to: usize, parts: Vec<MaskSource> },
    /// What is in these lanes matters.
    Settle { mask: usize, of_guard: bool },
}

/// A load that is looked at later.
struct Load {
    masks: Vec<Slot>,
    addresses: Slot,
    /// Its number among accesses and its place in the spans, as soon as it is lowered.
    known: Option<(AccessId, SpanId)>,
}

/// Loads and what is done, by statement, or by the number of a block for its end.
pub(super) struct Deferred {
    loads: Vec<Load>,
    begins: FxHashMap<usize, usize>,
    acts: FxHashMap<usize, Vec<(usize, Act)>>,
    ends: FxHashMap<usize, Vec<(usize, Act)>>,
}

/// Whether an instruction only makes its result of its sources.
fn is_pure(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Setp
            | Op::Set
            | Op::Selp
            | Op::Mov
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::Cvt
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Mad
            | Op::Fma
            | Op::Min
            | Op::Max
            | Op::Neg
            | Op::Abs
            | Op::Shl
            | Op::Shr
            | Op::Bfe
            | Op::Lop3
            | Op::Prmt
    ) && !inst.quals.has(Qual::Cc)
}

/// Whether a lane may throw one of its sources away: what makes masks of others.
fn may_discard(inst: &Inst) -> bool {
    match inst.op {
        Op::And | Op::Or => inst.quals.types().next() == Some(Type::Pred),
        Op::Setp => inst.operands.len() == 4,
        Op::Selp => true,
        _ => false,
    }
}

/// Whether it is a load or a store that orders nothing.
fn is_plain(inst: &Inst, guesses: &Guesses) -> bool {
    matches!(inst.op, Op::Ld | Op::St)
        && access(inst).is_none_or(|(_, info)| !info.order.strong)
        && guesses.scope(inst).is_none()
}

/// Whether it may be looked at later.
fn may_wait(inst: &Inst, guesses: &Guesses) -> bool {
    inst.op == Op::Ld
        && inst.guard.is_none()
        && is_plain(inst, guesses)
        && access(inst).is_some_and(|(_, info)| info.access == Access::Read && !info.constant)
}

fn reg(operand: &Operand) -> Option<RegId> {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => Some(*reg),
        _ => None,
    }
}

/// A value that a load reaches: its mask, and which value of a predicate says that the lane is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    mask: usize,
    implied: Option<bool>,
}

/// What is known of all blocks.
struct Places<'a> {
    body: &'a [Stmt],
    blocks: &'a [Block],
    /// Blocks that read a register before they write it.
    users: FxHashMap<RegId, FxHashSet<usize>>,
    /// How many ways lead to each.
    ways: Vec<u32>,
}

impl<'a> Places<'a> {
    fn new(body: &'a [Stmt], blocks: &'a [Block]) -> Places<'a> {
        let mut users: FxHashMap<RegId, FxHashSet<usize>> = FxHashMap::default();
        let mut ways = vec![0; blocks.len()];
        if let Some(first) = ways.first_mut() {
            *first = 1;
        }
        for (at, block) in blocks.iter().enumerate() {
            let mut written = FxHashSet::default();
            for (_, inst) in insts(block, body) {
                roles::each_use(inst, &mut |reg| {
                    if !written.contains(&reg) {
                        users.entry(reg).or_default().insert(at);
                    }
                });
                if inst.guard.is_none() {
                    roles::each_def(inst, &mut |reg| {
                        written.insert(reg);
                    });
                }
            }
            block.term.each_use(&mut |reg| {
                if !written.contains(&reg) {
                    users.entry(reg).or_default().insert(at);
                }
            });
            for to in block.term.targets() {
                ways[to as usize] += 1;
            }
        }
        Places {
            body,
            blocks,
            users,
            ways,
        }
    }

    /// The block to which a branch at the end of `at` takes only lanes of a mask, and the other one, if there is one.
    fn taken(&self, at: usize, held: &FxHashMap<RegId, Held>) -> Option<(usize, Option<usize>)> {
        let implied = |pred: &RegId| held.get(pred).and_then(|held| held.implied);
        let (inside, outside) = match &self.blocks[at].term {
            Term::Branch {
                pred,
                negated,
                then,
                other,
            } => {
                if implied(pred)? != (*negated != 0) {
                    (*then, Some(*other))
                } else {
                    (*other, Some(*then))
                }
            }
            Term::ExitIf {
                pred,
                negated,
                next,
            } if implied(pred)? == (*negated != 0) => (*next, None),
            _ => return None,
        };
        let (inside, outside) = (inside as usize, outside.map(|to| to as usize));
        (inside != at && self.ways[inside] == 1).then_some((inside, outside))
    }

    /// Blocks to which lanes come from `at` by another way than through `inside`, before they are at `at` again.
    fn around(&self, at: usize, (inside, outside): (usize, Option<usize>)) -> Vec<bool> {
        let mut seen = vec![false; self.blocks.len()];
        let mut work: Vec<usize> = outside.into_iter().collect();
        while let Some(block) = work.pop() {
            if block == at || block == inside || std::mem::replace(&mut seen[block], true) {
                continue;
            }
            let targets = self.blocks[block].term.targets();
            work.extend(targets.into_iter().map(|to| to as usize));
        }
        seen
    }

    /// What is done for the load at statement `load` of block `at`, how many masks that takes; nothing where no lane
    /// throws its value away.
    fn follow(&self, at: usize, load: usize, guesses: &Guesses) -> Option<(usize, Walk)> {
        let block = &self.blocks[at];
        let mut walk = Walk::default();
        let mut masks = 1;
        for (i, inst) in insts(block, self.body) {
            let here = block.stmts.start + i;
            if here == load {
                let root = Held {
                    mask: 0,
                    implied: None,
                };
                roles::each_def(inst, &mut |reg| {
                    walk.held.insert(reg, root);
                });
            } else if here > load {
                walk.step(here, inst, &mut masks, guesses)?;
            }
        }
        let taken = self.taken(at, &walk.held);
        let around = taken.map(|taken| self.around(at, taken));
        let mut needed: FxHashSet<usize> = FxHashSet::default();
        block.term.each_use(&mut |reg| {
            if let Some(held) = walk.held.get(&reg) {
                needed.insert(held.mask);
            }
        });
        for (reg, held) in &walk.held {
            let Some(users) = self.users.get(reg) else {
                continue;
            };
            let outside =
                |user: &usize| *user == at || around.as_ref().is_none_or(|around| around[*user]);
            if users.iter().any(outside) {
                needed.insert(held.mask);
            }
        }
        if walk.over && !needed.is_empty() || needed.contains(&0) || masks == 1 {
            return None;
        }
        let mut needed: Vec<usize> = needed.into_iter().collect();
        needed.sort_unstable();
        walk.ends = needed
            .into_iter()
            .map(|mask| Act::Settle {
                mask,
                of_guard: false,
            })
            .collect();
        Some((masks, walk))
    }
}

/// What is known on the way through a block.
#[derive(Default)]
struct Walk {
    held: FxHashMap<RegId, Held>,
    /// What later loads reach: the one that is read first is the one that is asked first.
    later: FxHashSet<RegId>,
    /// Whether something may have ordered accesses since: what matters only now mattered before.
    over: bool,
    acts: Vec<(usize, Act)>,
    ends: Vec<Act>,
}

impl Walk {
    /// The next instruction; nothing if the load must be looked at where it stands.
    fn step(&mut self, here: usize, inst: &Inst, masks: &mut usize, g: &Guesses) -> Option<()> {
        if let Some(held) = inst.guard.and_then(|guard| self.held.get(&guard.reg)) {
            if self.over {
                return None;
            }
            let settle = Act::Settle {
                mask: held.mask,
                of_guard: true,
            };
            self.acts.push((here, settle));
        }
        let mut sources = Vec::new();
        let bare = super::instrument::bare(inst);
        roles::each_use(&bare, &mut |reg| sources.extend(self.held.get(&reg)));
        let later = inst.op == Op::Ld || {
            let mut later = false;
            roles::each_use(inst, &mut |reg| later |= self.later.contains(&reg));
            later
        };
        if !sources.is_empty() && self.over {
            return None;
        }
        let mut now = None;
        if !sources.is_empty() && is_pure(inst) && inst.guard.is_none() {
            now = Some(self.pass(here, inst, &sources, masks));
        } else {
            for held in &sources {
                // Somebody sees all of it.
                if held.mask == 0 && inst.guard.is_none() {
                    return None;
                }
                let settle = Act::Settle {
                    mask: held.mask,
                    of_guard: false,
                };
                self.acts.push((here, settle));
            }
        }
        self.over |= !is_pure(inst) && !is_plain(inst, g) && inst.op != Op::Cvta;
        roles::each_def(inst, &mut |reg| {
            match now {
                Some(held) => drop(self.held.insert(reg, held)),
                None if inst.guard.is_none() => drop(self.held.remove(&reg)),
                None => {}
            }
            if later {
                self.later.insert(reg);
            } else if inst.guard.is_none() {
                self.later.remove(&reg);
            }
        });
        Some(())
    }

    /// What an instruction's result has of its sources.
    fn pass(&mut self, here: usize, inst: &Inst, sources: &[Held], masks: &mut usize) -> Held {
        let held = |operand: &Operand| reg(operand).and_then(|reg| self.held.get(&reg).copied());
        let closes = |operand: &Operand| {
            reg(operand)
                .is_some_and(|reg| !self.held.contains_key(&reg) && !self.later.contains(&reg))
        };
        let pred = inst.quals.types().next() == Some(Type::Pred);
        let mut parts: Vec<(Held, Option<(Operand, bool)>)> = Vec::new();
        let mut kind = None;
        match (inst.op, &inst.operands[..]) {
            (Op::And | Op::Or, [_, a, b]) if pred => {
                let open = inst.op == Op::And;
                kind = Some(open);
                for (own, other) in [(a, b), (b, a)] {
                    if let Some(held) = held(own) {
                        parts.push((held, closes(other).then(|| (other.clone(), open))));
                    }
                }
            }
            (Op::Setp, [_, a, b, c]) => {
                let open = match (inst.quals.has(Qual::And), inst.quals.has(Qual::Or)) {
                    (true, _) => Some(true),
                    (_, true) => Some(false),
                    _ => None,
                };
                // The other result of two is made of the opposite comparison, and the same predicate.
                kind = open.filter(|_| matches!(inst.operands[0], Operand::Reg(_)));
                let when = open.filter(|_| closes(c)).map(|open| (c.clone(), open));
                parts.extend(
                    [a, b]
                        .into_iter()
                        .filter_map(held)
                        .map(|h| (h, when.clone())),
                );
                parts.extend(held(c).map(|held| (held, None)));
            }
            (Op::Selp, [_, a, b, p]) => {
                for (own, open) in [(a, true), (b, false)] {
                    if let Some(held) = held(own) {
                        // Its own predicate has told who is in it.
                        let told = self.held.get(&reg(p).unwrap_or(RegId(u32::MAX)));
                        let known = told.is_some_and(|told| told.implied == Some(open));
                        let when = closes(p) || known;
                        parts.push((held, when.then(|| (p.clone(), open))));
                    }
                }
                parts.extend(held(p).map(|held| (held, None)));
            }
            _ => parts.extend(sources.iter().map(|held| (*held, None))),
        }
        let alone = match &parts[..] {
            [(held, None)] => Some(*held),
            [(held, None), rest @ ..]
                if rest
                    .iter()
                    .all(|(h, when)| h.mask == held.mask && when.is_none()) =>
            {
                Some(*held)
            }
            _ => None,
        };
        if let Some(held) = alone {
            let implied = match (inst.op, kind) {
                (Op::Mov, _) => held.implied,
                (Op::Not, _) => held.implied.map(|value| !value),
                (_, Some(open)) if held.implied == Some(open) => Some(open),
                _ => None,
            };
            return Held { implied, ..held };
        }
        let sure = match &parts[..] {
            [(held, Some(_))] => held.mask == 0 || held.implied == kind,
            _ => false,
        };
        let to = *masks;
        *masks += 1;
        let parts = parts.into_iter().map(|(held, when)| MaskSource {
            from: held.mask,
            when,
        });
        let parts = parts.collect();
        self.acts.push((here, Act::Make { to, parts }));
        Held {
            mask: to,
            implied: kind.filter(|_| sure),
        }
    }
}

impl Deferred {
    pub(super) fn new(
        l: &mut Lowerer<'_>,
        body: &[Stmt],
        blocks: &[Block],
        guesses: &Guesses,
    ) -> Deferred {
        let places = Places::new(body, blocks);
        let mut all = Deferred {
            loads: Vec::new(),
            begins: FxHashMap::default(),
            acts: FxHashMap::default(),
            ends: FxHashMap::default(),
        };
        for (at, block) in blocks.iter().enumerate() {
            // In most blocks no lane throws anything away, and their loads are not followed.
            if !insts(block, body).any(|(_, inst)| may_discard(inst)) {
                continue;
            }
            for (i, inst) in insts(block, body) {
                let here = block.stmts.start + i;
                if !may_wait(inst, guesses) {
                    continue;
                }
                let Some((masks, walk)) = places.follow(at, here, guesses) else {
                    continue;
                };
                let number = all.loads.len();
                all.loads.push(Load {
                    masks: (0..masks).map(|_| l.scalar_slot()).collect(),
                    addresses: l.wide_slot(),
                    known: None,
                });
                all.begins.insert(here, number);
                for (here, act) in walk.acts {
                    all.acts.entry(here).or_default().push((number, act));
                }
                let ends = walk.ends.into_iter().map(|act| (number, act));
                all.ends.entry(at).or_default().extend(ends);
            }
        }
        all
    }

    /// What is done where a guard begins at this statement.
    pub(super) fn guard(&self, l: &mut Lowerer<'_>, here: usize) {
        for (load, act) in self.acts.get(&here).into_iter().flatten() {
            if let Act::Settle {
                mask,
                of_guard: true,
            } = act
            {
                self.settle(l, *load, *mask);
            }
        }
    }

    /// What is done before the instruction at this statement.
    pub(super) fn before(&self, l: &mut Lowerer<'_>, here: usize) -> Result<(), Error> {
        for (load, act) in self.acts.get(&here).into_iter().flatten() {
            match act {
                Act::Make { to, parts } => {
                    let masks = &self.loads[*load].masks;
                    for (i, MaskSource { from, when }) in parts.iter().enumerate() {
                        let when = match when {
                            Some((operand, value)) => {
                                let pred = l.pred(operand)?;
                                Some(if *value { pred } else { pred.negated() })
                            }
                            None => None,
                        };
                        deferred::emit_part(l, masks[*to], masks[*from], when, i == 0);
                    }
                }
                Act::Settle {
                    mask,
                    of_guard: false,
                } => self.settle(l, *load, *mask),
                Act::Settle { .. } => {}
            }
        }
        Ok(())
    }

    /// What is done at the end of a block.
    pub(super) fn end_block(&self, l: &mut Lowerer<'_>, at: usize) {
        for (load, act) in self.ends.get(&at).into_iter().flatten() {
            if let Act::Settle { mask, .. } = act {
                self.settle(l, *load, *mask);
            }
        }
    }

    fn settle(&self, l: &mut Lowerer<'_>, load: usize, mask: usize) {
        let load = &self.loads[load];
        if let Some((number, span)) = load.known {
            let reading = Reading {
                root: load.masks[0],
                addresses: load.addresses,
            };
            deferred::emit_settle(l, load.masks[mask], reading, (number, span));
        }
    }

    /// Whether the load at this statement is looked at later.
    pub(super) fn waits(&self, here: usize) -> Option<Reading> {
        let load = &self.loads[*self.begins.get(&here)?];
        Some(Reading {
            root: load.masks[0],
            addresses: load.addresses,
        })
    }

    /// Its access has this number, and stands there.
    pub(super) fn begun(&mut self, here: usize, known: Option<(AccessId, SpanId)>) {
        if let Some(load) = self.begins.get(&here) {
            self.loads[*load].known = known;
        }
    }
}
