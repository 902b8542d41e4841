//! The parts: each measures in the process that it is called in.

pub(crate) mod checker;
pub(crate) mod cuda;
pub(crate) mod emission;
pub(crate) mod exec;
pub(crate) mod floor;
pub(crate) mod micro;
pub(crate) mod model;
pub(crate) mod share;
pub(crate) mod speech;
pub(crate) mod throughput;
pub(crate) mod ways;

use crate::{
    Failed,
    args::{Args, Part, Vectors},
};
use serde::Serialize;
use warpsmith::{
    device::{Device, Fresh, Selector, Settings, VirtualCard},
    formats::quant::WeightType,
    vgpu::check::Checks,
};

/// Measures, and gives what was found as JSON.
pub(crate) fn run(part: Part, args: &Args) -> Result<String, Failed> {
    fn json(found: impl Serialize) -> Result<String, Failed> {
        Ok(serde_json::to_string(&found)?)
    }
    match part {
        Part::FirstToken => json(model::first_token(args)?),
        Part::Prefill => json(model::prefill(args)?),
        Part::Decode => json(model::decode(args)?),
        Part::Long => json(model::long(args)?),
        Part::PrefillShare => json(share::prefill(args)?),
        Part::DecodeShare => json(share::decode(args)?),
        Part::Floor => json(floor::measure(args)?),
        Part::Emission => json(emission::measure()?),
        Part::Micro => json(micro::measure(args)?),
        Part::Checker => json(checker::measure(args)?),
        Part::Throughput => json(throughput::measure(args)?),
        Part::Speech => json(speech::measure(args, None)?),
        Part::SpeechQ8 => json(speech::measure(args, Some(WeightType::Q8_0))?),
        Part::Ways => json(ways::measure(args)?),
        Part::Programs => json(cuda::measure(args)?),
        Part::Exec => json(exec::measure(args)?),
    }
}

/// The virtual GPU with the threads asked for, as the command line opens it.
fn device(args: &Args) -> Result<Device, Failed> {
    open(args, args.threads, None)
}

fn open(args: &Args, threads: usize, checker: Option<Checks>) -> Result<Device, Failed> {
    let selector = Selector::Virtual(VirtualCard {
        workers: Some(threads),
        tier: args.tier.map(Vectors::tier),
        ..VirtualCard::default()
    });
    let settings = Settings {
        fresh: Fresh::AsIs,
        checker,
        ..Settings::default()
    };
    Ok(Device::open_with(&selector, settings)?)
}
