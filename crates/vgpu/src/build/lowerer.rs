//! The builder that instruction families use: operands to slots, ops to the program.

use super::{Chain, Halves, Input, Piece, moves, slots::Need, watched::Watched};
use crate::{
    analysis::{Code, Home, Layout, immediate, roles},
    check::Subject,
    error::Error,
    op::{
        BlockInfo, Cell, Flow, Handler, MicroOp, Note, Pred, Preset, Program, Slot, SpanId, Value,
        Words, is_clock, is_per_cta,
    },
};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId, Span, VarId},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// A source operand: a slot with one scalar or 32 lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Src {
    pub(crate) slot: Slot,
    pub(crate) uniform: bool,
}

/// A destination: a slot with one scalar or 32 lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dst {
    pub(crate) slot: Slot,
    pub(crate) uniform: bool,
}

/// Lowers one kernel.
pub(crate) struct Lowerer<'a> {
    pub(crate) input: &'a Input<'a>,
    /// The program so far.
    pub(crate) ops: Vec<MicroOp>,
    pub(crate) regs: Vec<Dst>,
    pub(crate) aliases: Vec<Option<Dst>>,
    /// Definitions and reads of each register.
    pub(crate) counts: Vec<[u32; 2]>,
    consts: FxHashMap<u64, Slot>,
    const_list: Vec<(Slot, u64)>,
    pub(crate) presets: FxHashMap<Value, Slot>,
    pub(crate) per_launch: Vec<Preset>,
    pub(crate) per_cta: Vec<Preset>,
    extra: Vec<u32>,
    spans: Vec<Span>,
    /// The end of the frame so far.
    pub(crate) next: u32,
    temps: Vec<Slot>,
    temps_used: usize,
    pub(crate) watched: Watched,
    pub(crate) gates: Vec<(u32, u32)>,
    pub(crate) marks: Vec<(u32, Note)>,
    lost: Vec<Slot>,
    carry: Option<Slot>,
    /// The multiply-adds that the next may join.
    pub(crate) chain: Option<Chain>,
    /// The pair of halves that was taken apart last.
    pub(crate) halves: Option<Halves>,
    /// The instructions of each block and their ops.
    pub(crate) pieces: Vec<Vec<Piece>>,
}

impl<'a> Lowerer<'a> {
    pub(crate) fn new(input: &'a Input<'a>, start: u32) -> Lowerer<'a> {
        let count = input.function.regs.len();
        Lowerer {
            input,
            ops: Vec::new(),
            regs: vec![
                Dst {
                    slot: Slot::SCRATCH,
                    uniform: false
                };
                count
            ],
            aliases: vec![None; count],
            counts: vec![[0; 2]; count],
            consts: FxHashMap::default(),
            const_list: Vec::new(),
            presets: FxHashMap::default(),
            per_launch: Vec::new(),
            per_cta: Vec::new(),
            extra: Vec::new(),
            spans: vec![Span::None],
            next: start,
            temps: Vec::new(),
            temps_used: 0,
            watched: Watched::default(),
            gates: Vec::new(),
            marks: Vec::new(),
            lost: Vec::new(),
            carry: None,
            chain: None,
            halves: None,
            pieces: Vec::new(),
        }
    }

    /// The slot of the carry flags: a lane mask.
    pub(crate) fn carry_flag(&mut self) -> Slot {
        match self.carry {
            Some(slot) => slot,
            None => {
                let slot = self.scalar_slot();
                *self.carry.insert(slot)
            }
        }
    }

    /// Whether the kernel makes generic addresses of other than global memory.
    pub(crate) fn makes_generic(&self) -> bool {
        let body = self.input.function.body.as_deref().unwrap_or(&[]);
        body.iter().any(|stmt| {
            stmt.inst().is_some_and(|inst| {
                let other = matches!(
                    roles::space(inst),
                    Space::Shared | Space::Local | Space::Param
                );
                inst.op == Op::Mapa || inst.op == Op::Cvta && other && !inst.quals.has(Qual::To)
            })
        })
    }

    /// The slot of the carry flag, if there is one.
    pub(crate) fn carry_slot(&self) -> Option<Slot> {
        self.carry
    }

    /// Addresses and sizes of the module's constants.
    pub(crate) fn constants(&self) -> Vec<(u64, u64)> {
        let vars = self.input.module.vars.iter().zip(&self.input.layout.module);
        vars.filter(|(var, _)| var.space == Space::Const)
            .map(|(var, address)| (*address, var.bytes().unwrap_or(0)))
            .collect()
    }

    /// Where variables are.
    pub(crate) fn layout(&self) -> &'a Layout {
        self.input.layout
    }

    /// Whether a checker watches.
    pub(crate) fn is_checked(&self) -> bool {
        self.input.checked
    }

    /// The tier of the machine.
    pub(crate) fn tier(&self) -> crate::Tier {
        self.input.tier
    }

    /// The declared type of a register.
    pub(crate) fn type_of(&self, reg: RegId) -> Type {
        self.input.function.regs[reg.index()].ty
    }

    /// The width in bits of a register operand; `None` for others.
    pub(crate) fn reg_bits(&self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) => Some(self.type_of(*reg).bits()),
            _ => None,
        }
    }

    /// The state space of a variable.
    pub(crate) fn space_of(&self, var: VarId) -> Option<Space> {
        let (module, function) = (self.input.module, self.input.function);
        match var {
            VarId::Module(i) => module.vars.get(i as usize).map(|v| v.space),
            VarId::Function(i) => function.vars.get(i as usize).map(|v| v.space),
            VarId::Param(_) => Some(Space::Param),
            VarId::Return(_) => None,
        }
    }

    /// The name of what a call goes to.
    pub(crate) fn callee(&self, inst: &Inst) -> &str {
        let functions = &self.input.module.functions;
        let named = inst.operands.iter().find_map(|operand| match operand {
            Operand::Func(id) => functions.get(id.index()),
            _ => None,
        });
        named.map_or("a pointer", |function| &function.name)
    }

    /// The error of an instruction that is not known here.
    pub(crate) fn unsupported(&self, inst: &Inst) -> Error {
        self.refuse(format!("{}{}", inst.op.name(), inst.quals))
    }

    /// The error of something not known here, at the current place.
    pub(crate) fn refuse(&self, what: String) -> Error {
        Error::Unsupported {
            kernel: self.input.function.name.clone(),
            span: self.spans.last().copied().unwrap_or_default(),
            what,
        }
    }

    /// A new instruction begins: its place, and its temporaries are free again.
    pub(crate) fn at(&mut self, span: Span) {
        self.spans.push(span);
        self.temps_used = 0;
    }

    /// The place of the current instruction.
    pub(crate) fn here(&self) -> SpanId {
        SpanId(self.spans.len() as u32 - 1)
    }

    /// Handler `H` for the tier.
    pub(crate) fn op<H: Handler>(&self, args: H::Args) -> MicroOp {
        MicroOp::new::<H>(self.input.tier, args, self.here())
    }

    /// Handler `H` compiled once, for what is seldom run or has no vectors.
    pub(crate) fn cold<H: Handler>(&self, args: H::Args) -> MicroOp {
        MicroOp::cold::<H>(args, self.here())
    }

    /// Flow handler `F`.
    pub(crate) fn flow<F: Flow>(&self, args: F::Args) -> MicroOp {
        MicroOp::flow::<F>(args, self.here())
    }

    /// Appends an op; returns its index.
    pub(crate) fn emit(&mut self, op: MicroOp) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    /// Appends further operands; returns where.
    pub(crate) fn extra(&mut self, values: &[u32]) -> Words {
        let at = Words(self.extra.len() as u32);
        self.extra.extend_from_slice(values);
        at
    }

    /// The further operands from `at` on.
    pub(crate) fn extra_from(&self, at: Words) -> &[u32] {
        self.extra.get(at.0 as usize..).unwrap_or(&[])
    }

    /// The same to be changed.
    pub(crate) fn extra_from_mut(&mut self, at: Words) -> &mut [u32] {
        self.extra.get_mut(at.0 as usize..).unwrap_or(&mut [])
    }

    /// A slot for a mask of what shuffles did not bring of a register.
    pub(crate) fn lost_slot(&mut self) -> Slot {
        let slot = self.scalar_slot();
        self.lost.push(slot);
        slot
    }

    pub(crate) fn scalar_slot(&mut self) -> Slot {
        let slot = Slot(self.next);
        self.next += 8;
        slot
    }

    /// A slot of 256 bytes that is free after this instruction.
    pub(crate) fn temp(&mut self) -> Slot {
        if self.temps_used == self.temps.len() {
            let slot = self.next.next_multiple_of(64);
            self.next = slot + 256;
            self.temps.push(Slot(slot));
        }
        self.temps_used += 1;
        self.temps[self.temps_used - 1]
    }

    /// The slot of a constant.
    pub(crate) fn constant(&mut self, value: u64) -> Src {
        let slot = match self.consts.get(&value) {
            Some(slot) => *slot,
            None => {
                let slot = self.scalar_slot();
                self.consts.insert(value, slot);
                self.const_list.push((slot, value));
                slot
            }
        };
        Src {
            slot,
            uniform: true,
        }
    }

    /// The slot of a value from outside.
    pub(crate) fn preset(&mut self, value: Value) -> Src {
        let uniform = !matches!(value, Value::Lanes(_));
        if let Some(slot) = self.presets.get(&value) {
            return Src {
                slot: *slot,
                uniform,
            };
        }
        let slot = if uniform {
            self.scalar_slot()
        } else {
            let slot = self.next.next_multiple_of(64);
            self.next = slot + 128;
            Slot(slot)
        };
        self.presets.insert(value, slot);
        let preset = Preset { slot, value };
        match value {
            Value::Scalar(special) if is_per_cta(special) => self.per_cta.push(preset),
            Value::Scalar(_) | Value::Lanes(_) | Value::Param { .. } => {
                self.per_launch.push(preset)
            }
        }
        Src { slot, uniform }
    }

    fn special(&mut self, special: warpsmith_ptx::special::Special) -> Src {
        if is_clock(special) {
            let slot = self.temp();
            moves::emit_clock(self, special, slot);
            return Src {
                slot,
                uniform: true,
            };
        }
        self.preset(if roles::is_uniform_special(special, self.input.block) {
            Value::Scalar(special)
        } else {
            Value::Lanes(special)
        })
    }

    /// A source operand read as `bits` wide.
    pub(crate) fn src(&mut self, operand: &Operand, bits: u32) -> Result<Src, Error> {
        match operand {
            Operand::Reg(reg) => {
                let Dst { slot, uniform } = self.regs[reg.index()];
                let ty = self.type_of(*reg);
                if ty.bits() > 64 {
                    return Err(self.refuse(format!("a register of {} bits", ty.bits())));
                }
                // The cell of the operation decides the stride.
                if !uniform && ty != Type::Pred && (ty.bits() > 32) != (bits > 32) {
                    return Ok(self.resize(slot, ty, bits));
                }
                Ok(Src { slot, uniform })
            }
            Operand::Imm(imm) => Ok(self.constant(immediate(*imm, bits))),
            Operand::Special(special) => {
                let src = self.special(*special);
                if !src.uniform && bits > 32 {
                    return Ok(self.resize(src.slot, Type::U32, bits));
                }
                Ok(src)
            }
            Operand::Var(var, offset) => match self.input.layout.address(*var) {
                Some(address) => Ok(self.constant(address.wrapping_add(*offset as u64))),
                None => Err(self.refuse("the address of a return parameter".to_owned())),
            },
            Operand::NotReg(_)
            | Operand::Addr(_)
            | Operand::Vec(_)
            | Operand::Pair(_)
            | Operand::List(_)
            | Operand::Label(_)
            | Operand::Func(_)
            | Operand::Sink => Err(self.refuse("this operand".to_owned())),
        }
    }

    fn resize(&mut self, slot: Slot, ty: Type, bits: u32) -> Src {
        let to = self.temp();
        moves::emit_resize(self, to, slot, ty, bits);
        Src {
            slot: to,
            uniform: false,
        }
    }

    /// 32 lanes of up to 32 bits.
    pub(crate) fn src32(&mut self, operand: &Operand) -> Result<Slot, Error> {
        let src = self.src(operand, 32)?;
        Ok(self.splat::<u32>(src).slot)
    }

    /// 32 lanes of 64 bits.
    pub(crate) fn src64(&mut self, operand: &Operand) -> Result<Slot, Error> {
        let src = self.src(operand, 64)?;
        Ok(self.splat::<u64>(src).slot)
    }

    /// A scalar: of a varying register the first active lane.
    pub(crate) fn scalar_src(&mut self, operand: &Operand) -> Result<Slot, Error> {
        let src = self.src(operand, 32)?;
        if src.uniform {
            return Ok(src.slot);
        }
        let to = self.temp();
        moves::emit_first_lane(self, to, src.slot);
        Ok(to)
    }

    /// The slot with the member lanes of a gate, and whether each lane has its own.
    pub(crate) fn gate_members(
        &mut self,
        members: Option<&Operand>,
    ) -> Result<(Slot, bool), Error> {
        let src = match members {
            Some(operand) => self.src(operand, 32)?,
            None => self.constant(0xFFFF_FFFF),
        };
        Ok((src.slot, !src.uniform))
    }

    /// Lanes of a source that may be a scalar.
    pub(crate) fn splat<C: Cell>(&mut self, src: Src) -> Src {
        if !src.uniform {
            return src;
        }
        let slot = self.temp();
        moves::emit_splat::<C>(self, slot, src.slot);
        Src {
            slot,
            uniform: false,
        }
    }

    /// A predicate source.
    pub(crate) fn pred(&mut self, operand: &Operand) -> Result<Pred, Error> {
        match operand {
            Operand::Reg(reg) if self.type_of(*reg) == Type::Pred => {
                Ok(Pred::plain(self.slot_of(*reg)))
            }
            Operand::NotReg(reg) if self.type_of(*reg) == Type::Pred => {
                Ok(Pred::plain(self.slot_of(*reg)).negated())
            }
            Operand::Imm(imm) => {
                let value = if immediate(*imm, 32) & 1 != 0 {
                    0xFFFF_FFFF
                } else {
                    0
                };
                Ok(Pred::plain(self.constant(value).slot))
            }
            _ => Err(self.refuse("this predicate operand".to_owned())),
        }
    }

    /// A destination operand. A sink is a slot nobody reads.
    pub(crate) fn dst(&mut self, operand: &Operand) -> Result<Dst, Error> {
        match operand {
            Operand::Reg(reg) => {
                let bits = self.type_of(*reg).bits();
                if bits > 64 {
                    return Err(self.refuse(format!("a register of {bits} bits")));
                }
                Ok(self.regs[reg.index()])
            }
            Operand::Sink => Ok(Dst {
                slot: self.temp(),
                uniform: false,
            }),
            _ => Err(self.refuse("this destination".to_owned())),
        }
    }

    /// The scalar slot to compute into for a destination of either kind.
    pub(crate) fn scalar_for(&mut self, dst: Dst) -> Slot {
        if dst.uniform { dst.slot } else { self.temp() }
    }

    /// Copies a scalar that [`Lowerer::scalar_for`] gave to all lanes of a varying destination.
    pub(crate) fn spread<C: Cell>(&mut self, dst: Dst, from: Slot) {
        if !dst.uniform {
            moves::emit_splat::<C>(self, dst.slot, from);
        }
    }

    /// Whether a register has one definition and one reader.
    pub(crate) fn is_read_once(&self, reg: RegId) -> bool {
        self.counts[reg.index()] == [1, 1]
    }

    /// The slot of a register.
    pub(crate) fn slot_of(&self, reg: RegId) -> Slot {
        self.regs[reg.index()].slot
    }

    /// Gives each register its slot.
    pub(crate) fn place(&mut self, needs: &[Need], slots: &[Slot]) {
        for reg in 0..self.regs.len() {
            self.regs[reg] = if let Some(alias) = self.aliases[reg] {
                alias
            } else {
                match needs[reg] {
                    // Predicates, uniform registers, and wide ones that no instruction takes.
                    Need::Nothing => Dst {
                        slot: self.scalar_slot(),
                        uniform: true,
                    },
                    Need::Narrow | Need::Wide => Dst {
                        slot: slots[reg],
                        uniform: false,
                    },
                }
            };
        }
    }

    /// Where each register lies.
    pub(crate) fn homes(&self) -> Vec<Home> {
        let regs = self.input.function.regs.iter().zip(&self.regs);
        regs.enumerate()
            .map(|(at, (reg, dst))| match reg.ty {
                _ if self.is_alias(at) => Home::Fixed,
                Type::Pred => Home::Mask(dst.slot.0),
                _ if dst.uniform => Home::Scalar(dst.slot.0),
                ty if ty.bits() <= 32 => Home::Narrow(dst.slot.0),
                ty if ty.bits() == 64 => Home::Wide(dst.slot.0),
                _ => Home::Fixed,
            })
            .collect()
    }

    /// The finished program.
    pub(crate) fn finish(self, blocks: Vec<BlockInfo>, code: Code) -> Program {
        let layout = self.input.layout;
        let subject = Subject {
            name: self.input.function.name.clone(),
            constants: self.constants(),
            spans: self.spans,
            accesses: self.watched.accesses,
            shared: layout.shared.clone(),
            open_shared: layout.open_shared,
            local: layout.local.clone(),
            local_bytes: layout.local_bytes,
        };
        Program {
            subject: Arc::new(subject),
            ops: self.ops,
            blocks,
            extra: self.extra,
            frame_bytes: self.next.next_multiple_of(64),
            local_bytes: self.input.layout.local_bytes,
            has_tensor: self.input.has_tensor(),
            consts: self.const_list,
            per_launch: self.per_launch,
            per_cta: self.per_cta,
            shadows: self.watched.shadows,
            lost: self.lost,
            functions: {
                let all = self.input.module.functions.iter();
                all.map(|function| function.name.clone()).collect()
            },
            code: Arc::new(code),
            gates: self.gates,
            marks: self.marks,
            notes: Default::default(),
            watched: Default::default(),
            native: None,
        }
    }
}
