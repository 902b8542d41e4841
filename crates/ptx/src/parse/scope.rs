//! Names of a function: nested scopes, numbered registers, and unique names for redeclared ones.

use crate::ir::{LabelId, Name, Reg, RegId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// What a name in a body stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Reg(RegId),
    /// A variable of the body.
    Var(u32),
    Param(u32),
    Return(u32),
}

/// A declaration of numbered registers: the first id and how many.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: RegId,
    count: u32,
}

#[derive(Default)]
struct Scope<'t> {
    names: FxHashMap<&'t str, Symbol>,
    ranges: FxHashMap<&'t str, Range>,
}

/// The scopes that are open and all names given so far.
pub(super) struct Scopes<'t> {
    open: Vec<Scope<'t>>,
    /// Names given in this function, but for those of numbered declarations.
    singles: FxHashSet<String>,
    /// Numbered declarations by prefix without its trailing digits, and the count.
    ranges: FxHashMap<String, (String, u32)>,
    /// The numbers that single names end in, by what stands before the number.
    numbered: FxHashMap<String, BTreeSet<u32>>,
    /// How often a name or a prefix was made unique.
    renamed: FxHashMap<String, u32>,
}

/// A name as the part before its number and the number, which has no leading zero.
pub(super) fn split(name: &str) -> (&str, Option<u32>) {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    // Take the longest number without a leading zero that fits.
    for take in (1..=digits.min(10)).rev() {
        let (head, tail) = name.split_at(name.len() - take);
        if (take == 1 || !tail.starts_with('0'))
            && !head.trim_start_matches('%').is_empty()
            && let Ok(number) = tail.parse()
        {
            return (head, Some(number));
        }
    }
    (name, None)
}

fn base(prefix: &str) -> &str {
    prefix.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// A prefix of a register; the common ones need no allocation.
pub(super) fn prefix(text: &str) -> Name {
    const COMMON: &[&str] = &[
        "%r", "%rd", "%f", "%fd", "%p", "%rs", "%h", "%hh", "%b", "%rq",
    ];
    match COMMON.iter().find(|known| **known == text) {
        Some(known) => Name::Borrowed(known),
        None => Name::Owned(text.to_owned()),
    }
}

impl<'t> Scopes<'t> {
    pub(super) fn new() -> Scopes<'t> {
        Scopes {
            open: vec![Scope::default()],
            singles: FxHashSet::default(),
            ranges: FxHashMap::default(),
            numbered: FxHashMap::default(),
            renamed: FxHashMap::default(),
        }
    }

    pub(super) fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    /// Leaves the innermost scope; `false` if that is the body itself.
    pub(super) fn leave(&mut self) -> bool {
        if self.open.len() > 1 {
            self.open.pop();
            true
        } else {
            false
        }
    }

    pub(super) fn depth(&self) -> u32 {
        self.open.len() as u32
    }

    /// What a name stands for in the innermost scope that has it.
    pub(super) fn find(&self, name: &str) -> Option<Symbol> {
        self.open.iter().rev().find_map(|scope| scope.find(name))
    }

    fn taken(&self, name: &str) -> bool {
        if self.singles.contains(name) {
            return true;
        }
        match self.ranges.get(base(name)) {
            Some((prefix, count)) => {
                let number = name.strip_prefix(prefix.as_str());
                number.is_some_and(|digits| {
                    (digits == "0" || !digits.starts_with('0'))
                        && digits.parse::<u32>().is_ok_and(|number| number < *count)
                })
            }
            None => false,
        }
    }

    /// Declares a name in the innermost scope; its unique name, or `None` if the scope has it.
    pub(super) fn declare(&mut self, name: &'t str, symbol: Symbol) -> Option<String> {
        let scope = self.open.last_mut()?;
        if scope.find(name).is_some() {
            return None;
        }
        scope.names.insert(name, symbol);
        Some(self.claim(name))
    }

    /// Makes a name unique in the function and remembers it.
    pub(super) fn claim(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        if self.taken(name) {
            let mut count = self.renamed.get(name).copied().unwrap_or(0);
            while self.taken(&unique) {
                count += 1;
                unique = format!("{name}_{count}");
            }
            self.renamed.insert(name.to_owned(), count);
        }
        self.singles.insert(unique.clone());
        let stem = base(&unique);
        if let Ok(number) = unique[stem.len()..].parse() {
            self.numbered
                .entry(stem.to_owned())
                .or_default()
                .insert(number);
        }
        unique
    }

    /// Declares `prefix<count>`; the unique prefix, or `None` if the scope has names of it.
    pub(super) fn declare_range(
        &mut self,
        prefix: &'t str,
        first: RegId,
        count: u32,
    ) -> Option<String> {
        let clash = self.clashes(prefix, count);
        let scope = self.open.last_mut()?;
        if scope.ranges.contains_key(prefix) || (clash && scope.has_of(prefix, count)) {
            return None;
        }
        scope.ranges.insert(prefix, Range { first, count });
        let mut unique = prefix.to_owned();
        if clash {
            let mut times = self.renamed.get(prefix).copied().unwrap_or(0);
            while self.clashes(&unique, count) {
                times += 1;
                unique = format!("{prefix}_{times}_");
            }
            self.renamed.insert(prefix.to_owned(), times);
        }
        self.ranges
            .insert(base(&unique).to_owned(), (unique.clone(), count));
        Some(unique)
    }

    /// Whether a numbered declaration might share a name with what the function has.
    fn clashes(&self, prefix: &str, count: u32) -> bool {
        let stem = base(prefix);
        let singles = self.numbered.get(stem).is_some_and(|numbers| {
            stem.len() < prefix.len() || numbers.range(..count).next().is_some()
        });
        singles || self.ranges.contains_key(stem)
    }
}

impl Scope<'_> {
    /// Whether a name is one of `prefix<count>`.
    fn has_of(&self, prefix: &str, count: u32) -> bool {
        let of = |name: &&str| {
            let digits = name.strip_prefix(prefix).unwrap_or_default();
            let plain = digits == "0" || !digits.starts_with(['0', '+']);
            plain && digits.parse::<u32>().is_ok_and(|number| number < count)
        };
        self.names.keys().any(of)
    }

    fn find(&self, name: &str) -> Option<Symbol> {
        if let Some(symbol) = self.names.get(name) {
            return Some(*symbol);
        }
        if self.ranges.is_empty() {
            return None;
        }
        // A prefix may end in digits itself, so every split counts.
        let digits = name.len() - base(name).len();
        (1..=digits.min(10)).find_map(|take| {
            let (head, tail) = name.split_at(name.len() - take);
            let range = self.ranges.get(head)?;
            let number: u32 = tail.parse().ok()?;
            let plain = take == 1 || !tail.starts_with('0');
            (plain && number < range.count).then_some(Symbol::Reg(RegId(range.first.0 + number)))
        })
    }
}

/// The labels of a body, found before it is parsed: they may be used before they are placed.
pub(super) struct Labels<'t> {
    /// By where they are placed.
    pub(super) placed: FxHashMap<usize, LabelId>,
    /// Scopes by the brace that opens them.
    pub(super) scopes: FxHashMap<usize, u32>,
    pub(super) parents: Vec<u32>,
    pub(super) names: FxHashMap<(u32, &'t str), LabelId>,
    /// The braces that close scopes.
    pub(super) closers: FxHashSet<usize>,
}

impl Labels<'_> {
    /// The label that a name means in a scope.
    pub(super) fn find(&self, mut scope: u32, name: &str) -> Option<LabelId> {
        loop {
            if let Some(id) = self.names.get(&(scope, name)) {
                return Some(*id);
            }
            let parent = self.parents[scope as usize];
            if parent == scope {
                return None;
            }
            scope = parent;
        }
    }
}

/// A register from its unique name.
pub(super) fn register(ty: crate::types::Type, name: &str) -> Reg {
    let (head, number) = split(name);
    Reg {
        ty,
        prefix: prefix(head),
        number,
    }
}
