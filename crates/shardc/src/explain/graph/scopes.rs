//! Scopes of the front end, from the names in locations: `jit(step)/jit(main)/transpose(jvp(Model))/layers_0/attn/dot_general`.

use shardc_ir::{Loc, LocId, LocTable};

/// The scopes that enclose an operation, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) parts: Vec<String>,
    /// Whether the operation belongs to the backward pass: a scope is transposed.
    pub(super) backward: bool,
}

/// Transformations whose names JAX wraps around a scope.
const WRAPPERS: &[&str] =
    &["jvp(", "transpose(", "vmap(", "remat(", "checkpoint(", "custom_vjp(", "custom_jvp("];

/// Scopes that JAX adds for control flow and calls.
const SKIPPED: &[&str] =
    &["", "while", "body", "cond", "closed_call", "checkpoint", "remat", "rematted_computation", "shard_map"];

impl Scope {
    /// The scope of an operation with this name.
    pub(super) fn parse(name: &str) -> Scope {
        let mut scope = Scope::default();
        let Some((path, _)) = name.rsplit_once('/') else { return scope };
        for mut part in path.split('/') {
            while let Some(wrapper) = WRAPPERS.iter().find(|wrapper| part.starts_with(**wrapper)) {
                scope.backward |= *wrapper == "transpose(";
                part = part[wrapper.len()..].trim_end_matches(')');
            }
            if !SKIPPED.contains(&part) && !part.starts_with("jit(") && !part.starts_with("pjit") {
                scope.parts.push(part.to_owned());
            }
        }
        scope
    }

    /// The scope of a location: that of its outermost name.
    pub(super) fn of(locs: &LocTable, loc: LocId) -> Scope {
        match locs.get(loc) {
            Loc::Name { name, .. } => Scope::parse(name),
            Loc::CallSite { callee, .. } => Scope::of(locs, *callee),
            Loc::Fused { children, .. } => children.first().map_or(Scope::default(), |&c| Scope::of(locs, c)),
            Loc::Unknown | Loc::File { .. } | Loc::Raw(_) => Scope::default(),
        }
    }

    /// The scope as a key that is equal for all layers: numbers are replaced.
    pub(super) fn key(&self) -> String {
        let text = without_numbers(&self.parts.join("/"));
        if self.backward { format!("{text} backward") } else { text }
    }
}

/// The text with every number replaced by `*`.
pub(super) fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !c.is_ascii_digit() => out.push(c),
            _ if out.ends_with('*') => {}
            _ => out.push('*'),
        }
    }
    out
}

/// The longest common prefix of names that ends between two components: `params['layers'][*]` of `params['layers'][*]['wq']` and
/// `params['layers'][*]['wk']`.
pub(super) fn common_prefix(names: &[String]) -> Option<String> {
    let (first, rest) = names.split_first()?;
    let mut len = first.len();
    for name in rest {
        let equal = first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        len = len.min(equal);
    }
    let is_boundary = |at: usize| {
        let next = |name: &String| name.as_bytes().get(at).is_none_or(|b| b"[./".contains(b));
        first.is_char_boundary(at) && names.iter().all(next)
    };
    let at = (1..=len).rev().find(|&at| is_boundary(at))?;
    Some(first[..at].to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Scope, common_prefix, without_numbers};

    #[test]
    fn scopes_of_jax_names() {
        let scope = Scope::parse("jit(step)/jit(main)/transpose(jvp(Model))/layers_12/attn/dot_general");
        assert_eq!(scope.parts, ["Model", "layers_12", "attn"]);
        assert!(scope.backward);
        assert_eq!(scope.key(), "Model/layers_*/attn backward");
        assert_eq!(Scope::parse("jit(<lambda>)/mul"), Scope::default());
        assert_eq!(Scope::parse("p['embed']"), Scope::default());
    }

    #[test]
    fn prefixes_end_between_components() {
        let names = ["p['layers'][*]['wq']", "p['layers'][*]['wk']"].map(str::to_owned);
        assert_eq!(common_prefix(&names).as_deref(), Some("p['layers'][*]"));
        assert_eq!(common_prefix(&["params".to_owned(), "parts".to_owned()]), None);
        assert_eq!(common_prefix(&["w".to_owned()]).as_deref(), Some("w"));
        assert_eq!(without_numbers("layers_12[3]"), "layers_*[*]");
    }
}
