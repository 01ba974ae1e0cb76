//! User-given sizes of symbolic dimensions: `b=64` for a dimension variable, `x.0=64` for dimension 0 of an argument.

mod expression;

use std::str::FromStr;

use shardc_ir::{Diagnostic, Span};

pub use self::expression::{Expression, Function};

/// The size of a symbolic dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimSize {
    /// A dimension variable, or an argument and a dimension number: `b`, `arg1.0`, `params['w'].0`.
    pub target: String,
    /// The number of elements along the dimension.
    pub size: i64,
}

/// Why the size of a dimension cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DimSizeError {
    message: String,
    text: String,
}

impl DimSizeError {
    /// Returns the error as a diagnostic that quotes the text.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        let span = Span::new(0, self.text.len().max(1));
        Diagnostic::invalid("SH0350", self.message.as_str()).quoting("dim", self.text.as_str(), span)
    }
}

impl DimSize {
    /// Creates a size of `size` elements for `target`.
    #[must_use]
    pub fn new(target: &str, size: i64) -> DimSize {
        DimSize { target: target.trim().to_owned(), size }
    }

    /// Returns the name of the argument and the number of the dimension that [`DimSize::target`] names; `None` if it is a dimension
    /// variable.
    #[must_use]
    pub fn dimension(&self) -> Option<(&str, usize)> {
        let (argument, dim) = self.target.rsplit_once('.')?;
        Some((argument, dim.parse().ok()?))
    }
}

impl FromStr for DimSize {
    type Err = DimSizeError;

    fn from_str(text: &str) -> Result<DimSize, DimSizeError> {
        let error = |message: String| DimSizeError { message, text: text.to_owned() };
        let Some((target, size)) = text.rsplit_once('=').filter(|(target, _)| !target.trim().is_empty())
        else {
            return Err(error(format!("'{text}' is not of the form NAME=SIZE")));
        };
        match size.trim().parse::<i64>() {
            Ok(n) if n >= 0 => Ok(DimSize::new(target, n)),
            _ => Err(error(format!("'{}' is not a number of elements", size.trim()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let read = |text: &str| text.parse::<DimSize>();
        assert_eq!(read("b=64"), Ok(DimSize::new("b", 64)));
        assert_eq!(read("params['a=b'].0 = 8").unwrap().dimension(), Some(("params['a=b']", 0)));
        assert_eq!(read("b=64").unwrap().dimension(), None);
        for (text, message) in [
            ("b", "'b' is not of the form NAME=SIZE"),
            ("=4", "'=4' is not of the form NAME=SIZE"),
            ("b=-1", "'-1' is not a number of elements"),
            ("b=x", "'x' is not a number of elements"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
    }
}
