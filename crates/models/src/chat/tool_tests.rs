//! Templates that are given tools.

use super::*;

#[test]
fn templates_see_tools_calls_and_who_answers_them() {
    let source = "{% if tools %}{{ tools | tojson }}|{% endif %}{% for m in messages %}{{ m.role }}:{{ m.content }}\
        {% for call in m.tool_calls %}{{ call.function.name }}={{ call.function.arguments.city }}{% endfor %}\
        {% if m.tool_call_id is defined %}<{{ m.tool_call_id }}>{% endif %};{% endfor %}";
    let template = ChatTemplate::from_source(source).unwrap();
    assert!(template.knows_tools());
    assert!(!ChatTemplate::chatml().knows_tools());
    let call = serde_json::json!({"id": "c1", "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Bonn"}}});
    let messages = [
        Message::new("user", "hi"),
        Message {
            tool_calls: vec![call],
            ..Message::new("assistant", "")
        },
        Message {
            tool_call_id: Some("c1".to_owned()),
            ..Message::new("tool", "rain")
        },
    ];
    let turns = "user:hi;assistant:weather=Bonn;tool:rain<c1>;";
    let render = |template: &ChatTemplate| template.render(&messages, GenerationPrompt::Omit);
    assert_eq!(render(&template).unwrap(), turns);
    let with = template.with_tools(vec![serde_json::json!({"name": "weather"})]);
    let want = format!("[{{\"name\": \"weather\"}}]|{turns}");
    assert_eq!(render(&with).unwrap(), want);
}
