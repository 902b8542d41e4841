//! Does steps on a device and tells what came of each: `warpsmith_suite::device_script`.
#![forbid(unsafe_code)]

fn main() {
    warpsmith_suite::device_script::main();
}
