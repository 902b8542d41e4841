//! A virtual GPU: runs PTX on the CPU.
