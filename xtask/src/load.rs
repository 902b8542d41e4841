//! `cargo xtask load`: many clients at once on `warpsmith serve`, or thousands of requests of every kind.

use crate::demo::{self, Profile};
use crate::error::Result;
use crate::fetch::{self, Place};
use crate::house::House;
use crate::peers;
use crate::run::Run;

const LOAD: &str = "warpsmith-load";
const SOUND: &str = "suite/reference/audio/goforward.wav";

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// 64 clients with prompts of 10 to 1,500 tokens, each answer compared with the one alone.
    Load,
    /// 10,000 requests of every kind, wrong ones too, and the server's memory.
    Soak,
}

/// What to send, and beside whom.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(value_enum, default_value = "load")]
    what: What,
    /// The same load on llama.cpp's server too, which is built first.
    #[arg(long)]
    peer: bool,
    /// More arguments of `warpsmith-load`, behind `--`.
    #[arg(last = true)]
    more: Vec<String>,
}

/// Builds in release and runs.
pub(crate) fn load(house: &House, args: &Args) -> Result<()> {
    let model = Place::smollm2()?.ensure(house)?;
    let program = demo::build(house, Profile::Release)?;
    house
        .cargo([
            "build",
            "--release",
            "--package",
            "warpsmith-bench",
            "--bin",
            LOAD,
        ])
        .show()?;
    let run = Run::new(house.release_program(LOAD)?);
    let run = match args.what {
        What::Load => run.arg("load"),
        What::Soak => {
            let whisper = fetch::whisper_tiny(house)?;
            run.arg("soak")
                .arg("--whisper")
                .arg(whisper)
                .arg("--sound")
                .arg(house.root().join(SOUND))
        }
    };
    let run = run.arg("--program").arg(program).arg("--model").arg(model);
    let run = match (args.what, args.peer) {
        (What::Load, true) => run.arg("--peer").arg(peers::llama_cpp_server(house)?),
        (What::Load, false) | (What::Soak, _) => run,
    };
    run.args(&args.more).show()
}
