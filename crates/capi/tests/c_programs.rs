//! The programs in `examples/` compile without a warning, and run. The C program is compiled by gcc, clang, g++ and
//! clang++, and the C++ program by g++ and clang++. Compilers that the machine lacks are left out.
//!
//! The programs are linked with the libraries that cargo built for the tests. These libraries are in the same folder as
//! the executable of this test.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: &[Program] = &[
    Program { source: "filter_blocks.c", standard: "c99", compilers: ["gcc", "clang"] },
    Program { source: "word_list.cpp", standard: "c++17", compilers: ["g++", "clang++"] },
    // The C program is also valid C++.
    Program { source: "filter_blocks.c", standard: "c++17", compilers: ["g++", "clang++"] },
];

struct Program {
    source: &'static str,
    standard: &'static str,
    compilers: [&'static str; 2],
}

/// The folder that holds the executable of this test and the libraries.
fn folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn has(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|done| done.status.success())
}

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let [out, err] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(done.status.success(), "{command:?}\n{out}{err}");
    out.into_owned()
}

#[test]
fn the_examples_compile_without_a_warning_and_run() {
    let [folder, package] = [folder(), PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
    let programs = folder.join(format!("trommel c programs {}", std::process::id()));
    std::fs::create_dir_all(&programs).unwrap();
    for Program { source, standard, compilers } in PROGRAMS {
        let mut outputs = Vec::new();
        for compiler in *compilers {
            if !has(compiler) {
                println!("NOT RUN: {source} by {compiler}, which this machine lacks");
                continue;
            }
            for shared in [false, true] {
                let program = programs.join(format!("{source}-{compiler}-{shared}"));
                let mut compile = Command::new(compiler);
                compile
                    .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"])
                    .arg(format!("-std={standard}"))
                    .arg("-I")
                    .arg(package.join("include"));
                if standard.starts_with("c++") {
                    compile.args(["-x", "c++"]);
                }
                compile.arg(package.join("examples").join(source)).args(["-x", "none", "-o"]);
                compile.arg(&program);
                link(&mut compile, &folder, shared);
                run(&mut compile);
                outputs.push(run(&mut Command::new(&program)));
            }
        }
        assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]), "{outputs:?}");
        if outputs.is_empty() {
            println!("NOT RUN: {source}, since the machine has no compiler for it");
        }
    }
    std::fs::remove_dir_all(&programs).unwrap();
}

fn link(compile: &mut Command, folder: &Path, shared: bool) {
    let library = folder.join(if shared { "libtrommel_capi.so" } else { "libtrommel_capi.a" });
    compile.arg(&library);
    if shared {
        let mut path = std::ffi::OsString::from("-Wl,-rpath,");
        path.push(folder);
        compile.arg(path);
    }
    compile.args(["-pthread", "-lm", "-ldl"]);
}

/// The C++ wrapper calls every function of the C header, except three that C++ programs do not need.
#[test]
fn the_wrapper_for_cpp_has_every_function() {
    let header = include_str!("../include/trommel.h");
    let wrapper = include_str!("../include/trommel.hpp");
    let names = |text: &'static str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let code = wrapper.lines().filter(|line| !line.trim_start().starts_with("//"));
    let used: Vec<_> = code.flat_map(names).collect();
    for name in names(header) {
        // Not wrapped: the two functions that return a version, and `trommel_policy_build`, whose keys are slices. The
        // wrapper's `build` takes keys as `string_view`, and passes their hashes to `trommel_policy_build_hashes`.
        let not_wrapped = ["trommel_abi_version", "trommel_version", "trommel_policy_build"];
        let is_function =
            header.contains(&format!(" {name}(")) || header.contains(&format!("*{name}("));
        if name.starts_with("trommel_") && is_function && !not_wrapped.contains(&name) {
            assert!(used.contains(&name), "{name} is not wrapped");
        }
    }
}
