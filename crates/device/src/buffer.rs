//! Device memory: buffers that own it, slices that borrow it.

use crate::{
    error::Error,
    inner::{self, Allocation},
    queue::Touch,
};
use std::{any::Any, fmt, marker::PhantomData, ops::Range, sync::Arc};
use warpsmith_kernel::{Elem, args::HostBuffer};

/// An array of `T` in device memory. Dropping it frees the memory in stream order: work that was enqueued before still
/// finds it.
///
/// ```
/// use warpsmith_device::{Device, Selector};
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let mut x = stream.upload_new(&[1.0f32, 2.0, 3.0, 4.0])?;
/// stream.fill_zero(x.view_mut().range(1..3)?)?; // a part of it
/// assert_eq!(stream.download(x.view().range(2..4)?)?.wait()?, [0.0, 4.0]);
/// assert!(x.view().range(2..5).is_err());
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
pub struct Buffer<T: Elem> {
    allocation: Arc<dyn Any + Send + Sync>,
    address: u64,
    len: usize,
    elem: PhantomData<fn() -> T>,
}

/// A part of a buffer, to read.
pub struct Slice<'a, T: Elem> {
    allocation: &'a Arc<dyn Any + Send + Sync>,
    address: u64,
    len: usize,
    elem: PhantomData<&'a T>,
}

/// A part of a buffer, to write.
pub struct SliceMut<'a, T: Elem> {
    allocation: &'a Arc<dyn Any + Send + Sync>,
    address: u64,
    len: usize,
    elem: PhantomData<&'a mut T>,
}

impl<T: Elem> Buffer<T> {
    pub(crate) fn new(allocation: Allocation, len: usize) -> Buffer<T> {
        Buffer {
            address: allocation.address,
            allocation: Arc::new(allocation),
            len,
            elem: PhantomData,
        }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.len as u64 * size_of::<T>() as u64
    }

    /// Address on the device; 0 where there are no elements.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The memory itself, to keep it alive.
    pub fn allocation(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.allocation
    }

    /// All of it, to read.
    pub fn view(&self) -> Slice<'_, T> {
        Slice {
            allocation: &self.allocation,
            address: self.address,
            len: self.len,
            elem: PhantomData,
        }
    }

    /// All of it, to write.
    pub fn view_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut {
            allocation: &self.allocation,
            address: self.address,
            len: self.len,
            elem: PhantomData,
        }
    }

    /// Consecutive parts of the lengths given, to write at the same time.
    ///
    /// # Errors
    /// [`Error::Range`] if they are longer than the buffer together.
    pub fn split_mut(&mut self, lens: &[usize]) -> Result<Vec<SliceMut<'_, T>>, Error> {
        self.view_mut().split(lens)
    }

    /// Parts by range, to write at the same time.
    ///
    /// # Errors
    /// [`Error::Range`] for a range outside of the buffer, or one that overlaps another.
    pub fn disjoint_mut(&mut self, ranges: &[Range<usize>]) -> Result<Vec<SliceMut<'_, T>>, Error> {
        self.view_mut().disjoint(ranges)
    }
}

fn checked(range: Range<usize>, len: usize) -> Result<Range<usize>, Error> {
    if range.start <= range.end && range.end <= len {
        Ok(range)
    } else {
        Err(Error::Range {
            start: range.start,
            end: range.end,
            len,
        })
    }
}

/// The length in `U` of `len` elements of `T` at `address`.
fn recast<T: Elem, U: Elem>(address: u64, len: usize) -> Result<usize, Error> {
    let bytes = len * size_of::<T>();
    let size = size_of::<U>();
    if !bytes.is_multiple_of(size) || !address.is_multiple_of(size as u64) {
        let want = bytes.next_multiple_of(size);
        return Err(Error::Length {
            what: "bytes of another element type",
            want,
            got: bytes,
        });
    }
    Ok(bytes / size)
}

impl<'a, T: Elem> Slice<'a, T> {
    /// `len` elements at `address` inside memory that was taken from a buffer of this crate.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for other memory, [`Error::Range`] for elements outside of it.
    pub fn inside(
        allocation: &'a Arc<dyn Any + Send + Sync>,
        address: u64,
        len: usize,
    ) -> Result<Slice<'a, T>, Error> {
        let memory = inner::allocation(allocation)?;
        let (start, size) = (memory.address, size_of::<T>() as u64);
        let end = (len as u64)
            .checked_mul(size)
            .and_then(|n| n.checked_add(address));
        if len > 0 && (address < start || end.is_none_or(|end| end > start + memory.bytes)) {
            let at = (address.wrapping_sub(start) / size) as usize;
            return Err(Error::Range {
                start: at,
                end: at.saturating_add(len),
                len: (memory.bytes / size) as usize,
            });
        }
        Ok(Slice {
            allocation,
            address,
            len,
            elem: PhantomData,
        })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Elements `range`.
    ///
    /// # Errors
    /// [`Error::Range`] if it is not inside.
    pub fn range(self, range: Range<usize>) -> Result<Slice<'a, T>, Error> {
        let range = checked(range, self.len)?;
        Ok(Slice {
            address: self.address + (range.start * size_of::<T>()) as u64,
            len: range.len(),
            ..self
        })
    }

    /// The same bytes as elements of `U`.
    ///
    /// # Errors
    /// [`Error::Length`] if they are not a whole number of aligned elements.
    pub fn cast<U: Elem>(self) -> Result<Slice<'a, U>, Error> {
        Ok(Slice {
            allocation: self.allocation,
            address: self.address,
            len: recast::<T, U>(self.address, self.len)?,
            elem: PhantomData,
        })
    }
}

impl<'a, T: Elem> SliceMut<'a, T> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The same elements, to read.
    pub fn view(&self) -> Slice<'_, T> {
        Slice {
            allocation: self.allocation,
            address: self.address,
            len: self.len,
            elem: PhantomData,
        }
    }

    /// The same elements, to write for a shorter time.
    pub fn reborrow(&mut self) -> SliceMut<'_, T> {
        SliceMut {
            allocation: self.allocation,
            address: self.address,
            len: self.len,
            elem: PhantomData,
        }
    }

    fn part(&self, range: Range<usize>) -> SliceMut<'a, T> {
        SliceMut {
            allocation: self.allocation,
            address: self.address + (range.start * size_of::<T>()) as u64,
            len: range.len(),
            elem: PhantomData,
        }
    }

    /// Elements `range`.
    ///
    /// # Errors
    /// [`Error::Range`] if it is not inside.
    pub fn range(self, range: Range<usize>) -> Result<SliceMut<'a, T>, Error> {
        Ok(self.part(checked(range, self.len)?))
    }

    /// Consecutive parts of the lengths given.
    ///
    /// # Errors
    /// [`Error::Range`] if they are longer than the slice together.
    pub fn split(self, lens: &[usize]) -> Result<Vec<SliceMut<'a, T>>, Error> {
        let mut start = 0usize;
        lens.iter()
            .map(|len| {
                let range = checked(start..start.saturating_add(*len), self.len)?;
                start = range.end;
                Ok(self.part(range))
            })
            .collect()
    }

    /// Parts by range.
    ///
    /// # Errors
    /// [`Error::Range`] for a range outside of the slice, or one that overlaps another.
    pub fn disjoint(self, ranges: &[Range<usize>]) -> Result<Vec<SliceMut<'a, T>>, Error> {
        let mut sorted: Vec<_> = ranges.iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_by_key(|range| range.start);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].end > pair[1].start) {
            return Err(Error::Range {
                start: pair[1].start,
                end: pair[1].end,
                len: pair[0].end,
            });
        }
        ranges
            .iter()
            .map(|range| Ok(self.part(checked(range.clone(), self.len)?)))
            .collect()
    }

    /// The same bytes as elements of `U`.
    ///
    /// # Errors
    /// [`Error::Length`] if they are not a whole number of aligned elements.
    pub fn cast<U: Elem>(self) -> Result<SliceMut<'a, U>, Error> {
        Ok(SliceMut {
            allocation: self.allocation,
            address: self.address,
            len: recast::<T, U>(self.address, self.len)?,
            elem: PhantomData,
        })
    }
}

impl<T: Elem> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Elem> Copy for Slice<'_, T> {}

impl<'a, T: Elem> From<&'a Buffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.view()
    }
}

impl<'a, T: Elem> From<&'a mut Buffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.view_mut()
    }
}

macro_rules! arrays {
    ($($name:ident $(<$life:lifetime>)?;)*) => {$(
        impl<T: Elem> HostBuffer for $name<$($life,)? T> {
            fn address(&self) -> u64 {
                self.address
            }

            fn len(&self) -> usize {
                self.len
            }

            fn element_bytes(&self) -> usize {
                size_of::<T>()
            }

            fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
                Some(&self.allocation)
            }
        }

        impl<T: Elem> fmt::Debug for $name<$($life,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>(0x{:x}, {} elements)", stringify!($name), T::NAME, self.address, self.len)
            }
        }
    )*};
}

arrays! {
    Buffer;
    Slice<'_>;
    SliceMut<'_>;
}

/// Memory that a raw launch uses, and how.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    pub(crate) allocation: &'a Arc<dyn Any + Send + Sync>,
    pub(crate) touch: Touch,
}

impl<'a> Use<'a> {
    /// Of memory that a buffer owns.
    pub fn of(allocation: &'a Arc<dyn Any + Send + Sync>, touch: Touch) -> Use<'a> {
        Use { allocation, touch }
    }
}

impl<'a, T: Elem> Slice<'a, T> {
    /// For a raw launch that reads it.
    pub fn read(&self) -> Use<'a> {
        Use {
            allocation: self.allocation,
            touch: Touch::Read,
        }
    }
}

impl<T: Elem> SliceMut<'_, T> {
    /// For a raw launch that writes it.
    pub fn write(&mut self) -> Use<'_> {
        Use {
            allocation: self.allocation,
            touch: Touch::Write,
        }
    }
}

/// The allocation of a slice.
pub(crate) fn memory<A: HostBuffer>(array: &A) -> &Arc<dyn Any + Send + Sync> {
    array.allocation().expect("slices of this crate have one")
}
