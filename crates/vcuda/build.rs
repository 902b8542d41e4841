//! Names the library as programs look for the driver: one that is loaded already is then found without a search. What
//! it calls of its own it finds in itself, also where another driver is loaded or its names are hidden.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
}
