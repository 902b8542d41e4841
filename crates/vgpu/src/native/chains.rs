//! Sums that are more than there are registers: some of them at a time.
//!
//! A thread's tile of sums needs two vector registers a sum, so that 16 of them fill the machine. In the order of the text
//! each multiply-add would then fetch its sum from the stack and put it back. Where nothing but such chains and what they
//! read stands in a row, groups of chains are gone through one after the other, and each loads what it reads again. No chain
//! changes, and nothing is written meanwhile, so that all values are the same.

use super::{
    narrow::operands_of,
    nodes::{Code, Last, Nodes, VectorShape},
};
use regalloc2::{Operand, OperandConstraint, OperandKind, RegClass, VReg};
use warpsmith_x86::vector;

/// Registers for what chains read, and what the allocator needs.
const RESERVED: usize = 6;
/// Links that chains have on average where it pays to load what they read again.
const LINKS: usize = 3;
/// What is no node, or no chain.
const NONE: u32 = u32::MAX;

/// What a node of a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It goes on with a chain.
    Link(u32),
    /// It loads a register from memory or from a general register, and can do so again.
    Load,
    Other,
}

/// Nodes in a row that write registers alone.
#[derive(Default)]
struct Span {
    from: usize,
    parts: Vec<Part>,
    chains: usize,
    links: usize,
}

/// Who writes a register, while a span is looked through.
#[derive(Clone, Copy)]
struct Written {
    node: u32,
    chain: u32,
}

/// Puts chains into groups wherever that saves registers.
pub(super) fn group(nodes: &mut Nodes) {
    let mut written = vec![
        Written {
            node: NONE,
            chain: NONE
        };
        nodes.registers
    ];
    let mut spans = Vec::new();
    for part in 0..nodes.parts.len() {
        let end = nodes.parts.get(part + 1).map(|part| part.first as usize);
        let end = end.unwrap_or(nodes.codes.len());
        let mut at = nodes.parts[part].first as usize;
        while at < end {
            let span = span(nodes, (at, end), &mut written);
            at += span.parts.len().max(1);
            if span.chains > 0 {
                spans.push(span);
            }
        }
    }
    spans.retain(|span| size(nodes, span, &written).is_some());
    if spans.is_empty() {
        return;
    }
    let uses = uses(nodes);
    let mut to = Rebuilt::default();
    let mut places = Vec::with_capacity(nodes.codes.len() + 1);
    let mut spans = spans.into_iter().peekable();
    let mut at = 0;
    while at < nodes.codes.len() {
        match spans.next_if(|span| span.from == at) {
            Some(span) => {
                // Parts begin where spans do, never inside.
                places.extend(span.parts.iter().map(|_| to.codes.len() as u32));
                at += span.parts.len();
                let plan = Plan::new(nodes, &span, &written, &uses);
                to.span(nodes, &plan);
            }
            None => {
                places.push(to.codes.len() as u32);
                to.copy(nodes, at, |reg| reg);
                at += 1;
            }
        }
    }
    for part in &mut nodes.parts {
        part.first = places
            .get(part.first as usize)
            .copied()
            .unwrap_or(to.codes.len() as u32);
    }
    nodes.codes = to.codes;
    nodes.firsts = to.firsts;
    nodes.operands = to.operands;
}

fn reads(nodes: &Nodes, node: usize) -> impl Iterator<Item = VReg> {
    let all = operands_of(nodes, node).iter();
    all.filter(|operand| operand.kind() == OperandKind::Use)
        .map(|operand| operand.vreg())
}

/// The register that a node writes, if that is all it does and no memory is written.
fn result(nodes: &Nodes, node: usize) -> Option<VReg> {
    let is_plain = matches!(
        nodes.codes[node],
        Code::Vector { .. }
            | Code::Alu(..)
            | Code::AluImm(..)
            | Code::MovImm(_)
            | Code::Mov(_)
            | Code::Load(..)
            | Code::Lea(_)
            | Code::Imul(_)
            | Code::ImulImm(..)
            | Code::Shift(..)
            | Code::Extend(..)
            | Code::Address(_)
    );
    let all = operands_of(nodes, node).iter();
    let mut written = all.filter(|operand| operand.kind() == OperandKind::Def);
    let first = written.next().filter(|_| is_plain)?;
    written.next().is_none().then(|| first.vreg())
}

/// The register that a link goes on from.
fn start(nodes: &Nodes, node: usize) -> Option<VReg> {
    let Code::Vector { shape, .. } = nodes.codes[node] else {
        return None;
    };
    let [to, from, ..] = operands_of(nodes, node) else {
        return None;
    };
    let tied = shape.tied && matches!(to.constraint(), OperandConstraint::Reuse(1));
    (tied && to.class() == RegClass::Float).then(|| from.vreg())
}

/// What a link goes on from, and what it writes.
fn ends(nodes: &Nodes, node: usize) -> [VReg; 2] {
    let own = operands_of(nodes, node);
    [own[1].vreg(), own[0].vreg()]
}

/// Whether a node loads a register, from what stays as it is while a span lasts.
fn is_load(nodes: &Nodes, node: usize) -> bool {
    let is_one = match nodes.codes[node] {
        Code::Vector { shape, .. } => matches!(shape.last, Last::Reg | Last::Mem(_)),
        Code::Load(..) => true,
        _ => false,
    };
    is_one && reads(nodes, node).all(|reg| reg.class() == RegClass::Int)
}

/// The longest span from a node on: it ends where something else is done, or something but its own links reads a chain.
fn span(nodes: &Nodes, (from, end): (usize, usize), written: &mut [Written]) -> Span {
    let mut span = Span {
        from,
        ..Span::default()
    };
    for node in from..end {
        let Some(to) = result(nodes, node) else {
            break;
        };
        let chain_of = |reg: VReg| {
            let Written { node, chain } = written[reg.vreg()];
            if node != NONE && node as usize >= from {
                chain
            } else {
                NONE
            }
        };
        let start = start(nodes, node);
        let own = start.map_or(NONE, chain_of);
        let others = reads(nodes, node).skip(usize::from(start.is_some()));
        if others.map(chain_of).any(|chain| chain != NONE) {
            break;
        }
        let part = match start {
            Some(_) if own != NONE => Part::Link(own),
            Some(_) => {
                span.chains += 1;
                Part::Link(span.chains as u32 - 1)
            }
            None if is_load(nodes, node) => Part::Load,
            None => Part::Other,
        };
        let chain = match part {
            Part::Link(chain) => {
                span.links += 1;
                chain
            }
            Part::Load | Part::Other => NONE,
        };
        written[to.vreg()] = Written {
            node: node as u32,
            chain,
        };
        span.parts.push(part);
    }
    span
}

impl Span {
    /// What a node of it is; `None` for others.
    fn part(&self, node: u32) -> Option<Part> {
        let at = (node as usize).checked_sub(self.from)?;
        self.parts.get(at).copied()
    }

    fn nodes(&self) -> impl Iterator<Item = (usize, Part)> {
        self.parts
            .iter()
            .enumerate()
            .map(|(at, part)| (self.from + at, *part))
    }
}

/// How many chains a group has; `None` where all go at once, or nothing is gained.
fn size(nodes: &Nodes, span: &Span, written: &[Written]) -> Option<usize> {
    let most = usize::from(nodes.target.scratch()) - RESERVED;
    if span.chains <= most || span.links < LINKS * span.chains {
        return None;
    }
    // What cannot be loaded again is kept for all groups.
    let links = span
        .nodes()
        .filter(|(_, part)| matches!(part, Part::Link(_)));
    let mut kept: Vec<usize> = links
        .flat_map(|(node, _)| reads(nodes, node))
        .filter(|reg| reg.class() != RegClass::Int)
        .filter(|reg| {
            let part = span.part(written[reg.vreg()].node);
            part == Some(Part::Other)
        })
        .map(|reg| reg.vreg())
        .collect();
    kept.sort_unstable();
    kept.dedup();
    let most = most.checked_sub(kept.len()).filter(|most| *most > 3)?;
    Some(span.chains.div_ceil(span.chains.div_ceil(most)))
}

/// How often each register is read.
fn uses(nodes: &Nodes) -> Vec<u32> {
    let mut uses = vec![0; nodes.registers];
    for operand in &nodes.operands {
        if operand.kind() == OperandKind::Use {
            uses[operand.vreg().vreg()] += 1;
        }
    }
    for reg in nodes.parts.iter().flat_map(|part| &part.gives) {
        uses[reg.vreg()] += 1;
    }
    uses
}

/// How a span is gone through.
struct Plan<'a> {
    span: &'a Span,
    written: &'a [Written],
    /// Chains of a group.
    size: usize,
    /// The nodes of each group, as they stand in the span: loads are in all that read them.
    groups: Vec<Vec<u32>>,
    /// The first link of each chain, and the last.
    ends: Vec<[usize; 2]>,
}

impl<'a> Plan<'a> {
    fn new(nodes: &Nodes, span: &'a Span, written: &'a [Written], uses: &[u32]) -> Plan<'a> {
        let mut plan = Plan {
            span,
            written,
            size: size(nodes, span, written).expect("only such spans are kept"),
            groups: Vec::new(),
            ends: vec![[usize::MAX; 2]; span.chains],
        };
        for (node, part) in span.nodes() {
            if let Part::Link(chain) = part {
                let ends = &mut plan.ends[chain as usize];
                *ends = [ends[0].min(node), node];
            }
        }
        // How often each register is read by what is no link, and the groups of each node.
        let of = |(node, _)| result(nodes, node).map_or(0, |reg| uses[reg.vreg()]);
        let mut others: Vec<u32> = span.nodes().map(of).collect();
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); span.parts.len()];
        // From the last on, so that all that read a load were there before it.
        for at in (0..span.parts.len()).rev() {
            let mut own = std::mem::take(&mut groups[at]);
            match span.parts[at] {
                // It comes with the first one.
                Part::Other => own.push(0),
                Part::Link(chain) => own.push(plan.group_of(chain)),
                Part::Load => {
                    own.extend((others[at] > 0).then_some(0));
                    own.sort_unstable();
                    own.dedup();
                }
            }
            if span.parts[at] != Part::Other {
                for load in reads(nodes, span.from + at).filter_map(|reg| plan.load(reg)) {
                    others[load] -= 1;
                    groups[load].extend_from_slice(&own);
                }
            }
            groups[at] = own;
        }
        plan.groups = vec![Vec::new(); span.chains.div_ceil(plan.size)];
        for (at, own) in groups.into_iter().enumerate() {
            for group in own {
                plan.groups[group as usize].push(at as u32);
            }
        }
        plan
    }

    fn group_of(&self, chain: u32) -> u32 {
        chain / self.size as u32
    }

    /// Which load of the span a register is from.
    fn load(&self, reg: VReg) -> Option<usize> {
        let node = self.written[reg.vreg()].node;
        (self.span.part(node) == Some(Part::Load)).then(|| node as usize - self.span.from)
    }
}

/// The loads of a span while it is appended.
struct Loads {
    /// What each has written last.
    names: Vec<Option<VReg>>,
    /// Those that are still to come in their group.
    waiting: Vec<bool>,
}

/// Nodes in another order.
#[derive(Default)]
struct Rebuilt {
    codes: Vec<Code>,
    firsts: Vec<u32>,
    operands: Vec<Operand>,
}

impl Rebuilt {
    /// Appends a node; its registers are called as `name` says.
    fn copy(&mut self, nodes: &Nodes, node: usize, name: impl Fn(VReg) -> VReg) {
        self.codes.push(nodes.codes[node]);
        self.firsts.push(self.operands.len() as u32);
        for operand in operands_of(nodes, node) {
            self.operands.push(Operand::new(
                name(operand.vreg()),
                operand.constraint(),
                operand.kind(),
                operand.pos(),
            ));
        }
    }

    /// Copies a register into another one.
    fn moved(&mut self, nodes: &Nodes, from: VReg, to: VReg) {
        self.firsts.push(self.operands.len() as u32);
        self.codes.push(Code::Vector {
            op: &vector::LOAD,
            len: nodes.target.len(),
            imm: 0,
            shape: VectorShape {
                tied: false,
                second: false,
                last: Last::Reg,
                mask: false,
                zero: false,
            },
        });
        self.operands
            .extend([Operand::reg_def(to), Operand::reg_use(from)]);
    }

    /// Appends a span, group by group, each load where it is read first: what waits takes a register.
    fn span(&mut self, nodes: &mut Nodes, plan: &Plan<'_>) {
        let span = plan.span;
        let mut loads = Loads {
            names: vec![None; span.parts.len()],
            waiting: vec![false; span.parts.len()],
        };
        for group in &plan.groups {
            for at in group.iter().map(|at| *at as usize) {
                let node = span.from + at;
                if span.parts[at] == Part::Load {
                    loads.waiting[at] = true;
                    continue;
                }
                let read: Vec<VReg> = reads(nodes, node).collect();
                for load in read.into_iter().filter_map(|reg| plan.load(reg)) {
                    self.load(nodes, plan, load, &mut loads);
                }
                match span.parts[at] {
                    Part::Link(chain) => self.link(nodes, plan, (node, chain), &loads.names),
                    Part::Other | Part::Load => self.copy(nodes, node, |reg| reg),
                }
            }
            // What is read behind the span alone.
            for at in group {
                self.load(nodes, plan, *at as usize, &mut loads);
            }
        }
    }

    /// Appends a load that is still to come, behind those that its address is from.
    fn load(&mut self, nodes: &mut Nodes, plan: &Plan<'_>, at: usize, loads: &mut Loads) {
        if !std::mem::take(&mut loads.waiting[at]) {
            return;
        }
        let node = plan.span.from + at;
        let read: Vec<VReg> = reads(nodes, node).collect();
        for before in read.into_iter().filter_map(|reg| plan.load(reg)) {
            self.load(nodes, plan, before, loads);
        }
        let own = result(nodes, node).expect("a load writes a register");
        let new = match loads.names[at] {
            Some(_) => nodes.register(own.class()),
            None => own,
        };
        self.copy(nodes, node, |reg| match plan.load(reg) {
            _ if reg == own => new,
            load => load.and_then(|load| loads.names[load]).unwrap_or(reg),
        });
        loads.names[at] = Some(new);
    }

    /// Appends a link. While its chain waits, before and behind its group, its sum is in a register of its own, which can
    /// be on the stack: the allocator gives one place to all that a chain writes.
    fn link(
        &mut self,
        nodes: &mut Nodes,
        plan: &Plan<'_>,
        (node, chain): (usize, u32),
        names: &[Option<VReg>],
    ) {
        let name = |reg| {
            let load = plan.load(reg);
            load.and_then(|load| names[load]).unwrap_or(reg)
        };
        let [from, to] = ends(nodes, node);
        let [first, last] = plan.ends[chain as usize];
        let mut start = name(from);
        if node == first && plan.load(from).is_none() {
            start = nodes.register(from.class());
            self.moved(nodes, from, start);
        }
        let end = if node == last {
            nodes.register(to.class())
        } else {
            to
        };
        self.copy(nodes, node, |reg| match reg {
            _ if reg == from => start,
            _ if reg == to => end,
            _ => name(reg),
        });
        if node == last {
            self.moved(nodes, end, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{
        nodes::{Arg, MemoryAt, Vector},
        target::Target,
    };
    use rustc_hash::FxHashMap;

    /// What each register is, as a number made of what it is computed from.
    fn values(nodes: &Nodes) -> FxHashMap<VReg, u64> {
        use std::hash::{BuildHasher, Hash, Hasher};
        let mut found: FxHashMap<VReg, u64> = FxHashMap::default();
        for node in 0..nodes.codes.len() {
            let sources: Vec<u64> = reads(nodes, node).map(|reg| found[&reg]).collect();
            let Some(to) = result(nodes, node) else {
                continue;
            };
            let is_move = match nodes.codes[node] {
                Code::Vector { op, shape, .. } => {
                    std::ptr::eq(op, &vector::LOAD) && matches!(shape.last, Last::Reg)
                }
                _ => false,
            };
            let value = if is_move {
                sources[0]
            } else {
                let mut hasher = rustc_hash::FxBuildHasher.build_hasher();
                format!("{:?}", nodes.codes[node]).hash(&mut hasher);
                sources.hash(&mut hasher);
                hasher.finish()
            };
            assert!(found.insert(to, value).is_none(), "{to} is written twice");
        }
        found
    }

    /// The most vector registers that wait for a later node, those apart that only wait to be kept.
    fn most_live(nodes: &Nodes) -> usize {
        let mut last: FxHashMap<VReg, usize> = FxHashMap::default();
        for node in 0..nodes.codes.len() {
            last.extend(reads(nodes, node).map(|reg| (reg, node)));
        }
        let kept: Vec<VReg> = match nodes.codes.last() {
            Some(Code::Exit(_)) => reads(nodes, nodes.codes.len() - 1).collect(),
            _ => Vec::new(),
        };
        let mut live: Vec<(VReg, usize)> = Vec::new();
        let mut most = 0;
        for node in 0..nodes.codes.len() {
            live.retain(|(_, end)| *end > node);
            if let Some(to) = result(nodes, node).filter(|to| to.class() == RegClass::Float) {
                let end = last.get(&to).copied().unwrap_or(node);
                live.extend((!kept.contains(&to)).then_some((to, end)));
            }
            most = most.max(live.len());
        }
        most
    }

    #[test]
    fn sums_go_in_groups_and_are_what_they_were() {
        for target in [Target::Avx512, Target::Avx2] {
            let mut nodes = Nodes::default();
            nodes.target = target;
            let base = nodes.load(8, MemoryAt::Frame(0));
            let mut sums: Vec<VReg> = (0..36)
                .map(|at| {
                    let from = Vector::one(Arg::Mem(MemoryAt::Frame(64 * at)));
                    nodes.vector(&vector::LOAD, RegClass::Float, from)
                })
                .collect();
            for step in 0..8 {
                let word = nodes.load(4, MemoryAt::At(base, 4 * step));
                let x = Vector::one(Arg::Reg(word));
                let x = nodes.vector(&vector::SPLAT_GPR32, RegClass::Float, x);
                for (at, sum) in sums.iter_mut().enumerate() {
                    let w = MemoryAt::At(base, 4096 * step + 64 * at as i32);
                    let w = nodes.vector(&vector::LOAD, RegClass::Float, Vector::one(Arg::Mem(w)));
                    let v = Vector {
                        tied: Some(*sum),
                        ..Vector::two(w, Arg::Reg(x))
                    };
                    *sum = nodes.vector(&vector::FMA_F32, RegClass::Float, v);
                }
            }
            nodes.effect(Code::Exit(0), &sums);
            let (before, wide) = (values(&nodes), most_live(&nodes));
            let count = nodes.codes.len();
            group(&mut nodes);
            let (after, narrow) = (values(&nodes), most_live(&nodes));
            for sum in &sums {
                assert_eq!(before[sum], after[sum], "{target:?}: {sum}");
            }
            assert!(nodes.codes.len() > count, "{target:?}: nothing was done");
            let most = usize::from(target.scratch());
            assert!(
                wide > most && narrow <= most,
                "{target:?}: {wide}, then {narrow}"
            );
        }
    }
}
