//! Selectors of video instructions, `%r1.b0` and `%r1.h1`, read as bit fields that are taken out before and put
//! in behind.

use super::{Parser, Result, body::Body, lex::Kind, scope};
use crate::{
    diag::{Code, Diagnostic},
    ir::{Imm, Inst, Operand, RegId, Span, StmtKind},
    op::Op,
    qual::Qual,
    types::Type,
};

/// A part of a 32-bit register.
#[derive(Clone, Copy, Debug)]
struct Field {
    first: u8,
    bits: u8,
}

/// A selector that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selector {
    /// The operand that it belongs to.
    pub(super) operand: usize,
    field: Field,
    span: Span,
}

/// Instructions that work on one part of each operand.
fn is_scalar(op: Op) -> bool {
    matches!(
        op,
        Op::Vadd
            | Op::Vsub
            | Op::Vabsdiff
            | Op::Vmin
            | Op::Vmax
            | Op::Vshl
            | Op::Vshr
            | Op::Vmad
            | Op::Vset
    )
}

/// Instructions that work on two or four parts at once, whose selectors say which.
fn is_packed(op: Op) -> bool {
    matches!(
        op,
        Op::Vadd2
            | Op::Vadd4
            | Op::Vsub2
            | Op::Vsub4
            | Op::Vavrg2
            | Op::Vavrg4
            | Op::Vabsdiff2
            | Op::Vabsdiff4
            | Op::Vmin2
            | Op::Vmin4
            | Op::Vmax2
            | Op::Vmax4
            | Op::Vset2
            | Op::Vset4
    )
}

impl<'t> Parser<'t> {
    /// Takes the selector that stands behind a register, if the instruction has any.
    pub(super) fn selector(&mut self, op: Op) -> Result<()> {
        let token = self.token();
        if token.kind != Kind::Dot || !(is_scalar(op) || is_packed(op)) {
            return Ok(());
        }
        let field = match token.text {
            ".b0" => (0, 8),
            ".b1" => (8, 8),
            ".b2" => (16, 8),
            ".b3" => (24, 8),
            ".h0" => (0, 16),
            ".h1" => (16, 16),
            _ => (0, 0),
        };
        if is_packed(op) || field.1 == 0 {
            return Err(self.unsupported_selector());
        }
        let (first, bits) = field;
        self.selectors.push(Selector {
            operand: 0,
            field: Field { first, bits },
            span: token.span(),
        });
        self.advance();
        Ok(())
    }

    fn unsupported_selector(&self) -> Box<Diagnostic> {
        let what = format!("selector `{}`", self.token().text);
        self.fault(Code::Unsupported { what }, self.here())
    }

    /// Puts an instruction into the body, with what its selectors ask for before and behind it.
    pub(super) fn push_selected(
        &mut self,
        body: &mut Body<'t>,
        mut inst: Inst,
        span: Span,
    ) -> Result<()> {
        let selectors = std::mem::take(&mut self.selectors);
        let second = [Qual::Add, Qual::Min, Qual::Max];
        let second = second.iter().any(|qual| inst.quals.has(*qual));
        let merged = selectors.iter().any(|selector| selector.operand == 0);
        if is_scalar(inst.op) && inst.op != Op::Vmad && !second && !merged {
            // What a part of the result would be put into.
            inst.operands.truncate(3);
        }
        let types: Vec<Type> = inst.quals.types().collect();
        // Types of the operands: results come with `vset` alone in 32 bits without a name.
        let first = usize::from(inst.op != Op::Vset);
        let mut behind = None;
        for selector in selectors {
            let Field { first: low, bits } = selector.field;
            let field = [i64::from(low), i64::from(bits)].map(|n| Operand::Imm(Imm::Int(n)));
            match selector.operand {
                0 => behind = Some((field, selector.span)),
                at @ (1 | 2) => {
                    let ty = types.get(first + at - 1).copied().unwrap_or(Type::U32);
                    let to = Operand::Reg(self.scratch(body));
                    let from = std::mem::replace(&mut inst.operands[at], to.clone());
                    let operands = [to, from].into_iter().chain(field);
                    let mut take = Inst::new(Op::Bfe, &[Qual::T(ty)], operands);
                    take.guard = inst.guard;
                    self.push(body, StmtKind::Inst(take), span);
                }
                _ => {
                    let what = "a selector of the third operand".to_owned();
                    return Err(self.fault(Code::Unsupported { what }, selector.span));
                }
            }
        }
        let Some((field, place)) = behind else {
            self.push(body, StmtKind::Inst(inst), span);
            return Ok(());
        };
        // `d.h0, a, b, c`: the result replaces a part of c.
        let saturates = inst.quals.has(Qual::Sat);
        if inst.op == Op::Vmad || inst.operands.len() != 4 || second || saturates {
            let what = "a selector of the result of such an instruction".to_owned();
            return Err(self.fault(Code::Unsupported { what }, place));
        }
        let guard = inst.guard;
        let whole = Operand::Reg(self.scratch(body));
        let rest = inst.operands.pop();
        let to = std::mem::replace(&mut inst.operands[0], whole.clone());
        self.push(body, StmtKind::Inst(inst), span);
        let operands = [to, whole].into_iter().chain(rest).chain(field);
        let mut put = Inst::new(Op::Bfi, &[Qual::T(Type::B32)], operands);
        put.guard = guard;
        self.push(body, StmtKind::Inst(put), span);
        Ok(())
    }

    /// A register of its own.
    fn scratch(&mut self, body: &mut Body<'t>) -> RegId {
        let regs = &mut self.module.functions[body.function.index()].regs;
        let id = RegId(regs.len() as u32);
        let unique = body.scopes.claim("%part");
        regs.push(scope::register(Type::B32, &unique));
        id
    }
}
