//! The packages of `cargo metadata`: who depends on whom, how, and with which features.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use serde_json::Value;

use crate::house::each;

/// How a package is depended on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Dev,
    Build,
}

/// A dependency as a manifest declares it.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A package of the resolved graph.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) id: String,
    pub(super) name: String,
    /// The manifest, from the root of the repository; for packages from outside, wherever it is.
    pub(super) manifest: String,
    /// Whether it is ours.
    pub(super) member: bool,
    pub(super) declared: Vec<Declared>,
    /// Features that are on, in this graph.
    pub(super) features: Vec<String>,
    /// Ids of the packages it is resolved to use, and how.
    pub(super) uses: Vec<(String, Vec<Kind>)>,
}

/// The whole graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) packages: Vec<Package>,
}

impl Graph {
    /// Reads what `cargo metadata --format-version 1` printed.
    pub(super) fn read(metadata: &Value, root: &Path) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = |value: &Value| match value.as_str() {
            Some("dev") => Kind::Dev,
            Some("build") => Kind::Build,
            Some(_) | None => Kind::Normal,
        };
        let nodes: HashMap<&str, &Value> = each(&metadata["resolve"]["nodes"])
            .filter_map(|node| Some((node["id"].as_str()?, node)))
            .collect();
        let packages = each(&metadata["packages"]).map(|package| {
            let id = text(&package["id"]);
            let node = nodes.get(id.as_str()).copied().unwrap_or(&Value::Null);
            let manifest = text(&package["manifest_path"]);
            let relative = Path::new(&manifest)
                .strip_prefix(root)
                .map(|path| path.to_string_lossy().into_owned());
            let declared = each(&package["dependencies"]);
            let declared = declared.map(|dep| Declared {
                name: text(&dep["name"]),
                kind: kind(&dep["kind"]),
            });
            let uses = each(&node["deps"]).map(|dep| {
                (
                    text(&dep["pkg"]),
                    each(&dep["dep_kinds"])
                        .map(|dep_kind| kind(&dep_kind["kind"]))
                        .collect(),
                )
            });
            Package {
                name: text(&package["name"]),
                manifest: relative.unwrap_or(manifest),
                member: each(&metadata["workspace_members"]).any(|member| *member == package["id"]),
                declared: declared.collect(),
                features: each(&node["features"]).map(text).collect(),
                uses: uses.collect(),
                id,
            }
        });
        Graph {
            packages: packages.collect(),
        }
    }

    /// The package with that id.
    pub(super) fn by_id(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// The shortest way from a package of ours to the one with that id.
    pub(super) fn way_to(&self, id: &str) -> Vec<&Package> {
        let mut from: HashMap<&str, Option<&str>> = HashMap::new();
        let mut queue = VecDeque::new();
        for package in self.packages.iter().filter(|package| package.member) {
            from.insert(&package.id, None);
            queue.push_back(package);
        }
        while let Some(package) = queue.pop_front() {
            for (used, _) in &package.uses {
                if let Some(next) = self
                    .by_id(used)
                    .filter(|next| !from.contains_key(next.id.as_str()))
                {
                    from.insert(&next.id, Some(&package.id));
                    queue.push_back(next);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = Some(id);
        while let Some(package) = at.and_then(|id| self.by_id(id)) {
            way.push(package);
            at = from.get(package.id.as_str()).copied().flatten();
        }
        way.reverse();
        way
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A graph of `(name, [(used, kind)])`; names that start with `warpsmith` or are `xtask` are ours.
    pub(in crate::tidy) fn graph(packages: &[(&str, &[(&str, &str)])]) -> Graph {
        let kind = |kind: &str| {
            if kind == "normal" {
                Value::Null
            } else {
                json!(kind)
            }
        };
        let ours = |name: &str| name.starts_with("warpsmith") || name == "xtask";
        let metadata = json!({
            "packages": packages.iter().map(|(name, uses)| json!({
                "id": name, "name": name, "manifest_path": format!("/repo/{name}/Cargo.toml"),
                "dependencies": uses.iter().map(|(used, k)| json!({ "name": used, "kind": kind(k) })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "workspace_members": packages.iter().map(|(name, _)| name).filter(|name| ours(name)).collect::<Vec<_>>(),
            "resolve": { "nodes": packages.iter().map(|(name, uses)| json!({
                "id": name, "features": [],
                "deps": uses.iter().map(|(used, k)| json!({ "pkg": used, "dep_kinds": [{ "kind": kind(k) }] })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>() },
        });
        Graph::read(&metadata, Path::new("/repo"))
    }

    #[test]
    fn the_shortest_way_is_found_from_a_package_of_ours() {
        let graph = graph(&[
            ("warpsmith", &[("a", "normal"), ("b", "normal")]),
            ("a", &[("c", "normal")]),
            ("c", &[("d", "build")]),
            ("b", &[("d", "normal")]),
            ("d", &[]),
        ]);
        let names: Vec<&str> = graph
            .way_to("d")
            .iter()
            .map(|package| package.name.as_str())
            .collect();
        assert_eq!(names, ["warpsmith", "b", "d"]);
        assert_eq!(graph.packages[0].manifest, "warpsmith/Cargo.toml");
    }
}
