//! Which device holds which block, drawn.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use shardc_graph::{Mesh, PartitionSpec, placement, spec};

fn picture(mesh: &Mesh, shape: &[i64], spec: &PartitionSpec) -> String {
    let axes: Vec<String> = mesh.axes().map(|(name, size)| format!("{name}={size}")).collect();
    let picture = placement(mesh, shape, spec).unwrap().picture();
    format!("{shape:?} as {spec} on {}\n{picture}\n", axes.join(","))
}

#[test]
fn pictures() {
    let mesh = Mesh::new(&[("data", 4), ("model", 2)]).unwrap();
    let swapped = Mesh::with_device_ids(&[("data", 2), ("model", 4)], &[0, 2, 4, 6, 1, 3, 5, 7]).unwrap();
    let mut out = String::new();
    for (mesh, shape, spec) in [
        (&mesh, &[8, 4][..], spec!["data", "model"]),
        (&mesh, &[8, 4], spec!["model", "data"]),
        (&mesh, &[8, 4], spec![("data", "model"), None]),
        (&mesh, &[8, 4], spec![None, ("model", "data")]),
        (&mesh, &[8, 4], spec!["data", None]),
        (&mesh, &[8, 4], spec![None, None]),
        (&swapped, &[8, 4], spec!["data", "model"]),
        (&mesh, &[8], spec!["data"]),
        (&mesh, &[8], spec![("data", "model")]),
        (&mesh, &[100_000], spec!["model"]),
        // Uneven: three elements in four blocks, five in four.
        (&mesh, &[3, 5], spec!["model", "data"]),
        (&mesh, &[5], spec!["data"]),
        (&mesh, &[2, 8, 4], spec![None, "data", ("model",)]),
        (&mesh, &[], spec![]),
    ] {
        write!(out, "{}", picture(mesh, shape, &spec)).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn every_element_is_held_where_the_spec_says() {
    let mesh = Mesh::new(&[("data", 4), ("model", 2)]).unwrap();
    let held = placement(&mesh, [8, 4], &spec!["data", "model"]).unwrap();
    assert_eq!(held.block_shape, [2, 2]);
    assert_eq!(held.blocks, [4, 2]);
    assert_eq!(held.devices[5].device, 5);
    assert_eq!(held.devices[5].ranges, [4..6, 2..4]);
    let held = placement(&mesh, [5], &spec!["data"]).unwrap();
    assert_eq!(held.block_shape, [2]);
    assert_eq!(held.holders(&[2]), [4, 5]);
    let ranges: Vec<_> = held.devices.iter().map(|d| d.ranges[0].clone()).collect();
    assert_eq!(ranges, [0..2, 0..2, 2..4, 2..4, 4..5, 4..5, 5..5, 5..5]);
}
