//! What a walk through the frames of a file finds.

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Bytes that belong to the file.
    Pass(u64),
    /// Bytes that belong to none.
    Drop(u64),
    /// The tag of a file that may follow.
    Tag(u64),
    /// Another file.
    Another,
    /// Nothing.
    End,
}

/// A place where frames are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Samples of the file before it.
    pub(crate) at: u64,
    /// About how many samples the damaged bytes were.
    pub(crate) samples: u64,
}
