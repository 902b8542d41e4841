//! Findings: what is wrong, where, what it clashes with, and how often.

use std::fmt;
use warpsmith_ptx::ir::{Name, Span};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The name that reports use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// Global memory outside of every allocation.
    OobGlobal = "oob_global";
    /// Shared memory outside of every variable.
    OobShared = "oob_shared";
    /// Local memory outside of every variable.
    OobLocal = "oob_local";
    /// Constant memory outside of every variable.
    OobConst = "oob_const";
    /// Outside of the parameters.
    OobParam = "oob_param";
    /// An address that is not a multiple of the access size.
    Misaligned = "misaligned";
    /// Global memory that nobody wrote, where its value matters.
    UninitGlobal = "uninit_global";
    /// The same of shared memory.
    UninitShared = "uninit_shared";
    /// The same of local memory.
    UninitLocal = "uninit_local";
    /// A register or predicate that the thread has not written.
    UninitRegister = "uninit_register";
    /// Two threads of a CTA, unordered, one of them writing.
    RaceShared = "race_shared";
    /// Two threads of a launch, or of two launches on unordered streams.
    RaceGlobal = "race_global";
    /// A barrier that only some lanes of a warp reach.
    BarrierDivergence = "barrier_divergence";
    /// A barrier whose count of threads never fills, or cannot.
    BarrierCount = "barrier_count";
    /// Every thread waits.
    Deadlock = "deadlock";
    /// A use of what a shuffle read from a lane that does not take part.
    ShflInactive = "shfl_inactive";
    /// A member mask that lacks the caller.
    Mask = "mask";
    /// Data of an asynchronous copy read or written again, or its source written, before the copy was waited for.
    AsyncEarly = "async_early";
    /// Shared memory that threads stored to, read by the asynchronous proxy without a `fence.proxy.async` in between.
    ProxyFence = "proxy_fence";
    /// A register of a product of a warp group, read or written before the product was waited for.
    WgmmaEarly = "wgmma_early";
    /// Tensor memory that a product or a store has, before that was waited for.
    Tcgen05Early = "tcgen05_early";
    /// Memory that was given back.
    UseAfterFree = "use_after_free";
    /// A host read of an element that no kernel wrote, or that one wrote with undefined bytes.
    UnwrittenOutput = "unwritten_output";
    /// An address of one state space used in another, or of another thread's or CTA's own memory.
    BadSpace = "bad_space";
    /// More shared memory than the launch has.
    SharedLimit = "shared_limit";
    /// Several threads write the same value, unordered.
    BenignRace = "benign_race";
    /// Memory still allocated at the end.
    Leak = "leak";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kind's name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind `{0}`, expected one of those that reports name")]
pub struct UnknownKind(String);

impl std::str::FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Kind, UnknownKind> {
        let known = Kind::ALL.iter().find(|kind| kind.name() == text);
        known.copied().ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The kernel is wrong.
    Bug,
    /// The virtual GPU does not do this.
    NotSupported,
}

/// Which checks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Kinds that are reported.
    pub kinds: Vec<Kind>,
}

impl Default for Checks {
    fn default() -> Checks {
        Checks {
            kinds: Kind::ALL.to_vec(),
        }
    }
}

impl Checks {
    /// Whether any of these is wanted.
    pub fn any(&self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.kinds.contains(kind))
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `ld` and what reads like it.
    Read,
    /// `st` and what writes like it.
    Write,
    /// `atom` and `red`.
    Atomic,
}

/// Where a thread was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kernel.
    pub kernel: Name,
    /// The instruction.
    pub span: Span,
    /// The CTA.
    pub cta: [u32; 3],
    /// The thread in its CTA.
    pub thread: [u32; 3],
    /// What it did, where that was an access.
    pub access: Option<Access>,
}

/// The allocation nearest to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its name, where it has one: a variable's.
    pub name: Option<Name>,
    /// Its start.
    pub start: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes from its nearest end to the address: negative before it, 0 inside, positive behind it.
    pub distance: i64,
}

/// Something wrong, once for each pair of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: Kind,
    /// Where it was seen first.
    pub place: Place,
    /// What it clashes with: the other access of a race, the read that brought an undefined value, the free.
    pub other: Option<Place>,
    /// The first address.
    pub address: Option<u64>,
    /// The allocation nearest to it.
    pub allocation: Option<Allocation>,
    /// How often, in lanes.
    pub count: u64,
    /// What happened, in words.
    pub message: String,
    /// What would help.
    pub help: &'static str,
    /// Whose fault it is.
    pub verdict: Verdict,
}

/// For people, in one line: where, what, who, the other place, how often, what would help. A reader of many findings draws them
/// with the source (`warpsmith run --check` does).
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place {
            kernel,
            span,
            cta,
            thread,
            ..
        } = &self.place;
        let ([x, y, z], [u, v, w]) = (cta, thread);
        write!(
            f,
            "{span}: {} in `{kernel}`, CTA ({x}, {y}, {z}), thread ({u}, {v}, {w}): {}",
            self.kind, self.message
        )?;
        if let Some(other) = &self.other {
            write!(f, "; the other place is {}", other.span)?;
        }
        if self.count > 1 {
            write!(f, "; {} times", self.count)?;
        }
        write!(f, "; {}", self.help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_a_sentence() {
        let place = Place {
            kernel: "sums".into(),
            span: Span::None,
            cta: [2, 0, 0],
            thread: [33, 0, 0],
            access: Some(Access::Write),
        };
        let finding = Finding {
            kind: Kind::RaceGlobal,
            other: Some(place.clone()),
            place,
            address: None,
            allocation: None,
            count: 7,
            message: "nothing orders this with the other access".into(),
            help: "use an atomic",
            verdict: Verdict::Bug,
        };
        assert_eq!(
            finding.to_string(),
            "unknown place: race_global in `sums`, CTA (2, 0, 0), thread (33, 0, 0): nothing orders this with the other access; \
             the other place is unknown place; 7 times; use an atomic"
        );
    }
}
