//! Chat templates: reference texts, refusals, and templates that mean harm.

use std::time::{Duration, Instant};

use super::*;
use warpsmith_formats::gguf::Value as GgufValue;

fn messages(turns: &[(&str, &str)]) -> Vec<Message> {
    turns
        .iter()
        .map(|(role, content)| Message::new(*role, *content))
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

/// A model with such a template is there for text; what is wrong is said when the template runs.
#[test]
fn a_model_whose_template_is_wrong_has_it_said_where_it_is_used() {
    let turns = messages(&[("user", "hi")]);
    let of = |template: &ChatTemplate| template.render(&turns, GenerationPrompt::Add);
    let broken = ChatTemplate::of_model(Some("a\n{% if %}"));
    assert!(broken.is_own());
    assert!(
        matches!(of(&broken), Err(Error::Template { line: 2, .. })),
        "{:?}",
        of(&broken)
    );
    let long = ChatTemplate::of_model(Some(&" ".repeat(MAX_SOURCE + 1)));
    assert!(matches!(of(&long), Err(Error::TemplateLimit { .. })));
    let pairs = vec![("tokenizer.chat_template".to_owned(), GgufValue::from(7u32))];
    let metadata = Metadata::from_pairs(pairs).unwrap();
    let tokenizer = Tokenizer::from_json(
        br#"{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{"h":0},"merges":[]}}"#,
    )
    .unwrap();
    let number = ChatTemplate::from_gguf(&metadata, &tokenizer);
    match of(&number) {
        Err(Error::Template { message, .. }) => {
            assert!(message.contains("tokenizer.chat_template"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!ChatTemplate::of_model(None).is_own());
    assert_eq!(
        of(&ChatTemplate::of_model(None)).unwrap(),
        of(&ChatTemplate::chatml()).unwrap()
    );
}

/// Expected values by CPython 3 and Jinja2.
#[test]
fn texts_are_formatted_as_python_formats_them() {
    for (source, want) in [
        ("{{ '%s' % 'x' }}", "x"),
        (
            "{{ '%s: %s\n' % (messages[0].role, messages[1].content) }}",
            "user: yo\n",
        ),
        ("{{ '%d%%' % 7 }}", "7%"),
        ("{{ '%d %i %03d' % (3.9, -3.9, 7.0) }}", "3 -3 007"),
        ("{{ '%d of %s' % (2.5, 2.5) }}", "2 of 2.5"),
        ("{{ '%s' % [1, 2] }}", "[1, 2]"),
        ("{{ 'x' % {'a': 1} }}{{ 'x' % [1] }}", "xx"),
        ("{{ '%(a)s-%(b)d' % {'a': 1.5, 'b': 2} }}", "1.5-2"),
        (
            "{{ '%(a)d %(a)s %(b)i|%(a)04d|%(c)d' % {'a': 1.5, 'b': -3.9, 'c': 7} }}",
            "1 1.5 -3|0001|7",
        ),
        ("{{ '%s %(a)s' % {'a': 1} }}", "{'a': 1} 1"),
        ("{{ '%(x(y))s %%' % {'x(y)': 2} }}", "2 %"),
        ("{{ '20250101 %s 123456' % 'x' }}", "20250101 x 123456"),
        (
            "{{ '20250101 {} 123456'.format('x') }}",
            "20250101 x 123456",
        ),
        ("{{ '100%%' % () }}", "100%"),
        (
            "{{ '%5.2f|%-4s|%04d|%x' % (3.14159, 'ab', 42, 255) }}",
            " 3.14|ab  |0042|ff",
        ),
        ("{{ 'a%sc' % 'b' ~ 'd' }}", "abcd"),
        ("{{ 'a' ~ '%s' % 'b' }}", "ab"),
        ("{{ 'a' + '%s' % 'b' + 'c' }}", "abc"),
        ("{{ ('%s-' % 'b') * 2 }}", "b-b-"),
        ("{{ '%s-' * 2 % ('a', 'b') }}", "a-b-"),
        ("{{ '%s' % messages[0]['role'] | upper }}", "USER"),
        ("{{ ('%s' % messages[0]['role']) | upper }}", "USER"),
        ("{{ '%s' % messages[1].content.upper() }}", "YO"),
        ("{% set f = '%s!' %}{{ f % 'x' if f else '' }}", "x!"),
        ("{% set t = '%s=%s' % ('a', 1) %}{{ t }}", "a=1"),
        ("{% if '%s' % 1 == '1' %}yes{% endif %}", "yes"),
        ("{% for c in '%s' % 'ab' %}{{ c }},{% endfor %}", "a,b,"),
        ("{{ {'k': '%s' % 1, 'l': 7 % 4}['k'] }}", "1"),
        ("{{ ['%s' % 1, 7 % 4] | join('/') }}", "1/3"),
        ("{{ '%s' % ('%s' % 'in') }}", "in"),
        (
            "{{ 7 % 3 }}{{ -7 % 3 }}{{ 2 * 5 % 4 }}{{ 7.5 % 2 }}{{ 2 ** 3 % 5 }}",
            "1221.53",
        ),
        ("{{ (1 == 1) != (3 % 2 == 0) }}", "True"),
        (
            "{{ 10 - 7 % 4 }}{{ 7 % 4 - 1 }}{{ (7 % 2) is odd }}",
            "72True",
        ),
        ("{{ 'a' '%s' % 'b' }}", "ab"),
        ("{{ '%s' % -3 }}", "-3"),
        ("{{ '100 % sure' }}{# 5 % #}", "100 % sure"),
        ("{{ 'a\\\nb' }}{{ \"\\x41\\x27\\x22\\x5cn\" }}", "abA'\"\\n"),
        ("{% set s = 'it\\'s \\\n\\\\n' %}{{ s % () }}", "it's \\n"),
    ] {
        check(source, want);
    }
    for source in [
        "{{ '%s %s' % 'x' }}",
        "{{ '%s' % ('a', 'b') }}",
        "{{ 'x' % 'a' }}",
        "{{ '100%%' % 3 }}",
        "{{ '%d' % '3' }}",
        "{{ '%d' % (1e300 * 1e300) }}",
        "{{ '%d' % ('a', ) }}",
        "{{ 'x' % }}",
        "{{ % 5 }}",
        "{{ none % 2 }}",
        "{{ '%99999d' % 1 }}",
        "{{ '%.99999f' % 1 }}",
        "{{ '%(a)99999d' % {'a': 1} }}",
        "{{ '{:99999}'.format(1) }}",
        "{{ '%(a)d' % {'a': 'x'} }}",
        "{{ '%(a)d' % {'b': 1} }}",
        "{{ '%(a)d' % 1 }}",
        "{{ '%(a)s %s' % {'a': 1} }}",
        "{{ '%s %(a)s %s' % {'a': 1} }}",
        "{{ '%(a)%' % {'a': 1} }}",
        "{{ '%(a' % {'a': 1} }}",
    ] {
        assert!(render(source).is_err(), "{source}");
    }
}

#[test]
fn marks_of_the_assistants_text_for_training_are_transparent() {
    check(
        "{%- for m in messages %}{% if m.role == 'assistant' %}A:\n{% generation %}{{ m.content.lstrip('\n') }}E\n\
         {% endgeneration %}{% else %}{{ m.role }}|{% endif %}{%- endfor %}",
        "user|A:\nyoE\n",
    );
    check("a {%- generation -%} b {%- endgeneration %} c", "ab c");
    check(
        "{% raw %}{% generation %}{{ 1 % 2 }}{% endraw %}",
        "{% generation %}{{ 1 % 2 }}",
    );
}

#[test]
fn json_goes_in_and_out() {
    for (source, want) in [
        ("{{ ('{\"a\": [1, null, \"é\"]}' | fromjson).a[2] }}", "é"),
        (
            "{{ '[1, 2.5, true]' | from_json | tojson }}",
            "[1, 2.5, true]",
        ),
        ("{{ {'a': 1} | fromjson | tojson }}", "{\"a\": 1}"),
        (
            "{{ {'b': 1, 'a': {'d': 2, 'c': 3}} | tojson(sort_keys=true) }}",
            "{\"a\": {\"c\": 3, \"d\": 2}, \"b\": 1}",
        ),
        (
            "{{ {'b': [1, 2]} | tojson(separators=(',', ':')) }}",
            "{\"b\":[1,2]}",
        ),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        (
            "{{ {'b': 1} | tojson(indent=1, ensure_ascii=false) }}",
            "{\n \"b\": 1\n}",
        ),
    ] {
        check(source, want);
    }
    for source in [
        "{{ '{' | fromjson }}",
        "{{ 1 | tojson(separators=(',',)) }}",
        &format!(
            "{{{{ '{}{}' | fromjson }}}}",
            "[".repeat(100),
            "]".repeat(100)
        ),
    ] {
        assert!(render(source).is_err(), "{source}");
    }
}

/// Expected values by CPython 3.
#[test]
fn texts_have_pythons_methods() {
    for (source, want) in [
        (
            "'abcabc'.removeprefix('ab') ~ 'abc'.removesuffix('bc') ~ 'x'.removeprefix('y')",
            "cabcax",
        ),
        (
            "'a-b-c'.partition('-') | join('|') ~ 'abc'.partition('-') | join('|')",
            "a|-|b-cabc||",
        ),
        ("'a-b-c'.rpartition('-') | join('|')", "a-b|-|c"),
        (
            "'a-b-c'.rsplit('-', 1) | join('|') ~ 'a-b-c'.rsplit('-')[0]",
            "a-b|ca",
        ),
        (
            "'42'.zfill(5) ~ '-42'.zfill(5) ~ '+1'.zfill(1)",
            "00042-0042+1",
        ),
        (
            "'ab'.ljust(4) ~ '|' ~ 'ab'.rjust(4, '.') ~ '|' ~ 'ab'.center(5) ~ '|' ~ 'a'.center(4, '*')",
            "ab  |..ab|  ab |*a**",
        ),
        (
            "'Hello World'.title() ~ 'x y'.split()[1] ~ 'aXb'.lower().count('x')",
            "Hello Worldy1",
        ),
        (
            "'abc'.find('c') ~ 'abc'.startswith(('x', 'a')) ~ 'a,b'.replace(',', ';', 1)",
            "2Truea;b",
        ),
        (
            "{'a': 1}.get('b', 7) ~ {'a': 1}.items() | list | length",
            "71",
        ),
    ] {
        check(&format!("{{{{ {source} }}}}"), want);
    }
    assert!(render("{{ 'a'.swapcase() }}").is_err());
    assert!(render("{{ 'a'.ljust(99999999) }}").is_err());
    for fill in ["'yy'", "''", "'y'*1000000"] {
        assert!(render(&format!("{{{{ 'a'.center(1048576, {fill}) }}}}")).is_err());
    }
}

/// Ways of saying things that the templates of well-known models use.
#[test]
fn templates_of_well_known_models_find_what_they_use() {
    for (source, want) in [
        // Llama 3: a system message apart, the rest by slices.
        (
            "{%- if messages[0]['role'] == 'user' %}{%- set first = messages[0]['content'] | trim %}\
             {%- set messages = messages[1:] %}{%- endif %}{{ messages | length }}{{ first is string }}",
            "1True",
        ),
        // Qwen 3: backwards, with a namespace.
        (
            "{%- set ns = namespace(last=messages|length - 1, found=false) %}{%- for m in messages[::-1] %}\
             {%- set index = (messages|length - 1) - loop.index0 %}{%- if not ns.found and m.role == 'user' %}\
             {%- set ns.found = true %}{%- set ns.last = index %}{%- endif %}{%- endfor %}{{ ns.last }}",
            "0",
        ),
        (
            "{%- set c = '<think>\\nhm\\n</think>\\n\\nyes' %}{{ c.split('</think>')[-1].lstrip('\\n') }}|\
             {{- c.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') }}",
            "yes|hm",
        ),
        (
            "{%- if enable_thinking is defined and enable_thinking is false %}x{%- endif %}y",
            "y",
        ),
        // Mistral: roles alternate, counted by the rest of a division.
        (
            "{%- set ns = namespace(index=0) %}{%- for m in messages %}\
             {%- if (m['role'] == 'user') != (ns.index % 2 == 0) %}{{ raise_exception('no') }}{%- endif %}\
             {%- set ns.index = ns.index + 1 %}{%- endfor %}{{ ns.index }}",
            "2",
        ),
        (
            "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}\
             {{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='content') | first }}",
            "1yo",
        ),
        (
            "{%- for key, val in {'a': 1, 'return': 2}.items() if key != 'return' %}{{ key }}={{ val }}{%- endfor %}",
            "a=1",
        ),
        // Gemma: the assistant has another name.
        (
            "{%- for m in messages %}{{ 'model' if m['role'] == 'assistant' else m['role'] }}{{ '' if loop.last else ',' }}\
             {%- endfor %}",
            "user,model",
        ),
        // SmolLM3, gpt-oss: macros with defaults, tests for kinds, joined pieces.
        (
            "{%- macro kind(v, plain=true) -%}{%- if v is mapping %}map{%- elif v is string %}text{%- elif v is number %}\
             number{%- elif v is iterable %}list{%- endif %}{{ '' if plain else '!' }}{%- endmacro -%}\
             {{ kind({}) }} {{ kind('a') }} {{ kind(1) }} {{ kind([], plain=false) }}",
            "map text number list!",
        ),
        (
            "{%- set text -%}a{%- endset -%}{{ text ~ 'b' }}{%- set s = '' %}{%- for x in [1, none, 2] if x is not none -%}\
             {{ x }}{%- if not loop.last %}, {% endif %}{%- endfor %}",
            "ab1, 2",
        ),
        (
            "{{ [['a', 1], ['b', 2]] | map('first') | join(', ') }}{{ 'x' in {'x': 1} }}{{ 'q' not in 'abc' }}",
            "a, bTrueTrue",
        ),
        (
            "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ loop.index }}{{ loop.previtem }}{% endfor %}",
            "120",
        ),
        (
            "{% call(x) wrap() %}{{ x }}{% endcall %}{% macro wrap() %}<{{ caller('in') }}>{% endmacro %}",
            "",
        ),
        (
            "{{ 'a\\nb' | indent(2) }}{{ 'abc'[-1] }}{{ 'abc'[:-1] }}{{ [3,1,2] | sort | last }}{{ {'b':1,'a':2} | dictsort | first | first }}",
            "a\n  bcab3a",
        ),
        (
            "{{ none | default('d', true) }}{{ missing | default('e') }}{{ 3 | string + '!' }}{{ '4' | int + 1 }}",
            "de3!5",
        ),
        ("{%- set j = joiner(', ') %}{{ j() }}a{{ j() }}b", "a, b"),
    ] {
        if want.is_empty() {
            // Jinja2 calls a macro only behind where it stands.
            assert!(render(source).is_err(), "{source}");
        } else {
            check(source, want);
        }
    }
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
        .map(|i| {
            let role = if i % 2 == 0 { "user" } else { "assistant" };
            Message::new(role, "word ".repeat(400))
        })
        .collect();
    let text = ChatTemplate::from_source(CHATML)
        .unwrap()
        .render(&turns, GenerationPrompt::Add)
        .unwrap();
    assert!(text.len() > 4_000_000);
}
