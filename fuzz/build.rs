//! Tells the program `soak` whether it is built with AddressSanitizer. Code for stable compilers cannot test
//! `cfg(sanitize)`, but Cargo passes the value of this cfg to build scripts.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(address_sanitizer)");
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers.split(',').any(|sanitizer| sanitizer == "address") {
        println!("cargo::rustc-cfg=address_sanitizer");
    }
}
