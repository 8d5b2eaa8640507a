//! Every source file belongs to a target: a test file that nothing includes never runs.
//!
//! The walk starts at the root file of each target that cargo knows and follows `mod name;`, with
//! `#[path]` and inline modules, and `include!("…")`. What it does not reach is a fault.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::Metadata;
use syn::{Attribute, Expr, Item, ItemMod, Lit, LitStr, Meta};

/// Files that no target includes.
pub(super) fn faults(metadata: &Metadata, sources: &[PathBuf]) -> Result<Vec<String>> {
    let mut reached = HashSet::new();
    for package in metadata.workspace_packages() {
        for target in &package.targets {
            let root = target.src_path.as_std_path();
            let beside = root.parent().unwrap_or(root).to_path_buf();
            visit(root, &beside, &mut reached)?;
        }
    }
    let root = metadata.workspace_root.as_std_path();
    Ok(sources
        .iter()
        .filter(|path| !reached.contains(*path))
        .map(|path| path.strip_prefix(root).unwrap_or(path))
        .map(|path| format!("{} is included by no target", path.display()))
        .collect())
}

/// Reads `file`, whose child modules live in the folder `children`, and all that it declares.
fn visit(file: &Path, children: &Path, reached: &mut HashSet<PathBuf>) -> Result<()> {
    if !reached.insert(file.to_path_buf()) {
        return Ok(());
    }
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
    visit_items(&parsed.items, file, children, reached)
}

fn visit_items(
    items: &[Item],
    file: &Path,
    children: &Path,
    reached: &mut HashSet<PathBuf>,
) -> Result<()> {
    let beside = file.parent().unwrap_or(file);
    for item in items {
        match item {
            Item::Mod(ItemMod {
                content: Some((_, items)),
                ident,
                ..
            }) => {
                visit_items(items, file, &children.join(ident.to_string()), reached)?;
            }
            Item::Mod(module) => {
                let name = module.ident.to_string();
                let (path, grandchildren) = if let Some(path) = path_attribute(&module.attrs) {
                    let path = normal(&beside.join(path));
                    let folder = path.parent().unwrap_or(&path).to_path_buf();
                    (path, folder)
                } else {
                    let flat = children.join(format!("{name}.rs"));
                    let nested = children.join(&name).join("mod.rs");
                    (
                        if flat.exists() { flat } else { nested },
                        children.join(&name),
                    )
                };
                visit(&path, &grandchildren, reached)?;
            }
            Item::Macro(call) if call.mac.path.is_ident("include") => {
                if let Ok(path) = call.mac.parse_body::<LitStr>() {
                    visit(&normal(&beside.join(path.value())), beside, reached)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The value of `#[path = "…"]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("path"))
        .and_then(|attribute| {
            let Meta::NameValue(pair) = &attribute.meta else {
                return None;
            };
            let Expr::Lit(literal) = &pair.value else {
                return None;
            };
            let Lit::Str(path) = &literal.lit else {
                return None;
            };
            Some(path.value())
        })
}

/// `path` without `.` and `..`, as the walk over the workspace names it.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            std::path::Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_followed_and_strays_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let root = write(
            "lib.rs",
            "mod flat; mod nested; mod inline { mod deep; } \
                                    #[path = \"odd/place.rs\"] mod odd; include!(\"text.rs\");",
        );
        let all = [
            write("flat.rs", "mod below;"),
            write("flat/below.rs", ""),
            write("nested/mod.rs", ""),
            write("inline/deep.rs", ""),
            write("odd/place.rs", ""),
            write("text.rs", ""),
        ];
        let stray = write("stray.rs", "");
        let mut reached = HashSet::new();
        visit(&root, dir.path(), &mut reached).unwrap();
        for path in &all {
            assert!(reached.contains(path), "{}", path.display());
        }
        assert!(!reached.contains(&stray));
    }
}
