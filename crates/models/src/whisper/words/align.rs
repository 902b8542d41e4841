//! From scores of attention heads to the times of words.

use super::Timing;
use super::dtw::Path;
use crate::whisper::tokenizer::Word;

/// Frames of the encoder a second.
const FRAMES_PER_SECOND: f64 = 50.0;
/// The width of the median filter over frames.
const MEDIAN: usize = 7;

/// Cross-attention scores before the softmax, `[heads, tokens, frames]`, of the frames that are sound.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// Head after head, token after token.
    pub values: &'a [f32],
    /// Tokens of the sequence.
    pub tokens: usize,
    /// Frames of the encoder's output.
    pub frames: usize,
}

/// How much each token looks at each frame, `[tokens, frames]`, as the cost of not being there.
///
/// For each head: the softmax over frames, normalised to mean 0 and deviation 1 over tokens, the median
/// of 7 frames about each; then the mean over heads, negated.
pub fn matrix(scores: Scores<'_>) -> Vec<f32> {
    let Scores {
        values,
        tokens,
        frames,
    } = scores;
    let mut sum = vec![0f32; tokens * frames];
    if sum.is_empty() {
        return sum;
    }
    let mut heads = 0f32;
    for head in values.chunks_exact(tokens * frames) {
        let mut weights = head.to_vec();
        for row in weights.chunks_exact_mut(frames) {
            softmax(row);
        }
        normalise(&mut weights, frames);
        for (row, sum) in weights
            .chunks_exact(frames)
            .zip(sum.chunks_exact_mut(frames))
        {
            median(row, sum);
        }
        heads += 1.0;
    }
    for value in &mut sum {
        *value /= -heads;
    }
    sum
}

fn softmax(row: &mut [f32]) {
    let most = row.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
    let mut sum = 0.0;
    for x in row.iter_mut() {
        *x = (*x - most).exp();
        sum += *x;
    }
    for x in row {
        *x /= sum;
    }
}

/// Gives each column mean 0 and deviation 1; a column of equals becomes zero.
fn normalise(weights: &mut [f32], frames: usize) {
    let tokens = (weights.len() / frames) as f64;
    for frame in 0..frames {
        let column = || weights[frame..].iter().step_by(frames);
        let mean = column().map(|&x| f64::from(x)).sum::<f64>() / tokens;
        let squares = column()
            .map(|&x| (f64::from(x) - mean).powi(2))
            .sum::<f64>();
        let deviation = (squares / tokens).sqrt();
        for x in weights[frame..].iter_mut().step_by(frames) {
            let centred = f64::from(*x) - mean;
            *x = if deviation > 0.0 {
                (centred / deviation) as f32
            } else {
                0.0
            };
        }
    }
}

/// Adds the running median of `row` to `sum`; the row is reflected at its ends. A row too short to be
/// reflected is added as it is.
fn median(row: &[f32], sum: &mut [f32]) {
    let half = MEDIAN / 2;
    if row.len() <= half {
        for (sum, x) in sum.iter_mut().zip(row) {
            *sum += x;
        }
        return;
    }
    let last = row.len() - 1;
    for (i, sum) in sum.iter_mut().enumerate() {
        let mut near: [f32; MEDIAN] = std::array::from_fn(|k| {
            let at = (i + k).abs_diff(half);
            row[if at > last { 2 * last - at } else { at }]
        });
        near.sort_unstable_by(f32::total_cmp);
        *sum += near[half];
    }
}

/// The times of words along a way through the matrix of their tokens and the end.
///
/// `words` are the words of the text, then the end; `probabilities` those of the text's tokens.
pub fn timings(words: &[Word], path: &Path, probabilities: &[f32]) -> Vec<Timing> {
    // The frame at which each row of the matrix is entered.
    let entered = path.rows.iter().enumerate();
    let starts: Vec<f64> = entered
        .filter(|&(at, row)| at == 0 || *row != path.rows[at - 1])
        .map(|(at, _)| path.columns[at] as f64 / FRAMES_PER_SECOND)
        .collect();
    let Some((_, text)) = words.split_last() else {
        return Vec::new();
    };
    let mut first = 0;
    let mut timings = Vec::with_capacity(text.len());
    for word in text {
        let next = first + word.tokens.len();
        let probabilities = probabilities.get(first..next);
        let (Some(&start), Some(&end), Some(own)) =
            (starts.get(first), starts.get(next), probabilities)
        else {
            break;
        };
        let sum: f64 = own.iter().map(|&p| f64::from(p)).sum();
        timings.push(Timing {
            word: word.text.clone(),
            tokens: word.tokens.clone(),
            start,
            end,
            probability: sum / own.len().max(1) as f64,
        });
        first = next;
    }
    timings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whisper::words::path;

    #[test]
    fn the_median_takes_out_what_is_alone() {
        let row = [1.0, 1.0, 9.0, 1.0, 1.0, 1.0, -9.0, 1.0, 1.0];
        let mut sum = [0.0; 9];
        median(&row, &mut sum);
        assert_eq!(sum, [1.0; 9]);
        let mut sum = [0.0; 3];
        median(&[1.0, 2.0, 3.0], &mut sum);
        assert_eq!(sum, [1.0, 2.0, 3.0]);
        // Reflected about the first element: 4 3 2 1 2 3 4.
        let mut sum = [0.0; 5];
        median(&[1.0, 2.0, 3.0, 4.0, 5.0], &mut sum);
        assert_eq!(sum[0], 3.0);
    }

    #[test]
    fn words_take_the_times_of_their_tokens() {
        // Two heads that look at frames 0-9, 10-17 and 18-29 for three tokens.
        let frames = 30;
        let looks = |token: usize, frame: usize| match frame {
            0..=9 => token == 0,
            10..=17 => token == 1,
            _ => token == 2,
        };
        let one: Vec<f32> = (0..3 * frames)
            .map(|i| {
                if looks(i / frames, i % frames) {
                    5.0
                } else {
                    0.0
                }
            })
            .collect();
        let values = [&one[..], &one].concat();
        let cost = matrix(Scores {
            values: &values,
            tokens: 3,
            frames,
        });
        let way = path(&cost, frames);
        let word = |text: &str, tokens: &[u32]| Word {
            text: text.to_owned(),
            tokens: tokens.to_vec(),
        };
        let words = [word(" a", &[1]), word(" b", &[2]), word("", &[9])];
        let timings = timings(&words, &way, &[0.5, 0.25]);
        let times: Vec<(f64, f64)> = timings.iter().map(|t| (t.start, t.end)).collect();
        assert_eq!(times, [(0.0, 0.2), (0.2, 0.36)]);
        assert_eq!(timings[1].probability, 0.25);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let scores = Scores {
            values: &[],
            tokens: 0,
            frames: 0,
        };
        assert!(matrix(scores).is_empty());
        assert!(timings(&[], &Path::default(), &[]).is_empty());
    }
}
