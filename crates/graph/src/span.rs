//! Spans: typed parts of device memory whose owner is kept alive by whoever holds the span.

use std::{any::Any, marker::PhantomData, ops::Range, sync::Arc};
use warpsmith_device::{Buffer, Slice};
use warpsmith_kernel::{
    Elem,
    args::{HostBuffer, HostMode, Mode, ScalarArg},
};

/// `len` elements at a device address.
#[derive(Debug)]
pub struct Span<T> {
    address: u64,
    len: usize,
    allocation: Option<Arc<dyn Any + Send + Sync>>,
    elem: PhantomData<fn() -> T>,
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        Span {
            address: self.address,
            len: self.len,
            allocation: self.allocation.clone(),
            elem: PhantomData,
        }
    }
}

impl<T: Elem> Span<T> {
    pub(crate) fn new(
        address: u64,
        len: usize,
        allocation: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Self {
        Span {
            address,
            len,
            allocation,
            elem: PhantomData,
        }
    }

    /// A whole buffer, kept alive by the span.
    pub fn of(buffer: &Buffer<T>) -> Self {
        Span::new(
            buffer.address(),
            buffer.len(),
            Some(Arc::clone(buffer.allocation())),
        )
    }

    /// The elements, to read.
    pub(crate) fn view(&self) -> Result<Slice<'_, T>, warpsmith_device::Error> {
        match &self.allocation {
            Some(allocation) => Slice::inside(allocation, self.address, self.len),
            None => Err(warpsmith_device::Error::WrongDevice {
                what: "a span without memory".into(),
            }),
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

    /// Some of its elements.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if they do not lie in it.
    pub(crate) fn part(
        &self,
        op: &'static str,
        part: Range<usize>,
    ) -> Result<Span<T>, crate::Error> {
        if part.start > part.end || part.end > self.len {
            return Err(crate::Error::Shape {
                op,
                what: "end of the part",
                want: self.len as u64,
                got: part.end as u64,
            });
        }
        let bytes = u64::from(T::MEMORY.bytes()) * part.start as u64;
        Ok(Span::new(
            self.address + bytes,
            part.len(),
            self.allocation.clone(),
        ))
    }

    /// The same bytes as elements of another type; what does not fill an element is left out.
    pub fn cast<U: Elem>(&self) -> Span<U> {
        let bytes = self.len * T::MEMORY.bytes() as usize;
        Span::new(
            self.address,
            bytes / U::MEMORY.bytes() as usize,
            self.allocation.clone(),
        )
    }
}

impl<T: Elem> HostBuffer for Span<T> {
    fn address(&self) -> u64 {
        self.address
    }
    fn len(&self) -> usize {
        self.len
    }
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.allocation.as_ref()
    }
    fn element_bytes(&self) -> usize {
        T::MEMORY.bytes() as usize
    }
}

/// Arguments of a planned launch: addresses are fixed, memory is kept alive.
#[derive(Debug)]
pub struct Planned;

impl Mode for Planned {
    type In<T: Elem> = Span<T>;
    type Maybe<T: Elem> = Option<Span<T>>;
    type Out<T: Elem> = Span<T>;
    type InOut<T: Elem> = Span<T>;
    type Scalar<T: ScalarArg> = T;
}

impl HostMode for Planned {
    fn input<T: Elem>(field: &Span<T>) -> &dyn HostBuffer {
        field
    }
    fn maybe<T: Elem>(field: &Option<Span<T>>) -> Option<&dyn HostBuffer> {
        field.as_ref().map(|span| span as &dyn HostBuffer)
    }
    fn output<T: Elem>(field: &Span<T>) -> &dyn HostBuffer {
        field
    }
    fn inout<T: Elem>(field: &Span<T>) -> &dyn HostBuffer {
        field
    }
    fn scalar<T: ScalarArg>(field: &T) -> T {
        *field
    }
}
