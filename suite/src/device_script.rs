//! Does steps on a device and prints what came of each, one line a step, for tests whose device is another in every
//! process.
//!
//! The steps are the arguments: `cuda:0`, `virtual` or `auto` open that device, `each` makes devices opened later check
//! each launch, and the rest is in `Script::step`. A line is the step and the result as Rust shows it.

use std::process::ExitCode;
use warpsmith::{
    device::{Buffer, Checks, Device, Error, Grid, Replay, Settings, Stream, devices},
    kernel::{Cta, InKernel, Kernel, LaunchError, args},
};
use warpsmith_ptx::{parse::parse, verify::verify};

args! { /// `y = x + 1`.
pub struct NextArgs { x: In<u32>[n], y: Out<u32>[n], n: Scalar<u32> } }

/// `y = x + 1`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Next;

impl Kernel for Next {
    type Args = NextArgs;

    fn name(&self) -> String {
        "next".into()
    }

    fn grid(&self, _a: &NextArgs) -> Result<u64, LaunchError> {
        Ok(1)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, k: NextArgs<InKernel<'k>>) {
        cta.each(k.n, |_, i| k.y.set(i, k.x.at(i) + 1u32));
    }
}

/// Writes eight bytes to its parameter.
const WILD: &str = ".version 6.0\n.target sm_70\n.address_size 64\n\
    .visible .entry wild(.param .u64 p) {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n\
    st.global.u64 [%rd1], %rd1;\nret;\n}\n";

/// A module that asks for PTX 8.0.
const NEW: &str =
    ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry new() {\nret;\n}\n";

const LEN: usize = 100;

/// What the steps work on.
struct Script {
    settings: Settings,
    opened: Option<Opened>,
}

struct Opened {
    replay: Option<Replay>,
    x: Option<Buffer<u32>>,
    y: Option<Buffer<u32>>,
    stream: Option<Stream>,
    device: Device,
}

/// Does the steps of the command line.
pub fn main() -> ExitCode {
    let mut script = Script {
        settings: Settings::default(),
        opened: None,
    };
    for step in std::env::args().skip(1) {
        match script.step(&step) {
            Ok(text) => println!("{step}: {text}"),
            Err(error) => println!("{step}: {error:?}"),
        }
    }
    ExitCode::SUCCESS
}

impl Script {
    /// One step and what it found.
    fn step(&mut self, step: &str) -> Result<String, Error> {
        match step {
            "each" => {
                self.settings.checks = Checks::EachLaunch;
                return Ok("done".into());
            }
            "cards" => {
                let cards = devices().cards?;
                return Ok(format!("{} cards", cards.len()));
            }
            "passed over" => return Ok(format!("{:?}", devices().passed_over)),
            "close" => {
                self.opened = None;
                return Ok("done".into());
            }
            _ => {}
        }
        if let Ok(selector) = step.parse() {
            let device = Device::open_with(&selector, self.settings.clone())?;
            let info = device.info();
            let text = format!("{:?} {:?}", info.back_end, info.passed_over);
            self.opened = Some(Opened {
                replay: None,
                x: None,
                y: None,
                stream: None,
                device,
            });
            return Ok(text);
        }
        match &mut self.opened {
            Some(opened) => opened.step(step),
            None => Ok("no device".into()),
        }
    }
}

impl Opened {
    fn step(&mut self, step: &str) -> Result<String, Error> {
        match step {
            "stream" => self.stream = Some(self.device.stream()?),
            "free" => return Ok(format!("{:?}", self.device.memory_info()?)),
            "load" => {
                let module = verify(parse(NEW).expect("PTX")).expect("a good module");
                self.device.load(&module)?;
            }
            step => return self.on_stream(step),
        }
        Ok("done".into())
    }

    fn on_stream(&mut self, step: &str) -> Result<String, Error> {
        let Opened {
            replay,
            x,
            y,
            stream: Some(stream),
            device,
        } = self
        else {
            return Ok("no stream".into());
        };
        match (step, x, y) {
            ("alloc", x, y) => {
                *x = Some(stream.upload_new(&[6; LEN])?);
                *y = Some(stream.alloc(LEN)?);
            }
            ("sync", ..) => stream.synchronize()?,
            ("wild", ..) => {
                let module = verify(parse(WILD).expect("PTX")).expect("a good module");
                let kernel = device.load(&module)?.entry("wild")?;
                let address = 0x7000_0000_0000u64.to_le_bytes();
                stream.launch_built(&kernel, Grid::linear(1, 32), &address, &[])?;
            }
            ("launch", Some(x), Some(y)) => next(stream, x, y)?,
            ("capture", Some(x), Some(y)) => {
                *replay = Some(stream.capture(|stream| {
                    next(stream, x, y)?;
                    stream.copy(&mut *x, &*y)?;
                    stream.fill_zero(&mut *y)
                })?);
            }
            ("replay", ..) => {
                if let Some(replay) = replay {
                    stream.replay(replay)?;
                }
            }
            ("x", Some(buffer), _) | ("y", _, Some(buffer)) => {
                let got = stream.download(&*buffer)?.wait()?;
                let same = got.iter().all(|value| *value == got[0]);
                return Ok(format!("{} same {same}", got[0]));
            }
            (_, None, _) | (_, _, None) => return Ok("no buffers".into()),
            (_, Some(_), Some(_)) => return Ok("no such step".into()),
        }
        Ok("done".into())
    }
}

fn next(stream: &Stream, x: &Buffer<u32>, y: &mut Buffer<u32>) -> Result<(), Error> {
    let (x, y, n) = (x.view(), y.view_mut(), LEN as u32);
    stream.launch(&Next, &NextArgs { x, y, n })
}
