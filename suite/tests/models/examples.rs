//! The chat of the examples.

use crate::support::{load, reference};
use chat::talk;
use std::{io::Cursor, ops::ControlFlow, path::Path};
use warpsmith::models::{
    chat::{GenerationPrompt, Message},
    llama::{Ended, Session, SessionOptions},
    sampling::SamplerConfig,
    tokenizer::Special,
};
use warpsmith_suite::places::smollm2;

fn said(model: &Path, lines: &str) -> (String, Vec<Message>) {
    let mut output = Vec::new();
    let talked = talk(
        model,
        &SamplerConfig::default(),
        Cursor::new(lines),
        &mut output,
    );
    let talked = talked.expect("a conversation");
    (String::from_utf8(output).expect("text"), talked)
}

#[test]
fn a_chat_answers_and_a_later_turn_reads_what_was_said_before() {
    let (shown, messages) = said(&smollm2(), "Hello\nThank you.\n");
    let [hello, first, thanks, second] = &messages[..] else {
        panic!("{} messages", messages.len())
    };
    assert_eq!((&*hello.content, &*thanks.content), ("Hello", "Thank you."));
    assert!(
        first.content.starts_with("Hello!") && !second.content.is_empty(),
        "{shown}"
    );
    assert_eq!(shown, format!("{}\n{}\n", first.content, second.content));
}

#[test]
fn a_turn_on_what_the_cache_has_says_what_a_fresh_session_says() {
    let model = reference().join("synth/tiny-llama3.gguf");
    let (_, both) = said(&model, "one\ntwo\n");
    let bundle = load(&model);
    let text = bundle.template.render(&both[..3], GenerationPrompt::Add);
    let prompt = bundle
        .tokenizer
        .encode(&text.expect("a prompt"), Special::Parse);
    let prompt = prompt.expect("tokens");
    let mut fresh = Session::new(&bundle.model, &SessionOptions::default()).expect("a session");
    fresh.prefill(&prompt, &mut |_, _| {}).expect("a prompt");
    let ends = bundle.tokenizer.end_of_generation();
    let mut tokens = Vec::new();
    let ended = fresh.generate(512, ends, &mut |token| {
        tokens.push(token);
        ControlFlow::Continue(())
    });
    if ended.expect("an answer") == Ended::Token {
        tokens.pop();
    }
    let answer = bundle.tokenizer.decode(&tokens).expect("text");
    // Later a random model's logits are so close that the order of sums decides.
    let begin = |text: &str| text.trim().chars().take(100).collect::<String>();
    assert_eq!(begin(&both[3].content), begin(&answer));
    assert_ne!(begin(&both[3].content), begin(&both[1].content));
}
