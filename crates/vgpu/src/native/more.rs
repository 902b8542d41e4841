//! The families beside those of `kinds.rs`: which of their instructions are compiled, and who emits them.

use super::{
    bits::{self, Bits},
    carry::{self, Carry},
    double::{self, Double},
    encode::splat_bytes,
    exchange::{self, Exchange},
    flushed::{self, Flushed},
    half_warps::Half,
    halves::{self, Halves},
    kinds::{Int2, reads, writes},
    nodes::{Arg, Vector},
    numbers::{self, Number},
    own::{self, Own},
    parts::{NarrowLoad, Pair},
    predicates::{self, Predicates},
    shorts::{self, Short},
    values::{Coder, Skip, ValueId},
};
use crate::{
    lower::{Lowerer, roles},
    memory::{LOCAL_BASE, PARAM_BASE, SHARED_BASE},
};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Space,
};
use warpsmith_x86::{Len, Vop, vector};

/// An instruction of one of the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Double(Double),
    Bits(Bits),
    Short(Short),
    Number(Number),
    Predicates(Predicates),
    Flushed(Flushed),
    Halves(Halves),
    Carry(Carry),
    Own(Own),
    Exchange(Exchange),
    /// Bytes or halves that lanes load from anywhere.
    Narrow(NarrowLoad),
    /// Pairs of 8 bytes that lanes load from anywhere, or store there.
    Pair(Pair),
    /// Words of rows that are halves of warps.
    Half(Half),
    /// An address and how far one memory's is from another's.
    Moved(u64),
    /// The lanes that are here.
    Active,
}

impl More {
    /// Whether lanes take part in what other lanes get.
    pub(super) fn is_exchange(self) -> bool {
        matches!(self, More::Exchange(_))
    }
}

/// What an instruction does, if a family has it.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<More> {
    let predicates = || predicates::kind(l, inst).map(More::Predicates);
    let numbers = || numbers::kind(l, inst).map(More::Number);
    let bits = || bits::kind(l, inst).map(More::Bits);
    let shorts = || shorts::kind(l, inst).map(More::Short);
    let flushed = || flushed::kind(l, inst).map(More::Flushed);
    let halves = || halves::kind(l, inst).map(More::Halves);
    let own = || own::kind(l, inst).map(More::Own);
    let exchange = || exchange::kind(l, inst).map(More::Exchange);
    if let Some(carry) = carry::kind(l, inst) {
        return Some(More::Carry(carry));
    }
    if inst.op == Op::Cvta {
        let base = match roles::space(inst) {
            Space::Shared => SHARED_BASE,
            Space::Local => LOCAL_BASE,
            Space::Param => PARAM_BASE,
            Space::Global | Space::Const | Space::Generic => return None,
        };
        let to = inst.quals.has(Qual::To);
        let by = if to { base.wrapping_neg() } else { base };
        return (!l.is_checked() && fits(l, inst, 64, &[64])).then_some(More::Moved(by));
    }
    if inst.op == Op::Activemask {
        let alike = match inst.operands.first()? {
            Operand::Reg(reg) => l.dst_of(*reg).uniform,
            _ => false,
        };
        return (alike && fits(l, inst, 32, &[])).then_some(More::Active);
    }
    double::kind(l, inst)
        .map(More::Double)
        .or_else(halves)
        .or_else(own)
        .or_else(exchange)
        .or_else(bits)
        .or_else(shorts)
        .or_else(numbers)
        .or_else(predicates)
        .or_else(flushed)
}

/// Whether an instruction has a destination of `to` bits and sources of these widths, and nothing else.
pub(super) fn fits(l: &Lowerer<'_>, inst: &Inst, to: u32, sources: &[u32]) -> bool {
    let o = |at: usize| inst.operands.get(at);
    inst.operands.len() == sources.len() + 1
        && writes(l, o(0), to)
        && sources
            .iter()
            .enumerate()
            .all(|(at, bits)| reads(l, o(at + 1), *bits))
}

/// The source at `index`, which [`fits`] found.
pub(super) fn source(inst: &Inst, index: usize) -> Result<&Operand, Skip> {
    inst.operands.get(index).ok_or(Skip)
}

impl Coder<'_, '_> {
    /// Emits one instruction of a family.
    pub(super) fn more(&mut self, more: More, inst: &Inst) -> Result<(), Skip> {
        let value = match more {
            More::Double(double) => self.double(double, inst)?,
            More::Bits(bits) => self.bits(bits, inst)?,
            More::Short(short) => self.short(short, inst)?,
            More::Number(number) => self.number(number, inst)?,
            More::Predicates(predicates) => return self.predicates(predicates, inst),
            More::Flushed(flushed) => self.flushed(flushed, inst)?,
            More::Halves(halves) => self.halves(halves, inst)?,
            More::Carry(carry) => self.carry(carry, inst)?,
            More::Own(own) => return self.own(own, inst),
            More::Exchange(exchange) => return self.exchange(exchange, inst),
            More::Narrow(part) => self.gather_parts(part, inst)?,
            More::Pair(pair) => return self.pair(pair, inst),
            More::Half(half) => return self.half_warps(half, inst),
            More::Moved(by) => {
                let address = self.read(source(inst, 1)?, 64)?;
                let by = self.constant(by, true);
                self.int2(Int2::Add, true, false, address, by)?
            }
            More::Active => self.active_lanes(),
        };
        self.put(source(inst, 0)?, value)
    }

    /// An instruction of one register and a byte.
    pub(super) fn by(&mut self, op: &'static Vop, a: VReg, imm: u8) -> VReg {
        let v = Vector {
            imm,
            ..Vector::one(Arg::Reg(a))
        };
        self.vector(op, v)
    }

    pub(super) fn one(&mut self, op: &'static Vop, a: VReg) -> VReg {
        self.vector(op, Vector::one(Arg::Reg(a)))
    }

    /// `op` of lanes of 64 bits and one number for all.
    pub(super) fn with_wide(&mut self, op: &'static Vop, a: VReg, b: u64) -> VReg {
        let place = self.nodes.constant(splat_bytes(b, true));
        self.vector(op, Vector::two(a, Arg::Mem(place)))
    }

    /// One number in all lanes of 64 bits.
    pub(super) fn whole_wide(&mut self, value: u64) -> VReg {
        let place = self.nodes.constant(splat_bytes(value, true));
        self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)))
    }

    /// Bits of `yes` where `mask` has ones, of `no` elsewhere.
    pub(super) fn merge(&mut self, mask: VReg, yes: VReg, no: VReg) -> VReg {
        let v = Vector {
            tied: Some(mask),
            imm: 0xCA,
            ..Vector::two(yes, Arg::Reg(no))
        };
        self.vector(&vector::TERNARY, v)
    }

    /// The lanes where a test of two registers holds.
    pub(super) fn test(&mut self, op: &'static Vop, imm: u8, a: VReg, b: VReg) -> VReg {
        let v = Vector {
            imm,
            ..Vector::two(a, Arg::Reg(b))
        };
        self.nodes.vector(op, RegClass::Vector, v)
    }

    /// `old`, but a number where a mask says so; lanes of 64 bits if `wide`.
    pub(super) fn put_number(&mut self, old: VReg, mask: VReg, value: u64, wide: bool) -> VReg {
        let place = self.nodes.constant(splat_bytes(value, wide));
        let op = if wide {
            &vector::LOAD_I64
        } else {
            &vector::LOAD_I32
        };
        let v = Vector {
            tied: Some(old),
            mask: Some(mask),
            ..Vector::one(Arg::Mem(place))
        };
        self.vector(op, v)
    }

    /// A value of 64 bits that is the same in all lanes of a register.
    pub(super) fn of_wide_splat(&mut self, v: VReg) -> ValueId {
        let first = &vector::FIRST_I64;
        let reg = self.nodes.reversed(first, RegClass::Int, Len::L128, 0, v);
        let value = self.of_scalar(reg, true);
        self.forms(value).splat = Some(v);
        value
    }

    /// A function of registers of 64-bit lanes, once if all are one value for the warp.
    pub(super) fn map_quads<const N: usize>(
        &mut self,
        args: [ValueId; N],
        f: impl Fn(&mut Self, [VReg; N]) -> VReg,
    ) -> Result<ValueId, Skip> {
        if args.iter().all(|arg| self.is_uniform(*arg)) {
            let mut regs = Vec::with_capacity(N);
            for arg in args {
                regs.push(self.splat(arg)?);
            }
            let regs = regs.try_into().map_err(|_| Skip)?;
            let v = f(self, regs);
            return Ok(self.of_wide_splat(v));
        }
        let mut quads = Vec::with_capacity(N);
        for arg in args {
            quads.push(self.quads(arg)?);
        }
        let regs = [0, 1, 2, 3].map(|j| f(self, std::array::from_fn(|n| quads[n][j])));
        Ok(self.of_quads(regs))
    }

    /// A function from the lower half of a register of 32-bit lanes to one of 64-bit lanes. `exact` asks for the bits of NaNs.
    pub(super) fn map_up(
        &mut self,
        a: ValueId,
        exact: bool,
        f: impl Fn(&mut Self, VReg) -> VReg,
    ) -> Result<ValueId, Skip> {
        if self.is_uniform(a) {
            let v = if exact {
                self.splat_exact(a)?
            } else {
                self.splat(a)?
            };
            let v = f(self, v);
            return Ok(self.of_wide_splat(v));
        }
        let [low, high] = if exact {
            self.lanes_exact(a)?
        } else {
            self.lanes(a)?
        };
        let [b, d] = [low, high].map(|v| self.upper(v));
        let regs = [low, b, high, d].map(|v| f(self, v));
        Ok(self.of_quads(regs))
    }

    /// The upper half of a register.
    pub(super) fn upper(&mut self, v: VReg) -> VReg {
        let op = &vector::EXTRACT_256;
        self.nodes.reversed(op, RegClass::Float, Len::L512, 1, v)
    }

    /// A function from a register of 64-bit lanes to the lower half of one of 32-bit lanes. `raw` says that its NaNs may have
    /// any bits.
    pub(super) fn map_down<const N: usize>(
        &mut self,
        args: [ValueId; N],
        raw: bool,
        f: impl Fn(&mut Self, [VReg; N]) -> VReg,
    ) -> Result<ValueId, Skip> {
        if args.iter().all(|arg| self.is_uniform(*arg)) {
            let mut regs = Vec::with_capacity(N);
            for arg in args {
                regs.push(self.splat(arg)?);
            }
            let regs = regs.try_into().map_err(|_| Skip)?;
            let v = f(self, regs);
            let v = self.one(&vector::SPLAT_I32, v);
            return Ok(self.of_splat(v, raw));
        }
        let mut quads = Vec::with_capacity(N);
        for arg in args {
            quads.push(self.quads(arg)?);
        }
        let halves = [0, 1, 2, 3].map(|j| f(self, std::array::from_fn(|n| quads[n][j])));
        let lanes = self.joined(&halves)?;
        Ok(self.of_lanes(lanes, raw))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Compile, Config, Machine, Tier, module::When};
    use warpsmith_ptx::{parse::parse, target::PtxVersion, verify::verify};

    const TABLE: &str = include_str!("../../tests/compiled/table.txt");

    /// A line with registers for operands.
    fn filled(line: &str) -> String {
        let places = [
            ("$R", "%r1"),
            ("$F", "%f1"),
            ("$D", "%d1"),
            ("$H", "%h1"),
            ("$P", "%p1"),
            ("$w", "%r2"),
            ("$f", "%f2"),
            ("$d", "%d2"),
            ("$e", "%d2"),
            ("$h", "%h2"),
        ];
        let mut line = line.to_owned();
        for (place, reg) in places {
            line = line.replace(place, reg);
        }
        line
    }

    /// What is not compiled ends a run, and another begins behind it.
    #[test]
    fn each_line_of_the_table_is_inside_of_one_run() {
        for tier in [Tier::Avx2, Tier::Avx512] {
            if tier.is_available() {
                check_table(tier);
            }
        }
    }

    fn check_table(tier: Tier) {
        let machine = Machine::new(Config {
            memory: 1 << 24,
            workers: 1,
            max_ptx: PtxVersion::new(9, 0),
            compile: Compile::Always,
            tier: Some(tier),
            ..Config::default()
        })
        .expect("a machine");
        let runs = |line: &str| {
            let own = "mad.wide.u32 %own, %r0, 8, %in;\nld.global.u64 %d4, [%own];\n";
            let more = "add.u64 %d4, %d4, 1;\nadd.u64 %d4, %d4, %d3;\nadd.u64 %d4, %d4, 5;\n";
            let text = format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n\
                 .visible .entry k(.param .u64 in) {{\n\
                 .reg .b32 %r<8>, %c0, %u0; .reg .f32 %f<8>; .reg .b64 %d<8>, %b<2>, %in, %own; .reg .b16 %h<8>;\n\
                 .reg .pred %p<4>; .local .align 16 .b8 own[64];\n\
                 ld.param.u64 %in, [in];\nmov.u32 %r0, %tid.x;\n{own}{more}{line}\n{more}\
                 st.global.u64 [%own], %d4;\nret;\n}}\n"
            );
            let module = parse(&text).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
            let module = verify(module).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
            let module = machine.load(&module).expect("it loads");
            let kernel = module.kernel("k").expect("it is there");
            let program = kernel.program([64, 1, 1], When::Must).expect("it lowers");
            program
                .plain
                .native
                .as_ref()
                .map_or(0, |native| native.runs.len())
        };
        assert_eq!(runs("trap;\nnanosleep.u32 7;"), 2);
        let lines = TABLE.lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        let broken: Vec<&str> = lines.filter(|line| runs(&filled(line)) != 1).collect();
        let broken = broken.join("\n");
        assert!(broken.is_empty(), "not compiled for {tier:?}:\n{broken}");
    }
}
