//! `devices`: what there is to run on.

use super::output::{bytes, print, print_json};
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use warpsmith::{
    device::{BackEnd, DeviceInfo, devices},
    vgpu::{Tier, no_compiler},
};

/// Lists the cards found, or why none can be used, and the virtual GPU.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  warpsmith devices --json")]
pub(crate) struct ListDevices {
    /// Prints one JSON object: cards, no_cards_because, passed_over, auto, virtual_gpu.
    #[arg(long)]
    json: bool,
}

impl ListDevices {
    pub(crate) fn run(self) -> Result<()> {
        let found = devices();
        let (cards, why) = match &found.cards {
            Ok(cards) => (
                cards.as_slice(),
                (cards.is_empty()).then(|| "the driver has no card".to_owned()),
            ),
            Err(error) => (&[][..], Some(error.to_string())),
        };
        let auto = match cards.first() {
            Some(card) if !card.is_too_old() => selector(card),
            Some(_) | None => selector(&found.virtual_gpu),
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let tiers: Vec<String> = Tier::available()
            .iter()
            .map(|tier| format!("{tier:?}").to_lowercase())
            .collect();
        if self.json {
            let mut virtual_gpu = facts(&found.virtual_gpu);
            virtual_gpu["threads"] = threads.into();
            virtual_gpu["tiers"] = tiers.into();
            virtual_gpu["interprets_because"] = no_compiler().into();
            let cards: Vec<Value> = cards.iter().map(facts).collect();
            return print_json(&json!({
                "cards": cards,
                "no_cards_because": why,
                "passed_over": found.passed_over,
                "auto": auto,
                "virtual_gpu": virtual_gpu,
            }));
        }
        let mut out = String::new();
        for card in cards {
            line(&mut out, card)?;
        }
        if let Some(why) = why {
            writeln!(out, "no card: {why}")?;
        }
        line(&mut out, &found.virtual_gpu)?;
        writeln!(
            out,
            "           {threads} threads; code paths: {}",
            tiers.join(", ")
        )?;
        match no_compiler() {
            None => writeln!(out, "           kernels are compiled to machine code")?,
            Some(why) => writeln!(out, "           kernels are interpreted: {why}")?,
        }
        for library in &found.passed_over {
            writeln!(out, "passed over: {library}")?;
        }
        writeln!(out, "auto: {auto}")?;
        print(&out)
    }
}

/// The text that `--device` takes for it.
fn selector(info: &DeviceInfo) -> String {
    match info.back_end {
        BackEnd::Virtual => "virtual".to_owned(),
        BackEnd::Cuda { index } => format!("cuda:{index}"),
    }
}

fn facts(info: &DeviceInfo) -> Value {
    json!({
        "device": selector(info),
        "name": info.name,
        "target": info.target.to_string(),
        "max_ptx": info.max_ptx.to_string(),
        "sms": info.sms,
        "memory_bytes": info.memory,
        "shared_bytes_per_cta": info.shared_per_block,
        "driver": info.driver.map(|version| version.to_string()),
    })
}

fn line(out: &mut String, info: &DeviceInfo) -> Result<()> {
    write!(
        out,
        "{:<9}  {}: {}, {} multiprocessors, {} of memory, {} of shared memory a CTA, PTX up to {}",
        selector(info),
        info.name,
        info.target,
        info.sms,
        bytes(info.memory),
        bytes(info.shared_per_block.into()),
        info.max_ptx,
    )?;
    if let Some(driver) = info.driver {
        write!(out, ", driver {driver}")?;
    }
    if info.is_too_old() {
        write!(out, "; too old, kernels need {}", warpsmith::kernel::OLDEST)?;
    }
    out.push('\n');
    Ok(())
}
