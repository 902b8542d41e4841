//! The kernel under the checker: out of bounds, unwritten memory, races, barriers.

use check_a_kernel::row_sums;
use warpsmith::{
    device::{Device, Error, Grid, Selector, Settings},
    ptx::{parse::parse, verify::verify},
    vgpu::check::Kind,
};

#[test]
fn row_sums_are_right_and_clean() -> Result<(), Error> {
    let device = Device::open_with(&Selector::virtual_gpu(), Settings::checking())?;
    assert_eq!(row_sums(&device, &[1.0; 3 * 1001], 1001)?, [1001.0; 3]);
    assert_eq!(device.take_findings(), []);
    Ok(())
}

/// PTX from anywhere: 32 threads write one word, each another value, and nobody writes the word after it.
const FAULTY: &str = ".version 7.0\n.target sm_80\n.address_size 64\n\
    .visible .entry faulty(.param .u64 p) {\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd0, [p];\n\
    mov.u32 %r0, %tid.x;\nst.global.u32 [%rd0], %r0;\nld.global.u32 %r1, [%rd0+4];\n\
    add.u32 %r1, %r1, 1;\nst.global.u32 [%rd0+8], %r1;\nret;\n}\n";

#[test]
fn what_is_wrong_is_found() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open_with(&Selector::virtual_gpu(), Settings::checking())?;
    let stream = device.stream()?;
    let module = verify(parse(FAULTY).map_err(|found| found[0].clone())?)
        .map_err(|found| found[0].clone())?;
    let mut words = stream.alloc::<u32>(3)?;
    let params = words.address().to_le_bytes();
    let kernel = device.load(&module)?.entry("faulty")?;
    stream.launch_built(
        &kernel,
        Grid::linear(1, 32),
        &params,
        &[words.view_mut().write()],
    )?;
    stream.synchronize()?;
    let kinds: Vec<Kind> = device
        .take_findings()
        .iter()
        .map(|finding| finding.kind)
        .collect();
    for kind in [Kind::RaceGlobal, Kind::UninitGlobal] {
        assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
    }
    Ok(())
}
