use serde_json::{Value, json};
use shardc_lsp::lsp_server::{ErrorCode, Message, Request, RequestId};

use crate::client::{Client, MATMUL, URI, position};

/// A text that takes much longer to parse than a message takes to arrive.
fn long_text() -> String {
    let mut text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n".to_owned();
    for i in 0..200_000 {
        text += &format!("  %{i} = stablehlo.add %x, %x : tensor<4xf32>\n");
    }
    text + "  return %x : tensor<4xf32>\n}\n"
}

#[test]
fn capabilities_are_announced() {
    let client = Client::start();
    let capabilities = &client.initialized["capabilities"];
    assert_eq!(capabilities["positionEncoding"], "utf-16");
    assert_eq!(capabilities["textDocumentSync"]["change"], 2);
    for provider in ["hoverProvider", "definitionProvider", "referencesProvider", "inlayHintProvider"] {
        assert_eq!(capabilities[provider], true, "{provider}");
    }
    assert_eq!(client.initialized["serverInfo"]["name"], "shardc");
    client.shut_down();
    let bytes = json!({ "general": { "positionEncodings": ["utf-16", "utf-8"] } });
    let client = Client::with(&bytes, &json!({}));
    assert_eq!(client.initialized["capabilities"]["positionEncoding"], "utf-8");
    client.shut_down();
}

#[test]
fn unknown_and_malformed_requests_are_rejected() {
    let mut client = Client::open(MATMUL);
    let error = client.request("textDocument/rename", json!({})).unwrap_err();
    assert_eq!(error.code, ErrorCode::MethodNotFound as i32);
    let invalid = ErrorCode::InvalidParams as i32;
    for params in [json!({}), json!(null), json!({ "textDocument": { "uri": "file:///other.mlir" } })] {
        assert_eq!(client.request("textDocument/hover", params).unwrap_err().code, invalid);
    }
    let params = json!({ "textDocument": { "uri": URI }, "position": "here" });
    assert_eq!(client.request("textDocument/hover", params).unwrap_err().code, invalid);
    client.notify("$/unknown", json!([1]));
    client.notify("textDocument/didChange", json!({ "wrong": true }));
    assert!(client.expect("window/logMessage")["message"].as_str().unwrap().contains("didChange"));
    assert!(client.hover(MATMUL, "%0 =").contains("%0"), "the server goes on");
    client.shut_down();
}

#[test]
fn a_cancelled_request_is_rejected() {
    let mut client = Client::start();
    let text = long_text();
    client.did_open(URI, &text);
    let params = json!({ "textDocument": { "uri": URI }, "position": position(&text, "%7 =") });
    let id = client.ask("textDocument/hover", params.clone());
    client.notify("$/cancelRequest", json!({ "id": 2 }));
    let error = client.response(&id).unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestCanceled as i32);
    client.notify("$/cancelRequest", json!({ "id": "never sent" }));
    // A request that is not cancelled waits for the parser.
    let hover = client.request("textDocument/hover", params).unwrap();
    assert!(hover["contents"]["value"].as_str().unwrap().contains("%7: tensor<4xf32>"), "{hover}");
    client.shut_down();
}

#[test]
fn a_request_about_an_old_text_is_rejected() {
    let mut client = Client::start();
    client.did_open(URI, &long_text());
    let params = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 17 } });
    let id = client.ask("textDocument/hover", params.clone());
    client.did_change(2, &[(Value::Null, MATMUL)]);
    assert_eq!(client.response(&id).unwrap_err().code, ErrorCode::ContentModified as i32);
    let waiting = client.ask("textDocument/hover", params);
    client.response(&waiting).unwrap();
    client.partitioned();
    assert!(
        client.hover(MATMUL, "%0 =").contains("local: `tensor<8x16xf32>`"),
        "the newest text is analyzed"
    );
    client.shut_down();
}

#[test]
fn a_closed_document_has_no_diagnostics() {
    let mut client = Client::start();
    client.did_open(URI, "func.func @main(");
    assert_eq!(client.diagnostics().len(), 1);
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    let params = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 } });
    assert!(client.request("textDocument/hover", params).is_err());
    client.shut_down();
}

#[test]
fn requests_with_text_numbers_are_answered() {
    let mut client = Client::open(MATMUL);
    let id = RequestId::from("a text".to_owned());
    let params = json!({ "textDocument": { "uri": URI }, "position": position(MATMUL, "%0 =") });
    client.send(Message::Request(Request::new(id.clone(), "textDocument/hover".to_owned(), params)));
    assert!(client.response(&id).is_ok());
    client.shut_down();
}

#[test]
fn an_end_without_shutdown_is_an_error() {
    assert!(Client::open(MATMUL).hang_up().contains("without `shutdown`"));
    let (server, client) = shardc_lsp::lsp_server::Connection::memory();
    drop(client);
    let error = shardc_lsp::serve(&server, &shardc::Compiler::new()).unwrap_err();
    assert!(error.to_string().contains("without `shutdown`"), "before `initialize`: {error}");
    let client = Client::start();
    client.notify("exit", Value::Null);
    assert!(client.failed().contains("`exit` without `shutdown`"));
}
