//! The section about speech: a clip to text beside peers, and the floor.

use super::table::{beside, head, table};
use crate::{
    part::{floor::Floor, speech::Speech},
    stats::median,
};
use serde_json::Value;
use std::fmt::Write;

pub(super) fn write(
    out: &mut String,
    speech: &Speech,
    floor: &Floor,
    peers: &[Value],
) -> std::fmt::Result {
    writeln!(out, "\n## Speech\n")?;
    writeln!(
        out,
        "{:.1} s of speech by `{}`, one window, greedily, without timestamps; loading is left out of the work. An encoder\n\
         pass, which is timed alone as well, has {} launches, a step {}. What an engine does beside an encoder pass is the\n\
         spectrogram and the steps.\n",
        speech.sound_s, speech.model, speech.encoder_launches, speech.step_launches,
    )?;
    let (work, encode) = figures(out, speech, peers)?;
    writeln!(
        out,
        "\nThe floor, with what the machine was measured to do in the same run: operations of the encoder with the keys and\n\
         values of the audio, and the bytes of weights that {} steps read.\n",
        speech.steps
    )?;
    let steps = speech.steps as f64 * speech.step_bytes;
    let least = [
        speech.encoder_flops / floor.fma_flops_s,
        steps / floor.read_bytes_s,
    ];
    let row = |name: &str, need: String, does: String, least: f64, ours: f64| {
        vec![
            name.to_owned(),
            need,
            does,
            format!("{least:.3}"),
            format!("{ours:.3}"),
            format!("{:.0} %", 100.0 * least / ours),
        ]
    };
    table(
        out,
        &[
            head(["", "needs", "the machine does", "floor, s", "ours", "of it"]),
            row(
                "encoder",
                format!("{:.1} GFLOP", speech.encoder_flops / 1e9),
                format!("{:.1} GFLOP/s", floor.fma_flops_s / 1e9),
                least[0],
                encode,
            ),
            row(
                "the rest",
                format!("{:.2} GB", steps / 1e9),
                format!("{:.1} GB/s", floor.read_bytes_s / 1e9),
                least[1],
                work - encode,
            ),
            row(
                "real-time factor",
                String::new(),
                String::new(),
                (least[0] + least[1]) / speech.sound_s,
                work / speech.sound_s,
            ),
        ],
    )
}

/// The same with matrices in blocks of 8 bits.
pub(super) fn rounded(out: &mut String, speech: &Speech, peers: &[Value]) -> std::fmt::Result {
    writeln!(
        out,
        "\n## Speech with `--weights q8_0`\n\nThe same with matrices rounded to blocks of 8 bits while the model is loaded.\n"
    )?;
    figures(out, speech, peers).map(drop)
}

/// Our figures beside those of peers, and what was heard; seconds of the whole work and of an encoder pass.
fn figures(
    out: &mut String,
    speech: &Speech,
    peers: &[Value],
) -> Result<(f64, f64), std::fmt::Error> {
    let (work, encode) = (median(&speech.work_s), median(&speech.encode_s));
    let row = |what: &str, ours, digits, theirs: fn(&Value, f64) -> Option<f64>| {
        (what.to_owned(), ours, digits, theirs)
    };
    let rows = [
        row(
            "real-time factor",
            Some(work / speech.sound_s),
            3,
            |peer, sound| Some(peer["work_s"].as_f64()? / sound),
        ),
        row("whole work, s", Some(work), 2, |peer, _| {
            peer["work_s"].as_f64()
        }),
        row("an encoder pass, s", Some(encode), 2, |peer, _| {
            peer["encode_s"].as_f64()
        }),
        row("the rest, s", Some(work - encode), 2, |peer, _| {
            Some(peer["work_s"].as_f64()? - peer["encode_s"].as_f64()?)
        }),
        row("load, s", Some(speech.load_s), 2, |peer, _| {
            peer["load_s"].as_f64()
        }),
        row("peak memory, MiB", speech.peak_mib, 0, |peer, _| {
            peer["peak_rss_mib"].as_f64()
        }),
    ];
    beside(out, peers, &rows, |peer, theirs| {
        theirs(peer, speech.sound_s)
    })?;
    writeln!(out, "\n- Ours: {}", speech.text.trim())?;
    for peer in peers {
        let text = |key: &str| peer[key].as_str().unwrap_or_default();
        let same = words(text("text")) == words(&speech.text);
        let said = if same { "the same words" } else { text("text") };
        writeln!(out, "- {}: {said}", text("peer"))?;
    }
    Ok((work, encode))
}

/// Words without marks: engines differ in commas.
fn words(text: &str) -> Vec<String> {
    let plain = text.to_lowercase();
    let words = plain.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_case_make_no_other_words() {
        assert_eq!(words(" And so, my fellow"), words("and so my Fellow!"));
        assert_ne!(words("ask not"), words("ask what"));
    }
}
