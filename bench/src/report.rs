//! The report: our figures beside those of peers, as a table, as Markdown and as JSON.

use crate::{
    Failed,
    args::{Args, Part},
    child::{self, Ran},
    host,
    part::{
        checker::Checker,
        emission::Emission,
        floor::Floor,
        micro::Micro,
        model::{FirstToken, Speed},
        share::Share,
        speech::Speech,
        throughput::Batch,
        ways::Ways,
    },
    stats::{Spread, median},
};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

/// All that was measured of ours.
pub(crate) struct Found {
    model: String,
    threads: usize,
    runs: usize,
    first: Vec<FirstToken>,
    prefill: Speed,
    decode: Speed,
    prefill_share: Share,
    decode_share: Share,
    floor: Floor,
    emission: Emission,
    micro: Micro,
    checker: Checker,
    throughput: Vec<Batch>,
    speech: Option<Speech>,
    ways: Ways,
    /// Cores that others used, by part.
    others: Vec<(&'static str, f64)>,
}

impl Found {
    /// Runs every part; the first token in as many processes as there are runs, and one more to warm up.
    pub(crate) fn measure(args: &Args, bar: &ProgressBar) -> Result<Found, Failed> {
        let mut others = Vec::new();
        let mut first = Vec::new();
        for run in 0..=args.runs {
            let found = note(
                Part::FirstToken,
                child::run(args, Part::FirstToken, bar)?,
                &mut others,
            );
            if run > 0 {
                first.push(found);
            }
        }
        macro_rules! part {
            ($part:ident) => {
                note(
                    Part::$part,
                    child::run(args, Part::$part, bar)?,
                    &mut others,
                )
            };
        }
        Ok(Found {
            model: file_name(&args.model),
            threads: args.threads,
            runs: args.runs,
            first,
            prefill: part!(Prefill),
            decode: part!(Decode),
            prefill_share: part!(PrefillShare),
            decode_share: part!(DecodeShare),
            floor: part!(Floor),
            emission: part!(Emission),
            micro: part!(Micro),
            checker: part!(Checker),
            throughput: part!(Throughput),
            speech: part!(Speech),
            ways: part!(Ways),
            others,
        })
    }

    fn load_s(&self) -> f64 {
        median(&self.first.iter().map(|run| run.load_s).collect::<Vec<_>>())
    }

    fn first_token_s(&self) -> f64 {
        let all = self.first.iter().map(|run| run.first_token_s);
        median(&all.collect::<Vec<_>>())
    }

    fn prefill_tok_s(&self) -> f64 {
        median(&self.prefill.tok_s)
    }

    fn decode_tok_s(&self) -> f64 {
        median(&self.decode.tok_s)
    }

    /// The highest peak of any process that ran the model.
    fn peak_mib(&self) -> f64 {
        let first = self.first.iter().map(|run| run.peak_mib);
        let all = first.chain([self.prefill.peak_mib, self.decode.peak_mib]);
        all.flatten().fold(f64::NAN, f64::max)
    }
}

fn note<T>(part: Part, ran: Ran<T>, others: &mut Vec<(&'static str, f64)>) -> T {
    if let Some(cores) = ran.others {
        others.push((part.name(), cores));
    }
    ran.found
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// What peers measured.
pub(crate) struct Peers(Vec<Value>);

impl Peers {
    pub(crate) fn read(path: &Path) -> Result<Peers, Failed> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let all: Value = serde_json::from_str(&text)?;
        let peers = all["peers"].as_array().ok_or("no `peers` in their file")?;
        Ok(Peers(peers.clone()))
    }
}

/// Our figures and theirs.
pub(crate) struct Report {
    pub(crate) found: Found,
    pub(crate) peers: Option<Peers>,
    pub(crate) note: Option<String>,
}

/// A line of the table: ours, and where it stands in a peer's JSON.
struct Figure {
    what: String,
    ours: f64,
    digits: usize,
    peer: String,
}

impl Report {
    fn figures(&self) -> Vec<Figure> {
        let found = &self.found;
        let figure = |what: String, ours, digits, peer: &str| Figure {
            what,
            ours,
            digits,
            peer: peer.to_owned(),
        };
        let batches = found.throughput.iter().map(|batch| {
            let sequences = batch.sequences;
            figure(
                format!("{sequences} sequences at once, tok/s of all"),
                median(&batch.tok_s),
                1,
                &format!("/batch/{sequences}/tok_s"),
            )
        });
        let mut figures = vec![
            figure(
                format!("prefill of {} tokens, tok/s", found.prefill.tokens),
                found.prefill_tok_s(),
                1,
                "/prefill/tok_s",
            ),
            figure(
                format!(
                    "decode of {} tokens from context 1, tok/s",
                    found.decode.tokens
                ),
                found.decode_tok_s(),
                1,
                "/decode/tok_s",
            ),
            figure("load, s".into(), found.load_s(), 2, "/load_s"),
            figure(
                "load to first token, s".into(),
                found.first_token_s(),
                2,
                "",
            ),
            figure(
                "peak memory, MiB".into(),
                found.peak_mib(),
                0,
                "/peak_rss_mib",
            ),
        ];
        // Behind the decoding of one.
        figures.splice(2..2, batches);
        figures
    }

    fn peers(&self) -> &[Value] {
        self.peers.as_ref().map_or(&[], |peers| &peers.0)
    }

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
        writeln!(out, "# Speed on {cpu}\n")?;
        writeln!(
            out,
            "`{}`, precision fast, {} threads, medians of {} runs after one to warm up, on the virtual GPU. Every\n\
             measurement has a process of its own. Extensions: {}.\n",
            found.model,
            found.threads,
            found.runs,
            host::extensions(),
        )?;
        if let Some(note) = &self.note {
            writeln!(out, "{note}\n")?;
        }
        let worst = found.others.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((part, cores)) = worst {
            writeln!(
                out,
                "Meanwhile other processes used at most {cores:.2} cores on average (during `{part}`).\n"
            )?;
        }
        self.table(out)?;
        self.floor(out)?;
        share(out, "Where the time of a prompt goes", &found.prefill_share)?;
        share(out, "Where the time of a token goes", &found.decode_share)?;
        emission(out, &found.emission)?;
        micro(out, &found.micro)?;
        checker(out, &found.checker)?;
        found.ways.write(out)?;
        let floor = &found.floor;
        found
            .speech
            .iter()
            .try_for_each(|speech| speech.write(out, floor.fma_flops_s, floor.read_bytes_s))
    }

    fn table(&self, out: &mut String) -> std::fmt::Result {
        let peers = self.peers();
        let mut head = vec!["figure".to_owned(), "warpsmith".to_owned()];
        for peer in peers {
            let text = |key: &str| peer[key].as_str().unwrap_or_default().to_owned();
            head.push(format!("{} {}", text("peer"), text("version")));
            head.push("ours / theirs".to_owned());
        }
        let mut rows = vec![head];
        for Figure {
            what,
            ours,
            digits,
            peer: at,
        } in self.figures()
        {
            let mut row = vec![what, format!("{ours:.digits$}")];
            for peer in peers {
                match peer.pointer(&at).and_then(Value::as_f64) {
                    Some(theirs) => {
                        row.push(format!("{theirs:.digits$}"));
                        row.push(format!("{:.2}", ours / theirs));
                    }
                    None => row.extend(["-".to_owned(), "-".to_owned()]),
                }
            }
            rows.push(row);
        }
        table(out, &rows)
    }

    fn floor(&self, out: &mut String) -> std::fmt::Result {
        let found = &self.found;
        let floor = &found.floor;
        let of = |speed: f64, best: f64| format!("{:.0} %", 100.0 * speed / best);
        writeln!(out, "\n## The floor\n")?;
        writeln!(
            out,
            "Measured in the same run with the same threads: reading an array as large as the weights over and over, and\n\
             fused multiply-adds of f32 in registers. Products on 8-bit and bf16 units can beat the second.\n"
        )?;
        let head = [
            "",
            "a token needs",
            "the machine does",
            "floor, tok/s",
            "ours",
            "of it",
        ];
        let decode = [
            "decode".into(),
            format!("{:.1} MB of weights", floor.weight_bytes as f64 / 1e6),
            format!("{:.1} GB/s", floor.read_bytes_s / 1e9),
            format!("{:.1}", floor.decode_tok_s()),
            format!("{:.1}", found.decode_tok_s()),
            of(found.decode_tok_s(), floor.decode_tok_s()),
        ];
        let prefill = [
            "prefill".into(),
            format!("{:.3} GFLOP", floor.prefill_flops / 1e9),
            format!("{:.1} GFLOP/s", floor.fma_flops_s / 1e9),
            format!("{:.1}", floor.prefill_tok_s()),
            format!("{:.1}", found.prefill_tok_s()),
            of(found.prefill_tok_s(), floor.prefill_tok_s()),
        ];
        table(
            out,
            &[
                head.map(str::to_owned).to_vec(),
                decode.to_vec(),
                prefill.to_vec(),
            ],
        )
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
            "prefill_share": found.prefill_share,
            "decode_share": found.decode_share,
            "floor": found.floor,
            "emission": found.emission,
            "micro": found.micro,
            "checker": found.checker,
            "throughput": found.throughput,
            "speech": found.speech,
            "ways": found.ways,
            "others": spread,
            "peers": self.peers(),
        })
    }

    /// Writes `<processor>.md` and `<processor>.json` into `folder`.
    pub(crate) fn write(&self, folder: &Path) -> Result<[PathBuf; 2], Failed> {
        let name = slug(&host::processor().unwrap_or_default());
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

/// A table whose columns stand under each other; the first row is its head.
fn table(out: &mut String, rows: &[Vec<String>]) -> std::fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        })
        .collect();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            write!(out, "| {cell:<width$} ")?;
        }
        writeln!(out, "|")?;
        if number == 0 {
            for (at, width) in widths.iter().enumerate() {
                let (line, end) = ("-".repeat(width - 1), if at == 0 { "-" } else { ":" });
                write!(out, "| {line}{end} ")?;
            }
            writeln!(out, "|")?;
        }
    }
    Ok(())
}

fn share(out: &mut String, title: &str, share: &Share) -> std::fmt::Result {
    const SHOWN: usize = 12;
    writeln!(out, "\n## {title}\n")?;
    let kernels: f64 = share.kernels.iter().map(|kernel| kernel.ms).sum();
    writeln!(
        out,
        "Launched eagerly with an event before and after each launch: {:.2} ms in all, {kernels:.2} ms of it in kernels.\n",
        share.wall_ms
    )?;
    let mut rows = vec![
        ["kernel", "launches", "ms", "share"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let row = |name: &str, launches: usize, ms: f64| {
        vec![
            name.to_owned(),
            launches.to_string(),
            format!("{ms:.3}"),
            format!("{:.1} %", 100.0 * ms / kernels),
        ]
    };
    for kernel in share.kernels.iter().take(SHOWN) {
        rows.push(row(
            &format!("`{}`", kernel.name),
            kernel.launches,
            kernel.ms,
        ));
    }
    let rest = share.kernels.get(SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let launches = rest.iter().map(|kernel| kernel.launches).sum();
        let ms = rest.iter().map(|kernel| kernel.ms).sum();
        rows.push(row(&format!("{} others", rest.len()), launches, ms));
    }
    table(out, &rows)
}

fn emission(out: &mut String, emission: &Emission) -> std::fmt::Result {
    writeln!(out, "\n## Emission of PTX\n")?;
    writeln!(
        out,
        "From a kernel's value to its text for {}, after warm-up, one thread: {} distinct modules, every case of the\n\
         registry. Microseconds a kernel.\n",
        emission.target, emission.kernels
    )?;
    let head = ["", "min", "p10", "median", "p90", "max"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, spread) in [
        ("body and print", emission.build_print),
        ("verification", emission.verify),
        ("all", emission.whole),
    ] {
        let Spread {
            min,
            p10,
            median,
            p90,
            max,
        } = spread;
        let numbers = [min, p10, median, p90, max].map(|us| format!("{us:.1}"));
        rows.push([vec![name.to_owned()], numbers.to_vec()].concat());
    }
    table(out, &rows)?;
    writeln!(out)?;
    let head = [
        "family (medians)",
        "modules",
        "statements",
        "body",
        "print",
        "verification",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for family in &emission.families {
        rows.push(vec![
            family.name.clone(),
            family.kernels.to_string(),
            format!("{:.0}", family.statements),
            format!("{:.1}", family.build_us),
            format!("{:.1}", family.print_us),
            format!("{:.1}", family.verify_us),
        ]);
    }
    table(out, &rows)?;
    let cached = &emission.cached;
    writeln!(
        out,
        "\nA kernel in the cache: {} launches wrote {} bodies and missed {} times; a look-up takes {:.2} us.",
        cached.launches, cached.bodies, cached.misses, cached.look_up_us
    )
}

fn micro(out: &mut String, micro: &Micro) -> std::fmt::Result {
    writeln!(out, "\n## Products and launches\n")?;
    writeln!(
        out,
        "Precision fast, with the kernels that a plan chooses, activations made ready included. A small launch takes\n\
         {:.2} us eagerly and {:.2} us in a replay.\n",
        micro.launch_eager_us, micro.launch_replayed_us
    )?;
    let head = ["weights", "m x n x k", "us", "GB/s of weights", "GFLOP/s"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for product in &micro.products {
        rows.push(vec![
            product.weights.clone(),
            format!("{} x {} x {}", product.m, product.n, product.k),
            format!("{:.1}", product.us),
            format!("{:.2}", product.gb_s()),
            format!("{:.1}", product.gflop_s()),
        ]);
    }
    table(out, &rows)
}

fn checker(out: &mut String, checker: &Checker) -> std::fmt::Result {
    writeln!(out, "\n## What checking costs\n")?;
    writeln!(
        out,
        "Device time of a prompt and a token on one thread, plain and under the checker, whose findings were none.\n"
    )?;
    let head = std::iter::once("kernels").chain(checker.levels.iter().map(String::as_str));
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    for family in &checker.families {
        let plain = family.ms.first().copied().unwrap_or(f64::NAN);
        let mut row = vec![family.name.clone()];
        for ms in &family.ms {
            row.push(format!("{ms:.2} ms ({:.2} x)", ms / plain));
        }
        rows.push(row);
    }
    table(out, &rows)
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

    #[test]
    fn the_columns_of_a_table_stand_under_each_other() {
        let mut out = String::new();
        let rows = [["a", "ours"], ["b", "12345"]].map(|row| row.map(str::to_owned).to_vec());
        assert!(table(&mut out, &rows).is_ok());
        assert_eq!(out, "| a   | ours  |\n| --- | ----: |\n| b   | 12345 |\n");
    }
}
