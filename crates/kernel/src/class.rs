//! Classes of registers: which share a prefix, and in which order they are declared.

use warpsmith_ptx::types::Type;

/// The place of a register's class in [`CLASSES`].
pub(crate) fn class(ty: Type) -> usize {
    match ty {
        Type::Pred => 0,
        Type::F32 => 3,
        Type::F64 => 5,
        _ => match ty.bits() {
            64 => 4,
            32 => 2,
            _ => 1,
        },
    }
}

pub(crate) const CLASSES: [(Type, &str); 6] = [
    (Type::Pred, "%p"),
    (Type::B16, "%h"),
    (Type::B32, "%r"),
    (Type::F32, "%f"),
    (Type::B64, "%rd"),
    (Type::F64, "%fd"),
];

/// The place of a class in the order of the prefixes' text.
pub(crate) fn class_order(class: usize) -> u8 {
    [3, 2, 4, 0, 5, 1][class]
}
