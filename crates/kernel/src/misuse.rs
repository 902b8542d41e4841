//! What a kernel's body does that the language refuses, found while it is recorded.

use std::{cell::Cell, fmt, panic::Location};

/// A place in the source of a kernel.
pub type Place = &'static Location<'static>;

/// A mistake in a kernel's body, with the user's line first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// A value that is made inside of a loop or branch is used behind it.
    Escaped {
        /// The method with the closure that makes it: `each`.
        construct: &'static str,
        /// Where that is called.
        made: Place,
        /// Where it is used.
        used: Place,
    },
    /// An argument that the method does not take.
    Argument {
        /// Which: `size of reduce_within`.
        what: &'static str,
        /// What it is.
        found: u64,
        /// What it may be.
        expected: &'static str,
        /// Where.
        used: Place,
    },
    /// A format that does not fit what is to be printed.
    Format {
        /// What is wrong with it.
        what: String,
        /// Where.
        used: Place,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::Escaped {
                construct,
                made,
                used,
            } => {
                let instead = match *construct {
                    "if_" | "if_all" | "leader" | "either" => "`either` gives a value of both ways",
                    "while_" | "while_all" => "the state of the loop is what it gives",
                    _ => "what a loop adds up is the state of a `fold`, or a `sum`",
                };
                write!(
                    f,
                    "{used}: a value that is made inside of `{construct}` ({made}) is used behind it, expected to be used \
                     there alone: {instead}"
                )
            }
            Misuse::Argument {
                what,
                found,
                expected,
                used,
            } => {
                write!(f, "{used}: the {what} is {found}, expected {expected}")
            }
            Misuse::Format { what, used } => write!(f, "{used}: {what}"),
        }
    }
}

/// A part of a body that may run for some threads only, or several times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// The method that opened it, and where.
    pub(crate) construct: &'static str,
    pub(crate) made: Place,
    /// Whether its closure is still running.
    pub(crate) open: bool,
    /// The region around it.
    pub(crate) around: u32,
}

/// The region in which a constant was made, for constants that a closure hands out behind the language's back. It is no part
/// of what the constant is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth(u16);

impl Birth {
    /// In the body itself, or nobody asks.
    pub(crate) const BODY: Birth = Birth(0);

    /// In the region that is running.
    pub(crate) fn here() -> Birth {
        Birth(RUNNING.get())
    }

    /// The region; 0 for the body.
    #[inline]
    pub(crate) fn region(self) -> u32 {
        self.0.into()
    }
}

impl PartialEq for Birth {
    fn eq(&self, _: &Birth) -> bool {
        true
    }
}

impl Eq for Birth {}

thread_local! {
    /// The region that is running on this thread, as far as it can be told.
    static RUNNING: Cell<u16> = const { Cell::new(0) };
}

/// Says which region is running; which was before.
pub(crate) fn run(region: u32) -> u32 {
    RUNNING.replace(u16::try_from(region).unwrap_or(0)).into()
}
