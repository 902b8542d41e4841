//! Device-resident tensors whose transfers are counted.
