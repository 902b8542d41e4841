//! Nodes whose results nobody reads are left out.

use super::{super::nodes::Nodes, operands_of};
use regalloc2::OperandKind;

/// Removes nodes that are `idle`, only there for their results, where none of those is read.
pub(super) fn removed(nodes: &mut Nodes, idle: &[bool]) {
    let mut read = vec![false; nodes.registers];
    for part in &nodes.parts {
        for give in &part.gives {
            read[give.vreg()] = true;
        }
    }
    let mut kept = vec![false; nodes.codes.len()];
    for node in (0..nodes.codes.len()).rev() {
        let operands = operands_of(nodes, node);
        let wanted = operands
            .iter()
            .any(|own| own.kind() == OperandKind::Def && read[own.vreg().vreg()]);
        if idle[node] && !wanted {
            continue;
        }
        kept[node] = true;
        for own in operands {
            if own.kind() == OperandKind::Use {
                read[own.vreg().vreg()] = true;
            }
        }
    }
    let mut codes = Vec::with_capacity(nodes.codes.len());
    let mut firsts = Vec::with_capacity(nodes.codes.len());
    let mut operands = Vec::with_capacity(nodes.operands.len());
    let mut places = Vec::with_capacity(nodes.codes.len() + 1);
    for node in 0..nodes.codes.len() {
        places.push(codes.len() as u32);
        if kept[node] {
            codes.push(nodes.codes[node]);
            firsts.push(operands.len() as u32);
            operands.extend_from_slice(operands_of(nodes, node));
        }
    }
    places.push(codes.len() as u32);
    for part in &mut nodes.parts {
        part.first = places[part.first as usize];
    }
    nodes.codes = codes;
    nodes.firsts = firsts;
    nodes.operands = operands;
}
