//! The arguments of a test case as bytes: arrays with guards and poison, packed parameters, and what came of them.

use crate::failure::Failure;
use warpsmith_kernel::args::{Access, HostBuffer, Name, Visitor};
use warpsmith_library::case::AnyCase;

/// Bytes before and after each array that nobody may touch.
pub(crate) const GUARD: usize = 256;
/// What outputs and guards hold before the launch: NaN in every float type.
const POISON: u8 = 0xff;

/// An array with its guards, as it is before the launch.
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) element_bytes: usize,
    /// Whether the case says what it holds afterwards.
    pub(crate) meant: bool,
    pub(crate) before: Vec<u8>,
}

impl Array {
    /// The bytes between the guards.
    pub(crate) fn inside<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[GUARD..bytes.len() - GUARD]
    }
}

/// A parameter.
enum Param {
    /// The address of an array, by its number.
    Address(usize),
    /// As it is.
    Bytes(Vec<u8>),
}

/// The arguments of a case.
#[derive(Default)]
pub(crate) struct Laid {
    pub(crate) arrays: Vec<Array>,
    params: Vec<Param>,
    failure: Option<Failure>,
}

impl Laid {
    /// Lays out the arguments of `case`.
    pub(crate) fn of(case: &dyn AnyCase) -> Result<Laid, Failure> {
        let mut laid = Laid::default();
        case.visit(&mut laid);
        match laid.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(laid),
        }
    }

    /// The parameters where the guarded arrays start at `addresses`.
    pub(crate) fn params(&self, addresses: &[u64]) -> Vec<u8> {
        let mut params: Vec<u8> = Vec::new();
        let mut push = |bytes: &[u8]| {
            params.resize(params.len().next_multiple_of(bytes.len().max(1)), 0);
            params.extend_from_slice(bytes);
        };
        for param in &self.params {
            match param {
                Param::Address(array) => push(&(addresses[*array] + GUARD as u64).to_le_bytes()),
                Param::Bytes(bytes) => push(bytes),
            }
        }
        params
    }

    /// What is wrong with the arrays as they are `after` the launch.
    pub(crate) fn compare(&self, case: &dyn AnyCase, after: &[Vec<u8>]) -> Vec<Failure> {
        let mut compare = Compare {
            arrays: self.arrays.iter().zip(after),
            failures: Vec::new(),
        };
        case.visit(&mut compare);
        compare.failures
    }
}

impl Visitor for Laid {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        let Some(array) = array else {
            self.params.push(Param::Bytes(0u64.to_le_bytes().to_vec()));
            return;
        };
        let want = dims.iter().product();
        if want != array.len() as u128 {
            self.failure.get_or_insert(Failure::Shape {
                arg: name.to_string(),
                want,
                got: array.len(),
            });
        }
        let len = array.len() * array.element_bytes();
        let mut before = vec![POISON; len + 2 * GUARD];
        if let Some(contents) = array.contents() {
            before[GUARD..GUARD + len].copy_from_slice(contents);
        }
        self.params.push(Param::Address(self.arrays.len()));
        let written = matches!(access, Access::Out | Access::InOut);
        let takes = |byte: u8| array.check(&vec![byte; len]).is_ok();
        self.arrays.push(Array {
            name: name.to_string(),
            access,
            element_bytes: array.element_bytes(),
            // Scratch takes anything: 0, and what is large in every type.
            meant: written && !(takes(0) && takes(0x7b)),
            before,
        });
    }

    fn scalar(&mut self, _name: Name<'_>, bytes: &[u8]) {
        self.params.push(Param::Bytes(bytes.to_vec()));
    }
}

struct Compare<'a> {
    arrays: std::iter::Zip<std::slice::Iter<'a, Array>, std::slice::Iter<'a, Vec<u8>>>,
    failures: Vec<Failure>,
}

impl Visitor for Compare<'_> {
    fn array(
        &mut self,
        arg: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let Some(array) = array else { return };
        let Some((Array { before, .. }, after)) = self.arrays.next() else {
            return;
        };
        let end = before.len() - GUARD;
        if before[..GUARD] != after[..GUARD] || before[end..] != after[end..] {
            self.failures.push(Failure::Overrun {
                arg: arg.to_string(),
            });
        }
        match access {
            Access::In | Access::Maybe => {
                if before[GUARD..end] != after[GUARD..end] {
                    self.failures.push(Failure::InputChanged {
                        arg: arg.to_string(),
                    });
                }
            }
            Access::Out | Access::InOut => {
                if let Err(mismatch) = array.check(&after[GUARD..end]) {
                    self.failures.push(Failure::Differs {
                        arg: arg.to_string(),
                        mismatch,
                    });
                }
            }
        }
    }

    fn scalar(&mut self, _name: Name<'_>, _bytes: &[u8]) {}
}
