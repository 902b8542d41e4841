//! The page at `/`: chat, transcription and figures in a browser, over the routes that every client uses.
//!
//! Its files are part of the program, and it takes nothing from elsewhere: the policy that goes with it says so to the
//! browser. It asks for the key where the server has one, and keeps it for the time that the tab is open.

use crate::app::App;
use axum::{
    Router,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

/// What the page may do: its own scripts, styles and requests, sounds that it was given.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Each path with its type and text.
const FILES: [(&str, &str, &str); 8] = [
    ("/", HTML, include_str!("index.html")),
    ("/page/style.css", STYLE, include_str!("style.css")),
    ("/page/main.js", SCRIPT, include_str!("main.js")),
    ("/page/api.js", SCRIPT, include_str!("api.js")),
    ("/page/chat.js", SCRIPT, include_str!("chat.js")),
    ("/page/speech.js", SCRIPT, include_str!("speech.js")),
    ("/page/sound.js", SCRIPT, include_str!("sound.js")),
    ("/page/status.js", SCRIPT, include_str!("status.js")),
];

/// The router with the files of the page, which need no key.
pub(crate) fn open(router: Router<App>) -> Router<App> {
    FILES.iter().fold(router, |router, (path, kind, text)| {
        router.route(path, get(move || async move { file(kind, text) }))
    })
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // The next version of the program has other files.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_the_page_names_is_there_and_nothing_is_elsewhere() {
        let is_there = |path: &str| FILES.iter().any(|(own, _, _)| *own == path);
        let mut named = 0;
        for (path, _, text) in FILES {
            assert!(!text.contains("://"), "{path} names another address");
            for (before, after) in [("src=\"", '"'), ("href=\"", '"'), ("from \"./", '"')] {
                for rest in text.split(before).skip(1) {
                    let name = rest.split(after).next().unwrap_or_default();
                    // A place of the page itself, and an icon that is none.
                    if name.starts_with('#') || name == "data:," {
                        continue;
                    }
                    let target = match before.starts_with("from") {
                        true => format!("/page/{name}"),
                        false => name.to_owned(),
                    };
                    assert!(is_there(&target), "{path} names {target}");
                    named += 1;
                }
            }
            // The policy forbids both.
            assert!(
                !text.contains(" style=\"") && !text.contains(" onclick="),
                "{path}"
            );
        }
        assert!(named > 7, "{named}");
    }
}
