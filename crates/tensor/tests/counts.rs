//! What is counted: transfers and launches of a tensor, its device and the process; and what tensors are.

use half::f16;
use std::error::Error as AnyError;
use warpsmith_device::{Device, Selector, Stream};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args};
use warpsmith_tensor::{Error, Snapshot, Tensor, Weight, forbid_transfers, process_stats};

type Done = Result<(), Box<dyn AnyError>>;

fn stream() -> Result<Stream, Box<dyn AnyError>> {
    Ok(Device::open(&Selector::virtual_gpu())?.stream()?)
}

/// Transfers up, transfers down, launches.
fn of(stats: Snapshot) -> [u64; 3] {
    [stats.h2d_calls, stats.d2h_calls, stats.launches]
}

#[test]
fn each_crossing_counts_once() -> Done {
    let stream = stream()?;
    let device = stream.device().clone();
    let process = process_stats();

    let x = Tensor::from_host(&stream, &[2, 3], &[1.0f32, -2.0, 3.0, 4.0, 5.0, 6.0])?;
    assert_eq!(of(x.stats()), [1, 0, 0]);
    assert_eq!(of(device.stats()), [1, 0, 0]);
    assert_eq!((x.stats().h2d_bytes, x.bytes(), x.len()), (24, 24, 6));

    let before = device.stats();
    let y = x.scale(2.0)?;
    assert_eq!(of(device.stats() - before), [0, 0, 1]);
    assert_eq!((of(x.stats()), of(y.stats())), ([1, 0, 0], [0, 0, 1]));

    let before = y.stats();
    assert_eq!(y.to_host()?, [2.0, -4.0, 6.0, 8.0, 10.0, 12.0]);
    assert_eq!(of(y.stats() - before), [0, 1, 0]);
    assert_eq!((of(y.stats()), y.stats().d2h_bytes), ([0, 1, 1], 24));
    assert_eq!(of(device.stats()), [1, 1, 1]);

    // Other tests of this process add to its counts.
    let process = of(process_stats() - process);
    assert!(process.iter().all(|count| *count >= 1), "{process:?}");

    y.reset_stats();
    assert_eq!(y.stats(), Snapshot::default());
    assert_eq!(of(device.stats()), [1, 1, 1]);
    Ok(())
}

#[test]
fn a_peek_neither_counts_nor_is_refused() -> Done {
    let stream = stream()?;
    let x = Tensor::from_host(&stream, &[2], &[7u32, 8])?;
    let before = stream.device().stats();
    assert_eq!(forbid_transfers(|| x.peek())?, [7, 8]);
    assert_eq!(of(stream.device().stats() - before), [0, 0, 0]);
    assert_eq!(of(x.stats()), [1, 0, 0]);

    let refused = |result: Result<(), Error>| {
        use warpsmith_device::Error::TransferForbidden;
        matches!(
            result,
            Err(Error::Device(TransferForbidden { bytes: 8, .. }))
        )
    };
    assert!(refused(forbid_transfers(|| x.to_host().map(drop))));
    assert!(refused(forbid_transfers(|| {
        Tensor::from_host(&stream, &[1, 2], &[0i32, 1]).map(drop)
    })));
    assert_eq!(of(x.stats()), [1, 0, 0]);
    assert_eq!(x.to_host()?, [7, 8]);
    Ok(())
}

#[test]
fn weights_are_laid_out_without_a_transfer() -> Done {
    let stream = stream()?;
    let x = Tensor::from_host(&stream, &[1, 3], &[1.0f32, 2.0, 3.0])?;
    let w = Tensor::from_host(&stream, &[2, 3], &[1.0f32, 0.0, 0.0, 0.0, 1.0, 1.0])?;
    let before = stream.device().stats();
    let weight = Weight::from_rows(&w)?;
    assert_eq!(of(stream.device().stats() - before), [0, 0, 1]);
    let y = x.linear_gelu(&weight, None)?;
    assert_eq!(of(stream.device().stats() - before), [0, 0, 2]);
    assert_eq!(of(y.stats()), [0, 0, 1]);
    let y = x.linear(&w, None)?;
    assert_eq!(of(stream.device().stats() - before), [0, 0, 4]);
    assert_eq!(y.to_host()?, [1.0, 5.0]);
    Ok(())
}

args! {
    /// `y = x + by`.
    struct ShiftArgs { x: In<u32>[n], y: Out<u32>[n], n: Scalar<u32>, by: Scalar<u32> }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Shift;

impl Kernel for Shift {
    type Args = ShiftArgs;

    fn name(&self) -> String {
        "shift".into()
    }

    fn grid(&self, a: &ShiftArgs) -> Result<u64, LaunchError> {
        Ok(a.n.min(1).into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ShiftArgs<InKernel<'k>>) {
        cta.each(a.n, |_, i| a.y.set(i, a.x.at(i) + a.by));
    }
}

#[test]
fn kernels_of_a_user_count_on_what_they_write() -> Done {
    let stream = stream()?;
    let x = Tensor::from_host(&stream, &[3], &[1u32, 2, 3])?;
    let mut y = Tensor::<u32>::uninit(&stream, &[3])?;
    let (n, by) = (3, 10);
    y.launch(&Shift, |y| ShiftArgs {
        x: x.view(),
        y,
        n,
        by,
    })?;
    assert_eq!((of(x.stats()), of(y.stats())), ([1, 0, 0], [0, 0, 1]));
    assert_eq!(y.to_host()?, [11, 12, 13]);

    let n = 4;
    let wrong = y.launch(&Shift, |y| ShiftArgs {
        x: x.view(),
        y,
        n,
        by,
    });
    let text = wrong.expect_err("four of three").to_string();
    assert!(text.contains('3') && text.contains('4'), "{text}");
    assert_eq!(y.stats().launches, 1);

    // An empty grid launches nothing.
    let x = Tensor::from_host(&stream, &[0, 5], &[])?;
    let mut y = Tensor::<u32>::uninit(&stream, &[0])?;
    let n = 0;
    y.launch(&Shift, |y| ShiftArgs {
        x: x.view(),
        y,
        n,
        by,
    })?;
    assert_eq!((of(x.stats()), of(y.stats())), ([0, 0, 0], [0, 0, 0]));
    assert!(y.is_empty() && y.is_resident() && y.to_host()?.is_empty());
    Ok(())
}

#[test]
fn every_element_type_comes_back() -> Done {
    fn round<T>(stream: &Stream, data: &[T]) -> Done
    where
        T: warpsmith_kernel::Elem + bytemuck::Pod + PartialEq + std::fmt::Debug,
    {
        let x = Tensor::from_host(stream, &[data.len()], data)?;
        assert_eq!(x.bytes(), size_of_val(data) as u64);
        assert!(x.is_resident() && x.address() != 0);
        let copy = x.duplicate()?;
        assert_ne!(copy.address(), x.address());
        assert_eq!(of(copy.stats()), [0, 0, 0]);
        assert_eq!(
            (x.to_host()?, copy.to_host()?),
            (data.to_vec(), data.to_vec())
        );
        Ok(())
    }
    let stream = stream()?;
    round(&stream, &[1u8, 255, 3])?;
    round(&stream, &[-1i8, 2])?;
    round(&stream, &[1u16, 65535])?;
    round(&stream, &[u32::MAX])?;
    round(&stream, &[i32::MIN, 5])?;
    round(&stream, &[u64::MAX, 5])?;
    round(&stream, &[f16::from_f32(0.5)])?;
    round(&stream, &[half::bf16::from_f32(-2.0)])?;
    round(&stream, &[0.1f32])
}

#[test]
fn shapes_and_buffers_change_hands() -> Done {
    let stream = stream()?;
    let other = stream.device().stream()?;
    let mut x = Tensor::<f32>::uninit(&stream, &[2, 3])?;
    assert!(x.peek()?.iter().all(|x| x.is_nan()), "poison");
    x.write(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let x = x.reshape(&[3, 1, 2])?.on(&other);
    assert_eq!((x.shape(), of(x.stats())), (&[3, 1, 2][..], [1, 0, 0]));
    let y = x.scale(-1.0)?;
    drop(x);
    let y = Tensor::from_buffer(&stream, &[6], y.into_buffer())?;
    assert_eq!(y.to_host()?, [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]);
    Ok(())
}
