//! The layers of the harness: a module imports only modules of its own layer and of lower ones, and no modules import
//! each other in a circle.

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

/// A module: its layer, and the file or folder in it. The second name is empty for a layer's own
/// file.
type Module = (String, String);

/// Returns the modules that a file names: the first two words of each path that begins with `crate::`. The file's unit
/// tests, which stand at its end, may name any module.
fn imports(source: &str) -> Vec<Module> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let before_tests = |line: &&str| !line.ends_with("mod tests {");
    let code: Vec<&str> = source.lines().take_while(before_tests).filter(is_code).collect();
    let mut found = Vec::new();
    for path in code.join(" ").split("crate::").skip(1) {
        let (layer, rest) = first_word(path);
        assert!(!layer.is_empty(), "an import of several modules of the crate at once: {path:.60}");
        let rest = rest.strip_prefix("::").unwrap_or_default();
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        };
        found.extend(
            names.iter().map(|name| (layer.to_owned(), first_word(name.trim()).0.to_owned())),
        );
    }
    found
}

/// Splits a path after its first word.
fn first_word(path: &str) -> (&str, &str) {
    let end = path.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(path.len());
    path.split_at(end)
}

fn graph() -> BTreeMap<Module, BTreeSet<Module>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut graph: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for path in files(&source) {
        let below = path.strip_prefix(&source).unwrap().with_extension("");
        let mut parts = below.iter().map(|part| part.to_str().unwrap().to_owned());
        let module = (parts.next().unwrap(), parts.next().unwrap_or_default());
        let imports = imports(&fs::read_to_string(&path).unwrap());
        graph.entry(module).or_default().extend(imports);
    }
    // A name may also be that of an item of the layer itself, such as `crate::model::Case`.
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
fn every_module_is_in_a_layer_and_imports_only_downwards() {
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
