//! Wrong shapes of every registered kernel are refused by the check of the device's launch, with both numbers.

use std::{any::Any, sync::Arc};
use warpsmith::device::{Arguments, Error};
use warpsmith_kernel::{
    LaunchError,
    args::{Access, HostBuffer, Name, Visitor},
};
use warpsmith_library::{
    case::{AnyCase, Random},
    registry::registry,
};

/// An array of a case that says it has another length.
struct Resized<'a> {
    array: &'a dyn HostBuffer,
    len: usize,
}

impl HostBuffer for Resized<'_> {
    fn address(&self) -> u64 {
        self.array.address()
    }
    fn len(&self) -> usize {
        self.len
    }
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.array.allocation()
    }
    fn element_bytes(&self) -> usize {
        self.array.element_bytes()
    }
}

/// Passes all on, array number `at` with `by` elements more.
struct Resize<'v> {
    to: &'v mut dyn Visitor,
    seen: usize,
    at: usize,
    by: isize,
}

impl Visitor for Resize<'_> {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        let own = self.seen;
        self.seen += 1;
        match array {
            Some(array) if own == self.at => {
                let len = array
                    .len()
                    .checked_add_signed(self.by)
                    .expect("an array long enough to be shortened");
                self.to
                    .array(name, access, Some(&Resized { array, len }), dims);
            }
            _ => self.to.array(name, access, array, dims),
        }
    }
    fn scalar(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.to.scalar(name, bytes);
    }
}

/// What a launch says of an array.
#[derive(Clone, Debug, PartialEq)]
struct Facts {
    arg: String,
    shape: Vec<u128>,
    len: Option<usize>,
}

impl Facts {
    fn want(&self) -> u128 {
        self.shape.iter().product()
    }
}

#[derive(Default)]
struct List {
    arrays: Vec<Facts>,
    scalars: Vec<String>,
}

impl Visitor for List {
    fn array(
        &mut self,
        arg: Name<'_>,
        _access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        self.arrays.push(Facts {
            arg: arg.to_string(),
            shape: dims.to_vec(),
            len: array.map(HostBuffer::len),
        });
    }
    fn scalar(&mut self, name: Name<'_>, _bytes: &[u8]) {
        self.scalars.push(name.to_string());
    }
}

fn list(case: &dyn AnyCase) -> List {
    let mut list = List::default();
    case.visit(&mut list);
    list
}

/// The refusal of an array of `got` elements.
fn refusal(case: &dyn AnyCase, facts: &Facts, got: usize) -> Result<Vec<u8>, Error> {
    Err(Error::Launch(LaunchError::Shape {
        kernel: case.name(),
        arg: facts.arg.clone(),
        shape: facts.shape.clone(),
        want: facts.want(),
        got,
    }))
}

fn launch(
    case: &dyn AnyCase,
    walk: impl FnOnce(&dyn AnyCase, &mut dyn Visitor),
) -> Result<Vec<u8>, Error> {
    let checked = Arguments::check(|| case.name(), |visitor| walk(case, visitor));
    checked.map(|arguments| arguments.bytes().to_vec())
}

fn as_it_is(case: &dyn AnyCase, visitor: &mut dyn Visitor) {
    case.visit(visitor);
}

/// How many refusals `case` gave for arrays of wrong length.
fn check_arrays(case: &dyn AnyCase) -> usize {
    let mut refused = 0;
    for (at, facts) in list(case).arrays.iter().enumerate() {
        let Some(len) = facts.len else { continue };
        for by in [1, -1] {
            let Some(got) = len.checked_add_signed(by) else {
                continue;
            };
            let found = launch(case, |case, to| {
                let seen = 0;
                case.visit(&mut Resize { to, seen, at, by });
            });
            assert_eq!(found, refusal(case, facts, got), "{}", case.label());
            refused += 1;
        }
    }
    refused
}

/// How many refusals `case` gave for a scalar that is a dimension and one too large or too small.
fn check_scalars(case: &mut dyn AnyCase) -> usize {
    let mut refused = 0;
    let List {
        arrays: right,
        scalars,
    } = list(case);
    for name in scalars {
        for by in [1, -1] {
            if !case.offset(&name, by) {
                continue;
            }
            let changed = list(case).arrays;
            let wrong = changed
                .iter()
                .zip(&right)
                .find(|(changed, right)| changed.len.is_some() && changed.want() != right.want());
            if let Some((facts, _)) = wrong {
                let len = facts.len.expect("an array that is there");
                let found = launch(case, as_it_is);
                assert_eq!(found, refusal(case, facts, len), "{}", case.label());
                refused += 1;
            }
            assert!(case.offset(&name, -by), "{}: no way back", case.label());
        }
    }
    assert_eq!(list(case).arrays, right);
    refused
}

#[test]
fn every_kernel_refuses_arrays_and_sizes_that_are_off_by_one() {
    for entry in registry() {
        let (mut by_arrays, mut by_scalars) = (0, 0);
        for mut case in (entry.cases)(&mut Random::new(7)) {
            let right = launch(case.as_ref(), as_it_is);
            assert!(right.is_ok(), "{}: {right:?}", case.label());
            let arrays = check_arrays(case.as_ref());
            assert!(arrays > 0, "{} has no array", case.label());
            by_arrays += arrays;
            by_scalars += check_scalars(case.as_mut());
        }
        assert!(
            by_scalars > 0,
            "{}: no scalar is a dimension of an array",
            entry.name
        );
        println!("{}: {by_arrays} arrays, {by_scalars} scalars", entry.name);
    }
}
