//! Scalar types and state spaces (PTX ISA, sections 5.1 and 5.2).

use std::fmt;

macro_rules! types {
    ($($name:ident $text:literal $bits:literal $kind:ident;)*) => {
        /// A PTX fundamental or packed type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Type { $($name,)* }

        impl Type {
            /// Every type.
            pub const ALL: &'static [Type] = &[$(Type::$name,)*];

            /// The name without its dot, as PTX writes it.
            pub const fn name(self) -> &'static str {
                match self { $(Type::$name => $text,)* }
            }

            /// The type with this name (without a dot).
            pub fn from_name(name: &str) -> Option<Type> {
                match name { $($text => Some(Type::$name),)* _ => None }
            }

            /// The width in bits; 1 for `.pred`.
            pub const fn bits(self) -> u32 {
                match self { $(Type::$name => $bits,)* }
            }

            /// The family that decides which registers fit.
            pub const fn kind(self) -> TypeKind {
                match self { $(Type::$name => TypeKind::$kind,)* }
            }
        }
    };
}

/// What a type's bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Two's complement.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// Untyped bits.
    Bits,
    /// A floating-point number.
    Float,
    /// Several small numbers in one register.
    Packed,
    /// A predicate.
    Pred,
}

types! {
    U8 "u8" 8 Unsigned; U16 "u16" 16 Unsigned; U32 "u32" 32 Unsigned; U64 "u64" 64 Unsigned;
    S8 "s8" 8 Signed; S16 "s16" 16 Signed; S32 "s32" 32 Signed; S64 "s64" 64 Signed;
    B1 "b1" 1 Bits; B8 "b8" 8 Bits; B16 "b16" 16 Bits; B32 "b32" 32 Bits; B64 "b64" 64 Bits; B128 "b128" 128 Bits;
    F16 "f16" 16 Float; BF16 "bf16" 16 Float; TF32 "tf32" 32 Float; F32 "f32" 32 Float; F64 "f64" 64 Float;
    F16x2 "f16x2" 32 Packed; BF16x2 "bf16x2" 32 Packed; U16x2 "u16x2" 32 Packed; S16x2 "s16x2" 32 Packed;
    E4M3 "e4m3" 8 Packed; E5M2 "e5m2" 8 Packed; E4M3x2 "e4m3x2" 16 Packed; E5M2x2 "e5m2x2" 16 Packed;
    F32x2 "f32x2" 64 Packed; U4 "u4" 4 Packed; S4 "s4" 4 Packed;
    E3M2 "e3m2" 6 Packed; E2M3 "e2m3" 6 Packed; E2M1 "e2m1" 4 Packed; UE8M0 "ue8m0" 8 Packed; UE4M3 "ue4m3" 8 Packed;
    Pred "pred" 1 Pred;
}

impl Type {
    /// The width in whole bytes in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether variables and registers may have it: the others only occur in instructions.
    pub const fn is_declared(self) -> bool {
        !matches!(
            self,
            Type::B1
                | Type::BF16
                | Type::TF32
                | Type::BF16x2
                | Type::U16x2
                | Type::S16x2
                | Type::E4M3
                | Type::E5M2
                | Type::E4M3x2
                | Type::E5M2x2
                | Type::F32x2
                | Type::U4
                | Type::S4
                | Type::E3M2
                | Type::E2M3
                | Type::E2M1
                | Type::UE8M0
                | Type::UE4M3
        )
    }

    /// Whether this is `.sN`.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), TypeKind::Signed)
    }

    /// Whether this is `.sN` or `.uN`.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), TypeKind::Signed | TypeKind::Unsigned)
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), TypeKind::Float)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Resolved at run time among global, shared, local, const and param windows.
    Generic,
    /// Device memory.
    Global,
    /// Memory of one CTA.
    Shared,
    /// Memory of one thread.
    Local,
    /// Read-only constants.
    Const,
    /// Kernel or function parameters.
    Param,
}

impl Space {
    /// The name without its dot; empty for generic.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Generic => "",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        }
    }
}
