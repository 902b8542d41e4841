//! Embeddings: a vector of unit length for a text, from the hidden states of its tokens.

use super::{
    evaluate::{CHUNK, Evaluated},
    session::Session,
};
use crate::Error;

/// Which hidden states a text's vector is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// The last one.
    Last,
}

impl Session {
    /// Forgets all tokens, appends `ids` and gives their embedding: the states `h` after the last norm, pooled and divided
    /// by their length, `e = p / |p|` with `p = sum(h[t]) / n` or `p = h[n - 1]`, summed up in f64. As many numbers as the
    /// model is wide. With [`Pooling::Mean`] all states come back, 4 bytes for each number.
    ///
    /// # Errors
    /// [`Error::NoLogits`] without tokens; [`Error::ContextFull`], [`Error::TokenId`]; [`Error::NotFinite`] for states that
    /// have no length.
    pub fn embed(&mut self, ids: &[u32], pooling: Pooling) -> Result<Vec<f32>, Error> {
        self.reset();
        self.check(ids)?;
        let mut pooled: Vec<f64> = Vec::new();
        for chunk in ids.chunks(CHUNK) {
            let (mut graph, mut hidden) = self.hidden_of(chunk)?;
            let count = match pooling {
                Pooling::Mean => chunk.len(),
                Pooling::Last => {
                    hidden = graph.rows(hidden, chunk.len() as u32 - 1, 1)?;
                    1
                }
            };
            let Evaluated {
                plan,
                logits: hidden,
            } = self.chunk(chunk, graph, hidden)?;
            let rows = self.stream.download(plan.floats(hidden)?)?.wait()?;
            let width = rows.len() / count;
            if pooling == Pooling::Last || pooled.is_empty() {
                pooled = vec![0.0; width];
            }
            for row in rows.chunks_exact(width) {
                for (sum, x) in pooled.iter_mut().zip(row) {
                    *sum += f64::from(*x);
                }
            }
        }
        if pooled.is_empty() {
            return Err(Error::NoLogits);
        }
        let length = pooled.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return Err(Error::NotFinite {
                sequence: None,
                position: self.len() - 1,
                found: None,
            });
        }
        Ok(pooled.iter().map(|x| (x / length) as f32).collect())
    }
}
