//! Prompts of many lengths, the same on each run.

/// Words that are a token each for most tokenizers, with the space before them.
const WORDS: [&str; 48] = [
    "the", "river", "house", "and", "time", "people", "water", "small", "under", "light", "music",
    "paper", "stone", "every", "green", "story", "field", "night", "great", "world", "again",
    "place", "where", "three", "horse", "plant", "cover", "food", "sun", "four", "between",
    "state", "keep", "eye", "never", "last", "let", "thought", "city", "tree", "cross", "farm",
    "hard", "start", "might", "saw", "far", "sea",
];

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// A text of about `tokens` tokens, which begins otherwise than those of other numbers.
pub(crate) fn text(number: usize, tokens: usize) -> String {
    let mut numbers = Numbers(number as u64 + 1);
    let words = (0..tokens.max(4)).map(|_| WORDS[numbers.below(WORDS.len())]);
    words.collect::<Vec<_>>().join(" ")
}

/// `count` texts of about `from` to `to` tokens, short and long ones in no order.
pub(crate) fn texts(count: usize, from: usize, to: usize) -> Vec<String> {
    // Steps of the golden ratio meet each part of the range equally often.
    let length = |at: usize| {
        let share = (at as f64 * 0.618_033_988_75).fract();
        from + (share * (to - from) as f64) as usize
    };
    (0..count).map(|at| text(at, length(at))).collect()
}
