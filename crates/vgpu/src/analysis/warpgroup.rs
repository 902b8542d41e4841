//! Products of warp groups as products of their warps, for the rest of lowering (PTX ISA 9.7.15).
//!
//! A warp of four has 16 of the 64 rows, and its part of D lies as those of products of 16 by 8 beside each other. So
//! `wgmma.mma_async.m64n16k16.f32.f16.f16 d, a, b` becomes two loads of fragments by the descriptors of A and B, made here as
//! `wgmma.load.a` and `wgmma.load.b`, which PTX has not, and two `mma.m16n8k16`. All of it is done where the instruction stands:
//! its results are there before anybody may wait for them.

use warpsmith_ptx::{
    ir::{Function, Imm, Inst, Operand, Reg, RegId, Stmt, StmtKind},
    op::Op,
    qual::Qual,
    types::Type,
};

/// The function with such products replaced; `None` if it has none. Where it is `checked`, `wgmma.group`, which PTX has not
/// either, stands before each product, and behind it with the registers that are its until it is waited for.
pub(crate) fn warpgroup(function: &Function, checked: bool) -> Option<Function> {
    let body = function.body.as_deref()?;
    if !body.iter().any(|stmt| stmt.inst().is_some_and(is_product)) {
        return None;
    }
    let mut out = function.clone();
    let mut rewrite = Rewrite {
        regs: &mut out.regs,
        pool: [Vec::new(), Vec::new(), Vec::new(), Vec::new()],
        to: Vec::with_capacity(2 * body.len()),
        checked,
    };
    for stmt in body {
        let product = stmt.inst().filter(|inst| is_product(inst));
        let done = product.and_then(|inst| rewrite.product(stmt, inst));
        if done.is_none() {
            rewrite.to.push(stmt.clone());
        }
    }
    out.body = Some(rewrite.to);
    Some(out)
}

fn is_product(inst: &Inst) -> bool {
    inst.op == Op::Wgmma && inst.quals.has(Qual::MmaAsync)
}

/// What registers of the rewriting are for.
#[derive(Clone, Copy)]
enum Of {
    A,
    B,
    /// Sums of 32 bits, and halves.
    Sum,
    Half,
}

struct Rewrite<'f> {
    regs: &'f mut Vec<Reg>,
    /// Registers of its own, used again by each product.
    pool: [Vec<RegId>; 4],
    to: Vec<Stmt>,
    checked: bool,
}

impl Rewrite<'_> {
    fn registers(&mut self, of: Of, count: usize) -> Vec<Operand> {
        let (ty, prefix) = match of {
            Of::A => (Type::B32, "%fragment_a"),
            Of::B => (Type::B32, "%fragment_b"),
            Of::Sum => (Type::F32, "%sum"),
            Of::Half => (Type::B16, "%half"),
        };
        let pool = &mut self.pool[of as usize];
        for number in pool.len()..count {
            self.regs.push(Reg {
                ty,
                prefix: prefix.into(),
                number: Some(number as u32),
            });
            pool.push(RegId(self.regs.len() as u32 - 1));
        }
        pool[..count].iter().map(|reg| Operand::Reg(*reg)).collect()
    }

    /// An instruction where `stmt` stands, under the guard of its own.
    fn push(&mut self, stmt: &Stmt, op: Op, quals: &[Qual], operands: Vec<Operand>) {
        let mut inst = Inst::new(op, quals, operands);
        inst.guard = stmt.inst().and_then(|own| own.guard);
        self.to.push(Stmt {
            kind: StmtKind::Inst(inst),
            span: stmt.span,
        });
    }

    /// `None` if it is one that is not done.
    fn product(&mut self, stmt: &Stmt, inst: &Inst) -> Option<()> {
        let words = inst.quals.as_slice();
        let [_, n, _] = words.iter().find_map(|word| word.shape())?;
        let types: Vec<Type> = inst.quals.types().collect();
        let &[d, a, b] = &types[..] else {
            return None;
        };
        let [Operand::Vec(sums), from, second, scale, rest @ ..] = &inst.operands[..] else {
            return None;
        };
        let number = |at: usize| match rest.get(at) {
            Some(Operand::Imm(Imm::Int(value))) => *value,
            _ => 0,
        };
        let blocks = n as usize / 8;
        if sums.len() % blocks != 0 {
            return None;
        }
        // Both signs can be given to B: that of a product is one.
        let negates = number(0) * number(1) == -1;
        let in_registers = matches!(from, Operand::Vec(_));
        let transposes = [
            !in_registers && number(2) == 1,
            number(if in_registers { 2 } else { 3 }) == 1,
        ];
        self.mark(stmt, Vec::new());
        self.clear(stmt, scale, sums)?;
        let rows = match from {
            Operand::Vec(items) => items.to_vec(),
            descriptor => {
                let rows = self.registers(Of::A, 4);
                let how = (Qual::A, a, transposes[0], false);
                self.load(stmt, how, rows.clone(), descriptor);
                rows
            }
        };
        let columns = self.registers(Of::B, 2 * blocks);
        let how = (Qual::B, b, transposes[1], negates);
        self.load(stmt, how, columns.clone(), second);
        let each = sums.len() / blocks;
        for (sums, columns) in sums.chunks(each).zip(columns.chunks(2)) {
            self.block(stmt, inst, [d, a, b], (sums, &rows, columns))?;
        }
        let held = sums.iter().chain(rows.iter().filter(|_| in_registers));
        self.mark(stmt, vec![Operand::Vec(held.cloned().collect())]);
        Some(())
    }

    /// Where a product begins, or which registers it holds.
    fn mark(&mut self, stmt: &Stmt, held: Vec<Operand>) {
        if self.checked {
            self.push(stmt, Op::Wgmma, &[Qual::Group], held);
        }
    }

    /// Where `scale` does not hold the sums start from zero.
    fn clear(&mut self, stmt: &Stmt, scale: &Operand, sums: &[Operand]) -> Option<()> {
        let guard = match scale {
            Operand::Imm(Imm::Int(1)) => return Some(()),
            Operand::Imm(_) => None,
            Operand::Reg(reg) => Some((*reg, true)),
            Operand::NotReg(reg) => Some((*reg, false)),
            _ => return None,
        };
        let own = stmt.inst()?.guard;
        if own.is_some() && guard.is_some() {
            return None;
        }
        for sum in sums {
            let zero = Operand::Imm(Imm::Int(0));
            let quals = [Qual::T(Type::B32)];
            let mut inst = Inst::new(Op::Mov, &quals, vec![sum.clone(), zero]);
            inst.guard = guard
                .map(|(reg, negated)| warpsmith_ptx::ir::Guard { reg, negated })
                .or(own);
            self.to.push(Stmt {
                kind: StmtKind::Inst(inst),
                span: stmt.span,
            });
        }
        Some(())
    }

    /// The fragments of a matrix in shared memory.
    fn load(
        &mut self,
        stmt: &Stmt,
        (which, ty, transposes, negates): (Qual, Type, bool, bool),
        to: Vec<Operand>,
        descriptor: &Operand,
    ) {
        let mut quals = vec![Qual::Load, which, Qual::Sync, Qual::Aligned, Qual::T(ty)];
        if transposes {
            quals.push(Qual::Trans);
        }
        let negates = Operand::Imm(Imm::Int(negates.into()));
        let operands = vec![Operand::Vec(to.into()), descriptor.clone(), negates];
        self.push(stmt, Op::Wgmma, &quals, operands);
    }

    /// Eight columns of D.
    fn block(
        &mut self,
        stmt: &Stmt,
        inst: &Inst,
        [d, a, b]: [Type; 3],
        (sums, rows, columns): (&[Operand], &[Operand], &[Operand]),
    ) -> Option<()> {
        let shape = match a {
            Type::F16 | Type::BF16 => Qual::M16n8k16,
            Type::TF32 => Qual::M16n8k8,
            Type::B1 => Qual::M16n8k256,
            _ => Qual::M16n8k32,
        };
        let vec = |items: &[Operand]| Operand::Vec(items.into());
        if a == Type::B1 {
            let quals = [Qual::And, Qual::Popc, Qual::Sync, Qual::Aligned, shape];
            let operands = vec![vec(sums), vec(rows), vec(columns)];
            self.push(stmt, Op::Wgmma, &quals, operands);
            return Some(());
        }
        let head = [Qual::Sync, Qual::Aligned, shape, Qual::Row, Qual::Col];
        let mut quals = head.to_vec();
        if inst.quals.has(Qual::Satfinite) {
            quals.push(Qual::Satfinite);
        }
        // Of eighths there are only sums of 32 bits.
        let widens = d == Type::F16 && a != Type::F16;
        let sum = if widens { Type::F32 } else { d };
        quals.extend([sum, a, b, sum].map(Qual::T));
        if !widens {
            let operands = vec![vec(sums), vec(rows), vec(columns), vec(sums)];
            self.push(stmt, Op::Mma, &quals, operands);
            return Some(());
        }
        let wide = self.registers(Of::Sum, 4);
        let halves = self.registers(Of::Half, 2);
        let [first, second] = sums else {
            return None;
        };
        for (pair, wide) in [first, second].into_iter().zip(wide.chunks(2)) {
            let b32 = [Qual::T(Type::B32)];
            self.push(stmt, Op::Mov, &b32, vec![vec(&halves), pair.clone()]);
            for (half, wide) in halves.iter().zip(wide) {
                let quals = [Type::F32, Type::F16].map(Qual::T);
                self.push(stmt, Op::Cvt, &quals, vec![wide.clone(), half.clone()]);
            }
        }
        let operands = vec![vec(&wide), vec(rows), vec(columns), vec(&wide)];
        self.push(stmt, Op::Mma, &quals, operands);
        for (pair, wide) in [first, second].into_iter().zip(wide.chunks(2)) {
            let quals = [Qual::Rn, Qual::T(Type::F16x2), Qual::T(Type::F32)];
            let operands = vec![pair.clone(), wide[1].clone(), wide[0].clone()];
            self.push(stmt, Op::Cvt, &quals, operands);
        }
        Some(())
    }
}
