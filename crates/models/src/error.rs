//! The crate's errors: values that say what, where, expected and found.

use warpsmith_formats::quant::WeightType;

/// Everything that can go wrong in this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model file could not be read or lacks a key.
    #[error(transparent)]
    Format(#[from] warpsmith_formats::Error),
    /// The input asks for something this crate does not do.
    #[error("unsupported: {what}")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
    /// The tokenizer has no tokens at all.
    #[error("the vocabulary is empty")]
    EmptyVocabulary,
    /// Something the tokenizer needs is absent.
    #[error("the tokenizer lacks {what}")]
    Missing {
        /// The absent part.
        what: &'static str,
    },
    /// A per-token list is not as long as the list of tokens.
    #[error("{what} has {got} entries, expected {want}, one a token")]
    VocabularyLength {
        /// The list.
        what: &'static str,
        /// The number of tokens.
        want: usize,
        /// The number of entries found.
        got: usize,
    },
    /// A token's type is none of the known ones.
    #[error("token {id} has type {got}, expected 1 to 6")]
    TokenType {
        /// The token.
        id: usize,
        /// The type found.
        got: i32,
    },
    /// A token's score is not a finite number.
    #[error("token {id} has score {got}, expected a finite number")]
    TokenScore {
        /// The token.
        id: usize,
        /// The score found.
        got: f32,
    },
    /// A byte token's text is not `<0xHH>`.
    #[error("byte token {id} is {got:?}, expected <0xHH>")]
    ByteToken {
        /// The token.
        id: usize,
        /// Its text.
        got: String,
    },
    /// A merge rule cannot be used.
    #[error("merge {index} is {text:?}: {lacks:?} is not a token")]
    Merge {
        /// Its place in the list of merges.
        index: usize,
        /// The rule as written.
        text: String,
        /// The part that is not in the vocabulary.
        lacks: String,
    },
    /// A merge rule is not two pieces with a space between.
    #[error("merge {index} is {text:?}, expected two pieces with a space between")]
    MergeShape {
        /// Its place in the list of merges.
        index: usize,
        /// The rule as written.
        text: String,
    },
    /// A token id is not in the vocabulary.
    #[error("{what} is {id}, expected less than {vocab}")]
    TokenId {
        /// Where the id comes from.
        what: &'static str,
        /// The id.
        id: u32,
        /// The number of ids.
        vocab: usize,
    },
    /// A setting that names a token names none.
    #[error("{key} is {found}, expected a token, less than {vocab}")]
    TokenOutside {
        /// The setting, as the file spells it.
        key: String,
        /// Its value.
        found: String,
        /// The number of tokens.
        vocab: u32,
    },
    /// A tokenizer.json is malformed, or cannot handle the text.
    #[error("tokenizer.json: {message}")]
    TokenizerJson {
        /// The reason.
        message: String,
    },
    /// The crate that reads a tokenizer.json gave up in the middle.
    #[error("tokenizer.json: the tokenizers crate panicked while {doing}: {reason}")]
    TokenizerPanic {
        /// What it was doing.
        doing: &'static str,
        /// What it said.
        reason: String,
    },
    /// A part of a tokenizer.json asks for what cannot be done.
    #[error("tokenizer.json: {part}: {what}")]
    TokenizerPart {
        /// Where in the file.
        part: String,
        /// What is wrong with it.
        what: String,
    },
    /// A token that a tokenizer.json adds would get another number than the file says.
    #[error("tokenizer.json: added token {token:?} has id {want}, and its place is {got:?}")]
    AddedToken {
        /// Its text.
        token: String,
        /// The id in the file.
        want: u32,
        /// The id by the other tokens.
        got: Option<u32>,
    },
    /// A chat template does not parse or does not run.
    #[error("chat template, line {line}: {message}")]
    Template {
        /// The line, from 1; 0 if unknown.
        line: usize,
        /// The reason.
        message: String,
    },
    /// A chat template refused the conversation through `raise_exception`.
    #[error("the chat template refused the messages: {message}")]
    TemplateRefused {
        /// What the template said.
        message: String,
    },
    /// A chat template went beyond a limit.
    #[error("chat template went over its limit of {limit} {what}")]
    TemplateLimit {
        /// What ran out.
        what: &'static str,
        /// How much was allowed.
        limit: u64,
    },
    /// A grammar that answers were to follow cannot be used.
    #[error("{what}: {message}")]
    Grammar {
        /// Which kind of grammar.
        what: &'static str,
        /// What is wrong with it, by the keyword or the place.
        message: String,
    },
    /// A stop string is empty and would match everywhere.
    #[error("stop string {index} is empty")]
    EmptyStop {
        /// Its place in the list.
        index: usize,
    },
    /// A sampler setting is out of range.
    #[error("{field} is {got}, expected {want}")]
    Sampler {
        /// The setting.
        field: &'static str,
        /// The range allowed.
        want: &'static str,
        /// The value found.
        got: f32,
    },
    /// A setting of the model whose value would change the output, and that is done only where it does not.
    #[error("{key} is {found}, which is not supported: expected {want}")]
    Setting {
        /// The setting, as the file spells it.
        key: String,
        /// Its value.
        found: String,
        /// The values that are accepted.
        want: String,
    },
    /// A setting of the model that is not known here.
    #[error(
        "{key} is {found}, and it is not known here whether that changes the output: take it out of the file if it \
         does not"
    )]
    UnknownSetting {
        /// The setting, as the file spells it.
        key: String,
        /// Its value.
        found: String,
    },
    /// A vocabulary is not that of the Whisper model it came with.
    #[error(
        "the vocabulary is not that of a Whisper model of {vocab} tokens: token {token} is {}, expected {want}",
        found.map_or_else(|| "not there".to_owned(), |found| found.to_string())
    )]
    WhisperToken {
        /// The token.
        token: String,
        /// Where it is.
        found: Option<u32>,
        /// Where it should be.
        want: u32,
        /// The number of tokens of the model.
        vocab: u32,
    },
    /// A tensor that the model needs is not in the file.
    #[error("the file has no tensor `{name}`, which the model needs")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A tensor that no part of the model is: without it the output would be another one.
    #[error("tensor `{name}` would not be used: {why}")]
    UnusedTensor {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
    /// A tensor has a shape that does not fit the model.
    #[error("tensor `{name}` is {got:?}, expected {want:?} (slowest dimension first)")]
    TensorShape {
        /// Name in the file.
        name: String,
        /// Expected.
        want: Vec<u64>,
        /// Found.
        got: Vec<u64>,
    },
    /// A part of a model has another size than its configuration says.
    #[error("{what}: size {got}, expected {want}")]
    Size {
        /// Which part.
        what: &'static str,
        /// Expected.
        want: usize,
        /// Found.
        got: usize,
    },
    /// Heads that do not share out the width.
    #[error(
        "{heads} heads over a width of {width}, expected a divisor with at most 256 dimensions each"
    )]
    Heads {
        /// Width.
        width: u32,
        /// Heads.
        heads: u32,
    },
    /// A type that weights cannot be rounded to.
    #[error("weights cannot be rounded to `{got}`, expected q8_0, q5_1, q5_0, q4_1 or q4_0")]
    Rounding {
        /// The type asked for.
        got: String,
    },
    /// Weights that are larger than the blocks they would be rounded to can hold.
    #[error("tensor `{name}`, element {index}: too large for the half-precision scales of {ty}")]
    RoundingRange {
        /// Name in the file.
        name: String,
        /// The first element of the first such block.
        index: u64,
        /// The type of the blocks.
        ty: WeightType,
    },
    /// Weights that cannot be packed.
    #[error(transparent)]
    Pack(#[from] warpsmith_library::weights::PackError),
    /// More tokens than the context holds.
    #[error("the context holds {context} tokens: {have} are in it, {more} more do not fit")]
    ContextFull {
        /// Capacity.
        context: u32,
        /// Tokens in it.
        have: u32,
        /// Tokens to add.
        more: usize,
    },
    /// No page is free for a sequence that needs one.
    #[error("sequence {sequence} needs a page and none of {pages} is free")]
    OutOfPages {
        /// Whose.
        sequence: u64,
        /// Pages that there are.
        pages: u32,
    },
    /// A setting of an engine is out of its range.
    #[error("{field} is {got}, expected {want}")]
    EngineOption {
        /// The setting.
        field: &'static str,
        /// The range allowed.
        want: &'static str,
        /// The value found.
        got: u32,
    },
    /// As many sequences run as there are places for.
    #[error("all {sequences} places for sequences are taken")]
    NoSlot {
        /// Places.
        sequences: u32,
    },
    /// No sequence of this number runs.
    #[error("no sequence {sequence} is running")]
    NoSequence {
        /// The number.
        sequence: u64,
    },
    /// Nothing was evaluated yet.
    #[error("there are no logits yet: evaluate a prompt first")]
    NoLogits,
    /// Logits from which no token can be drawn: one is NaN or plus infinity, or all are minus infinity.
    #[error("{}", not_finite(*sequence, *position, *found))]
    NotFinite {
        /// Whose, where there are several.
        sequence: Option<u64>,
        /// The position of the token that they follow, from 0.
        position: u32,
        /// How many are NaN or infinite, and of how many, where they were counted.
        found: Option<[usize; 2]>,
    },
    /// All tokens are ruled out.
    #[error(
        "no token is allowed after position {position}: all are suppressed, ruled out or impossible"
    )]
    NoToken {
        /// The position of the token that it would follow, from 0.
        position: u32,
    },
    /// The keys and values do not fit into the device's memory.
    #[error(
        "the keys and values of {} of {context} tokens, {positions} positions in all, need {needed} bytes of device memory, \
         {free} are free: fewer sequences or pages, or a shorter context, need less",
        sequences_of(*.sequences)
    )]
    CacheTooLarge {
        /// Sequences at once.
        sequences: u32,
        /// Tokens of each at most.
        context: u32,
        /// Positions that they have together.
        positions: u64,
        /// Bytes of all layers.
        needed: u64,
        /// Bytes that were free before the first.
        free: u64,
    },
    /// From the sound.
    #[error(transparent)]
    Audio(#[from] warpsmith_audio::Error),
    /// From the graph.
    #[error(transparent)]
    Graph(Box<warpsmith_graph::Error>),
    /// From the device.
    #[error(transparent)]
    Device(Box<warpsmith_device::Error>),
}

fn sequences_of(count: u32) -> String {
    match count {
        1 => "a sequence".to_owned(),
        many => format!("{many} sequences"),
    }
}

fn not_finite(sequence: Option<u64>, position: u32, found: Option<[usize; 2]>) -> String {
    let whose = sequence.map_or(String::new(), |sequence| format!(" of sequence {sequence}"));
    let counted = found.map_or(String::new(), |[odd, all]| {
        format!(" ({odd} of {all} are NaN or infinite)")
    });
    format!(
        "the logits after position {position}{whose} are not finite{counted}: a weight is damaged, or a value left the \
         range of its type"
    )
}

impl From<warpsmith_graph::Error> for Error {
    fn from(error: warpsmith_graph::Error) -> Error {
        Error::Graph(Box::new(error))
    }
}

impl From<warpsmith_device::Error> for Error {
    fn from(error: warpsmith_device::Error) -> Error {
        Error::Device(Box::new(error))
    }
}
