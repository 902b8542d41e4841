//! CTranslate2's `model.bin` of a Whisper model, binary version 6.
//!
//! Little-endian and packed. A string is a 16-bit length that counts a trailing NUL, then its bytes.
//! The file is the version, the specification's name and revision, a list of variables (name, rank,
//! dimensions slowest first, type, size, data) and a list of aliases.

use std::collections::{HashMap, HashSet};

use super::folder::{Config, Heads};
use super::table::Table;
use super::{Format, Settings, TensorInfo, dims};
use crate::Error;
use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::quant::WeightType;

const VERSION: u32 = 6;
const SPEC: &str = "WhisperSpec";
/// The only revision of the specification that is made today.
const REVISION: u32 = 3;
const MAX_RANK: u8 = 4;
/// A name of one byte, rank, type and size.
const MIN_VARIABLE_BYTES: u64 = 4 + 1 + 1 + 4;
/// Two names of one byte.
const MIN_ALIAS_BYTES: u64 = 8;
/// More bytes than this are no whole number.
const MOST_OF_A_NUMBER: u64 = 8;
/// Exact GELU in CTranslate2's list of activations.
const GELU: i64 = 3;

/// Whether a file begins like one of CTranslate2's: a small version, then a specification's name.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let Some((version, rest)) = bytes.split_first_chunk::<4>() else {
        return false;
    };
    let named = |(len, text): (&[u8; 2], &[u8])| {
        let len = usize::from(u16::from_le_bytes(*len));
        text.get(..len)
            .is_some_and(|name| name.ends_with(b"Spec\0"))
    };
    (1..=16).contains(&u32::from_le_bytes(*version))
        && rest.split_first_chunk::<2>().is_some_and(named)
}

/// A variable, of whatever type.
struct Variable {
    shape: Vec<u64>,
    kind: Kind,
    offset: u64,
    bytes: u64,
}

/// An element type of the format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Weight(WeightType),
    I8,
    I16,
    I32,
}

impl Kind {
    fn new(id: u8) -> Option<(Kind, u64)> {
        Some(match id {
            0 => (Kind::Weight(WeightType::F32), 4),
            1 => (Kind::I8, 1),
            2 => (Kind::I16, 2),
            3 => (Kind::I32, 4),
            4 => (Kind::Weight(WeightType::F16), 2),
            5 => (Kind::Weight(WeightType::BF16), 2),
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Weight(ty) => ty.name(),
            Kind::I8 => "INT8",
            Kind::I16 => "INT16",
            Kind::I32 => "INT32",
        }
    }
}

pub(super) fn read(bytes: Bytes, config: Option<&Config>) -> Result<Table, Error> {
    let variables = variables(&bytes)?;
    let whole = |name: &str| -> Result<Option<i64>, Error> {
        let Some(variable) = variables.get(name) else {
            return Ok(None);
        };
        let mut data = Vec::new();
        let len = variable.bytes.min(MOST_OF_A_NUMBER);
        bytes.read(variable.offset, len, &mut data)?;
        let number = match (variable.kind, &data[..]) {
            (Kind::I8, &[a]) => i64::from(a as i8),
            (Kind::I16, &[a, b]) => i64::from(i16::from_le_bytes([a, b])),
            (Kind::I32, &[a, b, c, d]) => i64::from(i32::from_le_bytes([a, b, c, d])),
            (Kind::I8 | Kind::I16 | Kind::I32 | Kind::Weight(_), _) => {
                return Err(Error::Field {
                    field: name.to_owned(),
                    found: format!("{} bytes of {}", variable.bytes, variable.kind.name()),
                    want: "one whole number",
                });
            }
        };
        Ok(Some(number))
    };
    for (name, want, says) in [
        ("decoder/activation", GELU, "3 (exact GELU)"),
        ("decoder/pre_norm", 1, "1"),
        ("decoder/scale_embeddings", 0, "0"),
        ("decoder/start_from_zero_embedding", 0, "0"),
        ("decoder/alibi", 0, "0"),
    ] {
        if let Some(found) = whole(name)?.filter(|&found| found != want) {
            return Err(Error::Field {
                field: name.to_owned(),
                found: found.to_string(),
                want: says,
            });
        }
    }
    let heads = |name: &str| -> Result<Option<u32>, Error> {
        match whole(name)? {
            None => Ok(None),
            Some(found) => match u32::try_from(found) {
                Ok(heads) if heads > 0 => Ok(Some(heads)),
                Ok(_) | Err(_) => Err(Error::Field {
                    field: name.to_owned(),
                    found: found.to_string(),
                    want: "at least 1",
                }),
            },
        }
    };
    let (audio, text) = (heads("encoder/num_heads")?, heads("decoder/num_heads")?);

    let mut tensors: Vec<TensorInfo> = Vec::new();
    // In the order of names, so that the same error is found each time.
    let mut names: Vec<&String> = variables.keys().collect();
    names.sort_unstable();
    for name in names {
        tensors.extend(canonical(name, &variables[name])?);
    }
    let mut table = Table {
        format: Format::CTranslate2,
        parts: vec![bytes],
        tensors: HashMap::new(),
        dims: None,
        settings: Settings::default(),
    };
    for tensor in tensors {
        table.add(tensor)?;
    }
    let heads = Heads {
        encoder: audio,
        decoder: text,
    };
    table.dims = Some(dims::infer(&table.tensors, config, heads)?);
    Ok(table)
}

/// Every variable by name, aliases included.
fn variables(bytes: &Bytes) -> Result<HashMap<String, Variable>, Error> {
    let mut cursor = Cursor::new(bytes);
    let version = cursor.u32(&"binary version")?;
    if version != VERSION {
        return Err(field("binary version", version, "6"));
    }
    let spec = string(&mut cursor, &"name of the specification")?;
    if spec != SPEC {
        return Err(field("specification", spec, SPEC));
    }
    let revision = cursor.u32(&"revision of the specification")?;
    if revision != REVISION {
        return Err(field("revision of the specification", revision, "3"));
    }
    let count = cursor.u32(&"number of variables")?;
    let count = cursor.require(count.into(), MIN_VARIABLE_BYTES, &"list of variables")?;
    let mut variables = HashMap::with_capacity(count);
    for i in 0..count {
        let name = string(&mut cursor, &format_args!("name of variable number {i}"))?;
        let variable = variable(&mut cursor, &name)?;
        if variables.insert(name.clone(), variable).is_some() {
            return Err(Error::DuplicateTensor { tensor: name });
        }
    }
    let aliases = cursor.u32(&"number of aliases")?;
    let aliases = cursor.require(aliases.into(), MIN_ALIAS_BYTES, &"list of aliases")?;
    let mut seen = HashSet::new();
    for i in 0..aliases {
        let alias = string(&mut cursor, &format_args!("alias number {i}"))?;
        let of = string(&mut cursor, &format_args!("target of alias {alias}"))?;
        let Some(target) = variables.get(&of) else {
            return Err(Error::NoTensor { tensor: of });
        };
        if !seen.insert(alias.clone()) || variables.contains_key(&alias) {
            return Err(Error::DuplicateTensor { tensor: alias });
        }
        // The only sharing a Whisper model has; others would be copied under both names.
        if alias == PROJECTION {
            if of != EMBEDDING {
                return Err(not_tied());
            }
        } else {
            let copy = Variable {
                shape: target.shape.clone(),
                ..*target
            };
            variables.insert(alias, copy);
        }
    }
    if !cursor.is_at_end() {
        return Err(field(
            "length of the file",
            bytes.len(),
            "the end of the list of aliases",
        ));
    }
    Ok(variables)
}

const EMBEDDING: &str = "decoder/embeddings/weight";
const PROJECTION: &str = "decoder/projection/weight";

fn not_tied() -> Error {
    Error::Unsupported {
        what: format!("output projection {PROJECTION}, which is not the token embedding,"),
    }
}

fn variable(cursor: &mut Cursor<'_>, name: &str) -> Result<Variable, Error> {
    let rank = cursor.number::<1>(&format_args!("rank of variable {name}"))?[0];
    if rank > MAX_RANK {
        return Err(Error::Rank {
            tensor: name.to_owned(),
            found: rank.into(),
        });
    }
    let what = format_args!("dimensions of variable {name}");
    let shape = cursor.numbers(rank.into(), &what, |dim| u64::from(u32::from_le_bytes(dim)))?;
    let id = cursor.number::<1>(&format_args!("type of variable {name}"))?[0];
    let Some((kind, width)) = Kind::new(id) else {
        return Err(Error::ElementType {
            tensor: name.to_owned(),
            found: format!("CTranslate2 type {id}"),
        });
    };
    let want = shape
        .iter()
        .try_fold(width, |product, &dim| product.checked_mul(dim))
        .ok_or_else(|| Error::SizeOverflow {
            tensor: name.to_owned(),
            dims: shape.clone(),
        })?;
    let bytes = u64::from(cursor.u32(&format_args!("size of variable {name}"))?);
    if bytes != want {
        return Err(Error::Length {
            what: format!("data of variable {name}"),
            want,
            found: bytes,
        });
    }
    let offset = cursor.at();
    cursor.skip(bytes, &format_args!("data of variable {name}"))?;
    Ok(Variable {
        shape,
        kind,
        offset,
        bytes,
    })
}

fn string(cursor: &mut Cursor<'_>, what: &dyn std::fmt::Display) -> Result<String, Error> {
    let len = u16::from_le_bytes(cursor.number(what)?);
    let at = cursor.at();
    let bytes = cursor.take(len.into(), what)?;
    let Some((0, text)) = bytes.split_last() else {
        return Err(Error::Field {
            field: what.to_string(),
            found: format!("{len} bytes"),
            want: "text that ends in NUL",
        });
    };
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Error::Utf8 {
            what: what.to_string(),
            at,
        }),
    }
}

fn field(name: &str, found: impl ToString, want: &'static str) -> Error {
    Error::Field {
        field: name.to_owned(),
        found: found.to_string(),
        want,
    }
}

/// Whole numbers that are looked at by themselves, or that say what words' times are taken from, as `alignment_heads`
/// of a configuration does.
const SCALARS: [&str; 9] = [
    "decoder/activation",
    "decoder/alibi",
    "decoder/alignment_heads",
    "decoder/alignment_layer",
    "decoder/num_heads",
    "decoder/pre_norm",
    "decoder/scale_embeddings",
    "decoder/start_from_zero_embedding",
    "encoder/num_heads",
];

/// The tensors that a variable holds, by OpenAI's names; none of a scalar that is known.
fn canonical(name: &str, variable: &Variable) -> Result<Vec<TensorInfo>, Error> {
    if name == PROJECTION {
        return Err(not_tied());
    }
    if SCALARS.contains(&name) {
        return Ok(Vec::new());
    }
    let unknown = || Error::UnusedTensor {
        tensor: name.to_owned(),
        why: "a Whisper model has no such variable here".to_owned(),
    };
    let Some((side @ ("encoder" | "decoder"), rest)) = name.split_once('/') else {
        return Err(unknown());
    };
    let top = match (side, rest) {
        (_, "position_encodings/encodings") => Some("positional_embedding"),
        ("encoder", "layer_norm/gamma") => Some("ln_post.weight"),
        ("encoder", "layer_norm/beta") => Some("ln_post.bias"),
        ("decoder", "layer_norm/gamma") => Some("ln.weight"),
        ("decoder", "layer_norm/beta") => Some("ln.bias"),
        ("decoder", "embeddings/weight") => Some("token_embedding.weight"),
        ("encoder", "conv1/weight") => Some("conv1.weight"),
        ("encoder", "conv1/bias") => Some("conv1.bias"),
        ("encoder", "conv2/weight") => Some("conv2.weight"),
        ("encoder", "conv2/bias") => Some("conv2.bias"),
        _ => None,
    };
    if let Some(ours) = top {
        return rows(name, variable, &[&format!("{side}.{ours}")]);
    }
    let layer = rest
        .strip_prefix("layer_")
        .and_then(|rest| rest.split_once('/'));
    let (layer, part) = layer.ok_or_else(unknown)?;
    let layer: u32 = layer.parse().map_err(|_| unknown())?;
    let (stem, kind) = part.rsplit_once('/').ok_or_else(unknown)?;
    let ours: &[&str] = match stem {
        "self_attention/layer_norm" => &["attn_ln"],
        "self_attention/linear_0" => &["attn.query", "attn.key", "attn.value"],
        "self_attention/linear_1" => &["attn.out"],
        "attention/layer_norm" => &["cross_attn_ln"],
        "attention/linear_0" => &["cross_attn.query"],
        "attention/linear_1" => &["cross_attn.key", "cross_attn.value"],
        "attention/linear_2" => &["cross_attn.out"],
        "ffn/layer_norm" => &["mlp_ln"],
        "ffn/linear_0" => &["mlp.0"],
        "ffn/linear_1" => &["mlp.2"],
        _ => return Err(unknown()),
    };
    let kind = match kind {
        "weight" | "gamma" => "weight",
        "bias" | "beta" => "bias",
        "weight_scale" | "weight_zero" => {
            return Err(Error::Unsupported {
                what: format!("quantised CTranslate2 weight ({name})"),
            });
        }
        _ => return Err(unknown()),
    };
    let ours: Vec<String> = ours
        .iter()
        .map(|ours| format!("{side}.blocks.{layer}.{ours}.{kind}"))
        .collect();
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    rows(name, variable, &ours)
}

/// Splits a variable's rows evenly among `names`.
///
/// A key's bias is left out: it moves all scores of a query alike, so the softmax does not see it.
fn rows(theirs: &str, variable: &Variable, names: &[&str]) -> Result<Vec<TensorInfo>, Error> {
    let Kind::Weight(dtype) = variable.kind else {
        return Err(Error::ElementType {
            tensor: theirs.to_owned(),
            found: variable.kind.name().to_owned(),
        });
    };
    let Some(&all) = variable.shape.first() else {
        return Err(Error::Rank {
            tensor: theirs.to_owned(),
            found: 0,
        });
    };
    let parts = names.len() as u64;
    if !all.is_multiple_of(parts) {
        return Err(Error::Field {
            field: format!("number of rows of {theirs}"),
            found: all.to_string(),
            want: "the same for each matrix in it",
        });
    }
    let mut shape = variable.shape.clone();
    shape[0] = all / parts;
    let bytes = variable.bytes / parts;
    let infos = names.iter().zip(0..).map(|(name, at)| TensorInfo {
        name: (*name).to_owned(),
        shape: shape.clone(),
        dtype,
        offset: variable.offset + at * bytes,
        bytes,
        part: 0,
    });
    Ok(infos
        .filter(|info| !info.name.ends_with(".key.bias"))
        .collect())
}
