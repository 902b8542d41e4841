//! Checks and times everything on a card: `warpsmith-gpu --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    warpsmith_suite::gpu::main()
}
