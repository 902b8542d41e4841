//! What the instructions of nodes become on machines with narrow vectors.

use super::{
    super::nodes::{Code, Last, VectorShape},
    Narrow, Refused,
    vectors::{Half, Node},
};
use regalloc2::VReg;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use warpsmith_x86::{Len, Vop, vector};

/// What an instruction becomes.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// An instruction of each half.
    Plain(&'static Vop),
    /// Several of each half.
    Each(fn(&mut Narrow, Half) -> Result<VReg, Refused>),
    /// An instruction that reads less than it writes.
    Wider(&'static Vop),
    /// What goes from one half to the other, or to masks.
    Whole(fn(&mut Narrow, &Node) -> Result<(), Refused>),
}

/// What an instruction becomes, if it is known.
pub(super) fn how(op: &'static Vop) -> Option<How> {
    static TABLE: OnceLock<FxHashMap<usize, How>> = OnceLock::new();
    let place = |op: &'static Vop| std::ptr::from_ref(op) as usize;
    let table = TABLE.get_or_init(|| {
        let mut table = FxHashMap::default();
        for op in SAME {
            table.insert(place(op), How::Plain(op));
        }
        for (op, own) in TWINS {
            table.insert(place(op), How::Plain(own));
        }
        for op in WIDER {
            table.insert(place(op), How::Wider(op));
        }
        for (op, how) in OTHERS {
            table.insert(place(op), *how);
        }
        table
    });
    table.get(&place(op)).copied()
}

/// Whether a node can be made narrow.
pub(in super::super) fn has(code: &Code) -> bool {
    match code {
        Code::Vector { op, len, shape, .. } => how(op).is_some() && fits(*len, *shape),
        Code::Narrow(_) => false,
        _ => true,
    }
}

/// Whether a vector node has a form that is known: none that leaves out lanes of memory that may not be there.
pub(super) fn fits(len: Len, shape: VectorShape) -> bool {
    let whole = match shape.last {
        Last::Mem(super::Template::Constant(_)) | Last::Reg | Last::None => true,
        Last::Mem(_) => !(shape.zero || shape.mask && shape.tied),
    };
    whole && len != Len::L256
}

/// Those that work on each half as they do on both.
static SAME: &[&Vop] = &[
    &vector::ADD_F32,
    &vector::MUL_F32,
    &vector::SUB_F32,
    &vector::DIV_F32,
    &vector::SQRT_F32,
    &vector::MIN_F32,
    &vector::MAX_F32,
    &vector::FMA_F32,
    &vector::FMA213_F32,
    &vector::ADD_I32,
    &vector::SUB_I32,
    &vector::ADD_I64,
    &vector::SUB_I64,
    &vector::MUL_I32,
    &vector::MUL_U32_U64,
    &vector::MUL_I32_I64,
    &vector::MIN_U32,
    &vector::MAX_U32,
    &vector::MIN_I32,
    &vector::MAX_I32,
    &vector::SHL_I32,
    &vector::SHR_U32,
    &vector::SHR_I32,
    &vector::SHL_I64,
    &vector::SHR_U64,
    &vector::SHLV_I32,
    &vector::SHRV_U32,
    &vector::SHRV_I32,
    &vector::SHLV_I64,
    &vector::SHRV_U64,
    &vector::LOAD,
    &vector::STORE,
    &vector::F32_OF_I32,
    &vector::I32_OF_F32,
    &vector::I32_OF_F32_ZERO,
    &vector::SHUFFLE_I32,
    &vector::LOW_I32,
    &vector::HIGH_I32,
    &vector::LOW_I64,
    &vector::HIGH_I64,
    &vector::SHUFFLE_I8,
    &vector::ADD_F64,
    &vector::MUL_F64,
    &vector::SUB_F64,
    &vector::DIV_F64,
    &vector::SQRT_F64,
    &vector::MIN_F64,
    &vector::MAX_F64,
    &vector::FMA_F64,
    &vector::FMA213_F64,
    &vector::ABS_I32,
    &vector::ADD_I8,
];

/// Those that have another name.
static TWINS: &[(&Vop, &Vop)] = &[
    (&vector::AND, &vector::AND_BITS),
    (&vector::OR, &vector::OR_BITS),
    (&vector::XOR, &vector::XOR_BITS),
    (&vector::AND_I64, &vector::AND_BITS),
    (&vector::OR_I64, &vector::OR_BITS),
    (&vector::XOR_I64, &vector::XOR_BITS),
    (&vector::LOAD_I32, &vector::LOAD),
    (&vector::LOAD_I64, &vector::LOAD),
    (&vector::STORE_I32, &vector::STORE),
    (&vector::STORE_I64, &vector::STORE),
    (&vector::ROUND_F32, &vector::WHOLE_F32),
    (&vector::ROUND_F64, &vector::WHOLE_F64),
];

/// Those that read half a register or less.
static WIDER: &[&Vop] = &[
    &vector::F32_OF_F16,
    &vector::ZERO_I32_I64,
    &vector::SIGN_I32_I64,
    &vector::ZERO_I16_I32,
    &vector::SIGN_I16_I32,
    &vector::ZERO_I8_I32,
    &vector::SIGN_I8_I32,
    &vector::F64_OF_I32,
    &vector::F64_OF_F32,
];

/// All others.
static OTHERS: &[(&Vop, How)] = &[
    (&vector::TERNARY, How::Each(Narrow::ternary)),
    (&vector::CMP_I32, How::Whole(Narrow::compare_integers)),
    (&vector::CMP_U32, How::Whole(Narrow::compare_integers)),
    (&vector::CMP_I64, How::Whole(Narrow::compare_integers)),
    (&vector::CMP_U64, How::Whole(Narrow::compare_integers)),
    (&vector::CMP_F32, How::Whole(Narrow::compare_floats)),
    (&vector::CMP_F64, How::Whole(Narrow::compare_floats)),
    (&vector::TEST_I32, How::Whole(Narrow::compare_bits)),
    (&vector::TESTN_I32, How::Whole(Narrow::compare_bits)),
    (&vector::TEST_I64, How::Whole(Narrow::compare_bits)),
    (&vector::TESTN_I64, How::Whole(Narrow::compare_bits)),
    (&vector::BLEND_I32, How::Whole(Narrow::blend)),
    (&vector::BLEND_I64, How::Whole(Narrow::blend)),
    (&vector::SPLAT_I32, How::Whole(Narrow::splat)),
    (&vector::SPLAT_128, How::Whole(Narrow::splat)),
    (&vector::SPLAT_GPR32, How::Whole(Narrow::splat_general)),
    (&vector::SPLAT_GPR64, How::Whole(Narrow::splat_general)),
    (&vector::FIRST_I32, How::Whole(Narrow::first_lane)),
    (&vector::FIRST_I64, How::Whole(Narrow::first_lane)),
    (&vector::EXTRACT_256, How::Whole(Narrow::take_upper)),
    (&vector::INSERT_256, How::Whole(Narrow::put_upper)),
    (&vector::SHUFFLE_128, How::Whole(Narrow::shuffle_pieces)),
    (&vector::SHUFFLE_I64X2, How::Whole(Narrow::shuffle_pieces)),
    (&vector::PERMUTE_I32, How::Whole(Narrow::permute)),
    (&vector::PERMUTE2_I32, How::Whole(Narrow::permute)),
    (&vector::PERMUTE2_I16, How::Whole(Narrow::permute_halves)),
    (&vector::NARROW_I64_I32, How::Whole(Narrow::low_words)),
    (&vector::NARROW_I32_I16, How::Whole(Narrow::low_parts)),
    (&vector::NARROW_I32_I8, How::Whole(Narrow::low_parts)),
    (&vector::F16_OF_F32, How::Whole(Narrow::half_floats)),
    (&vector::F32_OF_F64, How::Whole(Narrow::halved)),
    (&vector::I32_OF_F64_ZERO, How::Whole(Narrow::halved)),
    (
        &vector::U32_OF_F64_ZERO,
        How::Whole(Narrow::words_of_doubles),
    ),
    (&vector::F64_OF_U32, How::Whole(Narrow::doubles_of_words)),
    (&vector::F32_OF_U32, How::Each(Narrow::float_of_word)),
    (&vector::SCALE_F32, How::Each(Narrow::scaled)),
    (&vector::U32_OF_F32, How::Each(Narrow::word_of_float)),
    (
        &vector::U32_OF_F32_ZERO,
        How::Each(Narrow::word_of_float_toward_zero),
    ),
    (&vector::F64_OF_I64, How::Each(Narrow::double_of_signed)),
    (&vector::F64_OF_U64, How::Each(Narrow::double_of_unsigned)),
    (&vector::F32_OF_I64, How::Whole(Narrow::floats_of_wide)),
    (&vector::F32_OF_U64, How::Whole(Narrow::floats_of_wide)),
    (
        &vector::I64_OF_F64_ZERO,
        How::Each(Narrow::signed_of_double),
    ),
    (
        &vector::U64_OF_F64_ZERO,
        How::Each(Narrow::unsigned_of_double),
    ),
    (&vector::MUL_I64, How::Each(Narrow::product)),
    (&vector::MIN_I64, How::Each(Narrow::smaller_signed)),
    (&vector::MAX_I64, How::Each(Narrow::larger_signed)),
    (&vector::MIN_U64, How::Each(Narrow::smaller_unsigned)),
    (&vector::MAX_U64, How::Each(Narrow::larger_unsigned)),
    (&vector::ABS_I64, How::Each(Narrow::size)),
    (&vector::SHR_I64, How::Each(Narrow::shift_signed)),
    (&vector::SHRV_I64, How::Each(Narrow::shift_signed_by_lanes)),
    (&vector::ROLV_I32, How::Each(Narrow::rotate_left)),
    (&vector::RORV_I32, How::Each(Narrow::rotate_right)),
    (&vector::DOT_U8_I8, How::Whole(Narrow::dot)),
];
