//! The PTX language: typed IR, ISA table, parser, printer, verifier.
