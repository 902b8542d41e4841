//! Malformed requests from a generator: the right status, OpenAI's shape, and a server that goes on.

use crate::{
    client::{post, raw, send},
    support::{Running, alone, completion},
};
use serde_json::json;

/// A generator of numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

const PATHS: [&str; 8] = [
    "/v1/completions",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/tokenize",
    "/detokenize",
];

/// Values that are wrong somewhere, or odd everywhere.
const VALUES: [&str; 16] = [
    "null",
    "true",
    "-1",
    "1e308",
    "1e999",
    "\"\"",
    "\"\\ud800\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "[null]",
    "[-1]",
    "[4294967296]",
    "{\"type\": \"function\"}",
    "\"\\u0000\"",
    "18446744073709551616",
];

const NAMES: [&str; 14] = [
    "prompt",
    "messages",
    "input",
    "content",
    "tokens",
    "model",
    "max_tokens",
    "temperature",
    "stop",
    "logit_bias",
    "tools",
    "stream",
    "n",
    "\u{1f980}",
];

/// A body that was right, and what became of it.
fn body(numbers: &mut Numbers) -> Vec<u8> {
    let right = json!({
        "prompt": "a", "messages": [{"role": "user", "content": "a"}], "input": "a",
        "max_tokens": 2, "temperature": 0,
    });
    let mut text = match numbers.below(3) {
        // One field is another value.
        0 => {
            let (name, value) = (NAMES[numbers.below(14)], VALUES[numbers.below(16)]);
            format!("{{\"max_tokens\": 2, \"{name}\": {value}}}").into_bytes()
        }
        1 => right.to_string().into_bytes(),
        _ => VALUES[numbers.below(16)].as_bytes().to_vec(),
    };
    for _ in 0..numbers.below(4) {
        if text.is_empty() {
            break;
        }
        let at = numbers.below(text.len());
        match numbers.below(4) {
            0 => text[at] = numbers.below(256) as u8,
            1 => drop(text.remove(at)),
            2 => text.insert(at, b"{}[]\",:\\\xff\x00"[numbers.below(10)]),
            _ => text.truncate(at),
        }
    }
    text
}

#[test]
fn no_malformed_request_is_more_than_an_error() {
    let bundle = crate::support::bundle();
    let texts = vec![crate::support::model(
        &bundle,
        crate::support::engine_options(),
    )];
    let speech = vec![crate::support::speech()];
    let server = Running::new(texts, speech, crate::support::options());
    let mut numbers = Numbers(1);
    let mut refused = 0;
    for round in 0..500 {
        let path = PATHS[numbers.below(8)];
        let body = body(&mut numbers);
        let kind = [
            "Content-Type: application/json\r\n",
            "",
            "Content-Type: multipart/form-data; boundary=x\r\n",
            "Content-Type: multipart/form-data\r\n",
        ][numbers.below(4)];
        let answer = send(server.address, "POST", path, kind, &body).answer();
        let shown = String::from_utf8_lossy(&body);
        assert!(answer.status < 500, "{round}: {path} {shown}: {answer:?}");
        if answer.status >= 400 {
            answer.error();
            refused += 1;
        }
    }
    assert!(refused > 300, "{refused} were refused");
    for bytes in [
        &b"GET / HTTP/9.9\r\n\r\n"[..],
        b"NONSENSE\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nBad Header\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let status = raw(server.address, bytes).answer().status;
        assert!((400..500).contains(&status), "{status}");
    }
    let utf8 = b"{\"prompt\": \"\xff\xfe\", \"max_tokens\": 1}";
    let answer = send(server.address, "POST", "/v1/completions", "", utf8).answer();
    assert_eq!(answer.status, 400);
    assert!(answer.error()["message"].to_string().contains("UTF-8"));
    // No sequence is left over, and answers are what they were.
    server.wait("warpsmith_pages_used", 0.0);
    assert_eq!(server.figure("warpsmith_faults_total"), 0.0);
    let answer = post(server.address, "/v1/completions", &completion("one", 8)).ok();
    assert_eq!(answer["choices"][0]["text"], alone(&bundle, "one", 8));
}
