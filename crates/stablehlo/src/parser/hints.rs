//! Error hints, such as similar names.

use shardc_ir::suggest::nearest;
use shardc_ir::{Diagnostic, Span, TypeId};

use super::{Operand, Parser};
use crate::codes;
use crate::lexer::Failure;
use crate::syntax::table;

impl<'a> Parser<'a> {
    /// Returns the error for an unknown operation.
    pub(super) fn unknown_op(&mut self, name: &str, span: Span) -> Failure {
        if self.peek() == b'=' && !name.contains('.') {
            let message = format!("`{name}` is not a value: value names begin with `%`");
            let error = Diagnostic::invalid(codes::SYNTAX, message).at(span);
            return error.hint(format!("write `%{name} =`")).into();
        }
        let error =
            Diagnostic::unsupported(codes::UNKNOWN_OP, format!("the operation `{name}` is not known"))
                .at(span);
        // Candidates from the most common dialect are first.
        let of_other_dialect = |known: &&str| {
            let word = name.rsplit_once('.').map_or(name, |(_, word)| word);
            known.split_once('.').is_some_and(|(_, known)| known == word)
        };
        let mut same: Vec<&str> = table::names().filter(of_other_dialect).collect();
        same.sort_unstable_by_key(|known| (!known.starts_with("stablehlo."), *known));
        let near = match same.first() {
            Some(&known) => Some(known),
            None => {
                let mut names: Vec<&str> = table::names().collect();
                names.sort_unstable_by_key(|known| (!known.starts_with("stablehlo."), *known));
                nearest(name, names)
            }
        };
        match near {
            Some(known) => error.hint(format!("did you mean `{known}`?")).into(),
            None => error
                .hint("write it in generic form, as `mlir-opt --mlir-print-op-generic` does; shardc then keeps it unchanged")
                .into(),
        }
    }

    /// Returns the error for a missing operand.
    pub(super) fn no_operand(&mut self) -> Failure {
        let span = self.token_span();
        let word = self.slice(span.start as usize, span.end as usize);
        let failure = self.expected("a value such as `%0`");
        let Failure::Error(error) = failure else { return failure };
        let is_number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        if !is_number && self.names.get(word).is_none() {
            return Failure::Error(error);
        }
        error.hint(format!("write `%{word}`: value names begin with `%`")).into()
    }

    /// Returns the error for an undefined value.
    pub(super) fn unknown_value(&self, name: &str, span: Span) -> Failure {
        let error = Diagnostic::invalid(codes::UNKNOWN_VALUE, format!("`%{name}` is not defined")).at(span);
        let letters = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // Names that differ only in a number at the end are not suggested: `%5` is no misspelling of `%4`.
        let numbered = |known: &str| name.get(..letters(name)) == known.get(..letters(known));
        let known = self.names.iter().map(|(known, _)| known).filter(|known| !numbered(known));
        match nearest(name, known) {
            Some(known) => error.hint(format!("did you mean `%{known}`?")).into(),
            None => error
                .hint("a value must be defined before its use, in the same or an enclosing region")
                .into(),
        }
    }

    /// Returns the error for an operation whose type is missing.
    pub(super) fn no_type(&mut self, operand: Option<Operand>) -> Failure {
        let failure = self.expected("`:` and the type");
        let Failure::Error(mut error) = failure else { return failure };
        let next = error.span.start as usize;
        let end = self.cursor.text.get(..next).map_or(next, |before| before.trim_end().len());
        if self.slice(end, next).contains('\n') {
            // The error is placed at the end of the line without the type, not at the start of the next.
            error.message = "expected `:` and the type at the end of this line".to_owned();
            error.span = Span::new(end.saturating_sub(1), end);
        }
        let example = match operand {
            Some(operand) => self.module.types.display(self.module.values[operand.value].ty),
            None => "tensor<4xf32>".to_owned(),
        };
        error.hint(format!("each operation needs its type, as in `: {example}`")).into()
    }

    /// Returns the hint for a value that is defined with the type `actual` and used with the type `written`.
    pub(super) fn type_hint(&self, actual: TypeId, written: TypeId) -> String {
        let (actual, written) = (self.module.types.display(actual), self.module.types.display(written));
        if *actual == format!("tensor<{written}>") {
            return format!("a scalar is a tensor without dimensions: write `{actual}`");
        }
        "correct the type written here or at the definition".to_owned()
    }
}
