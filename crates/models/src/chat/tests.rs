//! Chat templates: reference texts, refusals, and templates that mean harm.

use std::time::{Duration, Instant};

use super::*;
use warpsmith_formats::gguf::Value as GgufValue;

fn messages(turns: &[(&str, &str)]) -> Vec<Message> {
    turns
        .iter()
        .map(|(role, content)| Message {
            role: (*role).to_owned(),
            content: (*content).to_owned(),
        })
        .collect()
}

fn render(source: &str) -> Result<String, Error> {
    ChatTemplate::from_source(source)?.render(
        &messages(&[("user", "hi \"<&'é"), ("assistant", "yo")]),
        GenerationPrompt::Add,
    )
}

fn check(source: &str, want: &str) {
    assert_eq!(render(source).unwrap(), want, "{source}");
}

#[test]
fn templates_use_what_python_would_give_them() {
    check(
        "{{ messages[0].role.upper() }}{{ messages[1]['content'] }}",
        "USERyo",
    );
    check("{{ messages[0].content | tojson }}", r#""hi \"<&'é""#);
    check(
        "{{ {'b': [1, none, true], 'a': {}} | tojson }}",
        r#"{"b": [1, null, true], "a": {}}"#,
    );
    check(
        "{{ {'b': [1, []]} | tojson(indent=2) }}",
        "{\n  \"b\": [\n    1,\n    []\n  ]\n}",
    );
    check(
        "{{ ' a '.strip() + 'x|y'.split('|')[1] + 'abc'[1:] }}",
        "aybc",
    );
    check(
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
        "2",
    );
    check(
        "{%- if tools is none and not documents %}ok{% endif %}\n",
        "ok",
    );
    check("  {% if true %}\nx\n  {% endif %}\ny", "x\ny");
    check(
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.role }}{% endfor %}",
        "assistant",
    );
    check("{{ bos_token }}{{ nothing }}|", "|");
    check(
        "{% if strftime_now is defined %}no{% else %}yes{% endif %}",
        "yes",
    );
}

#[test]
fn the_date_is_the_one_given() {
    let template = ChatTemplate::from_source("{{ strftime_now('%d %b %Y') }}").unwrap();
    let text = template
        .at_time(1_735_689_599)
        .render(&[], GenerationPrompt::Omit);
    assert_eq!(text.unwrap(), "31 Dec 2024");
}

#[test]
fn the_generation_prompt_is_asked_for() {
    let template = ChatTemplate::from_source(CHATML).unwrap();
    let turns = messages(&[("user", "hi")]);
    let turn = "<|im_start|>user\nhi<|im_end|>\n";
    assert_eq!(
        template.render(&turns, GenerationPrompt::Omit).unwrap(),
        turn
    );
    assert_eq!(
        template.render(&turns, GenerationPrompt::Add).unwrap(),
        format!("{turn}<|im_start|>assistant\n")
    );
}

#[test]
fn a_file_without_template_gets_chatml_and_with_one_its_own_tokens() {
    let tokenizer = Tokenizer::from_json(
        br#"{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{"h":0},"merges":[]}}"#,
    )
    .unwrap();
    let turns = messages(&[("user", "hi")]);
    let of = |pairs: Vec<(String, GgufValue)>| {
        let metadata = Metadata::from_pairs(pairs).unwrap();
        ChatTemplate::from_gguf(&metadata, &tokenizer)
            .unwrap()
            .render(&turns, GenerationPrompt::Omit)
            .unwrap()
    };
    assert_eq!(of(vec![]), "<|im_start|>user\nhi<|im_end|>\n");
    let own = GgufValue::from("[{{ messages[0].content }}{{ bos_token }}]");
    assert_eq!(
        of(vec![("tokenizer.chat_template".to_owned(), own)]),
        "[hi]"
    );
}

#[test]
fn a_template_may_refuse() {
    match render("{{ raise_exception('roles must alternate') }}") {
        Err(Error::TemplateRefused { message }) => assert_eq!(message, "roles must alternate"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn mistakes_are_named_with_their_line() {
    for source in [
        "a\n{% if %}",
        "a\n{{ 1 + }}",
        "a\n{{ 'x'.nope() }}",
        "a\n{{ undefined_function() }}",
        "a\n{{ {} | tojson(indent=99) }}",
        "a\n{% include 'b' %}",
    ] {
        match render(source) {
            Err(Error::Template { line, message }) => {
                assert_eq!(line, 2, "{source}: {message}");
                assert!(!message.is_empty());
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

/// The template fails, soon, and not by filling the memory.
fn refuses(source: &str) {
    let start = Instant::now();
    let result = render(source);
    let took = start.elapsed();
    let head: String = source.chars().take(80).collect();
    assert!(
        matches!(
            result,
            Err(Error::Template { .. } | Error::TemplateLimit { .. })
        ),
        "{head}: {:?}",
        result.map(|text| text.len())
    );
    assert!(took < Duration::from_secs(3), "{head}: {took:?}");
}

#[test]
fn endless_templates_stop() {
    let loops = "{% for a in range(10000) %}".repeat(4);
    refuses(&format!("{loops}{}", "{% endfor %}".repeat(4)));
    refuses("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    refuses("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}");
    refuses("{% include 'chat template' %}");
    refuses("{{ range(1000000000000) | list | length }}");
    refuses("{{ range(1000000000) | sum }}");
}

#[test]
fn huge_output_stops() {
    refuses("{{ 'x' * 1000000000 }}");
    refuses(&format!(
        "{{% set x = 'xxxxxxxx' %}}{}{{{{ x }}}}",
        "{% set x = x ~ x %}".repeat(60)
    ));
    refuses(&format!(
        "{{% set x = 'xxxxxxxx' %}}{}{{{{ x }}}}",
        "{% set x = x + x %}".repeat(60)
    ));
    refuses("{% for i in range(9000) %}{{ 'x' * 100000 }}{% endfor %}");
    refuses(&format!(
        "{{% set x = 'xx' %}}{}{{{{ x }}}}",
        "{% set x = x.replace('x', 'xxxxxxxx') %}".repeat(30)
    ));
    refuses(&format!(
        "{{% set x = 'xx' %}}{}{{{{ x }}}}",
        "{% set x = x.split('') | join('xxxxxxxx') %}".repeat(30)
    ));
    refuses("{{ '%1000000000d' | format(1) }}");
    refuses("{{ '{:1000000000}'.format(1) }}");
    refuses("{{ 'a' | indent(1000000000) }}{{ 'a\nb' | indent(1000000000) }}");
}

#[test]
fn shared_lists_that_unfold_stop() {
    let unfold = format!("{{% set x = [1] %}}{}", "{% set x = [x, x] %}".repeat(40));
    refuses(&format!("{unfold}{{{{ x }}}}"));
    refuses(&format!("{unfold}{{{{ x | tojson }}}}"));
    refuses("{% set x = [1] * 1000 %}{% set x = [x] * 1000 %}{% set x = [x] * 1000 %}{{ x }}");
}

#[test]
fn deep_nesting_stops() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{'a':", "}")] {
        refuses(&format!(
            "{{{{ {}1{} }}}}",
            open.repeat(9_000),
            close.repeat(9_000)
        ));
    }
    refuses(&format!(
        "{}{}",
        "{% if 1 %}".repeat(3_000),
        "{% endif %}".repeat(3_000)
    ));
    refuses(&" ".repeat(MAX_SOURCE + 1));
}

#[test]
fn long_chains_do_not_exhaust_the_stack() {
    // these may be refused or may run, but must come back
    for (head, link) in [
        ("1", " + 1"),
        ("'a'", " | upper"),
        ("a", ".a"),
        ("a", "[0]"),
        ("a", "()"),
        ("1", " and 1"),
        ("1", " == 1"),
        ("1", " is defined"),
        ("1", "if 1"),
        ("1", "**1"),
    ] {
        let _ = render(&format!(
            "{{{{ {head}{} }}}}",
            link.repeat(60_000 / link.len())
        ));
    }
    let _ = render(&format!("{{{{ 'a'{} }}}}", " ~ 'a'".repeat(1_000)));
    for before in ["not ", "-", "1 if 1 else ", "1**"] {
        let _ = render(&format!(
            "{{{{ {}1 }}}}",
            before.repeat(60_000 / before.len())
        ));
    }
    let _ = render(&format!(
        "{{% if 0 %}}{}{{% endif %}}",
        "{% elif 0 %}".repeat(5_000)
    ));
}

#[test]
fn deep_values_do_not_exhaust_the_stack() {
    for last in [
        "",
        "{{ ns.a }}",
        "{{ ns.a | tojson }}",
        "{{ ns.a == [ns.a] }}",
    ] {
        for wrap in ["[ns.a]", "{'a': ns.a}", "[ns.a] + [1]"] {
            let _ = render(&format!(
                "{{% set ns = namespace(a=[]) %}}{{% for i in range(50000) %}}{{% set ns.a = {wrap} %}}{{% endfor %}}{last}"
            ));
        }
    }
}

#[test]
fn a_long_conversation_is_not_too_much() {
    let turns: Vec<Message> = (0..2_000)
        .map(|i| Message {
            role: if i % 2 == 0 { "user" } else { "assistant" }.to_owned(),
            content: "word ".repeat(400),
        })
        .collect();
    let text = ChatTemplate::from_source(CHATML)
        .unwrap()
        .render(&turns, GenerationPrompt::Add)
        .unwrap();
    assert!(text.len() > 4_000_000);
}
