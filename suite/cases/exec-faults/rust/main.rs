//! Faults of programs in Rust, one at a time: `rust-faults NAME [clean]`, where `clean` takes the fault out.
//!
//! A line that reports name has the fault's name and what happens there: `finds KIND`, `allocates`, `launches`.
#![allow(unsafe_code)]

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError, result,
    sys::{CUdeviceptr, CUfunction, CUmodule},
};
use std::{error::Error, ffi::CString, process::ExitCode, ptr, sync::Arc};

type Done = Result<(), DriverError>;

/// What `nvcc -ptx -lineinfo` makes of kernels.cu.
const PTX: &str = include_str!("kernels.ptx");

/// A card with the kernels.
struct Card {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    module: CUmodule,
    is_clean: bool,
}

impl Card {
    fn new(is_clean: bool) -> Result<Card, Box<dyn Error>> {
        let context = CudaContext::new(0)?;
        let text = CString::new(PTX)?;
        // SAFETY: the text ends in a zero byte.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }?;
        Ok(Card {
            stream: context.default_stream(),
            context,
            module,
            is_clean,
        })
    }

    fn kernel(&self, name: &str) -> Result<CUfunction, DriverError> {
        let name = CString::new(name).expect("a name has no zero byte");
        // SAFETY: the module is loaded until the program ends.
        unsafe { result::module::get_function(self.module, name) }
    }

    fn address<T>(&self, slice: &CudaSlice<T>) -> CUdeviceptr {
        slice.device_ptr(&self.stream).0
    }
}

/// Launches blocks of a kernel, where the caller stands.
#[collapse_debuginfo(yes)]
macro_rules! launch {
    ($kernel:expr, $blocks:expr, $threads:expr, $stream:expr, $($arg:expr),*) => {{
        let (grid, block, stream) = (($blocks, 1, 1), ($threads, 1, 1), $stream.cu_stream());
        // SAFETY: the arguments are the kernel's; what it does with them is for the checker.
        unsafe {
            result::launch_kernel(
                $kernel, grid, block, 0, stream,
                &mut [$(ptr::from_ref(&$arg).cast_mut().cast()),*],
            )
        }
    }};
}

/// A count that is the threads', not the elements'.
fn past_the_end(card: &Card) -> Done {
    let x = card.stream.alloc_zeros::<f32>(100)?; // past_the_end: allocates
    let n = if card.is_clean { 100 } else { 128 };
    let scale = card.kernel("scale")?;
    launch!(scale, 1u32, 128u32, card.stream, card.address(&x), n)?; // past_the_end: launches
    card.stream.synchronize()
}

/// The address outlives the slice that it was taken from.
fn after_free(card: &Card) -> Done {
    let x = card.stream.alloc_zeros::<f32>(32)?; // after_free: allocates
    let address = card.address(&x);
    let kept = card.is_clean.then_some(x);
    let scale = card.kernel("scale")?;
    launch!(scale, 1u32, 32u32, card.stream, address, 32)?; // after_free: launches
    let done = card.stream.synchronize();
    drop(kept);
    // The card's error is the fault's, too.
    if card.is_clean { done } else { Ok(()) }
}

/// `alloc` is unsafe because nobody has written what it gives.
fn never_written(card: &Card) -> Done {
    // SAFETY: it is not, that is the fault.
    let mut x = unsafe { card.stream.alloc::<f32>(64) }?; // never_written: allocates
    if card.is_clean {
        card.stream.memset_zeros(&mut x)?;
    }
    let y = card.stream.alloc_zeros::<f32>(64)?;
    let (add, x, y) = (card.kernel("add")?, card.address(&x), card.address(&y));
    launch!(add, 1u32, 64u32, card.stream, x, y)?; // never_written: launches
    card.stream.synchronize()
}

/// Blocks add to one place without an atomic.
fn race_of_blocks(card: &Card) -> Done {
    let total = card.stream.alloc_zeros::<i32>(1)?; // race_of_blocks: allocates
    let (count, total_at) = (card.kernel("count")?, card.address(&total));
    let clean = i32::from(card.is_clean);
    launch!(count, 8u32, 32u32, card.stream, total_at, clean)?; // race_of_blocks: launches
    card.stream.synchronize()
}

/// A reduction that does not wait between its steps.
fn missing_barrier(card: &Card) -> Done {
    let x = card.stream.clone_htod(&[1i32; 128])?;
    let mut out = card.stream.alloc_zeros::<i32>(1)?;
    let (sum, x_at, out_at) = (card.kernel("sum")?, card.address(&x), card.address(&out));
    let clean = i32::from(card.is_clean);
    launch!(sum, 1u32, 128u32, card.stream, x_at, out_at, clean)?; // missing_barrier: launches
    let total = card.stream.clone_dtoh(&out)?;
    card.stream.synchronize()?;
    assert!(!card.is_clean || total == [128]);
    card.stream.memset_zeros(&mut out)
}

/// A slice that is made of an address, with a length that counts bytes.
fn copy_too_long(card: &Card) -> Done {
    let x = card.stream.alloc_zeros::<f32>(100)?; // copy_too_long: allocates
    let address = x.leak();
    let len = if card.is_clean { 100 } else { 400 };
    // SAFETY: it is not, that is the fault.
    let mut x = unsafe { card.stream.upgrade_device_ptr::<f32>(address, len) };
    let copied = card.stream.memcpy_htod(&vec![1.0; len], &mut x); // copy_too_long: finds oob_global
    if card.is_clean { copied } else { Ok(()) }
}

/// A slice that is given away and never taken back.
fn leaked(card: &Card) -> Done {
    let x = card.stream.alloc_zeros::<i32>(32)?; // leaked: finds leak
    let fill = card.kernel("fill")?;
    launch!(fill, 1u32, 32u32, card.stream, card.address(&x), 7)?;
    card.stream.synchronize()?;
    if !card.is_clean {
        x.leak();
    }
    Ok(())
}

/// Two streams write one slice, and neither waits for the other.
fn streams_unordered(card: &Card) -> Done {
    let (one, two) = (card.context.new_stream()?, card.context.new_stream()?);
    let x = card.stream.alloc_zeros::<i32>(32)?; // streams_unordered: allocates
    card.stream.synchronize()?;
    let (fill, address) = (card.kernel("fill")?, card.address(&x));
    launch!(fill, 1u32, 32u32, one, address, 1)?;
    if card.is_clean {
        two.join(&one)?;
    }
    // The second comes second, though nothing orders it.
    std::thread::sleep(std::time::Duration::from_millis(300));
    launch!(fill, 1u32, 32u32, two, address, 2)?; // streams_unordered: launches
    one.synchronize()?;
    two.synchronize()
}

/// A copy to the host on a stream that does not wait for the one that writes.
fn read_early(card: &Card) -> Done {
    let (one, two) = (card.context.new_stream()?, card.context.new_stream()?);
    let x = card.stream.alloc_zeros::<i32>(4096)?; // read_early: allocates
    card.stream.synchronize()?;
    let fill = card.kernel("fill")?;
    launch!(fill, 1u32, 1024u32, one, card.address(&x), 3)?;
    if card.is_clean {
        two.join(&one)?;
    }
    two.clone_dtoh(&x)?;
    two.synchronize()?;
    one.synchronize()
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (name, is_clean) = match args[..] {
        [name] => (name, false),
        [name, "clean"] => (name, true),
        _ => return Ok(ExitCode::from(2)),
    };
    let fault = match name {
        "past_the_end" => past_the_end,
        "after_free" => after_free,
        "never_written" => never_written,
        "race_of_blocks" => race_of_blocks,
        "missing_barrier" => missing_barrier,
        "copy_too_long" => copy_too_long,
        "leaked" => leaked,
        "streams_unordered" => streams_unordered,
        "read_early" => read_early,
        _ => return Ok(ExitCode::from(2)),
    };
    fault(&Card::new(is_clean)?)?;
    Ok(ExitCode::SUCCESS)
}
