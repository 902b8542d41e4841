//! The page at `/`: there for everybody, with a policy that lets it take nothing from elsewhere.

use crate::{
    client::{get, send},
    support::{NAME, Running, bundle, engine_options, model, options},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};
use warpsmith_server::{Options, Picture, Pictures};

#[test]
fn the_page_needs_no_key_and_takes_nothing_from_elsewhere() {
    let texts = vec![model(&bundle(), engine_options())];
    let keys = vec!["secret".to_owned()];
    let server = Running::new(texts, vec![], Options { keys, ..options() });
    let page = get(server.address, "/");
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.starts_with("<!doctype html>"), "{text}");
    let mut files = vec!["/".to_owned()];
    for part in text.split("\"/page/").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        files.push(format!("/page/{name}"));
    }
    assert!(files.len() > 2, "{files:?}");
    for path in files {
        let answer = get(server.address, &path);
        assert_eq!(answer.status, 200, "{path}");
        let kind = match path.rsplit('.').next() {
            Some("css") => "text/css",
            Some("js") => "text/javascript",
            _ => "text/html",
        };
        let found = answer.header("content-type").unwrap_or_default();
        assert!(found.starts_with(kind), "{path}: {found}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        for part in [
            "default-src 'none'",
            "script-src 'self';",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
    }
    for (method, path, status) in [("POST", "/", 405), ("GET", "/page/other.js", 404)] {
        assert_eq!(
            send(server.address, method, path, "", b"").answer().status,
            status,
            "{method} {path}"
        );
    }
}

#[test]
fn pictures_want_a_key_and_are_made_once() {
    let count = Arc::new(AtomicU32::new(0));
    let own = Arc::clone(&count);
    let mut text = model(&bundle(), engine_options());
    text.pictures = Some(Pictures {
        graph: Box::new(move || match own.fetch_add(1, SeqCst) {
            0 => Err("no room".to_owned()),
            _ => Ok(Picture {
                svg: "<svg xmlns=\"x\"><g/></svg>".to_owned(),
                words: "a < b".to_owned(),
            }),
        }),
        roofline: Box::new(|| panic!("an injected panic")),
    });
    let keys = vec!["secret".to_owned()];
    let server = Running::new(vec![text], vec![], Options { keys, ..options() });
    let ask = |path: &str| {
        let key = "Authorization: Bearer secret\r\n";
        send(server.address, "GET", path, key, b"").answer()
    };
    let graph = format!("/pictures/graph/{NAME}");
    assert_eq!(get(server.address, &graph).status, 401);
    assert_eq!(count.load(SeqCst), 0);
    // What cannot be made is tried again.
    let refused = ask(&graph);
    assert_eq!(refused.status, 503);
    assert_eq!(refused.error()["message"], "no room");
    let want = format!(
        "<svg xmlns=\"x\"><title>Operations of a step of {NAME}</title><desc>a &lt; b</desc><g/></svg>"
    );
    for _ in 0..2 {
        let answer = ask(&graph);
        assert_eq!((answer.status, answer.text()), (200, &want[..]));
        assert_eq!(answer.header("content-type"), Some("image/svg+xml"));
        let policy = answer.header("content-security-policy");
        assert!(policy.is_some_and(|policy| policy.contains("default-src 'none'")));
    }
    assert_eq!(count.load(SeqCst), 2);
    let panicked = ask(&format!("/pictures/roofline/{NAME}"));
    assert_eq!(panicked.status, 500);
    panicked.error();
    for path in ["/pictures/graph/other", "/pictures/other/tiny-llama3"] {
        assert_eq!(ask(path).status, 404, "{path}");
    }
}
