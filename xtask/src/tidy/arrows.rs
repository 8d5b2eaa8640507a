//! Edges between the crates: each is in the table below, or it is a fault.
//!
//! The table is the picture in ARCHITECTURE.md. An arrow never runs upwards or sideways; an edge
//! of tests and examples alone is marked as such. The pool crates further stand on a short list of
//! light crates.

use cargo_metadata::{Dependency, DependencyKind, Metadata, Package};

/// What may depend on what, and whether only tests, examples and documentation do.
const ARROWS: &[(&str, &str, DependencyKind)] = {
    use DependencyKind::{Development as Dev, Normal};
    &[
        ("tls-pool", "pool-core", Normal),
        ("grad-pool", "pool-core", Normal),
        ("frame-pool", "pool-core", Normal),
        ("tensor-grad", "tls-pool", Normal),
        ("tensor-grad", "grad-pool", Normal),
        ("spmd-hub", "frame-pool", Normal),
        // The policy trait's documentation shows one policy in all three pools.
        ("pool-core", "tls-pool", Dev),
        ("pool-core", "grad-pool", Dev),
        ("pool-core", "frame-pool", Dev),
        // The digits example trains on several ranks and reports statistics as data.
        ("spmd-hub", "tensor-grad", Dev),
        ("spmd-hub", "pool-core", Dev),
        // What the benchmarks measure; xtask only starts them.
        ("bench", "tls-pool", Normal),
        ("bench", "grad-pool", Normal),
        ("bench", "frame-pool", Normal),
        // The demo; and the README's examples, which are doctests of xtask.
        ("xtask", "pool-core", Normal),
        ("xtask", "spmd-hub", Normal),
        ("xtask", "tls-pool", Dev),
        ("xtask", "grad-pool", Dev),
        ("xtask", "frame-pool", Dev),
        ("xtask", "tensor-grad", Dev),
    ]
};

/// The crates that must stay light.
const POOLS: &[&str] = &["pool-core", "tls-pool", "grad-pool", "frame-pool"];

/// What a pool crate may depend on without being asked by a feature.
const LIGHT: &[&str] = &[
    "bytemuck",
    "crossbeam-channel",
    "crossbeam-queue",
    "crossbeam-utils",
    "num-complex",
    "pool-core",
    "rustc-hash",
    "thiserror",
];

/// Edges that are not in the table, entries of the table that no edge uses, and heavy
/// dependencies of the pools.
pub(super) fn faults(metadata: &Metadata) -> Vec<String> {
    let packages = metadata.workspace_packages();
    let edges: Vec<_> = packages
        .iter()
        .flat_map(|package| {
            let inside = |dep: &&Dependency| dep.path.is_some();
            package
                .dependencies
                .iter()
                .filter(inside)
                .map(|dep| edge(package, dep))
        })
        .collect();
    let mut faults: Vec<String> = edges
        .iter()
        .filter(|edge| !ARROWS.contains(edge))
        .map(|(from, to, kind)| {
            format!("edge {from} -> {to} ({kind}) is not in the table of arrows")
        })
        .collect();
    faults.extend(
        ARROWS
            .iter()
            .filter(|arrow| !edges.contains(arrow))
            .map(|(from, to, kind)| {
                format!("the table of arrows lists {from} -> {to} ({kind}), which does not exist")
            }),
    );
    faults.extend(
        packages
            .iter()
            .filter(|package| POOLS.contains(&package.name.as_str()))
            .flat_map(|package| {
                package
                    .dependencies
                    .iter()
                    .filter(|dep| is_heavy(dep))
                    .map(|dep| {
                        format!(
                            "{} depends on {}, which is not on the list of light crates",
                            package.name, dep.name
                        )
                    })
            }),
    );
    faults
}

fn edge<'m>(package: &'m Package, dep: &'m Dependency) -> (&'m str, &'m str, DependencyKind) {
    (package.name.as_str(), dep.name.as_str(), dep.kind)
}

/// Whether every user of the crate gets this dependency although it is not light. A dependency
/// for a `cfg`, such as loom's, reaches only who sets it.
fn is_heavy(dep: &Dependency) -> bool {
    dep.kind == DependencyKind::Normal
        && !dep.optional
        && dep.target.is_none()
        && !LIGHT.contains(&dep.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn an_edge_that_runs_upwards_is_a_fault() {
        let mut metadata = workspace::metadata().unwrap();
        assert_eq!(
            faults(&metadata),
            [""; 0],
            "the workspace itself is in order"
        );

        let grad = metadata
            .packages
            .iter()
            .find(|package| package.name == "tensor-grad")
            .unwrap();
        let mut up = grad
            .dependencies
            .iter()
            .find(|dep| dep.name == "grad-pool")
            .unwrap()
            .clone();
        up.name = "tensor-grad".into();
        let pool = metadata
            .packages
            .iter_mut()
            .find(|package| package.name == "grad-pool")
            .unwrap();
        pool.dependencies.push(up);
        let found = faults(&metadata);
        assert!(
            found
                .iter()
                .any(|fault| fault.starts_with("edge grad-pool -> tensor-grad")),
            "{found:?}"
        );
        assert!(
            found
                .iter()
                .any(|fault| fault.contains("not on the list of light crates"))
        );
    }
}
