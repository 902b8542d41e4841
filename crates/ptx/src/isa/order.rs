//! Qualifiers in an order of their own: NVIDIA's assembler takes most of them in any, the table has one.

use super::{TABLE, form, pattern, space_of};
use crate::{
    op::Op,
    qual::{Qual, Quals},
};

/// Qualifiers that belong to the opcode and stand right behind it: `mul.lo`, `wmma.load.a`.
fn fixed(op: Op, words: &[Qual]) -> Option<usize> {
    let first = words.first()?;
    Some(match op {
        Op::Mul | Op::Mul24 | Op::Mad | Op::Mad24 | Op::Madc => {
            let half = |word: &Qual| matches!(word, Qual::Lo | Qual::Hi | Qual::Wide);
            match words.iter().position(half) {
                None => 0,
                Some(0) => 1,
                Some(_) => return None,
            }
        }
        Op::Wmma => match first {
            Qual::Mma => 1,
            Qual::Load | Qual::Store => 2,
            _ => return None,
        },
        Op::Shf if matches!(first, Qual::L | Qual::R) => 1,
        Op::Cvta => match words.iter().position(|word| *word == Qual::To) {
            None => 0,
            Some(0) => 1,
            Some(_) => return None,
        },
        Op::Barrier if !words.contains(&Qual::Cluster) => 0,
        Op::Cvt | Op::Suld | Op::Sust | Op::Sured => {
            usize::from(matches!(first, Qual::Pack | Qual::B | Qual::P))
        }
        Op::Cp => match words {
            [Qual::Async, Qual::Bulk | Qual::Mbarrier, ..] => return None,
            [Qual::Async, ..] => 1,
            _ => return None,
        },
        // What stands where changes what these are.
        Op::Bar
        | Op::Barrier
        | Op::Clusterlaunchcontrol
        | Op::Createpolicy
        | Op::Griddepcontrol
        | Op::Mbarrier
        | Op::Multimem
        | Op::Setmaxnreg
        | Op::Shf
        | Op::Tcgen05
        | Op::Tensormap
        | Op::Wgmma => return None,
        Op::Red | Op::St if *first == Qual::Async => return None,
        _ => 0,
    })
}

/// Qualifiers whose order among themselves says which operand they are about.
fn class(word: Qual) -> Option<u8> {
    match word {
        Qual::T(_) => Some(0),
        Qual::Row | Qual::Col => Some(1),
        word => space_of(word).map(|_| 2),
    }
}

/// The order of the table for qualifiers that some row has in another one; `None` if none has them.
///
/// Types keep their order, and so do state spaces and layouts.
pub fn canonical(op: Op, quals: &Quals) -> Option<Quals> {
    let words = quals.as_slice();
    let fixed = words.get(..fixed(op, words)?)?;
    let rows = TABLE.by_op.get(&op)?.clone();
    rows.filter_map(|at| {
        let places = pattern::places(&TABLE.rows[at].items);
        let mut fill = Fill {
            places: &places,
            left: words.to_vec(),
            taken: Vec::with_capacity(words.len()),
            fixed,
        };
        fill.from(0).then(|| Quals::new(&fill.taken))
    })
    .find(|found| form(op, found).is_some())
}

/// One way to give each qualifier a place of a row.
struct Fill<'p> {
    places: &'p [(&'p [(Qual, pattern::Need)], bool)],
    left: Vec<Qual>,
    taken: Vec<Qual>,
    fixed: &'p [Qual],
}

impl Fill<'_> {
    fn from(&mut self, place: usize) -> bool {
        let Some((words, optional)) = self.places.get(place) else {
            return self.left.is_empty() && self.taken.starts_with(self.fixed);
        };
        if self.left.len() > self.places.len() - place {
            return false;
        }
        for at in 0..self.left.len() {
            let word = self.left[at];
            let first_of_class = class(word).is_none_or(|class_of| {
                self.left[..at]
                    .iter()
                    .all(|before| class(*before) != Some(class_of))
            });
            if first_of_class && words.iter().any(|(known, _)| *known == word) {
                self.left.remove(at);
                self.taken.push(word);
                if self.from(place + 1) {
                    return true;
                }
                self.taken.pop();
                self.left.insert(at, word);
            }
        }
        *optional && self.from(place + 1)
    }
}

/// Whether the manual has forms of an opcode that the table has not, so that one that is not in it may be right.
pub fn is_open(op: Op, quals: &Quals) -> bool {
    match op {
        Op::Tcgen05
        | Op::Tensormap
        | Op::Wgmma
        | Op::Wmma
        | Op::Mma
        | Op::Ldmatrix
        | Op::Stmatrix
        | Op::Cp
        | Op::Multimem
        | Op::Tex
        | Op::Tld4
        | Op::Txq
        | Op::Suld
        | Op::Sust
        | Op::Sured
        | Op::Suq
        | Op::Istypep
        | Op::Createpolicy
        | Op::Clusterlaunchcontrol
        | Op::Fence
        | Op::Mbarrier
        | Op::Prefetch
        | Op::Vmad
        | Op::Cvt => true,
        Op::Red | Op::St => quals.has(Qual::Async) || quals.has(Qual::Bulk),
        _ => false,
    }
}

/// How qualifiers begin that the manual has and the table does not.
const OTHER_WORDS: &[&str] = &[
    "po",
    "shr7",
    "shr15",
    "kind::",
    "scale_vec::",
    "block_scale",
    "block16",
    "block32",
    "b4x16_p64",
    "b6x16_p32",
    "b8x16",
    "b6p2x16",
    "e2m1",
    "e2m3",
    "e3m2",
    "ue8m0",
    "ue4m3",
    "s2f6",
    "scaled::",
    "im2col",
    "tile::",
    "reduce",
    "mbarrier::",
    "sync_restrict::",
    "op_restrict::",
    "proxy::",
    "acquire::",
    "override::",
    "spread",
    "ashift",
    "collector::b",
    "4x256b",
    "ws",
    "x8",
    "m16n8",
    "m8n16",
    "m8n8k",
    "m64n",
    "thread::",
    "sp::",
    "sparsity",
    "shift",
    "cp_mask",
    "ignore_oob",
    "replace",
    "tensormap",
    "multicast",
    "valid_bitmask",
    "is_canceled",
    "query_cancel",
    "get_first_ctaid",
    "2dms",
    "a2dms",
    "array_size",
    "channel_",
    "normalized_coords",
    "force_unnormalized_coords",
    "filter_mode",
    "addr_mode_",
    "bf16x4",
    "f16x4",
    "f8x4",
];

/// The section of the manual that has an opcode's forms, for what is refused: that of the first one that the table has.
pub fn section(op: Op, quals: &Quals) -> &'static str {
    let has = |word| quals.has(word);
    match op {
        Op::Tcgen05 => "9.7.16",
        Op::Mma if has(Qual::Sp) => "9.7.14.6",
        Op::Wgmma if has(Qual::Sp) => "9.7.15.6",
        _ => {
            let rows = TABLE.by_op.get(&op);
            rows.map_or("9.7", |rows| TABLE.rows[rows.start].section)
        }
    }
}

/// Whether the manual has a qualifier of this name of an opcode, and the table does not know it.
pub fn is_word(op: Op, name: &str) -> bool {
    // Of some opcodes the table has nothing.
    !TABLE.by_op.contains_key(&op)
        || OTHER_WORDS.iter().any(|word| {
            let begins = (word.ends_with([':', '_']) || word.len() > 3) && name.starts_with(word);
            name == *word || begins
        })
}
