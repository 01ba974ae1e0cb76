//! Tests of the graph on small programs; `tests/filetests/explain/layers.mlir` has the edges of collectives.

use crate::Compiler;
use crate::explain::{GraphNode, GraphReport, Question};

fn graph(source: &str) -> GraphReport {
    let report = Compiler::new().explain(source.as_bytes(), "step.mlir", &Question::Summary).unwrap();
    report.graph.unwrap()
}

/// A program of `layers` layers, each of two matmuls with locations in the scope `Model/layer_N`.
fn program(layers: usize) -> String {
    let (mut arguments, mut body, mut last) = (String::new(), String::new(), "x".to_owned());
    for i in 0..layers {
        arguments += &format!(", %u{i}: tensor<32x96xf32>, %d{i}: tensor<96x32xf32>");
        body += &format!(
            "%h{i} = stablehlo.dot_general %{last}, %u{i}, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x96xf32>) -> \
             tensor<64x96xf32> loc(\"jit(f)/jvp(Model)/layer_{i}/up/dot_general\")\n%t{i} = stablehlo.tanh %h{i} : tensor<64x96xf32>\n\
             %o{i} = stablehlo.dot_general %t{i}, %d{i}, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x32xf32>) -> \
             tensor<64x32xf32> loc(\"jit(f)/jvp(Model)/layer_{i}/down/dot_general\")\n"
        );
        last = format!("o{i}");
    }
    format!(
        "sdy.mesh @mesh = <[\"data\"=4]>\nfunc.func @main(%x: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, \
         [{{\"data\"}}, {{}}]>}}{arguments}) -> tensor<64x32xf32> {{\n{body}return %{last} : tensor<64x32xf32>\n}}"
    )
}

fn named<'a>(graph: &'a GraphReport, kind: &str) -> Vec<&'a GraphNode> {
    graph.nodes.iter().filter(|node| node.kind == kind).collect()
}

#[test]
fn layers_are_named_by_their_scope() {
    let graph = graph(&program(40));
    let blocks = named(&graph, "block");
    let names: Vec<&str> = named(&graph, "operation").iter().map(|node| node.name.as_str()).collect();
    assert_eq!((blocks.len(), blocks[0].name.as_str(), blocks[0].copies), (1, "Model/layer_*", 40));
    assert_eq!(names, ["dot_general (up, %u0)", "dot_general (down, %d0)"]);
    let next: Vec<(usize, usize, usize)> =
        graph.edges.iter().filter(|e| e.next).map(|e| (e.from, e.to, e.values)).collect();
    assert_eq!(next, [(4, 3, 39)]);
}

#[test]
fn the_size_of_the_graph_does_not_depend_on_the_number_of_layers() {
    let size = |layers| {
        let graph = graph(&program(layers));
        (graph.nodes.len(), graph.edges.len())
    };
    assert_eq!(size(8), size(64));
}

#[test]
fn loops_contain_their_operations() {
    let graph = graph(
        r#"
  sdy.mesh @mesh = <["data"=4]>
  func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<32x32xf32>)
      -> tensor<64x32xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<12> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<64x32xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<64x32xf32>
    }
    return %0#1 : tensor<64x32xf32>
  }
"#,
    );
    let loops = named(&graph, "loop");
    assert_eq!((loops.len(), loops[0].trips), (1, Some(12)));
    let inner = named(&graph, "operation");
    assert_eq!((inner.len(), inner[0].parent, inner[0].name.as_str()), (1, Some(2), "dot_general (%w)"));
}
