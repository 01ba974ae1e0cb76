//! The module tree that the names of parameters form.

use std::collections::BTreeMap;

use super::{Part, Units};

/// A module: its submodules by name, and the indices of its own parameters.
#[derive(Debug, Default)]
struct Node {
    children: BTreeMap<String, Node>,
    /// Parameters by the last part of their names.
    own: BTreeMap<String, usize>,
}

/// A tree of modules.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: Node,
}

/// The separators of names: in JAX pytrees, in paths of flax and Keras, and in PyTorch.
const BETWEEN: [char; 6] = ['[', ']', '\'', '"', '.', '/'];

/// Returns the parts of a name: `params['h'][3]['kernel']` is `params`, `h`, `3`, `kernel`.
pub(super) fn path(name: &str) -> Vec<String> {
    name.split(BETWEEN).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns whether a name is only the index of the argument.
pub(super) fn is_nameless(name: &str) -> bool {
    name.strip_prefix("arg").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

/// Returns whether two different names are equal apart from digits, and `a` ends in a digit.
fn is_numbered_alike(a: &str, b: &str) -> bool {
    let letters = |name: &str| -> String { name.chars().filter(|c| !c.is_ascii_digit()).collect() };
    a != b && letters(a) == letters(b) && a.ends_with(|c: char| c.is_ascii_digit())
}

impl Node {
    /// Returns whether two modules have the same structure: submodules and parameters with the same names.
    fn is_like(&self, other: &Node) -> bool {
        self.own.keys().eq(other.own.keys())
            && self.children.keys().eq(other.children.keys())
            && self.children.values().zip(other.children.values()).all(|(a, b)| a.is_like(b))
    }

    /// Returns whether a module has parameters and all of them satisfy a predicate.
    fn all(&self, is: &dyn Fn(usize) -> bool) -> bool {
        let has_some = !self.own.is_empty() || !self.children.is_empty();
        has_some && self.own.values().all(|&i| is(i)) && self.children.values().all(|child| child.all(is))
    }

    /// Returns whether a submodule has numbered siblings with the same structure.
    fn is_repeated(&self, name: &str) -> bool {
        let Some(node) = self.children.get(name) else { return false };
        let beside = self.children.iter().filter(|(other, _)| is_numbered_alike(other, name));
        beside.into_iter().any(|(_, other)| node.is_like(other))
    }

    fn is_list(&self) -> bool {
        self.own.is_empty() && self.children.keys().all(|name| self.is_repeated(name))
    }
}

impl Tree {
    /// Builds the tree of parameters from the parts of their names; the last part is the parameter's own name.
    pub(super) fn of(parameters: impl Iterator<Item = (usize, Vec<String>)>) -> Tree {
        let mut tree = Tree::default();
        for (argument, mut path) in parameters {
            let last = path.pop().unwrap_or_default();
            let mut node = &mut tree.root;
            for part in path {
                node = node.children.entry(part).or_default();
            }
            node.own.insert(last, argument);
        }
        tree
    }

    /// Finds the units that a policy selects, for a step with this many arguments; the outermost module is the root.
    pub(super) fn units(
        &self,
        arguments: usize,
        size: &dyn Fn(usize) -> u64,
        is_stack: &dyn Fn(usize) -> bool,
        policy: &dyn Fn(&Part<'_>) -> bool,
    ) -> Units {
        let mut walk = Walk { size, is_stack, policy, found: Vec::new(), of: vec![None; arguments] };
        for (name, child) in &self.root.children {
            walk.node(child, name.clone(), self.root.is_repeated(name), false);
        }
        walk.into_units()
    }
}

struct Walk<'a> {
    size: &'a dyn Fn(usize) -> u64,
    /// Whether loops read rows of an argument.
    is_stack: &'a dyn Fn(usize) -> bool,
    policy: &'a dyn Fn(&Part<'_>) -> bool,
    /// The names of the units found so far, nested modules before their enclosing modules.
    found: Vec<String>,
    of: Vec<Option<usize>>,
}

impl Walk<'_> {
    /// Visits the submodules of a module, then the module itself; returns the parameters of the module that are not yet in a unit.
    fn node(&mut self, node: &Node, name: String, is_repeated: bool, is_in_layer: bool) -> Vec<usize> {
        let mut rest: Vec<usize> = node.own.values().copied().collect();
        let is_repeated = is_repeated || node.all(self.is_stack);
        for (part, child) in &node.children {
            let inner = format!("{name}.{part}");
            rest.extend(self.node(child, inner, node.is_repeated(part), is_in_layer || is_repeated));
        }
        let part = Part {
            name: &name,
            parameters: rest.iter().map(|&i| (self.size)(i)).sum(),
            is_layer: is_repeated && !is_in_layer,
            is_list: node.is_list(),
        };
        if rest.is_empty() || !(self.policy)(&part) {
            return rest;
        }
        for i in rest {
            self.of[i] = Some(self.found.len());
        }
        self.found.push(name);
        Vec::new()
    }

    /// Returns the units in the order of their first argument, since sorting by name would put `10` before `2`.
    fn into_units(self) -> Units {
        let mut number: Vec<Option<usize>> = vec![None; self.found.len()];
        let mut names = Vec::with_capacity(self.found.len());
        let mut of = self.of;
        for unit in of.iter_mut().flatten() {
            *unit = *number[*unit].get_or_insert_with(|| {
                names.push(self.found[*unit].clone());
                names.len() - 1
            });
        }
        Units { names, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each name with its unit; each parameter has ten elements.
    fn units(names: &[&str], policy: &dyn Fn(&Part<'_>) -> bool) -> Vec<String> {
        let tree = Tree::of(names.iter().enumerate().map(|(i, name)| (i, path(name))));
        let units = tree.units(names.len(), &|_| 10, &|_| false, policy);
        units.of.iter().map(|unit| unit.map_or("-".to_owned(), |unit| units.names[unit].clone())).collect()
    }

    const NAMES: [&str; 7] = [
        "params['h'][0]['attn']['q']",
        "params['h'][0]['attn']['o']",
        "params['h'][0]['mlp']['up']",
        "params['h'][10]['attn']['q']",
        "params['h'][10]['attn']['o']",
        "params['h'][10]['mlp']['up']",
        "params['wte']",
    ];

    #[test]
    fn layers_are_modules_that_are_repeated() {
        let [first, last] = ["params.h.0", "params.h.10"];
        assert_eq!(units(&NAMES, &|part| part.is_layer), [first, first, first, last, last, last, "-"]);
    }

    #[test]
    fn every_module_is_a_unit() {
        let found = units(&NAMES, &|part| part.parameters > 0);
        assert_eq!(found[..4], ["params.h.0.attn", "params.h.0.attn", "params.h.0.mlp", "params.h.10.attn"]);
        assert_eq!(found[6], "params");
    }

    #[test]
    fn units_by_size_exclude_nested_units() {
        // `attn` has 20 parameters. The layer has 30, of which 10 are outside the unit `attn`.
        let found = units(&NAMES, &|part| part.parameters >= 20 && !part.is_list);
        assert_eq!(found[..3], ["params.h.0.attn", "params.h.0.attn", "params"]);
        let found = units(&NAMES, &|part| part.parameters >= 25 && !part.is_list);
        assert_eq!(found[..4], ["params.h.0", "params.h.0", "params.h.0", "params.h.10"]);
        assert_eq!(found[6], "-");
    }

    #[test]
    fn different_modules_are_not_layers() {
        let names = ["block1/conv/kernel", "block2/dense/kernel", "block3/dense/kernel"];
        assert_eq!(units(&names, &|part| part.is_layer), ["-", "block2", "block3"]);
    }

    #[test]
    fn names() {
        assert!(is_nameless("arg12") && !is_nameless("args") && !is_nameless("params['w']"));
        assert_eq!(path("params['conv2d/kernel']"), ["params", "conv2d", "kernel"]);
        assert_eq!(path("h.0.attn.c_attn.weight"), ["h", "0", "attn", "c_attn", "weight"]);
    }
}
