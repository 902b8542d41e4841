//! Cases of the choice of tokens: every rule of timestamps, bans, several candidates, draws.

use super::{Allowed, Choose, ChooseArgs, Pick, Rules, Vocabulary, gumbel, probability::tolerance};
use crate::{
    case::{AnyCase, Case, Expected, Random},
    finite::{NOT_FINITE, drawable},
};

/// A launch: what is chosen how, from what.
struct Setting {
    rules: Rules,
    pick: Pick,
    vocabulary: Vocabulary,
    temperature: f32,
    /// Added to the logits of timestamps.
    lean: f32,
    odd: Odd,
    histories: Vec<[u32; 4]>,
}

/// Logits that are no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    /// There are none.
    No,
    /// Some tokens cannot be.
    Holes,
    /// Of every second row, one logit is NaN or plus infinity, be it allowed or not.
    One,
    /// Every second row is nothing but minus infinity.
    Nothing,
}

impl Odd {
    fn into(self, rng: &mut Random, row: usize, logits: &mut [f32]) {
        let last = logits.len() as u32 - 1;
        match self {
            Odd::One if row % 2 == 1 => {
                let odd = rng.pick(&[f32::NAN, -f32::NAN, f32::INFINITY]);
                logits[rng.range(0, last) as usize] = odd;
            }
            Odd::Nothing if row % 2 == 1 => logits.fill(f32::NEG_INFINITY),
            Odd::Holes => {
                for _ in 0..last / 8 {
                    logits[rng.range(0, last) as usize] = f32::NEG_INFINITY;
                }
            }
            Odd::No | Odd::One | Odd::Nothing => {}
        }
    }
}

pub(super) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let vocabulary = |vocab, end, timestamps| Vocabulary {
        vocab,
        end,
        timestamps,
        first_limit: 5,
    };
    // Nothing yet, after one timestamp, after a pair, after text, in the middle, near the last timestamp.
    let histories = |at: Vocabulary| {
        let time = at.timestamps;
        vec![
            [0, 0, 0, 0],
            [1, time + 3, 0, time + 3],
            [3, time + 9, 7, time + 9],
            [4, time + 9, time + 9, time + 9],
            [5, 8, time + 9, time + 9],
            [2, 8, 7, 0],
            [9, at.vocab - 1, 7, at.vocab - 1],
        ]
    };
    for (vocab, end, timestamps) in [(40, 9, 20), (1031, 900, 1000), (5003, 4000, 4100)] {
        let at = vocabulary(vocab, end, timestamps);
        for lean in [-3.0, 0.0, 6.0] {
            for (rules, pick) in [
                (Rules::Timestamps, Pick::Top(1)),
                (Rules::Timestamps, Pick::Top(6)),
                (Rules::Timestamps, Pick::Draw),
                (Rules::Free, Pick::Top(3)),
                (Rules::Free, Pick::Draw),
            ] {
                let setting = Setting {
                    rules,
                    pick,
                    vocabulary: at,
                    temperature: if lean == 0.0 { 0.0 } else { 0.7 },
                    lean,
                    odd: Odd::No,
                    histories: histories(at),
                };
                cases.push(Box::new(case(rng, &setting)));
            }
        }
    }
    let at = vocabulary(1000, 900, 950);
    for pick in [Pick::Top(4), Pick::Draw] {
        let setting = Setting {
            rules: Rules::Timestamps,
            pick,
            vocabulary: at,
            temperature: 0.9,
            lean: 0.0,
            odd: Odd::No,
            histories: vec![[0; 4]; 3],
        };
        cases.push(Box::new(case(rng, &setting)));
    }
    for odd in [Odd::Holes, Odd::One, Odd::Nothing] {
        for (rules, pick) in [
            (Rules::Timestamps, Pick::Top(6)),
            (Rules::Timestamps, Pick::Draw),
            (Rules::Free, Pick::Top(1)),
            (Rules::Free, Pick::Draw),
        ] {
            let at = vocabulary(1031, 900, 1000);
            let setting = Setting {
                rules,
                pick,
                vocabulary: at,
                temperature: 0.8,
                lean: 0.0,
                odd,
                histories: histories(at),
            };
            cases.push(Box::new(case(rng, &setting)));
        }
    }
    // More candidates than are allowed.
    let at = vocabulary(33, 9, 20);
    let setting = Setting {
        rules: Rules::Timestamps,
        pick: Pick::Top(16),
        vocabulary: at,
        temperature: 0.0,
        lean: 9.0,
        odd: Odd::No,
        histories: histories(at),
    };
    cases.push(Box::new(case(rng, &setting)));
    cases
}

/// What a row gives, and by how much its decisions are clear.
struct Outcome {
    ids: Vec<u32>,
    values: Vec<f64>,
    tolerance: f64,
    margin: f64,
}

fn outcome(setting: &Setting, logits: &[f32], bans: [&[u32]; 2], seed: u64, row: usize) -> Outcome {
    let history = setting.histories[row];
    let count = setting.pick.count() as usize;
    if !drawable(logits) {
        return Outcome {
            ids: vec![NOT_FINITE; count],
            values: vec![f64::NEG_INFINITY; count],
            tolerance: 0.0,
            margin: f64::INFINITY,
        };
    }
    let allowed = match setting.rules {
        Rules::Free => Allowed::all(setting.vocabulary.vocab),
        Rules::Timestamps => Allowed::by_rules(setting.vocabulary, history),
    };
    let bit = |mask: &[u32], id: u32| mask[id as usize / 32] >> (id % 32) & 1 == 1;
    let banned = |id| bit(bans[0], id) || (history[0] == 0 && bit(bans[1], id));
    let open = |id: &u32| allowed.holds(*id) && !banned(*id);
    let mut ids: Vec<u32> = (0..setting.vocabulary.vocab).filter(open).collect();
    let x = |id: u32| f64::from(logits[id as usize]);
    let sum = |ids: &[u32]| ids.iter().map(|id| x(*id).exp()).sum::<f64>();
    let mut margin = f64::INFINITY;
    if setting.rules == Rules::Timestamps {
        let is_time = |id: &u32| *id >= setting.vocabulary.timestamps;
        let (times, text): (Vec<u32>, Vec<u32>) = ids.iter().copied().partition(is_time);
        let best = text
            .iter()
            .map(|id| x(*id))
            .fold(f64::NEG_INFINITY, f64::max);
        let together = sum(&times).ln();
        margin = (together - best).abs();
        if together > best {
            ids = times;
        }
    }
    let total = sum(&ids);
    let most = ids
        .iter()
        .map(|id| x(*id))
        .filter(|x| x.is_finite())
        .fold(0.0, |most, x| f64::max(most, x.abs()));
    let score = |id: u32| match setting.pick {
        Pick::Draw if setting.temperature > 0.0 => {
            let noise = gumbel(seed, history[0], row as u32, id);
            x(id) / f64::from(setting.temperature) + noise
        }
        Pick::Top(_) | Pick::Draw => x(id),
    };
    let possible = ids.iter().filter(|id| x(**id) > f64::NEG_INFINITY);
    let mut ranked: Vec<(f64, u32)> = possible.map(|id| (score(*id), *id)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for pair in ranked.windows(2).take(count) {
        margin = margin.min(pair[0].0 - pair[1].0);
    }
    let mut chosen: Vec<u32> = ranked.iter().map(|(_, id)| *id).take(count).collect();
    let mut values: Vec<f64> = chosen.iter().map(|id| x(*id) - total.ln()).collect();
    chosen.resize(count, u32::MAX);
    values.resize(count, f64::NEG_INFINITY);
    Outcome {
        ids: chosen,
        values,
        tolerance: tolerance(ids.len(), most, most, total),
        margin,
    }
}

fn case(rng: &mut Random, setting: &Setting) -> Case<Choose> {
    let Vocabulary {
        vocab,
        end,
        timestamps,
        first_limit,
    } = setting.vocabulary;
    let mask_words = vocab.div_ceil(32);
    let words = |rng: &mut Random| -> Vec<u32> {
        let word = |_| (rng.bits() & rng.bits() & rng.bits() & rng.bits()) as u32;
        (0..mask_words).map(word).collect()
    };
    let (banned, banned_first) = (words(rng), words(rng));
    let (seed, rows) = (rng.bits(), setting.histories.len());
    let (mut logits, mut want, mut error) = (Vec::new(), Vec::new(), Vec::new());
    // Rows that begin alike have the same logits: they differ in what is drawn.
    let shared = setting.histories.iter().all(|history| history[0] == 0);
    for row in 0..rows {
        if shared && row > 0 {
            let outcome = outcome(setting, &logits, [&banned, &banned_first], seed, row);
            for (id, value) in outcome.ids.iter().zip(&outcome.values) {
                want.push((*id, *value));
                error.push(outcome.tolerance);
            }
            continue;
        }
        // Rows in which a decision hangs on the error of f32 are drawn again.
        let (own, outcome) = loop {
            let mut own = rng.numbers(vocab as usize, 4.0);
            for x in &mut own[timestamps as usize..] {
                *x += setting.lean;
            }
            setting.odd.into(rng, row, &mut own);
            let outcome = outcome(setting, &own, [&banned, &banned_first], seed, row);
            let others = if shared { rows } else { row + 1 };
            let margin =
                |row| self::outcome(setting, &own, [&banned, &banned_first], seed, row).margin;
            if (row..others).all(|row| margin(row) > 1e-4) {
                break (own, outcome);
            }
        };
        logits.extend(own);
        for (id, value) in outcome.ids.iter().zip(&outcome.values) {
            want.push((*id, *value));
            error.push(outcome.tolerance);
        }
    }
    Case {
        label: format!(
            "{vocab} tokens, lean {}, temperature {}, odd: {:?}",
            setting.lean, setting.temperature, setting.odd
        ),
        kernel: Choose {
            rules: setting.rules,
            pick: setting.pick,
            threads: 256,
        },
        args: ChooseArgs {
            logits: logits.into(),
            history: setting.histories.concat().into(),
            banned: banned.into(),
            banned_first: banned_first.into(),
            settings: vec![
                setting.temperature.to_bits(),
                seed as u32,
                (seed >> 32) as u32,
            ]
            .into(),
            y: Expected::pairs(&want, &error),
            rows: rows as u32,
            logit_rows: if shared { 1 } else { rows as u32 },
            vocab,
            mask_words,
            count: setting.pick.count(),
            end,
            timestamps,
            first_limit,
        },
    }
}
