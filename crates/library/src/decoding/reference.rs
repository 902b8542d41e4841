//! The rules of decoding on the host, in f64: what the kernels must give.

/// The ids that the rules of timestamps are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// Tokens.
    pub vocab: u32,
    /// The end of the transcript; text is below it.
    pub end: u32,
    /// The first timestamp; all ids from it on are timestamps.
    pub timestamps: u32,
    /// How many timestamps after the first may begin a transcript.
    pub first_limit: u32,
}

/// Where allowed ids are: two ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Text and special tokens.
    pub text: [u32; 2],
    /// Timestamps.
    pub times: [u32; 2],
}

impl Allowed {
    /// By the rules of timestamps: they come in pairs, never decrease, and one begins the transcript.
    pub fn by_rules(vocabulary: Vocabulary, history: [u32; 4]) -> Allowed {
        let Vocabulary {
            vocab,
            end,
            timestamps,
            first_limit,
        } = vocabulary;
        let [count, last, before, last_time] = history;
        if count == 0 {
            let limit = (timestamps + first_limit + 1).min(vocab);
            return Allowed {
                text: [timestamps, timestamps],
                times: [timestamps, limit],
            };
        }
        let after_time = last >= timestamps;
        let after_pair = count < 2 || before >= timestamps;
        let opens = after_time && !after_pair;
        let next = match last_time {
            0 => timestamps,
            time if opens => time,
            time => time + 1,
        };
        let first = if after_time && after_pair {
            vocab
        } else {
            next
        };
        Allowed {
            text: [if opens { end } else { 0 }, timestamps],
            times: [first, vocab],
        }
    }

    /// Every id.
    pub fn all(vocab: u32) -> Allowed {
        Allowed {
            text: [0, vocab],
            times: [vocab, vocab],
        }
    }

    /// Whether `id` is in one of the ranges.
    pub fn holds(self, id: u32) -> bool {
        let inside = |[from, to]: [u32; 2]| (from..to).contains(&id);
        inside(self.text) || inside(self.times)
    }
}

fn pcg(input: u32) -> u32 {
    let state = input.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The Gumbel noise of token `id`: the largest of `logit / temperature + noise` is a draw from the softmax (Gumbel, 1954).
pub fn gumbel(seed: u64, step: u32, row: u32, id: u32) -> f64 {
    let base = pcg(pcg(pcg(seed as u32) ^ (seed >> 32) as u32) ^ step);
    let bits = pcg(pcg(base ^ row).wrapping_add(id));
    let uniform = (f64::from(bits) + 0.5) / (1u64 << 32) as f64;
    -(-(-uniform).ln_1p()).ln()
}
