//! A small model as a tensor graph: it says which letter followed the last one most often so far.
//!
//! It is a transformer's induction head (Olsson et al., 2022) with weights that need no training. Letters are embedded
//! as unit vectors. The last letter is the query; each letter before is a key, and the letter after it is the value. A
//! scale of 40 lets equal letters alone be seen, so attention gives the share of each letter among those that followed.
//!
//! ```
//! use small_model::Successor;
//! use warpsmith::device::{Device, Selector};
//!
//! let stream = Device::open(&Selector::virtual_gpu())?.stream()?; // `Selector::Auto` takes a card where there is one
//! let mut model = Successor::new(&stream, 9)?;
//! let next = model.next("abcabdabc")?;
//! assert_eq!((next.letter, next.share), ('a', 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{error::Error, sync::Arc};
use warpsmith::{
    device::{Buffer, Replay, Stream},
    graph::{At, Attention, Cache, Graph, MatMul, Node, Plan, Precision, Seen, Weights},
    library::{attention::CacheType, epilogue::Activation},
};

/// Letters that it knows: a space and `a` to `z`, and room up to a size that kernels like.
const LETTERS: u32 = 32;
/// What equal letters score above others: e^-40 is nothing beside 1.
const SCALE: f32 = 40.0;

/// The model, planned for texts of one length.
pub struct Successor {
    stream: Stream,
    ids: Buffer<u32>,
    plan: Plan,
    replay: Replay,
    shares: Node,
    best: Node,
}

/// What the model expects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// The letter; the first of the alphabet among equals.
    pub letter: char,
    /// Its share among the letters that followed, 0 to 1.
    pub share: f32,
}

impl Successor {
    /// Plans the model for texts of `len` letters, at least 2.
    ///
    /// # Errors
    /// A text of fewer letters; device errors.
    pub fn new(stream: &Stream, len: u32) -> Result<Successor, Box<dyn Error>> {
        if len < 2 {
            return Err(format!("a text has at least 2 letters, not {len}").into());
        }
        let identity: Vec<f32> = (0..LETTERS * LETTERS)
            .map(|at| {
                if at / LETTERS == at % LETTERS {
                    1.0
                } else {
                    0.0
                }
            })
            .collect();
        let letters = Weights::of_floats(stream, "letters", &identity, [LETTERS, LETTERS])?;
        let letters = Arc::new(letters);
        let cache = Cache::new(stream, CacheType::F32, [1, len - 1, LETTERS])?;
        let cache = Arc::new(cache);
        let mut ids = stream.alloc(len as usize)?;
        stream.fill_zero(&mut ids)?;
        let seen = stream.upload_new(&[len - 1])?;

        let mut graph = Graph::new();
        let (text, visible) = (graph.ids(&ids), graph.ids(&seen));
        let embedded = graph.embed(&letters, text)?; // [len, LETTERS]
        let keys = graph.rows(embedded, 0, len - 1)?;
        let values = graph.rows(embedded, 1, len - 1)?;
        let q = graph.rows(embedded, len - 1, 1)?;
        graph.append([keys, values], At::From(0), &cache)?;
        let followed = graph.attend(Attention {
            q,
            visible,
            cache,
            heads: 1,
            scale: SCALE,
            seen: Some(Seen::First { len: len - 1 }),
            sources: None,
        })?;
        let shares = graph.matmul(MatMul {
            x: followed,
            weights: letters,
            bias: None,
            activation: Activation::None,
            residual: None,
        })?;
        let best = graph.argmax(shares)?;
        graph.keep(shares)?;
        graph.keep(best)?;

        let plan = Plan::new(stream, &graph, Precision::Exact)?;
        let replay = plan.capture(stream)?;
        Ok(Successor {
            stream: stream.clone(),
            ids,
            plan,
            replay,
            shares,
            best,
        })
    }

    /// The letter that followed the last one of `text` most often; a letter that is new is followed by all alike.
    ///
    /// # Errors
    /// A text of another length than was planned, other letters than a space and `a` to `z`; device errors.
    pub fn next(&mut self, text: &str) -> Result<Next, Box<dyn Error>> {
        let ids: Vec<u32> = text.chars().map(id).collect::<Result<_, _>>()?;
        self.stream.upload(&mut self.ids, &ids)?;
        self.stream.replay(&self.replay)?; // all operations in one enqueue
        let best = self.stream.download(self.plan.ids(self.best)?)?.wait()?[0];
        let shares = self.stream.download(self.plan.floats(self.shares)?)?;
        Ok(Next {
            letter: letter(best),
            share: shares.wait()?[best as usize],
        })
    }

    /// Launches that a text takes.
    pub fn launches(&self) -> usize {
        self.plan.report().launches
    }
}

fn id(letter: char) -> Result<u32, String> {
    match letter {
        ' ' => Ok(0),
        'a'..='z' => Ok(letter as u32 - 'a' as u32 + 1),
        _ => Err(format!("the letter {letter:?} is none of a to z")),
    }
}

fn letter(id: u32) -> char {
    match id {
        0 => ' ',
        _ => char::from(b'a' + (id - 1) as u8),
    }
}
