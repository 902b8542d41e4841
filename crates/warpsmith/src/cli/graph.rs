//! `graph`: the operations of a decode step, before and after passes have fused them.

use super::{
    files::{Draft, Files},
    open::open,
    options::ModelArgs,
    output::print,
};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use warpsmith::{
    device::Stream,
    graph::{self, Graph, Plan, Precision},
    models::llama::Run,
};

/// Shows the graph of a decode step: how many operations and launches it has, and a picture of it, in which equal layers
/// are drawn once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith graph --model smollm2.gguf
  warpsmith graph --model smollm2.gguf --svg fused.svg
  warpsmith graph --model smollm2.gguf --plain --dot plain.dot")]
pub(crate) struct ShowGraph {
    #[command(flatten)]
    model: ModelArgs,
    /// The picture is of the operations as the model is written, before passes.
    #[arg(long, conflicts_with = "fused")]
    plain: bool,
    /// The picture is of the operations that are launched (default).
    #[arg(long)]
    fused: bool,
    /// Writes the picture in the DOT language.
    #[arg(long, value_name = "FILE.dot")]
    dot: Option<PathBuf>,
    /// Writes the picture as an SVG.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
}

impl ShowGraph {
    pub(crate) fn run(mut self) -> Result<()> {
        self.model.localise()?;
        let mut files = Files::default();
        files.reads_model("--model", &self.model.model)?;
        let dot = files.draft("--dot", self.dot.as_deref())?;
        let svg = files.draft("--svg", self.svg.as_deref())?;
        let opened = open(&self.model)?;
        let session = opened.session(&self.model, 0, Run::Eager)?;
        let (stream, precision) = (session.stream(), self.model.precision.into());
        let plain = session.decode_graph()?;
        let fused = plain.fused(stream, precision);
        print(&words(stream, precision, [&plain, &fused])?)?;
        let picture = if self.plain && !self.fused {
            &plain
        } else {
            &fused
        };
        write(dot, || picture.dot())?;
        write(svg, || picture.svg())
    }
}

/// A line for the operations as they are written, and one for those that are launched.
pub(super) fn words(
    stream: &Stream,
    precision: Precision,
    graphs: [&Graph; 2],
) -> Result<String, graph::Error> {
    let mut text = String::new();
    for (name, graph) in ["plain", "fused"].into_iter().zip(graphs) {
        let report = Plan::plain(stream, graph, precision)?.report();
        let saved = report.unshared - report.arena.min(report.unshared);
        text += &format!(
            "{name}: {} operations, {} leaves, {} launches, {} bytes of memory, {saved} saved by lifetimes\n",
            graph.operations(),
            graph.leaves(),
            report.launches,
            report.arena,
        );
    }
    Ok(text)
}

fn write(file: Option<Draft>, text: impl FnOnce() -> String) -> Result<()> {
    match file {
        Some(file) => file.complete(&text()).map(drop),
        None => Ok(()),
    }
}
