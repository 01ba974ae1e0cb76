//! The Python pytree of a state: dictionaries, lists, tuples, `None`, empty nodes, scalars.
//!
//! Orbax restores a checkpoint into a tree of the caller only if both have the same structure. The names of arrays do not determine the
//! structure: a list and a dictionary with the keys `0` and `1` have the same names, and empty nodes have no name.

use std::collections::{BTreeMap, BTreeSet};

/// A key of a pytree: it selects a child of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// An index of a list or a tuple.
    Index(usize),
    /// A key of a dictionary, or an attribute.
    Name(String),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Key::Index(index) => write!(f, "{index}"),
            Key::Name(name) => f.write_str(name),
        }
    }
}

/// A leaf of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The keys on the path from the root to the leaf.
    pub keys: Vec<Key>,
    /// The type name that Orbax writes: `jax.Array`, `np.ndarray`, `scalar`, `string`, `None`, `Dict`, `List`, `Tuple`, `NamedTuple`.
    pub kind: String,
    /// The text of a `string`.
    pub text: Option<String>,
}

impl Leaf {
    /// Returns the name of the leaf: its keys, separated by dots.
    #[must_use]
    pub fn name(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(Key::to_string).collect();
        keys.join(".")
    }

    /// Returns whether the leaf is an array of the checkpoint, according to its type name.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self.kind.as_str(), "jax.Array" | "np.ndarray" | "scalar")
    }
}

/// A tree, as a list of its leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The leaves, in order.
    pub leaves: Vec<Leaf>,
}

/// Orbax's type name of arrays on devices.
const ARRAY: &str = "jax.Array";

impl Tree {
    /// Creates a tree from the names that JAX gives to the arguments of a function, such as `params['layers'][0].w`. `[0]` is an index of a
    /// list, `['0']` a key of a dictionary.
    #[must_use]
    pub fn of_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Tree {
        let leaf = |path: &str| Leaf { keys: keys_of(path), kind: ARRAY.to_owned(), text: None };
        Tree { leaves: paths.into_iter().map(leaf).collect() }
    }

    /// Returns the tree for saving arrays with these names: `self`, with leaves added and removed. Leaves of `self` keep their keys and
    /// types. Other names are split at dots, if this produces a valid tree; keys that are digits become indices if all keys of their node
    /// are digits. Missing indices of a list become leaves of type `None`. Leaves of `self` that are not arrays are kept; arrays of `self`
    /// that are not in `names` are removed.
    pub(crate) fn for_names(&self, names: &[&str]) -> Tree {
        let known: BTreeMap<String, &Leaf> = self.leaves.iter().map(|leaf| (leaf.name(), leaf)).collect();
        let unknown: Vec<&str> = names.iter().copied().filter(|name| !known.contains_key(*name)).collect();
        let mut split: BTreeMap<&str, Vec<Key>> = split(&unknown).into_iter().collect();
        let mut leaves = Vec::new();
        for &name in names {
            leaves.push(match (known.get(name), split.remove(name)) {
                (Some(&leaf), _) if leaf.is_array() => leaf.clone(),
                (Some(&leaf), _) => Leaf { keys: leaf.keys.clone(), kind: ARRAY.to_owned(), text: None },
                (None, keys) => {
                    let keys = keys.unwrap_or_else(|| vec![Key::Name(name.to_owned())]);
                    Leaf { keys, kind: ARRAY.to_owned(), text: None }
                }
            });
        }
        let saved: BTreeSet<&str> = names.iter().copied().collect();
        let rest =
            self.leaves.iter().filter(|leaf| !leaf.is_array() && !saved.contains(leaf.name().as_str()));
        leaves.extend(rest.cloned());
        let filled = Tree { leaves }.with_holes();
        match filled.is_tree() {
            true => filled,
            // If names cannot be split into a valid tree, each name is the only key of its leaf.
            false => {
                let flat = |name: &&str| Leaf {
                    keys: vec![Key::Name((*name).to_owned())],
                    kind: ARRAY.to_owned(),
                    text: None,
                };
                Tree { leaves: names.iter().map(flat).collect() }
            }
        }
    }

    /// Adds a leaf of type `None` for each missing index of a list.
    fn with_holes(mut self) -> Tree {
        let mut lists: BTreeMap<Vec<Key>, BTreeSet<usize>> = BTreeMap::new();
        for leaf in &self.leaves {
            for (depth, key) in leaf.keys.iter().enumerate() {
                if let Key::Index(index) = key {
                    lists.entry(leaf.keys[..depth].to_vec()).or_default().insert(*index);
                }
            }
        }
        for (parent, indices) in lists {
            let Some(&last) = indices.last() else { continue };
            if last > MOST_HOLES + indices.len() {
                continue;
            }
            for index in (0..last).filter(|index| !indices.contains(index)) {
                let keys = parent.iter().cloned().chain([Key::Index(index)]).collect();
                self.leaves.push(Leaf { keys, kind: "None".to_owned(), text: None });
            }
        }
        self
    }

    /// Returns whether the leaves form a tree: no leaf is also a node, no leaf is repeated, and the children of a node are all indices or
    /// all names.
    fn is_tree(&self) -> bool {
        let mut nodes: BTreeMap<&[Key], bool> = BTreeMap::new();
        for leaf in &self.leaves {
            for (depth, key) in leaf.keys.iter().enumerate() {
                let is_index = matches!(key, Key::Index(_));
                if *nodes.entry(&leaf.keys[..depth]).or_insert(is_index) != is_index {
                    return false;
                }
            }
        }
        let mut seen = BTreeSet::new();
        self.leaves.iter().all(|leaf| !nodes.contains_key(&leaf.keys[..]) && seen.insert(&leaf.keys))
    }
}

/// Maximum number of missing indices of a list. A node with more missing indices is not a list.
const MOST_HOLES: usize = 1000;

/// Splits names at dots; returns an empty list if this does not produce a valid tree. Keys that are digits become indices if all keys of
/// their node are digits.
fn split<'a>(names: &[&'a str]) -> Vec<(&'a str, Vec<Key>)> {
    let set: BTreeSet<&str> = names.iter().copied().collect();
    let nested = names.iter().all(|name| {
        let mut parents = name.match_indices('.').map(|(at, _)| &name[..at]);
        !parents.any(|parent| set.contains(parent)) && !name.split('.').any(str::is_empty)
    });
    if !nested {
        return Vec::new();
    }
    // The keys of the children of each node, by the prefix of the name up to the node.
    let mut children: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let steps = |name: &'a str| {
        let mut start = 0;
        name.split('.').map(move |part| {
            let before = &name[..start];
            start += part.len() + 1;
            (before, part)
        })
    };
    for &name in names {
        for (before, part) in steps(name) {
            children.entry(before).or_default().insert(part);
        }
    }
    let index = |part: &str| part.parse::<usize>().ok().filter(|index| index.to_string() == part);
    let lists: BTreeSet<&str> = children
        .iter()
        .filter(|(before, parts)| {
            let indices: Option<Vec<usize>> = parts.iter().map(|part| index(part)).collect();
            let last = indices.and_then(|indices| indices.into_iter().max());
            !before.is_empty() && last.is_some_and(|last| last <= parts.len() + MOST_HOLES)
        })
        .map(|(&before, _)| before)
        .collect();
    let key = |(before, part): (&str, &str)| match index(part) {
        Some(index) if lists.contains(before) => Key::Index(index),
        _ => Key::Name(part.to_owned()),
    };
    names.iter().map(|&name| (name, steps(name).map(key).collect())).collect()
}

/// Parses a name in JAX's notation into keys.
fn keys_of(path: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| bracket(rest)) {
            let quoted =
                inside.len() >= 2 && inside.starts_with(['\'', '"']) && inside.ends_with(&inside[..1]);
            keys.push(match inside.parse() {
                _ if quoted => Key::Name(inside[1..inside.len() - 1].to_owned()),
                Ok(index) => Key::Index(index),
                Err(_) => Key::Name(inside.to_owned()),
            });
            rest = after;
            continue;
        }
        rest = rest.trim_start_matches(['.', '/']);
        let end = rest.find(['.', '/', '[']).unwrap_or(rest.len());
        // A bracket that is never closed is part of a name.
        let end = if end == 0 { rest.len() } else { end };
        if end > 0 {
            keys.push(Key::Name(rest[..end].to_owned()));
        }
        rest = &rest[end..];
    }
    keys
}

/// Splits the text after an opening bracket into the text inside the brackets, and the text after the closing bracket.
fn bracket(rest: &str) -> Option<(&str, &str)> {
    match rest.chars().next()? {
        quote @ ('\'' | '"') => {
            let end = rest[1..].find(&format!("{quote}]"))? + 2;
            Some((&rest[..end], &rest[end + 1..]))
        }
        _ => rest.split_once(']'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tree: &Tree) -> Vec<String> {
        let leaf = |leaf: &Leaf| {
            let key = |key: &Key| match key {
                Key::Index(index) => format!("[{index}]"),
                Key::Name(name) => format!(".{name}"),
            };
            let keys: String = leaf.keys.iter().map(key).collect();
            if leaf.kind == ARRAY { keys } else { format!("{keys}: {}", leaf.kind) }
        };
        tree.leaves.iter().map(leaf).collect()
    }

    #[test]
    fn names_of_jax_say_what_is_an_index() {
        let tree = Tree::of_paths(["params['layers'][0]['a.b']", "opt[1].mu['0']", "x", "a[", "p/q"]);
        let want = [".params.layers[0].a.b", ".opt[1].mu.0", ".x", ".a.[", ".p.q"];
        assert_eq!(shown(&tree), want);
        assert_eq!(tree.leaves[0].keys[3], Key::Name("a.b".to_owned()));
        assert_eq!(tree.leaves[1].keys[3], Key::Name("0".to_owned()));
    }

    #[test]
    fn names_are_nested_where_that_is_a_tree() {
        let of = |names: &[&str]| shown(&Tree::default().for_names(names));
        assert_eq!(of(&["opt.1.count", "opt.1.mu.w"]), [".opt[1].count", ".opt[1].mu.w", ".opt[0]: None"]);
        assert_eq!(of(&["l.0", "l.a"]), [".l.0", ".l.a"]);
        assert_eq!(of(&["0", "1"]), [".0", ".1"]);
        assert_eq!(of(&["l.00"]), [".l.00"]);
        assert_eq!(of(&["w", "w.scale"]), [".w", ".w.scale"]);
        assert_eq!(of(&["l.4000000000"]), [".l.4000000000"]);
    }

    #[test]
    fn known_tree_is_kept() {
        let mut tree = Tree::of_paths(["a['0']", "gone", "b[0]"]);
        tree.leaves[2].kind = "scalar".to_owned();
        for (index, kind) in [(1, "None"), (2, "Tuple")] {
            let keys = vec![Key::Name("b".to_owned()), Key::Index(index)];
            tree.leaves.push(Leaf { keys, kind: kind.to_owned(), text: None });
        }
        let saved = tree.for_names(&["a.0", "b.0", "new.w"]);
        assert_eq!(shown(&saved), [".a.0", ".b[0]: scalar", ".new.w", ".b[1]: None", ".b[2]: Tuple"]);
        // An array is added at index 1 of the list, which was missing.
        assert_eq!(shown(&tree.for_names(&["b.1"])), [".b[1]", ".b[2]: Tuple", ".b[0]: None"]);
    }
}
