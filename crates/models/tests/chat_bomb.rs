//! Templates whose values contain themselves a thousand billion times are given up.
//!
//! Alone in its file: the threads given up go on until the process ends.

use std::time::{Duration, Instant};

use warpsmith_models::Error;
use warpsmith_models::chat::{ChatTemplate, GenerationPrompt};

fn is_given_up(source: &str) {
    let template = ChatTemplate::from_source(source).unwrap();
    let start = Instant::now();
    let result = template.render(&[], GenerationPrompt::Omit);
    assert!(
        matches!(result, Err(Error::TemplateLimit { .. })),
        "{result:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn comparing_an_unfolding_value_is_given_up() {
    let double = "{% set x = [x, x] %}{% set y = [y, y] %}".repeat(40);
    is_given_up(&format!(
        "{{% set x = [1] %}}{{% set y = [1] %}}{double}{{{{ x == y }}}}"
    ));
}

#[test]
fn joining_a_list_to_itself_for_ever_is_given_up() {
    let double = "{% set x = x + x %}".repeat(40);
    is_given_up(&format!("{{% set x = [1] %}}{double}{{{{ x }}}}"));
}
