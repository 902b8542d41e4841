//! Addresses in the shared memory of a cluster: `mapa` and `getctarank` (PTX ISA 9.7.9.23, 9.7.9.24).
//!
//! In the window of a cluster each CTA finds its own memory first, as if it were alone, and behind it those of all CTAs by
//! their rank. Accesses to it are made by generic addresses (`analysis/distributed.rs`).

use super::{
    super::operand,
    rule::{CellsAt, Rule, emit},
};
use crate::{build::Lowerer, error::Error, memory::RANK};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    special::Special,
    types::Type,
};

/// Where what stands at an address is in the CTA of a rank.
struct Map;
impl Rule for Map {
    fn f([address, rank, size]: [u64; 3], _: u64) -> u64 {
        let inside = address & ((1 << RANK) - 1);
        // What is no rank stays outside of all memories.
        match (rank & 0xFFFF_FFFF, size & 0xFFFF_FFFF) {
            // A CTA that is alone has its own memory only.
            (0, 0 | 1) => inside,
            (rank, _) => inside | (rank.min(MOST) + 1) << RANK,
        }
    }
}

/// More than any rank, and few enough for the window.
const MOST: u64 = 30;

/// The rank of the CTA that an address is of, given its own.
struct RankOf;
impl Rule for RankOf {
    fn f([address, own, _]: [u64; 3], imm: u64) -> u64 {
        let address = if imm == 32 {
            address & 0xFFFF_FFFF
        } else {
            address
        };
        match address >> RANK {
            0 => own,
            rank => rank - 1,
        }
    }
}

/// `mapa` and `getctarank` of addresses in the window of shared memory; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let wide = inst.quals.has(Qual::T(Type::U64));
    let bits = if wide { 64 } else { 32 };
    match inst.op {
        Op::Mapa if inst.quals.has(Qual::SharedCluster) => Some(map(l, inst, bits)),
        Op::Getctarank if inst.quals.has(Qual::SharedCluster) => Some(rank(l, inst, bits)),
        _ => None,
    }
}

fn map(l: &mut Lowerer, inst: &Inst, bits: u32) -> Result<(), Error> {
    let address = CellsAt::source(l, operand(l, inst, 1)?, bits)?;
    let rank = CellsAt::source(l, operand(l, inst, 2)?, 32)?;
    let dst = CellsAt::target(l, operand(l, inst, 0)?)?;
    let size = CellsAt::source(l, &Operand::Special(Special::ClusterNctarank), 32)?;
    emit::<Map>(l, dst, &[address, rank, size], 0);
    Ok(())
}

fn rank(l: &mut Lowerer, inst: &Inst, bits: u32) -> Result<(), Error> {
    let address = CellsAt::source(l, operand(l, inst, 1)?, bits)?;
    let own = CellsAt::source(l, &Operand::Special(Special::ClusterCtarank), 32)?;
    let dst = CellsAt::target(l, operand(l, inst, 0)?)?;
    emit::<RankOf>(l, dst, &[address, own], u64::from(bits));
    Ok(())
}
