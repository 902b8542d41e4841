//! The items of an answer of responses, messages and calls, and the events that tell of them.

use super::tools::{Call, Said};
use serde_json::{Value, json};

/// An event by its name.
type Event = (&'static str, Value);

/// One item.
#[derive(Clone, Debug)]
enum What {
    Message { text: String },
    Call { id: String, call: Call },
}

#[derive(Clone, Debug)]
struct Item {
    id: String,
    what: What,
    status: &'static str,
}

impl Item {
    fn json(&self) -> Value {
        match &self.what {
            What::Message { text } => json!({
                "type": "message",
                "id": self.id,
                "role": "assistant",
                "status": self.status,
                "content": match self.status {
                    OPEN => json!([]),
                    _ => json!([part(text)]),
                },
            }),
            What::Call { id, call } => json!({
                "type": "function_call",
                "id": self.id,
                "call_id": id,
                "name": call.name,
                "arguments": call.arguments,
                "status": self.status,
            }),
        }
    }
}

/// The status of an item that more of comes.
const OPEN: &str = "in_progress";
const COMPLETED: &str = "completed";

/// A text as a part of a message.
fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// All items so far; the last may be open.
#[derive(Clone, Debug)]
pub(super) struct Items {
    /// What names of items are made from.
    response: String,
    all: Vec<Item>,
}

impl Items {
    pub(super) fn new(response: &str) -> Items {
        Items {
            response: response.to_owned(),
            all: Vec::new(),
        }
    }

    /// The list of them.
    pub(super) fn output(&self) -> Value {
        self.all.iter().map(Item::json).collect()
    }

    /// All of an answer that is complete.
    pub(super) fn whole(&mut self, text: String, calls: Vec<Call>, status: &'static str) {
        if !text.is_empty() || calls.is_empty() {
            self.heard(vec![Said::Text(text)]);
        }
        for call in calls {
            self.heard(vec![Said::Called(call)]);
        }
        if let Some(last) = self.all.last_mut() {
            last.status = status;
        }
    }

    /// Events of what is certain.
    pub(super) fn heard(&mut self, said: Vec<Said>) -> Vec<Event> {
        let mut events = Vec::new();
        for said in said {
            match said {
                Said::Text(text) => self.text(&text, &mut events),
                Said::Begun(name) => self.call(name, &mut events),
                Said::Arguments(more) => self.arguments(&more, &mut events),
                Said::Ended => self.close(COMPLETED, &mut events),
                Said::Called(Call { name, arguments }) => {
                    self.call(name, &mut events);
                    self.arguments(&arguments, &mut events);
                    self.close(COMPLETED, &mut events);
                }
            }
        }
        events
    }

    /// Events of the end; there is one item or more.
    pub(super) fn end(&mut self, status: &'static str) -> Vec<Event> {
        let mut events = Vec::new();
        if self.all.is_empty() {
            self.text("", &mut events);
        }
        self.close(status, &mut events);
        events
    }

    /// The fields of an event about the last item.
    fn about(&self, field: &str, value: Value) -> Value {
        let index = self.all.len() - 1;
        let item = &self.all[index];
        let mut fields = json!({"item_id": item.id, "output_index": index});
        if let What::Message { .. } = item.what {
            fields["content_index"] = json!(0);
            if field != "part" {
                fields["logprobs"] = json!([]);
            }
        }
        fields[field] = value;
        fields
    }

    fn add(&mut self, kind: &str, what: What, events: &mut Vec<Event>) {
        let index = self.all.len();
        let id = self.response.replacen("resp", kind, 1);
        let item = Item {
            id: format!("{id}{index}"),
            what,
            status: OPEN,
        };
        let fields = json!({"output_index": index, "item": item.json()});
        events.push(("response.output_item.added", fields));
        self.all.push(item);
    }

    fn text(&mut self, more: &str, events: &mut Vec<Event>) {
        let open = |item: &Item| item.status == OPEN && matches!(item.what, What::Message { .. });
        if !self.all.last().is_some_and(open) {
            self.close(COMPLETED, events);
            let text = String::new();
            self.add("msg", What::Message { text }, events);
            events.push(("response.content_part.added", self.about("part", part(""))));
        }
        if let Some(Item {
            what: What::Message { text },
            ..
        }) = self.all.last_mut()
        {
            text.push_str(more);
        }
        if !more.is_empty() {
            events.push((
                "response.output_text.delta",
                self.about("delta", json!(more)),
            ));
        }
    }

    fn call(&mut self, name: String, events: &mut Vec<Event>) {
        self.close(COMPLETED, events);
        let id = self.response.replacen("resp", "call", 1);
        let id = format!("{id}{}", self.all.len());
        let arguments = String::new();
        let call = Call { name, arguments };
        self.add("fc", What::Call { id, call }, events);
    }

    fn arguments(&mut self, more: &str, events: &mut Vec<Event>) {
        if let Some(Item {
            what: What::Call { call, .. },
            ..
        }) = self.all.last_mut()
        {
            call.arguments.push_str(more);
            let fields = self.about("delta", json!(more));
            events.push(("response.function_call_arguments.delta", fields));
        }
    }

    /// Says that nothing follows in the last item, if it is open.
    fn close(&mut self, status: &'static str, events: &mut Vec<Event>) {
        let Some(last) = self.all.last_mut().filter(|item| item.status == OPEN) else {
            return;
        };
        last.status = status;
        match last.what.clone() {
            What::Message { text } => {
                let fields = self.about("text", json!(text));
                events.push(("response.output_text.done", fields));
                let fields = self.about("part", part(&text));
                events.push(("response.content_part.done", fields));
            }
            What::Call { call, .. } => {
                let mut fields = self.about("arguments", json!(call.arguments));
                fields["name"] = json!(call.name);
                events.push(("response.function_call_arguments.done", fields));
            }
        }
        let index = self.all.len() - 1;
        let item = self.all[index].json();
        let fields = json!({"output_index": index, "item": item});
        events.push(("response.output_item.done", fields));
    }
}
