//! Errors of the compiler as Python exceptions.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use shardc::Cause;

use crate::words::for_python;

create_exception!(shardc, ShardcError, PyException, "The base of all errors of shardc.");
create_exception!(shardc, InvalidInputError, ShardcError, "The program or the options are invalid.");
create_exception!(
    shardc,
    UnsupportedError,
    ShardcError,
    "The program uses a feature that shardc does not support."
);
create_exception!(shardc, InternalError, ShardcError, "A bug in shardc. Please report it.");

/// Returns the exception of an error about the program `text`, which is named `name`. Its attributes are those of the first diagnostic (`code`,
/// `hint`, `line`, `column`, `user_location`), and `diagnostics`, which has all of them as JSON.
pub(crate) fn raised(py: Python<'_>, error: &shardc::Error, name: &str, text: &str) -> PyErr {
    if error.interruption() == Some(shardc::Interruption::Cancelled) {
        return PyKeyboardInterrupt::new_err(());
    }
    let reworded = match error {
        shardc::Error::Runtime(_) => error.clone(),
        _ => shardc::Error::Diagnostics(for_python(error.diagnostics().into_owned())),
    };
    let error = &reworded;
    let message = error.render(name, text, false).trim_end().to_owned();
    let located = error.located(name, text);
    let first = located.first();
    let exception = match first.map(|diagnostic| diagnostic.class) {
        Some(Cause::Internal) => InternalError::new_err(message),
        Some(Cause::Unsupported) => UnsupportedError::new_err(message),
        Some(Cause::InvalidInput) | None => InvalidInputError::new_err(message),
    };
    let described = described(py, &exception, &located);
    described.err().unwrap_or(exception)
}

/// Sets the attributes of an exception.
fn described(py: Python<'_>, exception: &PyErr, located: &[shardc::LocatedDiagnostic]) -> PyResult<()> {
    let value = exception.value(py);
    let first = located.first();
    value.setattr("code", first.map(|diagnostic| diagnostic.code.as_str()))?;
    value.setattr("hint", first.and_then(|diagnostic| diagnostic.hint.as_deref()))?;
    let place = first.and_then(|diagnostic| diagnostic.place);
    value.setattr("line", place.map(|place| place.line))?;
    value.setattr("column", place.map(|place| place.column))?;
    value.setattr("user_location", first.and_then(|diagnostic| diagnostic.user_location.as_deref()))?;
    value.setattr("diagnostics", parsed(py, &json(&located))?)
}

/// Serializes a value, which consists of strings and numbers, so that this cannot fail.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The Python value of a JSON text.
pub(crate) fn parsed<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
