use serde_json::json;

use crate::client::{Client, MATMUL, URI, range};

#[test]
fn local_shapes_follow_the_names_of_sharded_values() {
    let mut client = Client::open(MATMUL);
    let expected = [(1, "8x32"), (2, "32x16"), (3, "8x16"), (4, "8x16"), (7, "8x16"), (8, "8x16")];
    assert_eq!(client.hints(0..99), expected.map(|(line, label)| (line, label.to_owned())));
    assert_eq!(client.hints(3..4), [(3, "8x16".to_owned())], "only in the range");
    let request = json!({ "textDocument": { "uri": URI }, "range": range(MATMUL, "%x") });
    let hint = client.request("textDocument/inlayHint", request).unwrap()[0].clone();
    assert_eq!(hint["position"], range(MATMUL, "%x")["end"]);
    assert_eq!(hint["tooltip"], "tensor<8x32xf32>, data,model, 1.0 KiB per device");
    client.shut_down();
}

#[test]
fn the_client_chooses_the_contents() {
    for (style, label) in
        [("sharding", "data,model"), ("both", "8x32 (data,model)"), ("shape", "8x32"), ("?", "8x32")]
    {
        let mut client = Client::with(&json!({}), &json!({ "inlayHints": style }));
        client.did_open(URI, MATMUL);
        client.partitioned();
        assert_eq!(client.hints(1..2), [(1, label.to_owned())]);
        client.shut_down();
    }
    let mut client = Client::with(&json!({}), &json!({ "inlayHints": "off" }));
    client.did_open(URI, MATMUL);
    client.partitioned();
    assert_eq!(client.hints(0..99), []);
    client.shut_down();
}

#[test]
fn each_of_several_results_has_a_shape() {
    let text = r#"sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %n: tensor<i1>) -> (tensor<4xf32>, tensor<i1>) {
  %0:2 = stablehlo.while(%v = %x, %c = %n) : tensor<4xf32>, tensor<i1>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %v, %c : tensor<4xf32>, tensor<i1>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<i1>
}
"#;
    let mut client = Client::open(text);
    let found = client.hints(2..3);
    assert_eq!(found, [(2, "#0 2".to_owned()), (2, "2".to_owned())]);
    let hover = client.hover(text, "%0#1");
    assert!(hover.contains("%0#1: tensor<i1>"), "{hover}");
    client.shut_down();
}
