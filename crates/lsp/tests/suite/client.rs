//! The client, and programs that it opens.

use std::collections::VecDeque;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use shardc::Compiler;
use shardc_lsp::lsp_server::{
    Connection, Message, Notification, Request, RequestId, Response, ResponseError,
};
use shardc_lsp::{ServeError, serve};

/// The time after which a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// The document of most tests.
pub(crate) const URI: &str = "file:///step.mlir";

/// A matmul whose contracting dimension is sharded, so that it needs an all-reduce.
pub(crate) const MATMUL: &str = r#"sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
                %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = call @twice(%0) : (tensor<32x16xf32>) -> tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
func.func private @twice(%arg0: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
"#;

/// A sort of a sharded dimension, which is partitioned with a warning.
pub(crate) const SORT: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1048576xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<1048576xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
"#;

/// The position of a text in another one, in UTF-16 code units, as the protocol counts.
pub(crate) fn position(text: &str, wanted: &str) -> Value {
    let at = text.find(wanted).unwrap_or_else(|| panic!("no {wanted:?}"));
    let line = text[..at].matches('\n').count();
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": line, "character": text[start..at].encode_utf16().count() })
}

/// The range of the first occurrence of a text in another one.
pub(crate) fn range(text: &str, wanted: &str) -> Value {
    let start = position(text, wanted);
    let mut end = start.clone();
    end["character"] = json!(start["character"].as_u64().unwrap() + wanted.encode_utf16().count() as u64);
    json!({ "start": start, "end": end })
}

/// A client and its server, which runs on a thread.
pub(crate) struct Client {
    connection: Connection,
    server: JoinHandle<Result<(), ServeError>>,
    requests: i32,
    /// Notifications and requests of the server that the test did not expect yet.
    received: VecDeque<(String, Value)>,
    pub(crate) initialized: Value,
}

impl Client {
    pub(crate) fn start() -> Client {
        Client::with(&json!({}), &json!({}))
    }

    /// Starts a server. `capabilities` are added to those that the tests need.
    pub(crate) fn with(capabilities: &Value, options: &Value) -> Client {
        let (server, client) = Connection::memory();
        let server = std::thread::spawn(move || serve(&server, &Compiler::new()));
        let mut client = Client {
            connection: client,
            server,
            requests: 0,
            received: VecDeque::new(),
            initialized: Value::Null,
        };
        let mut all = json!({
            "workspace": { "inlayHint": { "refreshSupport": true } },
            "textDocument": { "hover": { "contentFormat": ["markdown", "plaintext"] } },
        });
        for (key, value) in capabilities.as_object().unwrap() {
            all[key] = value.clone();
        }
        let params = json!({ "capabilities": all, "initializationOptions": options });
        client.initialized = client.request("initialize", params).unwrap();
        client.notify("initialized", json!({}));
        client
    }

    /// Starts a server and opens a document, and waits until it is partitioned.
    pub(crate) fn open(text: &str) -> Client {
        let mut client = Client::start();
        client.did_open(URI, text);
        client.partitioned();
        client
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.send(Message::Notification(Notification::new(method.to_owned(), params)));
    }

    pub(crate) fn send(&self, message: Message) {
        self.connection.sender.send(message).unwrap();
    }

    /// Sends a request without waiting for its response. Returns its number.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> RequestId {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        self.send(Message::Request(Request::new(id.clone(), method.to_owned(), params)));
        id
    }

    /// The response to a request.
    pub(crate) fn response(&mut self, id: &RequestId) -> Result<Value, ResponseError> {
        loop {
            match self.connection.receiver.recv_timeout(PATIENCE).unwrap() {
                Message::Response(Response { id: other, response_result }) if other == *id => {
                    return response_result;
                }
                message => self.receive(message),
            }
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Request(request) => self.received.push_back((request.method, request.params)),
            Message::Notification(notification) => {
                self.received.push_back((notification.method, notification.params));
            }
            Message::Response(response) => panic!("an unexpected response: {response:?}"),
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, ResponseError> {
        let id = self.ask(method, params);
        self.response(&id)
    }

    /// Waits for a notification or request of the server.
    pub(crate) fn expect(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.received.iter().position(|(found, _)| found == method) {
                return self.received.remove(at).unwrap().1;
            }
            let message = self.connection.receiver.recv_timeout(PATIENCE).unwrap();
            self.receive(message);
        }
    }

    /// Waits until a program is partitioned.
    pub(crate) fn partitioned(&mut self) {
        self.expect("workspace/inlayHint/refresh");
    }

    /// The next diagnostics.
    pub(crate) fn diagnostics(&mut self) -> Vec<Value> {
        let params = self.expect("textDocument/publishDiagnostics");
        assert_eq!(params["uri"], URI);
        params["diagnostics"].as_array().unwrap().clone()
    }

    /// The next diagnostics that are not empty. Those of a previous text may precede them.
    pub(crate) fn problems(&mut self) -> Vec<Value> {
        loop {
            let found = self.diagnostics();
            if !found.is_empty() {
                return found;
            }
        }
    }

    pub(crate) fn did_open(&self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "mlir", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Sends changes: each is a range, or null for the whole text, and the new text.
    pub(crate) fn did_change(&self, version: i32, changes: &[(Value, &str)]) {
        let changes: Vec<Value> = changes
            .iter()
            .map(|(range, text)| match range {
                Value::Null => json!({ "text": text }),
                range => json!({ "range": range, "text": text }),
            })
            .collect();
        let document = json!({ "uri": URI, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// A request about a position.
    pub(crate) fn at(&mut self, method: &str, position: &Value) -> Value {
        let params = json!({
            "textDocument": { "uri": URI },
            "position": position,
            "context": { "includeDeclaration": true },
        });
        self.request(method, params).unwrap()
    }

    /// The hover text at the first occurrence of a text.
    pub(crate) fn hover(&mut self, text: &str, wanted: &str) -> String {
        let hover = self.at("textDocument/hover", &position(text, wanted));
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// The labels of the inlay hints in some lines, each with its line.
    pub(crate) fn hints(&mut self, lines: std::ops::Range<u32>) -> Vec<(u64, String)> {
        let range = json!({
            "start": { "line": lines.start, "character": 0 },
            "end": { "line": lines.end, "character": 0 },
        });
        let params = json!({ "textDocument": { "uri": URI }, "range": range });
        let hints = self.request("textDocument/inlayHint", params).unwrap();
        let hint = |hint: &Value| {
            let line = hint["position"]["line"].as_u64().unwrap();
            (line, hint["label"].as_str().unwrap().to_owned())
        };
        hints.as_array().unwrap().iter().map(hint).collect()
    }

    /// Ends the server as the protocol requires.
    pub(crate) fn shut_down(mut self) {
        assert_eq!(self.request("shutdown", Value::Null).unwrap(), Value::Null);
        self.notify("exit", Value::Null);
        self.server.join().unwrap().unwrap();
    }

    /// Closes the connection without `shutdown`. Returns the error of the server.
    pub(crate) fn hang_up(self) -> String {
        drop(self.connection);
        self.server.join().unwrap().unwrap_err().to_string()
    }

    /// Waits for the end of the server, which must be an error.
    pub(crate) fn failed(self) -> String {
        self.server.join().unwrap().unwrap_err().to_string()
    }
}
