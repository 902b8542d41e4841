//! The one table of instruction forms: qualifiers, operand signatures, first PTX version and SM.
//!
//! A row is one line of text, in the order the manual writes an instruction:
//! `mad .{hi,lo} T={u32,s32} | =T, T, T, T | 1.0/10 | 9.7.1.4`, and behind a fourth bar what else is to be known of it
//! (see [`Facts`]), where that is not what its part of the table says.
//!
//! Qualifiers: `.word`, `.word?` (may be absent), `.{a,b}` (one of), `T={a,b}` (one of, named T to V),
//! `< ... >` (in any order), `$set` (a set of words, see [`pattern`]), `@7.8/90` behind a word (what this
//! word needs beyond the row). Operands: see [`Slot`]. Needs: `ptx/sm`, alternatives apart by a space;
//! `90a` is architecture-specific, `100f` what a family has from that number on.

mod arith;
mod control;
mod facts;
mod matrix;
mod memory;
mod order;
pub mod pattern;
mod slot;

pub use facts::{Effect, Facts, Lanes, Meeting};
pub use order::{canonical, is_open, is_word, section};
pub use pattern::Need;
pub use slot::{Access, Presence, Shape, Slot, Ty};

use crate::{
    ir::{Inst, Operand},
    op::Op,
    qual::{Qual, Quals},
    target::{PtxVersion, Target},
    types::{Space, Type},
};
use pattern::{Item, Vars};
use rustc_hash::FxHashMap;
use std::sync::{LazyLock, RwLock};

/// A row's place in [`rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u16);

/// One instruction form or a family of forms that differ in a word.
#[derive(Debug)]
pub struct Row {
    /// Its place in [`rows`].
    pub id: RowId,
    /// Opcode.
    pub op: Op,
    /// The qualifiers' pattern as the table writes it.
    pub syntax: &'static str,
    /// What has it: any one of these, and there is one.
    pub needs: Vec<Need>,
    /// Section of the PTX ISA manual.
    pub section: &'static str,
    /// Operand signature.
    pub slots: Vec<Slot>,
    facts: Facts,
    counts: [(u8, u8); 2],
    items: Vec<Item>,
}

impl Row {
    /// Forms of this row, at most `limit`, in the order of the table. Qualifiers whose order is
    /// free come in one order.
    pub fn forms(&self, limit: usize) -> Vec<Quals> {
        let all = pattern::expand(&self.items, limit);
        let quals = all.iter().map(|words| Quals::new(words));
        quals.filter(|quals| self.has(quals)).collect()
    }

    /// A form of this row; `pick(n)` chooses below `n`. `None` if the choice is no form.
    pub fn sample(&self, pick: &mut dyn FnMut(usize) -> usize) -> Option<Quals> {
        let quals = Quals::new(&pattern::sample(&self.items, pick));
        Some(quals).filter(|quals| self.has(quals))
    }

    /// Whether it gives results, its first operand.
    fn has_result(&self) -> bool {
        let first = self.slots.first();
        first.is_some_and(|slot| slot.access == Access::Write)
    }

    fn has(&self, quals: &Quals) -> bool {
        find(self.op, quals).is_some_and(|row| row.id == self.id)
    }
}

/// A row together with what one instruction chose from it.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The row.
    pub row: &'static Row,
    /// What the chosen words need beyond the row.
    pub extra: Need,
    vars: Vars,
    space: Space,
    vector: u8,
    hint: Presence,
}

impl Form {
    /// The type that a slot's type stands for in this form.
    pub fn ty(&self, ty: Ty) -> Type {
        let var = |at: u8| self.vars[usize::from(at)].unwrap_or(Type::B32);
        match ty {
            Ty::Fixed(ty) => ty,
            Ty::Var(at) => var(at),
            Ty::Wide(at) => match var(at) {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::U32 => Type::U64,
                Type::S32 => Type::S64,
                other => other,
            },
        }
    }

    /// The state space its qualifiers name; generic if they name none.
    pub fn space(&self) -> Space {
        self.space
    }

    /// What it does beside giving results, how results of lanes relate, whom it waits for.
    pub fn facts(&self) -> Facts {
        let facts = self.row.facts;
        match self.row.op {
            // Parameters stay as they are, though a row takes them with memory that may change.
            Op::Ld if self.space == Space::Param && facts.effect == Effect::Pure => Facts {
                effect: Effect::Same,
                ..facts
            },
            _ => facts,
        }
    }

    /// 2, 4 or 8 with `.v2`, `.v4`, `.v8`; else 1.
    pub fn vector(&self) -> u8 {
        self.vector
    }

    /// The lowest PTX version with this form for a target; `None` if the target lacks it.
    pub fn lowest_version(&self, target: Target) -> Option<PtxVersion> {
        let needs = self.row.needs.iter();
        needs
            .filter(|need| target.has(need.target) && target.has(self.extra.target))
            .map(|need| need.ptx.max(self.extra.ptx))
            .min()
    }

    /// The first target that has this form.
    pub fn first_target(&self) -> Target {
        let needs = self.row.needs.iter();
        let each = needs.map(|need| need.and(self.extra).target);
        each.min().unwrap_or(self.extra.target)
    }

    /// The slot of each of `count` operands; `None` if that is not a number of operands it takes.
    pub fn assign(&self, count: usize) -> Option<Slots> {
        let (required, optional) = self.row.counts[usize::from(self.hint == Presence::Required)];
        let spare = count.checked_sub(required.into())?;
        (spare <= optional.into()).then_some(Slots {
            rest: self.row.slots.iter(),
            spare,
            hint: self.hint,
        })
    }

    /// The least and greatest number of operands it takes.
    pub fn operand_counts(&self) -> (usize, usize) {
        let (required, optional) = self.row.counts[usize::from(self.hint == Presence::Required)];
        (
            required.into(),
            usize::from(required) + usize::from(optional),
        )
    }
}

/// The slot of each operand in order: see [`Form::assign`].
#[derive(Clone, Debug)]
pub struct Slots {
    rest: std::slice::Iter<'static, Slot>,
    /// Operands beside the required ones.
    spare: usize,
    /// What becomes of slots that come with a cache hint.
    hint: Presence,
}

impl Iterator for Slots {
    type Item = &'static Slot;

    fn next(&mut self) -> Option<&'static Slot> {
        loop {
            let slot = self.rest.next()?;
            let presence = match slot.presence {
                Presence::WithHint => self.hint,
                other => other,
            };
            match presence {
                Presence::Required => return Some(slot),
                Presence::Optional if self.spare > 0 => {
                    self.spare -= 1;
                    return Some(slot);
                }
                Presence::Optional | Presence::WithHint => {}
            }
        }
    }
}

/// Required and optional slots: first without a cache hint, then with one.
fn counts(slots: &[Slot]) -> [(u8, u8); 2] {
    let count = |presence| {
        slots
            .iter()
            .filter(|slot| slot.presence == presence)
            .count() as u8
    };
    let (required, optional) = (count(Presence::Required), count(Presence::Optional));
    [
        (required, optional),
        (required + count(Presence::WithHint), optional),
    ]
}

struct Table {
    rows: Vec<Row>,
    by_op: FxHashMap<Op, std::ops::Range<usize>>,
    /// What all rows of an opcode agree on, by opcode.
    agreed: Vec<Agreed>,
}

/// What all rows of an opcode say; `None` where they differ, or there are none.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    facts: Option<Facts>,
    has_result: Option<bool>,
}

impl Agreed {
    fn of(rows: &[Row]) -> Agreed {
        fn one<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
            let first = all.next()?;
            all.all(|other| other == first).then_some(first)
        }
        Agreed {
            facts: one(rows.iter().map(|row| row.facts)),
            has_result: one(rows.iter().map(Row::has_result)),
        }
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // What lines say that have no last column.
    let parts = [
        ("same", arith::INTEGER),
        ("same", arith::FLOAT),
        ("same", arith::HALF),
        ("same", arith::COMPARE),
        ("same", arith::LOGIC),
        ("same", arith::CONVERT),
        ("same", arith::VIDEO),
        ("same", memory::MOVE),
        ("acts", memory::LOAD_STORE),
        ("acts own", memory::ATOMIC),
        ("acts own", memory::ASYNC),
        ("acts own", memory::TEXTURE),
        ("acts own", control::CONTROL),
        ("acts together", control::SYNC),
        ("pure own warp", matrix::MATRIX),
    ];
    let mut rows: Vec<Row> = parts
        .iter()
        .flat_map(|(facts, part)| part.lines().map(move |line| (line, facts)))
        .filter(|(line, _)| !line.is_empty())
        .map(|(line, facts)| row(line, facts))
        .collect();
    rows.sort_by_key(|row| row.op);
    let mut by_op: FxHashMap<Op, std::ops::Range<usize>> = FxHashMap::default();
    for (at, row) in rows.iter_mut().enumerate() {
        row.id = RowId(at as u16);
        by_op.entry(row.op).or_insert(at..at).end = at + 1;
    }
    let of = |op: &Op| Agreed::of(by_op.get(op).map_or(&[], |range| &rows[range.clone()]));
    let agreed = Op::ALL.iter().map(of).collect();
    Table {
        rows,
        by_op,
        agreed,
    }
});

/// Every row.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}

/// The row of an instruction; `None` if there is no such form.
pub fn find(op: Op, quals: &Quals) -> Option<&'static Row> {
    form(op, quals).map(|form| form.row)
}

/// Forms kept by [`form`]; a hostile text cannot make it grow further.
const CACHE_LIMIT: usize = 1 << 13;

/// The row of an instruction and what it chose; `None` if there is no such form.
pub fn form(op: Op, quals: &Quals) -> Option<Form> {
    type Cache = FxHashMap<(Op, Quals), Option<Form>>;
    static CACHE: LazyLock<RwLock<Cache>> = LazyLock::new(RwLock::default);
    let key = (op, *quals);
    if let Ok(cache) = CACHE.read()
        && let Some(found) = cache.get(&key)
    {
        return *found;
    }
    let found = search(op, quals);
    if let Ok(mut cache) = CACHE.write()
        && cache.len() < CACHE_LIMIT
    {
        cache.insert(key, found);
    }
    found
}

/// What an instruction does beside giving results, how results of lanes relate, whom it waits for; `None` if there is no
/// such form.
pub fn facts(op: Op, quals: &[Qual]) -> Option<Facts> {
    if let Some(facts) = TABLE.agreed[op as usize].facts {
        return Some(facts);
    }
    form(op, &Quals::new(quals)).map(|form| form.facts())
}

/// Whether an instruction gives results, its first operand; `None` if there is no such form.
pub fn has_result(op: Op, quals: &[Qual]) -> Option<bool> {
    if let Some(known) = TABLE.agreed[op as usize].has_result {
        return Some(known);
    }
    form(op, &Quals::new(quals)).map(|form| form.row.has_result())
}

/// [`has_result`] and [`facts`], where all forms of an opcode have the same.
#[inline]
pub fn agreed(op: Op) -> Option<(bool, Facts)> {
    let agreed = &TABLE.agreed[op as usize];
    agreed.has_result.zip(agreed.facts)
}

/// The form of an instruction, with what its optional operands need.
pub fn form_of(inst: &Inst) -> Option<Form> {
    let mut form = form(inst.op, &inst.quals)?;
    // An arrival with a count that may complete the phase came later than one without.
    let arrives = inst.quals.has(Qual::Arrive) || inst.quals.has(Qual::ArriveDrop);
    if inst.op == Op::Mbarrier
        && arrives
        && inst.operands.len() > 2
        && !inst.quals.has(Qual::NoComplete)
    {
        let need = Need::new(PtxVersion::new(7, 8), 90);
        form.extra = form.extra.and(need);
    }
    // So did the predicate that says whether all of a texture was there.
    let paired = matches!(inst.operands.first(), Some(Operand::Pair(_)));
    if matches!(inst.op, Op::Tex | Op::Tld4) && paired {
        let need = Need::new(PtxVersion::new(7, 1), 60);
        form.extra = form.extra.and(need);
    }
    // And the third number of a minimum.
    if is_of_three(inst) {
        let need = Need::new(PtxVersion::new(8, 8), 100);
        form.extra = form.extra.and(need);
    }
    Some(form)
}

/// Whether what an instruction needs depends on its operands, so that [`form`] alone does not know it.
pub(crate) fn needs_of_operands(inst: &Inst) -> bool {
    matches!(inst.op, Op::Mbarrier | Op::Tex | Op::Tld4) || is_of_three(inst)
}

/// Whether it is the least or the greatest of three numbers.
fn is_of_three(inst: &Inst) -> bool {
    matches!(inst.op, Op::Min | Op::Max) && inst.operands.len() == 4
}

fn search(op: Op, quals: &Quals) -> Option<Form> {
    let table = &*TABLE;
    let rows = &table.rows[table.by_op.get(&op)?.clone()];
    let words = quals.as_slice();
    let (row, extra, vars) = rows.iter().find_map(|row| {
        let (need, vars) = pattern::matches(&row.items, words)?;
        Some((row, need, vars))
    })?;
    let vector = match () {
        () if quals.has(Qual::V2) => 2,
        () if quals.has(Qual::V4) => 4,
        () if quals.has(Qual::V8) => 8,
        () => 1,
    };
    let space = words
        .iter()
        .find_map(|word| space_of(*word))
        .unwrap_or(Space::Generic);
    if !combines(op, words, space, &vars) {
        return None;
    }
    let extra = match op {
        Op::Ld | Op::St => extra.and(vector_need(vector, vars[0]?, space, quals)?),
        _ => extra,
    };
    Some(Form {
        row,
        extra,
        vars,
        space,
        vector,
        hint: if quals.has(Qual::L2CacheHint) {
            Presence::Required
        } else {
            Presence::WithHint
        },
    })
}

/// Whether qualifiers that a pattern takes one by one go together.
fn combines(op: Op, words: &[Qual], space: Space, vars: &Vars) -> bool {
    let any = |list: &[Qual]| words.iter().any(|word| list.contains(word));
    let evicts = any(&[
        Qual::L1EvictNormal,
        Qual::L1EvictUnchanged,
        Qual::L1EvictFirst,
        Qual::L1EvictLast,
        Qual::L1NoAllocate,
    ]);
    let caches = any(&[
        Qual::Ca,
        Qual::Cg,
        Qual::Cs,
        Qual::Lu,
        Qual::Cv,
        Qual::Wb,
        Qual::Wt,
    ]);
    let hints = any(&[Qual::L264B, Qual::L2128B, Qual::L2256B, Qual::L2CacheHint]);
    match op {
        Op::Ld | Op::St | Op::Atom | Op::Red => {
            let cached = matches!(space, Space::Global | Space::Generic);
            !(evicts && caches) && (cached || !(evicts || hints))
        }
        // Saturation to a type that holds every value of the source does nothing.
        Op::Cvt => {
            !(any(&[Qual::Sat])
                && matches!((vars[0], vars[1]), (Some(to), Some(from)) if holds(to, from)))
        }
        _ => true,
    }
}

/// Whether an integer type has every value of another.
fn holds(to: Type, from: Type) -> bool {
    to.is_int()
        && from.is_int()
        && match (to.is_signed(), from.is_signed()) {
            (true, false) => to.bits() > from.bits(),
            (false, true) => false,
            (true, true) | (false, false) => to.bits() >= from.bits(),
        }
}

/// What a load or store of so many elements needs: 256 bits are new, more there are not.
fn vector_need(vector: u8, ty: Type, space: Space, quals: &Quals) -> Option<Need> {
    let far = matches!(space, Space::Global | Space::Generic) && !quals.has(Qual::Async);
    match u32::from(vector) * ty.bits() {
        256 if far => Some(Need::new(PtxVersion::new(8, 8), 100)),
        bits if bits <= 128 && vector < 8 => Some(Need::NONE),
        _ => None,
    }
}

/// The state space that a qualifier names.
pub fn space_of(word: Qual) -> Option<Space> {
    Some(match word {
        Qual::Global => Space::Global,
        Qual::Shared | Qual::SharedCta | Qual::SharedCluster => Space::Shared,
        Qual::Local => Space::Local,
        Qual::Const => Space::Const,
        Qual::Param => Space::Param,
        _ => return None,
    })
}

/// A row from its line. The table is ours: a line that does not parse is a mistake in this crate,
/// and a test reads every line.
fn row(line: &'static str, usual: &str) -> Row {
    let fault = |what: &str| -> ! { panic!("isa table: {what} in `{line}`") };
    let mut fields = line.split('|').map(str::trim);
    let mut field = || fields.next().unwrap_or_else(|| fault("missing field"));
    let (form, operands, needs, section) = (field(), field(), field(), field());
    let facts = fields.next().unwrap_or(usual);
    let facts = Facts::parse(facts).unwrap_or_else(|| fault("facts"));
    let (name, syntax) = form.split_once(' ').unwrap_or((form, ""));
    let op = Op::from_name(name).unwrap_or_else(|| fault("unknown opcode"));
    let items = pattern::items(syntax).unwrap_or_else(|word| fault(&format!("word `{word}`")));
    let slots: Vec<Slot> = operands
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| Slot::parse(text).unwrap_or_else(|| fault(&format!("operand `{text}`"))))
        .collect();
    let needs = needs
        .split(' ')
        .map(|text| Need::parse(text).unwrap_or_else(|| fault("needs")))
        .collect();
    Row {
        id: RowId(0),
        op,
        syntax,
        needs,
        section,
        facts,
        counts: counts(&slots),
        slots,
        items,
    }
}

#[cfg(test)]
mod tests;
