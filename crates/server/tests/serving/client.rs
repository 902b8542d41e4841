//! A small client of HTTP/1.1, which does what no client should where a test wants that.

use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The value of an answer that is fine.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The error of OpenAI's shape: its status, type, field, code and message.
    pub(crate) fn error(&self) -> Value {
        let error = &self.json()["error"];
        assert!(self.status >= 400, "{}", self.text());
        for field in ["message", "type"] {
            assert!(error[field].is_string(), "{error}");
        }
        for field in ["param", "code"] {
            assert!(
                error[field].is_string() || error[field].is_null(),
                "{error}"
            );
        }
        assert_eq!(error.as_object().map(|error| error.len()), Some(4));
        error.clone()
    }

    /// The values of all events but `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        let lines = self.text().lines();
        let data = lines.filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).expect("JSON"))
            .collect()
    }
}

/// A connection with a request on it.
pub(crate) struct Sent(BufReader<TcpStream>);

/// Sends bytes as they are, all of them before anything is read.
pub(crate) fn raw(to: SocketAddr, bytes: &[u8]) -> Sent {
    pieces(to, &[bytes], Duration::ZERO)
}

/// Sends pieces, with a pause between any two.
pub(crate) fn pieces(to: SocketAddr, pieces: &[&[u8]], pause: Duration) -> Sent {
    let mut stream = TcpStream::connect(to).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a timeout");
    for (at, piece) in pieces.iter().enumerate() {
        if at > 0 {
            std::thread::sleep(pause);
        }
        stream.write_all(piece).expect("it is taken");
    }
    Sent(BufReader::new(stream))
}

/// Sends a request.
pub(crate) fn send(to: SocketAddr, method: &str, path: &str, more: &str, body: &[u8]) -> Sent {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}Content-Length: {}\r\n\r\n",
        body.len()
    );
    raw(to, &[head.as_bytes(), body].concat())
}

pub(crate) fn get(to: SocketAddr, path: &str) -> Answer {
    send(to, "GET", path, "", b"").answer()
}

pub(crate) fn post(to: SocketAddr, path: &str, body: &Value) -> Answer {
    begin(to, path, body).answer()
}

/// A request whose answer is read later.
pub(crate) fn begin(to: SocketAddr, path: &str, body: &Value) -> Sent {
    let json = "Content-Type: application/json\r\n";
    send(to, "POST", path, json, body.to_string().as_bytes())
}

impl Sent {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// The status and the headers.
    pub(crate) fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            match line.split_once(':') {
                Some((name, value)) => {
                    headers.push((name.to_lowercase(), value.trim().to_owned()));
                }
                None => return (status, headers),
            }
        }
    }

    /// The next chunk of a body that comes in chunks; empty at its end.
    pub(crate) fn chunk(&mut self) -> Vec<u8> {
        let length = usize::from_str_radix(&self.line(), 16).expect("a length");
        let mut chunk = vec![0; length];
        self.0.read_exact(&mut chunk).expect("a chunk");
        self.line();
        chunk
    }

    /// Everything.
    pub(crate) fn answer(mut self) -> Answer {
        let (status, headers) = self.head();
        let chunked = headers
            .iter()
            .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map(|(_, length)| length.parse().expect("a length"));
        let mut body = Vec::new();
        if let Some(length) = length {
            body.resize(length, 0);
            self.0.read_exact(&mut body).expect("a body");
        } else if chunked {
            loop {
                let chunk = self.chunk();
                if chunk.is_empty() {
                    break;
                }
                body.extend(chunk);
            }
        } else {
            self.0.read_to_end(&mut body).expect("a body");
        }
        Answer {
            status,
            headers,
            body,
        }
    }
}
