//! Which cross-attention heads of the decoder follow the audio.

use warpsmith_formats::whisper::{Dims, WhisperFile};

use crate::Error;

/// The heads of a published model, known by its sizes.
struct Known {
    layers: u32,
    heads: u32,
    n_vocab: u32,
    /// Each a layer and a head.
    follow: &'static [[u32; 2]],
}

/// As OpenAI published them. Of the large models of one size, this is the second.
const KNOWN: [Known; 11] = [
    // tiny.en
    Known {
        layers: 4,
        heads: 6,
        n_vocab: 51864,
        follow: &[
            [1, 0],
            [2, 0],
            [2, 5],
            [3, 0],
            [3, 1],
            [3, 2],
            [3, 3],
            [3, 4],
        ],
    },
    // tiny
    Known {
        layers: 4,
        heads: 6,
        n_vocab: 51865,
        follow: &[[2, 2], [3, 0], [3, 2], [3, 3], [3, 4], [3, 5]],
    },
    // base.en
    Known {
        layers: 6,
        heads: 8,
        n_vocab: 51864,
        follow: &[[3, 3], [4, 7], [5, 1], [5, 5], [5, 7]],
    },
    // base
    Known {
        layers: 6,
        heads: 8,
        n_vocab: 51865,
        follow: &[
            [3, 1],
            [4, 2],
            [4, 3],
            [4, 7],
            [5, 1],
            [5, 2],
            [5, 4],
            [5, 6],
        ],
    },
    // small.en
    Known {
        layers: 12,
        heads: 12,
        n_vocab: 51864,
        follow: &[
            [6, 6],
            [7, 0],
            [7, 3],
            [7, 8],
            [8, 2],
            [8, 5],
            [8, 7],
            [9, 0],
            [9, 4],
            [9, 8],
            [9, 10],
            [10, 0],
            [10, 1],
            [10, 2],
            [10, 3],
            [10, 6],
            [10, 11],
            [11, 2],
            [11, 4],
        ],
    },
    // small
    Known {
        layers: 12,
        heads: 12,
        n_vocab: 51865,
        follow: &[
            [5, 3],
            [5, 9],
            [8, 0],
            [8, 4],
            [8, 7],
            [8, 8],
            [9, 0],
            [9, 7],
            [9, 9],
            [10, 5],
        ],
    },
    // medium.en
    Known {
        layers: 24,
        heads: 16,
        n_vocab: 51864,
        follow: &[
            [11, 4],
            [14, 1],
            [14, 12],
            [14, 14],
            [15, 4],
            [16, 0],
            [16, 4],
            [16, 9],
            [17, 12],
            [17, 14],
            [18, 7],
            [18, 10],
            [18, 15],
            [20, 0],
            [20, 3],
            [20, 9],
            [20, 14],
            [21, 12],
        ],
    },
    // medium
    Known {
        layers: 24,
        heads: 16,
        n_vocab: 51865,
        follow: &[[13, 15], [15, 4], [15, 15], [16, 1], [20, 0], [23, 4]],
    },
    // large-v2
    Known {
        layers: 32,
        heads: 20,
        n_vocab: 51865,
        follow: &[
            [10, 12],
            [13, 17],
            [16, 11],
            [16, 12],
            [16, 13],
            [17, 15],
            [17, 16],
            [18, 4],
            [18, 11],
            [18, 19],
            [19, 11],
            [21, 2],
            [21, 3],
            [22, 3],
            [22, 9],
            [22, 12],
            [23, 5],
            [23, 7],
            [23, 13],
            [25, 5],
            [26, 1],
            [26, 12],
            [27, 15],
        ],
    },
    // large-v3
    Known {
        layers: 32,
        heads: 20,
        n_vocab: 51866,
        follow: &[
            [7, 0],
            [10, 17],
            [12, 18],
            [13, 12],
            [16, 1],
            [17, 14],
            [19, 11],
            [21, 4],
            [24, 1],
            [25, 6],
        ],
    },
    // turbo
    Known {
        layers: 4,
        heads: 20,
        n_vocab: 51866,
        follow: &[[2, 4], [2, 11], [3, 3], [3, 6], [3, 11], [3, 14]],
    },
];

/// The heads of a model that follow the audio, each a layer and a head: as its configuration says, else as
/// published for its size, else all heads of the later half of its layers.
///
/// # Errors
/// [`Error::Unsupported`] for a configuration that names a head that the model does not have.
pub fn alignment_heads(file: &WhisperFile) -> Result<Vec<[u32; 2]>, Error> {
    let dims = file.dims();
    let Some(named) = &file.settings().alignment_heads else {
        return Ok(usual(dims));
    };
    let lacks = |[layer, head]: &[u32; 2]| *layer >= dims.n_text_layer || *head >= dims.n_text_head;
    match named.iter().find(|head| lacks(head)) {
        Some([layer, head]) => Err(Error::Unsupported {
            what: format!("alignment head {head} of layer {layer}"),
        }),
        None if named.is_empty() => Ok(usual(dims)),
        None => Ok(named.clone()),
    }
}

fn usual(dims: &Dims) -> Vec<[u32; 2]> {
    let known = KNOWN.iter().find(|known| {
        (known.layers, known.heads, known.n_vocab)
            == (dims.n_text_layer, dims.n_text_head, dims.n_vocab)
    });
    match known {
        Some(known) => known.follow.to_vec(),
        None => (dims.n_text_layer / 2..dims.n_text_layer)
            .flat_map(|layer| (0..dims.n_text_head).map(move |head| [layer, head]))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(layers: u32, heads: u32, n_vocab: u32) -> Dims {
        Dims {
            n_mels: 80,
            n_audio_ctx: 1500,
            n_audio_state: 64 * heads,
            n_audio_head: heads,
            n_audio_layer: layers,
            n_text_ctx: 448,
            n_text_state: 64 * heads,
            n_text_head: heads,
            n_text_layer: layers,
            n_vocab,
        }
    }

    #[test]
    fn published_heads_are_in_their_models() {
        for known in &KNOWN {
            let heads = usual(&dims(known.layers, known.heads, known.n_vocab));
            assert_eq!(heads, known.follow);
            assert!(!heads.is_empty());
            for [layer, head] in heads {
                assert!(layer < known.layers && head < known.heads);
            }
        }
    }

    #[test]
    fn an_unknown_model_takes_the_later_half() {
        let heads = usual(&dims(3, 2, 512));
        assert_eq!(heads, [[1, 0], [1, 1], [2, 0], [2, 1]]);
    }
}
