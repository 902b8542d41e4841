//! The arrays of a case: what it shows of them, where they lie, what must be in them.

use super::End;
use warpsmith_kernel::args::{Access, HostBuffer, Mismatch, Name, Visitor};
use warpsmith_library::case::AnyCase;

/// An array of a case.
pub(super) struct Array {
    pub(super) name: String,
    pub(super) access: Access,
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) dims: Vec<u128>,
    pub(super) contents: Option<Vec<u8>>,
}

impl Array {
    pub(super) fn len(&self) -> u128 {
        self.dims.iter().product()
    }
}

/// All that a case shows of its arguments.
#[derive(Default)]
pub(super) struct Shown {
    /// `None` for an optional array that is not there.
    pub(super) arrays: Vec<Option<Array>>,
    pub(super) scalars: Vec<(String, u64)>,
}

impl Visitor for Shown {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        self.arrays.push(array.map(|array| Array {
            name: name.to_string(),
            access,
            size: array.element_bytes(),
            dims: dims.to_vec(),
            contents: array.contents().map(<[u8]>::to_vec),
        }));
    }
    fn scalar(&mut self, name: Name<'_>, bytes: &[u8]) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        self.scalars
            .push((name.to_string(), u64::from_le_bytes(whole)));
    }
}

pub(super) fn shown(case: &dyn AnyCase) -> Shown {
    let mut shown = Shown::default();
    case.visit(&mut shown);
    shown
}

/// An array on the virtual GPU that is larger than what a case has of it.
pub(super) struct Placed<'a> {
    array: &'a dyn HostBuffer,
    address: u64,
    len: usize,
}

impl HostBuffer for Placed<'_> {
    fn address(&self) -> u64 {
        self.address
    }
    fn len(&self) -> usize {
        self.len
    }
    fn allocation(&self) -> Option<&std::sync::Arc<dyn std::any::Any + Send + Sync>> {
        None
    }
    fn element_bytes(&self) -> usize {
        self.array.element_bytes()
    }
}

/// Passes all on, each array as it lies on the virtual GPU.
pub(super) struct Place<'a> {
    pub(super) to: &'a mut dyn Visitor,
    pub(super) addresses: std::slice::Iter<'a, Option<u64>>,
}

impl Visitor for Place<'_> {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        let len = dims.iter().product::<u128>() as usize;
        match (array, self.addresses.next().copied().flatten()) {
            (Some(array), Some(address)) => {
                let placed = Placed {
                    array,
                    address,
                    len,
                };
                self.to.array(name, access, Some(&placed), dims);
            }
            _ => self.to.array(name, access, None, dims),
        }
    }
    fn scalar(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.to.scalar(name, bytes);
    }
}

/// Compares what was left with what each output must be.
pub(super) struct Compare<'a> {
    pub(super) found: std::slice::Iter<'a, Option<Vec<u8>>>,
    pub(super) wrong: Vec<(String, Mismatch)>,
}

impl Visitor for Compare<'_> {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let found = self.found.next().and_then(Option::as_ref);
        if let (Some(array), Some(found), Access::Out | Access::InOut) = (array, found, access)
            && let Err(mismatch) = array.check(found)
        {
            self.wrong.push((name.to_string(), mismatch));
        }
    }
    fn scalar(&mut self, _name: Name<'_>, _bytes: &[u8]) {}
}

/// First elements, in a large array, of the runs that a small one is made of: its elements along the last dimension.
pub(super) fn runs(small: &[u128], large: &[u128], end: End) -> Vec<u128> {
    let mut starts = vec![0];
    for (at, (few, many)) in small.iter().zip(large).enumerate() {
        let skipped = match end {
            End::Front => 0,
            End::Back => many - few,
        };
        let last = at + 1 == small.len();
        let own = skipped..skipped + if last { 1 } else { *few };
        starts = starts
            .iter()
            .flat_map(|start| own.clone().map(move |index| start * many + index))
            .collect();
    }
    starts
}
