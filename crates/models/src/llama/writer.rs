//! Texts of an engine's sequences: tokens become text that is certain, cut at stop strings and held to grammars.

use super::{Ended, Engine, EngineReport, Event, Request, SequenceId};
use crate::{
    Error,
    grammar::{Advance, Guide, Then, advance_all},
    logprobs::Logprobs,
    text::{StopMatcher, Streamed, Written},
    tokenizer::Tokenizer,
};
use std::{collections::BTreeMap, fmt};

/// A text to be written.
#[derive(Debug)]
pub struct Wanted {
    /// What it follows and how it goes on. What ends it, the first mask and whether logits are told are the writer's to say.
    pub request: Request,
    /// What it ends before.
    pub stops: StopMatcher,
    /// How many of the most probable tokens are told of beside each that is drawn.
    pub logprobs: Option<usize>,
    /// What it is held to.
    pub guide: Option<Guide>,
}

/// A token with the natural logarithm of its probability, and the most probable ones in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The token.
    pub own: (u32, f64),
    /// The best first.
    pub top: Vec<(u32, f64)>,
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself, or before a stop string.
    Stop,
    /// At the most tokens.
    Length,
    /// At the end of the context.
    Context,
}

/// What came of a text.
#[derive(Debug)]
pub enum Wrote {
    /// Text that is certain, often none, with a token. The one that ends a text has none.
    Piece {
        /// Whose.
        id: SequenceId,
        /// The token: drawn, or known by the grammar.
        token: u32,
        /// The text.
        text: String,
        /// How probable it was, of one that was drawn, if that was asked for.
        told: Option<Told>,
    },
    /// Nothing follows but this text.
    End {
        /// Whose.
        id: SequenceId,
        /// What had been held back.
        text: String,
        /// Why.
        finish: Finish,
    },
    /// It could not go on.
    Failed {
        /// Whose.
        id: SequenceId,
        /// Why.
        error: Error,
    },
}

/// An engine whose sequences are texts. After an error it is not used further; what concerns one text is a [`Wrote`].
///
/// ```
/// use std::path::Path;
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_models::{
///     llama::{Bundle, Engine, EngineOptions, Request, Wanted, Writer, Wrote},
///     text::StopMatcher,
/// };
///
/// # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/synth/tiny-llama3.gguf"));
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let bundle = Bundle::load(&device, path, &mut |_, _| {})?;
/// let options = EngineOptions { sequences: 4, context: 64, ..EngineOptions::default() };
/// let mut writer = Writer::new(Engine::new(&bundle.model, &options)?, &bundle.tokenizer);
/// writer.submit(Wanted {
///     request: Request { prompt: vec![1, 2, 3], max_tokens: 5, ..Request::default() },
///     stops: StopMatcher::new::<String>([])?,
///     logprobs: None,
///     guide: None,
/// })?;
/// let mut written = String::new();
/// while !writer.is_idle() {
///     for wrote in writer.step()? {
///         match wrote {
///             Wrote::Piece { text, .. } | Wrote::End { text, .. } => written += &text,
///             Wrote::Failed { error, .. } => return Err(error.into()),
///         }
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<'a> {
    engine: Engine,
    tokenizer: &'a Tokenizer,
    texts: BTreeMap<SequenceId, Text<'a>>,
}

/// A text that is not at its end.
struct Text<'a> {
    written: Written<'a>,
    logprobs: Option<usize>,
    guide: Option<Guide>,
    /// Tokens that are told with the first one: the grammar begins with them.
    known: Vec<u32>,
    /// The token drawn in this step.
    drawn: Option<u32>,
}

impl Text<'_> {
    /// Whether its grammar has nothing to follow what was drawn last.
    fn is_complete(&mut self) -> bool {
        let Some(guide) = &mut self.guide else {
            return false;
        };
        match self.drawn {
            Some(token) => guide
                .advance(token, 0)
                .is_ok_and(|advance| advance.then == Then::Done),
            None => guide.then == Then::Done,
        }
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&SequenceId> = self.texts.keys().collect();
        f.debug_struct("Writer")
            .field("texts", &texts)
            .finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// Over an engine without sequences, with the tokenizer of its model.
    pub fn new(engine: Engine, tokenizer: &'a Tokenizer) -> Writer<'a> {
        Writer {
            engine,
            tokenizer,
            texts: BTreeMap::new(),
        }
    }

    /// Takes a text in; it is begun in a later step.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub fn submit(&mut self, wanted: Wanted) -> Result<SequenceId, Error> {
        let Wanted {
            mut request,
            stops,
            logprobs,
            guide,
        } = wanted;
        let written = Written::after(&request.prompt, self.tokenizer, stops);
        request.ends = self.tokenizer.end_of_generation().to_vec();
        request.logits = logprobs.is_some();
        request.mask = None;
        let mut known = Vec::new();
        if let Some(guide) = &guide {
            known.clone_from(&guide.known);
            request.prompt.extend(&known);
            request.max_tokens = request.max_tokens.saturating_sub(known.len() as u32);
            match &guide.then {
                Then::Draw(mask) => request.mask = Some(mask.clone()),
                // There is one text, and nothing to be drawn.
                Then::Done => request.max_tokens = 0,
            }
        }
        let id = self.engine.submit(request)?;
        let text = Text {
            written,
            logprobs,
            guide,
            known,
            drawn: None,
        };
        self.texts.insert(id, text);
        Ok(id)
    }

    /// Ends a text, of which nothing more is told; `false` if there is none of that name.
    ///
    /// # Errors
    /// Device errors.
    pub fn cancel(&mut self, id: SequenceId) -> Result<bool, Error> {
        self.texts.remove(&id);
        self.engine.cancel(id)
    }

    /// A step of the engine, and what came of it: in order for each text.
    ///
    /// # Errors
    /// Device errors.
    pub fn step(&mut self) -> Result<Vec<Wrote>, Error> {
        let mut out = Vec::new();
        for event in self.engine.step()? {
            match event {
                Event::Token { id, token } => self.token(id, token, &mut out)?,
                Event::Finished { id, ended } => self.finished(id, ended, &mut out)?,
                Event::Failed { id, error } => {
                    if self.texts.remove(&id).is_some() {
                        out.push(Wrote::Failed { id, error });
                    }
                }
            }
        }
        self.follow(&mut out)?;
        Ok(out)
    }

    /// Whether no text is being written.
    pub fn is_idle(&self) -> bool {
        self.texts.is_empty() && self.engine.is_idle()
    }

    /// Positions of a sequence.
    pub fn context(&self) -> u32 {
        self.engine.context()
    }

    /// What the engine has and did.
    pub fn report(&self) -> EngineReport {
        self.engine.report()
    }

    /// Has those that follow a grammar go on with it: what they may draw next, and what they need not draw.
    fn follow(&mut self, out: &mut Vec<Wrote>) -> Result<(), Error> {
        let (mut ids, mut texts) = (Vec::new(), Vec::new());
        for (id, text) in &mut self.texts {
            let token = text.drawn.take();
            if let (Some(token), Some(guide)) = (token, &mut text.guide) {
                ids.push(*id);
                texts.push((guide, token, self.engine.room(*id)));
            }
        }
        for (id, advance) in ids.into_iter().zip(advance_all(&mut texts)) {
            match advance {
                Ok(advance) => self.advanced(id, advance, out)?,
                Err(error) => self.fail(id, error, out)?,
            }
        }
        Ok(())
    }

    /// What a grammar says of a text.
    fn advanced(
        &mut self,
        id: SequenceId,
        advance: Advance,
        out: &mut Vec<Wrote>,
    ) -> Result<(), Error> {
        let Advance { forced, then } = advance;
        for token in &forced {
            self.write(id, *token, None, out)?;
        }
        if !self.texts.contains_key(&id) {
            return Ok(());
        }
        match then {
            Then::Done => {
                self.engine.cancel(id)?;
                self.finished(id, Ended::Token, out)
            }
            Then::Draw(mask) => {
                let taken = self.engine.extend(id, &forced)?;
                self.engine.mask(id, Some(mask))?;
                if taken == forced.len() {
                    return Ok(());
                }
                let message = format!("{taken} of {} known tokens found room", forced.len());
                let what = "following the grammar";
                self.fail(id, Error::Grammar { what, message }, out)
            }
        }
    }

    /// Ends a text with an error.
    fn fail(&mut self, id: SequenceId, error: Error, out: &mut Vec<Wrote>) -> Result<(), Error> {
        if self.texts.remove(&id).is_some() {
            out.push(Wrote::Failed { id, error });
        }
        self.engine.cancel(id).map(drop)
    }

    fn token(&mut self, id: SequenceId, token: u32, out: &mut Vec<Wrote>) -> Result<(), Error> {
        let Some(text) = self.texts.get_mut(&id) else {
            return Ok(());
        };
        text.drawn = Some(token);
        let is_text = !self.tokenizer.is_end_of_generation(token);
        let told = text.logprobs.filter(|_| is_text).and_then(|most| {
            let of = Logprobs::of(self.engine.logits(id)?);
            let ranked = |id: u32| (id, of.token(id));
            Some(Told {
                own: ranked(token),
                top: of.best(most).into_iter().map(ranked).collect(),
            })
        });
        self.begin(id, out)?;
        self.write(id, token, told, out)
    }

    /// Tells the tokens that the grammar begins with, if they are not told yet.
    fn begin(&mut self, id: SequenceId, out: &mut Vec<Wrote>) -> Result<(), Error> {
        let text = self.texts.get_mut(&id);
        let known = text.map(|text| std::mem::take(&mut text.known));
        for token in known.unwrap_or_default() {
            self.write(id, token, None, out)?;
        }
        Ok(())
    }

    /// Tells the text that a token makes certain, if there is no end yet.
    fn write(
        &mut self,
        id: SequenceId,
        token: u32,
        told: Option<Told>,
        out: &mut Vec<Wrote>,
    ) -> Result<(), Error> {
        let Some(own) = self.texts.get_mut(&id) else {
            return Ok(());
        };
        let (text, stopped) = match own.written.push(token) {
            Ok(Streamed::Text(text)) => (text, false),
            Ok(Streamed::Stopped { text, stop: _ }) => (text, true),
            Err(error) => return self.fail(id, error, out),
        };
        out.push(Wrote::Piece {
            id,
            token,
            text,
            told,
        });
        if stopped {
            self.texts.remove(&id);
            self.engine.cancel(id)?;
            out.push(Wrote::End {
                id,
                text: String::new(),
                finish: Finish::Stop,
            });
        }
        Ok(())
    }

    fn finished(
        &mut self,
        id: SequenceId,
        ended: Ended,
        out: &mut Vec<Wrote>,
    ) -> Result<(), Error> {
        // One that has nothing to draw comes to its end without a token.
        self.begin(id, out)?;
        let Some(mut own) = self.texts.remove(&id) else {
            return Ok(());
        };
        let complete = own.is_complete();
        out.push(match own.written.finish() {
            Ok(text) => Wrote::End {
                id,
                text,
                finish: match ended {
                    Ended::Token | Ended::Stopped => Finish::Stop,
                    Ended::Length | Ended::Context if complete => Finish::Stop,
                    Ended::Length => Finish::Length,
                    Ended::Context => Finish::Context,
                },
            },
            Err(error) => Wrote::Failed { id, error },
        });
        Ok(())
    }
}
