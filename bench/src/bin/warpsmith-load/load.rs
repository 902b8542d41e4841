//! Many clients at once: is each answer the one that comes alone, does anybody wait long, how much is done in a second.

use crate::{
    Failed,
    http::{self, Streamed},
    prompts,
    server::{Server, Subject},
};
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    num::NonZeroUsize,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// What is asked of whom.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// A Python with the `server` extra of llama-cpp-python.
    #[arg(long)]
    peer: Option<PathBuf>,
    /// Clients that ask at the same time, each one request after the other.
    #[arg(long, default_value = "64")]
    clients: NonZeroUsize,
    /// Requests of each client.
    #[arg(long, default_value = "2")]
    rounds: NonZeroUsize,
    /// Tokens of the longest prompt; the shortest has 10.
    #[arg(long, default_value_t = 1500)]
    longest: usize,
    /// Tokens of an answer.
    #[arg(long, default_value_t = 32)]
    tokens: u32,
    /// Threads of each engine.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// exact or fast.
    #[arg(long, default_value = "fast")]
    precision: String,
    /// Sequences that the server runs at once.
    #[arg(long, default_value_t = 64)]
    sequences: u32,
    /// Prompt tokens between two steps of the server.
    #[arg(long)]
    prompt_tokens: Option<u32>,
}

/// What some clients saw of a server.
struct Seen {
    /// Each answer, with the prompt that it goes on with.
    answers: Vec<(usize, Streamed)>,
    wall: Duration,
}

/// Asks all, prints what was seen; whether every answer was right and nobody starved.
pub(crate) fn run(args: &Args) -> Result<bool, Failed> {
    let texts = prompts::texts(args.clients.get(), 10, args.longest);
    let mut options = Vec::new();
    let sequences = args.sequences.to_string();
    let waiting = args.clients.get().to_string();
    let threads = args.threads.to_string();
    for (name, value) in [
        ("--sequences", &sequences),
        ("--max-waiting", &waiting),
        ("--threads", &threads),
        ("--precision", &args.precision),
    ] {
        options.extend([name.to_owned(), value.clone()]);
    }
    if let Some(tokens) = args.prompt_tokens {
        options.extend(["--prompt-tokens".to_owned(), tokens.to_string()]);
    }
    options.push("--no-embeddings".to_owned());
    let server = Server::start(&args.subject, &options)?;
    let mut lengths = Vec::new();
    for text in &texts {
        let found = http::post(server.address, "/tokenize", &json!({"content": text}))?;
        lengths.push(found["tokens"].as_array().map_or(0, Vec::len));
    }
    let all = lengths.iter().sum::<usize>() * args.rounds.get();
    let (shortest, longest) = (lengths.iter().min(), lengths.iter().max());
    println!(
        "{} clients, {} requests, prompts of {} to {} tokens, {all} in all; load average {}",
        args.clients.get(),
        args.clients.get() * args.rounds.get(),
        shortest.unwrap_or(&0),
        longest.unwrap_or(&0),
        average(),
    );
    let alone: Vec<Streamed> = texts
        .iter()
        .map(|text| http::stream(server.address, &body(args, text)))
        .collect::<Result<_, _>>()?;
    // A pass is planned where its number of rows comes first: not part of what is measured.
    let _warm = together(
        server.address,
        args,
        &prompts::texts(args.clients.get(), 10, 40),
        1,
    )?;
    let seen = together(server.address, args, &texts, args.rounds.get())?;
    let differ = seen
        .answers
        .iter()
        .filter(|(at, own)| own.text != alone[*at].text);
    let differ = differ.count();
    let own = told("warpsmith serve", &seen, all);
    println!(
        "  answers that differ from the one alone: {differ} of {}; faults: {}",
        seen.answers.len(),
        server.figure("warpsmith_faults_total")?
    );
    drop(server);
    let beside = generate(args, &texts)?;
    let differ_there = beside.texts.iter().zip((0..texts.len()).cycle());
    let differ_there = differ_there
        .filter(|(text, at)| **text != alone[*at].text)
        .count();
    println!(
        "generate --prompts: {:.1} s, {:.1} tokens made a second; answers that differ from the server's alone: {differ_there}\n  \
         the server's time: {:.3} of that throughput",
        beside.seconds,
        beside.made as f64 / beside.seconds,
        beside.seconds / seen.wall.as_secs_f64(),
    );
    if let Some(python) = &args.peer {
        let server = Server::llama_cpp(python, &args.subject.model, args.threads)?;
        let peer = together(server.address, args, &texts, 1)?;
        told(
            "llama.cpp's server, one round",
            &peer,
            all / args.rounds.get(),
        );
        let each = |seen: &Seen| seen.answers.len() as f64 / seen.wall.as_secs_f64();
        println!(
            "  warpsmith serve: {:.2} times its requests a second",
            each(&seen) / each(&peer)
        );
    }
    println!("load average at the end {}", average());
    Ok(differ == 0 && own < 3.0)
}

/// Load of the machine, as the system says it.
fn average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn body(args: &Args, text: &str) -> Value {
    json!({
        "prompt": text,
        "max_tokens": args.tokens,
        "temperature": 0,
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

/// Each client asks one prompt after the other, all at the same time.
fn together(to: SocketAddr, args: &Args, texts: &[String], rounds: usize) -> Result<Seen, Failed> {
    let start = Instant::now();
    let clients = (0..args.clients.get()).map(|client| {
        let mine = (0..rounds).map(|round| (client + 17 * round) % texts.len());
        let mine: Vec<(usize, Value)> = mine.map(|at| (at, body(args, &texts[at]))).collect();
        thread::spawn(move || {
            let ask = |(at, body): (usize, Value)| Ok((at, http::stream(to, &body)?));
            mine.into_iter()
                .map(ask)
                .collect::<Result<Vec<_>, Failed>>()
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.extend(client.join().map_err(|_| "a client panicked")??);
    }
    Ok(Seen {
        answers,
        wall: start.elapsed(),
    })
}

/// Prints what was seen of a server; the worst time to the first token as a multiple of the median.
fn told(who: &str, seen: &Seen, prompts: usize) -> f64 {
    let mut first: Vec<f64> = seen
        .answers
        .iter()
        .map(|(_, own)| own.first.as_secs_f64())
        .collect();
    first.sort_by(f64::total_cmp);
    let (median, worst) = (first[first.len() / 2], first[first.len() - 1]);
    let made: u64 = seen
        .answers
        .iter()
        .map(|(_, own)| own.told.unwrap_or(own.pieces as u64))
        .sum();
    let wall = seen.wall.as_secs_f64();
    println!(
        "{who}: {wall:.1} s; a second: {:.3} requests, {:.1} prompt tokens, {:.1} tokens made\n  \
         to the first token: median {median:.2} s, worst {worst:.2} s, {:.2} times the median",
        seen.answers.len() as f64 / wall,
        prompts as f64 / wall,
        made as f64 / wall,
        worst / median,
    );
    worst / median
}

/// What `generate --prompts` made of the same requests.
struct Beside {
    texts: Vec<String>,
    made: usize,
    /// Without loading the model.
    seconds: f64,
}

fn generate(args: &Args, texts: &[String]) -> Result<Beside, Failed> {
    let file = std::env::temp_dir().join(format!("warpsmith-load-{}.txt", std::process::id()));
    let lines = (0..args.rounds.get()).flat_map(|_| texts.iter().map(|text| format!("{text}\n")));
    fs::write(&file, lines.collect::<String>())?;
    let output = Command::new(&args.subject.program)
        .args([
            "generate",
            "--device",
            "virtual",
            "--raw",
            "--json",
            "--temperature",
            "0",
        ])
        .args([
            "--threads",
            &args.threads.to_string(),
            "--precision",
            &args.precision,
        ])
        .args(["--max-tokens", &args.tokens.to_string()])
        .arg("--model")
        .arg(&args.subject.model)
        .arg("--prompts")
        .arg(&file)
        .output();
    fs::remove_file(&file)?;
    let output = output?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let prompts = found["prompts"].as_array().ok_or("no prompts")?;
    let continued = prompts.iter().map(|prompt| &prompt["continuations"][0]);
    let text = |made: &Value| made["text"].as_str().map(str::to_owned);
    let texts = continued
        .clone()
        .map(text)
        .collect::<Option<_>>()
        .ok_or("no texts")?;
    Ok(Beside {
        texts,
        made: continued
            .map(|made| made["ids"].as_array().map_or(0, Vec::len))
            .sum(),
        seconds: found["generate_s"].as_f64().ok_or("no time")?,
    })
}
