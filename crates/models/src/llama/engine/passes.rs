//! Planned passes of an engine: one for each number of rows, kept for as long as the engine lives.

use super::{
    super::{
        forward::{Inputs, Memory, hidden, logits},
        model::Model,
        session::Run,
    },
    bias::Bias,
    options::EngineOptions,
};
use crate::{Error, watch::Watch};
use std::{collections::BTreeMap, sync::Arc};
use warpsmith_device::{Buffer, Replay, Slice, Stream};
use warpsmith_graph::{Graph, Node, PagedRows, Pages, Plan, SamplerState};

/// Rows of the largest pass.
pub(super) const MOST_ROWS: u32 = 512;
/// Tokens up to which the last pass of a prompt has rows of nobody, however many these are.
const LAST_ROWS: u32 = 64;

/// What a pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A token for each running sequence.
    Step,
    /// Tokens of a prompt.
    Prompt,
    /// The last tokens of a prompt, and a draw.
    PromptEnd,
}

/// What a pass with a draw does beside drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct With {
    /// Adds biases to the logits.
    pub(super) bias: bool,
    /// Keeps the logits, without biases.
    pub(super) logits: bool,
}

/// A plan and, if it is replayed, its launches.
struct Pass {
    plan: Plan,
    replay: Option<Replay>,
    /// Where the logits are that it keeps.
    logits: Option<Node>,
}

/// All passes, and what they read.
pub(super) struct Passes {
    kept: BTreeMap<(Kind, u32, With), Pass>,
    /// Row r of a step is that of slot r.
    own: Buffer<u32>,
    /// Ids, positions, keys to see and slots of the rows of a prompt, one array behind the other.
    pub(super) input: Buffer<u32>,
    /// The slot whose sampler draws the first token of a prompt.
    staging: u32,
}

/// What passes are planned over.
pub(super) struct Over<'a> {
    pub(super) model: &'a Model,
    pub(super) stream: &'a Stream,
    pub(super) options: &'a EngineOptions,
    pub(super) layers: &'a [Arc<Pages>],
    pub(super) state: &'a SamplerState,
    /// Where biases are, if there are any.
    pub(super) bias: Option<&'a Bias>,
    /// Who takes part.
    pub(super) watch: &'a Watch,
}

/// The rows of the smallest pass for so many.
pub(super) fn bucket(rows: u32) -> u32 {
    rows.next_power_of_two()
}

/// How many of the next `left` tokens of a prompt one pass takes: all, unless a quarter of its rows or more would be
/// nobody's, for rows cost what tokens cost.
pub(super) fn taken(left: u32) -> u32 {
    let left = left.min(MOST_ROWS);
    let rows = bucket(left);
    if left <= LAST_ROWS || 4 * (rows - left) < rows {
        left
    } else {
        rows / 2
    }
}

impl Kind {
    /// What dispatchers are told.
    fn name(self) -> &'static str {
        match self {
            Kind::Step => "step",
            Kind::Prompt | Kind::PromptEnd => "prompt",
        }
    }
}

impl Passes {
    /// Nothing planned yet: one transfer.
    pub(super) fn new(stream: &Stream, slots: u32) -> Result<Passes, Error> {
        let own: Vec<u32> = (0..slots).collect();
        Ok(Passes {
            kept: BTreeMap::new(),
            own: stream.upload_new(&own)?,
            input: stream.alloc(4 * MOST_ROWS as usize)?,
            staging: slots - 1,
        })
    }

    /// Plans made.
    pub(super) fn plans(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Enqueues the pass of `rows` rows, a bucket's; plans it if it is the first of its kind.
    pub(super) fn run(
        &mut self,
        over: &Over<'_>,
        kind: Kind,
        rows: u32,
        with: With,
    ) -> Result<(), Error> {
        let key = (kind, rows, with);
        if !self.kept.contains_key(&key) {
            let pass = self.plan(over, kind, rows, with)?;
            self.kept.insert(key, pass);
        }
        let pass = &self.kept[&key];
        match &pass.replay {
            Some(replay) if !over.watch.is_on() => Ok(over.stream.replay(replay)?),
            Some(_) | None => over.watch.run(over.stream, kind.name(), &pass.plan),
        }
    }

    /// Row `row` of the logits that a pass kept when it ran last.
    pub(super) fn logits(
        &self,
        (kind, rows, with): (Kind, u32, With),
        row: usize,
    ) -> Result<Slice<'_, f32>, Error> {
        let pass = self.kept.get(&(kind, rows, with));
        let (pass, node) = pass
            .and_then(|pass| Some((pass, pass.logits?)))
            .ok_or(Error::NoLogits)?;
        let all = pass.plan.floats(node)?;
        let drawn = match kind {
            Kind::Step => rows as usize,
            Kind::Prompt | Kind::PromptEnd => 1,
        };
        let vocab = all.len() / drawn;
        Ok(all.range(row * vocab..(row + 1) * vocab)?)
    }

    fn plan(&self, over: &Over<'_>, kind: Kind, rows: u32, with: With) -> Result<Pass, Error> {
        let mut graph = Graph::new();
        let n = rows as usize;
        let state = over.state;
        let [ids, positions, visible, slots] = match kind {
            Kind::Step => [
                graph.ids_in(&state.token, 0..n)?,
                graph.ids_in(&state.position, 0..n)?,
                graph.ids_in(&state.length, 0..n)?,
                graph.ids_in(&self.own, 0..n)?,
            ],
            Kind::Prompt | Kind::PromptEnd => [
                graph.ids_in(&self.input, 0..n)?,
                graph.ids_in(&self.input, n..2 * n)?,
                graph.ids_in(&self.input, 2 * n..3 * n)?,
                graph.ids_in(&self.input, 3 * n..4 * n)?,
            ],
        };
        let inputs = Inputs {
            ids,
            positions,
            visible,
            start: None,
        };
        inputs.name(&mut graph)?;
        graph.name(slots, "sequence")?;
        let memory = Memory::Paged {
            layers: over.layers,
            slots,
            rows: match kind {
                Kind::Step => PagedRows::Any,
                Kind::Prompt | Kind::PromptEnd => PagedRows::Prompt,
            },
        };
        let hidden = hidden(&mut graph, over.model, memory, inputs)?;
        let drawn = match kind {
            Kind::Step => Some((hidden, 0..rows)),
            Kind::Prompt => None,
            Kind::PromptEnd => {
                let last = graph.rows(hidden, rows - 1, 1)?;
                Some((last, self.staging..self.staging + 1))
            }
        };
        let mut kept = None;
        if let Some((hidden, slots)) = drawn {
            let own = logits(&mut graph, over.model, hidden)?;
            if with.logits {
                graph.keep(own)?;
                kept = Some(own);
            }
            let logits = match over.bias.filter(|_| with.bias) {
                Some(bias) => bias.add(&mut graph, own, &slots)?,
                None => own,
            };
            graph.draw(logits, &Arc::new(state.sampler_of(slots)?))?;
        }
        let plan = Plan::new(over.stream, &graph, over.options.precision)?;
        let replay = match over.options.run {
            Run::Eager | Run::Persistent => None,
            Run::Replay => Some(plan.capture(over.stream)?),
        };
        Ok(Pass {
            plan,
            replay,
            logits: kept,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_ROWS, bucket, taken};

    #[test]
    fn a_prompt_of_any_length_is_cut_into_passes_with_few_rows_of_nobody() {
        for length in (1..2200).chain([8191, 131_072]) {
            let (mut left, mut rows) = (length, 0);
            while left > 0 {
                let own = taken(left);
                assert!(
                    own > 0 && own <= left && bucket(own) <= MOST_ROWS,
                    "{own} of {length}"
                );
                rows += bucket(own);
                left -= own;
            }
            let most = if length <= 64 {
                2 * length
            } else {
                length + 64 + length / 3
            };
            assert!(rows <= most, "{rows} rows for {length} tokens");
        }
        let want = [
            (64, 64),
            (65, 64),
            (96, 64),
            (97, 97),
            (300, 256),
            (400, 400),
            (5000, 512),
        ];
        for (left, own) in want {
            assert_eq!(taken(left), own, "{left}");
        }
    }
}
