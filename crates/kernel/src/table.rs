//! Constants and lookup tables: arrays whose contents are part of the kernel.

use crate::{
    build::with,
    elem::Elem,
    memory::{Index, Pointer},
    scope::Cta,
    slot::Slot,
    val::{Ty, Val},
};
use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{
    ir::{Imm, Init, Operand, Var, VarId},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// Bytes of constant memory that a kernel may have (CUDA C++ programming guide, "Compute capabilities").
const CONSTANT_BYTES: usize = 64 << 10;

/// An element that tables are made of.
pub trait TableElem: Elem {
    /// As it is written in an initialiser.
    #[doc(hidden)]
    fn init(self) -> Imm;
}

macro_rules! elems {
    ($($elem:ident |$x:ident| $imm:expr;)*) => {$(
        impl TableElem for $elem {
            fn init(self) -> Imm {
                let $x = self;
                $imm
            }
        }
    )*};
}

elems! {
    u8 |x| Imm::Int(x.into()); i8 |x| Imm::Int(x.into()); u16 |x| Imm::Int(x.into()); u32 |x| Imm::Int(x.into());
    i32 |x| Imm::Int(x.into()); u64 |x| Imm::uint(x); i64 |x| Imm::Int(x); f32 |x| Imm::F32(x.to_bits());
    f64 |x| Imm::F64(x.to_bits()); f16 |x| Imm::Int(x.to_bits().into()); bf16 |x| Imm::Int(x.to_bits().into());
    F8E4M3 |x| Imm::Int(x.to_bits().into()); F8E5M2 |x| Imm::Int(x.to_bits().into());
}

/// A table in constant memory, or in global memory where it is larger than that: CUDA's `__constant__` arrays.
///
/// ```
/// # use warpsmith_kernel::{Cta, InKernel, args};
/// # args! { struct Smooth { x: In<f32>[n + 4], y: Out<f32>[n], n: Scalar<u32> } }
/// fn smooth<'k>(cta: &mut Cta<'k>, a: Smooth<InKernel<'k>>) {
///     let weights = cta.table(&[0.06f32, 0.24, 0.4, 0.24, 0.06]);
///     cta.each(a.n, |_, i| {
///         let terms = (0..5).map(|k| a.x.at(i + k) * weights.at(k));
///         a.y.set(i, terms.reduce(|sum, term| sum + term).expect("five"));
///     });
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Table<'k, T> {
    var: u32,
    space: Space,
    len: usize,
    mark: PhantomData<(fn(&'k ()) -> &'k (), T)>,
}

impl<'k> Cta<'k> {
    /// A table of these elements.
    pub fn table<T: TableElem>(&mut self, elements: &[T]) -> Table<'k, T> {
        let bytes = std::mem::size_of_val(elements);
        with(|b| {
            let space = if b.constant_bytes + bytes <= CONSTANT_BYTES {
                b.constant_bytes += bytes;
                Space::Const
            } else {
                Space::Global
            };
            let init = elements.iter().map(|element| Init::Imm(element.init()));
            let mut var = Var::new(format!("table{}", b.module_vars.len()), space, T::MEMORY);
            var.align = Some(16);
            var.dims.push(Some(elements.len() as u64));
            var.init = Some(Init::List(init.collect()));
            b.module_vars.push(var);
            Table {
                var: b.module_vars.len() as u32 - 1,
                space,
                len: elements.len(),
                mark: PhantomData,
            }
        })
    }
}

impl<'k, T: TableElem> Table<'k, T> {
    /// The element at `index`, which is below the number of elements.
    #[track_caller]
    pub fn at<I: Index<'k>>(self, index: I) -> Val<'k, T::Reg, I::U> {
        let at = Location::caller();
        let pointer = Pointer {
            space: self.space,
            base: address_of(at, self.var),
            offset: 0,
            read_only: true,
        };
        let [reg] = index
            .add_to(at, pointer, T::MEMORY.bytes())
            .load(at, T::MEMORY, T::Reg::TYPE);
        Val::from_reg(reg)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A register with the address of a variable of the module, in the variable's own space.
pub(crate) fn address_of(at: &'static Location<'static>, var: u32) -> warpsmith_ptx::ir::RegId {
    let mut slots = Vec::with_capacity(1);
    Slot::append(&mut slots, &Operand::Var(VarId::Module(var), 0));
    with(|b| b.def(at, Op::Mov, &[Qual::T(Type::U64)], Type::U64, &slots))
}
