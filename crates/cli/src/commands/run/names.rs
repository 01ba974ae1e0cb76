//! The names of arguments and results in checkpoints and files.

use std::collections::BTreeMap;

use anyhow::Result;
use shardc::Interface;

use crate::failure::usage;

/// Converts a name to a path: `params['w']`, `params/w` and `params.w` become `params.w`.
pub(super) fn path(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '[' | '/' | '.' if path.is_empty() || path.ends_with('.') => {}
            '[' | '/' => path.push('.'),
            ']' | '\'' | '"' => {}
            other => path.push(other),
        }
    }
    path.truncate(path.trim_end_matches('.').len());
    path
}

/// The name of each result: the name of the argument that is donated to it, else its own name. A result without a unique name is `outN`.
pub(super) fn results(interface: &Interface) -> Vec<String> {
    let argument = |(i, name): (usize, Option<&str>)| name.map_or_else(|| format!("arg{i}"), str::to_owned);
    let aliased: BTreeMap<usize, String> = interface
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(i, input)| Some((input.donated_to?, argument((i, input.name.as_deref())))))
        .collect();
    let wished: Vec<Option<String>> = interface
        .outputs
        .iter()
        .enumerate()
        .map(|(i, output)| aliased.get(&i).map(String::as_str).or(output.name.as_deref()).map(path))
        .map(|name| name.filter(|name| !name.is_empty()))
        .collect();
    let mut names: Vec<String> = Vec::new();
    for (i, name) in wished.iter().enumerate() {
        let is_unique = |name: &&String| wished.iter().flatten().filter(|other| other == name).count() == 1;
        names.push(name.as_ref().filter(is_unique).cloned().unwrap_or_else(|| format!("out{i}")));
    }
    names
}

/// The rules of `--map`: names of arguments in the sources of `--load`.
pub(super) struct Map(Vec<(String, String)>);

impl Map {
    /// # Errors
    /// Invalid usage: no `=`, several stars on one side, or a star only on the right.
    pub(super) fn new(given: &[String]) -> Result<Map> {
        let rule = |text: &String| {
            let (ours, theirs) = text.split_once('=').ok_or_else(|| {
                usage(format!("--map {text}: expected ARG=NAME, as in \"params.*=model.*\""))
            })?;
            let (ours, stars) = (path(ours), |side: &str| side.matches('*').count());
            if stars(&ours) > 1 || stars(theirs) > stars(&ours) {
                return Err(usage(format!(
                    "--map {text}: each side may have at most one *, and the right side only if the left side has one"
                )));
            }
            Ok((ours, theirs.to_owned()))
        };
        Ok(Map(given.iter().map(rule).collect::<Result<_>>()?))
    }

    /// Returns the name of an argument in the sources, as a path, or `None` if no rule matches. The last matching rule wins.
    pub(super) fn of(&self, name: &str) -> Option<String> {
        self.0.iter().rev().find_map(|(ours, theirs)| {
            let found = match ours.split_once('*') {
                None => (ours == name).then_some("")?,
                Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after)?,
            };
            Some(path(&theirs.replacen('*', found, 1)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths() {
        for (name, expected) in [
            ("params['w']", "params.w"),
            ("params[\"layer\"][0].bias", "params.layer.0.bias"),
            ("params/w", "params.w"),
            ("[0]['a']", "0.a"),
            ("x", "x"),
            ("['a']['b']", "a.b"),
            ("", ""),
        ] {
            assert_eq!(path(name), expected);
            assert_eq!(path(expected), expected);
        }
    }

    #[test]
    fn the_last_matching_map_rule_wins() {
        let map = |rules: &[&str]| Map::new(&rules.iter().map(|&rule| rule.to_owned()).collect::<Vec<_>>());
        let both = map(&["params['*']=model.*", "params.b=bias"]).unwrap();
        assert_eq!(both.of("params.w").as_deref(), Some("model.w"));
        assert_eq!(both.of("params.b").as_deref(), Some("bias"));
        assert_eq!(both.of("x"), None);
        for wrong in ["params", "a*b*=c", "a=b*"] {
            assert!(map(&[wrong]).is_err(), "{wrong}");
        }
    }
}
