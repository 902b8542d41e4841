//! Operands: how many, of what kind, type and state space.

use super::{Check, Known, constants, form_text, reg_name, special_need};
use crate::{
    diag::Code,
    ir::{
        Address, Base, FuncId, Function, FunctionKind, Imm, Inst, Operand, RegId, Span, Var, VarId,
    },
    isa::{Access, Form, Shape, Slot},
    op::Op,
    qual::Qual,
    special::Special,
    types::{Space, Type, TypeKind},
};

/// One operand under check.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) function: &'a Function,
    pub(super) inst: &'a Inst,
    // A reference: copies of what was just written would wait for each other.
    pub(super) form: &'a Form,
    pub(super) index: usize,
    access: Access,
    pub(super) span: Span,
}

/// How a register's width may differ from the type's.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Width {
    Equal,
    OrWider,
}

/// Whether a register of type `reg` can hold an operand of type `ty`.
fn fits(ty: Type, reg: Type, width: Width) -> bool {
    let size = match width {
        Width::Equal => reg.bits() == ty.bits(),
        Width::OrWider => reg.bits() >= ty.bits(),
    };
    let bits = reg.kind() == TypeKind::Bits;
    let kind = match ty.kind() {
        TypeKind::Pred => reg == Type::Pred,
        TypeKind::Signed | TypeKind::Unsigned => bits || reg.is_int(),
        TypeKind::Bits => reg != Type::Pred,
        TypeKind::Float | TypeKind::Packed => bits || reg == ty,
    };
    size && kind
}

fn describe(operand: &Operand) -> &'static str {
    match operand {
        Operand::Reg(_) => "a register",
        Operand::NotReg(_) => "a negated predicate",
        Operand::Imm(Imm::Int(_) | Imm::Uint(_)) => "an integer constant",
        Operand::Imm(Imm::F32(_) | Imm::F64(_)) => "a floating-point constant",
        Operand::Special(_) => "a special register",
        Operand::Var(..) => "the address of a variable",
        Operand::Addr(_) => "a memory address",
        Operand::Vec(_) => "a vector",
        Operand::Pair(_) => "a pair",
        Operand::List(_) => "a list",
        Operand::Label(_) => "a label",
        Operand::Func(_) => "a function",
        Operand::Sink => "`_`",
    }
}

impl<'m> Check<'m> {
    pub(super) fn inst(
        &mut self,
        function: &'m Function,
        inst: &'m Inst,
        form: Option<&'m Known>,
        span: Span,
    ) {
        if let Some(guard) = inst.guard
            && let Some(found) = self.reg(function, guard.reg, span)
            && found != Type::Pred
        {
            let name = reg_name(function, guard.reg);
            self.report(function, Code::GuardType { name, found }, span);
        }
        let Some(form) = self.known_form(function, inst, form, span) else {
            return;
        };
        for operand in &inst.operands {
            if let Operand::Special(special) = operand {
                self.need(function, special.name(), special_need(*special), span);
            }
        }
        if inst.op == Op::Cvta && inst.quals.has(Qual::T(Type::U32)) {
            let form = form_text(inst);
            self.report(function, Code::AddressSize { form }, span);
        }
        let place = Place {
            function,
            inst,
            form,
            index: 0,
            access: Access::Read,
            span,
        };
        if inst.op == Op::Call {
            self.call(place);
            return;
        }
        let Some(slots) = form.assign(inst.operands.len()) else {
            let (least, most) = form.operand_counts();
            let code = Code::OperandCount {
                form: form_text(inst),
                least,
                most,
                found: inst.operands.len(),
            };
            self.report(function, code, span);
            return;
        };
        for (index, (operand, slot)) in inst.operands.iter().zip(slots).enumerate() {
            let place = Place {
                index,
                access: slot.access,
                ..place
            };
            self.operand(place, operand, slot);
        }
        self.constants(place);
    }

    /// The type of a register that exists.
    fn reg(&mut self, function: &Function, id: RegId, span: Span) -> Option<Type> {
        let found = function.regs.get(id.index()).map(|reg| reg.ty);
        if found.is_none() {
            self.dangling(function, "register", id.0, function.regs.len(), span);
        }
        found
    }

    fn var(&mut self, function: &'m Function, id: VarId, span: Span) -> Option<&'m Var> {
        let (list, at): (&'m [Var], u32) = match id {
            VarId::Module(at) => (&self.module.vars, at),
            VarId::Function(at) => (&function.vars, at),
            VarId::Param(at) => (&function.params, at),
            VarId::Return(at) => (&function.returns, at),
        };
        let found = list.get(at as usize);
        if found.is_none() {
            self.dangling(function, "variable", at, list.len(), span);
        }
        found
    }

    pub(super) fn kind(&mut self, place: Place<'_>, expected: &'static str, operand: &Operand) {
        let code = Code::OperandKind {
            form: form_text(place.inst),
            index: place.index,
            expected,
            found: describe(operand),
        };
        self.report(place.function, code, place.span);
    }

    pub(super) fn register(&mut self, place: Place<'_>, id: RegId, ty: Type, width: Width) {
        // Tensor memory has words of any type.
        let any = place.inst.op == Op::Tcgen05 && ty == Type::B32;
        if let Some(found) = self.reg(place.function, id, place.span)
            && !fits(ty, found, width)
            && !(any && found == Type::F32)
        {
            let code = Code::OperandType {
                form: form_text(place.inst),
                index: place.index,
                expected: ty,
                found,
            };
            self.report(place.function, code, place.span);
        }
    }

    fn operand(&mut self, place: Place<'m>, operand: &'m Operand, slot: &Slot) {
        let form = place.form;
        if slot.sink && *operand == Operand::Sink {
            return;
        }
        match slot.shape {
            Shape::Value(ty) => self.value(place, operand, form.ty(ty), Width::Equal),
            Shape::Relaxed(ty) => self.value(place, operand, form.ty(ty), Width::OrWider),
            Shape::Vector(ty) if form.vector() == 1 => {
                self.value(place, operand, form.ty(ty), Width::OrWider);
            }
            Shape::Vector(ty) => {
                let count = Some(form.vector());
                self.vector(place, operand, count, form.ty(ty), Width::OrWider);
            }
            Shape::Fragment(count, ty) => {
                let count = count.or_else(|| constants::elements(place.inst));
                self.vector(place, operand, count, form.ty(ty), Width::Equal);
            }
            Shape::Move(ty) => self.moved(place, operand, form.ty(ty)),
            Shape::AddressValue(ty) => match operand {
                Operand::Var(id, _) => {
                    if let Some(var) = self.var(place.function, *id, place.span)
                        && form.space() != Space::Generic
                    {
                        self.space(place, form.space(), var);
                    }
                }
                other => self.value(place, other, form.ty(ty), Width::Equal),
            },
            Shape::Sink => {
                if *operand != Operand::Sink {
                    self.kind(place, "`_`", operand);
                }
            }
            Shape::VectorPair(ty) => self.vector_pair(place, operand, form.ty(ty)),
            Shape::Both(_) if !matches!(operand, Operand::Pair(_)) => {
                self.kind(place, "a pair", operand);
            }
            Shape::Pair(ty) | Shape::Both(ty) => match operand {
                Operand::Pair(pair) => {
                    let sinks = [&pair.0, &pair.1].map(|side| *side == Operand::Sink);
                    if !(slot.sink && sinks[0]) {
                        self.value(place, &pair.0, form.ty(ty), Width::Equal);
                    }
                    // One side is a result that is kept; where there must be a predicate, that one.
                    let may = !sinks[0] && !matches!(slot.shape, Shape::Both(_));
                    if !(may && sinks[1]) {
                        self.value(place, &pair.1, Type::Pred, Width::Equal);
                    }
                }
                other => self.value(place, other, form.ty(ty), Width::Equal),
            },
            Shape::Predicate => self.value(place, operand, Type::Pred, Width::Equal),
            Shape::Address(space) => match operand {
                Operand::Addr(address) => {
                    self.address(place, *address, space.unwrap_or(form.space()));
                }
                other => self.kind(place, "a memory address", other),
            },
            Shape::TensorMemory | Shape::TensorMatrix | Shape::Enable => {
                self.of_tensor_memory(place, operand, slot.shape);
            }
            Shape::Pointer => match operand {
                Operand::Reg(id) => self.register(place, *id, Type::U64, Width::Equal),
                other => self.kind(place, "an address in a register", other),
            },
            Shape::Immediate => match operand {
                Operand::Imm(Imm::Int(_) | Imm::Uint(_)) | Operand::Special(Special::WarpSz) => {}
                other => self.kind(place, "an integer constant", other),
            },
            Shape::Label => {
                if !matches!(operand, Operand::Label(_)) {
                    self.kind(place, "a label", operand);
                }
            }
            Shape::Size => match operand {
                Operand::Reg(id) => {
                    let found = self.reg(place.function, *id, place.span);
                    if found != Some(Type::Pred) {
                        self.register(place, *id, Type::U32, Width::Equal);
                    }
                }
                other => self.value(place, other, Type::U32, Width::Equal),
            },
            Shape::Texture => self.texture(place, operand),
            Shape::Tensor => self.tensor(place, operand),
            Shape::Wgmma => match operand {
                Operand::Vec(_) => self.vector(place, operand, Some(4), Type::B32, Width::Equal),
                other => self.value(place, other, Type::B64, Width::Equal),
            },
            Shape::Call => {}
        }
    }

    /// A single value.
    pub(super) fn value(&mut self, place: Place<'m>, operand: &Operand, ty: Type, width: Width) {
        let reads = place.access == Access::Read;
        match operand {
            Operand::Reg(id) => self.register(place, *id, ty, width),
            Operand::NotReg(id) if reads && ty == Type::Pred => {
                self.register(place, *id, ty, width);
            }
            Operand::Imm(Imm::Int(_) | Imm::Uint(_)) | Operand::Special(Special::WarpSz)
                if reads && !matches!(ty.kind(), TypeKind::Float | TypeKind::Packed) => {}
            Operand::Imm(Imm::F32(_) | Imm::F64(_))
                if reads && matches!(ty, Type::F32 | Type::F64 | Type::B32 | Type::B64) => {}
            Operand::Special(special) if reads && matches!(place.inst.op, Op::Mov | Op::Cvt) => {
                if special.ty().bits() != ty.bits()
                    && !(ty.bits() == 16 && special.ty() == Type::U32)
                {
                    let code = Code::OperandType {
                        form: form_text(place.inst),
                        index: place.index,
                        expected: ty,
                        found: special.ty(),
                    };
                    self.report(place.function, code, place.span);
                }
            }
            other => {
                let expected = match (reads, ty.kind()) {
                    (false, _) => "a register",
                    (true, TypeKind::Pred) => "a predicate",
                    (true, TypeKind::Float) => "a register or a floating-point constant",
                    (true, TypeKind::Packed) => "a register",
                    (true, _) => "a register or an integer constant",
                };
                self.kind(place, expected, other);
            }
        }
    }

    pub(super) fn vector(
        &mut self,
        place: Place<'m>,
        operand: &'m Operand,
        count: Option<u8>,
        ty: Type,
        width: Width,
    ) {
        let Operand::Vec(items) = operand else {
            self.kind(place, "a vector", operand);
            return;
        };
        if count.is_some_and(|count| usize::from(count) != items.len()) || items.is_empty() {
            let code = Code::VectorLength {
                form: form_text(place.inst),
                index: place.index,
                expected: count.unwrap_or(1).into(),
                found: items.len(),
            };
            self.report(place.function, code, place.span);
        }
        let fragment = width == Width::Equal;
        if place.inst.op == Op::Tcgen05 && place.access == Access::Write {
            self.distinct(place, operand, items);
        }
        self.kept(place, operand, items);
        for item in items {
            match item {
                Operand::Sink if place.access == Access::Write && fragment => {
                    let what =
                        format!("`{}` whose results are not all kept", form_text(place.inst));
                    self.report(place.function, Code::Unsupported { what }, place.span);
                }
                Operand::Sink if place.access == Access::Write => {}
                // Only offsets of a tensor, derivatives, and words for tensor memory may be numbers.
                Operand::Imm(_)
                    if fragment
                        && ty != Type::U16
                        && !matches!(place.inst.op, Op::Tex | Op::Tcgen05) =>
                {
                    self.kind(place, "a vector of registers", item);
                }
                item => self.value(place, item, ty, width),
            }
        }
    }

    /// Of a vector that is written, an element is kept: it tells what they all are.
    fn kept(&mut self, place: Place<'_>, operand: &Operand, items: &[Operand]) {
        if !items.is_empty() && items.iter().all(|item| *item == Operand::Sink) {
            self.kind(place, "a register among its elements", operand);
        }
    }

    /// A side of `mov`.
    fn moved(&mut self, place: Place<'m>, operand: &'m Operand, ty: Type) {
        match operand {
            Operand::Var(id, _) if place.access == Access::Read => {
                let Some(var) = self.var(place.function, *id, place.span) else {
                    return;
                };
                let wide = matches!(var.space, Space::Global | Space::Const | Space::Generic);
                if !(ty.bits() == 64 || (ty.bits() == 32 && !wide)) || ty.is_float() {
                    self.kind(place, "a value of the type's width", operand);
                }
            }
            Operand::Func(id) if place.access == Access::Read => {
                self.func(place, *id);
                if ty.bits() != 64 {
                    self.kind(place, "a value of the type's width", operand);
                }
            }
            Operand::Vec(items) => {
                let count = items.len() as u32;
                if !matches!(count, 2 | 4) || ty.bits() / count < 8 || ty.kind() != TypeKind::Bits {
                    let code = Code::VectorLength {
                        form: form_text(place.inst),
                        index: place.index,
                        expected: 2,
                        found: items.len(),
                    };
                    self.report(place.function, code, place.span);
                    return;
                }
                let element = match ty.bits() / count {
                    8 => Type::B8,
                    16 => Type::B16,
                    32 => Type::B32,
                    _ => Type::B64,
                };
                self.kept(place, operand, items);
                for item in items {
                    if !(*item == Operand::Sink && place.access == Access::Write) {
                        self.value(place, item, element, Width::Equal);
                    }
                }
            }
            other => self.value(place, other, ty, Width::Equal),
        }
    }

    fn space(&mut self, place: Place<'_>, expected: Space, var: &Var) {
        if var.space != expected {
            let code = Code::WrongSpace {
                form: form_text(place.inst),
                index: place.index,
                expected: Code::space(expected),
                name: var.name.to_string(),
                found: Code::space(var.space),
            };
            self.report(place.function, code, place.span);
        }
    }

    fn address(&mut self, place: Place<'m>, address: Address, space: Space) {
        let writes = matches!(place.inst.op, Op::St | Op::Atom | Op::Red | Op::Stmatrix);
        match address.base {
            Base::Reg(id) => {
                let Some(found) = self.reg(place.function, id, place.span) else {
                    return;
                };
                // Of these a generic address may be one of 32 bits: it is of shared memory, whatever its form.
                let narrow = place.inst.op == Op::Tcgen05;
                let wide = matches!(space, Space::Global | Space::Generic) && !narrow;
                let expected = if wide || found.bits() == 64 {
                    Type::U64
                } else {
                    Type::U32
                };
                if !fits(expected, found, Width::Equal) {
                    let code = Code::OperandType {
                        form: form_text(place.inst),
                        index: place.index,
                        expected,
                        found,
                    };
                    self.report(place.function, code, place.span);
                }
            }
            Base::Var(id) => {
                let Some(var) = self.var(place.function, id, place.span) else {
                    return;
                };
                let read_only = var.space == Space::Const || matches!(id, VarId::Param(_));
                if space != Space::Generic && var.space != space {
                    self.space(place, space, var);
                } else if writes && read_only {
                    let code = Code::ReadOnlySpace {
                        form: form_text(place.inst),
                        space: Code::space(var.space),
                    };
                    self.report(place.function, code, place.span);
                }
            }
            Base::Absolute if space == Space::Local => {}
            Base::Absolute => {
                let operand = Operand::Addr(address);
                self.kind(place, "an address with a register or a variable", &operand);
            }
        }
    }

    fn func(&mut self, place: Place<'_>, id: FuncId) -> Option<&'m Function> {
        let found = self.module.functions.get(id.index());
        if found.is_none() {
            let count = self.module.functions.len();
            self.dangling(place.function, "function", id.0, count, place.span);
        }
        found
    }

    /// Whether what an operand names exists, where nothing more is known of it.
    pub(super) fn exists(&mut self, place: Place<'m>, operand: &Operand) {
        match operand {
            Operand::Reg(id) | Operand::NotReg(id) => {
                self.reg(place.function, *id, place.span);
            }
            Operand::Var(id, _) => {
                self.var(place.function, *id, place.span);
            }
            Operand::Vec(items) | Operand::List(items) => {
                for item in items {
                    self.exists(place, item);
                }
            }
            Operand::Addr(address) => match address.base {
                Base::Reg(id) => {
                    self.reg(place.function, id, place.span);
                }
                Base::Var(id) => {
                    self.var(place.function, id, place.span);
                }
                Base::Absolute => {}
            },
            Operand::Pair(pair) => {
                self.exists(place, &pair.0);
                self.exists(place, &pair.1);
            }
            Operand::Func(id) => {
                self.func(place, *id);
            }
            Operand::Imm(_) | Operand::Special(_) | Operand::Label(_) | Operand::Sink => {}
        }
    }

    /// `call (results), callee, (arguments), prototype`.
    fn call(&mut self, place: Place<'m>) {
        let operands = &place.inst.operands;
        for operand in operands {
            self.exists(place, operand);
        }
        let (results, rest): (&[Operand], &[Operand]) = match operands.split_first() {
            Some((Operand::List(items), rest)) => (items, rest),
            _ => (&[], operands),
        };
        let Some((callee, rest)) = rest.split_first() else {
            let code = Code::OperandCount {
                form: form_text(place.inst),
                least: 1,
                most: 4,
                found: operands.len(),
            };
            self.report(place.function, code, place.span);
            return;
        };
        let (arguments, rest): (&[Operand], &[Operand]) = match rest.split_first() {
            Some((Operand::List(items), rest)) => (items, rest),
            _ => (&[], rest),
        };
        for (items, expected) in [(arguments, "an argument"), (rest, "a label")] {
            if items.contains(&Operand::Sink) {
                self.kind(place, expected, &Operand::Sink);
            }
        }
        match callee {
            Operand::Func(id) => {
                let Some(function) = self.module.functions.get(id.index()) else {
                    return;
                };
                let counts = [
                    (function.params.len(), arguments.len()),
                    (function.returns.len(), results.len()),
                ];
                for (expected, found) in counts {
                    if expected != found && function.kind == FunctionKind::Func {
                        let code = Code::OperandCount {
                            form: format!("call {}", function.name),
                            least: expected,
                            most: expected,
                            found,
                        };
                        self.report(place.function, code, place.span);
                    }
                }
                if function.kind == FunctionKind::Entry {
                    self.kind(place, "a device function", callee);
                }
                let lists = [(&function.params, arguments), (&function.returns, results)];
                for (formal, actual) in lists.iter().flat_map(|(f, a)| f.iter().zip(a.iter())) {
                    self.argument(place, formal, actual);
                }
            }
            Operand::Reg(_) => {}
            other => self.kind(place, "a function or a register", other),
        }
    }

    /// A parameter that is given for another has its size.
    fn argument(&mut self, place: Place<'m>, formal: &Var, actual: &Operand) {
        let Operand::Var(id, 0) = actual else {
            return;
        };
        let Some(var) = self.var(place.function, *id, place.span) else {
            return;
        };
        if var.space == Space::Param && formal.bytes() != Some(0) && var.bytes() != formal.bytes() {
            let code = Code::ArgumentSize {
                name: var.name.to_string(),
                found: var.bytes().unwrap_or(0),
                expected: formal.bytes().unwrap_or(0),
            };
            self.report(place.function, code, place.span);
        }
    }
}
