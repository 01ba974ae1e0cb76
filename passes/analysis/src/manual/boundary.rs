//! Shardings at the boundary of a manual computation.

use shardc_ir::{Mesh, TensorSharding};

use super::Scope;
use crate::sharding::axes::{parts, size_of, to_axes};

/// Removes the free axes from each dimension of `sharding` in which they do not evenly divide the block of a manual coordinate. Otherwise,
/// blocks inside and outside of the computation would differ. For example, take 12 rows over a manual axis of size 2 and a free axis of
/// size 4. Outside, blocks of two rows start at 0, 2, 4, ..., but inside, at 0, 2, 4, 6, 6, 8, ...
pub fn boundary_that_divides(
    mesh: &Mesh,
    body: &Scope,
    sharding: &TensorSharding,
    shape: &[i64],
) -> TensorSharding {
    let mut out = sharding.clone();
    for (dim, &n) in out.dims.iter_mut().zip(shape) {
        let parts = parts(mesh, &dim.axes);
        let keep = (0..=parts.len()).rev().find(|&k| {
            let all_manual = parts[..k].iter().all(|p| body.axes.iter().any(|a| a.axis == p.axis));
            all_manual || n % size_of(&parts[..k]) == 0
        });
        dim.axes = to_axes(mesh, &parts[..keep.unwrap_or(0)]);
    }
    out
}

/// Returns the sharding inside the body of a value that has the sharding `sharding` outside: without manual axes.
pub fn inside(body: &Scope, sharding: &TensorSharding) -> TensorSharding {
    let mut out = sharding.closed();
    for dim in &mut out.dims {
        dim.axes.retain(|axis| !body.axes.iter().any(|a| a.axis == axis.axis));
    }
    out.unreduced.retain(|axis| !body.axes.iter().any(|a| a.axis == axis.axis));
    out.tidied()
}

#[cfg(test)]
mod tests {
    use shardc_ir::{AxisRef, EntityRef, MeshId};

    use super::*;

    #[test]
    fn free_axes_that_do_not_divide_stay_inside() {
        let mesh = Mesh::new([("m", 2), ("f", 4)]);
        let (m, f) = (AxisRef::whole(0), AxisRef::whole(1));
        let body = Scope { axes: [m].into_iter().collect() };
        let given = TensorSharding::from_axes(MeshId::new(0), [&[m, f][..], &[f]]);
        let even = boundary_that_divides(&mesh, &body, &given, &[12, 8]);
        assert_eq!(even.display(&mesh), r#"[{"m"}, {"f"}]"#);
        assert_eq!(inside(&body, &even).display(&mesh), r#"[{}, {"f"}]"#);
        let even = boundary_that_divides(&mesh, &body, &given, &[16, 8]);
        assert_eq!(even.display(&mesh), r#"[{"m", "f"}, {"f"}]"#);
    }
}
