//! Tests reshards between every pair of shardings on small meshes: compares the bytes that a device receives with those that it lacks, and
//! checks the resulting blocks.

use shardc_ir::{AxisRef, EntityRef, Mesh, MeshCollectiveKind, MeshId, TensorSharding};

use super::exchange::{Exchange, lacking};
use super::path::{Path, Value};
use super::search::{search, state_of};
use super::simulate::World;
use crate::cost::Costs;
use crate::sharding::axes::{Parts, parts};

/// Adds to `out` every sharding of `rank` dimensions that starts with `dims`: the remaining dimensions use any of the axes in `left`, in
/// any order.
fn shardings(dims: &mut Vec<Vec<AxisRef>>, left: &[usize], rank: usize, out: &mut Vec<TensorSharding>) {
    if dims.len() == rank {
        out.push(TensorSharding::from_axes(MeshId::new(0), dims.iter().map(Vec::as_slice)));
    } else {
        dims.push(Vec::new());
        shardings(dims, left, rank, out);
        dims.pop();
    }
    for &axis in left {
        let rest: Vec<usize> = left.iter().copied().filter(|&other| other != axis).collect();
        dims.last_mut().unwrap().push(AxisRef::whole(axis));
        shardings(dims, &rest, rank, out);
        dims.last_mut().unwrap().pop();
    }
}

/// Returns the number of elements that a device receives on a path.
fn received(mesh: &Mesh, from: &TensorSharding, path: &Path, value: Value<'_>) -> f64 {
    let size = |s: &TensorSharding| s.local_shape(mesh, value.shape).iter().product::<i64>() as f64;
    let share = |k: i64| (k - 1) as f64 / k as f64;
    let (mut at, mut sum) = (from, 0.0);
    for step in &path.steps {
        let before = size(at);
        sum += match &step.kind {
            MeshCollectiveKind::AllGather(axes) => {
                before * (axes.iter().map(|axes| mesh.axes_size(axes)).product::<i64>() - 1) as f64
            }
            MeshCollectiveKind::AllToAll(moves) => before * share(mesh.axes_size(&moves[0].axes)),
            MeshCollectiveKind::CollectivePermute => before,
            MeshCollectiveKind::Exchange => {
                Exchange::between((mesh, Costs::default()), [at, &step.out], value.shape, value.element_bytes)
                    .unwrap()
                    .sent(1.0)
            }
            MeshCollectiveKind::AllSlice(_) => 0.0,
            other => panic!("{other:?}"),
        };
        at = &step.out;
    }
    sum
}

/// Searches a path for every pair of shardings on the mesh, and simulates it if `simulates` is true. Returns for each
/// pair the number of received elements divided by the number of missing elements, with the path.
fn every_pair(mesh: &Mesh, shape: &[i64], simulates: bool) -> Vec<(f64, String)> {
    let mut all = Vec::new();
    let axes: Vec<usize> = (0..mesh.axes.len()).collect();
    shardings(&mut vec![Vec::new()], &axes, shape.len(), &mut all);
    let value = Value { shape, element_bytes: 1048576.0 };
    let dims = |s: &TensorSharding| s.dims.iter().map(|dim| parts(mesh, &dim.axes)).collect::<Vec<Parts>>();
    let mut ratios = Vec::new();
    for from in &all {
        for to in &all {
            let name = || format!("{shape:?} {} -> {}", from.display(mesh), to.display(mesh));
            let path =
                search((mesh, Costs::default()), &state_of(mesh, from), &state_of(mesh, to), from, value);
            let path = path.unwrap_or_else(|| panic!("no path: {}", name()));
            if simulates {
                World::new(mesh, shape, from, value.element_bytes).check([from, to], &[], &path, &name());
            }
            let lacks = lacking(mesh, &dims(from), &dims(to), shape).unwrap();
            let received = received(mesh, from, &path, value);
            let kinds: Vec<&str> = path.steps.iter().map(|step| step.kind.name()).collect();
            let description = format!("{}: {received} of {lacks}: {}", name(), kinds.join(", "));
            if lacks == 0 {
                assert_eq!(received, 0.0, "{description}");
            } else {
                ratios.push((received / lacks as f64, description));
            }
        }
    }
    ratios
}

fn mesh(axes: &[i64]) -> Mesh {
    Mesh::new(["a", "b", "c"].into_iter().zip(axes.iter().copied()))
}

/// The test simulates the paths of small values.
#[test]
fn every_pair_delivers_every_block() {
    let cases: &[(&[i64], &[i64])] = &[
        (&[4, 2], &[24]),
        (&[4, 2], &[23]),
        (&[2, 4], &[16, 24]),
        (&[4, 2], &[13, 11]),
        (&[3, 2], &[12, 6]),
        (&[3, 2], &[11, 7]),
        (&[2, 2], &[5, 4, 7]),
        (&[2, 2, 2], &[29]),
        (&[6, 4], &[50]),
    ];
    for (axes, shape) in cases {
        every_pair(&mesh(axes), shape, true);
    }
}

/// The test compares only the bytes of the paths of large values. A device may receive more than it lacks if an all-gather is chosen
/// because it has fewer launches than an exchange of pieces.
#[test]
fn every_pair_sends_little_more_than_missing_bytes() {
    let cases: &[(&[i64], &[i64], f64)] = &[
        (&[8], &[383, 389, 379], 1.01),
        (&[4, 2], &[6144], 1.0),
        (&[2, 4], &[6131], 1.01),
        (&[4, 2], &[1536, 1536], 1.001),
        (&[2, 4], &[1535, 1541], 1.01),
        (&[3, 2], &[1536, 1536], 1.001),
        (&[3, 2], &[1535, 1541], 1.01),
        (&[6, 4], &[6131], 1.02),
        (&[6, 4], &[6143, 6137], 1.01),
        (&[6, 4], &[1536, 1536], 1.002),
        (&[2, 2, 2], &[6131], 1.01),
    ];
    for &(axes, shape, most) in cases {
        let ratios = every_pair(&mesh(axes), shape, false);
        let mean = ratios.iter().map(|r| r.0).sum::<f64>() / ratios.len() as f64;
        let (worst, description) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!(mean <= most && *worst <= 1.25, "{axes:?}: {mean:.4} in the mean; {worst:.3} {description}");
    }
}

/// On 24 devices, blocks are uneven: all short pieces are sent or received by one device, so each shares a round with longer pieces of
/// other devices.
#[test]
fn short_pieces_share_rounds_with_long_pieces() {
    type Split<'a> = [&'a [AxisRef]; 3];
    let mesh = mesh(&[6, 4]);
    let (a, b) = (AxisRef::whole(0), AxisRef::whole(1));
    let sharding = |dims: Split<'_>| TensorSharding::from_axes(MeshId::new(0), dims);
    let value = Value { shape: &[383, 389, 379], element_bytes: 4.0 };
    let dims = |s: &TensorSharding| s.dims.iter().map(|dim| parts(&mesh, &dim.axes)).collect::<Vec<Parts>>();
    let cases: [(Split<'_>, Split<'_>); 3] = [
        ([&[], &[], &[a, b]], [&[], &[b, a], &[]]),
        ([&[], &[a, b], &[]], [&[b], &[], &[a]]),
        ([&[], &[b], &[a]], [&[a], &[], &[b]]),
    ];
    for (from, to) in cases {
        let (from, to) = (sharding(from), sharding(to));
        let path =
            search((&mesh, Costs::default()), &state_of(&mesh, &from), &state_of(&mesh, &to), &from, value)
                .unwrap();
        let lacks = lacking(&mesh, &dims(&from), &dims(&to), value.shape).unwrap() as f64;
        let ratio = received(&mesh, &from, &path, value) / lacks;
        assert!(ratio <= 1.125, "{ratio:.3}: {} -> {}", from.display(&mesh), to.display(&mesh));
    }
}

/// The last of three all-gathers reads a little more than half the size of its result.
#[test]
fn uneven_dimensions_are_gathered_in_sequence() {
    let mesh = mesh(&[2, 2, 2]);
    let axes = [0, 1, 2].map(|axis| [AxisRef::whole(axis)]);
    let from = TensorSharding::from_axes(MeshId::new(0), axes.iter().map(|axis| &axis[..]));
    let to = TensorSharding::replicated(MeshId::new(0), 3);
    let value = Value { shape: &[383, 389, 379], element_bytes: 4.0 };
    let path =
        search((&mesh, Costs::default()), &state_of(&mesh, &from), &state_of(&mesh, &to), &from, value)
            .unwrap();
    let kinds: Vec<&str> = path.steps.iter().map(|step| step.kind.name()).collect();
    assert_eq!(kinds, ["sdy.all_gather"; 3]);
}
