//! What the kernel language can say, by numbers: each form runs under the checker and gives what the same words give on the
//! host, and NVIDIA's assembler takes it for every target that has it.

mod atomics;
mod exchanges;
mod halves;
mod numbers;
mod refused;
mod said;

use std::{env, fs, path::PathBuf, process::Command};
use warpsmith_device::{Device, Selector, Settings, Stream};
use warpsmith_kernel::{BuildError, Kernel, Options, build};
use warpsmith_ptx::target::Target;

/// The targets of the language.
pub(crate) const TARGETS: [u16; 8] = [70, 75, 80, 86, 89, 90, 100, 120];

/// Runs `test` on a device of the newest target, in the order that is usual and in another, under the checker.
pub(crate) fn checked(test: impl Fn(&Device, &Stream)) {
    for seed in [None, Some(5)] {
        let settings = Settings {
            seed,
            ..Settings::checking()
        };
        let device = Device::open_with(&Selector::virtual_gpu(), settings).expect("a device");
        test(&device, &device.stream().expect("a stream"));
        let found = device.take_findings();
        assert!(found.is_empty(), "order {seed:?}: {found:?}");
    }
}

fn assembler(sm: u16) -> PathBuf {
    let (variable, own) = if sm < 75 {
        ("WARPSMITH_PTXAS12", "ptxas12")
    } else {
        ("WARPSMITH_PTXAS", "ptxas")
    };
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../.tools")
        .join(own);
    let path = env::var_os(variable).map_or(tools, PathBuf::from);
    let shown = path.display();
    assert!(
        path.is_file(),
        "no ptxas at {shown}: `cargo xtask test` installs it, or {variable} names one"
    );
    path
}

/// The kernel is assembled for every target from `first` on, and refused by name below.
pub(crate) fn assembles<K: Kernel>(kernel: &K, first: u16) {
    for sm in TARGETS {
        let built = build(kernel, Target::sm(sm), Options::default());
        if sm < first {
            let refused = matches!(built, Err(BuildError::Refused { .. }));
            assert!(refused, "{} for sm_{sm} is built", kernel.name());
            continue;
        }
        let built = built.unwrap_or_else(|error| panic!("{error}"));
        let file =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_{sm}.ptx", kernel.name()));
        fs::write(&file, built.module.text()).expect("a file");
        let run = Command::new(assembler(sm))
            .args([format!("-arch=sm_{sm}").as_str(), "-o", "/dev/null"])
            .arg(&file)
            .output()
            .expect("ptxas");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(
            run.status.success(),
            "{} for sm_{sm}: {said}",
            kernel.name()
        );
    }
}
