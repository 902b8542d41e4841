//! Initial values: as many and of the kind that the variable takes.

use crate::{
    diag::Code,
    ir::{Imm, Init, InitSymbol, Module, Var},
    types::{Space, Type, TypeKind},
};

/// What is wrong with the initial value of a variable.
pub(super) fn check(module: &Module, var: &Var, init: &Init) -> Option<Code> {
    // A vector is one more list inside of the dimensions.
    let mut dims: Vec<Option<u64>> = var.dims.to_vec();
    let vector = (var.vector > 1).then_some(u64::from(var.vector));
    dims.extend(vector.map(Some));
    level(module, var, &dims, init)
}

fn level(module: &Module, var: &Var, dims: &[Option<u64>], init: &Init) -> Option<Code> {
    let kind = |expected, found| {
        let name = var.name.to_string();
        Some(Code::InitKind {
            name,
            expected,
            found,
        })
    };
    match (init, dims.split_first()) {
        (Init::List(items), Some((size, inner))) => {
            let most = size.unwrap_or(u64::MAX);
            let of_vector = var.vector > 1 && inner.is_empty();
            if items.len() as u64 > most || (of_vector && items.len() as u64 != most) {
                let name = var.name.to_string();
                return Some(Code::InitTooLong { name });
            }
            items
                .iter()
                .find_map(|item| level(module, var, inner, item))
        }
        (Init::List(_), None) => kind("one value", "a list"),
        (_, Some(_)) => kind("a list", "one value"),
        (Init::Imm(imm), None) => {
            let float = matches!(imm, Imm::F32(_) | Imm::F64(_));
            match (var.ty.kind(), float) {
                _ if matches!(var.ty, Type::F16 | Type::F16x2) => kind("absent", "a value"),
                (TypeKind::Float, false) => kind("a floating-point constant", "an integer"),
                (TypeKind::Signed | TypeKind::Unsigned, true) => {
                    kind("an integer", "a floating-point constant")
                }
                _ => None,
            }
        }
        (Init::Address { symbol, .. }, None) => match symbol {
            _ if !matches!(var.ty, Type::U32 | Type::U64) => {
                kind("a constant, addresses go into .u32 and .u64", "an address")
            }
            InitSymbol::Var(at) => {
                let space = module.vars.get(*at as usize).map(|var| var.space);
                match space {
                    Some(Space::Global | Space::Const) => None,
                    _ => kind("the address of a variable in .global or .const", "another"),
                }
            }
            InitSymbol::Func(_) => None,
        },
    }
}
