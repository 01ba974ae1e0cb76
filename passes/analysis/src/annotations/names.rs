//! Names of a program's arguments and results, and their resolution.
//!
//! An argument is `arg0`, `%arg0` or `0`; a result is `res0`, `result0` or `out0`. Both may also have a name from the
//! front end: `params['w']`. A name is resolved first as a position, then as a front-end name, and last as the SSA
//! name of an argument in the program's text: `x` or `%x`.

use std::fmt;

use shardc_ir::suggest::{EXPORT_NAMES, edit_distance, nearest};
use shardc_ir::{Diagnostic, Func, Module};

use crate::sharding::interface::Interface;

/// The maximum number of suggestions for an unknown name.
const OFFERED: usize = 3;

/// An argument or result, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// The argument with this index.
    Argument(usize),
    /// The result with this index.
    Result(usize),
}

impl Named {
    /// Resolves a positional name: `arg0`, `%arg0`, `0`, `res0`, `result0`, `out0`.
    #[must_use]
    pub fn position(text: &str) -> Option<Named> {
        let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<usize>().ok();
        let argument = ["%arg", "arg", ""].into_iter().find_map(number).map(Named::Argument);
        argument.or_else(|| ["result", "res", "out"].into_iter().find_map(number).map(Named::Result))
    }

    /// Returns the shortest name by position: `arg0`, `res0`.
    #[must_use]
    pub fn short(self) -> String {
        match self {
            Named::Argument(n) => format!("arg{n}"),
            Named::Result(n) => format!("res{n}"),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::Argument(n) => write!(f, "argument {n}"),
            Named::Result(n) => write!(f, "result {n}"),
        }
    }
}

/// The names of a program's arguments and results, by which partition specs refer to them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    args: Vec<Option<String>>,
    /// SSA names of the arguments in the program's text, without `%`. Empty if unknown.
    values: Vec<Box<str>>,
    results: Vec<Option<String>>,
}

impl Names {
    /// Returns the names of a function's arguments and results.
    #[must_use]
    pub fn of(module: &Module, func: &Func) -> Names {
        Names {
            args: (0..func.params.len()).map(|i| func.argument_name(&module.locs, i)).collect(),
            values: func.arg_names.clone(),
            results: (0..func.results.len()).map(|i| func.result_name(i)).collect(),
        }
    }

    /// Returns the names of a partitioned program's arguments and results. SSA names are not known.
    #[must_use]
    pub fn of_interface(interface: &Interface) -> Names {
        Names {
            args: interface.inputs.iter().map(|tensor| tensor.name.clone()).collect(),
            values: Vec::new(),
            results: interface.outputs.iter().map(|tensor| tensor.name.clone()).collect(),
        }
    }

    /// Finds the argument or result with the name `text`.
    ///
    /// # Errors
    /// Returns SH0333, with similar names as suggestions, if no argument or result has the name, or if several have it.
    pub fn find(&self, text: &str) -> Result<Named, Diagnostic> {
        if let Some(position) = Named::position(text) {
            return self.check(position);
        }
        let found: Vec<Named> =
            self.all().filter(|(_, name)| *name == Some(text)).map(|(named, _)| named).collect();
        match found.as_slice() {
            [] => self.value(text).ok_or_else(|| self.unknown(text)),
            [only] => Ok(*only),
            several => Err(ambiguous(text, several)),
        }
    }

    /// Resolves `text` to arguments: the argument with this name, or else all arguments whose names consist of `text`, a character that
    /// is neither a letter nor a digit, and more text. For example, `params` matches `params['w']` and `params.b`.
    ///
    /// # Errors
    /// Returns SH0333, with similar names as suggestions, if no argument matches, or if `text` names a result.
    pub fn find_arguments(&self, text: &str) -> Result<Vec<usize>, Diagnostic> {
        let error = match self.find(text) {
            Ok(Named::Argument(i)) => return Ok(vec![i]),
            Ok(Named::Result(i)) => {
                return Err(Diagnostic::invalid(
                    "SH0333",
                    format!("{text:?} is result {i}, not an argument"),
                ));
            }
            Err(error) => error,
        };
        let goes_on = |name: &str| {
            let rest = name.strip_prefix(text).filter(|_| !text.is_empty());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        let of_text = |i: usize| self.values.get(i).is_some_and(|name| goes_on(name));
        let found: Vec<usize> = (0..self.args.len())
            .filter(|&i| self.args[i].as_deref().is_some_and(goes_on) || of_text(i))
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        // The part of a name before a separator (`params` of `params['w']`) is also suggested, if several names share it.
        let stems = self.args.iter().flatten().flat_map(|name| {
            let ends = name.char_indices().filter(|(_, c)| matches!(c, '[' | '.' | '/'));
            ends.filter_map(|(end, _)| name.get(..end))
        });
        Err(match nearest(text, stems.filter(|stem| !stem.is_empty())) {
            Some(meant) => error.hint(format!("did you mean '{meant}'?")),
            None => error,
        })
    }

    /// Resolves an SSA name, which is unique in the program's text.
    fn value(&self, text: &str) -> Option<Named> {
        let name = text.strip_prefix('%').unwrap_or(text);
        self.values.iter().position(|value| **value == *name).map(Named::Argument)
    }

    /// Resolves `text` to an argument; results are not considered.
    ///
    /// # Errors
    /// Fails as [`Names::find`] does.
    pub fn find_argument(&self, text: &str) -> Result<usize, Diagnostic> {
        // The results are left out, since an argument name that is also the name of a result would be ambiguous.
        let only = Names { results: Vec::new(), ..self.clone() };
        match only.find(text)? {
            Named::Argument(n) => Ok(n),
            Named::Result(_) => Err(only.unknown(text)),
        }
    }

    /// Resolves `pattern`, in which `*` matches any text. Returns the matching arguments. Returns the matching
    /// results if there are no such arguments or the pattern begins like a result (`res*`).
    ///
    /// # Errors
    /// Fails as [`Names::find`] does.
    pub fn matching(&self, pattern: &str) -> Result<Vec<Named>, Diagnostic> {
        // A name that contains `*` matches itself.
        if !pattern.contains('*') || self.all().any(|(_, name)| name == Some(pattern)) {
            return self.find(pattern).map(|named| vec![named]);
        }
        let matches = |(named, name): &(Named, Option<&str>)| {
            let positions: &[&str] = match named {
                Named::Argument(_) => &["arg"],
                Named::Result(_) => &["result", "res", "out"],
            };
            let n = match named {
                Named::Argument(n) | Named::Result(n) => n,
            };
            let value = match named {
                Named::Argument(n) => self.values.get(*n),
                Named::Result(_) => None,
            };
            name.is_some_and(|name| glob(pattern, name))
                || value.is_some_and(|value| glob(pattern.strip_prefix('%').unwrap_or(pattern), value))
                || positions.iter().any(|position| glob(pattern, &format!("{position}{n}")))
        };
        let (args, results): (Vec<Named>, Vec<Named>) = self
            .all()
            .filter(matches)
            .map(|(named, _)| named)
            .partition(|named| matches!(named, Named::Argument(_)));
        let is_of_results = ["res", "out"].iter().any(|prefix| pattern.starts_with(prefix));
        let found = if is_of_results && !results.is_empty() || args.is_empty() { results } else { args };
        if found.is_empty() { Err(self.unknown(pattern)) } else { Ok(found) }
    }

    fn all(&self) -> impl Iterator<Item = (Named, Option<&str>)> {
        let args = self.args.iter().enumerate().map(|(i, name)| (Named::Argument(i), name.as_deref()));
        let results = self.results.iter().enumerate().map(|(i, name)| (Named::Result(i), name.as_deref()));
        args.chain(results)
    }

    fn check(&self, position: Named) -> Result<Named, Diagnostic> {
        let (n, of, what) = match position {
            Named::Argument(n) => (n, self.args.len(), "argument"),
            Named::Result(n) => (n, self.results.len(), "result"),
        };
        if n < of {
            return Ok(position);
        }
        let plural = if of == 1 { "" } else { "s" };
        Err(Diagnostic::invalid("SH0333", format!("the entry function has no {what} {n}"))
            .hint(format!("the function has {of} {what}{plural}; indices start at 0")))
    }

    fn unknown(&self, text: &str) -> Diagnostic {
        let what = if self.results.is_empty() { "no argument" } else { "no argument or result" };
        let diagnostic = Diagnostic::invalid("SH0333", format!("{what} is named '{text}'"));
        let close = self.close_to(text);
        if !close.is_empty() {
            return diagnostic.hint(format!("did you mean {}?", close.join(", ")));
        }
        let range = |of: usize, named: fn(usize) -> Named| match of {
            0 => None,
            1 => Some(named(0).short()),
            _ => Some(format!("{} to {}", named(0).short(), named(of - 1).short())),
        };
        let known = [range(self.args.len(), Named::Argument), range(self.results.len(), Named::Result)];
        let known: Vec<String> = known.into_iter().flatten().collect();
        if known.is_empty() {
            return diagnostic;
        }
        let by_position = format!("their positional names are {}", known.join(" and "));
        // If no argument has a name, the hint also describes how to export names.
        if self.values.is_empty() && !self.args.is_empty() && self.args.iter().all(Option::is_none) {
            return diagnostic.hint(format!("{by_position}; {EXPORT_NAMES}"));
        }
        diagnostic.hint(by_position)
    }

    /// Returns the names most similar to `text`, quoted.
    fn close_to(&self, text: &str) -> Vec<String> {
        let limit = text.chars().count() / 2 + 1;
        let names = self.all().filter_map(|(_, name)| name);
        let mut close: Vec<(usize, &str)> = names
            .chain(self.values.iter().map(|value| &**value))
            .filter_map(|name| {
                let distance = if name.contains(text) { 0 } else { edit_distance(name, text) };
                (distance <= limit).then_some((distance, name))
            })
            .collect();
        close.sort_unstable();
        close.dedup();
        close.into_iter().take(OFFERED).map(|(_, name)| format!("'{name}'")).collect()
    }
}

fn ambiguous(text: &str, several: &[Named]) -> Diagnostic {
    let whose: Vec<String> = several.iter().take(OFFERED).map(ToString::to_string).collect();
    let more = several.len().checked_sub(OFFERED).filter(|&n| n > 0);
    let more = more.map(|n| format!(" and {n} more")).unwrap_or_default();
    let short: Vec<String> = several.iter().take(OFFERED).map(|named| named.short()).collect();
    let message = format!("'{text}' is ambiguous: it is the name of {}{more}", whose.join(", "));
    Diagnostic::invalid("SH0333", message).hint(format!("refer to it by position: {}", short.join(", ")))
}

/// Whether `text` matches `pattern`, in which `*` matches any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    // `rest` is the text after the leftmost matches of all preceding parts. Other matches would leave a shorter rest, so no backtracking
    // is needed, and `a*a` does not match `a`.
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let some = |names: &[&str]| names.iter().map(|name| Some((*name).to_owned())).collect();
        Names {
            args: some(&["x", "params['w']", "params['b']", "step"]),
            values: ["x", "w", "b", "count"].map(Box::from).to_vec(),
            results: some(&["result['loss']", "step"]),
        }
    }

    fn found(text: &str) -> String {
        match names().matching(text) {
            Ok(found) => found.iter().map(|named| named.short()).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{}; {}", error.message, error.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn names_and_positions() {
        let cases = [
            ("arg1", "arg1"),
            ("%arg1", "arg1"),
            ("1", "arg1"),
            ("res1", "res1"),
            ("result1", "res1"),
            ("out0", "res0"),
            ("params['w']", "arg1"),
            ("result['loss']", "res0"),
            ("params*", "arg1 arg2"),
            ("w", "arg1"),
            ("%count", "arg3"),
            ("coun*", "arg3"),
            ("%x", "arg0"),
            ("cuont", "no argument or result is named 'cuont'; did you mean 'count'?"),
            ("*", "arg0 arg1 arg2 arg3"),
            ("res*", "res0 res1"),
            ("*loss*", "res0"),
            (
                "arg7",
                "the entry function has no argument 7; the function has 4 arguments; indices start at 0",
            ),
            ("res2", "the entry function has no result 2; the function has 2 results; indices start at 0"),
            (
                "step",
                "'step' is ambiguous: it is the name of argument 3, result 1; refer to it by position: arg3, res1",
            ),
            (
                "param['w']",
                "no argument or result is named 'param['w']'; did you mean 'params['w']', 'params['b']'?",
            ),
            (
                "gradients",
                "no argument or result is named 'gradients'; their positional names are arg0 to arg3 and res0 to res1",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_misspelt_name_prefix_is_suggested() {
        let hint = |text: &str| names().find_arguments(text).unwrap_err().hint.unwrap_or_default();
        assert_eq!(hint("parms"), "did you mean 'params'?");
        assert_eq!(hint("params['v']"), "did you mean 'params['b']', 'params['w']'?");
        let args = vec![Some("state['params']['w']".to_owned())];
        let nested = Names { args, ..Names::default() };
        let error = nested.find_arguments("state['parms']").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean 'state['params']'?"));
    }

    #[test]
    fn a_program_without_names_gets_a_hint() {
        let names = Names { args: vec![None, None], ..Names::default() };
        let hint = names.find("params['w']").unwrap_err().hint.unwrap_or_default();
        assert!(
            hint.starts_with("their positional names are arg0 to arg1; ") && hint.contains("debug_info=True"),
            "{hint}"
        );
    }

    #[test]
    fn an_argument_is_no_result() {
        assert_eq!(names().find_argument("step"), Ok(3));
        let error = names().find_argument("res0").unwrap_err();
        assert_eq!(error.message, "the entry function has no result 0");
    }
}
