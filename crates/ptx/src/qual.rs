//! Qualifiers: every dotted word that may follow an opcode.

use crate::types::Type;
use std::fmt;

macro_rules! quals {
    ($($name:ident $text:literal,)*) => {
        /// A dotted qualifier, a type included.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Qual { T(Type), $($name,)* }

        /// The qualifiers that are not types, for [`Qual::index`].
        enum Word { $($name,)* }

        impl Qual {
            /// A number for tables: first the types in their order, then [`Qual::WORDS`].
            #[inline]
            pub const fn index(self) -> usize {
                match self {
                    Qual::T(ty) => ty as usize,
                    $(Qual::$name => Type::ALL.len() + Word::$name as usize,)*
                }
            }

            /// Every qualifier that is not a type.
            pub const WORDS: &'static [Qual] = &[$(Qual::$name,)*];

            /// As PTX writes it, without the dot.
            pub const fn name(self) -> &'static str {
                match self { Qual::T(ty) => ty.name(), $(Qual::$name => $text,)* }
            }

            /// The qualifier with this name (without a dot).
            pub fn from_name(name: &str) -> Option<Qual> {
                match name { $($text => Some(Qual::$name),)* _ => Type::from_name(name).map(Qual::T) }
            }
        }
    };
}

quals! {
    Rn "rn", Rz "rz", Rm "rm", Rp "rp", Rna "rna", Rni "rni", Rzi "rzi", Rmi "rmi", Rpi "rpi", Ftz "ftz", Sat "sat",
    Satfinite "satfinite", Approx "approx", Full "full", Wide "wide", Lo "lo", Hi "hi", Cc "cc", Noftz "noftz",
    Relu "relu", Xorsign "xorsign", Abs "abs", NaN "NaN", Nan "nan", Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt",
    Ge "ge", Ls "ls", Hs "hs", Equ "equ", Neu "neu", Ltu "ltu", Leu "leu", Gtu "gtu", Geu "geu", Num "num", And "and",
    Or "or", Xor "xor", Popc "popc", Global "global", Shared "shared", Local "local", Const "const", Param "param",
    SharedCta "shared::cta", SharedCluster "shared::cluster", To "to", Uni "uni", Weak "weak", Relaxed "relaxed",
    Acquire "acquire", Release "release", AcqRel "acq_rel", Volatile "volatile", Mmio "mmio", Cta "cta",
    Cluster "cluster", Gpu "gpu", Sys "sys", Sc "sc", Proxy "proxy", Alias "alias", Async "async", Nc "nc", Ca "ca",
    Cg "cg", Cs "cs", Lu "lu", Cv "cv", Wb "wb", Wt "wt", L1EvictNormal "L1::evict_normal",
    L1EvictUnchanged "L1::evict_unchanged", L1EvictFirst "L1::evict_first", L1EvictLast "L1::evict_last",
    L1NoAllocate "L1::no_allocate", L264B "L2::64B", L2128B "L2::128B", L2256B "L2::256B",
    L2CacheHint "L2::cache_hint", L2 "L2", L1 "L1", V2 "v2", V4 "v4", V8 "v8", Sync "sync", Aligned "aligned",
    Arrive "arrive", Red "red", Up "up", Down "down", Bfly "bfly", Idx "idx", All "all", Any "any", Ballot "ballot",
    Unified "unified", Add "add", Inc "inc", Dec "dec", Min "min", Max "max", Exch "exch", Cas "cas", M8n8k4 "m8n8k4",
    M8n8k16 "m8n8k16", M8n8k32 "m8n8k32", M16n8k4 "m16n8k4", M16n8k8 "m16n8k8", M16n8k16 "m16n8k16",
    M16n8k32 "m16n8k32", M16n8k64 "m16n8k64",
    SpOrderedMetadata "sp::ordered_metadata", KindF8f6f4 "kind::f8f6f4", KindMxf8f6f4 "kind::mxf8f6f4",
    KindMxf4 "kind::mxf4", KindMxf4nvf4 "kind::mxf4nvf4", BlockScale "block_scale", ScaleVec1x "scale_vec::1X",
    ScaleVec2x "scale_vec::2X", ScaleVec4x "scale_vec::4X", M16n16k16 "m16n16k16", M32n8k16 "m32n8k16", M8n32k16 "m8n32k16",
    M8n8 "m8n8", M16n16 "m16n16", X1 "x1", X2 "x2", X4 "x4", Trans "trans", Row "row", Col "col",
    CommitGroup "commit_group", WaitGroup "wait_group", WaitAll "wait_all", MmaAsync "mma_async", Fence "fence",
    Group "group", Bulk "bulk", Tensor "tensor", Wrap "wrap", Clamp "clamp", L "l", R "r", Shiftamt "shiftamt",
    Finite "finite", Infinite "infinite", Number "number", Notanumber "notanumber", Normal "normal",
    Subnormal "subnormal", MbarrierCompleteTxBytes "mbarrier::complete_tx::bytes", Init "init", Inval "inval",
    ArriveDrop "arrive_drop", TestWait "test_wait", TryWait "try_wait", Parity "parity", ExpectTx "expect_tx",
    CompleteTx "complete_tx", NoComplete "noComplete", Pack "pack", Range "range", Targets "targets", B4e "b4e",
    F4e "f4e", Rc8 "rc8", Ecl "ecl", Ecr "ecr", Rc16 "rc16", ProxyAlias "proxy::alias", Tile "tile", D1d "1d",
    D2d "2d", D3d "3d", D4d "4d", D5d "5d", LevelEvictionPriority "level::eviction_priority",
    MulticastCluster "multicast::cluster", CtaGroup1 "cta_group::1", CtaGroup2 "cta_group::2", Sp "sp", Load "load",
    Store "store", LoadMatrix "load_matrix", Trap "trap", Zero "zero", Bits "bits", Level "level",
    L2EvictLast "L2::evict_last", L2EvictNormal "L2::evict_normal", Fractional "fractional", Cvt "cvt",
    LaunchDependents "launch_dependents", Wait "wait", Unaligned "unaligned", A "a", B "b", BulkGroup "bulk_group",
    C "c", D "d", Gl "gl", M64n16k16 "m64n16k16", M64n32k16 "m64n32k16", Mbarrier "mbarrier",
    MbarrierInit "mbarrier_init", Mma "mma", Noinc "noinc", Warp "warp", Read "read", LdReduce "ld_reduce", St "st",
    Prefetch "prefetch", TryCancel "try_cancel", A1d "a1d", A2d "a2d", Cube "cube", Acube "acube", G "g",
    Width "width", Height "height", Depth "depth", Texref "texref", Samplerref "samplerref", Surfref "surfref",
    Grad "grad", Base "base", P "p", ChannelDataType "channel_data_type", ChannelOrder "channel_order",
    NormalizedCoords "normalized_coords", ArraySize "array_size", NumMipmapLevels "num_mipmap_levels",
    NumSamples "num_samples", ForceUnnormalizedCoords "force_unnormalized_coords", FilterMode "filter_mode",
    AddrMode0 "addr_mode_0", AddrMode1 "addr_mode_1", AddrMode2 "addr_mode_2", MemoryLayout "memory_layout",
    L2EvictFirst "L2::evict_first", L2EvictUnchanged "L2::evict_unchanged", M64n8k16 "m64n8k16", M64n64k16 "m64n64k16",
    M64n96k16 "m64n96k16", M64n128k16 "m64n128k16", M64n192k16 "m64n192k16", M64n256k16 "m64n256k16",
    M8n8k128 "m8n8k128", M16n8k128 "m16n8k128", M16n8k256 "m16n8k256",
    PendingCount "pending_count",
    Reduce "reduce", Tensormap "tensormap", Im2col "im2col", Im2colNoOffs "im2col_no_offs",
    TensormapGeneric "tensormap::generic", AsyncGeneric "async::generic",
    SyncRestrictCta "sync_restrict::shared::cta", SyncRestrictCluster "sync_restrict::shared::cluster",
    Replace "replace", CpFenceproxy "cp_fenceproxy", B1024 "b1024", GlobalAddress "global_address", Rank "rank",
    BoxDim "box_dim", GlobalDim "global_dim", GlobalStride "global_stride", ElementStride "element_stride",
    Elemtype "elemtype", InterleaveLayout "interleave_layout", SwizzleMode "swizzle_mode", FillMode "fill_mode",
    M64n8k8 "m64n8k8", M64n16k8 "m64n16k8", M64n24k8 "m64n24k8", M64n32k8 "m64n32k8", M64n40k8 "m64n40k8",
    M64n48k8 "m64n48k8", M64n56k8 "m64n56k8", M64n64k8 "m64n64k8", M64n72k8 "m64n72k8", M64n80k8 "m64n80k8",
    M64n88k8 "m64n88k8", M64n96k8 "m64n96k8", M64n104k8 "m64n104k8", M64n112k8 "m64n112k8", M64n120k8 "m64n120k8",
    M64n128k8 "m64n128k8", M64n136k8 "m64n136k8", M64n144k8 "m64n144k8", M64n152k8 "m64n152k8",
    M64n160k8 "m64n160k8", M64n168k8 "m64n168k8", M64n176k8 "m64n176k8", M64n184k8 "m64n184k8",
    M64n192k8 "m64n192k8", M64n200k8 "m64n200k8", M64n208k8 "m64n208k8", M64n216k8 "m64n216k8",
    M64n224k8 "m64n224k8", M64n232k8 "m64n232k8", M64n240k8 "m64n240k8", M64n248k8 "m64n248k8",
    M64n256k8 "m64n256k8", M64n24k16 "m64n24k16", M64n40k16 "m64n40k16", M64n48k16 "m64n48k16",
    M64n56k16 "m64n56k16", M64n72k16 "m64n72k16", M64n80k16 "m64n80k16", M64n88k16 "m64n88k16",
    M64n104k16 "m64n104k16", M64n112k16 "m64n112k16", M64n120k16 "m64n120k16", M64n136k16 "m64n136k16",
    M64n144k16 "m64n144k16", M64n152k16 "m64n152k16", M64n160k16 "m64n160k16", M64n168k16 "m64n168k16",
    M64n176k16 "m64n176k16", M64n184k16 "m64n184k16", M64n200k16 "m64n200k16", M64n208k16 "m64n208k16",
    M64n216k16 "m64n216k16", M64n224k16 "m64n224k16", M64n232k16 "m64n232k16", M64n240k16 "m64n240k16",
    M64n248k16 "m64n248k16", M64n8k32 "m64n8k32", M64n16k32 "m64n16k32", M64n24k32 "m64n24k32",
    M64n32k32 "m64n32k32", M64n40k32 "m64n40k32", M64n48k32 "m64n48k32", M64n56k32 "m64n56k32",
    M64n64k32 "m64n64k32", M64n72k32 "m64n72k32", M64n80k32 "m64n80k32", M64n88k32 "m64n88k32",
    M64n96k32 "m64n96k32", M64n104k32 "m64n104k32", M64n112k32 "m64n112k32", M64n120k32 "m64n120k32",
    M64n128k32 "m64n128k32", M64n136k32 "m64n136k32", M64n144k32 "m64n144k32", M64n152k32 "m64n152k32",
    M64n160k32 "m64n160k32", M64n168k32 "m64n168k32", M64n176k32 "m64n176k32", M64n184k32 "m64n184k32",
    M64n192k32 "m64n192k32", M64n200k32 "m64n200k32", M64n208k32 "m64n208k32", M64n216k32 "m64n216k32",
    M64n224k32 "m64n224k32", M64n232k32 "m64n232k32", M64n240k32 "m64n240k32", M64n248k32 "m64n248k32",
    M64n256k32 "m64n256k32", M64n8k256 "m64n8k256", M64n16k256 "m64n16k256", M64n24k256 "m64n24k256",
    M64n32k256 "m64n32k256", M64n48k256 "m64n48k256", M64n64k256 "m64n64k256", M64n80k256 "m64n80k256",
    M64n96k256 "m64n96k256", M64n112k256 "m64n112k256", M64n128k256 "m64n128k256", M64n144k256 "m64n144k256",
    M64n160k256 "m64n160k256", M64n176k256 "m64n176k256", M64n192k256 "m64n192k256", M64n208k256 "m64n208k256",
    M64n224k256 "m64n224k256", M64n240k256 "m64n240k256", M64n256k256 "m64n256k256",
    Alloc "alloc", Dealloc "dealloc", RelinquishAllocPermit "relinquish_alloc_permit", Ld "ld", Cp "cp", Commit "commit",
    WaitLd "wait::ld", WaitSt "wait::st", FenceBefore "fence::before_thread_sync", FenceAfter "fence::after_thread_sync",
    L32x32b "32x32b", L16x64b "16x64b", L16x128b "16x128b", L16x256b "16x256b", L16x32bx2 "16x32bx2", X8 "x8", X16 "x16",
    X32 "x32", X64 "x64", X128 "x128", Pack16b "pack::16b", Unpack16b "unpack::16b",
    MbarrierArriveOne "mbarrier::arrive::one", KindF16 "kind::f16", KindTf32 "kind::tf32", KindI8 "kind::i8",
    Block16 "block16", Block32 "block32", CollectorAFill "collector::a::fill", CollectorAUse "collector::a::use",
    CollectorALastuse "collector::a::lastuse", CollectorADiscard "collector::a::discard", C128x256b "128x256b",
    C128x128b "128x128b", C64x128b "64x128b", C32x128b "32x128b", Warpx202 "warpx2::02_13",
    Warpx201 "warpx2::01_23", Warpx4 "warpx4",
}

impl Qual {
    /// M, N and K of a product's shape: `m64n8k16`.
    pub fn shape(self) -> Option<[u32; 3]> {
        let (m, rest) = self.name().strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    }
}

/// The qualifiers of one instruction, in order: at most [`Quals::MAX`].
#[derive(Clone, Copy)]
pub struct Quals {
    len: u8,
    items: [Qual; Quals::MAX],
}

impl Quals {
    /// More than any instruction of the ISA has.
    pub const MAX: usize = 14;

    /// No qualifiers.
    pub const NONE: Quals = Quals {
        len: 0,
        items: [Qual::T(Type::Pred); Quals::MAX],
    };

    /// From a slice.
    ///
    /// # Panics
    /// If there are more than [`Quals::MAX`]; use [`Quals::push`] for text from outside.
    #[inline]
    pub fn new(items: &[Qual]) -> Quals {
        let mut quals = Quals {
            len: items.len() as u8,
            ..Quals::NONE
        };
        // One by one: there are one to four, and a call that copies them costs more.
        for (at, item) in items.iter().enumerate() {
            quals.items[at] = *item;
        }
        quals
    }

    /// Appends one; `false` when full.
    #[must_use]
    pub fn push(&mut self, item: Qual) -> bool {
        let at = usize::from(self.len);
        if at == Quals::MAX {
            return false;
        }
        self.items[at] = item;
        self.len += 1;
        true
    }

    /// In order.
    #[inline]
    pub fn as_slice(&self) -> &[Qual] {
        &self.items[..usize::from(self.len)]
    }

    /// Whether it occurs.
    #[inline]
    pub fn has(&self, item: Qual) -> bool {
        self.as_slice().contains(&item)
    }

    /// The types among them, in order.
    pub fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.as_slice().iter().filter_map(|qual| match qual {
            Qual::T(ty) => Some(*ty),
            _ => None,
        })
    }
}

impl PartialEq for Quals {
    fn eq(&self, other: &Quals) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Quals {}

impl std::hash::Hash for Quals {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // Four to a word: a lookup of a form is mostly this.
        for four in self.as_slice().chunks(4) {
            let word = |word: u64, qual: &Qual| word << 16 | qual.index() as u64;
            state.write_u64(four.iter().fold(0, word));
        }
        state.write_u8(self.len);
    }
}

impl fmt::Debug for Quals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Quals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice()
            .iter()
            .try_for_each(|qual| write!(f, ".{}", qual.name()))
    }
}
