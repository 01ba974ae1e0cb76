//! Parses files of sharding rules.

use std::collections::BTreeMap;

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Diagnostic, Span};
use toml::{Spanned, Value};

use super::{Callee, Notation, RuleFile};
use crate::Error;

/// The names of the tables of a rule file, and the kind of callee that each table has rules for.
const TABLES: [(&str, Callee); 3] =
    [("custom_call", Callee::CustomCall), ("function", Callee::Function), ("composite", Callee::Composite)];

/// The only key in the table of a callee.
const RULE: &str = "rule";

type Keys<T> = BTreeMap<Spanned<String>, T>;

impl RuleFile {
    /// Parses a file; the [module](super) describes the format.
    ///
    /// # Errors
    /// The text is not TOML, has an unknown key, or has a rule in an unknown notation (SH0364); each error is reported at its position.
    pub fn parse(text: &str) -> Result<RuleFile, Error> {
        let file: Keys<Keys<Keys<Spanned<Value>>>> = toml::from_str(text).map_err(|error| {
            let span = error.span().map_or(Span::NONE, |span| Span::new(span.start, span.end));
            refused(span, error.message())
                .hint("tables are named as in [custom_call.NAME], with the key `rule`")
        })?;
        let (mut out, mut errors) = (RuleFile::default(), Vec::new());
        for (table, callees) in &file {
            let Some(&(_, callee)) = TABLES.iter().find(|(name, _)| name == table.get_ref()) else {
                errors.push(unknown(table, "table", &TABLES.map(|(name, _)| name)));
                continue;
            };
            for (name, keys) in callees {
                let mut notations = Vec::new();
                for (key, value) in keys {
                    if key.get_ref() == RULE {
                        notations.extend(read(value, &mut errors));
                    } else {
                        errors.push(unknown(key, "key", &[RULE]));
                    }
                }
                if keys.is_empty() {
                    errors
                        .push(refused(span(name), "the rule is missing").hint("add `rule = \"pointwise\"`"));
                }
                out.rules.push((callee, name.get_ref().clone(), notations));
            }
        }
        if errors.is_empty() { Ok(out) } else { Err(errors.into()) }
    }
}

/// Reads the notations in a value, which is one notation or a list of them.
fn read(value: &Spanned<Value>, errors: &mut Vec<Diagnostic>) -> Vec<Notation> {
    let at = span(value);
    let texts: Vec<&Value> = match value.get_ref() {
        Value::Array(list) if !list.is_empty() => list.iter().collect(),
        one => vec![one],
    };
    let mut notations = Vec::new();
    for text in texts {
        match text.as_str().map(str::parse::<Notation>) {
            Some(Ok(notation)) => notations.push(notation),
            Some(Err(error)) => errors.push(refused(at, error.message)),
            None => errors.push(refused(at, "a rule must be a string or a list of strings")),
        }
    }
    notations
}

fn span<T>(spanned: &Spanned<T>) -> Span {
    Span::new(spanned.span().start, spanned.span().end)
}

fn refused(span: Span, message: impl ToString) -> Diagnostic {
    Diagnostic::invalid("SH0364", message.to_string()).at(span)
}

fn unknown(key: &Spanned<String>, what: &str, known: &[&str]) -> Diagnostic {
    refused(span(key), format!("unknown {what} '{}'", key.get_ref())).hint(unknown_name_hint(
        key.get_ref(),
        &format!("the {what}s"),
        known,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> String {
        RuleFile::parse(text).unwrap_err().render("rules.toml", text, false)
    }

    #[test]
    fn a_file_has_rules_of_each_kind() {
        let text = "[custom_call.\"tt.mark\"]\nrule = \"pointwise\"\n[function.layer]\nrule = [\"ab->ab\", \"abc->abc\"]\n";
        let file = RuleFile::parse(text).unwrap();
        let letters = |text: &str| Notation::Letters(text.to_owned());
        assert_eq!(
            file.rules,
            [
                (Callee::CustomCall, "tt.mark".to_owned(), vec![Notation::Pointwise]),
                (Callee::Function, "layer".to_owned(), vec![letters("ab->ab"), letters("abc->abc")]),
            ]
        );
        assert_eq!(RuleFile::parse("").unwrap(), RuleFile::default());
    }

    #[test]
    fn errors_have_a_position_and_a_suggestion() {
        let error = errors("[custom_cal.a]\nrule = \"pointwise\"\n");
        assert!(
            error.contains("unknown table 'custom_cal'") && error.contains("did you mean custom_call?"),
            "{error}"
        );
        assert!(error.contains("rules.toml:1:2"), "{error}");
        let error = errors("[custom_call.a]\nrul = \"pointwise\"\n");
        assert!(error.contains("did you mean rule?") && error.contains("rules.toml:2:1"), "{error}");
        let error = errors("[custom_call.a]\nrule = \"pointwse\"\n");
        assert!(error.contains("expected 'pointwise'") && error.contains("rules.toml:2:8"), "{error}");
        let error = errors("[custom_call.a]\nrule = 3\n");
        assert!(error.contains("a rule must be a string"), "{error}");
        assert!(errors("[custom_call.a\n").contains("SH0364"));
        assert!(errors("[custom_call.a]\n").contains("the rule is missing"));
    }
}
