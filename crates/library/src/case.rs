//! Test cases: a kernel, arguments that live on the host, and what each output must be.

use half::{bf16, f16};
use std::{any::Any, marker::PhantomData, sync::Arc};
use warpsmith_kernel::{
    BuildError, Built, Elem, Kernel, LaunchError, Options,
    args::{Changeable, HostBuffer, HostMode, Mismatch, Mode, ScalarArg, Signature, Visitor},
    build,
};
use warpsmith_ptx::target::Target;

/// Arguments on the host: inputs with their contents, outputs with what is expected.
#[derive(Debug)]
pub struct OnHost;

impl Mode for OnHost {
    type In<T: Elem> = Data<T>;
    type Maybe<T: Elem> = Option<Data<T>>;
    type Out<T: Elem> = Expected<T>;
    type InOut<T: Elem> = Updated<T>;
    type Scalar<T: ScalarArg> = T;
}

impl HostMode for OnHost {
    fn input<T: Elem>(field: &Data<T>) -> &dyn HostBuffer {
        field
    }
    fn maybe<T: Elem>(field: &Option<Data<T>>) -> Option<&dyn HostBuffer> {
        field.as_ref().map(|data| data as &dyn HostBuffer)
    }
    fn output<T: Elem>(field: &Expected<T>) -> &dyn HostBuffer {
        field
    }
    fn inout<T: Elem>(field: &Updated<T>) -> &dyn HostBuffer {
        field
    }
    fn scalar<T: ScalarArg>(field: &T) -> T {
        *field
    }
}

impl Changeable for OnHost {
    fn scalar_mut<T: ScalarArg>(field: &mut T) -> &mut T {
        field
    }
}

/// An element that test data are made of.
pub trait HostElem: Elem {
    /// Little-endian bytes.
    fn to_bytes(self, out: &mut Vec<u8>);
    /// The number that some bytes are.
    fn number(bytes: &[u8]) -> f64;
}

macro_rules! host_elems {
    ($($rust:ident |$x:ident| $number:expr;)*) => {$(
        impl HostElem for $rust {
            fn to_bytes(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn number(bytes: &[u8]) -> f64 {
                let $x = $rust::from_le_bytes(bytes.try_into().expect("one element"));
                $number
            }
        }
    )*};
}

host_elems! {
    u8 |x| x.into(); i8 |x| x.into(); u16 |x| x.into(); u32 |x| x.into(); i32 |x| x.into();
    u64 |x| x as f64; f16 |x| x.to_f64(); bf16 |x| x.to_f64(); f32 |x| x.into();
}

/// An input.
#[derive(Clone, Debug)]
pub struct Data<T> {
    bytes: Vec<u8>,
    mark: PhantomData<T>,
}

impl<T: HostElem> From<Vec<T>> for Data<T> {
    fn from(values: Vec<T>) -> Self {
        let mut bytes = Vec::new();
        values
            .into_iter()
            .for_each(|value| value.to_bytes(&mut bytes));
        Data {
            bytes,
            mark: PhantomData,
        }
    }
}

/// An output: what it must hold, element by element.
#[derive(Clone, Debug)]
pub struct Expected<T> {
    values: Vec<f64>,
    tolerance: Vec<f64>,
    number: fn(&[u8]) -> f64,
    /// How every second element is read, if otherwise.
    second: Option<fn(&[u8]) -> f64>,
    mark: PhantomData<T>,
}

impl<T: HostElem> Expected<T> {
    /// `values[i]` within `tolerance[i]`; NaN expects NaN; a tolerance of infinity expects anything (scratch).
    pub fn within(values: Vec<f64>, tolerance: Vec<f64>) -> Self {
        assert_eq!(
            values.len(),
            tolerance.len(),
            "one tolerance for each value"
        );
        Expected {
            values,
            tolerance,
            number: T::number,
            second: None,
            mark: PhantomData,
        }
    }

    /// Exactly these values.
    pub fn exact(values: Vec<f64>) -> Self {
        let tolerance = vec![0.0; values.len()];
        Self::within(values, tolerance)
    }

    /// Scratch space whose contents afterwards do not matter.
    pub fn scratch(len: usize) -> Self {
        Self::within(vec![0.0; len], vec![f64::INFINITY; len])
    }
}

impl Expected<u32> {
    /// Pairs of an integer and the bits of an f32: the integer exactly, the float within its tolerance.
    pub fn pairs(pairs: &[(u32, f64)], tolerance: &[f64]) -> Self {
        let mut expected = Self::exact(Vec::new());
        for ((id, value), tolerance) in pairs.iter().zip(tolerance) {
            expected.values.extend([f64::from(*id), *value]);
            expected.tolerance.extend([0.0, *tolerance]);
        }
        expected.second = Some(f32::number);
        expected
    }
}

/// An argument that is read and written.
#[derive(Clone, Debug)]
pub struct Updated<T> {
    /// Before.
    pub before: Data<T>,
    /// After.
    pub after: Expected<T>,
}

impl<T: Elem> HostBuffer for Data<T> {
    fn address(&self) -> u64 {
        0
    }
    fn len(&self) -> usize {
        self.bytes.len() / self.element_bytes()
    }
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        None
    }
    fn contents(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }
    fn element_bytes(&self) -> usize {
        T::MEMORY.bytes() as usize
    }
}

impl<T: Elem> HostBuffer for Expected<T> {
    fn address(&self) -> u64 {
        0
    }
    fn len(&self) -> usize {
        self.values.len()
    }
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        None
    }
    fn check(&self, bytes: &[u8]) -> Result<(), Mismatch> {
        let mut first: Option<Mismatch> = None;
        for (index, bytes) in bytes.chunks_exact(self.element_bytes()).enumerate() {
            let number = self.second.filter(|_| index % 2 == 1);
            let (got, want, tolerance) = (
                number.unwrap_or(self.number)(bytes),
                self.values[index],
                self.tolerance[index],
            );
            let same = got == want || (got.is_nan() && want.is_nan()) || tolerance == f64::INFINITY;
            if !same && !((got - want).abs() <= tolerance) {
                match &mut first {
                    Some(mismatch) => mismatch.wrong += 1,
                    None => {
                        first = Some(Mismatch {
                            index,
                            got,
                            want,
                            tolerance,
                            wrong: 1,
                        })
                    }
                }
            }
        }
        first.map_or(Ok(()), Err)
    }
    fn element_bytes(&self) -> usize {
        T::MEMORY.bytes() as usize
    }
}

impl<T: Elem> HostBuffer for Updated<T> {
    fn address(&self) -> u64 {
        0
    }
    fn len(&self) -> usize {
        self.after.values.len()
    }
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        None
    }
    fn contents(&self) -> Option<&[u8]> {
        Some(&self.before.bytes)
    }
    fn check(&self, bytes: &[u8]) -> Result<(), Mismatch> {
        self.after.check(bytes)
    }
    fn element_bytes(&self) -> usize {
        T::MEMORY.bytes() as usize
    }
}

/// A launch of kernel `K` with known results.
pub struct Case<K: Kernel> {
    /// What is special about it: the shape, the edge.
    pub label: String,
    /// Kernel and specialisation.
    pub kernel: K,
    /// Arguments.
    pub args: <K::Args as Signature>::On<OnHost>,
}

/// A case of any kernel.
pub trait AnyCase {
    /// The kernel's name.
    fn name(&self) -> String;
    /// Kernel name and label.
    fn label(&self) -> String;
    /// The kernel for a target.
    ///
    /// # Errors
    /// As [`build`].
    fn build(&self, target: Target, options: Options) -> Result<Built, BuildError>;
    /// CTAs to launch.
    ///
    /// # Errors
    /// As [`Kernel::grid`].
    fn grid(&self) -> Result<u64, LaunchError>;
    /// Walks the arguments.
    fn visit(&self, visitor: &mut dyn Visitor);
    /// Adds `by` to scalar `name`; false if there is none, or it is no integer, or it does not fit.
    fn offset(&mut self, name: &str, by: i64) -> bool;
}

impl<K: Kernel> AnyCase for Case<K> {
    fn name(&self) -> String {
        self.kernel.name()
    }
    fn label(&self) -> String {
        format!("{} {}", self.kernel.name(), self.label)
    }
    fn build(&self, target: Target, options: Options) -> Result<Built, BuildError> {
        build(&self.kernel, target, options)
    }
    fn grid(&self) -> Result<u64, LaunchError> {
        self.kernel.grid(&K::Args::shapes(&self.args))
    }
    fn visit(&self, visitor: &mut dyn Visitor) {
        K::Args::visit(&self.args, visitor);
    }
    fn offset(&mut self, name: &str, by: i64) -> bool {
        let scalars = K::Args::scalars(&mut self.args);
        let mut named = scalars.into_iter().filter(|(own, _)| *own == name);
        named.next().is_some_and(|(_, scalar)| scalar.offset(by))
    }
}

/// Reproducible random numbers for cases (SplitMix64, Steele et al., 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in `low..=high`.
    pub fn range(&mut self, low: u32, high: u32) -> u32 {
        low + (self.bits() % u64::from(high - low + 1)) as u32
    }

    /// A number in `[-scale, scale)`.
    pub fn number(&mut self, scale: f32) -> f32 {
        ((self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * scale
    }

    /// `n` numbers in `[-scale, scale)`.
    pub fn numbers(&mut self, n: usize, scale: f32) -> Vec<f32> {
        (0..n).map(|_| self.number(scale)).collect()
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.bits() % of.len() as u64) as usize]
    }
}

/// The rounding unit of f32.
pub const EPS_F32: f64 = 1.0 / (1u64 << 24) as f64;
/// The rounding unit of f16.
pub const EPS_F16: f64 = 1.0 / (1u64 << 11) as f64;
