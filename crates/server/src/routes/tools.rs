//! Calls of tools in what a model writes: found, taken out of the text, given as OpenAI's objects.

use super::calls::{MARKS, beginning};
use serde_json::{Map, Value, json};

/// A call of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// An object as JSON text.
    pub(crate) arguments: String,
}

impl Call {
    /// The object of an answer.
    pub(crate) fn json(&self, id: &str) -> Value {
        json!({
            "id": id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        })
    }
}

/// What is certain of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Text(String),
    /// A call of this function begins.
    Begun(String),
    /// More of its arguments.
    Arguments(String),
    /// Nothing follows of that call.
    Ended,
    /// A call, all at once.
    Called(Call),
}

/// What hears text and calls in an answer as it comes.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// Of a model that decides by itself.
    Free(Listener),
    /// Of one that has to call.
    Forced(Forced),
}

impl Default for Heard {
    fn default() -> Heard {
        Heard::Free(Listener::default())
    }
}

impl Heard {
    /// For calls of functions with these names, if there are any.
    pub(crate) fn free(names: Vec<String>) -> Heard {
        Heard::Free(Listener::new(names))
    }

    /// For the one call that an answer is.
    pub(crate) fn forced(names: &[String]) -> Heard {
        Heard::Forced(Forced {
            beginnings: names
                .iter()
                .map(|name| (beginning(name), name.clone()))
                .collect(),
            ..Forced::default()
        })
    }

    /// What is certain with more of the text.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Said> {
        match self {
            Heard::Free(listener) => {
                let text = listener.push(text);
                let said = (!text.is_empty()).then_some(Said::Text(text));
                said.into_iter().collect()
            }
            Heard::Forced(forced) => forced.push(text),
        }
    }

    /// What is certain at the end.
    pub(crate) fn finish(self) -> Vec<Said> {
        match self {
            Heard::Free(listener) => {
                let (text, calls) = listener.finish();
                let text = (!text.is_empty()).then_some(Said::Text(text));
                text.into_iter()
                    .chain(calls.into_iter().map(Said::Called))
                    .collect()
            }
            Heard::Forced(forced) => forced.finish(),
        }
    }

    /// The text and the calls of a whole answer.
    pub(crate) fn whole(mut self, text: &str) -> (String, Vec<Call>) {
        let mut said = self.push(text);
        said.extend(self.finish());
        let (mut content, mut calls) = (String::new(), Vec::<Call>::new());
        for said in said {
            match said {
                Said::Text(text) => content += &text,
                Said::Begun(name) => calls.push(Call {
                    name,
                    arguments: String::new(),
                }),
                Said::Arguments(more) => {
                    if let Some(call) = calls.last_mut() {
                        call.arguments += &more;
                    }
                }
                Said::Called(call) => calls.push(call),
                Said::Ended => {}
            }
        }
        (content, calls)
    }
}

/// An answer that is one call, as the grammar of forced calls has it, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forced {
    /// What calls begin with, each with its function.
    beginnings: Vec<(String, String)>,
    /// Text before the arguments.
    held: String,
    begun: bool,
    /// Brackets of the arguments that are open.
    depth: usize,
    /// Whether the arguments are within a string, and behind a backslash in it.
    string: bool,
    escaped: bool,
    ended: bool,
}

impl Forced {
    fn push(&mut self, text: &str) -> Vec<Said> {
        let mut said = Vec::new();
        let mut more = String::new();
        for letter in text.chars() {
            if self.ended {
                break;
            }
            if self.begun {
                more.push(letter);
                self.letter(letter);
                continue;
            }
            self.held.push(letter);
            let known = self
                .beginnings
                .iter()
                .find(|(begin, _)| *begin == self.held);
            if let Some((_, name)) = known {
                self.begun = true;
                said.push(Said::Begun(name.clone()));
            }
        }
        if !more.is_empty() {
            said.push(Said::Arguments(more));
        }
        if self.ended {
            // Once: what follows is the end of the object around them.
            self.begun.then(|| said.push(Said::Ended));
            self.begun = false;
        }
        said
    }

    /// Follows the arguments to the end of their object.
    fn letter(&mut self, letter: char) {
        match letter {
            _ if std::mem::take(&mut self.escaped) => {}
            '\\' if self.string => self.escaped = true,
            '"' => self.string = !self.string,
            '{' | '[' if !self.string => self.depth += 1,
            '}' | ']' if !self.string => {
                self.depth = self.depth.saturating_sub(1);
                self.ended = self.depth == 0;
            }
            _ => {}
        }
    }

    fn finish(self) -> Vec<Said> {
        match (self.begun, self.ended) {
            // A call that was cut off is open.
            (true, _) | (false, true) => Vec::new(),
            // Cut off before there was a call.
            (false, false) if self.held.is_empty() => Vec::new(),
            (false, false) => vec![Said::Text(self.held)],
        }
    }
}

/// The text of an answer as it comes, of which calls are held back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listener {
    names: Vec<String>,
    /// Text that may be a call.
    held: String,
    /// Whether all that follows is held.
    calls: bool,
    /// Whether text was let through that is more than space.
    begun: bool,
}

impl Listener {
    /// For calls of functions with these names.
    pub(crate) fn new(names: Vec<String>) -> Listener {
        Listener {
            names,
            ..Listener::default()
        }
    }

    /// The text that is certain not to be a call.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        if self.names.is_empty() {
            return std::mem::take(&mut self.held);
        }
        if self.calls {
            return String::new();
        }
        let json = || {
            let text = self.held.trim_start();
            !self.begun && text.starts_with(['{', '['])
        };
        let mark = MARKS.iter().filter_map(|mark| self.held.find(mark)).min();
        let free = match mark {
            Some(at) => {
                self.calls = true;
                at
            }
            None if json() => {
                self.calls = !MARKS
                    .iter()
                    .any(|mark| mark.starts_with(self.held.trim_start()));
                0
            }
            // Space before a call is none of the answer.
            None if !self.begun && self.held.trim().is_empty() => 0,
            None => {
                let may_begin =
                    |at: &usize| MARKS.iter().any(|mark| mark.starts_with(&self.held[*at..]));
                let ends = self.held.char_indices().map(|(at, _)| at);
                ends.into_iter().find(may_begin).unwrap_or(self.held.len())
            }
        };
        let rest = self.held.split_off(free);
        let free = std::mem::replace(&mut self.held, rest);
        if !self.begun && free.trim().is_empty() {
            // Whether it is part of an answer shows later.
            self.held.insert_str(0, &free);
            return String::new();
        }
        self.begun = true;
        free
    }

    /// The text that was held back and is none, and the calls.
    pub(crate) fn finish(self) -> (String, Vec<Call>) {
        match calls(&self.held, &self.names) {
            Some(calls) => (String::new(), calls),
            None => (self.held, Vec::new()),
        }
    }
}

/// The calls that a text consists of, if it does.
fn calls(text: &str, names: &[String]) -> Option<Vec<Call>> {
    let text = text.trim();
    let mut found = Vec::new();
    if let Some(rest) = text.strip_prefix(MARKS[0]) {
        // Each in its own tags; the last may be open at the end.
        for piece in rest.split(MARKS[0]) {
            let piece = piece.trim();
            let piece = piece.strip_suffix("</tool_call>").unwrap_or(piece);
            found.push(call(serde_json::from_str(piece).ok()?, names)?);
        }
        return Some(found);
    }
    let text = MARKS[1..]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
        .unwrap_or(text);
    match serde_json::from_str(text).ok()? {
        Value::Array(list) => {
            for value in list {
                found.push(call(value, names)?);
            }
        }
        value => found.push(call(value, names)?),
    }
    (!found.is_empty()).then_some(found)
}

fn call(value: Value, names: &[String]) -> Option<Call> {
    let Value::Object(mut object) = value else {
        return None;
    };
    let Some(Value::String(name)) = object.remove("name") else {
        return None;
    };
    let arguments = object
        .remove("arguments")
        .or_else(|| object.remove("parameters"));
    let arguments = arguments.unwrap_or(Value::Object(Map::new()));
    (names.contains(&name) && arguments.is_object()).then(|| Call {
        name,
        arguments: arguments.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str, cut: usize) -> (String, Vec<Call>) {
        let mut listener = Listener::new(vec!["weather".to_owned(), "time".to_owned()]);
        let letters: Vec<char> = text.chars().collect();
        let mut shown: String = letters
            .chunks(cut)
            .map(|piece| listener.push(&piece.iter().collect::<String>()))
            .collect();
        let (rest, calls) = listener.finish();
        shown.push_str(&rest);
        (shown, calls)
    }

    fn of(name: &str, arguments: &str) -> Call {
        Call {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    #[test]
    fn calls_of_each_family_are_found_however_the_text_is_cut() {
        let bonn = of("weather", "{\"city\":\"Bonn\"}");
        let json = r#"{"name": "weather", "arguments": {"city": "Bonn"}}"#;
        let cases = [
            (format!("\n<tool_call>\n{json}\n</tool_call>"), "", 1),
            (
                format!("<tool_call>{json}</tool_call>\n<tool_call>\n{json}\n</tool_call>"),
                "",
                2,
            ),
            (format!("Let me see. <tool_call>{json}"), "Let me see. ", 1),
            (format!("[TOOL_CALLS] [{json}, {json}]"), "", 2),
            (
                format!("<|python_tag|>{}", json.replace("arguments", "parameters")),
                "",
                1,
            ),
            (json.to_owned(), "", 1),
        ];
        for (text, shown, count) in cases {
            for cut in [1, 2, 7, 1000] {
                let want = (shown.to_owned(), vec![bonn.clone(); count]);
                assert_eq!(heard(&text, cut), want, "{text}, cut {cut}");
            }
        }
        let (_, calls) = heard(r#"{"name": "time"}"#, 5);
        assert_eq!(calls, [of("time", "{}")]);
    }

    #[test]
    fn what_is_no_call_is_text_to_the_last_character() {
        for text in [
            "a < b and <tool",
            "{\"name\": \"rm\", \"arguments\": {}}",
            "<tool_call>{broken</tool_call>",
            "[1, 2]",
            "  {\"a\"",
            " \n ",
            "",
            "[TOOL_",
            "x[TOOL_CALLS] none",
        ] {
            for cut in [1, 3, 1000] {
                assert_eq!(heard(text, cut), (text.to_owned(), vec![]), "cut {cut}");
            }
        }
    }

    #[test]
    fn a_forced_call_is_taken_apart_however_it_is_cut() {
        let names = ["time".to_owned(), "na\"me".to_owned(), "time_of".to_owned()];
        let arguments = r#"{"a": "}{\"]", "b": [{}, "\\"]}"#;
        for name in &names {
            let text = format!("{}{arguments}}}", beginning(name));
            let letters: Vec<char> = text.chars().collect();
            for cut in [1, 3, 1000] {
                let mut heard = Heard::forced(&names);
                let pieces = letters
                    .chunks(cut)
                    .map(|piece| piece.iter().collect::<String>());
                let mut said: Vec<Said> = pieces.flat_map(|piece| heard.push(&piece)).collect();
                said.extend(heard.finish());
                assert_eq!(said[0], Said::Begun(name.clone()));
                // Once, at the end of the arguments.
                assert_eq!(said.last(), Some(&Said::Ended));
                let more = said[1..said.len() - 1].iter().map(|said| match said {
                    Said::Arguments(more) => more.as_str(),
                    other => panic!("{other:?}"),
                });
                assert_eq!(more.collect::<String>(), arguments, "cut {cut}");
            }
            let whole = Heard::forced(&names).whole(&text);
            assert_eq!(whole, (String::new(), vec![of(name, arguments)]));
            // One that is cut off has what there is of its arguments.
            let whole = Heard::forced(&names).whole(&text[..text.len() - 4]);
            assert_eq!(whole.1[0].arguments, arguments[..arguments.len() - 3]);
        }
    }

    #[test]
    fn text_that_cannot_be_a_call_is_shown_at_once() {
        let mut listener = Listener::new(vec!["time".to_owned()]);
        assert_eq!(listener.push("It is <"), "It is ");
        assert_eq!(listener.push("3"), "<3");
        let mut nothing = Listener::new(Vec::new());
        assert_eq!(nothing.push("{"), "{");
    }
}
