//! Tensors: a shape, a buffer on the device, the stream to enqueue on, and counts.

use crate::{
    error::Error,
    shape::{Operand, elements},
    stats::Counts,
};
use bytemuck::Pod;
use std::fmt;
use warpsmith_device::{Bound, Buffer, Pending, Slice, SliceMut, Snapshot, Stream};
use warpsmith_kernel::{Elem, Kernel, Shapes, args::Signature};

/// An array of `T` in device memory, row-major, with any number of dimensions. Operations on it are enqueued on its
/// stream; dropping it frees the memory after the work that uses it.
///
/// ```
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_tensor::Tensor;
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let x = Tensor::from_host(&stream, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
/// let y = x.softmax()?.reshape(&[4])?;
/// assert!((y.to_host()?.iter().sum::<f32>() - 2.0).abs() < 1e-6);
/// let wrong = x.add(&y).expect_err("[2, 2] and [4]");
/// assert!(wrong.to_string().contains("[4]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tensor<T: Elem> {
    stream: Stream,
    shape: Vec<usize>,
    buffer: Buffer<T>,
    counts: Counts,
}

impl<T: Elem> Tensor<T> {
    /// Uninitialised: filled with a poison pattern on the virtual GPU, with anything on a card.
    ///
    /// # Errors
    /// [`Error::TooLarge`], or the device has not enough memory.
    pub fn uninit(stream: &Stream, shape: &[usize]) -> Result<Tensor<T>, Error> {
        let len = elements("uninit", shape, size_of::<T>())?;
        Ok(Tensor {
            stream: stream.clone(),
            shape: shape.to_vec(),
            buffer: stream.alloc(len)?,
            counts: Counts::default(),
        })
    }

    /// A buffer, seen with a shape.
    ///
    /// # Errors
    /// [`Error::Elements`] unless the shape has as many elements as the buffer.
    pub fn from_buffer(
        stream: &Stream,
        shape: &[usize],
        buffer: Buffer<T>,
    ) -> Result<Tensor<T>, Error> {
        has::<T>("from_buffer", shape, buffer.len())?;
        Ok(Tensor {
            stream: stream.clone(),
            shape: shape.to_vec(),
            buffer,
            counts: Counts::default(),
        })
    }

    /// Only the buffer.
    pub fn into_buffer(self) -> Buffer<T> {
        self.buffer
    }

    /// The same elements in another shape; the counts go along.
    ///
    /// # Errors
    /// [`Error::Elements`] unless both shapes have as many.
    pub fn reshape(mut self, shape: &[usize]) -> Result<Tensor<T>, Error> {
        has::<T>("reshape", shape, self.len())?;
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// The same tensor, whose further operations are enqueued on `stream`, after the work on it so far.
    pub fn on(mut self, stream: &Stream) -> Tensor<T> {
        self.stream = stream.clone();
        self
    }

    /// A copy on the device; no byte crosses.
    ///
    /// # Errors
    /// The device has not enough memory.
    pub fn duplicate(&self) -> Result<Tensor<T>, Error> {
        let mut copy = Tensor::uninit(&self.stream, &self.shape)?;
        self.stream.copy(&mut copy.buffer, &self.buffer)?;
        Ok(copy)
    }

    /// Dimensions, the slowest first; none for a single number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.buffer.bytes()
    }

    /// Address on the device; 0 where there are no elements.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// Whether the elements lie in device memory: of a tensor of this crate they always do.
    pub fn is_resident(&self) -> bool {
        self.is_empty() || self.address() != 0
    }

    /// The stream that its operations are enqueued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Its memory.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// Its memory, to write. Launches on it count for the device and the process; [`Tensor::launch`] counts for the
    /// tensor too.
    pub fn buffer_mut(&mut self) -> &mut Buffer<T> {
        &mut self.buffer
    }

    /// Its elements as an argument of a kernel.
    pub fn view(&self) -> Slice<'_, T> {
        self.buffer.view()
    }

    /// Transfers of this tensor and launches that wrote it, since it was made or last reset; other fields are zero.
    /// The difference of two snapshots says what happened between them.
    pub fn stats(&self) -> Snapshot {
        self.counts.snapshot()
    }

    /// Sets its counts to zero; those of the device and the process stay.
    pub fn reset_stats(&self) {
        self.counts.reset();
    }

    /// Enqueues a kernel that writes this tensor, on its stream; never waits. `args` gets the elements to write and
    /// returns the arguments. Counts one launch, none where the grid is empty.
    ///
    /// # Errors
    /// Those of [`Stream::launch`].
    pub fn launch<'a, K, F>(&'a mut self, kernel: &K, args: F) -> Result<(), Error>
    where
        K: Kernel,
        K::Args: Signature<On<Shapes> = K::Args>,
        F: FnOnce(SliceMut<'a, T>) -> <K::Args as Signature>::On<Bound<'a>>,
    {
        let args = args(self.buffer.view_mut());
        self.stream.launch(kernel, &args)?;
        if kernel.grid(&K::Args::shapes::<Bound<'a>>(&args))? > 0 {
            self.counts.launched();
        }
        Ok(())
    }

    /// The tensor as an operand, for errors.
    pub(crate) fn operand(&self, op: &'static str, arg: &'static str) -> Operand<'_> {
        Operand {
            op,
            arg,
            shape: &self.shape,
        }
    }
}

impl<T: Elem + Pod> Tensor<T> {
    /// Copies `data` to the device: one transfer.
    ///
    /// # Errors
    /// [`Error::Elements`] unless the shape has as many elements, [`Error::TooLarge`], and those of [`Stream::upload`].
    pub fn from_host(stream: &Stream, shape: &[usize], data: &[T]) -> Result<Tensor<T>, Error> {
        has::<T>("from_host", shape, data.len())?;
        let mut tensor = Tensor::uninit(stream, shape)?;
        tensor.write(data)?;
        Ok(tensor)
    }

    /// Overwrites all elements from the host: one transfer.
    ///
    /// # Errors
    /// [`Error::Elements`] unless there are as many, and those of [`Stream::upload`].
    pub fn write(&mut self, data: &[T]) -> Result<(), Error> {
        has::<T>("write", &self.shape, data.len())?;
        self.stream.upload(&mut self.buffer, data)?;
        self.counts.uploaded(self.bytes());
        Ok(())
    }

    /// Copies the elements to the host and waits for them: one transfer.
    ///
    /// # Errors
    /// Those of [`Stream::download`], and of the work before it.
    pub fn to_host(&self) -> Result<Vec<T>, Error> {
        Ok(self.download()?.wait()?)
    }

    /// Starts the copy of [`Tensor::to_host`]; only its `wait` waits.
    ///
    /// # Errors
    /// Those of [`Stream::download`].
    pub fn download(&self) -> Result<Pending<T>, Error> {
        let pending = self.stream.download(&self.buffer)?;
        self.counts.downloaded(self.bytes());
        Ok(pending)
    }

    /// For debugging: copies the elements to the host and waits, but neither counts the transfer nor is refused where
    /// transfers are forbidden.
    ///
    /// # Errors
    /// Those of the work before it.
    pub fn peek(&self) -> Result<Vec<T>, Error> {
        Ok(self.stream.peek(&self.buffer)?.wait()?)
    }
}

/// Refuses a shape that has not so many elements.
fn has<T>(op: &'static str, shape: &[usize], found: usize) -> Result<(), Error> {
    let expected = elements(op, shape, size_of::<T>())?;
    if found == expected {
        return Ok(());
    }
    Err(Error::Elements {
        op,
        shape: shape.to_vec(),
        expected,
        found,
    })
}

impl<T: Elem> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, address) = (T::NAME, self.address());
        write!(f, "Tensor<{name}>({:?} at 0x{address:x})", self.shape)
    }
}
