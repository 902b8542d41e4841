//! Element types of arrays in memory.

use crate::val::Ty;
use half::{bf16, f16};
use warpsmith_ptx::types::Type;

/// An element type of arrays in device memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of an array",
    note = "elements are u8, i8, u16, u32, i32, u64, i64, f16, bf16, f32, f64, F8E4M3 or F8E5M2; a parameter of the arguments \
            needs the bound `Elem`"
)]
pub trait Elem: Copy + Send + Sync + 'static {
    /// The type of a register it is loaded into.
    type Reg: Ty;
    /// The type that `ld` and `st` name.
    const MEMORY: Type;
    /// Its name in reports: `f32`.
    const NAME: &'static str;
}

macro_rules! elems {
    ($($rust:ident $reg:ident $memory:ident;)*) => {$(
        impl Elem for $rust {
            type Reg = $reg;
            const MEMORY: Type = Type::$memory;
            const NAME: &'static str = stringify!($rust);
        }
    )*};
}

elems! {
    u8 u32 U8; i8 i32 S8; u16 u32 U16; u32 u32 U32; i32 i32 S32; u64 u64 U64; i64 i64 S64;
    f16 f16 B16; bf16 bf16 B16; f32 f32 F32; f64 f64 F64;
}
