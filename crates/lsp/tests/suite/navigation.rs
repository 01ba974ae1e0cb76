use serde_json::{Value, json};

use crate::client::{Client, MATMUL, URI, position, range};

fn definition(client: &mut Client, text: &str, used: &str) -> Value {
    let found = client.at("textDocument/definition", &position(text, used));
    assert!(found.is_null() || found["uri"] == URI);
    found["range"].clone()
}

#[test]
fn definitions_of_values_functions_and_meshes_are_found() {
    let mut client = Client::open(MATMUL);
    assert_eq!(definition(&mut client, MATMUL, "%x, %w"), range(MATMUL, "%x"));
    assert_eq!(definition(&mut client, MATMUL, "%0)"), range(MATMUL, "%0"));
    assert_eq!(definition(&mut client, MATMUL, "%1 : tensor"), range(MATMUL, "%1"));
    let private = range(&MATMUL.replacen("@twice", "@_____", 1), "@twice");
    assert_eq!(definition(&mut client, MATMUL, "@twice(%0)"), private);
    assert_eq!(definition(&mut client, MATMUL, "@mesh, [{"), range(MATMUL, "@mesh"));
    assert_eq!(definition(&mut client, MATMUL, "tensor<32x64"), Value::Null);
    client.shut_down();
}

#[test]
fn results_of_a_pack_are_found() {
    let text = "func.func @main() -> tensor<i32> {
  %c:2 = call @pair() : () -> (tensor<i32>, tensor<i32>)
  %5 = stablehlo.add %c#1, %c : tensor<i32>
  return %5 : tensor<i32>
}
func.func private @pair() -> (tensor<i32>, tensor<i32>)
";
    let mut client = Client::open(text);
    assert_eq!(definition(&mut client, text, "%c#1"), range(text, "%c"));
    let found = client.at("textDocument/references", &position(text, "%c:2"));
    let ranges: Vec<&Value> = found.as_array().unwrap().iter().map(|found| &found["range"]).collect();
    assert_eq!(
        ranges,
        [&range(text, "%c"), &range(text, "%c#1"), &{
            let mut last = range(text, "%c : tensor");
            last["end"] = json!({ "line": 2, "character": last["start"]["character"].as_u64().unwrap() + 2 });
            last
        }]
    );
    client.shut_down();
}

#[test]
fn references_of_symbols_are_found() {
    let mut client = Client::open(MATMUL);
    let meshes = client.at("textDocument/references", &position(MATMUL, "@mesh = "));
    assert_eq!(meshes.as_array().unwrap().len(), 3, "the definition and two uses");
    let params = json!({
        "textDocument": { "uri": URI },
        "position": position(MATMUL, "@mesh = "),
        "context": { "includeDeclaration": false },
    });
    let used = client.request("textDocument/references", params).unwrap();
    assert_eq!(used.as_array().unwrap().len(), 2);
    let highlights = client.at("textDocument/documentHighlight", &position(MATMUL, "%arg0:"));
    assert_eq!(highlights.as_array().unwrap().len(), 3);
    client.shut_down();
}

#[test]
fn functions_and_meshes_are_symbols_of_the_document() {
    let mut client = Client::open(MATMUL);
    let params = json!({ "textDocument": { "uri": URI } });
    let symbols = client.request("textDocument/documentSymbol", params).unwrap();
    let names: Vec<&str> = symbols.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["@mesh", "@main", "@twice"]);
    let main = &symbols[1];
    assert_eq!((&main["range"]["start"]["line"], &main["range"]["end"]["line"]), (&json!(1), &json!(6)));
    assert_eq!(main["selectionRange"], range(MATMUL, "@main"));
    client.shut_down();
}
