//! Graphs: captured work, and captured work that is ready to run.

use crate::{
    context::{Context, Core},
    status::Status,
    step::{Piece, Step},
};
use std::sync::Arc;
use warpsmith_vgpu as vgpu;

/// Captured work in its order.
pub(crate) struct Graph {
    pub(crate) core: Arc<Core>,
    pub(crate) steps: Vec<Step>,
}

/// Captured work that was checked.
pub(crate) struct Exec {
    pub(crate) core: Arc<Core>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) launches: u64,
}

impl Exec {
    pub(crate) fn new(context: &Context, graph: &Graph) -> Result<Exec, Status> {
        let stream = context.null_stream()?;
        let (mut pieces, mut launches, mut count) = (Vec::new(), Vec::new(), 0);
        let close = |launches: &mut Vec<vgpu::Launch>, pieces: &mut Vec<Piece>| {
            if !launches.is_empty() {
                pieces.push(Piece::Launches(stream.prepare(std::mem::take(launches))?));
            }
            Ok::<_, Status>(())
        };
        for step in &graph.steps {
            if let Step::Launch(launch) = step {
                count += 1;
                launches.push((**launch).clone());
            } else {
                close(&mut launches, &mut pieces)?;
                pieces.push(Piece::Step(step.clone()));
            }
        }
        close(&mut launches, &mut pieces)?;
        Ok(Exec {
            core: graph.core.clone(),
            pieces,
            launches: count,
        })
    }
}
