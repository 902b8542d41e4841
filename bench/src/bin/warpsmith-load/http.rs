//! A client of HTTP/1.0, whose answers end with their connection.

use crate::Failed;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A text that came in pieces.
#[derive(Clone, Debug)]
pub(crate) struct Streamed {
    pub(crate) text: String,
    /// From the request to the first piece of text, or to the end where there was none.
    pub(crate) first: Duration,
    /// Pieces, which are tokens but for those that complete no character.
    pub(crate) pieces: usize,
    /// Tokens that the server says it made.
    pub(crate) told: Option<u64>,
}

/// A connection with a request on it.
pub(crate) fn begin(
    to: SocketAddr,
    head: &str,
    body: &[u8],
) -> Result<BufReader<TcpStream>, Failed> {
    part(to, head, body, body.len() as u64)
}

/// A connection with the beginning of a request that says how long it will be.
pub(crate) fn part(
    to: SocketAddr,
    head: &str,
    body: &[u8],
    length: u64,
) -> Result<BufReader<TcpStream>, Failed> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let head = format!("{head}Content-Length: {length}\r\n\r\n");
    // A server that has refused already may have closed: its answer can be read nevertheless.
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    Ok(BufReader::new(stream))
}

/// The first lines of a request, without the length of its body.
pub(crate) fn head(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n")
}

fn status(reader: &mut impl BufRead) -> Result<u16, Failed> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let code = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let code = code.ok_or_else(|| format!("no status: {line:?}"))?;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            return Ok(code);
        }
    }
}

/// The answer to a request.
pub(crate) fn answer(mut reader: impl BufRead) -> Result<Answer, Failed> {
    let status = status(&mut reader)?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    Ok(Answer { status, body })
}

/// Asks, and waits for the answer.
pub(crate) fn ask(to: SocketAddr, method: &str, path: &str, body: &[u8]) -> Result<Answer, Failed> {
    answer(begin(to, &head(method, path), body)?)
}

/// The JSON of an answer that is fine.
pub(crate) fn post(to: SocketAddr, path: &str, body: &Value) -> Result<Value, Failed> {
    let answer = ask(to, "POST", path, body.to_string().as_bytes())?;
    if answer.status != 200 {
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        return Err(format!("{path}: {} {said}", answer.status).into());
    }
    Ok(serde_json::from_slice(&answer.body)?)
}

/// Streams a completion.
pub(crate) fn stream(to: SocketAddr, body: &Value) -> Result<Streamed, Failed> {
    let start = Instant::now();
    let mut reader = begin(
        to,
        &head("POST", "/v1/completions"),
        body.to_string().as_bytes(),
    )?;
    let code = status(&mut reader)?;
    if code != 200 {
        let mut said = String::new();
        reader.read_to_string(&mut said)?;
        return Err(format!("{code} {said}").into());
    }
    let (mut text, mut first, mut pieces, mut told) = (String::new(), None, 0, None);
    let mut ended = false;
    for line in reader.lines() {
        let line = line?;
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        if data == "[DONE]" {
            ended = true;
            continue;
        }
        let event: Value = serde_json::from_str(data)?;
        if let Some(error) = event.get("error") {
            return Err(error.to_string().into());
        }
        told = event["usage"]["completion_tokens"].as_u64().or(told);
        if let Some(more) = event["choices"][0]["text"].as_str()
            && !more.is_empty()
        {
            first.get_or_insert_with(|| start.elapsed());
            pieces += 1;
            text.push_str(more);
        }
    }
    if !ended {
        return Err("a stream broke off".into());
    }
    Ok(Streamed {
        text,
        first: first.unwrap_or_else(|| start.elapsed()),
        pieces,
        told,
    })
}
