//! The report: our figures beside those of peers, as Markdown and as JSON.

mod exec;
mod kernels;
mod programs;
mod speech;
mod table;
mod text;

use crate::{
    Failed,
    args::{Args, Part, Subject, Vectors},
    child::{self, Ran},
    host,
    part::{
        checker::Checker,
        cuda::Programs,
        emission::Emission,
        exec::Exec,
        floor::Floor,
        micro::Micro,
        model::{FirstToken, Long, Speed},
        share::Share,
        speech::Speech,
        throughput::Batch,
        ways::Ways,
    },
};
use indicatif::ProgressBar;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

/// All that was measured of ours; a part that was not asked for has nothing.
pub(crate) struct Found {
    model: String,
    threads: usize,
    runs: usize,
    only: Option<Subject>,
    tier: Option<Vectors>,
    first: Vec<FirstToken>,
    prefill: Option<Speed>,
    decode: Option<Speed>,
    long: Option<Long>,
    prefill_share: Option<Share>,
    decode_share: Option<Share>,
    floor: Option<Floor>,
    emission: Option<Emission>,
    micro: Option<Micro>,
    checker: Option<Checker>,
    throughput: Option<Vec<Batch>>,
    speech: Option<Speech>,
    speech_q8: Option<Speech>,
    ways: Option<Ways>,
    programs: Option<Programs>,
    exec: Option<Exec>,
    /// Cores that others used, by part.
    others: Vec<(&'static str, f64)>,
}

impl Found {
    /// Runs every part; the first token in as many processes as there are runs, and one more to warm up.
    pub(crate) fn measure(args: &Args, bar: &ProgressBar) -> Result<Found, Failed> {
        let mut others = Vec::new();
        let mut first = Vec::new();
        for run in 0..=args.runs {
            let found = part(args, Part::FirstToken, bar, &mut others)?;
            if run > 0 {
                first.extend(found);
            }
        }
        macro_rules! part {
            ($part:ident) => {
                part(args, Part::$part, bar, &mut others)?
            };
        }
        Ok(Found {
            model: file_name(&args.model),
            threads: args.threads,
            runs: args.runs,
            only: args.only,
            tier: args.tier,
            first,
            prefill: part!(Prefill),
            decode: part!(Decode),
            long: part!(Long),
            prefill_share: part!(PrefillShare),
            decode_share: part!(DecodeShare),
            floor: part!(Floor),
            emission: part!(Emission),
            micro: part!(Micro),
            checker: part!(Checker),
            throughput: part!(Throughput),
            speech: part!(Speech),
            speech_q8: part!(SpeechQ8),
            ways: part!(Ways),
            programs: part!(Programs),
            exec: part!(Exec),
            others,
        })
    }

    /// The model as the first sentence of the report; the section about speech names its own.
    fn subject(&self) -> String {
        match self.only {
            None | Some(Subject::Text | Subject::Kernels) => format!("`{}`. ", self.model),
            Some(Subject::Speech | Subject::Exec) => String::new(),
        }
    }
}

const ENCODER: &str = "Where the time of an encoder pass goes";

/// What a part found, if it was asked for and has something to measure.
fn part<T: DeserializeOwned>(
    args: &Args,
    part: Part,
    bar: &ProgressBar,
    others: &mut Vec<(&'static str, f64)>,
) -> Result<Option<T>, Failed> {
    if !args.wants(part) {
        return Ok(None);
    }
    let Ran {
        found,
        others: cores,
    } = child::run(args, part, bar)?;
    others.extend(cores.map(|cores| (part.name(), cores)));
    Ok(found)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// What peers measured.
#[derive(Default)]
pub(crate) struct Peers {
    text: Vec<Value>,
    speech: Vec<Value>,
}

impl Peers {
    pub(crate) fn read(path: &Path) -> Result<Peers, Failed> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let all: Value = serde_json::from_str(&text)?;
        let of = |key: &str| all[key].as_array().cloned();
        Ok(Peers {
            text: of("peers").ok_or("no `peers` in their file")?,
            speech: of("speech").unwrap_or_default(),
        })
    }
}

/// Our figures and theirs.
pub(crate) struct Report {
    pub(crate) found: Found,
    pub(crate) peers: Peers,
    pub(crate) note: Option<String>,
}

impl Report {
    /// The report in Markdown, which reads well on a terminal too.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _written = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let found = &self.found;
        let cpu = host::processor().unwrap_or_else(|| "unknown processor".into());
        match found.tier {
            Some(tier) => writeln!(out, "# Speed on {cpu}, by code for {tier:?}\n")?,
            None => writeln!(out, "# Speed on {cpu}\n")?,
        }
        writeln!(
            out,
            "{}Precision fast, {} threads, medians of {} runs after one to warm up, on the virtual GPU. Every\n\
             measurement has a process of its own. Extensions: {}.",
            found.subject(),
            found.threads,
            found.runs,
            host::extensions(),
        )?;
        if let Some(note) = &self.note {
            writeln!(out, "\n{note}")?;
        }
        let worst = found.others.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((part, cores)) = worst {
            writeln!(
                out,
                "\nMeanwhile other processes used at most {cores:.2} cores on average (during `{part}`)."
            )?;
        }
        text::write(out, found, &self.peers.text)?;
        if let Some(share) = &found.prefill_share {
            kernels::share(out, "Where the time of a prompt goes", share)?;
        }
        if let Some(share) = &found.decode_share {
            kernels::share(out, "Where the time of a token goes", share)?;
        }
        if let Some(emission) = &found.emission {
            kernels::emission(out, emission)?;
        }
        if let Some(micro) = &found.micro {
            kernels::micro(out, micro, found.floor.as_ref())?;
        }
        if let Some(checker) = &found.checker {
            kernels::checker(out, checker)?;
        }
        if let Some(ways) = &found.ways {
            text::ways(out, ways)?;
        }
        if let Some(programs) = &found.programs {
            programs::write(out, programs)?;
        }
        if let (Some(speech), Some(floor)) = (&found.speech, &found.floor) {
            speech::write(out, speech, floor, &self.peers.speech)?;
            kernels::share(out, ENCODER, &speech.encoder)?;
        }
        if let Some(speech) = &found.speech_q8 {
            speech::rounded(out, speech, &self.peers.speech)?;
            kernels::share(out, ENCODER, &speech.encoder)?;
        }
        match &found.exec {
            Some(exec) => exec::write(out, exec),
            None => Ok(()),
        }
    }

    fn json(&self) -> Value {
        let found = &self.found;
        let spread: Vec<Value> = found
            .others
            .iter()
            .map(|(part, cores)| json!({ "part": part, "cores": cores }))
            .collect();
        json!({
            "processor": host::processor(),
            "extensions": host::extensions(),
            "tier": found.tier.map(Vectors::name),
            "note": self.note,
            "model": found.model,
            "precision": "fast",
            "threads": found.threads,
            "runs": found.runs,
            "prefill_tok_s": found.prefill_tok_s(),
            "decode_tok_s": found.decode_tok_s(),
            "load_s": found.load_s(),
            "first_token_s": found.first_token_s(),
            "peak_rss_mib": found.peak_mib(),
            "first": found.first,
            "prefill": found.prefill,
            "decode": found.decode,
            "long": found.long,
            "prefill_share": found.prefill_share,
            "decode_share": found.decode_share,
            "floor": found.floor,
            "emission": found.emission,
            "micro": found.micro,
            "checker": found.checker,
            "throughput": found.throughput,
            "speech": found.speech,
            "speech_q8_0": found.speech_q8,
            "ways": found.ways,
            "programs": found.programs,
            "exec": found.exec,
            "others": spread,
            "peers": self.peers.text,
            "speech_peers": self.peers.speech,
        })
    }

    /// Writes `<processor>.md` and `<processor>.json` into `folder`, with the vectors and the subject behind the name if
    /// they were asked for.
    pub(crate) fn write(&self, folder: &Path) -> Result<[PathBuf; 2], Failed> {
        let mut name = slug(&host::processor().unwrap_or_default());
        if let Some(tier) = self.found.tier {
            write!(name, "-{}", tier.name())?;
        }
        if let Some(only) = self.found.only {
            write!(name, ".{}", only.name())?;
        }
        fs::create_dir_all(folder)?;
        let files = ["md", "json"].map(|end| folder.join(format!("{name}.{end}")));
        fs::write(&files[0], self.text())?;
        fs::write(&files[1], format!("{:#}\n", self.json()))?;
        Ok(files)
    }
}

/// A name as part of a file name.
fn slug(name: &str) -> String {
    let plain = name.replace("(R)", "").replace("(TM)", "").to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let slug = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    if slug.is_empty() {
        "unknown".into()
    } else {
        slug
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processors_name_becomes_a_file_name() {
        assert_eq!(
            slug("Intel(R) Xeon(R) Processor @ 2.1GHz"),
            "intel-xeon-processor-2-1ghz"
        );
        assert_eq!(slug(""), "unknown");
    }
}
