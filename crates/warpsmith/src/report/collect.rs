//! Issues from what the checker, a fault, the verifier and the static findings say.

use super::{Issue, Level, Source, Spot};
use warpsmith_ptx::{
    diag::{Code, Diagnostic},
    findings,
    types::Space,
};
use warpsmith_vgpu::{
    Fault, FaultKind, Misuse,
    check::{Finding, Kind, Place, Verdict},
};

impl Source {
    /// What the checker found.
    pub fn issue(&self, finding: Finding) -> Issue {
        let Finding {
            kind,
            place,
            other,
            address,
            allocation,
            count,
            message,
            help,
            verdict,
        } = finding;
        let kernel = place.kernel.to_string();
        let other = other.map(|place| Spot {
            kernel: (place.kernel != kernel).then(|| place.kernel.to_string()),
            ..self.place(&place)
        });
        Issue {
            kind: kind.name(),
            level: level(kind),
            entry_line: self.entry_line(&kernel),
            place: self.place(&place),
            kernel,
            other,
            address,
            allocation,
            count,
            message,
            help: help.to_owned(),
            verdict,
        }
    }

    fn place(&self, place: &Place) -> Spot {
        Spot {
            block: Some(place.cta),
            thread: Some(place.thread),
            access: place.access,
            ..self.spot(place.span)
        }
    }

    /// A fault that ended a kernel; `None` for a `trap`, which is what the kernel meant, and for a
    /// spent budget, which is no fault of its own.
    pub fn fault_issue(&self, fault: &Fault) -> Option<Issue> {
        let place = Spot {
            block: Some(fault.cta),
            thread: Some(fault.thread),
            ..self.spot(fault.span)
        };
        let space = place.line.and_then(|line| self.space(line));
        let mut other = None;
        let (kind, help) = match &fault.kind {
            FaultKind::OutOfBounds { .. } => {
                let kind = match space.unwrap_or(Space::Generic) {
                    Space::Generic | Space::Global => Kind::OobGlobal,
                    Space::Shared => Kind::OobShared,
                    Space::Local => Kind::OobLocal,
                    Space::Const => Kind::OobConst,
                    Space::Param => Kind::OobParam,
                };
                (kind, "compare the index with the size before the access")
            }
            FaultKind::Misaligned { .. } => (
                Kind::Misaligned,
                "an address must be a multiple of the bytes accessed",
            ),
            FaultKind::Deadlock { waiting, .. } => {
                let at = fault.span.to_string();
                let elsewhere = waiting.iter().find(|one| one.span.to_string() != at);
                other = elsewhere.map(|one| Spot {
                    block: Some(one.cta),
                    ..self.spot(one.span)
                });
                (
                    Kind::Deadlock,
                    "each waits for threads that wait elsewhere, have left, or have no room to begin",
                )
            }
            FaultKind::Partial { elsewhere, .. } => {
                other = elsewhere.map(|span| self.spot(span));
                (
                    Kind::BarrierDivergence,
                    "all lanes of the warp must come to it together, and none may have left",
                )
            }
            FaultKind::StackFull { .. } => (
                Kind::OobLocal,
                "end the recursion, or keep less on the stack",
            ),
            FaultKind::Misuse(what) => misuse(*what),
            FaultKind::Trap
            | FaultKind::Assert
            | FaultKind::Budget { .. }
            | FaultKind::Stopped
            | FaultKind::TwoPlaces { .. } => return None,
        };
        let kernel = fault.kernel.to_string();
        Some(Issue {
            kind: kind.name(),
            level: level(kind),
            entry_line: self.entry_line(&kernel),
            kernel,
            place,
            other,
            address: fault.address,
            allocation: None,
            count: 1,
            message: fault.to_string(),
            help: help.to_owned(),
            verdict: Verdict::Bug,
        })
    }

    /// What the verifier refuses, where that is a kind of finding.
    pub fn diagnostic_issue(&self, diagnostic: &Diagnostic) -> Option<Issue> {
        let kind = match &diagnostic.code {
            Code::StaticShared { .. } => Kind::SharedLimit,
            Code::DivergentBarrier { .. } => Kind::BarrierDivergence,
            Code::ConstantMultiple { .. } => Kind::BarrierCount,
            Code::WrongSpace { .. } | Code::ReadOnlySpace { .. } => Kind::BadSpace,
            _ => return None,
        };
        let kernel = diagnostic.function.as_ref().map(ToString::to_string);
        let kernel = kernel.unwrap_or_default();
        Some(Issue {
            kind: kind.name(),
            level: Level::Error,
            entry_line: self.entry_line(&kernel),
            kernel,
            place: self.spot(diagnostic.span),
            other: diagnostic.other.map(|span| self.spot(span)),
            address: None,
            allocation: None,
            count: 1,
            message: diagnostic.code.to_string(),
            help: diagnostic.help.as_deref().unwrap_or_default().to_owned(),
            verdict: Verdict::Bug,
        })
    }

    /// What was found without running.
    pub fn static_issue(&self, finding: &findings::Finding) -> Issue {
        let kernel = finding.function.to_string();
        Issue {
            kind: finding.code.name(),
            level: match finding.certainty {
                findings::Certainty::Certain => Level::Error,
                findings::Certainty::Possible => Level::Warning,
                findings::Certainty::Note => Level::Note,
            },
            entry_line: self.entry_line(&kernel),
            kernel,
            place: self.spot(finding.span),
            other: finding.other.map(|span| self.spot(span)),
            address: None,
            allocation: None,
            count: 1,
            message: finding.code.to_string(),
            help: finding.code.help().to_owned(),
            verdict: Verdict::Bug,
        }
    }
}

/// Writing one value several times is told, and is no error.
fn level(kind: Kind) -> Level {
    match kind {
        Kind::BenignRace => Level::Note,
        _ => Level::Error,
    }
}

/// The kind of a misuse that ends a kernel.
fn misuse(what: Misuse) -> (Kind, &'static str) {
    match what {
        Misuse::BarrierNumber => (Kind::BarrierCount, "there are barriers 0 to 15"),
        Misuse::ArrivalCount => (
            Kind::BarrierCount,
            "an mbarrier begins with the number of arrivals of a phase",
        ),
        Misuse::Arrivals => (
            Kind::BarrierCount,
            "let as many arrive in a phase as the mbarrier was begun with",
        ),
        Misuse::Transactions => (
            Kind::BarrierCount,
            "expect the bytes of a phase, at most 2^20 - 1, before copies bring them",
        ),
        Misuse::ClusterArrive => (
            Kind::BarrierCount,
            "wait at the barrier of the cluster between two arrivals",
        ),
        Misuse::ClusterWait => (
            Kind::BarrierCount,
            "arrive at the barrier of the cluster before the wait",
        ),
        Misuse::EndedCta => (
            Kind::UseAfterFree,
            "let no CTA of a cluster end before the others are done with its shared memory: a barrier of the cluster at the end",
        ),
        Misuse::TensorMap | Misuse::TensorReduction => (
            Kind::BadSpace,
            "give the copy a tensor map of its own dimensions and type, as the driver encodes it",
        ),
        Misuse::Texture | Misuse::Surface => (
            Kind::BadSpace,
            "give the kernel the handle of an object that has been made and is not yet destroyed",
        ),
        Misuse::Geometry => (
            Kind::BadSpace,
            "read an object by instructions of its own geometry, and linear memory by the numbers of elements",
        ),
        Misuse::SurfaceRange => (
            Kind::OobGlobal,
            "compare the place with the extents, of which the first is in bytes, or choose another boundary mode",
        ),
        Misuse::TensorMemory => (
            Kind::OobShared,
            "name columns that tcgen05.alloc has given, and that tcgen05.dealloc has not taken back",
        ),
        Misuse::TensorLanes => (
            Kind::OobShared,
            "let warp w of four have the lanes from 32 w on",
        ),
        Misuse::TensorColumns | Misuse::TensorMemoryFull | Misuse::TensorPermit => (
            Kind::BadSpace,
            "allocate 32, 64, 128, 256 or 512 columns of the 512 of a CTA, all before the permit is relinquished",
        ),
        Misuse::TensorProduct | Misuse::TensorDescriptor => (
            Kind::BadSpace,
            "make the descriptors as PTX ISA 9.7.16.4 and 9.7.16.5 lay them out",
        ),
        Misuse::ParameterStore => (
            Kind::BadSpace,
            "kernels do not write their parameters: copy what changes",
        ),
        Misuse::BranchIndex => (
            Kind::BadSpace,
            "compare the index with the number of targets before the branch",
        ),
        Misuse::Callee | Misuse::NoCallee | Misuse::Return => (
            Kind::BadSpace,
            "call functions of the pointer's own prototype only",
        ),
    }
}
