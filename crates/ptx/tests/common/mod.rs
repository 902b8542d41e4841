//! Random modules built from the rows of the ISA table.
#![allow(dead_code, unreachable_pub)]

use warpsmith_ptx::{
    ir::{
        Address, Base, Function, FunctionKind, Guard, Imm, Inst, LabelId, Linkage, Module, Operand,
        Origin, Reg, RegId, Span, Stmt, StmtKind, Var, VarId,
    },
    isa::{self, Access, Form, Row, Shape, Slot},
    op::Op,
    qual::{Qual, Quals},
    special::Special,
    target::{PtxVersion, Target},
    types::{Space, Type, TypeKind},
    verify,
};

/// A small generator of random numbers.
pub struct Random(pub u64);

impl Random {
    /// Below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }
}

const TYPES: &[(Type, &str)] = &[
    (Type::Pred, "%p"),
    (Type::B16, "%rs"),
    (Type::B32, "%r"),
    (Type::B64, "%rd"),
    (Type::F32, "%f"),
    (Type::F64, "%fd"),
    (Type::U16, "%uh"),
    (Type::S32, "%s"),
    (Type::U32, "%u"),
    (Type::U64, "%ud"),
    (Type::S64, "%sd"),
];
const EACH: u32 = 9;
/// Registers for loads from tensor memory, which are all different.
const LOADED: u32 = 128;

/// Opcodes that need more than operands of their types to mean something.
pub fn needs_context(op: Op) -> bool {
    matches!(op, Op::Call | Op::Brx | Op::Bra | Op::Istypep)
}

/// An empty kernel with registers of all types and a variable in each space.
pub fn module(target: Target) -> Module {
    let mut regs = Vec::new();
    for (ty, prefix) in TYPES {
        regs.extend((0..EACH).map(|number| Reg {
            ty: *ty,
            prefix: (*prefix).into(),
            number: Some(number),
        }));
    }
    regs.extend((0..LOADED).map(|number| Reg {
        ty: Type::B32,
        prefix: "%loaded".into(),
        number: Some(number),
    }));
    let var = |name: &'static str, space| {
        let mut var = Var::new(name, space, Type::B8);
        var.align = Some(16);
        var.dims = [Some(256)].into_iter().collect();
        var
    };
    Module {
        version: PtxVersion::new(1, 0),
        target,
        target_options: Vec::new(),
        vars: vec![
            var("in_global", Space::Global),
            var("in_const", Space::Const),
            var("in_shared", Space::Shared),
        ],
        functions: vec![Function {
            name: "kernel".into(),
            kind: FunctionKind::Entry,
            linkage: Linkage::Visible,
            origin: Origin::Text,
            returns: Vec::new(),
            params: vec![var("in_param", Space::Param)],
            directives: Vec::new(),
            regs,
            vars: vec![var("in_local", Space::Local)],
            labels: Vec::new(),
            body: Some(Vec::new()),
            span: Span::None,
        }],
        files: Vec::new(),
        sections: Vec::new(),
        version_span: Span::None,
        span: Span::None,
    }
}

/// Appends an instruction.
pub fn push(module: &mut Module, inst: Inst) {
    let body = module.functions[0].body.get_or_insert_default();
    body.push(Stmt {
        kind: StmtKind::Inst(inst),
        span: Span::None,
    });
}

/// Ends the kernel and sets the version.
pub fn finish(module: &mut Module) {
    push(module, Inst::new(Op::Ret, &[], []));
    module.version = verify::lowest_version(module);
}

/// A module of `count` random instructions with some control flow.
pub fn random(random: &mut Random, target: Target, count: usize) -> Module {
    let mut out = module(target);
    let rows = isa::rows();
    for _ in 0..count {
        if random.below(12) == 0 {
            let label = LabelId(out.functions[0].labels.len() as u32);
            let name = format!("$L{}", label.0);
            out.functions[0].labels.push(name.into());
            let mut branch = Inst::new(Op::Bra, &[], [Operand::Label(label)]);
            branch.guard = guard(random);
            push(&mut out, branch);
            let body = out.functions[0].body.get_or_insert_default();
            body.push(Stmt {
                kind: StmtKind::Label(label),
                span: Span::None,
            });
        }
        let row = &rows[random.below(rows.len())];
        if let Some(mut inst) = instruction(random, row, target) {
            inst.guard = guard(random);
            push(&mut out, inst);
        }
    }
    finish(&mut out);
    out
}

fn guard(random: &mut Random) -> Option<Guard> {
    (random.below(4) == 0).then(|| Guard {
        reg: RegId(random.below(EACH as usize) as u32),
        negated: random.below(2) == 0,
    })
}

/// A random instruction of a row, right by the verifier; `None` if the target lacks the choice.
pub fn instruction(random: &mut Random, row: &Row, target: Target) -> Option<Inst> {
    if matches!(row.op, Op::Call | Op::Brx | Op::Bra) {
        return None;
    }
    let quals = (0..20).find_map(|_| row.sample(&mut |bound| random.below(bound)))?;
    instruction_of(random, row.op, &quals, target)
}

/// A random instruction of one form, right by the verifier; `None` if the target lacks it.
pub fn instruction_of(random: &mut Random, op: Op, quals: &Quals, target: Target) -> Option<Inst> {
    let form = isa::form(op, quals)?;
    // The module has 64-bit addresses.
    if op == Op::Cvta && quals.has(Qual::T(Type::U32)) {
        return None;
    }
    // A kernel cannot write its parameters.
    if quals.has(Qual::T(Type::B128)) || (op == Op::St && quals.has(Qual::Param)) {
        return None;
    }
    let (least, most) = form.operand_counts();
    let count = least + random.below(most - least + 1);
    let slots = form.assign(count)?;
    let mut inst = Inst::new(op, quals.as_slice(), []);
    for (at, slot) in slots.enumerate() {
        let operand = operand(random, &inst, &form, slot, at);
        inst.operands.push(operand);
    }
    // A of a product may be in registers, which are not transposed.
    let registers = if least == most {
        random.below(2) == 0
    } else {
        count == least
    };
    if op == Op::Wgmma && quals.has(Qual::MmaAsync) && registers {
        inst.operands[1] = Operand::Vec(several(random, Type::B32, 4));
    }
    if op == Op::Tcgen05 && quals.has(Qual::Mma) && !quals.has(Qual::BlockScale) {
        let scales = quals.has(Qual::KindF16) || quals.has(Qual::KindTf32);
        let lanes = count == 7 || count == 6 && (!scales || random.below(2) == 0);
        if lanes {
            inst.operands[4] = Operand::Vec(several(random, Type::B32, 4));
        }
        if count > 5 + usize::from(lanes) {
            inst.operands[count - 1] = Operand::Imm(Imm::Int(random.below(16) as i64));
        }
    }
    isa::form_of(&inst)?.lowest_version(target)?;
    Some(inst)
}

fn register(random: &mut Random, ty: Type) -> RegId {
    let suits = |reg: Type| {
        let bits = reg.kind() == TypeKind::Bits;
        // No registers have 8 bits: an operand of 8 takes 16.
        let size = reg.bits() == ty.bits().max(if ty == Type::Pred { 1 } else { 16 });
        size && match ty.kind() {
            TypeKind::Pred => reg == Type::Pred,
            TypeKind::Signed | TypeKind::Unsigned => bits || reg.is_int(),
            TypeKind::Bits | TypeKind::Packed => bits,
            TypeKind::Float => bits || reg == ty,
        }
    };
    let all: Vec<usize> = (0..TYPES.len()).filter(|at| suits(TYPES[*at].0)).collect();
    let kind = all[random.below(all.len())] as u32;
    RegId(kind * EACH + random.below(EACH as usize) as u32)
}

/// Different registers of one declared type.
fn several(random: &mut Random, ty: Type, count: u8) -> Box<[Operand]> {
    let first = register(random, ty).0 / EACH * EACH;
    let shift = random.below(EACH as usize) as u32;
    (0..u32::from(count))
        .map(|at| Operand::Reg(RegId(first + (at + shift) % EACH)))
        .collect()
}

fn value(random: &mut Random, ty: Type, access: Access) -> Operand {
    let constant = access == Access::Read && random.below(4) == 0;
    match ty.kind() {
        TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits if constant => {
            let value = [0, 1, -1, 31, 77, 255][random.below(6)];
            Operand::Imm(Imm::Int(value))
        }
        TypeKind::Float if constant && ty == Type::F32 => Operand::Imm(Imm::F32(0x3F80_0000)),
        TypeKind::Float if constant && ty == Type::F64 => {
            Operand::Imm(Imm::F64(0xBFF8_0000_0000_0000))
        }
        _ => Operand::Reg(register(random, ty)),
    }
}

fn reg(random: &mut Random, ty: Type) -> Operand {
    Operand::Reg(register(random, ty))
}

fn address(random: &mut Random, inst: &Inst, space: Space) -> Operand {
    let var = match space {
        Space::Global => Some(VarId::Module(0)),
        Space::Const => Some(VarId::Module(1)),
        Space::Shared => Some(VarId::Module(2)),
        Space::Local => Some(VarId::Function(0)),
        Space::Param => Some(VarId::Param(0)),
        Space::Generic => None,
    };
    let base = match var {
        Some(var) if space == Space::Param || random.below(2) == 0 => Base::Var(var),
        _ if space == Space::Shared && random.below(2) == 0 => {
            Base::Reg(register(random, Type::U32))
        }
        _ => Base::Reg(register(random, Type::U64)),
    };
    let offset = match inst.op {
        // Of a register with an address nothing is known; of these the offset must be a multiple.
        Op::Prefetch | Op::Prefetchu => 0,
        _ => [0, 0, 32, 64][random.below(4)],
    };
    Operand::Addr(Address { base, offset })
}

fn tensor_memory(random: &mut Random) -> Operand {
    let base = Base::Reg(register(random, Type::B32));
    let offset = [0, 32][random.below(2)];
    Operand::Addr(Address { base, offset })
}

/// The dimensions of the tensor that a copy is of.
fn dimensions(inst: &Inst) -> usize {
    let all = [Qual::D1d, Qual::D2d, Qual::D3d, Qual::D4d, Qual::D5d];
    1 + all
        .iter()
        .position(|dim| inst.quals.has(*dim))
        .expect("a tensor has dimensions")
}

/// The coordinates of a geometry.
fn coordinates(inst: &Inst) -> u8 {
    let has = |word| inst.quals.has(word);
    match () {
        () if has(Qual::D1d) => 1,
        () if has(Qual::D2d) || has(Qual::A1d) => 2,
        () => 4,
    }
}

fn operand(random: &mut Random, inst: &Inst, form: &Form, slot: &Slot, at: usize) -> Operand {
    let has = |qual| inst.quals.has(qual);
    let int = |value| Operand::Imm(Imm::Int(value));
    // Constants that the form limits.
    match (inst.op, slot.shape) {
        (Op::Cp, Shape::Immediate) => return int(if has(Qual::WaitGroup) { 1 } else { 16 }),
        (Op::Txq | Op::Suq, Shape::Address(_)) => {
            let base = Base::Reg(register(random, Type::U64));
            return Operand::Addr(Address { base, offset: 0 });
        }
        (Op::Discard | Op::Applypriority, Shape::Immediate) => return int(128),
        (Op::Alloca, Shape::Immediate) => return int(16),
        (Op::Bar | Op::Barrier, Shape::Value(_))
            if slot.access == Access::Read && !has(Qual::Warp) =>
        {
            return int(if at == usize::from(has(Qual::Red)) {
                1
            } else {
                64
            });
        }
        (Op::Createpolicy, Shape::Value(ty)) if slot.access == Access::Read => match form.ty(ty) {
            Type::F32 => return Operand::Imm(Imm::F32(0x3F00_0000)),
            Type::U32 => return int(if at == 2 { 64 } else { 128 }),
            _ => return reg(random, Type::B64),
        },
        (Op::Bfe, Shape::Value(_)) if at >= 2 => return int(3),
        (Op::Bfi, Shape::Value(_)) if at >= 3 => return int(200),
        (Op::Mbarrier, Shape::Value(ty)) if slot.access == Access::Read => {
            return match form.ty(ty) {
                Type::U32 => int(1),
                ty => reg(random, ty),
            };
        }
        (Op::Movmatrix, Shape::Value(ty)) => return reg(random, form.ty(ty)),
        (Op::Mma, Shape::Value(ty)) => return reg(random, form.ty(ty)),
        (op, Shape::Value(ty)) if op.name().starts_with('v') && op != Op::Vote => {
            return reg(random, form.ty(ty));
        }
        (Op::Tcgen05, Shape::Value(_)) if has(Qual::Alloc) || has(Qual::Dealloc) => {
            return if at == 1 {
                int(128)
            } else {
                reg(random, Type::B32)
            };
        }
        (Op::Setmaxnreg, Shape::Immediate) => return int(64),
        (Op::Tensormap | Op::Fence, Shape::Immediate) => {
            let whole = has(Qual::CpFenceproxy) || inst.op == Op::Fence;
            return int(if whole { 128 } else { 1 });
        }
        // All lanes of a group of four say where elements are, in some shapes.
        (Op::Mma, Shape::Immediate) => return int(0),
        (Op::Wmma | Op::Wgmma, Shape::Immediate) => return int(1),
        (
            Op::St | Op::Cp | Op::Alloca | Op::Vote | Op::Elect | Op::Stackrestore,
            Shape::Value(ty),
        ) => {
            return reg(random, form.ty(ty));
        }
        (Op::Mov, Shape::Move(_)) if slot.access == Access::Read && has(Qual::T(Type::U32)) => {
            return Operand::Special([Special::TidX, Special::Laneid][random.below(2)]);
        }
        _ => {}
    }
    match slot.shape {
        Shape::Value(ty) => value(random, form.ty(ty), slot.access),
        Shape::Relaxed(ty) => value(random, form.ty(ty), slot.access),
        Shape::Vector(ty) if form.vector() > 1 => {
            Operand::Vec(several(random, form.ty(ty), form.vector()))
        }
        Shape::Vector(ty) => reg(random, form.ty(ty)),
        Shape::VectorPair(ty) => {
            let vector = Operand::Vec(several(random, form.ty(ty), form.vector()));
            match random.below(2) {
                0 => vector,
                _ => Operand::Pair(Box::new((vector, reg(random, Type::Pred)))),
            }
        }
        Shape::Fragment(Some(count), _) if inst.op == Op::Tcgen05 && has(Qual::Ld) => {
            let first = TYPES.len() as u32 * EACH;
            let all = first..first + u32::from(count);
            Operand::Vec(all.map(|id| Operand::Reg(RegId(id))).collect())
        }
        Shape::Fragment(count, ty) => {
            let count = count.unwrap_or_else(|| match inst.op {
                Op::Wgmma => {
                    let shape = inst.quals.as_slice().iter().find_map(|word| word.shape());
                    let [_, n, _] = shape.expect("a product has a shape");
                    let halves = inst.quals.types().next() == Some(Type::F16);
                    (n / if halves { 4 } else { 2 }) as u8
                }
                Op::Tex if has(Qual::A1d) => 1,
                Op::Tex if has(Qual::A2d) => 2,
                Op::Tex => coordinates(inst),
                _ => dimensions(inst) as u8 - 2,
            });
            Operand::Vec(several(random, form.ty(ty), count))
        }
        Shape::Move(ty) | Shape::AddressValue(ty) => reg(random, form.ty(ty)),
        Shape::Sink => Operand::Sink,
        Shape::Pair(ty) | Shape::Both(ty)
            if random.below(2) == 0 || matches!(slot.shape, Shape::Both(_)) =>
        {
            let first = reg(random, form.ty(ty));
            // Two predicates of one instruction must differ.
            let second = Operand::Reg(RegId(match first {
                Operand::Reg(RegId(number)) if form.ty(ty) == Type::Pred => (number + 1) % EACH,
                _ => random.below(EACH as usize) as u32,
            }));
            Operand::Pair(Box::new((first, second)))
        }
        Shape::Pair(ty) | Shape::Both(ty) => reg(random, form.ty(ty)),
        Shape::Predicate => match register(random, Type::Pred) {
            id if random.below(2) == 0 => Operand::NotReg(id),
            id => Operand::Reg(id),
        },
        Shape::Address(space) => address(random, inst, space.unwrap_or(form.space())),
        Shape::Pointer => reg(random, Type::U64),
        Shape::Immediate => int(random.below(16) as i64),
        Shape::Size => reg(random, Type::U32),
        Shape::Tensor => {
            let count = dimensions(inst) as u8;
            let coordinates = Operand::Vec(several(random, Type::B32, count));
            Operand::List(Box::new([reg(random, Type::U64), coordinates]))
        }
        Shape::Texture => {
            let coordinates = Operand::Vec(several(random, Type::B32, coordinates(inst)));
            Operand::List(Box::new([reg(random, Type::U64), coordinates]))
        }
        Shape::Wgmma => reg(random, Type::B64),
        Shape::TensorMemory => tensor_memory(random),
        Shape::TensorMatrix if random.below(2) == 0 => tensor_memory(random),
        Shape::TensorMatrix => reg(random, Type::B64),
        // As many as there are: `instruction_of` gives others in their places.
        Shape::Enable => reg(random, Type::Pred),
        Shape::Label | Shape::Call => Operand::Sink,
    }
}
