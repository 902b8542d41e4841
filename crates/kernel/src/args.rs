//! Arguments: one struct that is a kernel's signature on the device and on the host.

pub use crate::elem::Elem;

use crate::{
    build::{Rep, with},
    memory::{Global, Read, Write},
    slot::Slot,
    uni,
    val::{Ty, Val},
};
use std::{any::Any, fmt, marker::PhantomData, panic::Location, sync::Arc};
use warpsmith_ptx::{
    ir::Var,
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// A type that can be passed by value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed by value to a kernel",
    note = "a `Scalar` is one of u32, i32, u64, i64, f32, f64; a structure is a `Group` of another `args!`"
)]
pub trait ScalarArg: Ty {
    /// Its little-endian bytes.
    fn bytes(self) -> ([u8; 8], usize);
    /// As a size, for shapes; only integers are sizes.
    fn size(self) -> u128;
    /// An integer `by` larger; `None` if it does not fit, or is no integer (test cases).
    fn offset(self, by: i64) -> Option<Self>;
}

macro_rules! scalars {
    ($($rust:ident |$x:ident| $size:expr, |$by:ident| $offset:expr;)*) => {$(
        impl ScalarArg for $rust {
            fn bytes(self) -> ([u8; 8], usize) {
                let mut bytes = [0; 8];
                let own = self.to_le_bytes();
                bytes[..own.len()].copy_from_slice(&own);
                (bytes, own.len())
            }
            fn size(self) -> u128 {
                let $x = self;
                $size
            }
            fn offset(self, $by: i64) -> Option<Self> {
                let $x = self;
                $offset
            }
        }
    )*};
}

scalars! {
    u32 |x| u128::from(x), |by| u32::try_from(i64::from(x) + by).ok();
    u64 |x| u128::from(x), |by| x.checked_add_signed(by);
    i32 |x| u128::try_from(x).unwrap_or(0), |by| i32::try_from(i64::from(x) + by).ok();
    i64 |x| u128::try_from(x).unwrap_or(0), |by| x.checked_add(by);
    f32 |_x| 0, |_by| None;
    f64 |_x| 0, |_by| None;
}

/// What the fields of an argument struct are, on each side.
pub trait Mode {
    /// An array that is read.
    type In<T: Elem>;
    /// An array that may be absent; what a kernel's specialisation does not use is `None`.
    type Maybe<T: Elem>;
    /// An array that is written whole.
    type Out<T: Elem>;
    /// An array that is read and written.
    type InOut<T: Elem>;
    /// A value, the same in every thread.
    type Scalar<T: ScalarArg>;
}

/// Inside a kernel: views and values.
#[derive(Debug)]
pub struct InKernel<'k>(PhantomData<fn(&'k ()) -> &'k ()>);

impl<'k> Mode for InKernel<'k> {
    type In<T: Elem> = Global<'k, T, Read>;
    type Maybe<T: Elem> = Global<'k, T, Read>;
    type Out<T: Elem> = Global<'k, T, Write>;
    type InOut<T: Elem> = Global<'k, T, Write>;
    type Scalar<T: ScalarArg> = Val<'k, T, uni::Cta>;
}

/// Only the scalars, as plain numbers: what a grid is computed from.
#[derive(Debug)]
pub struct Shapes;

impl Mode for Shapes {
    type In<T: Elem> = ();
    type Maybe<T: Elem> = ();
    type Out<T: Elem> = ();
    type InOut<T: Elem> = ();
    type Scalar<T: ScalarArg> = T;
}

/// A device array as the host passes it.
pub trait HostBuffer {
    /// Device address of the first element.
    fn address(&self) -> u64;
    /// Elements.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The allocation that must outlive the launch; `None` where the caller guarantees it.
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>>;
    /// What it holds, where it is not on a device yet (test cases).
    fn contents(&self) -> Option<&[u8]> {
        None
    }
    /// Compares what a launch left in it with what was expected (test cases).
    ///
    /// # Errors
    /// The first element that differs.
    fn check(&self, _bytes: &[u8]) -> Result<(), Mismatch> {
        Ok(())
    }
    /// Bytes of an element.
    fn element_bytes(&self) -> usize;
}

/// An element that is not what was expected.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("element {index} is {got}, expected {want} within {tolerance} ({wrong} elements differ)")]
pub struct Mismatch {
    /// Of the first.
    pub index: usize,
    /// What was left.
    pub got: f64,
    /// What was expected.
    pub want: f64,
    /// What is allowed.
    pub tolerance: f64,
    /// How many differ.
    pub wrong: usize,
}

/// A mode whose fields are device arrays and plain values.
pub trait HostMode: Mode {
    /// The array behind an input.
    fn input<T: Elem>(field: &Self::In<T>) -> &dyn HostBuffer;
    /// The array behind an optional input.
    fn maybe<T: Elem>(field: &Self::Maybe<T>) -> Option<&dyn HostBuffer>;
    /// The array behind an output.
    fn output<T: Elem>(field: &Self::Out<T>) -> &dyn HostBuffer;
    /// The array behind an updated argument.
    fn inout<T: Elem>(field: &Self::InOut<T>) -> &dyn HostBuffer;
    /// The value.
    fn scalar<T: ScalarArg>(field: &Self::Scalar<T>) -> T;
}

/// A mode whose scalars are plain values that can be changed in place (test cases).
pub trait Changeable: HostMode {
    /// The value.
    fn scalar_mut<T: ScalarArg>(field: &mut Self::Scalar<T>) -> &mut T;
}

/// A scalar of any type, to be changed.
pub trait AnyScalar {
    /// Adds `by`; false if it does not fit, or is no integer, and nothing changed.
    fn offset(&mut self, by: i64) -> bool;
}

impl<T: ScalarArg> AnyScalar for T {
    fn offset(&mut self, by: i64) -> bool {
        ScalarArg::offset(*self, by)
            .map(|changed| *self = changed)
            .is_some()
    }
}

/// How a kernel uses an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    In,
    /// Read if present.
    Maybe,
    /// Written.
    Out,
    /// Read and written.
    InOut,
}

/// The name of an argument. One of a group is named by the group's field and its own: `w.codes`.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    group: Option<&'a Name<'a>>,
    field: &'static str,
}

impl<'a> Name<'a> {
    /// Field `field`, of a group if there is one.
    pub fn new(group: Option<&'a Name<'a>>, field: &'static str) -> Name<'a> {
        Name { group, field }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = self.group {
            write!(f, "{group}.")?;
        }
        f.write_str(self.field)
    }
}

/// Is told each argument in order.
pub trait Visitor {
    /// An array; `dims` is its shape, whose product is its length.
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    );
    /// A value's bytes.
    fn scalar(&mut self, name: Name<'_>, bytes: &[u8]);
}

/// A family of argument structs, one for each [`Mode`]; made by [`args!`](crate::args!).
pub trait Signature: 'static {
    /// The struct in mode `M`.
    type On<M: Mode>;
    /// Declares the parameters of a kernel.
    fn declare<'k>(parameters: &mut Parameters<'k>) -> Self::On<InKernel<'k>>;
    /// The declared parameters once more.
    fn again<'k>(args: &Self::On<InKernel<'k>>) -> Self::On<InKernel<'k>>;
    /// Walks the arguments of a launch.
    fn visit<M: HostMode>(args: &Self::On<M>, visitor: &mut dyn Visitor) {
        Self::visit_group(args, None, visitor);
    }
    /// Walks the arguments of group `group` of a launch, or of the launch itself.
    fn visit_group<M: HostMode>(
        args: &Self::On<M>,
        group: Option<&Name<'_>>,
        visitor: &mut dyn Visitor,
    );
    /// The scalars alone.
    fn shapes<M: HostMode>(args: &Self::On<M>) -> Self::On<Shapes>;
    /// The scalars with their names, to be changed in place.
    fn scalars<M: Changeable>(args: &mut Self::On<M>) -> Vec<(String, &mut dyn AnyScalar)>;
}

/// Declares kernel parameters in order.
#[derive(Debug, Default)]
pub struct Parameters<'k> {
    /// Names of the groups that they belong to, each with a `_` behind it.
    group: String,
    /// Where they stand in global memory, if they are not the kernel's own, and how far they are read.
    packed: Option<(Val<'k, u64, uni::Cta>, u32)>,
}

impl<'k> Parameters<'k> {
    /// Parameters that stand packed in global memory from `address` on, each at a multiple of its size: the arguments of
    /// a work item.
    pub(crate) fn packed(address: Val<'k, u64, uni::Cta>) -> Parameters<'k> {
        Parameters {
            group: String::new(),
            packed: Some((address, 0)),
        }
    }

    #[track_caller]
    fn parameter<V: Ty>(&mut self, name: &'static str, ty: Type) -> Val<'k, V, uni::Cta> {
        if let Some((address, read)) = &mut self.packed {
            let at = read.next_multiple_of(ty.bytes());
            *read = at + ty.bytes();
            let pointer = crate::memory::Pointer {
                space: Space::Global,
                base: address.reg(),
                offset: at.into(),
                read_only: false,
            };
            let [reg] = pointer.load(Location::caller(), ty, ty);
            return Val::from_reg(reg);
        }
        let name = format!("p_{}{name}", self.group);
        Val::from_reg(with(|b| {
            let id = b.function.params.len() as u32;
            b.function.params.push(Var::new(name, Space::Param, ty));
            let quals = [Qual::Param, Qual::T(ty)];
            b.def(Location::caller(), Op::Ld, &quals, ty, &[Slot::param(id)])
        }))
    }

    /// The address of an array.
    pub fn pointer(&mut self, name: &'static str) -> Val<'k, u64, uni::Cta> {
        self.parameter(name, Type::U64)
    }

    /// A value.
    pub fn value<T: ScalarArg>(&mut self, name: &'static str) -> Val<'k, T, uni::Cta> {
        self.parameter(name, T::TYPE)
    }

    /// The arguments of a group.
    pub fn group<S: Signature>(&mut self, name: &'static str) -> S::On<InKernel<'k>> {
        let outer = self.group.len();
        self.group += name;
        self.group.push('_');
        let args = S::declare(self);
        self.group.truncate(outer);
        args
    }
}

/// A dimension on the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no size of an array",
    note = "a shape is an expression of the integer scalars and of numbers"
)]
pub trait Size {
    /// Elements.
    fn elements(self) -> u128;
}

macro_rules! sizes {
    ($($t:ident)*) => {$(
        impl Size for $t {
            fn elements(self) -> u128 {
                u128::try_from(self).unwrap_or(0)
            }
        }
    )*};
}

sizes! { u32 i32 u64 u128 }

/// A dimension inside a kernel: a scalar argument, an expression of them, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no size of an array",
    note = "a shape is an expression of the integer scalars and of numbers"
)]
pub trait Dim<'k> {
    /// Elements.
    fn extent(self) -> Val<'k, u64, uni::Cta>;
}

impl<'k> Dim<'k> for Val<'k, u32, uni::Cta> {
    fn extent(self) -> Val<'k, u64, uni::Cta> {
        self.u64()
    }
}

impl<'k> Dim<'k> for Val<'k, u64, uni::Cta> {
    fn extent(self) -> Val<'k, u64, uni::Cta> {
        self
    }
}

impl<'k> Dim<'k> for u32 {
    fn extent(self) -> Val<'k, u64, uni::Cta> {
        Val::constant(self.into())
    }
}

/// The view of an array parameter of shape `dims`.
#[doc(hidden)]
pub fn view<'k, T: Elem, A>(
    pointer: Val<'k, u64, uni::Cta>,
    dims: Vec<Val<'k, u64, uni::Cta>>,
) -> Global<'k, T, A> {
    let row = match dims.as_slice() {
        [] | [_] => None,
        [_, row] => Some(Rep::Reg(row.reg())),
        [_, rest @ ..] => {
            let mut row = rest[0];
            for dim in &rest[1..] {
                row *= *dim;
            }
            Some(row.rep())
        }
    };
    Global::new(pointer, row)
}

/// Declares the arguments of a kernel: fields `In<T>[shape]`, `Maybe<T>[shape]`, `Out<T>[shape]`, `InOut<T>[shape]`,
/// `Scalar<T>`, and `Group<S>`, all those of another such struct. Shapes are expressions of the scalar fields, or scalars
/// of groups; a launch checks every array against its shape. Element types may be parameters of the struct.
///
/// ```
/// use warpsmith_kernel::{Elem, args};
///
/// args! {
///     /// A sparse matrix by rows.
///     pub struct Sparse<T: Elem> {
///         values: In<T>[entries], columns: In<u32>[entries], ends: In<u32>[rows],
///         rows: Scalar<u32>, entries: Scalar<u32>,
///     }
/// }
///
/// args! {
///     /// `y = w x`; inside a kernel `args.w.values` is an array.
///     pub struct ProductArgs<T: Elem> {
///         w: Group<Sparse<T>>, x: In<f32>[n], y: Out<f32>[w.rows], n: Scalar<u32>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! args {
    ($(#[$doc:meta])* $vis:vis struct $name:ident $(<$($elem:ident : $bound:path),+>)? {
        $($(#[$fdoc:meta])* $field:ident : $kind:ident < $t:ty > $([ $($dim:expr),+ $(,)? ])? ),* $(,)?
    }) => {
        $($crate::args!(@check $field $kind $([$($dim),+])?);)*

        $(#[$doc])*
        #[allow(missing_docs)] // the struct's own documentation says what its fields are
        $vis struct $name<$($($elem: $bound,)+)? M: $crate::args::Mode = $crate::args::Shapes> {
            $($(#[$fdoc])* pub $field: $crate::args!(@field M $kind $t),)*
        }

        impl<$($($elem: $bound),+)?> Clone for $name<$($($elem,)+)? $crate::args::InKernel<'_>> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($($elem: $bound),+)?> Copy for $name<$($($elem,)+)? $crate::args::InKernel<'_>> {}

        impl<$($($elem: $bound),+)?> $crate::args::Signature for $name<$($($elem),+)?> {
            type On<M: $crate::args::Mode> = $name<$($($elem,)+)? M>;

            #[allow(unused_variables)]
            fn declare<'k>(
                parameters: &mut $crate::args::Parameters<'k>,
            ) -> Self::On<$crate::args::InKernel<'k>> {
                $(let $field = $crate::args!(@declare parameters $kind $t, stringify!($field));)*
                $name { $($field: $crate::args!(@view $kind $field $([$($dim),+])?),)* }
            }

            fn again<'k>(args: &Self::On<$crate::args::InKernel<'k>>) -> Self::On<$crate::args::InKernel<'k>> {
                *args
            }

            #[allow(unused_variables)]
            fn visit_group<M: $crate::args::HostMode>(
                args: &Self::On<M>,
                group: Option<&$crate::args::Name<'_>>,
                visitor: &mut dyn $crate::args::Visitor,
            ) {
                $(let $field = $crate::args!(@size args $kind $t, $field);)*
                $({
                    let name = $crate::args::Name::new(group, stringify!($field));
                    $crate::args!(@visit args visitor name $kind $t, $field $([$($dim),+])?);
                })*
            }

            fn shapes<M: $crate::args::HostMode>(args: &Self::On<M>) -> Self::On<$crate::args::Shapes> {
                $name { $($field: $crate::args!(@shape args $kind $t, $field),)* }
            }

            #[allow(unused_mut)]
            fn scalars<M: $crate::args::Changeable>(
                args: &mut Self::On<M>,
            ) -> Vec<(String, &mut dyn $crate::args::AnyScalar)> {
                let mut scalars: Vec<(String, &mut dyn $crate::args::AnyScalar)> = Vec::new();
                $($crate::args!(@scalar args scalars $kind $t, $field);)*
                scalars
            }
        }
    };
    (@check $field:ident Scalar) => {};
    (@check $field:ident Group) => {};
    (@check $field:ident In [$($dim:expr),+]) => {};
    (@check $field:ident Maybe [$($dim:expr),+]) => {};
    (@check $field:ident Out [$($dim:expr),+]) => {};
    (@check $field:ident InOut [$($dim:expr),+]) => {};
    (@check $field:ident Scalar [$($dim:expr),+]) => {
        ::std::compile_error!(concat!(
            "`", stringify!($field), ": Scalar<..>` is one value, which has no shape: leave `[", stringify!($($dim),+),
            "]` away, or make it an array, `In<..>`"
        ));
    };
    (@check $field:ident Group [$($dim:expr),+]) => {
        ::std::compile_error!(concat!(
            "`", stringify!($field), ": Group<..>` has the shapes of its own struct: leave `[", stringify!($($dim),+),
            "]` away"
        ));
    };
    (@check $field:ident In) => { $crate::args!(@shapeless $field In); };
    (@check $field:ident Maybe) => { $crate::args!(@shapeless $field Maybe); };
    (@check $field:ident Out) => { $crate::args!(@shapeless $field Out); };
    (@check $field:ident InOut) => { $crate::args!(@shapeless $field InOut); };
    (@check $field:ident $kind:ident $([$($dim:expr),+])?) => {
        ::std::compile_error!(concat!(
            "`", stringify!($field), ": ", stringify!($kind), "<..>`: an argument is `In`, `Maybe`, `Out` or `InOut` with a \
             shape, as `In<f32>[n]`, or `Scalar<..>`, or `Group<..>`"
        ));
    };
    (@shapeless $field:ident $kind:ident) => {
        ::std::compile_error!(concat!(
            "`", stringify!($field), ": ", stringify!($kind), "<..>` is an array and needs its shape, in terms of the \
             scalars: `", stringify!($field), ": ", stringify!($kind), "<..>[n]`"
        ));
    };
    (@field $m:ident Group $t:ty) => { <$t as $crate::args::Signature>::On<$m> };
    (@field $m:ident In $t:ty) => { <$m as $crate::args::Mode>::In<$t> };
    (@field $m:ident Maybe $t:ty) => { <$m as $crate::args::Mode>::Maybe<$t> };
    (@field $m:ident Out $t:ty) => { <$m as $crate::args::Mode>::Out<$t> };
    (@field $m:ident InOut $t:ty) => { <$m as $crate::args::Mode>::InOut<$t> };
    (@field $m:ident Scalar $t:ty) => { <$m as $crate::args::Mode>::Scalar<$t> };
    (@field $m:ident $kind:ident $t:ty) => { ::std::convert::Infallible };
    (@declare $p:ident Scalar $t:ty, $name:expr) => { $p.value::<$t>($name) };
    (@declare $p:ident Group $t:ty, $name:expr) => { $p.group::<$t>($name) };
    (@declare $p:ident $kind:ident $t:ty, $name:expr) => { $p.pointer($name) };
    (@view Scalar $field:ident $([$($dim:expr),+])?) => { $field };
    (@view Group $field:ident $([$($dim:expr),+])?) => { $field };
    (@view In $field:ident $([$($dim:expr),+])?) => { $crate::args!(@array $field $($($dim),+)?) };
    (@view Maybe $field:ident $([$($dim:expr),+])?) => { $crate::args!(@array $field $($($dim),+)?) };
    (@view Out $field:ident $([$($dim:expr),+])?) => { $crate::args!(@array $field $($($dim),+)?) };
    (@view InOut $field:ident $([$($dim:expr),+])?) => { $crate::args!(@array $field $($($dim),+)?) };
    (@view $kind:ident $field:ident $([$($dim:expr),+])?) => { ::std::unreachable!("refused above") };
    (@array $field:ident $($dim:expr),*) => {
        $crate::args::view($field, vec![$($crate::args::Dim::extent($dim)),*])
    };
    (@size $args:ident Scalar $t:ty, $field:ident) => {
        $crate::args::ScalarArg::size(M::scalar::<$t>(&$args.$field))
    };
    (@size $args:ident Group $t:ty, $field:ident) => {
        <$t as $crate::args::Signature>::shapes::<M>(&$args.$field)
    };
    (@size $args:ident $kind:ident $t:ty, $field:ident) => { () };
    (@visit $args:ident $v:ident $name:ident Scalar $t:ty, $field:ident $([$($dim:expr),+])?) => {
        let (bytes, n) = $crate::args::ScalarArg::bytes(M::scalar::<$t>(&$args.$field));
        $v.scalar($name, &bytes[..n]);
    };
    (@visit $args:ident $v:ident $name:ident Group $t:ty, $field:ident $([$($dim:expr),+])?) => {
        <$t as $crate::args::Signature>::visit_group::<M>(&$args.$field, Some(&$name), $v)
    };
    (@visit $args:ident $v:ident $name:ident In $t:ty, $field:ident [$($dim:expr),+]) => {
        $v.array($name, $crate::args::Access::In, Some(M::input::<$t>(&$args.$field)), &[$($crate::args::Size::elements($dim)),+])
    };
    (@visit $args:ident $v:ident $name:ident Maybe $t:ty, $field:ident [$($dim:expr),+]) => {
        $v.array($name, $crate::args::Access::Maybe, M::maybe::<$t>(&$args.$field), &[$($crate::args::Size::elements($dim)),+])
    };
    (@visit $args:ident $v:ident $name:ident Out $t:ty, $field:ident [$($dim:expr),+]) => {
        $v.array($name, $crate::args::Access::Out, Some(M::output::<$t>(&$args.$field)), &[$($crate::args::Size::elements($dim)),+])
    };
    (@visit $args:ident $v:ident $name:ident InOut $t:ty, $field:ident [$($dim:expr),+]) => {
        $v.array($name, $crate::args::Access::InOut, Some(M::inout::<$t>(&$args.$field)), &[$($crate::args::Size::elements($dim)),+])
    };
    (@visit $args:ident $v:ident $name:ident $kind:ident $t:ty, $field:ident $([$($dim:expr),+])?) => {};
    (@scalar $args:ident $list:ident Scalar $t:ty, $field:ident) => {
        $list.push((stringify!($field).to_owned(), M::scalar_mut::<$t>(&mut $args.$field)))
    };
    (@scalar $args:ident $list:ident Group $t:ty, $field:ident) => {
        let own = <$t as $crate::args::Signature>::scalars::<M>(&mut $args.$field);
        $list.extend(own.into_iter().map(|(name, scalar)| (format!("{}.{name}", stringify!($field)), scalar)));
    };
    (@scalar $args:ident $list:ident $kind:ident $t:ty, $field:ident) => {};
    (@shape $args:ident Scalar $t:ty, $field:ident) => { M::scalar::<$t>(&$args.$field) };
    (@shape $args:ident Group $t:ty, $field:ident) => {
        <$t as $crate::args::Signature>::shapes::<M>(&$args.$field)
    };
    (@shape $args:ident In $t:ty, $field:ident) => { () };
    (@shape $args:ident Maybe $t:ty, $field:ident) => { () };
    (@shape $args:ident Out $t:ty, $field:ident) => { () };
    (@shape $args:ident InOut $t:ty, $field:ident) => { () };
    (@shape $args:ident $kind:ident $t:ty, $field:ident) => { ::std::unreachable!("refused above") };
}
