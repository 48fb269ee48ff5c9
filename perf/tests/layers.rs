//! The layers of the harness: a module imports only modules of its own layer and of lower ones, and no modules import
//! each other in a circle. Unit tests are excepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of `src`, the lowest layer first. [`main.rs`](../src/main.rs) describes them.
const LAYERS: [&str; 11] = [
    "base", "model", "measure", "store", "run", "analyse", "show", "advise", "textbook", "cli",
    "cmd",
];

/// Returns all Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// A module: the name of its layer, and the name of its file or folder in the layer. The second name is empty for a
/// layer's own file.
type Module = (String, String);

/// Returns the modules that a file names in paths that begin with `crate::` or `super::`. Each path is first resolved
/// from the root of the crate; its first two words are the module. `own` is the path of the file's own module, such as
/// `["show", "tables", "matrix"]`. The file's unit tests, which stand at its end, may name any module.
fn imports(own: &[String], source: &str) -> Vec<Module> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let before_tests = |line: &&str| !line.ends_with("mod tests {");
    let code: Vec<&str> = source.lines().take_while(before_tests).filter(is_code).collect();
    let code = code.join(" ");
    let mut found = Vec::new();
    for at in ["crate::", "super::"].iter().flat_map(|first| code.match_indices(first)) {
        let (before, path) = code.split_at(at.0);
        if before.ends_with(|c: char| is_of_word(c) || c == ':') {
            continue;
        }
        let (start, path) = origin(own, path);
        for names in leaves(path).0 {
            let path: Vec<&str> = start.iter().map(|name| &**name).chain(names).collect();
            let name = |index: usize| path.get(index).copied().unwrap_or_default().to_owned();
            found.push((name(0), name(1)));
        }
    }
    found
}

/// Returns the module at which a path starts, and the rest of the path after `crate::` or after all of its `super::`.
fn origin<'a, 'b>(own: &'a [String], path: &'b str) -> (&'a [String], &'b str) {
    if let Some(path) = path.strip_prefix("crate::") {
        return (&[], path);
    }
    let (mut start, mut rest) = (own, path);
    while let Some(path) = rest.strip_prefix("super::") {
        let (_, parent) = start.split_last().expect("the root of the crate has no parent");
        (start, rest) = (parent, path);
    }
    (start, rest)
}

/// Returns the names of each path in the import tree at the start of `text`, such as `a::b` and `a::c` in `a::{b, c}`,
/// and the text after the tree.
fn leaves(text: &str) -> (Vec<Vec<&str>>, &str) {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return (all, after);
            }
            let (paths, after) = leaves(rest);
            all.extend(paths);
            // Skips the new name after `as`, if there is one, and the comma.
            let end = after.find([',', '}']).expect("a group of imports has a closing brace");
            rest = after[end..].strip_prefix(',').unwrap_or(&after[end..]);
        }
    }
    let (name, rest) = first_word(text);
    match rest.strip_prefix("::") {
        // A generic argument, such as in `of::<T>`, is not part of the path.
        Some(below) if !below.starts_with('<') => {
            let (paths, rest) = leaves(below);
            let under = |path: Vec<_>| [name].into_iter().chain(path).collect();
            (paths.into_iter().map(under).collect(), rest)
        }
        _ => (vec![vec![name]], rest),
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Splits a path after its first word.
fn first_word(path: &str) -> (&str, &str) {
    path.split_at(path.find(|c: char| !is_of_word(c)).unwrap_or(path.len()))
}

fn graph() -> BTreeMap<Module, BTreeSet<Module>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut graph: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for path in files(&source) {
        let below = path.strip_prefix(&source).unwrap().with_extension("");
        let mut own: Vec<String> =
            below.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        // The module of a file `mod.rs` is its folder.
        own.retain(|name| name != "mod");
        let module = (own[0].clone(), own.get(1).cloned().unwrap_or_default());
        let imports = imports(&own, &fs::read_to_string(&path).unwrap());
        graph.entry(module).or_default().extend(imports);
    }
    // The second word of a path may be an item of the layer's own file, such as `Case` in `crate::model::Case`. Then
    // the imported module is that file.
    let modules: BTreeSet<Module> = graph.keys().cloned().collect();
    for imported in graph.values_mut() {
        *imported = std::mem::take(imported)
            .into_iter()
            .map(
                |module| {
                    if modules.contains(&module) { module } else { (module.0, String::new()) }
                },
            )
            .collect();
    }
    graph
}

fn height(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

#[test]
fn all_paths_that_leave_a_module_are_seen() {
    let own = ["show", "tables", "matrix"].map(String::from);
    let modules = |source: &str| -> Vec<String> {
        let all = imports(&own, source).into_iter();
        all.map(|(layer, module)| format!("{layer}::{module}")).collect()
    };
    assert_eq!(modules("use crate::model::Row;"), ["model::Row"]);
    assert_eq!(
        modules("use crate::{base::{format, stats::median}, cmd, model::*};"),
        ["base::format", "base::stats", "cmd::", "model::"]
    );
    assert_eq!(modules("use super::{label, loads as l};"), ["show::tables"; 2]);
    assert_eq!(modules("use super::super::plots::Look;"), ["show::plots"]);
    assert_eq!(modules("use super::super::super::cmd::pin;"), ["cmd::pin"]);
    assert_eq!(
        modules("use super::super::super::{cli, run::{engine, session::Session}};"),
        ["cli::", "run::engine", "run::session"]
    );
    let called = modules("fn f() { super::super::html::page(crate::run::of::<u8>()) }");
    assert_eq!(called, ["run::of", "show::html"]);
    assert!(modules("// crate::cmd\nuse a_crate::cmd;\nmod tests {\nuse crate::cmd;").is_empty());
}

#[test]
fn every_module_is_in_a_layer_and_imports_no_higher_layer() {
    for ((layer, module), imported) in graph() {
        if layer == "main" {
            continue;
        }
        let own = height(&layer).unwrap_or_else(|| panic!("src/{layer} is no layer"));
        for (other, _) in imported {
            let Some(other_height) = height(&other) else {
                panic!("{layer}::{module} imports crate::{other}, which is in no layer");
            };
            assert!(other_height <= own, "{layer}::{module} imports the higher layer {other}");
        }
    }
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let graph = graph();
    let mut done = BTreeSet::new();
    for start in graph.keys() {
        let mut path = Vec::new();
        visit(start, &graph, &mut path, &mut done);
    }
}

/// Visits all modules that `module` imports. `path` holds the modules on the way from the start to
/// `module`, and `done` holds the modules from which no circle can be reached.
fn visit(
    module: &Module,
    graph: &BTreeMap<Module, BTreeSet<Module>>,
    path: &mut Vec<Module>,
    done: &mut BTreeSet<Module>,
) {
    assert!(!path.contains(module), "a circle of imports: {path:?} and again {module:?}");
    if done.contains(module) {
        return;
    }
    path.push(module.clone());
    for imported in graph.get(module).into_iter().flatten().filter(|other| *other != module) {
        visit(imported, graph, path, done);
    }
    path.pop();
    done.insert(module.clone());
}
