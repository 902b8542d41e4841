//! Drawing the next token: the sampler, then its counters.

use super::Lowering;
use crate::{memory::Place, node::Node, resource::Sampler};
use std::sync::Arc;
use warpsmith_library::sample::{Advance, AdvanceArgs, Sample, SampleArgs};

/// Threads of the sampler's one CTA: a card hides latencies with many, the virtual GPU pays for each.
const THREADS: [u32; 2] = [256, 1024];

impl Lowering<'_> {
    pub(super) fn draw(&mut self, logits: Node, sampler: &Arc<Sampler>) -> Place {
        let crate::node::Extent {
            rows,
            columns: vocab,
        } = self.graph.entries[logits.index as usize].extent;
        let len = u64::from(rows) * u64::from(vocab);
        // A window for each row.
        let window = sampler.recent.len() as u32 / rows.max(1);
        let capacity = sampler.output.len() as u32 / rows.max(1);
        let logits = self.place(logits);
        let scratch = self.piece::<f32>(2 * len);
        let all = [logits.clone(), scratch.clone()];
        let threads = if self.hardware.is_virtual() {
            THREADS[0]
        } else {
            THREADS[1]
        };
        let state = Arc::clone(sampler);
        self.push(&[&logits, &scratch], Sample { threads }, move |memory| {
            let [logits, scratch] = &all;
            SampleArgs {
                logits: memory.span(logits, len),
                floats: state.floats.clone(),
                integers: state.integers.clone(),
                steps: state.length.clone(),
                recent: state.recent.clone(),
                seen: state.seen.clone(),
                y: state.token.clone(),
                scratch: memory.span(scratch, 2 * len),
                rows,
                vocab,
                window,
            }
        });
        let state = Arc::clone(sampler);
        self.push(&[], Advance, move |_| AdvanceArgs {
            ids: state.token.clone(),
            positions: state.position.clone(),
            steps: state.length.clone(),
            recent: state.recent.clone(),
            seen: state.seen.clone(),
            output: state.output.clone(),
            written: state.written.clone(),
            rows,
            window,
            capacity,
        });
        Place::Outside(sampler.token.cast(), 0)
    }
}
