//! Tests of the drawings that show which device holds which shard.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use shardc_graph::{DType::F32, Graph, Mesh, PartitionSpec, placement, spec, visualize_sharding};

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
        // Uneven shards: five elements along "data" have shards of different sizes, and some shards contain only padding.
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
fn pictures_show_the_sharded_dimensions() {
    let mesh = Mesh::new(&[("data", 2), ("model", 2), ("x", 2)]).unwrap();
    let mut out = String::new();
    for (shape, spec) in [
        (&[2, 8, 4][..], spec!["data", None, ("model", "x")]),
        (&[2, 8, 4], spec![None, "x", None]),
        (&[2, 8, 4], spec![None, None, None]),
        (&[2, 8, 4], spec!["data", "model", "x"]),
        (&[0, 4], spec!["data", None]),
    ] {
        let text = visualize_sharding(&mesh, shape, &spec, false).unwrap();
        writeln!(out, "{shape:?} as {spec}\n{text}").unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn each_block_has_a_color() {
    let mesh = Mesh::new(&[("data", 2), ("model", 2)]).unwrap();
    let draw = |shape: &[i64], spec, use_color| visualize_sharding(&mesh, shape, &spec, use_color).unwrap();
    let shown = |text: String| text.replace('\u{1b}', "^");
    let mut out = shown(draw(&[4, 4], spec!["data", "model"], true));
    out += &shown(draw(&[4, 4], spec![None, "model"], true));
    out += &shown(draw(&[2, 2, 2], spec![None, None, None], true));
    insta::assert_snapshot!(out);
    // Without escapes, the colored picture equals the plain picture.
    let mut plain = String::new();
    for (i, part) in draw(&[4, 4], spec!["data", "model"], true).split("\u{1b}[").enumerate() {
        plain += if i == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(plain, draw(&[4, 4], spec!["data", "model"], false));
    // Adjacent blocks have different colors, even if a row has as many blocks as there are colors.
    let wide = Mesh::new(&[("data", 2), ("model", 16)]).unwrap();
    let text = visualize_sharding(&wide, [2, 16], &spec!["data", "model"], true).unwrap();
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.split("48;5;").skip(1).map(|cell| &cell[..3]).collect()).collect();
    let rows: Vec<Vec<&str>> = rows.into_iter().filter(|row| !row.is_empty()).collect();
    assert!(rows.len() == 2 && (0..16).all(|c| rows[0][c] != rows[1][c]), "{rows:?}");
}

#[test]
fn a_marked_tensor_has_a_placement() {
    let g = Graph::new("step", &Mesh::new(&[("data", 2)]).unwrap());
    let x = g.parameter("x", [4, 2], F32).mark_sharding(spec!["data", None]);
    assert_eq!(x.placement().unwrap().holders(&[1, 0]), [1]);
    assert!((-x).placement().is_none());
}

#[test]
fn every_element_is_on_the_devices_of_the_spec() {
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
