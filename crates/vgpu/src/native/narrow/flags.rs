//! Who sets flags, and who reads them.

use super::super::nodes::Code;
use warpsmith_x86::vector;

/// Whether a node changes flags.
pub(super) fn sets(code: &Code) -> bool {
    match code {
        Code::Vector { op, .. } => **op == vector::TEST_BITS,
        Code::Alu(..)
        | Code::AluImm(..)
        | Code::Compare(_)
        | Code::CompareImm(..)
        | Code::TestImm(_)
        | Code::Imul(_)
        | Code::ImulImm(..)
        | Code::Shift(..)
        | Code::TrailingZeros
        | Code::LeadingZeros
        | Code::MaskTest16
        | Code::Copies(_)
        | Code::Narrow(_)
        | Code::Fuel(_) => true,
        Code::MovImm(_)
        | Code::Mov(_)
        | Code::Load(..)
        | Code::Store(..)
        | Code::Lea(_)
        | Code::ExtendSign
        | Code::Deposit
        | Code::Extend(..)
        | Code::Cmov(..)
        | Code::SetAll(_)
        | Code::MaskAlu(_)
        | Code::MaskNot
        | Code::MaskJoin
        | Code::MaskJoin8
        | Code::MaskShift(_)
        | Code::MaskLoad(_)
        | Code::MaskFrom
        | Code::MaskTo
        | Code::Prefetch(_)
        | Code::Gather(_)
        | Code::Scatter(_)
        | Code::Spread(_)
        | Code::Floats(_)
        | Code::Bytes { .. }
        | Code::Rows(..)
        | Code::PrefetchRows(_)
        | Code::Address(_)
        | Code::Turn
        | Code::Fork(_)
        | Code::ExitIf(..)
        | Code::Exit(_) => false,
    }
}

/// Whether a node goes by flags.
pub(super) fn reads(code: &Code) -> bool {
    matches!(
        code,
        Code::Cmov(..) | Code::SetAll(_) | Code::Fork(_) | Code::ExitIf(..) | Code::Copies(_)
    )
}
