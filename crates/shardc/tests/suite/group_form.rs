//! Tests that replica groups written as mesh axes are read back as the equivalent lists.

use shardc::{Compiler, GroupForm, Module, SpmdMode};
use shardc_ir::{OpKind, ReplicaGroups};

const PROGRAMS: &[&str] = &[
    // A program with all kinds of collectives, along both axes.
    r#"
    sdy.mesh @mesh = <["x"=4, "y"=2]>
    func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                    %b: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>})
        -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
            tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>},
            tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      return %a, %b, %0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    }"#,
    // A program with a sub-axis and a non-default device order, in which a function already has the name `mesh`.
    r#"
    sdy.mesh @m = <["x"=4, "y"=2], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
    func.func private @mesh(%a: tensor<f32>) -> tensor<f32> {
      return %a : tensor<f32>
    }
    func.func public @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
        -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x":(1)2}, {"y"}]>}) {
      %0 = stablehlo.custom_call @opaque(%a) {called_computations = [@mesh]} : (tensor<16x16xf32>) -> tensor<16x16xf32>
      return %a : tensor<16x16xf32>
    }"#,
];

fn groups(module: &Module) -> Vec<(&str, ReplicaGroups)> {
    let ops = module.bodies().flat_map(|body| module.walk(body));
    ops.filter_map(|op| {
        let kind = &module.ops[op].kind;
        Some((kind.name(), kind.collective()?.groups.clone()))
    })
    .collect()
}

#[test]
fn mesh_axis_groups_match_lists() {
    for program in PROGRAMS {
        for mode in [SpmdMode::Replica, SpmdMode::Partition] {
            let compiler = Compiler::new().spmd_mode(mode);
            let lists = compiler.partition(program.as_bytes()).expect("partitions");
            let axes =
                compiler.groups(GroupForm::MeshAxes).partition(program.as_bytes()).expect("partitions");
            let read = Compiler::read(axes.text().as_bytes()).expect("is read");
            let (wanted, got) = (groups(&lists.module), groups(&read));
            assert!(!wanted.is_empty());
            assert_eq!(wanted, got, "{}", axes.text());
            for op in read.ops.values() {
                if let Some(spec) = op.kind.collective() {
                    let is_permute = matches!(op.kind, OpKind::CollectivePermute(_));
                    assert_eq!(spec.mesh_axes.is_none(), is_permute, "{}", axes.text());
                }
            }
            assert_eq!(lists.backend_text().ok(), axes.backend_text().ok(), "back ends take lists");
        }
    }
}
