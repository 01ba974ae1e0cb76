//! Partition specs as text, as `--spec` accepts them.

use shardc_ir::{AxisRef, Mesh, TensorSharding};

/// The axes of a dimension or a collective: `data+model`, or `-` for none.
pub(crate) fn axes_text<T: AsRef<str>>(axes: &[T]) -> String {
    if axes.is_empty() {
        return "-".to_owned();
    }
    axes.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join("+")
}

/// The partition spec of a sharding: `data,-,model`; empty for a scalar.
pub(crate) fn spec_text(sharding: &TensorSharding, mesh: &Mesh) -> String {
    dims_text(sharding.dims.iter().map(|dim| dim.axes.as_slice()), mesh)
}

/// The partition spec of a tensor whose dimensions are sharded along these axes.
pub(crate) fn dims_text<'a>(dims: impl IntoIterator<Item = &'a [AxisRef]>, mesh: &Mesh) -> String {
    let text =
        |axes: &[AxisRef]| axes_text(&axes.iter().map(|&axis| mesh.axis_text(axis)).collect::<Vec<String>>());
    dims.into_iter().map(text).collect::<Vec<String>>().join(",")
}
