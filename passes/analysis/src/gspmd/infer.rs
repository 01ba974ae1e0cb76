//! Infers a mesh for all tile assignments of a program.
//!
//! Each tile assignment is a list of mixed-radix digits ([`super::tiles`]), which begin and end at certain strides. If the sorted strides
//! of all assignments divide each other, they are the boundaries of the axes. There are no other boundaries, so the mesh has as few axes as
//! possible.
//!
//! The devices are in numeric order if that fits, and otherwise in the order of one of the assignments. (If any mesh fits, there is one
//! with the device order of an assignment that distinguishes all devices.)

use shardc_ir::Mesh;

use super::hlo::Tiling;
use super::tiles::{Order, digits, parts_of};

/// The maximum number of elements of tile assignments that the search for a device order visits.
const MAX_STEPS: usize = 1 << 28;

/// An inferred mesh: the sizes of its axes, and the order of its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InferredMesh {
    /// The sizes of the axes, major to minor.
    pub(crate) sizes: Vec<i64>,
    /// The device at each position of the mesh; `None` if the device ID equals the position.
    pub(crate) devices: Option<Vec<i64>>,
}

impl InferredMesh {
    /// Returns the mesh, with axes named `axis_0`, `axis_1`, ...
    pub(crate) fn mesh(&self) -> Mesh {
        let names: Vec<String> = (0..self.sizes.len()).map(|i| format!("axis_{i}")).collect();
        let mut mesh = Mesh::new(names.iter().map(String::as_str).zip(self.sizes.iter().copied()));
        mesh.device_ids.clone_from(&self.devices);
        mesh
    }
}

/// The indices of two assignments that have no common mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TilingConflict(pub(crate) usize, pub(crate) usize);

/// Returns the strides that are boundaries of axes, in ascending order: from 1 to the number of devices.
fn cuts(tilings: &[&Tiling], order: &Order) -> Option<Vec<i64>> {
    let mut cuts = vec![1];
    for tiling in tilings {
        for digit in digits(tiling, order)?.iter().flatten() {
            cuts.push(digit.stride);
            cuts.push(digit.stride * digit.size);
        }
        cuts.push(tiling.devices.count());
    }
    cuts.sort_unstable();
    cuts.dedup();
    // A mesh is a mixed-radix number system: each stride must be a multiple of the next smaller one.
    cuts.windows(2).all(|pair| pair[1] % pair[0] == 0).then_some(cuts)
}

/// Returns the mesh with the fewest axes that fits all assignments.
///
/// # Errors
/// Returns two assignments that conflict.
pub(crate) fn infer(tilings: &[&Tiling]) -> Result<InferredMesh, TilingConflict> {
    let Some(first) = tilings.first() else { return Ok(InferredMesh { sizes: Vec::new(), devices: None }) };
    let count = first.devices.count();
    if let Some(other) = tilings.iter().position(|t| t.devices.count() != count) {
        return Err(TilingConflict(0, other));
    }
    match fit(tilings) {
        Some(axes) => Ok(axes),
        None => Err(conflict(tilings)),
    }
}

fn fit(tilings: &[&Tiling]) -> Option<InferredMesh> {
    let axes = |cuts: Vec<i64>, devices| InferredMesh {
        sizes: cuts.windows(2).rev().map(|pair| pair[1] / pair[0]).collect(),
        devices,
    };
    // In the usual case, positions are device IDs, and no device list is materialized.
    if let Some(cuts) = cuts(tilings, &Order::IOTA) {
        return Some(axes(cuts, None));
    }
    candidates(tilings).find_map(|candidate| {
        let devices = candidate.devices.list();
        let cuts = cuts(tilings, &Order::of(&devices)?)?;
        Some(axes(cuts, Some(devices)))
    })
}

/// Returns the assignments whose device order is tried as the order of the mesh. Each trial visits every element of every assignment, so
/// all trials together are limited to [`MAX_STEPS`] elements.
fn candidates<'t>(tilings: &'t [&'t Tiling]) -> impl Iterator<Item = &'t Tiling> {
    let devices = tilings.first().map_or(1, |t| usize::try_from(t.devices.count()).unwrap_or(usize::MAX));
    let each = devices.saturating_mul(tilings.len()).max(1);
    tilings.iter().copied().take((MAX_STEPS / each).max(1))
}

/// Returns the indices of two conflicting assignments. The second index is that of the first assignment that conflicts with the preceding
/// ones.
fn conflict(tilings: &[&Tiling]) -> TilingConflict {
    let fits = |n: usize| fit(&tilings[..n]).is_some();
    // Bisection for the smallest number of assignments that conflict, since adding assignments never resolves a conflict. A single
    // assignment always has a mesh: in some device order, it is an iota.
    let (mut low, mut high) = (1, tilings.len());
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if fits(middle) { low = middle } else { high = middle }
    }
    let last = high - 1;
    let partner = (0..last).find(|&i| fit(&[tilings[i], tilings[last]]).is_none());
    TilingConflict(partner.unwrap_or(0), last)
}

/// Returns the device order with which the given mesh fits all assignments: the order of the mesh if it lists device IDs; otherwise numeric
/// order (`None`) or the order of one of the assignments.
///
/// # Errors
/// Returns the index of an assignment that does not fit.
pub(crate) fn fit_mesh(mesh: &Mesh, tilings: &[&Tiling]) -> Result<Option<Vec<i64>>, usize> {
    let unfit = |order: &Order| {
        tilings.iter().position(|tiling| {
            let on_mesh = |digits: super::digits::Digits| {
                digits.iter().flatten().all(|&digit| parts_of(mesh, digit).is_some())
            };
            tiling.devices.count() != mesh.num_devices() as i64 || !digits(tiling, order).is_some_and(on_mesh)
        })
    };
    if let Some(devices) = &mesh.device_ids {
        return match Order::of(devices).map(|order| unfit(&order)) {
            Some(None) => Ok(mesh.device_ids.clone()),
            Some(Some(which)) => Err(which),
            None => Err(0),
        };
    }
    let Some(which) = unfit(&Order::IOTA) else { return Ok(None) };
    for candidate in candidates(tilings).filter(|t| t.devices.count() == mesh.num_devices() as i64) {
        let devices = candidate.devices.list();
        if Order::of(&devices).is_some_and(|order| unfit(&order).is_none()) {
            return Ok(Some(devices));
        }
    }
    Err(which)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gspmd::hlo::{HloSharding, Leaf, LeafKind};

    fn tilings(texts: &[&str]) -> Vec<Tiling> {
        let one = |text: &&str| match text.parse() {
            Ok(HloSharding::Single(Leaf { kind: LeafKind::Tiled(tiling), .. })) => tiling,
            other => panic!("{text}: {other:?}"),
        };
        texts.iter().map(one).collect()
    }

    fn show(texts: &[&str]) -> String {
        let tilings = tilings(texts);
        match infer(&tilings.iter().collect::<Vec<_>>()) {
            Ok(InferredMesh { sizes, devices: None }) => format!("{sizes:?}"),
            Ok(InferredMesh { sizes, devices: Some(devices) }) => format!("{sizes:?} on {devices:?}"),
            Err(TilingConflict(a, b)) => format!("{a} against {b}"),
        }
    }

    #[test]
    fn the_coarsest_mesh() {
        let cases: &[(&[&str], &str)] = &[
            (&["{devices=[8]<=[8]}"], "[8]"),
            (&["{devices=[8,1]<=[8]}", "{devices=[1,8]<=[8]}"], "[8]"),
            (&["{devices=[2,4]<=[8]}"], "[2, 4]"),
            (&["{devices=[4,2]<=[2,4]T(1,0)}"], "[2, 4]"),
            (&["{devices=[4,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}"], "[2, 4]"),
            (&["{devices=[4,2]4,0,1,5,6,2,3,7 last_tile_dim_replicate}"], "[2, 4]"),
            (&["{devices=[2,4]<=[8]}", "{devices=[4,2]<=[8]}"], "[2, 2, 2]"),
            (&["{devices=[2,4]<=[4,2]T(1,0)}", "{devices=[4,2]<=[8]}"], "[4, 2]"),
            (&["{devices=[1,1,8,1]<=[8]}", "{devices=[2,2,2]<=[2,4]T(1,0)}"], "[2, 2, 2]"),
            (&["{devices=[6]<=[2,3]T(1,0)}", "{devices=[2,3]<=[6]}"], "[2, 3]"),
            (&["{devices=[1,2,4]<=[8] last_tile_dims={manual}}"], "[2, 4]"),
            (&["{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}"], "[2, 2, 2]"),
        ];
        for (texts, expected) in cases {
            assert_eq!(show(texts), *expected, "{texts:?}");
        }
    }

    #[test]
    fn devices_in_another_order() {
        let cases: &[(&[&str], &str)] = &[
            (&["{devices=[4,2]7,6,5,4,3,2,1,0}"], "[4, 2] on [7, 6, 5, 4, 3, 2, 1, 0]"),
            (&["{devices=[2,3]<=[2,3]T(1,0)}"], "[2, 3] on [0, 3, 1, 4, 2, 5]"),
            // The first assignment does not determine the order within its replicated groups; the second one does.
            (
                &["{devices=[2,2]<=[4] last_tile_dim_replicate}", "{devices=[2,2]0,1,3,2}"],
                "[2, 2] on [0, 1, 3, 2]",
            ),
            (&["{devices=[2,2]0,1,3,2}", "{devices=[2,2]0,3,1,2}"], "[2, 2] on [0, 1, 3, 2]"),
        ];
        for (texts, expected) in cases {
            assert_eq!(show(texts), *expected, "{texts:?}");
        }
    }

    #[test]
    fn conflicting_assignments() {
        let cases: &[(&[&str], &str)] = &[
            (&["{devices=[8]<=[8]}", "{devices=[4]<=[4]}"], "0 against 1"),
            (&["{devices=[6,1]<=[6]}", "{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"], "1 against 2"),
            (&["{devices=[2,4]<=[8]}", "{devices=[4,2]7,6,5,4,3,2,1,0}"], "0 against 1"),
        ];
        for (texts, expected) in cases {
            assert_eq!(show(texts), *expected, "{texts:?}");
        }
    }

    #[test]
    fn a_mesh_that_is_given() {
        let mesh = Mesh::new([("data", 4), ("model", 2)]);
        let fits = |texts: &[&str]| fit_mesh(&mesh, &tilings(texts).iter().collect::<Vec<_>>());
        assert_eq!(fits(&["{devices=[8]<=[8]}", "{devices=[2,4]<=[4,2]T(1,0)}"]), Ok(None));
        assert_eq!(fits(&["{devices=[2,4]<=[8]}"]), Ok(None), "by a part of an axis");
        assert_eq!(fits(&["{devices=[2,2,2]7,6,5,4,3,2,1,0}"]), Ok(Some(vec![7, 6, 5, 4, 3, 2, 1, 0])));
        assert_eq!(fits(&["{devices=[8]<=[8]}", "{devices=[4]<=[4]}"]), Err(1));
    }
}
