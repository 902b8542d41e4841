//! The buffer, its labels and constants, and the parts that all encodings share.

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpr(pub u8);

impl Gpr {
    /// Register 0.
    pub const RAX: Gpr = Gpr(0);
    /// Register 1.
    pub const RCX: Gpr = Gpr(1);
    /// Register 2.
    pub const RDX: Gpr = Gpr(2);
    /// Register 3.
    pub const RBX: Gpr = Gpr(3);
    /// Register 4, the stack pointer.
    pub const RSP: Gpr = Gpr(4);
    /// Register 5.
    pub const RBP: Gpr = Gpr(5);
    /// Register 6.
    pub const RSI: Gpr = Gpr(6);
    /// Register 7.
    pub const RDI: Gpr = Gpr(7);
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// `base + index * 2^shift + offset`.
    Base {
        /// The base register.
        base: Gpr,
        /// The index register, which is not [`Gpr::RSP`], and the shift, 0 to 3.
        index: Option<(Gpr, u8)>,
        /// Bytes.
        offset: i32,
    },
    /// A constant of the code's own.
    Constant(Constant),
}

impl Mem {
    /// `base + offset`.
    pub fn at(base: Gpr, offset: i32) -> Mem {
        Mem::Base {
            base,
            index: None,
            offset,
        }
    }
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rm {
    /// A vector register (or mask or general register, where the instruction takes one there).
    Reg(u8),
    /// Memory.
    Mem(Mem),
    /// One element in memory, for all lanes. EVEX only.
    Broadcast(Mem),
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub(crate) u32);

/// 64 bytes behind the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant(pub(crate) u32);

/// A condition of a jump or a conditional move, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cond {
    /// Overflow.
    Overflow = 0,
    /// Unsigned less; carry.
    Below = 2,
    /// Unsigned greater or equal; no carry.
    AboveEqual = 3,
    /// Equal; zero.
    Equal = 4,
    /// Not equal; not zero.
    NotEqual = 5,
    /// Unsigned less or equal.
    BelowEqual = 6,
    /// Unsigned greater.
    Above = 7,
    /// Signed less.
    Less = 12,
    /// Signed greater or equal.
    GreaterEqual = 13,
    /// Signed less or equal.
    LessEqual = 14,
    /// Signed greater.
    Greater = 15,
}

/// Where four bytes are relative to the end of their instruction.
#[derive(Clone, Copy)]
enum Target {
    Label(Label),
    Constant(Constant),
}

struct Fixup {
    at: usize,
    end: usize,
    target: Target,
}

/// Encodes instructions one after another.
#[derive(Default)]
pub struct Assembler {
    pub(crate) bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    constants: Vec<[u8; 64]>,
    /// A fixup whose instruction has not ended.
    open: Option<(usize, Target)>,
    /// Whether it refuses what AVX2 has not.
    pub(crate) avx2_alone: bool,
}

impl Assembler {
    /// An empty buffer.
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// An empty buffer that takes no instruction of AVX-512, which builds with debug assertions refuse.
    pub fn for_avx2() -> Assembler {
        Assembler {
            avx2_alone: true,
            ..Assembler::default()
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A label that stands nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label here.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.bytes.len());
    }

    /// 64 bytes behind the code; equal ones are one.
    pub fn constant(&mut self, bytes: [u8; 64]) -> Constant {
        let found = self.constants.iter().position(|own| *own == bytes);
        Constant(found.unwrap_or_else(|| {
            self.constants.push(bytes);
            self.constants.len() - 1
        }) as u32)
    }

    /// The code, with its constants behind it at a multiple of 64 bytes.
    ///
    /// # Panics
    /// If a label that was used stands nowhere, or the code is 2 GiB long.
    pub fn finish(mut self) -> Vec<u8> {
        let pool = self.bytes.len().next_multiple_of(64);
        for fixup in &self.fixups {
            let to = match fixup.target {
                Target::Label(label) => {
                    self.labels[label.0 as usize].expect("a label that is used is bound")
                }
                Target::Constant(constant) => pool + 64 * constant.0 as usize,
            };
            let distance = to as i64 - fixup.end as i64;
            let distance = i32::try_from(distance).expect("code is less than 2 GiB");
            self.bytes[fixup.at..fixup.at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        if !self.constants.is_empty() {
            self.bytes.resize(pool, 0xCC);
            for constant in &self.constants {
                self.bytes.extend_from_slice(constant);
            }
        }
        self.bytes
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// Four bytes that say where `label` is, at the end of an instruction.
    pub(crate) fn relative(&mut self, label: Label) {
        let at = self.bytes.len();
        self.word(0);
        self.fixups.push(Fixup {
            at,
            end: at + 4,
            target: Target::Label(label),
        });
    }

    /// The instruction has ended.
    pub(crate) fn end(&mut self) {
        if let Some((at, target)) = self.open.take() {
            let end = self.bytes.len();
            self.fixups.push(Fixup { at, end, target });
        }
    }

    /// ModRM for two registers.
    pub(crate) fn modrm_reg(&mut self, reg: u8, rm: u8) {
        self.byte(0xC0 | (reg & 7) << 3 | rm & 7);
    }

    /// ModRM, SIB and offset; offsets of a byte count in pieces of `scale` bytes.
    pub(crate) fn modrm_mem(&mut self, reg: u8, mem: Mem, scale: u32) {
        let reg = (reg & 7) << 3;
        let (base, index, offset) = match mem {
            Mem::Base {
                base,
                index,
                offset,
            } => (base, index, offset),
            Mem::Constant(constant) => {
                self.byte(reg | 5);
                self.open = Some((self.bytes.len(), Target::Constant(constant)));
                self.word(0);
                return;
            }
        };
        let small = offset
            .checked_rem(scale as i32)
            .filter(|rest| *rest == 0)
            .and_then(|_| i8::try_from(offset / scale as i32).ok());
        let mode = match small {
            Some(0) if base.0 & 7 != 5 => 0,
            Some(_) => 0x40,
            None => 0x80,
        };
        match index {
            None if base.0 & 7 != 4 => self.byte(mode | reg | base.0 & 7),
            None => {
                self.byte(mode | reg | 4);
                self.byte(0x20 | base.0 & 7);
            }
            Some((index, shift)) => {
                assert!(index != Gpr::RSP, "the stack pointer is no index");
                self.byte(mode | reg | 4);
                self.byte((shift & 3) << 6 | (index.0 & 7) << 3 | base.0 & 7);
            }
        }
        match (mode, small) {
            (0x40, Some(small)) => self.byte(small as u8),
            (0x80, _) => self.word(offset as u32),
            _ => {}
        }
    }
}

/// The third bits of base and index.
pub(crate) fn high_bits(mem: Mem) -> (u8, u8) {
    match mem {
        Mem::Base { base, index, .. } => (base.0 >> 3, index.map_or(0, |(index, _)| index.0 >> 3)),
        Mem::Constant(_) => (0, 0),
    }
}
