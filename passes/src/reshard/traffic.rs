//! The bytes that a reshard sends.

use shardc_ir::{AxisList, Mesh, MeshCollectiveKind, TensorSharding, TensorType};

use super::Planner;
use super::exchange::{Exchange, lacking};
use crate::cost::{CostModel, Costs};
use crate::sharding::axes::{Parts, parts};

/// The communication cost of a reshard for one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The bytes that a device receives in the collectives, with ring algorithms.
    pub received: u64,
    /// A lower bound of the received bytes: the maximum, over all devices, of the bytes of the new block that a device lacks. An unreduced
    /// value counts as if it were reduced. The bound is 0 if there are too many devices.
    pub lacking: u64,
    /// The number of launches.
    pub starts: usize,
    /// The names of the collectives.
    pub collectives: Vec<&'static str>,
}

/// Returns the communication cost of a reshard for one device; `None` if there is no path.
#[must_use]
pub fn traffic(mesh: &Mesh, from: &TensorSharding, to: &TensorSharding, ty: &TensorType) -> Option<Traffic> {
    let element_bytes = f64::from(ty.dtype.bits()) / 8.0;
    let mut planner = Planner::new(mesh, &CostModel::default());
    let on = (mesh, planner.costs());
    let path = planner.path(from, to, ty)?;
    let mut traffic = Traffic::default();
    let (mut at, mut received) = (from, 0.0);
    for step in &path.steps {
        received += sent(on, &step.kind, [at, &step.out], ty);
        traffic.starts += match &step.kind {
            MeshCollectiveKind::AllSlice(_) => 0,
            MeshCollectiveKind::Exchange => {
                Exchange::between(on, [at, &step.out], &ty.shape, element_bytes).map_or(0, |e| e.starts())
            }
            _ => 1,
        };
        traffic.collectives.push(step.kind.name());
        at = &step.out;
    }
    traffic.received = received as u64;
    let dims = |s: &TensorSharding| s.dims.iter().map(|dim| parts(mesh, &dim.axes)).collect::<Vec<Parts>>();
    let lacking = lacking(mesh, &dims(from), &dims(to), &ty.shape).unwrap_or(0);
    traffic.lacking = (lacking as f64 * element_bytes) as u64;
    Some(traffic)
}

/// Returns the bytes that one device sends on the cheapest path from one sharding to another, with ring algorithms; 0 if there is no path.
pub(crate) fn path_bytes(
    mesh: &Mesh,
    planner: &mut Planner<'_>,
    from: &TensorSharding,
    to: &TensorSharding,
    ty: &TensorType,
) -> u64 {
    let on = (mesh, planner.costs());
    let Some(path) = planner.path(from, to, ty) else { return 0 };
    let (mut at, mut sum) = (from, 0.0);
    for step in &path.steps {
        sum += sent(on, &step.kind, [at, &step.out], ty);
        at = &step.out;
    }
    sum as u64
}

/// Returns the bytes that one device sends in a collective between two shardings, including padding of blocks.
fn sent(
    (mesh, costs): (&Mesh, Costs),
    kind: &MeshCollectiveKind,
    [from, to]: [&TensorSharding; 2],
    ty: &TensorType,
) -> f64 {
    let element_bytes = f64::from(ty.dtype.bits()) / 8.0;
    let local = |sharding: &TensorSharding| {
        let elements: f64 = sharding.local_shape(mesh, &ty.shape).iter().map(|&n| n as f64).product();
        elements * element_bytes
    };
    let (operand, result) = (local(from), local(to));
    let share = |k: i64| (k - 1) as f64 / k.max(1) as f64;
    let group = |lists: &[AxisList]| lists.iter().map(|axes| mesh.axes_size(axes)).product::<i64>();
    match kind {
        MeshCollectiveKind::AllGather(axes) => operand * (group(axes) - 1) as f64,
        MeshCollectiveKind::ReduceScatter(axes, _) => result * (group(axes) - 1) as f64,
        MeshCollectiveKind::AllToAll(moves) => {
            let (mut shape, after) = (from.local_shape(mesh, &ty.shape), to.local_shape(mesh, &ty.shape));
            for one in moves {
                shape[one.to as usize] = after[one.to as usize] * mesh.axes_size(&one.axes);
            }
            let padded = shape.iter().map(|&n| n as f64).product::<f64>() * element_bytes;
            padded * share(moves.iter().map(|m| mesh.axes_size(&m.axes)).product())
        }
        MeshCollectiveKind::AllReduce(axes, _) => 2.0 * operand * share(mesh.axes_size(axes)),
        MeshCollectiveKind::CollectivePermute => operand,
        MeshCollectiveKind::Exchange => {
            Exchange::between((mesh, costs), [from, to], &ty.shape, element_bytes)
                .map_or(0.0, |e| e.sent(element_bytes))
        }
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
    fn an_all_gather_sends_missing_bytes_and_a_slice_sends_none() {
        let mesh = Mesh::new([("x", 4)]);
        let axes: &[AxisRef] = &[AxisRef::whole(0)];
        let split = TensorSharding::from_axes(MeshId::new(0), [axes, &[]]);
        let other = TensorSharding::from_axes(MeshId::new(0), [&[], axes]);
        let whole = TensorSharding::replicated(MeshId::new(0), 2);
        let ty = TensorType::new(&[8, 8], DType::F32);
        let planner = &mut Planner::new(&mesh, &CostModel::default());
        assert_eq!(path_bytes(&mesh, planner, &split, &whole, &ty), 192);
        assert_eq!(path_bytes(&mesh, planner, &whole, &split, &ty), 0);
        assert_eq!(path_bytes(&mesh, planner, &split, &other, &ty), 48);
        // One row over 4 devices is padded to 4 blocks of one row each.
        let row = TensorType::new(&[1, 8], DType::F32);
        assert_eq!(path_bytes(&mesh, planner, &split, &whole, &row), 96);
    }
}
