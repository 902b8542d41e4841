//! Immediates as bits.

use warpsmith_ptx::ir::Imm;

/// The bits of an immediate where an operand of `bits` is wanted.
pub(crate) fn immediate(imm: Imm, bits: u32) -> u64 {
    let value = match imm {
        Imm::Int(value) => value as u64,
        Imm::Uint(value) => value,
        Imm::F32(value) if bits > 32 => f64::from(f32::from_bits(value)).to_bits(),
        Imm::F32(value) => u64::from(value),
        Imm::F64(value) if bits <= 32 => u64::from((f64::from_bits(value) as f32).to_bits()),
        Imm::F64(value) => value,
    };
    if bits >= 64 {
        value
    } else {
        value & ((1 << bits) - 1)
    }
}
