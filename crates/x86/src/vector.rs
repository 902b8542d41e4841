//! Vector instructions: a table, and the VEX and EVEX encodings of its rows.

use crate::assembler::{Assembler, Gpr, Rm, high_bits};

/// How wide an instruction works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Len {
    /// 16 bytes.
    L128,
    /// 32 bytes.
    L256,
    /// 64 bytes.
    L512,
    /// 64 bytes of registers, results rounded down.
    Down,
    /// The same, rounded up.
    Up,
    /// The same, rounded toward zero.
    Zero,
}

impl Len {
    /// Bytes of a register.
    pub fn bytes(self) -> u32 {
        match self {
            Len::L128 => 16,
            Len::L256 => 32,
            Len::L512 | Len::Down | Len::Up | Len::Zero => 64,
        }
    }

    /// What stands in the prefix: the length, or the direction.
    fn code(self) -> u8 {
        match self {
            Len::L128 => 0,
            Len::L256 | Len::Down => 1,
            Len::L512 | Len::Up => 2,
            Len::Zero => 3,
        }
    }

    /// Whether a direction stands in place of the length.
    fn is_rounded(self) -> bool {
        matches!(self, Len::Down | Len::Up | Len::Zero)
    }
}

/// How much memory an instruction takes: what an offset of one byte counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tuple {
    /// A register, or one element of so many bytes for all lanes.
    Full(u8),
    /// A register over so much: 1, 2 or 4.
    Part(u8),
    /// So many bytes.
    Bytes(u8),
}

/// Which encodings there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Both,
    Evex,
    Vex,
}

/// A vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vop {
    /// Its mnemonic.
    pub name: &'static str,
    map: u8,
    pp: u8,
    wide: bool,
    opcode: u8,
    /// What stands in ModRM's place for a register; the destination stands in the second operand's.
    digit: Option<u8>,
    tuple: Tuple,
    form: Form,
    /// Whether a byte follows.
    imm: bool,
}

/// Which lanes an instruction writes: by a mask register (EVEX), or by the signs of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masking {
    /// The mask register, 1 to 7, or the vector register.
    pub mask: u8,
    /// Whether other lanes become 0 instead of staying.
    pub zero: bool,
}

macro_rules! table {
    ($($(#[$doc:meta])* $name:ident = $mnemonic:literal $map:literal $pp:literal $wide:literal $opcode:literal $(/ $digit:literal)? $tuple:ident($size:literal) $form:ident $($imm:ident)?;)*) => {
        $(
            #[doc = concat!("`", $mnemonic, "`")]
            pub static $name: Vop = Vop {
                name: $mnemonic,
                map: $map,
                pp: $pp,
                wide: $wide == 1,
                opcode: $opcode,
                digit: table!(@digit $($digit)?),
                tuple: Tuple::$tuple($size),
                form: Form::$form,
                imm: table!(@imm $($imm)?),
            };
        )*
        /// All of them.
        pub static ALL: &[&Vop] = &[$(&$name),*];
    };
    (@digit) => { None };
    (@digit $digit:literal) => { Some($digit) };
    (@imm) => { false };
    (@imm $imm:ident) => { true };
}

// Name = mnemonic, opcode map, prefix, W, opcode, what an offset counts in, forms, whether a byte follows.
table! {
    ADD_F32 = "vaddps" 1 0 0 0x58 Full(4) Both;
    MUL_F32 = "vmulps" 1 0 0 0x59 Full(4) Both;
    SUB_F32 = "vsubps" 1 0 0 0x5C Full(4) Both;
    DIV_F32 = "vdivps" 1 0 0 0x5E Full(4) Both;
    SQRT_F32 = "vsqrtps" 1 0 0 0x51 Full(4) Both;
    MIN_F32 = "vminps" 1 0 0 0x5D Full(4) Both;
    MAX_F32 = "vmaxps" 1 0 0 0x5F Full(4) Both;
    FMA_F32 = "vfmadd231ps" 2 1 0 0xB8 Full(4) Both;
    FMA213_F32 = "vfmadd213ps" 2 1 0 0xA8 Full(4) Both;
    ADD_I32 = "vpaddd" 1 1 0 0xFE Full(4) Both;
    SUB_I32 = "vpsubd" 1 1 0 0xFA Full(4) Both;
    ADD_I64 = "vpaddq" 1 1 1 0xD4 Full(8) Both;
    SUB_I64 = "vpsubq" 1 1 1 0xFB Full(8) Both;
    MUL_I32 = "vpmulld" 2 1 0 0x40 Full(4) Both;
    MUL_I64 = "vpmullq" 2 1 1 0x40 Full(8) Evex;
    MUL_U32_U64 = "vpmuludq" 1 1 1 0xF4 Full(8) Both;
    MUL_I32_I64 = "vpmuldq" 2 1 1 0x28 Full(8) Both;
    MIN_U32 = "vpminud" 2 1 0 0x3B Full(4) Both;
    MAX_U32 = "vpmaxud" 2 1 0 0x3F Full(4) Both;
    MIN_I32 = "vpminsd" 2 1 0 0x39 Full(4) Both;
    MAX_I32 = "vpmaxsd" 2 1 0 0x3D Full(4) Both;
    MIN_U64 = "vpminuq" 2 1 1 0x3B Full(8) Evex;
    MAX_U64 = "vpmaxuq" 2 1 1 0x3F Full(8) Evex;
    MIN_I64 = "vpminsq" 2 1 1 0x39 Full(8) Evex;
    MAX_I64 = "vpmaxsq" 2 1 1 0x3D Full(8) Evex;
    AND = "vpandd" 1 1 0 0xDB Full(4) Evex;
    OR = "vpord" 1 1 0 0xEB Full(4) Evex;
    XOR = "vpxord" 1 1 0 0xEF Full(4) Evex;
    TERNARY = "vpternlogd" 3 1 0 0x25 Full(4) Evex imm;
    SHL_I32 = "vpslld" 1 1 0 0x72 / 6 Full(4) Both imm;
    SHR_U32 = "vpsrld" 1 1 0 0x72 / 2 Full(4) Both imm;
    SHR_I32 = "vpsrad" 1 1 0 0x72 / 4 Full(4) Both imm;
    SHL_I64 = "vpsllq" 1 1 1 0x73 / 6 Full(8) Both imm;
    SHR_U64 = "vpsrlq" 1 1 1 0x73 / 2 Full(8) Both imm;
    SHR_I64 = "vpsraq" 1 1 1 0x72 / 4 Full(8) Evex imm;
    SHLV_I32 = "vpsllvd" 2 1 0 0x47 Full(4) Both;
    SHRV_U32 = "vpsrlvd" 2 1 0 0x45 Full(4) Both;
    SHRV_I32 = "vpsravd" 2 1 0 0x46 Full(4) Both;
    SHLV_I64 = "vpsllvq" 2 1 1 0x47 Full(8) Both;
    SHRV_U64 = "vpsrlvq" 2 1 1 0x45 Full(8) Both;
    SHRV_I64 = "vpsravq" 2 1 1 0x46 Full(8) Evex;
    CMP_I32 = "vpcmpd" 3 1 0 0x1F Full(4) Evex imm;
    CMP_U32 = "vpcmpud" 3 1 0 0x1E Full(4) Evex imm;
    CMP_I64 = "vpcmpq" 3 1 1 0x1F Full(8) Evex imm;
    CMP_U64 = "vpcmpuq" 3 1 1 0x1E Full(8) Evex imm;
    CMP_F32 = "vcmpps" 1 0 0 0xC2 Full(4) Both imm;
    TEST_I32 = "vptestmd" 2 1 0 0x27 Full(4) Evex;
    BLEND_I32 = "vpblendmd" 2 1 0 0x64 Full(4) Evex;
    BLEND_I64 = "vpblendmq" 2 1 1 0x64 Full(8) Evex;
    LOAD = "vmovups" 1 0 0 0x10 Part(1) Both;
    STORE = "vmovups" 1 0 0 0x11 Part(1) Both;
    LOAD_I32 = "vmovdqu32" 1 2 0 0x6F Part(1) Evex;
    STORE_I32 = "vmovdqu32" 1 2 0 0x7F Part(1) Evex;
    STORE_I64 = "vmovdqu64" 1 2 1 0x7F Part(1) Evex;
    SPLAT_I32 = "vpbroadcastd" 2 1 0 0x58 Bytes(4) Both;
    SPLAT_128 = "vbroadcasti32x4" 2 1 0 0x5A Bytes(16) Evex;
    SPLAT_GPR32 = "vpbroadcastd" 2 1 0 0x7C Bytes(4) Evex;
    SPLAT_GPR64 = "vpbroadcastq" 2 1 1 0x7C Bytes(8) Evex;
    FIRST_I32 = "vmovd" 1 1 0 0x7E Bytes(4) Both;
    FIRST_I64 = "vmovq" 1 1 1 0x7E Bytes(8) Both;
    F32_OF_I32 = "vcvtdq2ps" 1 0 0 0x5B Full(4) Both;
    F32_OF_U32 = "vcvtudq2ps" 1 3 0 0x7A Full(4) Evex;
    I32_OF_F32 = "vcvtps2dq" 1 1 0 0x5B Full(4) Both;
    I32_OF_F32_ZERO = "vcvttps2dq" 1 2 0 0x5B Full(4) Both;
    U32_OF_F32 = "vcvtps2udq" 1 0 0 0x79 Full(4) Evex;
    U32_OF_F32_ZERO = "vcvttps2udq" 1 0 0 0x78 Full(4) Evex;
    F32_OF_F16 = "vcvtph2ps" 2 1 0 0x13 Part(2) Both;
    F16_OF_F32 = "vcvtps2ph" 3 1 0 0x1D Part(2) Both imm;
    NARROW_I32_I16 = "vpmovdw" 2 2 0 0x33 Part(2) Evex;
    NARROW_I32_I8 = "vpmovdb" 2 2 0 0x31 Part(4) Evex;
    NARROW_I64_I32 = "vpmovqd" 2 2 0 0x35 Part(2) Evex;
    ZERO_I32_I64 = "vpmovzxdq" 2 1 0 0x35 Part(2) Both;
    SIGN_I32_I64 = "vpmovsxdq" 2 1 0 0x25 Part(2) Both;
    ZERO_I16_I32 = "vpmovzxwd" 2 1 0 0x33 Part(2) Both;
    SIGN_I16_I32 = "vpmovsxwd" 2 1 0 0x23 Part(2) Both;
    ZERO_I8_I32 = "vpmovzxbd" 2 1 0 0x31 Part(4) Both;
    SIGN_I8_I32 = "vpmovsxbd" 2 1 0 0x21 Part(4) Both;
    PERMUTE2_I32 = "vpermi2d" 2 1 0 0x76 Full(4) Evex;
    PERMUTE2_I16 = "vpermi2w" 2 1 1 0x75 Part(1) Evex;
    PERMUTE_I32 = "vpermd" 2 1 0 0x36 Full(4) Both;
    INSERT_128 = "vinserti32x4" 3 1 0 0x38 Bytes(16) Evex imm;
    INSERT_256 = "vinserti64x4" 3 1 1 0x3A Bytes(32) Evex imm;
    EXTRACT_256 = "vextracti64x4" 3 1 1 0x3B Bytes(32) Evex imm;
    SHUFFLE_128 = "vshufi32x4" 3 1 0 0x43 Full(4) Evex imm;
    SHUFFLE_I32 = "vpshufd" 1 1 0 0x70 Full(4) Both imm;
    SHUFFLE_I64X2 = "vshufi64x2" 3 1 1 0x43 Full(8) Evex imm;
    LOW_I32 = "vpunpckldq" 1 1 0 0x62 Full(4) Both;
    HIGH_I32 = "vpunpckhdq" 1 1 0 0x6A Full(4) Both;
    LOW_I64 = "vpunpcklqdq" 1 1 1 0x6C Full(8) Both;
    HIGH_I64 = "vpunpckhqdq" 1 1 1 0x6D Full(8) Both;
    SHUFFLE_I8 = "vpshufb" 2 1 0 0x00 Part(1) Both;
    DOT_U8_I8 = "vpdpbusd" 2 1 0 0x50 Full(4) Evex;
    GATHER_I32_32 = "vpgatherdd" 2 1 0 0x90 Bytes(4) Evex;
    GATHER_I32_64 = "vpgatherqd" 2 1 0 0x91 Bytes(4) Evex;
    GATHER_I64_64 = "vpgatherqq" 2 1 1 0x91 Bytes(8) Evex;
    SCATTER_I32_32 = "vpscatterdd" 2 1 0 0xA0 Bytes(4) Evex;
    SCATTER_I32_64 = "vpscatterqd" 2 1 0 0xA1 Bytes(4) Evex;
    SCATTER_I64_64 = "vpscatterqq" 2 1 1 0xA1 Bytes(8) Evex;
    ADD_F64 = "vaddpd" 1 1 1 0x58 Full(8) Both;
    MUL_F64 = "vmulpd" 1 1 1 0x59 Full(8) Both;
    SUB_F64 = "vsubpd" 1 1 1 0x5C Full(8) Both;
    DIV_F64 = "vdivpd" 1 1 1 0x5E Full(8) Both;
    SQRT_F64 = "vsqrtpd" 1 1 1 0x51 Full(8) Both;
    MIN_F64 = "vminpd" 1 1 1 0x5D Full(8) Both;
    MAX_F64 = "vmaxpd" 1 1 1 0x5F Full(8) Both;
    FMA_F64 = "vfmadd231pd" 2 1 1 0xB8 Full(8) Both;
    FMA213_F64 = "vfmadd213pd" 2 1 1 0xA8 Full(8) Both;
    CMP_F64 = "vcmppd" 1 1 1 0xC2 Full(8) Both imm;
    ROUND_F32 = "vrndscaleps" 3 1 0 0x08 Full(4) Evex imm;
    ROUND_F64 = "vrndscalepd" 3 1 1 0x09 Full(8) Evex imm;
    F64_OF_I32 = "vcvtdq2pd" 1 2 0 0xE6 Part(2) Both;
    F64_OF_U32 = "vcvtudq2pd" 1 2 0 0x7A Part(2) Evex;
    F64_OF_F32 = "vcvtps2pd" 1 0 0 0x5A Part(2) Both;
    F64_OF_I64 = "vcvtqq2pd" 1 2 1 0xE6 Full(8) Evex;
    F64_OF_U64 = "vcvtuqq2pd" 1 2 1 0x7A Full(8) Evex;
    F32_OF_F64 = "vcvtpd2ps" 1 1 1 0x5A Full(8) Both;
    F32_OF_I64 = "vcvtqq2ps" 1 0 1 0x5B Full(8) Evex;
    F32_OF_U64 = "vcvtuqq2ps" 1 3 1 0x7A Full(8) Evex;
    I32_OF_F64_ZERO = "vcvttpd2dq" 1 1 1 0xE6 Full(8) Both;
    U32_OF_F64_ZERO = "vcvttpd2udq" 1 0 1 0x78 Full(8) Evex;
    I64_OF_F64_ZERO = "vcvttpd2qq" 1 1 1 0x7A Full(8) Evex;
    U64_OF_F64_ZERO = "vcvttpd2uqq" 1 1 1 0x78 Full(8) Evex;
    AND_I64 = "vpandq" 1 1 1 0xDB Full(8) Evex;
    OR_I64 = "vporq" 1 1 1 0xEB Full(8) Evex;
    XOR_I64 = "vpxorq" 1 1 1 0xEF Full(8) Evex;
    LOAD_I64 = "vmovdqu64" 1 2 1 0x6F Part(1) Evex;
    ABS_I32 = "vpabsd" 2 1 0 0x1E Full(4) Both;
    ABS_I64 = "vpabsq" 2 1 1 0x1F Full(8) Evex;
    ADD_I8 = "vpaddb" 1 1 0 0xFC Part(1) Both;
    ROLV_I32 = "vprolvd" 2 1 0 0x15 Full(4) Evex;
    RORV_I32 = "vprorvd" 2 1 0 0x14 Full(4) Evex;
    TESTN_I32 = "vptestnmd" 2 2 0 0x27 Full(4) Evex;
    TESTN_I64 = "vptestnmq" 2 2 1 0x27 Full(8) Evex;
    TEST_I64 = "vptestmq" 2 1 1 0x27 Full(8) Evex;
    AND_BITS = "vpand" 1 1 0 0xDB Part(1) Vex;
    WITHOUT_BITS = "vpandn" 1 1 0 0xDF Part(1) Vex;
    OR_BITS = "vpor" 1 1 0 0xEB Part(1) Vex;
    XOR_BITS = "vpxor" 1 1 0 0xEF Part(1) Vex;
    EQUAL_I32 = "vpcmpeqd" 1 1 0 0x76 Part(1) Vex;
    EQUAL_I64 = "vpcmpeqq" 2 1 0 0x29 Part(1) Vex;
    GREATER_I32 = "vpcmpgtd" 1 1 0 0x66 Part(1) Vex;
    GREATER_I64 = "vpcmpgtq" 2 1 0 0x37 Part(1) Vex;
    SCALE_F32 = "vscalefps" 2 1 0 0x2C Full(4) Evex;
    BLEND_BY_SIGN = "vblendvps" 3 1 0 0x4A Part(1) Vex;
    BLEND_BY_IMM = "vpblendd" 3 1 0 0x02 Part(1) Vex imm;
    LOAD_LANES_I32 = "vpmaskmovd" 2 1 0 0x8C Part(1) Vex;
    STORE_LANES_I32 = "vpmaskmovd" 2 1 0 0x8E Part(1) Vex;
    STORE_LANES_I64 = "vpmaskmovq" 2 1 1 0x8E Part(1) Vex;
    SIGNS_F32 = "vmovmskps" 1 0 0 0x50 Part(1) Vex;
    SIGNS_F64 = "vmovmskpd" 1 1 0 0x50 Part(1) Vex;
    SIGNS_I8 = "vpmovmskb" 1 1 0 0xD7 Part(1) Vex;
    TEST_BITS = "vptest" 2 1 0 0x17 Part(1) Vex;
    UPPER_128 = "vextracti128" 3 1 0 0x39 Bytes(16) Vex imm;
    JOIN_128 = "vinserti128" 3 1 0 0x38 Bytes(16) Vex imm;
    PERMUTE_128 = "vperm2i128" 3 1 0 0x46 Part(1) Vex imm;
    PERMUTE_I64 = "vpermq" 3 1 1 0x00 Part(1) Vex imm;
    SPLAT_PAIR_128 = "vbroadcasti128" 2 1 0 0x5A Bytes(16) Vex;
    SPLAT_I64 = "vpbroadcastq" 2 1 0 0x59 Bytes(8) Vex;
    OF_GPR32 = "vmovd" 1 1 0 0x6E Bytes(4) Vex;
    OF_GPR64 = "vmovq" 1 1 1 0x6E Bytes(8) Vex;
    SHUFFLE_F32 = "vshufps" 1 0 0 0xC6 Part(1) Vex imm;
    PACK_I32_I16 = "vpackssdw" 1 1 0 0x6B Part(1) Vex;
    PACK_I16_I8 = "vpacksswb" 1 1 0 0x63 Part(1) Vex;
    SHL_I16 = "vpsllw" 1 1 0 0x71 / 6 Part(1) Vex imm;
    SHR_U16 = "vpsrlw" 1 1 0 0x71 / 2 Part(1) Vex imm;
    SHR_I16 = "vpsraw" 1 1 0 0x71 / 4 Part(1) Vex imm;
    ADD_I16 = "vpaddw" 1 1 0 0xFD Part(1) Vex;
    DOT_I16 = "vpmaddwd" 1 1 0 0xF5 Part(1) Vex;
    DOT_U8_I8_PAIRS = "vpmaddubsw" 2 1 0 0x04 Part(1) Vex;
    WHOLE_F32 = "vroundps" 3 1 0 0x08 Part(1) Vex imm;
    WHOLE_F64 = "vroundpd" 3 1 0 0x09 Part(1) Vex imm;
}

impl Vop {
    /// Bytes that an offset of one byte counts in.
    fn scale(&self, len: Len, broadcast: bool) -> u32 {
        match self.tuple {
            Tuple::Full(size) if broadcast => u32::from(size),
            Tuple::Full(_) => len.bytes(),
            Tuple::Part(over) => len.bytes() / u32::from(over),
            Tuple::Bytes(size) => u32::from(size),
        }
    }

    /// Whether a byte follows.
    pub fn has_imm(&self) -> bool {
        self.imm
    }

    /// Whether it stands with a digit where others have their first register.
    pub fn has_digit(&self) -> bool {
        self.digit.is_some()
    }

    /// Whether there is a VEX form.
    pub fn has_vex(&self) -> bool {
        self.form != Form::Evex
    }

    /// Whether there is an EVEX form.
    pub fn has_evex(&self) -> bool {
        self.form != Form::Vex
    }

    /// Whether a register says which lanes are taken, in the byte that follows: the mask of [`Masking`] is a vector.
    pub fn has_vector_mask(&self) -> bool {
        self.form == Form::Vex
            && self.opcode == BLEND_BY_SIGN.opcode
            && self.map == BLEND_BY_SIGN.map
    }

    /// Whether its lanes have 64 bits.
    pub fn is_wide(&self) -> bool {
        self.wide
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self, len: Len) -> u32 {
        self.scale(len, false)
    }

    /// Whether the last operand may be one element for all lanes.
    pub fn broadcasts(&self) -> bool {
        self.digit.is_none() && matches!(self.tuple, Tuple::Full(_))
    }
}

impl Assembler {
    /// A vector instruction without mask and byte.
    pub fn vector(&mut self, op: &Vop, len: Len, reg: u8, second: u8, rm: Rm) {
        self.vector_full(op, len, reg, second, rm, None, 0);
    }

    /// A vector instruction: register, second operand (0 where there is none), last operand, lanes, byte.
    /// Instructions that have a digit write `second` and read the last operand; `reg` is passed over.
    ///
    /// EVEX is taken where VEX will not do.
    ///
    /// # Panics
    /// If it has no encoding for these operands.
    pub fn vector_full(
        &mut self,
        op: &Vop,
        len: Len,
        reg: u8,
        second: u8,
        rm: Rm,
        masking: Option<Masking>,
        imm: u8,
    ) {
        let reg = op.digit.unwrap_or(reg);
        let high = |rm: Rm| matches!(rm, Rm::Reg(rm) if rm > 15);
        let vector_mask = masking.filter(|_| op.has_vector_mask());
        let evex = op.form == Form::Evex
            || len.bytes() == 64
            || masking.is_some() && vector_mask.is_none()
            || reg > 15
            || second > 15
            || high(rm)
            || matches!(rm, Rm::Broadcast(_));
        let has = if evex { op.has_evex() } else { op.has_vex() };
        assert!(has, "{} has no such form", op.name);
        let in_register = matches!(rm, Rm::Reg(_));
        assert!(
            in_register || !len.is_rounded(),
            "{} rounds registers",
            op.name
        );
        if evex {
            self.evex(op, len, reg, second, rm, masking);
        } else {
            self.vex(
                op.map,
                op.pp,
                op.wide,
                len == Len::L256,
                op.opcode,
                reg,
                second,
                rm,
            );
        }
        let (mem, broadcast) = match rm {
            Rm::Reg(rm) => {
                self.modrm_reg(reg, rm);
                (None, false)
            }
            Rm::Mem(mem) => (Some(mem), false),
            Rm::Broadcast(mem) => (Some(mem), true),
        };
        if let Some(mem) = mem {
            let scale = if evex { op.scale(len, broadcast) } else { 1 };
            self.modrm_mem(reg, mem, scale);
        }
        if let Some(masking) = vector_mask {
            self.byte(masking.mask << 4);
        } else if op.imm {
            self.byte(imm);
        }
        self.end();
    }

    /// A gather or scatter: elements at `base` plus the lanes of the vector `index`, which is not `reg`. The lanes of
    /// `mask` take part; it is 0 afterwards.
    pub fn scattered(&mut self, op: &Vop, reg: u8, base: Gpr, index: u8, mask: u8) {
        self.needs_avx512();
        let not = |bit: u8| (bit & 1) ^ 1;
        self.byte(0x62);
        let high = not(reg >> 3) << 7 | not(index >> 3) << 6 | not(base.0 >> 3) << 5;
        self.byte(high | not(reg >> 4) << 4 | op.map);
        self.byte(u8::from(op.wide) << 7 | 0x78 | 4 | op.pp);
        self.byte(2 << 5 | not(index >> 4) << 3 | mask & 7);
        self.byte(op.opcode);
        self.lanes_at(reg, base, index);
    }

    /// A gather of 32 bytes by the VEX encoding: elements at `base` plus the lanes of the vector `index`. The lanes whose
    /// sign `mask` has take part; it is 0 afterwards. All three vectors are different registers.
    pub fn gathered(&mut self, op: &Vop, reg: u8, base: Gpr, index: u8, mask: u8) {
        debug_assert!(reg != index && index != mask && mask != reg);
        let not = |bit: u8| (bit & 1) ^ 1;
        self.byte(0xC4);
        self.byte(not(reg >> 3) << 7 | not(index >> 3) << 6 | not(base.0 >> 3) << 5 | op.map);
        self.byte(u8::from(op.wide) << 7 | (!mask & 15) << 3 | 4 | op.pp);
        self.byte(op.opcode);
        self.lanes_at(reg, base, index);
    }

    /// ModRM and SIB of a register, and of elements at a base plus the lanes of a vector.
    fn lanes_at(&mut self, reg: u8, base: Gpr, index: u8) {
        // A base of 5 or 13 asks for an offset.
        let offset = base.0 & 7 == 5;
        self.byte(u8::from(offset) << 6 | (reg & 7) << 3 | 4);
        self.byte((index & 7) << 3 | base.0 & 7);
        if offset {
            self.byte(0);
        }
    }

    /// Instructions of AVX-512 are for machines that have it.
    pub(crate) fn needs_avx512(&self) {
        debug_assert!(!self.avx2_alone, "an instruction that AVX2 has not");
    }

    fn evex(&mut self, op: &Vop, len: Len, reg: u8, second: u8, rm: Rm, masking: Option<Masking>) {
        self.needs_avx512();
        let (x, b, broadcast) = match rm {
            Rm::Reg(rm) => (rm >> 4 & 1, rm >> 3 & 1, false),
            Rm::Mem(mem) => {
                let (base, index) = high_bits(mem);
                (index, base, false)
            }
            Rm::Broadcast(mem) => {
                let (base, index) = high_bits(mem);
                (index, base, true)
            }
        };
        let broadcast = broadcast || len.is_rounded();
        let masking = masking.unwrap_or(Masking {
            mask: 0,
            zero: false,
        });
        let not = |bit: u8| (bit & 1) ^ 1;
        self.byte(0x62);
        self.byte(not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | not(reg >> 4) << 4 | op.map);
        self.byte(u8::from(op.wide) << 7 | (!second & 15) << 3 | 4 | op.pp);
        self.byte(
            u8::from(masking.zero) << 7
                | len.code() << 5
                | u8::from(broadcast) << 4
                | not(second >> 4) << 3
                | masking.mask & 7,
        );
        self.byte(op.opcode);
    }

    pub(crate) fn vex(
        &mut self,
        map: u8,
        pp: u8,
        wide: bool,
        long: bool,
        opcode: u8,
        reg: u8,
        second: u8,
        rm: Rm,
    ) {
        let (x, b) = match rm {
            Rm::Reg(rm) => (0, rm >> 3 & 1),
            Rm::Mem(mem) | Rm::Broadcast(mem) => {
                let (base, index) = high_bits(mem);
                (index, base)
            }
        };
        let not = |bit: u8| (bit & 1) ^ 1;
        self.byte(0xC4);
        self.byte(not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | map);
        self.byte(u8::from(wide) << 7 | (!second & 15) << 3 | u8::from(long) << 2 | pp);
        self.byte(opcode);
    }

    /// Makes the upper parts of vector registers 0, which code without VEX wants.
    pub fn zero_upper(&mut self) {
        self.bytes.extend_from_slice(&[0xC5, 0xF8, 0x77]);
    }
}
