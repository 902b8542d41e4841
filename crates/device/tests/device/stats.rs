//! Counts, and the scope without transfers.

use crate::kernels::{Scale, ScaleArgs, device, ramp};
use warpsmith_device::{Direction, Error, Snapshot, forbid_transfers, process_stats};

#[test]
fn each_thing_counts_once() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let before = device.stats();
    let whole = process_stats();
    let x = stream.upload_new(&ramp(100))?;
    let mut y = stream.alloc(100)?;
    let args = ScaleArgs {
        x: x.view(),
        y: y.view_mut(),
        rows: 4,
        n: 25,
        a: 1.0,
    };
    stream.launch(&Scale::default(), &args)?;
    stream.download(y.view().range(0..10)?)?.wait()?;
    stream.peek(&x)?.wait()?;
    let want = Snapshot {
        h2d_calls: 1,
        h2d_bytes: 400,
        d2h_calls: 1,
        d2h_bytes: 40,
        launches: 1,
        enqueues: 1,
        allocations: 2,
        allocated_bytes: 800,
        ..Snapshot::default()
    };
    assert_eq!(device.stats() - before, want);
    let all = process_stats() - whole;
    assert!(all.launches >= 1 && all.h2d_bytes >= 400);
    device.reset_stats();
    assert_eq!(device.stats(), Snapshot::default());
    Ok(())
}

#[test]
fn a_forbidden_transfer_is_an_error_on_this_thread_only() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let mut x = stream.upload_new(&ramp(4))?;
    forbid_transfers(|| {
        let refused = stream.upload(&mut x, &ramp(4));
        let want = Error::TransferForbidden {
            direction: Direction::Upload,
            bytes: 16,
        };
        assert_eq!(refused, Err(want));
        let refused = forbid_transfers(|| stream.download(&x).err());
        let want = Error::TransferForbidden {
            direction: Direction::Download,
            bytes: 16,
        };
        assert_eq!(refused, Some(want));
        assert!(stream.peek(&x).is_ok());
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| stream.download(&x).is_ok());
            assert!(elsewhere.join().expect("no panic"));
        });
    });
    assert_eq!(stream.download(&x)?.wait()?, ramp(4));
    assert_eq!(device.stats().d2h_calls, 2);
    Ok(())
}
