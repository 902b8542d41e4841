//! `/v1/completions`: prompts that are gone on with.

use super::{
    ask::{self, MOST_CHOICES, Way, spelled},
    envelope::Envelope,
    format::{Layout, format},
};
use crate::{
    app::{App, Body, Taken, finite},
    clock,
    error::ApiError,
    fields::Fields,
    http::{Made, Shape, collect, json_response, stream},
    text::{Asked, Part, Told},
};
use axum::{extract::State, response::Response};
use serde_json::{Value, json};

/// What an answer is called, whole or in pieces.
const KIND: &str = "text_completion";
/// Tokens where nothing is said, as of OpenAI.
const USUAL: u32 = 16;
/// Probable tokens that are told of at most.
const MOST_TOLD: u64 = 20;

/// The route.
pub(crate) async fn completions(
    State(app): State<App>,
    Body(body): Body,
) -> Result<Response, ApiError> {
    let arrived = clock::now();
    let taken = app.prepare(move |app| read(app, &body)).await?;
    let Taken {
        text,
        asked: (asked, way),
    } = taken;
    let prompt = asked.prompts.iter().map(|prompt| prompt.ids.len()).sum();
    let choices = asked.prompts.len() * asked.n;
    let parts = text.ask(asked, arrived)?;
    let mut frame = Frame {
        envelope: Envelope::new(app.id("cmpl"), text, KIND, prompt),
        offsets: vec![0; choices],
    };
    match way {
        Way::Stream { usage } => {
            frame.envelope.counts = usage;
            stream(parts, choices, frame).await
        }
        Way::Whole => {
            let all = collect(parts, choices).await?;
            Ok(json_response(&frame.whole(&all)))
        }
    }
}

fn read(app: &App, body: &[u8]) -> Result<Taken<(Asked, Way)>, ApiError> {
    let mut fields = Fields::parse(body)?;
    let text = app.text(fields.text("model")?)?;
    ask::usual(&mut fields)?;
    let prompt = fields.need("prompt")?;
    let prompts = ask::prompts("prompt", prompt, &text.bundle.tokenizer, app.limits.prompt)?;
    let max_tokens = fields.whole("max_tokens", 1..=u64::from(u32::MAX))?;
    let max_tokens = max_tokens.map_or(USUAL, |most| most as u32);
    for prompt in &prompts {
        text.fits("prompt", prompt.ids.len(), Some(max_tokens))?;
    }
    let n = fields.whole("n", 1..=MOST_CHOICES)?.unwrap_or(1);
    let logprobs = fields.whole("logprobs", 0..=MOST_TOLD)?;
    let format = format(&mut fields, "response_format", Layout::Nested)?;
    let mut asked = Asked {
        n: n as usize,
        sampler: ask::sampler(&mut fields)?,
        max_tokens: Some(max_tokens),
        stops: ask::stops(&mut fields)?,
        logprobs: logprobs.map(|most| most as usize),
        bias: ask::bias(&mut fields, text.bundle.model.config().vocab)?,
        penalties: ask::penalties(&mut fields)?,
        guide: None,
        prompts,
    };
    let way = Way::of(&mut fields)?;
    fields.refuse("echo", &[json!(false)], "the prompt is not repeated")?;
    fields.refuse(
        "suffix",
        &[json!("")],
        "models here go on, and do not fill in",
    )?;
    fields.refuse(
        "best_of",
        &[json!(1), json!(n)],
        "every continuation is returned",
    )?;
    fields.finish()?;
    if let Some(grammar) = &format.grammar {
        text.guide(&mut asked, &format.param, grammar)?;
    }
    Ok(Taken {
        text,
        asked: (asked, way),
    })
}

/// An answer.
struct Frame {
    envelope: Envelope,
    /// Characters of each choice so far.
    offsets: Vec<usize>,
}

impl Frame {
    fn whole(&mut self, all: &[Made]) -> Value {
        let made = all.iter().map(|made| made.tokens).sum();
        let choices = all.iter().enumerate().map(|(index, made)| {
            let logprobs = self.told(index, &made.told);
            json!({
                "index": index,
                "text": made.text,
                "logprobs": logprobs,
                "finish_reason": made.finish.map(|finish| finish.name()),
            })
        });
        let choices = choices.collect();
        self.envelope.whole(KIND, choices, made)
    }

    /// Lists of tokens, as OpenAI's older interface has them.
    fn told(&mut self, choice: usize, told: &[Told]) -> Value {
        if told.is_empty() {
            return Value::Null;
        }
        let (mut tokens, mut own, mut top, mut offsets) = (vec![], vec![], vec![], vec![]);
        for Told {
            own: (token, logprob),
            top: best,
        } in told
        {
            let (spelling, _) = spelled(&self.envelope.text, *token);
            offsets.push(self.offsets[choice]);
            self.offsets[choice] += spelling.chars().count();
            tokens.push(spelling);
            own.push(finite(*logprob));
            let best = best
                .iter()
                .map(|(token, logprob)| (spelled(&self.envelope.text, *token).0, finite(*logprob)));
            top.push(Value::Object(best.collect()));
        }
        json!({"tokens": tokens, "token_logprobs": own, "top_logprobs": top, "text_offset": offsets})
    }
}

impl Shape for Frame {
    fn part(&mut self, part: Part) -> String {
        match part {
            Part::Piece {
                choice,
                text,
                tokens,
                told,
            } => {
                self.envelope.made += tokens;
                if text.is_empty() && told.is_none() {
                    return String::new();
                }
                let told: Vec<Told> = told.into_iter().collect();
                let logprobs = self.told(choice, &told);
                self.envelope.event(vec![json!({
                    "index": choice,
                    "text": text,
                    "logprobs": logprobs,
                    "finish_reason": null,
                })])
            }
            Part::End { choice, finish } => self.envelope.event(vec![json!({
                "index": choice,
                "text": "",
                "logprobs": null,
                "finish_reason": finish.name(),
            })]),
            Part::Failed(error) => Envelope::failed(&error),
        }
    }

    fn failed(&mut self, error: &ApiError) -> String {
        Envelope::failed(error)
    }

    fn end(&mut self) -> String {
        self.envelope.end()
    }
}
