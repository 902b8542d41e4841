//! Kernels: a name, a grid, and a tile body; and the build that turns one into verified PTX.

use crate::{
    args::{InKernel, Parameters, Shapes, Signature},
    build::{Builder, record},
    draft::Reuse,
    misuse::Misuse,
    scope::Cta,
};
use std::{hash::Hash, sync::Arc};
use warpsmith_ptx::{
    diag::Diagnostic,
    target::Target,
    verify::{Verified, verify},
};

/// A kernel with its specialisation: the value is part of the cache key.
///
/// ```
/// use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Options, Scope, args, build};
/// use warpsmith_ptx::target::Target;
///
/// args! { pub struct HalveArgs { x: InOut<f32>[n], n: Scalar<u32> } }
///
/// /// Halves each element; the number of threads is a specialisation.
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// struct Halve { threads: u32 }
///
/// impl Kernel for Halve {
///     type Args = HalveArgs;
///     fn name(&self) -> String { format!("halve_{}", self.threads) }
///     fn threads(&self) -> u32 { self.threads }
///     fn grid(&self, a: &HalveArgs) -> Result<u64, LaunchError> { Ok(a.n.div_ceil(self.threads).into()) }
///     fn body<'k>(&self, cta: &mut Cta<'k>, a: HalveArgs<InKernel<'k>>) {
///         let i = cta.id() * self.threads + cta.thread();
///         cta.if_(i.lt(a.n), |_| a.x.set(i, a.x.at(i) * 0.5));
///     }
/// }
///
/// let built = build(&Halve { threads: 128 }, Target::sm(75), Options::default())?;
/// assert_eq!(&*built.entry, "halve_128");
/// assert!(built.module.text().contains(".reqntid 128"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Kernel: Clone + Hash + Eq + Send + Sync + 'static {
    /// Its arguments.
    type Args: Signature;

    /// Whether the body is right for CTAs of any size, with the same tiles.
    const ANY_SIZE: bool = false;

    /// The symbol; the specialisation shows in it where it changes the code.
    fn name(&self) -> String;

    /// Threads of a CTA: a multiple of 32 up to 1024.
    fn threads(&self) -> u32 {
        256
    }

    /// The number of CTAs for these scalars; 0 launches nothing.
    ///
    /// # Errors
    /// Where the scalars make no sense for this kernel.
    fn grid(&self, args: &<Self::Args as Signature>::On<Shapes>) -> Result<u64, LaunchError>;

    /// The kernel whose body is right for CTAs of `threads` threads, a multiple of 32; its grid counts tiles for them.
    /// `None` where there is none. Larger kernels run bodies as work items, with CTAs of their own size.
    fn resized(&self, threads: u32) -> Option<Self> {
        (Self::ANY_SIZE || threads == self.threads()).then(|| self.clone())
    }

    /// Refuses targets that lack what the body needs.
    ///
    /// # Errors
    /// [`BuildError::Unsupported`] naming the feature.
    fn supports(&self, _target: Target) -> Result<(), BuildError> {
        Ok(())
    }

    /// Pieces of 16 bytes that [`Kernel::fetch`] brings for each thread; 0 where there is nothing to fetch.
    fn pieces_ahead(&self) -> u32 {
        0
    }

    /// Begins to fetch what [`Kernel::body`] reads first of tile `cta.id()` to [`Cta::ahead`], for bodies that run as work
    /// items: of arrays that no item writes, as other items may still be at work. The body then takes it from there.
    fn fetch<'k>(&self, _cta: &mut Cta<'k>, _args: &<Self::Args as Signature>::On<InKernel<'k>>) {}

    /// Computes tile `cta.id()`.
    fn body<'k>(&self, cta: &mut Cta<'k>, args: <Self::Args as Signature>::On<InKernel<'k>>);
}

/// Why a launch was refused before it reached the device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// An array's length is not what its shape says.
    #[error("`{kernel}`: `{arg}` has {got} elements, its shape {shape:?} needs {want}")]
    Shape {
        /// Kernel.
        kernel: String,
        /// Argument; one of a group as `group.field`.
        arg: String,
        /// Dimensions.
        shape: Vec<u128>,
        /// Elements that the shape needs.
        want: u128,
        /// Elements that the array has.
        got: usize,
    },
    /// A dimension of an array is larger than kernels count.
    #[error("`{kernel}`: a dimension of `{arg}` is {found}, expected below 2147483648")]
    Dimension {
        /// Kernel.
        kernel: String,
        /// Argument; one of a group as `group.field`.
        arg: String,
        /// The dimension.
        found: u128,
    },
    /// A scalar is outside what the kernel takes.
    #[error("`{what}` is {found}, expected {expected}")]
    Value {
        /// Which.
        what: &'static str,
        /// What it is.
        found: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// More CTAs than a grid may have.
    #[error("`{kernel}` needs {ctas} CTAs, a grid has at most 2147483647")]
    Grid {
        /// Kernel.
        kernel: String,
        /// CTAs.
        ctas: u64,
    },
}

/// `Ok` if `holds`, else a [`LaunchError::Value`].
///
/// # Errors
/// If it does not hold.
pub fn require(
    holds: impl Into<bool>,
    what: &'static str,
    found: u64,
    expected: &'static str,
) -> Result<(), LaunchError> {
    if holds.into() {
        Ok(())
    } else {
        Err(LaunchError::Value {
            what,
            found,
            expected,
        })
    }
}

/// Refuses a launch by its scalars: for each the condition that must hold, and what is expected.
///
/// ```
/// use warpsmith_kernel::{LaunchError, args, limits};
///
/// args! {
///     pub struct ScaleArgs { x: InOut<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>, by: Scalar<f32> }
/// }
///
/// fn grid(a: &ScaleArgs) -> Result<u64, LaunchError> {
///     limits! {
///         a.n: (1..1 << 24).contains(&a.n), "at least 1 and below 2^24";
///         a.rows: a.rows < 1 << 31, "below 2^31";
///     }
///     Ok(a.rows.into())
/// }
/// ```
#[macro_export]
macro_rules! limits {
    ($($args:ident . $scalar:ident : $holds:expr, $expected:literal;)*) => {
        $($crate::require($holds, stringify!($scalar), $args.$scalar.into(), $expected)?;)*
    };
}

/// Why a kernel was not built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The verifier refused the module.
    #[error("kernel `{kernel}` for {target} is refused: {}", each_once(.found))]
    Refused {
        /// Kernel.
        kernel: String,
        /// Target.
        target: Target,
        /// All that was found.
        found: Vec<Diagnostic>,
    },
    /// The body does what the language refuses.
    #[error("kernel `{kernel}` is wrong at {}", each_once(.found))]
    Misuse {
        /// Kernel.
        kernel: String,
        /// All that was found, in the order of the body.
        found: Vec<Misuse>,
    },
    /// The target is older than [`OLDEST`].
    #[error("kernel `{kernel}` needs {OLDEST} or later, the target is {target}")]
    TooOld {
        /// Kernel.
        kernel: String,
        /// Target.
        target: Target,
    },
    /// The target lacks a feature.
    #[error("kernel `{kernel}` needs {feature}, which {target} does not have")]
    Unsupported {
        /// Kernel.
        kernel: String,
        /// Target.
        target: Target,
        /// What is lacking.
        feature: &'static str,
    },
    /// A CTA size that the hardware does not have.
    #[error("kernel `{kernel}` has {threads} threads, expected a multiple of 32 from 32 to 1024")]
    Threads {
        /// Kernel.
        kernel: String,
        /// Threads.
        threads: u32,
    },
}

/// The oldest target that kernels are built for: the first with the memory model and the `.sync` instructions that the
/// language stands on (PTX ISA, "Memory Consistency Model").
pub const OLDEST: Target = Target::sm(70);

/// What was found, in one line: each sentence once, and no more of them than a person reads.
pub fn each_once<T: std::fmt::Display>(found: &[T]) -> String {
    const MOST: usize = 5;
    let mut sentences: Vec<String> = Vec::new();
    for one in found {
        let sentence = one.to_string();
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    let more = sentences.len().saturating_sub(MOST);
    sentences.truncate(MOST);
    if more > 0 {
        sentences.push(format!("and {more} more"));
    }
    sentences.join("; ")
}

/// How a kernel is built, beyond its specialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Inputs are read through the read-only cache (`ld.global.nc`); never for a body inlined where the launch itself
    /// writes them.
    pub inputs: Inputs,
}

/// The path of input loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inputs {
    /// `ld.global.nc`.
    ReadOnly,
    /// `ld.global`.
    Coherent,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            inputs: Inputs::ReadOnly,
        }
    }
}

/// A kernel as verified PTX.
#[derive(Clone, Debug)]
pub struct Built {
    /// The module, with one entry.
    pub module: Verified,
    /// The entry's name.
    pub entry: Arc<str>,
    /// Threads of a CTA.
    pub threads: u32,
    /// Bytes of dynamic shared memory to launch with.
    pub dynamic_shared: u32,
}

/// Builds and verifies `kernel` for `target`.
///
/// # Errors
/// If the target lacks a feature, or the verifier refuses.
pub fn build<K: Kernel>(kernel: &K, target: Target, options: Options) -> Result<Built, BuildError> {
    kernel.supports(target)?;
    build_body(kernel.name(), kernel.threads(), target, options, || {
        let args = K::Args::declare(&mut Parameters::default());
        kernel.body(&mut Cta::entry(), args);
    })
}

/// Builds and verifies the kernel that `body` records.
pub(crate) fn build_body(
    name: String,
    threads: u32,
    target: Target,
    options: Options,
    body: impl Fn(),
) -> Result<Built, BuildError> {
    if threads == 0 || threads > 1024 || !threads.is_multiple_of(32) {
        return Err(BuildError::Threads {
            kernel: name,
            threads,
        });
    }
    if target.sm < OLDEST.sm {
        return Err(BuildError::TooOld {
            kernel: name,
            target,
        });
    }
    let read_only = options.inputs == Inputs::ReadOnly;
    let builder = |reuse| Builder::new(name.clone(), target, threads, read_only, reuse);
    let mut recorded = record(builder(Reuse::Yes), &body);
    if recorded.is_rewritten() {
        recorded = record(builder(Reuse::No), &body);
    }
    let found = recorded.take_misuses();
    if !found.is_empty() {
        return Err(BuildError::Misuse {
            kernel: name,
            found,
        });
    }
    let (module, dynamic_shared) = recorded.finish();
    let entry = name.as_str().into();
    match verify(module) {
        Ok(module) => Ok(Built {
            module,
            entry,
            threads,
            dynamic_shared,
        }),
        Err(found) => Err(BuildError::Refused {
            kernel: name,
            target,
            found,
        }),
    }
}

/// Declares a kernel without specialisation, with its arguments: what [`Kernel`] needs, and no more to write.
///
/// `grid` counts the CTAs that these scalars need, `threads` those of a CTA (256 where it is left out), and `body` computes
/// the tile `cta.id()`.
///
/// ```
/// use warpsmith_kernel::{Options, build, kernel};
/// use warpsmith_ptx::target::Target;
///
/// kernel! {
///     /// `y = a x + y`.
///     pub struct Axpy(AxpyArgs { x: In<f32>[n], y: InOut<f32>[n], a: Scalar<f32>, n: Scalar<u32> });
///     threads = 128;
///     grid(args) = args.n.div_ceil(128);
///     body(cta, args) {
///         let i = cta.id() * 128 + cta.thread();
///         cta.if_(i.lt(args.n), |_| args.y.set(i, args.x.at(i).mul_add(args.a, args.y.at(i))));
///     }
/// }
///
/// let built = build(&Axpy, Target::sm(90), Options::default()).expect("a right kernel");
/// assert_eq!((&*built.entry, built.threads), ("Axpy", 128));
/// ```
#[macro_export]
macro_rules! kernel {
    (
        $(#[$doc:meta])* $vis:vis struct $name:ident($args:ident { $($fields:tt)* });
        $(threads = $threads:expr;)?
        grid($a:ident) = $grid:expr;
        body($cta:ident, $b:ident) $body:block
    ) => {
        $crate::args! {
            #[doc = concat!("The arguments of [`", stringify!($name), "`].")]
            $vis struct $args { $($fields)* }
        }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis struct $name;

        impl $crate::Kernel for $name {
            type Args = $args;

            fn name(&self) -> String {
                stringify!($name).into()
            }

            $(fn threads(&self) -> u32 {
                $threads
            })?

            fn grid(&self, $a: &$args) -> Result<u64, $crate::LaunchError> {
                Ok(u64::from($grid))
            }

            #[allow(unused_imports)] // a body without branches and loops needs no scope
            fn body<'k>(&self, $cta: &mut $crate::Cta<'k>, $b: $args<$crate::InKernel<'k>>) {
                use $crate::Scope as _;
                $body
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_ptx::{diag::Code, ir::Span};

    #[test]
    fn a_refusal_says_each_thing_once_and_ends() {
        let unknown = |name: &str| Diagnostic {
            code: Code::UnknownOpcode { name: name.into() },
            span: Span::default(),
            function: None,
            other: None,
            help: None,
        };
        let text =
            |names: &[&str]| each_once(&names.iter().map(|name| unknown(name)).collect::<Vec<_>>());
        let count = |text: &str| text.matches("unknown opcode").count();
        assert_eq!(count(&text(&["a", "a", "b", "a"])), 2);
        let long = text(&["a", "b", "c", "d", "e", "f", "g", "a"]);
        assert!(
            count(&long) == 5 && long.ends_with("; and 2 more"),
            "{long}"
        );
    }
}
