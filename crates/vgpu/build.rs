//! Tells the crate whether it is built without optimisation: the virtual GPU is then too slow to be of use.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(unoptimised)");
    if std::env::var("OPT_LEVEL").as_deref() == Ok("0") {
        println!("cargo:rustc-cfg=unoptimised");
    }
}
