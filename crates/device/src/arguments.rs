//! Arguments of a launch: walked once, each array checked against its shape, all packed as the kernel takes them.

use crate::{error::Error, inner::allocation, queue::Touch};
use smallvec::SmallVec;
use std::{any::Any, fmt, sync::Arc};
use warpsmith_kernel::{
    LaunchError,
    args::{Access, HostBuffer, Name, Visitor},
};

/// Arguments whose arrays have the lengths that their shapes say.
pub struct Arguments {
    pub(crate) params: Vec<u8>,
    pub(crate) uses: SmallVec<[(Arc<dyn Any + Send + Sync>, Touch); 8]>,
}

impl Arguments {
    /// What `walk` shows of a kernel's arguments, checked and packed: what each launch does first. `kernel` is its name,
    /// asked for only where something is wrong.
    ///
    /// # Errors
    /// [`Error::Launch`] with the first array that has not the length of its shape, or whose shape has a dimension of
    /// 2^31 or more; [`Error::WrongDevice`].
    pub fn check(
        kernel: impl FnOnce() -> String,
        walk: impl FnOnce(&mut dyn Visitor),
    ) -> Result<Arguments, Error> {
        let mut walked = Walked::default();
        walk(&mut walked);
        let Walked {
            params,
            uses,
            problem,
        } = walked;
        match problem {
            None => Ok(Arguments { params, uses }),
            Some(problem) => Err(problem.of(kernel())),
        }
    }

    /// The bytes of the parameters, each at a multiple of its size.
    pub fn bytes(&self) -> &[u8] {
        &self.params
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments")
            .field("params", &self.params)
            .field("arrays", &self.uses.len())
            .finish()
    }
}

/// Dimensions are below this, so that 32-bit index arithmetic in kernels does not wrap.
const MAX_DIM: u128 = 1 << 31;

/// Arguments on the walk, with the first problem found.
#[derive(Default)]
struct Walked {
    params: Vec<u8>,
    uses: SmallVec<[(Arc<dyn Any + Send + Sync>, Touch); 8]>,
    problem: Option<Problem>,
}

/// A problem without the kernel's name, which costs a string.
enum Problem {
    Shape {
        arg: String,
        shape: Vec<u128>,
        want: u128,
        got: usize,
    },
    Dim {
        arg: String,
        found: u128,
    },
    Foreign {
        arg: String,
    },
}

impl Problem {
    fn of(self, kernel: String) -> Error {
        match self {
            Problem::Shape {
                arg,
                shape,
                want,
                got,
            } => LaunchError::Shape {
                kernel,
                arg,
                shape,
                want,
                got,
            }
            .into(),
            Problem::Dim { arg, found } => LaunchError::Dimension { kernel, arg, found }.into(),
            Problem::Foreign { arg } => Error::WrongDevice {
                what: format!("`{arg}` of `{kernel}`"),
            },
        }
    }
}

impl Walked {
    fn push(&mut self, bytes: &[u8]) {
        let start = self.params.len().next_multiple_of(bytes.len().max(1));
        self.params.resize(start, 0);
        self.params.extend_from_slice(bytes);
    }

    fn problem_of(&self, name: Name<'_>, array: &dyn HostBuffer, dims: &[u128]) -> Option<Problem> {
        let arg = || name.to_string();
        if let Some(found) = dims.iter().find(|dim| **dim >= MAX_DIM) {
            return Some(Problem::Dim {
                arg: arg(),
                found: *found,
            });
        }
        let want = dims
            .iter()
            .fold(1u128, |product, dim| product.saturating_mul(*dim));
        if want != array.len() as u128 {
            return Some(Problem::Shape {
                arg: arg(),
                shape: dims.to_vec(),
                want,
                got: array.len(),
            });
        }
        let foreign = array
            .allocation()
            .is_some_and(|memory| allocation(memory).is_err());
        foreign.then_some(Problem::Foreign { arg: arg() })
    }
}

impl Visitor for Walked {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        let Some(array) = array else {
            return self.push(&0u64.to_le_bytes());
        };
        if self.problem.is_none() {
            self.problem = self.problem_of(name, array, dims);
        }
        self.push(&array.address().to_le_bytes());
        if let Some(memory) = array.allocation() {
            self.uses.push((memory.clone(), access.into()));
        }
    }

    fn scalar(&mut self, _name: Name<'_>, bytes: &[u8]) {
        self.push(bytes);
    }
}
