//! Tests of the construction of meshes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use shardc_graph::Mesh;

#[test]
fn a_mesh_is_made_of_ids_shape_and_names() {
    let mesh = Mesh::from_ids(&[1, 0, 3, 2], &[2, 2], &["a", "b"]).unwrap();
    assert_eq!(mesh, Mesh::with_device_ids(&[("a", 2), ("b", 2)], &[1, 0, 3, 2]).unwrap());
    assert_eq!((mesh.get_axis_index("b"), mesh.axis_size("c")), (Some(1), None));
    assert_eq!(Mesh::one_d(8, "x").unwrap().shape(), [8]);
    assert!(Mesh::from_ids(&[0, 1], &[2], &["a", "b"]).is_err());
    assert!(Mesh::from_ids(&[-1, 0], &[2], &["a"]).is_err(), "PyTorch/XLA takes negative ids");
}
