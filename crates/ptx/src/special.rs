//! Special registers (PTX ISA, section 10).

use crate::types::Type;

macro_rules! specials {
    ($($name:ident $text:literal $ty:ident;)*) => {
        /// A predefined read-only register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Special { $($name,)* }

        impl Special {
            /// Every special register.
            pub const ALL: &'static [Special] = &[$(Special::$name,)*];

            /// As PTX writes it, with `%` and component.
            pub const fn name(self) -> &'static str {
                match self { $(Special::$name => $text,)* }
            }

            /// The register with this name.
            pub fn from_name(name: &str) -> Option<Special> {
                match name { $($text => Some(Special::$name),)* _ => None }
            }

            /// Its type.
            pub const fn ty(self) -> Type {
                match self { $(Special::$name => Type::$ty,)* }
            }
        }
    };
}

specials! {
    TidX "%tid.x" U32; TidY "%tid.y" U32; TidZ "%tid.z" U32;
    NtidX "%ntid.x" U32; NtidY "%ntid.y" U32; NtidZ "%ntid.z" U32;
    CtaidX "%ctaid.x" U32; CtaidY "%ctaid.y" U32; CtaidZ "%ctaid.z" U32;
    NctaidX "%nctaid.x" U32; NctaidY "%nctaid.y" U32; NctaidZ "%nctaid.z" U32;
    ClusteridX "%clusterid.x" U32; ClusteridY "%clusterid.y" U32; ClusteridZ "%clusterid.z" U32;
    NclusteridX "%nclusterid.x" U32; NclusteridY "%nclusterid.y" U32; NclusteridZ "%nclusterid.z" U32;
    ClusterCtaidX "%cluster_ctaid.x" U32; ClusterCtaidY "%cluster_ctaid.y" U32; ClusterCtaidZ "%cluster_ctaid.z" U32;
    ClusterNctaidX "%cluster_nctaid.x" U32; ClusterNctaidY "%cluster_nctaid.y" U32; ClusterNctaidZ "%cluster_nctaid.z" U32;
    ClusterCtarank "%cluster_ctarank" U32; ClusterNctarank "%cluster_nctarank" U32;
    IsExplicitCluster "%is_explicit_cluster" Pred;
    Laneid "%laneid" U32; Warpid "%warpid" U32; Nwarpid "%nwarpid" U32; Smid "%smid" U32; Nsmid "%nsmid" U32;
    Gridid "%gridid" U64;
    LanemaskEq "%lanemask_eq" U32; LanemaskLe "%lanemask_le" U32; LanemaskLt "%lanemask_lt" U32;
    LanemaskGe "%lanemask_ge" U32; LanemaskGt "%lanemask_gt" U32;
    Clock "%clock" U32; ClockHi "%clock_hi" U32; Clock64 "%clock64" U64;
    Globaltimer "%globaltimer" U64; GlobaltimerLo "%globaltimer_lo" U32; GlobaltimerHi "%globaltimer_hi" U32;
    DynamicSmemSize "%dynamic_smem_size" U32; TotalSmemSize "%total_smem_size" U32; AggrSmemSize "%aggr_smem_size" U32;
    ReservedSmemOffsetBegin "%reserved_smem_offset_begin" U32; ReservedSmemOffsetEnd "%reserved_smem_offset_end" U32;
    ReservedSmemOffsetCap "%reserved_smem_offset_cap" U32; ReservedSmemOffset0 "%reserved_smem_offset_0" U32;
    ReservedSmemOffset1 "%reserved_smem_offset_1" U32; CurrentGraphExec "%current_graph_exec" U64;
    Envreg0 "%envreg0" U32; Envreg1 "%envreg1" U32; Envreg2 "%envreg2" U32; Envreg3 "%envreg3" U32;
    Envreg4 "%envreg4" U32; Envreg5 "%envreg5" U32; Envreg6 "%envreg6" U32; Envreg7 "%envreg7" U32;
    Envreg8 "%envreg8" U32; Envreg9 "%envreg9" U32; Envreg10 "%envreg10" U32; Envreg11 "%envreg11" U32;
    Envreg12 "%envreg12" U32; Envreg13 "%envreg13" U32; Envreg14 "%envreg14" U32; Envreg15 "%envreg15" U32;
    Envreg16 "%envreg16" U32; Envreg17 "%envreg17" U32; Envreg18 "%envreg18" U32; Envreg19 "%envreg19" U32;
    Envreg20 "%envreg20" U32; Envreg21 "%envreg21" U32; Envreg22 "%envreg22" U32; Envreg23 "%envreg23" U32;
    Envreg24 "%envreg24" U32; Envreg25 "%envreg25" U32; Envreg26 "%envreg26" U32; Envreg27 "%envreg27" U32;
    Envreg28 "%envreg28" U32; Envreg29 "%envreg29" U32; Envreg30 "%envreg30" U32; Envreg31 "%envreg31" U32;
    Pm0 "%pm0" U32; Pm1 "%pm1" U32; Pm2 "%pm2" U32; Pm3 "%pm3" U32;
    Pm4 "%pm4" U32; Pm5 "%pm5" U32; Pm6 "%pm6" U32; Pm7 "%pm7" U32;
    Pm0Wide "%pm0_64" U64; Pm1Wide "%pm1_64" U64; Pm2Wide "%pm2_64" U64; Pm3Wide "%pm3_64" U64;
    Pm4Wide "%pm4_64" U64; Pm5Wide "%pm5_64" U64; Pm6Wide "%pm6_64" U64; Pm7Wide "%pm7_64" U64;
    WarpSz "WARP_SZ" U32;
}
