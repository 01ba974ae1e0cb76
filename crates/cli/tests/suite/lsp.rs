//! `shardc lsp`: an editor speaks with the process over its standard streams.

use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use shardc_lsp::lsp_server::{Message, Notification, Request};

use crate::common::{Folder, WARNS};

const URI: &str = "file:///warns.mlir";

struct Editor {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: i32,
}

impl Editor {
    fn start(folder: &Folder, args: &[&str]) -> Editor {
        let mut command = folder.command(&[&["lsp"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut editor = Editor { process, input, output: BufReader::new(output), requests: 0 };
        editor.request("initialize", json!({ "capabilities": {} }));
        editor.notify("initialized", json!({}));
        editor
    }

    fn notify(&mut self, method: &str, params: Value) {
        let message = Message::Notification(Notification::new(method.to_owned(), params));
        message.write(&mut self.input).unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let request = Request::new(self.requests.into(), method.to_owned(), params);
        Message::Request(request).write(&mut self.input).unwrap();
        loop {
            if let Message::Response(response) = Message::read(&mut self.output).unwrap().unwrap() {
                return response.response_result.unwrap();
            }
        }
    }

    fn open(&mut self, text: &str) {
        let document = json!({ "uri": URI, "languageId": "mlir", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// The next diagnostics of the document.
    fn diagnostics(&mut self) -> Value {
        loop {
            match Message::read(&mut self.output).unwrap().unwrap() {
                Message::Notification(found) if found.method == "textDocument/publishDiagnostics" => {
                    return found.params["diagnostics"].clone();
                }
                _ => {}
            }
        }
    }

    /// Waits for the end of the process. Returns its exit code and its standard error.
    fn wait(self) -> (Option<i32>, String) {
        drop(self.input);
        let output = self.process.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn an_editor_gets_diagnostics_and_hovers() {
    let folder = Folder::new();
    let mut editor = Editor::start(&folder, &["--stdio", "--target", "v5e:2x2"]);
    editor.open(WARNS);
    assert_eq!(editor.diagnostics()[1]["code"], "SH0310");
    let params = json!({ "textDocument": { "uri": URI }, "position": { "line": 2, "character": 3 } });
    let hover = editor.request("textDocument/hover", params);
    let hover = hover["contents"]["value"].as_str().unwrap();
    assert!(hover.contains("**Collectives for `stablehlo.sort`**"), "{hover}");
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.wait(), (Some(0), String::new()));
}

#[test]
fn options_annotate_programs() {
    let folder = Folder::new();
    let mut editor = Editor::start(&folder, &["--mesh", "data=4", "--spec", "x=data,-"]);
    editor.open(crate::common::PLAIN);
    editor.diagnostics();
    let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 2, "character": 0 } });
    let hints =
        editor.request("textDocument/inlayHint", json!({ "textDocument": { "uri": URI }, "range": range }));
    assert_eq!(hints[0]["label"], "8x16");
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.wait().0, Some(0));
    assert_eq!(folder.run(&["lsp", "--mesh", "x"]).code, Some(2), "invalid options are reported at once");
}

#[test]
fn an_editor_that_is_gone_ends_the_server() {
    let folder = Folder::new();
    let (code, errors) = Editor::start(&folder, &[]).wait();
    assert_eq!(code, Some(1));
    assert!(errors.contains("without `shutdown`"), "{errors}");
}
