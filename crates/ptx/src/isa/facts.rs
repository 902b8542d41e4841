//! What the table says of an instruction beside its form: the last column.
//!
//! | word | an instruction that |
//! |---|---|
//! | `same` | only gives its results, and the same ones for the same sources during a whole launch |
//! | `pure` | only gives its results |
//! | `acts` | does something else, too: it writes, orders, waits, jumps, or depends on who else runs it |
//! | `own` | gives each lane a result of its own, even where sources are the same |
//! | `together` | gives one result to all lanes that run it together |
//! | `mask`, `warp` | waits for the lanes that its last operand names, or for all of the warp |
//!
//! A line without such words has those of its part of the table. Without `own` and `together` lanes with the same sources
//! get the same results.

/// What an instruction does beside giving its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, and its results follow from its sources during a whole launch.
    Same,
    /// Nothing.
    Pure,
    /// Something.
    Acts,
}

/// How the results of lanes relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// The same sources give the same results.
    Sources,
    /// Each lane has its own.
    Own,
    /// All lanes that run it together have one.
    Together,
}

/// Which lanes an instruction waits for before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// None.
    None,
    /// Those that its last operand names.
    Mask,
    /// All of the warp that have not left.
    Warp,
}

/// The last column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it does beside giving its results.
    pub effect: Effect,
    /// How the results of lanes relate.
    pub lanes: Lanes,
    /// Which lanes it waits for.
    pub meeting: Meeting,
}

impl Facts {
    /// Of words as the table has them.
    pub(super) fn parse(text: &str) -> Option<Facts> {
        let mut facts = Facts {
            effect: Effect::Acts,
            lanes: Lanes::Sources,
            meeting: Meeting::None,
        };
        for word in text.split_whitespace() {
            match word {
                "same" => facts.effect = Effect::Same,
                "pure" => facts.effect = Effect::Pure,
                "acts" => facts.effect = Effect::Acts,
                "own" => facts.lanes = Lanes::Own,
                "together" => facts.lanes = Lanes::Together,
                "mask" => facts.meeting = Meeting::Mask,
                "warp" => facts.meeting = Meeting::Warp,
                _ => return None,
            }
        }
        Some(facts)
    }
}
