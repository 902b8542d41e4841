//! `cargo xtask page`: the page of the server in headless Chromium, with real models.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::demo::{self, Profile};
use crate::error::{Error, Result};
use crate::fetch::{self, Place, Python};
use crate::house::House;
use crate::run::Run;

/// Debian's packages with the browser and what drives it.
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];
const PROGRAMS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/chromedriver"];
const SCRIPT: &str = "crates/server/tests/page.py";
const SOUND: &str = "suite/reference/audio/jfk.wav";
/// What the server wants of those who ask, and the page of its user.
const KEY: &str = "of-the-test";

/// Where the pictures go.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder for pictures of the page [default: target/page].
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// A `warpsmith` that is built already [default: one as tests build it].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// A server that ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already is no loss.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server and drives its page as a person would.
pub(crate) fn page(house: &House, args: &Args) -> Result<()> {
    if PROGRAMS
        .iter()
        .any(|path| !std::path::Path::new(path).exists())
    {
        Run::new("apt-get").arg("update").read()?;
        Run::new("apt-get")
            .args(["install", "--yes", "--no-install-recommends"])
            .args(PACKAGES)
            .read()?;
    }
    let model = Place::smollm2()?.ensure(house)?;
    let whisper = fetch::whisper_base(house)?;
    let program = match &args.program {
        Some(program) => program.clone(),
        None => demo::build(house, Profile::Dev)?,
    };
    let (_server, address) = serve(&program, &model, &whisper)?;
    let pictures = match &args.pictures {
        Some(pictures) => pictures.clone(),
        None => house.target()?.join("page"),
    };
    Run::new(Python::find(house)?.program())
        .arg(house.root().join(SCRIPT))
        .args([&address, KEY])
        .arg(house.root().join(SOUND))
        .arg(pictures)
        .show()
}

/// A server on a free port, and its address, which it prints.
fn serve(program: &PathBuf, model: &PathBuf, whisper: &PathBuf) -> Result<(Server, String)> {
    let start = |source| Error::Start {
        program: program.display().to_string(),
        source,
    };
    let child = Command::new(program)
        .args([
            "serve",
            "--device",
            "virtual",
            "--port",
            "0",
            "--api-key",
            KEY,
        ])
        .arg("--model")
        .arg(model)
        .arg("--whisper")
        .arg(whisper)
        .stdout(Stdio::piped())
        .spawn();
    let mut server = Server(child.map_err(start)?);
    let mut line = String::new();
    if let Some(out) = server.0.stdout.take() {
        BufReader::new(out).read_line(&mut line).map_err(start)?;
    }
    let at = line.find("http://");
    match at.map(|at| line[at..].trim_end().to_owned()) {
        Some(address) => Ok((server, address)),
        None => Err(Error::Output {
            command: format!("{} serve", program.display()),
            expected: "the address that it serves at",
            found: line,
        }),
    }
}
