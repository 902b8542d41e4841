//! Accesses of 256 bits, as two of 128.

use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{
    ir::{Address, Inst, Operand},
    op::Op,
    qual::{Qual, Quals},
};

/// `ld` and `st` with `.v8`; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    if !matches!(inst.op, Op::Ld | Op::St) || !inst.quals.has(Qual::V8) {
        return None;
    }
    let bytes = i64::from(inst.quals.types().next()?.bytes());
    let half = |part: usize| {
        let words: Vec<Qual> = inst.quals.as_slice().to_vec();
        let words: Vec<Qual> = words
            .into_iter()
            .map(|word| if word == Qual::V8 { Qual::V4 } else { word })
            .collect();
        let operands = inst.operands.iter().map(|operand| match operand {
            Operand::Vec(items) if items.len() == 8 => {
                Operand::Vec(items[4 * part..4 * part + 4].into())
            }
            Operand::Addr(address) => Operand::Addr(Address {
                offset: address.offset + 4 * bytes * part as i64,
                ..*address
            }),
            other => other.clone(),
        });
        Inst {
            op: inst.op,
            quals: Quals::new(&words),
            operands: operands.collect(),
            guard: None,
        }
    };
    Some(super::super::lower(l, &half(0)).and_then(|()| super::super::lower(l, &half(1))))
}
