//! The page at `/`: there for everybody, with a policy that lets it take nothing from elsewhere.

use crate::{
    client::{get, send},
    support::{Running, bundle, engine_options, model, options},
};
use warpsmith_server::Options;

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
