//! Finds the first element of an array that is NaN or infinite.

use shardc_ir::{DTypeClass, Diagnostic};
use shardc_runtime::HostArray;

/// Returns the error (`SH0728`) for an array with a NaN or an infinity, or `None` if all elements are finite. The message names the step
/// (from 1), the tensor and the first element that is not finite. `what` is the kind of the tensor: a result, a metric, a variable.
#[must_use]
pub fn not_finite(step: u64, what: &str, name: &str, array: &HostArray) -> Option<Diagnostic> {
    let parts = match array.dtype.class() {
        DTypeClass::Float => 1,
        DTypeClass::Complex => 2,
        _ => return None,
    };
    let elements = array.to_f64_vec();
    let (place, element) = elements.iter().enumerate().find(|(_, element)| !element.is_finite())?;
    let count = elements.chunks(parts).filter(|parts| parts.iter().any(|part| !part.is_finite())).count();
    let mut rest = place / parts;
    let mut index: Vec<usize> = array
        .shape
        .iter()
        .rev()
        .map(|&size| {
            let along = rest % size.max(1);
            rest /= size.max(1);
            along
        })
        .collect();
    index.reverse();
    let is = if element.is_nan() { "NaN" } else { "infinite" };
    let place = if index.is_empty() { String::new() } else { format!(" at {index:?}") };
    let total = elements.len() / parts;
    let text = format!(
        "step {step}: the {what} {name:?} is {is}{place} ({count} of {total} elements are not finite)"
    );
    Some(
        Diagnostic::invalid("SH0728", text)
            .hint("this is the first step with such an element; start debugging from the step before it"),
    )
}

#[cfg(test)]
mod tests {
    use shardc_ir::DType;

    use super::*;

    #[test]
    fn the_first_nonfinite_element_is_reported() {
        let array = HostArray::from_f64(DType::F32, &[2, 2], &[0.0, 1.0, f64::INFINITY, f64::NAN]).unwrap();
        let error = not_finite(3, "metric", "loss", &array).unwrap();
        assert_eq!(error.code, "SH0728");
        assert_eq!(
            error.message,
            "step 3: the metric \"loss\" is infinite at [1, 0] (2 of 4 elements are not finite)"
        );
        let finite = HostArray::from_f64(DType::F32, &[1], &[1.0]).unwrap();
        assert!(not_finite(1, "metric", "loss", &finite).is_none());
        let integers = HostArray::from_f64(DType::I32, &[1], &[1.0]).unwrap();
        assert!(not_finite(1, "metric", "count", &integers).is_none());
    }
}
