//! From an instruction to code: who does which, and what all families share.
//!
//! What is one value for the warp is computed once: integers in general registers, floats in all lanes of one vector
//! register. Values that grow evenly from lane to lane stay that way through sums and products with constants.

use super::{
    encode::splat_bytes,
    kinds::{Int2, Kind},
    nodes::{Arg, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::VReg;
use warpsmith_ptx::ir::Inst;
use warpsmith_x86::{Vop, vector};

impl Coder<'_, '_> {
    /// Emits one instruction.
    pub(super) fn emit(&mut self, kind: Kind, inst: &Inst) -> Result<(), Skip> {
        if kind == Kind::Nothing {
            return Ok(());
        }
        let to = inst.operands.first().ok_or(Skip)?;
        let value = match kind {
            Kind::Move { wide } => {
                let bits = if wide { 64 } else { 32 };
                let from = inst.operands.get(1).ok_or(Skip)?;
                self.read(from, bits)?
            }
            Kind::Unpack { parts } => return self.unpack(inst, parts),
            Kind::Pack { parts } => self.pack(inst, parts)?,
            Kind::Int2 { op, wide, signed } => {
                let [a, b] = self.args(inst, if wide { 64 } else { 32 })?;
                self.int2(op, wide, signed, a, b)?
            }
            Kind::Mad { wide } => {
                let [a, b, c] = self.args(inst, if wide { 64 } else { 32 })?;
                let product = self.int2(Int2::Mul, wide, false, a, b)?;
                self.int2(Int2::Add, wide, false, product, c)?
            }
            Kind::MulWide { signed, add } => {
                let [a, b] = self.args(inst, 32)?;
                let product = self.mul_wide(signed, a, b)?;
                if add {
                    let c = self.read(inst.operands.get(3).ok_or(Skip)?, 64)?;
                    self.int2(Int2::Add, true, false, product, c)?
                } else {
                    product
                }
            }
            Kind::Shift { left, wide, signed } => {
                let a = self.read(
                    inst.operands.get(1).ok_or(Skip)?,
                    if wide { 64 } else { 32 },
                )?;
                let by = self.read(inst.operands.get(2).ok_or(Skip)?, 32)?;
                self.shift(left, wide, signed, a, by)?
            }
            Kind::Not { wide } => {
                let [a] = self.args(inst, if wide { 64 } else { 32 })?;
                let ones = if wide { u64::MAX } else { 0xFFFF_FFFF };
                let ones = self.constant(ones, wide);
                self.int2(Int2::Xor, wide, false, a, ones)?
            }
            Kind::Lop3 { table } => {
                let [a, b, c] = self.args(inst, 32)?;
                self.map([a, b, c], true, false, |coder, [a, b, c]| {
                    coder.vector(
                        &vector::TERNARY,
                        Vector {
                            tied: Some(a),
                            imm: table,
                            ..Vector::two(b, Arg::Reg(c))
                        },
                    )
                })?
            }
            Kind::Float2(op) => {
                let [a, b] = self.args(inst, 32)?;
                self.float2(op, a, b)?
            }
            Kind::Fma => {
                let [a, b, c] = self.args(inst, 32)?;
                self.map([a, b, c], false, true, |coder, [a, b, c]| {
                    coder.fma(a, b, c)
                })?
            }
            Kind::Float1(op) => {
                let [a] = self.args(inst, 32)?;
                self.float1(op, a)?
            }
            Kind::Dot { signed } => {
                let [a, b, c] = self.args(inst, 32)?;
                self.map([a, b, c], true, false, |coder, [a, b, c]| {
                    coder.dot(signed, a, b, c)
                })?
            }
            Kind::Compare(relation) => self.compare(relation, inst)?,
            Kind::Select { wide } => self.select(wide, inst)?,
            Kind::Convert(convert) => self.convert(convert, inst)?,
            Kind::PackHalf => {
                let [high, low] = self.args(inst, 32)?;
                self.map([high, low], true, false, |coder, [high, low]| {
                    let high = coder.narrow_half(high);
                    let high = coder.vector(
                        &vector::SHL_I32,
                        Vector {
                            imm: 16,
                            ..Vector::one(Arg::Reg(high))
                        },
                    );
                    let low = coder.narrow_half(low);
                    coder.vector(&vector::OR, Vector::two(high, Arg::Reg(low)))
                })?
            }
            Kind::Logic(op) => self.logic(op, inst)?,
            Kind::Shuffle { mode, by, ends } => return self.shuffle(mode, by, ends, inst),
            Kind::Vote(vote) => self.vote(vote, inst)?,
            Kind::Permute(selector) => self.permute(selector, inst)?,
            Kind::Load(access) => return self.load(access, inst),
            Kind::Store(access) => return self.store(access, inst),
            Kind::Product(product) => return self.product(product, inst),
            Kind::Matrices(matrices) => return self.load_matrices(matrices, inst),
            Kind::Copy(part) => return self.copy_rows(part, inst),
            Kind::Prefetch => return self.prefetch(inst),
            Kind::Nothing => return Ok(()),
            Kind::More(more) => return self.more(more, inst),
        };
        self.put(to, value)
    }

    pub(super) fn args<const N: usize>(
        &mut self,
        inst: &Inst,
        bits: u32,
    ) -> Result<[ValueId; N], Skip> {
        let mut all = Vec::with_capacity(N);
        for at in 1..=N {
            all.push(self.read(inst.operands.get(at).ok_or(Skip)?, bits)?);
        }
        all.try_into().map_err(|_| Skip)
    }

    /// A function of registers of 32-bit lanes, once if all are one value for the warp. `exact` asks for the bits of NaNs,
    /// `raw` says that the result may have NaNs of any bits.
    pub(super) fn map<const N: usize>(
        &mut self,
        args: [ValueId; N],
        exact: bool,
        raw: bool,
        f: impl Fn(&mut Self, [VReg; N]) -> VReg,
    ) -> Result<ValueId, Skip> {
        if args.iter().all(|arg| self.is_uniform(*arg)) {
            let mut regs = Vec::with_capacity(N);
            for arg in args {
                regs.push(if exact {
                    self.splat_exact(arg)?
                } else {
                    self.splat(arg)?
                });
            }
            let regs = regs.try_into().map_err(|_| Skip)?;
            let v = f(self, regs);
            return Ok(self.of_splat(v, raw));
        }
        let mut halves = Vec::with_capacity(N);
        for arg in args {
            halves.push(if exact {
                self.lanes_exact(arg)?
            } else {
                self.lanes(arg)?
            });
        }
        let half = |j: usize| std::array::from_fn(|n| halves[n][j]);
        let low = f(self, half(0));
        let high = f(self, half(1));
        Ok(self.of_lanes([low, high], raw))
    }

    pub(super) fn plain(&mut self, op: &'static Vop, a: VReg, b: VReg) -> VReg {
        self.vector(op, Vector::two(a, Arg::Reg(b)))
    }

    pub(super) fn with_constant(&mut self, op: &'static Vop, a: VReg, b: u64) -> VReg {
        let place = self.nodes.constant(splat_bytes(b, false));
        self.vector(op, Vector::two(a, Arg::Mem(place)))
    }

    pub(super) fn whole(&mut self, value: u64) -> VReg {
        let place = self.nodes.constant(splat_bytes(value, false));
        self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)))
    }
}
