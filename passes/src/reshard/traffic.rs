//! What a reshard sends.

use shardc_ir::{AxisList, Mesh, MeshCollectiveKind, TensorSharding, TensorType};

use super::Planner;

/// Returns the bytes that one device sends on the cheapest path from one sharding to another, over rings; 0 where there is
/// no path.
pub(crate) fn path_bytes(
    mesh: &Mesh,
    planner: &mut Planner<'_>,
    from: &TensorSharding,
    to: &TensorSharding,
    ty: &TensorType,
) -> u64 {
    let Some(path) = planner.path(from, to, ty) else { return 0 };
    let local = |sharding: &TensorSharding| {
        let elements: f64 = sharding.local_shape(mesh, &ty.shape).iter().map(|&n| n as f64).product();
        elements * f64::from(ty.dtype.bits()) / 8.0
    };
    let (mut at, mut sum) = (local(from), 0.0);
    for step in &path.steps {
        let after = local(&step.out);
        sum += sent(mesh, &step.kind, at, after);
        at = after;
    }
    sum as u64
}

/// Returns the bytes that one device sends in a collective whose operand and result have this many bytes on it. Blocks are sent with
/// their padding.
fn sent(mesh: &Mesh, kind: &MeshCollectiveKind, operand: f64, result: f64) -> f64 {
    let share = |k: i64| (k - 1) as f64 / k.max(1) as f64;
    let group = |lists: &[AxisList]| lists.iter().map(|axes| mesh.axes_size(axes)).product::<i64>();
    match kind {
        MeshCollectiveKind::AllGather(axes) => operand * (group(axes) - 1) as f64,
        MeshCollectiveKind::ReduceScatter(axes, _) => result * (group(axes) - 1) as f64,
        MeshCollectiveKind::AllToAll(moves) => {
            operand * share(moves.iter().map(|m| mesh.axes_size(&m.axes)).product())
        }
        MeshCollectiveKind::AllReduce(axes, _) => 2.0 * operand * share(mesh.axes_size(axes)),
        MeshCollectiveKind::CollectivePermute => operand,
        MeshCollectiveKind::AllSlice(_)
        | MeshCollectiveKind::ShardedToUnreduced(_)
        | MeshCollectiveKind::ReplicatedToUnreduced(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::{AxisRef, DType, EntityRef, MeshId};

    use super::*;

    #[test]
    fn a_gather_sends_what_others_lack_and_a_slice_nothing() {
        let mesh = Mesh::new([("x", 4)]);
        let axes: &[AxisRef] = &[AxisRef::whole(0)];
        let split = TensorSharding::from_axes(MeshId::new(0), [axes, &[]]);
        let other = TensorSharding::from_axes(MeshId::new(0), [&[], axes]);
        let whole = TensorSharding::replicated(MeshId::new(0), 2);
        let ty = TensorType::new(&[8, 8], DType::F32);
        let planner = &mut Planner::new(&mesh);
        assert_eq!(path_bytes(&mesh, planner, &split, &whole, &ty), 192);
        assert_eq!(path_bytes(&mesh, planner, &whole, &split, &ty), 0);
        assert_eq!(path_bytes(&mesh, planner, &split, &other, &ty), 48);
        // One row in 4 blocks of a row.
        let row = TensorType::new(&[1, 8], DType::F32);
        assert_eq!(path_bytes(&mesh, planner, &split, &whole, &row), 96);
    }
}
