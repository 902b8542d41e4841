//! Mutational fuzzing of every parser.
