//! An assembler for x86-64 with AVX2 and AVX-512: instructions as data, encoded into a buffer.
//!
//! It knows what the compiler of the virtual GPU emits, and no more. Vector instructions are rows of a table
//! ([`vector`]): opcode map, prefix, opcode, element size, and whether there is a VEX form beside the EVEX form.
//! Encodings follow the Intel Software Developer's Manual, volume 2, sections 2.1 (REX), 2.3 (VEX) and 2.7 (EVEX).
//!
//! ```
//! use warpsmith_x86::{Assembler, Gpr, Len, Mem, Rm, vector};
//!
//! let mut code = Assembler::new();
//! code.vector(&vector::ADD_F32, Len::L512, 1, 2, Rm::Mem(Mem::at(Gpr::RSI, 64)));
//! code.ret();
//! let bytes = code.finish();
//! // 62 f1 6c 48 58 4e 01 is `vaddps 0x40(%rsi), %zmm2, %zmm1`: the displacement counts in pieces of 64 bytes.
//! assert_eq!(&bytes[..8], [0x62, 0xF1, 0x6C, 0x48, 0x58, 0x4E, 0x01, 0xC3]);
//! ```

mod assembler;
mod masks;
mod memory;
mod scalar;
pub mod vector;

pub use assembler::{Assembler, Cond, Constant, Gpr, Label, Mem, Rm};
pub use masks::MaskAlu;
pub use memory::Executable;
pub use scalar::{Alu, Shift};
pub use vector::{Len, Masking, Vop};
