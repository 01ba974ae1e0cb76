//! Checks whether two shardings of the same data in two shapes place the same elements on each device.

use shardc_ir::{AxisRef, Mesh, Module, ShardingId, TensorSharding, ValueId};
use shardc_passes::internal::sub_axes::{part, pre};
use smallvec::SmallVec;

/// An axis, and the distance in row-major order between the elements of neighboring devices along it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stride {
    axis: AxisRef,
    stride: i64,
}

/// Whether `a` and `b`, each a sharding and its value, place the same elements in row-major order on each device. In an unevenly sharded
/// dimension, all shards count as having the size of the largest.
pub(super) fn same_data(module: &Module, a: (ShardingId, ValueId), b: (ShardingId, ValueId)) -> bool {
    if a.0 == b.0 && module.values[a.1].ty == module.values[b.1].ty {
        return true;
    }
    let (s, t) = (module.shardings.get(a.0), module.shardings.get(b.0));
    if s.mesh != t.mesh
        || s.replicated != t.replicated
        || s.unreduced != t.unreduced
        || s.reduction != t.reduction
        || s.rank() != module.rank(a.1)
        || t.rank() != module.rank(b.1)
    {
        return false;
    }
    let mesh = &module.meshes[s.mesh];
    let strides = |sharding: &TensorSharding, v: ValueId| {
        let tensor = module.tensor(v).filter(|t| t.is_static() && t.encoding.is_none())?;
        strides(mesh, sharding, &tensor.shape)
    };
    matches!((strides(s, a.1), strides(t, b.1)), (Some(x), Some(y)) if x == y)
}

fn strides(mesh: &Mesh, sharding: &TensorSharding, shape: &[i64]) -> Option<SmallVec<[Stride; 6]>> {
    let mut all: SmallVec<[Stride; 6]> = SmallVec::new();
    let mut minor: i64 = 1;
    for (dim, &n) in sharding.dims.iter().zip(shape).rev() {
        let parts = mesh.axes_size(&dim.axes);
        let mut stride = minor.checked_mul(n.checked_add(parts - 1)? / parts)?;
        for &axis in dim.axes.iter().rev() {
            all.push(Stride { axis, stride });
            stride = stride.checked_mul(mesh.axis_size(axis))?;
        }
        minor = minor.checked_mul(n)?;
    }
    all.sort_by_key(|s| s.stride);
    let mut merged: SmallVec<[Stride; 6]> = SmallVec::new();
    for next in all {
        if let Some(last) = merged.last_mut() {
            let (n, m) = (mesh.axis_size(last.axis), mesh.axis_size(next.axis));
            let follows = last.axis.axis == next.axis.axis
                && i64::from(pre(next.axis)) * m == i64::from(pre(last.axis))
                && next.stride == last.stride.checked_mul(n)?;
            if follows {
                let size = n * m;
                last.axis = match size == mesh.full_size(next.axis) {
                    true => AxisRef { axis: next.axis.axis, sub: None },
                    false => part(next.axis, pre(next.axis), u32::try_from(size).ok()?),
                };
                continue;
            }
        }
        merged.push(next);
    }
    Some(merged)
}
