//! No dependency, however far away, brings LLVM, NVRTC, a CUDA toolkit or a compiler for C or C++.

use super::Violation;
use super::graph::{Graph, Kind, Package};

/// Packages that may not be in the graph, and what each brings.
const BANNED: &[(&str, &str)] = &[
    ("llvm-sys", "LLVM"),
    ("inkwell", "LLVM"),
    ("llvm-ir", "LLVM"),
    ("melior", "LLVM"),
    ("mlir-sys", "LLVM"),
    ("clang-sys", "libclang, which is LLVM"),
    ("bindgen", "libclang, which is LLVM"),
    ("nvvm", "NVVM, which is LLVM"),
    ("rustc_codegen_nvvm", "NVVM, which is LLVM"),
    ("cust", "the CUDA toolkit at build time"),
    ("cust_raw", "the CUDA toolkit at build time"),
    ("cuda_builder", "NVVM, which is LLVM"),
    ("cuda-sys", "the CUDA toolkit at build time"),
    ("bindgen_cuda", "nvcc"),
    ("nvrtc", "NVRTC"),
    ("nvrtc-sys", "NVRTC"),
    ("cubecl", "NVRTC"),
    ("cubecl-cuda", "NVRTC"),
    ("onig", "C code compiled at build time"),
    ("onig_sys", "C code compiled at build time"),
    ("cxx", "a C++ compiler"),
    ("cxx-build", "a C++ compiler"),
    ("cpp_build", "a C++ compiler"),
    ("autocxx", "a C++ compiler"),
    ("link-cplusplus", "the C++ standard library"),
    ("sentencepiece", "C++ code compiled at build time"),
    ("sentencepiece-sys", "C++ code compiled at build time"),
    ("cmake", "CMake and a C++ compiler"),
    ("autotools", "a C compiler"),
    ("aws-lc-sys", "C code compiled at build time"),
    ("openssl-sys", "a C library of the system"),
];

/// Features that may not be on, and what each brings.
const BANNED_FEATURES: &[(&str, &str, &str)] = &[
    ("cudarc", "nvrtc", "NVRTC"),
    ("cudarc", "nvjitlink", "a library of the CUDA toolkit"),
    ("cudarc", "cublas", "a library of the CUDA toolkit"),
    ("cudarc", "cublaslt", "a library of the CUDA toolkit"),
    ("cudarc", "cudnn", "a library of the CUDA toolkit"),
    ("cudarc", "curand", "a library of the CUDA toolkit"),
    ("cudarc", "cufft", "a library of the CUDA toolkit"),
    ("cudarc", "cusolver", "a library of the CUDA toolkit"),
    ("cudarc", "cusparse", "a library of the CUDA toolkit"),
    ("cudarc", "cutensor", "a library of the CUDA toolkit"),
    ("cudarc", "nccl", "a library beside the driver"),
    ("cudarc", "runtime", "the CUDA runtime"),
    ("cudarc", "static-linking", "the CUDA toolkit at build time"),
    (
        "cudarc",
        "dynamic-linking",
        "the CUDA toolkit at build time",
    ),
    ("rustls", "ring", "C code compiled at build time"),
    ("rustls", "aws_lc_rs", "C code compiled at build time"),
    ("rustls-webpki", "ring", "C code compiled at build time"),
    (
        "rustls-webpki",
        "aws-lc-rs",
        "C code compiled at build time",
    ),
    ("esaxx-rs", "cpp", "C++ code compiled at build time"),
    ("tokenizers", "onig", "C code compiled at build time"),
    (
        "tokenizers",
        "esaxx_fast",
        "C++ code compiled at build time",
    ),
];

/// Packages that compile code of other languages when they are built.
const COMPILERS: &[&str] = &[
    "cc",
    "cmake",
    "cxx-build",
    "cpp_build",
    "autotools",
    "nasm-rs",
    "gcc",
];

/// Packages that use one of those and yet compile nothing as we use them, and why.
const COMPILES_NOTHING: &[(&str, &str)] = &[
    (
        "esaxx-rs",
        "only its feature `cpp` compiles, and that is banned above",
    ),
    (
        "ring",
        "rustls-webpki names it in `ring?/alloc`, which builds nothing; what would build it is banned above",
    ),
];

/// Checks every package of the graph.
pub(super) fn check(graph: &Graph) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in &graph.packages {
        if let Some((name, brings)) = BANNED.iter().find(|(name, _)| *name == package.name) {
            found.push(violation(
                graph,
                package,
                format!("`{name}` brings {brings}"),
            ));
        }
        for (_, feature, brings) in BANNED_FEATURES.iter().filter(|(name, feature, _)| {
            *name == package.name && package.features.iter().any(|on| on == feature)
        }) {
            let text = format!("feature `{feature}` of `{}` brings {brings}", package.name);
            found.push(violation(graph, package, text));
        }
        if COMPILES_NOTHING
            .iter()
            .any(|(name, _)| *name == package.name)
        {
            continue;
        }
        for (used, kinds) in &package.uses {
            let compiler = graph
                .by_id(used)
                .filter(|used| COMPILERS.contains(&used.name.as_str()));
            if let Some(compiler) = compiler.filter(|_| kinds.contains(&Kind::Build)) {
                let text = format!(
                    "`{}` compiles C or C++ by `{}` when it is built",
                    package.name, compiler.name
                );
                found.push(violation(graph, package, text));
            }
        }
    }
    found
}

/// The violation stands in our manifest from which the way to the package begins.
fn violation(graph: &Graph, package: &Package, text: String) -> Violation {
    let way = graph.way_to(&package.id);
    let names: Vec<&str> = way.iter().map(|package| package.name.as_str()).collect();
    Violation {
        file: way.first().map_or_else(
            || "Cargo.lock".to_owned(),
            |package| package.manifest.clone(),
        ),
        line: 1,
        rule: "native",
        text: format!("{text} (by {})", names.join(" > ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::graph::tests::graph;

    fn texts(graph: &Graph) -> Vec<String> {
        check(graph)
            .into_iter()
            .map(|violation| violation.text)
            .collect()
    }

    #[test]
    fn every_banned_package_is_seen_with_the_way_to_it() {
        for (name, brings) in BANNED {
            let graph = graph(&[
                ("warpsmith", &[("a", "normal")]),
                ("a", &[(name, "normal")]),
                (name, &[]),
            ]);
            assert_eq!(
                texts(&graph),
                [format!(
                    "`{name}` brings {brings} (by warpsmith > a > {name})"
                )]
            );
        }
    }

    #[test]
    fn every_banned_feature_is_seen_and_the_package_without_it_is_not() {
        for (name, feature, brings) in BANNED_FEATURES {
            let mut graph = graph(&[("warpsmith", &[(name, "normal")]), (name, &[])]);
            assert_eq!(texts(&graph), [""; 0]);
            graph.packages[1].features = vec!["default".to_owned(), (*feature).to_owned()];
            assert!(
                texts(&graph)[0]
                    .starts_with(&format!("feature `{feature}` of `{name}` brings {brings}"))
            );
        }
    }

    #[test]
    fn a_package_that_compiles_when_it_is_built_is_seen() {
        let with = |name, kind| {
            let graph = graph(&[
                ("warpsmith", &[(name, "normal")]),
                (name, &[("cc", kind)]),
                ("cc", &[]),
            ]);
            texts(&graph)
        };
        assert!(with("zstd-sys", "build")[0].starts_with("`zstd-sys` compiles C or C++ by `cc`"));
        assert_eq!(with("zstd-sys", "normal"), [""; 0]);
        assert_eq!(with("esaxx-rs", "build"), [""; 0]);
    }
}
