use serde_json::{Value, json};

use crate::client::{Client, MATMUL, SORT, range};

fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|diagnostic| diagnostic["code"].as_str().unwrap()).collect()
}

#[test]
fn a_type_error_has_a_code_a_range_a_hint_and_related_information() {
    let text = MATMUL.replace("%arg0, %arg0 : tensor<32x16xf32>", "%arg0, %arg0 : tensor<32x17xf32>");
    let mut client = Client::start();
    client.did_open(crate::client::URI, &text);
    let found = client.diagnostics();
    let error = &found[0];
    assert_eq!((&error["severity"], &error["source"]), (&json!(1), &json!("shardc")));
    assert!(error["code"].as_str().unwrap().starts_with("SH01"), "{error}");
    assert_eq!(
        error["range"],
        range(&text, "%arg0, %arg0 : tensor<32x17")["start"]
            .as_object()
            .map(|start| {
                let end =
                    json!({ "line": start["line"], "character": start["character"].as_u64().unwrap() + 5 });
                json!({ "start": start, "end": end })
            })
            .unwrap()
    );
    let related = error["relatedInformation"].as_array().unwrap();
    assert!(related.iter().any(|note| note["message"] == "defined as tensor<32x16xf32> here"), "{related:?}");
    assert!(error["message"].as_str().unwrap().contains("has the type tensor<32x16xf32>"), "{error}");
    client.shut_down();
}

#[test]
fn hints_are_in_the_message() {
    let text =
        MATMUL.replace("sdy.sharding<@mesh, [{\"model\"}, {}]>", "sdy.sharding<@mesh, [{\"modle\"}, {}]>");
    let mut client = Client::start();
    client.did_open(crate::client::URI, &text);
    let found = client.diagnostics();
    assert!(found[0]["message"].as_str().unwrap().contains("\nhelp: "), "{found:?}");
    client.shut_down();
}

#[test]
fn warnings_and_findings_are_reported_once() {
    let mut client = Client::open(SORT);
    let found = client.diagnostics();
    assert_eq!(codes(&found), ["SH0913", "SH0310"], "{found:?}");
    assert_eq!((&found[1]["severity"], &found[1]["range"]), (&json!(2), &range(SORT, "\"stablehlo.sort\"")));
    let linted = client.diagnostics();
    assert_eq!(codes(&linted).iter().filter(|&&code| code == "SH0310").count(), 1, "{linted:?}");
    client.shut_down();
}

#[test]
fn lint_findings_are_reported() {
    // Each device holds the whole argument, although both of its dimensions could be sharded.
    let text = SORT.replace("[{\"x\"}]", "[{}]");
    let mut client = Client::open(&text);
    client.diagnostics();
    let linted = client.diagnostics();
    assert!(codes(&linted).iter().any(|code| code.starts_with("SH09")), "{linted:?}");
    client.shut_down();
}

#[test]
fn a_program_without_annotations_is_valid() {
    let text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n";
    let mut client = Client::open(text);
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    assert!(client.hover(text, "%x").contains("%x: tensor<4xf32>"));
    assert_eq!(client.hints(0..9), []);
    client.shut_down();
}

#[test]
fn gspmd_annotations_are_read() {
    let text = r#"module attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<8x4xf32> {
    %0 = stablehlo.tanh %x : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
"#;
    let mut client = Client::open(text);
    assert_eq!(client.hints(2..3), [(2, "2x4".to_owned())]);
    client.shut_down();
}

#[test]
fn programs_without_functions_or_in_other_dialects_are_no_errors() {
    for text in ["", "// only a comment\n", "sdy.mesh @mesh = <[\"a\"=2]>\n"] {
        let mut client = Client::open(text);
        assert_eq!(client.diagnostics(), Vec::<Value>::new(), "{text:?}");
        client.shut_down();
    }
    let mut client = Client::open("llvm.func @main(%a: i32) -> i32 {\n  llvm.return %a : i32\n}\n");
    let found = client.diagnostics();
    assert_eq!((found.len(), &found[0]["severity"]), (1, &json!(2)), "{found:?}");
    client.shut_down();
}
