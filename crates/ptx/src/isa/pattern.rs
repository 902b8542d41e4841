//! Patterns of qualifiers: how the table writes them and how an instruction's are matched.

use crate::{
    qual::Qual,
    target::{PtxVersion, Suffix, Target},
    types::Type,
};

/// The first PTX version and target of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// First PTX version.
    pub ptx: PtxVersion,
    /// First target: see [`Target::has`].
    pub target: Target,
}

impl Need {
    /// Needs nothing.
    pub const NONE: Need = Need {
        ptx: PtxVersion::new(1, 0),
        target: Target::sm(0),
    };

    /// What portable targets have from a number on.
    pub const fn new(ptx: PtxVersion, sm: u16) -> Need {
        Need {
            ptx,
            target: Target::sm(sm),
        }
    }

    /// From `7.8/90` or `8.0/90a`.
    pub(super) fn parse(text: &str) -> Option<Need> {
        let (ptx, target) = text.split_once('/')?;
        let (major, minor) = ptx.split_once('.')?;
        let (sm, suffix) = match target.as_bytes().last()? {
            b'a' => (&target[..target.len() - 1], Suffix::Arch),
            b'f' => (&target[..target.len() - 1], Suffix::Family),
            _ => (target, Suffix::None),
        };
        Some(Need {
            ptx: PtxVersion::new(major.parse().ok()?, minor.parse().ok()?),
            target: Target {
                sm: sm.parse().ok()?,
                suffix,
            },
        })
    }

    /// Both, where at most one is for specific targets.
    pub fn and(self, other: Need) -> Need {
        let rank = |need: &Need| (need.target.suffix, need.target.sm);
        let stricter = if rank(&self) >= rank(&other) {
            self
        } else {
            other
        };
        Need {
            ptx: self.ptx.max(other.ptx),
            target: stricter.target,
        }
    }
}

/// The types bound to `T`, `U` and `V`.
pub(super) type Vars = [Option<Type>; 3];

/// One place in a pattern.
#[derive(Debug)]
pub(super) enum Item {
    /// One of these words.
    Choice {
        /// The words and what each needs.
        words: Vec<(Qual, Need)>,
        /// The type variable it binds.
        var: Option<u8>,
        /// Whether it may be absent.
        optional: bool,
    },
    /// These in any order.
    AnyOrder(Vec<Item>),
}

/// Named sets of words, usable inside `{ }`, and sequences of places, usable in `< >`.
const SETS: &[(&str, &str)] = &[
    ("$int8", "u8,u16,u32,u64,s8,s16,s32,s64"),
    ("$int", "u16,u32,u64,s16,s32,s64"),
    ("$rnd", "rn,rz,rm,rp"),
    ("$rni", "rni,rzi,rmi,rpi"),
    ("$fcmp", "eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan"),
    (
        "$ldspace",
        "global,shared,local,const,param,shared::cta@7.8/30,shared::cluster@7.8/90",
    ),
    (
        "$stspace",
        "global,shared,local,param,shared::cta@7.8/30,shared::cluster@7.8/90",
    ),
    (
        "$volspace",
        "global,shared,local@9.1/10,shared::cta@7.8/30,shared::cluster@7.8/90",
    ),
    (
        "$mem",
        "b8,b16,b32,b64,b128@8.3/70,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64",
    ),
    ("$scope", "cta,gpu,sys,cluster@7.8/90"),
    (
        "$evict",
        "L1::evict_normal@7.4/70,L1::evict_unchanged@7.4/70,L1::evict_first@7.4/70,L1::evict_last@7.4/70,L1::no_allocate@7.4/70",
    ),
    (
        "$prefetch",
        "L2::64B@7.4/75,L2::128B@7.4/75,L2::256B@7.4/80",
    ),
    (
        "$atomics",
        ".{relaxed,acquire,release,acq_rel}?@6.0/70 .{cta,gpu,sys,cluster@7.8/90}?@5.0/60 .{global,shared,shared::cta@7.8/30,shared::cluster@7.8/90}?",
    ),
    (
        "$reductions",
        ".{relaxed,release}?@6.0/70 .{cta,gpu,sys,cluster@7.8/90}?@5.0/60 .{global,shared,shared::cta@7.8/30,shared::cluster@7.8/90}?",
    ),
    (
        "$wgmma8",
        "m64n8k8,m64n16k8,m64n24k8,m64n32k8,m64n40k8,m64n48k8,m64n56k8,m64n64k8,m64n72k8,m64n80k8,\
         m64n88k8,m64n96k8,m64n104k8,m64n112k8,m64n120k8,m64n128k8,m64n136k8,m64n144k8,m64n152k8,\
         m64n160k8,m64n168k8,m64n176k8,m64n184k8,m64n192k8,m64n200k8,m64n208k8,m64n216k8,m64n224k8,\
         m64n232k8,m64n240k8,m64n248k8,m64n256k8",
    ),
    (
        "$wgmma16",
        "m64n8k16,m64n16k16,m64n24k16,m64n32k16,m64n40k16,m64n48k16,m64n56k16,m64n64k16,m64n72k16,\
         m64n80k16,m64n88k16,m64n96k16,m64n104k16,m64n112k16,m64n120k16,m64n128k16,m64n136k16,\
         m64n144k16,m64n152k16,m64n160k16,m64n168k16,m64n176k16,m64n184k16,m64n192k16,m64n200k16,\
         m64n208k16,m64n216k16,m64n224k16,m64n232k16,m64n240k16,m64n248k16,m64n256k16",
    ),
    (
        "$wgmma32",
        "m64n8k32,m64n16k32,m64n24k32,m64n32k32,m64n40k32,m64n48k32,m64n56k32,m64n64k32,m64n72k32,\
         m64n80k32,m64n88k32,m64n96k32,m64n104k32,m64n112k32,m64n120k32,m64n128k32,m64n136k32,\
         m64n144k32,m64n152k32,m64n160k32,m64n168k32,m64n176k32,m64n184k32,m64n192k32,m64n200k32,\
         m64n208k32,m64n216k32,m64n224k32,m64n232k32,m64n240k32,m64n248k32,m64n256k32",
    ),
    (
        "$wgmmas8",
        "m64n8k32,m64n16k32,m64n24k32,m64n32k32,m64n48k32,m64n64k32,m64n80k32,m64n96k32,m64n112k32,\
         m64n128k32,m64n144k32,m64n160k32,m64n176k32,m64n192k32,m64n208k32,m64n224k32,m64n240k32,\
         m64n256k32",
    ),
    (
        "$wgmma256",
        "m64n8k256,m64n16k256,m64n24k256,m64n32k256,m64n48k256,m64n64k256,m64n80k256,m64n96k256,\
         m64n112k256,m64n128k256,m64n144k256,m64n160k256,m64n176k256,m64n192k256,m64n208k256,\
         m64n224k256,m64n240k256,m64n256k256",
    ),
    ("$b", "b16,b32,b64"),
];

/// A pattern from its text; the word at fault if it is wrong.
pub(super) fn items(text: &str) -> Result<Vec<Item>, String> {
    let mut text = text.to_owned();
    for (name, words) in SETS {
        text = text.replace(name, words);
    }
    let mut out = Vec::new();
    let mut group: Option<Vec<Item>> = None;
    for token in text.split_whitespace() {
        match (token, &mut group) {
            ("<", None) => group = Some(Vec::new()),
            (">", Some(_)) => out.extend(group.take().map(Item::AnyOrder)),
            (_, Some(group)) => group.push(choice(token)?),
            (_, None) => out.push(choice(token)?),
        }
    }
    match group {
        None => Ok(out),
        Some(_) => Err("<".to_owned()),
    }
}

fn choice(token: &str) -> Result<Item, String> {
    let fault = || token.to_owned();
    let (var, rest) = match token.split_once('=') {
        Some(("T", rest)) => (Some(0), rest),
        Some(("U", rest)) => (Some(1), rest),
        Some(("V", rest)) => (Some(2), rest),
        Some(_) => return Err(fault()),
        None => (None, token.strip_prefix('.').ok_or_else(fault)?),
    };
    // A `?` ends the words; what follows it is a need of the whole place.
    let (words, optional, need) = match rest.split_once('?') {
        None => (rest, false, Need::NONE),
        Some((words, "")) => (words, true, Need::NONE),
        Some((words, need)) => (
            words,
            true,
            need.strip_prefix('@')
                .and_then(Need::parse)
                .ok_or_else(fault)?,
        ),
    };
    let words = words
        .strip_prefix('{')
        .and_then(|words| words.strip_suffix('}'))
        .unwrap_or(words);
    let words = words
        .split(',')
        .map(|word| {
            let (name, own) = match word.split_once('@') {
                None => (word, Need::NONE),
                Some((name, need)) => (name, Need::parse(need)?),
            };
            Some((Qual::from_name(name)?, own.and(need)))
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(fault)?;
    Ok(Item::Choice {
        words,
        var,
        optional,
    })
}

/// Whether an instruction's qualifiers fit; then what its words need and the types they bind.
pub(super) fn matches(items: &[Item], quals: &[Qual]) -> Option<(Need, Vars)> {
    let mut state = State {
        rest: quals,
        need: Need::NONE,
        vars: [None; 3],
    };
    for item in items {
        match item {
            Item::Choice { optional, .. } => {
                if !state.take(item) && !optional {
                    return None;
                }
            }
            Item::AnyOrder(group) => state.take_all(group)?,
        }
    }
    state.rest.is_empty().then_some((state.need, state.vars))
}

struct State<'q> {
    rest: &'q [Qual],
    need: Need,
    vars: Vars,
}

impl State<'_> {
    /// Takes the next qualifier if this place has it.
    fn take(&mut self, item: &Item) -> bool {
        let (Item::Choice { words, var, .. }, Some((first, rest))) =
            (item, self.rest.split_first())
        else {
            return false;
        };
        let Some((_, need)) = words.iter().find(|(word, _)| word == first) else {
            return false;
        };
        self.need = self.need.and(*need);
        if let (Some(var), Qual::T(ty)) = (var, first) {
            self.vars[usize::from(*var)] = Some(*ty);
        }
        self.rest = rest;
        true
    }

    /// Takes each place of a group at most once, in the order of the qualifiers.
    fn take_all(&mut self, group: &[Item]) -> Option<()> {
        let mut used = 0u32;
        loop {
            let next = group
                .iter()
                .enumerate()
                .find(|(at, item)| used >> at & 1 == 0 && self.take(item));
            match next {
                Some((at, _)) => used |= 1 << at,
                None => break,
            }
        }
        let complete = group.iter().enumerate().all(|(at, item)| {
            used >> at & 1 == 1 || matches!(item, Item::Choice { optional: true, .. })
        });
        complete.then_some(())
    }
}

/// Every way to fill a pattern, at most `limit`.
pub(super) fn expand(items: &[Item], limit: usize) -> Vec<Vec<Qual>> {
    let mut out = vec![Vec::new()];
    for (words, optional) in places(items) {
        let mut next = Vec::new();
        for head in &out {
            if optional && next.len() < limit {
                next.push(head.clone());
            }
            for (word, _) in words {
                if next.len() < limit {
                    let mut longer: Vec<Qual> = head.clone();
                    longer.push(*word);
                    next.push(longer);
                }
            }
        }
        out = next;
    }
    out
}

/// One way to fill a pattern; `pick(n)` chooses below `n`.
pub(super) fn sample(items: &[Item], pick: &mut dyn FnMut(usize) -> usize) -> Vec<Qual> {
    let mut out = Vec::new();
    for (words, optional) in places(items) {
        if !(optional && pick(2) == 0) {
            out.push(words[pick(words.len())].0);
        }
    }
    out
}

/// The places of a pattern in the order they are written.
pub(super) fn places(items: &[Item]) -> Vec<(&[(Qual, Need)], bool)> {
    items
        .iter()
        .flat_map(|item| match item {
            Item::Choice { .. } => std::slice::from_ref(item),
            Item::AnyOrder(group) => group,
        })
        .filter_map(|item| match item {
            Item::Choice {
                words, optional, ..
            } => Some((words.as_slice(), *optional)),
            Item::AnyOrder(_) => None,
        })
        .collect()
}
