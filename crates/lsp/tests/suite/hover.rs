use serde_json::json;

use crate::client::{Client, MATMUL, URI, position, range};

#[test]
fn a_value_has_its_sharding_and_the_origin_of_each_axis() {
    let mut client = Client::open(MATMUL);
    let hover = client.hover(MATMUL, "%0 =");
    for expected in [
        "%0: tensor<32x16xf32>",
        "local: `tensor<8x16xf32>`, 512 B on each device",
        "sharding: `#sdy.sharding<@mesh, [{\"data\"}, {}]>` (`data,-`)",
        "* `data`, dimension 0: from argument 0 %x",
        "  * through stablehlo.dot_general at line 4, to %0 dimension 0",
        "**Collectives for `stablehlo.dot_general`**",
        "* all_reduce along `model` of `tensor<8x16xf32>`: a device sends",
        "because it reduces dimension 1 of %x, which is sharded along \"model\"",
    ] {
        assert!(hover.contains(expected), "{expected}\n{hover}");
    }
    let used = client.hover(MATMUL, "%0)");
    assert!(used.contains("local: `tensor<8x16xf32>`") && !used.contains("Collectives"), "{used}");
    client.shut_down();
}

#[test]
fn the_range_is_that_of_the_name() {
    let mut client = Client::open(MATMUL);
    let hover = client.at("textDocument/hover", &range(MATMUL, "%x, %w")["start"]);
    let start = position(MATMUL, "%x, %w");
    assert_eq!(hover["range"]["start"], start);
    assert_eq!(hover["contents"]["kind"], "markdown");
    client.shut_down();
}

#[test]
fn an_operation_has_its_collectives() {
    let mut client = Client::open(MATMUL);
    let hover = client.hover(MATMUL, "stablehlo.dot_general");
    assert!(
        hover.contains("result 0: `tensor<32x16xf32>`, sharded `data,-`, local `tensor<8x16xf32>`"),
        "{hover}"
    );
    assert!(hover.contains("all_reduce"), "{hover}");
    let add = client.hover(MATMUL, "stablehlo.add");
    assert!(add.contains("local `tensor<8x16xf32>`") && !add.contains("Collectives"), "{add}");
    client.shut_down();
}

#[test]
fn values_of_called_functions_and_of_calls_have_shardings() {
    let mut client = Client::open(MATMUL);
    for name in ["%1 =", "%arg0:", "%arg0, %arg0"] {
        let hover = client.hover(MATMUL, name);
        assert!(hover.contains("(`data,-`)"), "{name}: {hover}");
    }
    client.shut_down();
}

#[test]
fn functions_and_meshes_are_described() {
    let mut client = Client::open(MATMUL);
    let function = client.hover(MATMUL, "@twice(%0)");
    assert!(function.contains("@twice(tensor<32x16xf32>) -> (tensor<32x16xf32>)"), "{function}");
    let mesh = client.hover(MATMUL, "@mesh, [{");
    assert!(mesh.contains("@mesh = <[\"data\"=4, \"model\"=2]>") && mesh.contains("8 devices"), "{mesh}");
    assert_eq!(client.at("textDocument/hover", &position(MATMUL, "-> tensor<32x16xf32> {")), json!(null));
    client.shut_down();
}

#[test]
fn a_client_without_markdown_gets_plain_text() {
    let mut client = Client::with(&json!({ "textDocument": {} }), &json!({}));
    client.did_open(URI, MATMUL);
    client.partitioned();
    let hover = client.at("textDocument/hover", &position(MATMUL, "%0 ="));
    assert_eq!(hover["contents"]["kind"], "plaintext");
    client.shut_down();
}
