//! Device memory: how much, of whom, in which parts.

use crate::kernels::{Scale, ScaleArgs, device, ramp, scaled, with_memory};
use warpsmith_device::{Device, Error, Fresh, Selector, Settings};

#[test]
fn too_much_is_refused_with_needed_and_free() -> Result<(), Error> {
    let device = with_memory(1 << 20);
    let held = device.alloc::<u8>(1 << 19)?;
    let free = device.memory_info()?.free;
    let refused = device.alloc::<f32>(1 << 18).err();
    assert_eq!(
        refused,
        Some(Error::OutOfMemory {
            needed: 1 << 20,
            free
        })
    );
    assert!(((1 << 19) - 4096..=1 << 19).contains(&free), "{free}");
    let refused = device.alloc::<f32>(usize::MAX).err();
    assert!(
        matches!(refused, Some(Error::OutOfMemory { .. })),
        "{refused:?}"
    );
    drop(held);
    device.alloc::<u8>((1 << 20) - 4096)?;
    Ok(())
}

#[test]
fn memory_whose_free_is_still_queued_is_waited_for() -> Result<(), Error> {
    let device = with_memory(1 << 20);
    let stream = device.stream()?;
    let n = 150_000;
    for _ in 0..5 {
        let x = stream.upload_new(&ramp(n))?;
        let mut y = stream.alloc(n / 2)?;
        let args = ScaleArgs {
            x: x.view().range(0..n / 2)?,
            y: y.view_mut(),
            rows: 75,
            n: 1000,
            a: 2.0,
        };
        stream.launch(&Scale::default(), &args)?;
    }
    stream.synchronize()
}

#[test]
fn fresh_memory_is_poisoned_unless_told_otherwise() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let x = device.alloc::<f32>(100)?;
    assert!(stream.download(&x)?.wait()?.iter().all(|x| x.is_nan()));
    let settings = Settings {
        fresh: Fresh::AsIs,
        ..Settings::default()
    };
    let device = Device::open_with(&Selector::virtual_gpu(), settings)?;
    let x = device.alloc::<f32>(100)?;
    assert_eq!(device.stream()?.download(&x)?.wait()?, vec![0.0; 100]);
    Ok(())
}

#[test]
fn parts_are_disjoint_and_inside() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let x = stream.upload_new(&ramp(10))?;
    let mut qkv = stream.alloc::<f32>(30)?;
    let parts = qkv.split_mut(&[10, 0, 20])?;
    assert_eq!(
        parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
        [10, 0, 20]
    );
    for (part, rows) in parts.into_iter().zip([1, 0, 2]) {
        let mut part = part;
        for row in 0..rows {
            let y = part.reborrow().range(row * 10..row * 10 + 10)?;
            stream.copy(y, &x)?;
        }
    }
    assert_eq!(
        stream.download(&qkv)?.wait()?,
        [ramp(10), ramp(10), ramp(10)].concat()
    );
    let refused = Error::Range {
        start: 20,
        end: 31,
        len: 30,
    };
    assert_eq!(qkv.split_mut(&[20, 11]).err(), Some(refused.clone()));
    assert_eq!(qkv.view().range(20..31).err(), Some(refused));
    assert!(qkv.disjoint_mut(&[5..10, 0..5, 10..30]).is_ok());
    assert!(qkv.disjoint_mut(&[5..10, 0..6]).is_err());
    Ok(())
}

#[test]
fn bytes_may_be_seen_as_other_elements() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let mut arena = device.alloc::<u8>(64)?;
    let [mut head, mut tail] = <[_; 2]>::try_from(arena.split_mut(&[32, 32])?).expect("two parts");
    stream.upload(head.reborrow().cast::<f32>()?, &ramp(8))?;
    stream.upload(tail.reborrow().cast::<u32>()?, &[7; 8])?;
    assert_eq!(
        stream.download(head.view().cast::<f32>()?)?.wait()?,
        scaled(8, 1.0)
    );
    assert!(arena.view().range(1..9)?.cast::<f32>().is_err());
    assert!(arena.view().range(0..9)?.cast::<f32>().is_err());
    Ok(())
}

#[test]
fn lengths_of_transfers_must_match() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let mut x = stream.alloc::<f32>(4)?;
    let refused = stream.upload(&mut x, &ramp(5));
    let want = Error::Length {
        what: "upload",
        want: 4,
        got: 5,
    };
    assert_eq!(refused, Err(want));
    let y = stream.alloc::<f32>(3)?;
    assert!(matches!(
        stream.copy(&mut x, &y),
        Err(Error::Length {
            want: 4,
            got: 3,
            ..
        })
    ));
    let mut out = [0.0; 5];
    assert!(stream.download(&x)?.wait_into(&mut out).is_err());
    Ok(())
}
