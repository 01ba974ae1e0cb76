//! Measures how long an editor waits: opens a program, then sends the requests of a user who scrolls and types.
//!
//! ```console
//! $ cargo run --release -p shardc-lsp --example latency -- step.mlir
//! ```

#![allow(clippy::print_stdout, reason = "the result of the program")]

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shardc::Compiler;
use shardc_lsp::lsp_server::{Connection, Message, Notification, Request};

const URI: &str = "file:///program.mlir";

/// The number of lines of a window.
const WINDOW: usize = 60;

/// The number of requests of each kind.
const REQUESTS: usize = 50;

struct Editor {
    connection: Connection,
    requests: i32,
}

impl Editor {
    fn notify(&self, method: &str, params: Value) -> Result<(), Box<dyn Error>> {
        let message = Message::Notification(Notification::new(method.to_owned(), params));
        Ok(self.connection.sender.send(message)?)
    }

    /// Sends a request, and returns its result and the time until the response.
    fn request(&mut self, method: &str, params: Value) -> Result<(Value, Duration), Box<dyn Error>> {
        let begin = Instant::now();
        self.requests += 1;
        let request = Request::new(self.requests.into(), method.to_owned(), params);
        self.connection.sender.send(Message::Request(request))?;
        loop {
            if let Message::Response(response) = self.connection.receiver.recv()? {
                let result = response.response_result.map_err(|error| error.message)?;
                return Ok((result, begin.elapsed()));
            }
        }
    }

    /// Waits for a message of the server.
    fn wait_for(&self, method: &str) -> Result<Value, Box<dyn Error>> {
        loop {
            match self.connection.receiver.recv()? {
                Message::Notification(found) if found.method == method => return Ok(found.params),
                Message::Request(found) if found.method == method => return Ok(found.params),
                _ => {}
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: latency FILE")?;
    let text = std::fs::read_to_string(path)?;
    let lines: Vec<&str> = text.lines().collect();
    println!("{} bytes, {} lines", text.len(), lines.len());
    let (server, client) = Connection::memory();
    let server = std::thread::spawn(move || shardc_lsp::serve(&server, &Compiler::new()));
    let mut editor = Editor { connection: client, requests: 0 };
    let capabilities = json!({ "workspace": { "inlayHint": { "refreshSupport": true } } });
    editor.request("initialize", json!({ "capabilities": capabilities }))?;
    editor.notify("initialized", json!({}))?;
    let document = json!({ "uri": URI, "languageId": "mlir", "version": 1, "text": text });

    let begin = Instant::now();
    editor.notify("textDocument/didOpen", json!({ "textDocument": document }))?;
    let (_, parsed) =
        editor.request("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }))?;
    println!("open: parsed after {parsed:.2?}");
    editor.wait_for("workspace/inlayHint/refresh")?;
    println!("open: partitioned after {:.2?}", begin.elapsed());
    let linted = editor.wait_for("textDocument/publishDiagnostics")?;
    let found = linted["diagnostics"].as_array().map_or(0, Vec::len);
    println!("open: linted after {:.2?}, {found} diagnostics", begin.elapsed());

    measure(&mut editor, &lines, "textDocument/inlayHint")?;
    measure(&mut editor, &lines, "textDocument/hover")?;
    measure(&mut editor, &lines, "textDocument/definition")?;
    measure(&mut editor, &lines, "textDocument/references")?;

    // Typing a comment on a new line: the response waits for the parser, and the next character cancels the rest of the analysis.
    let mut waits = Vec::new();
    let line = lines.len() / 2;
    let mut position = json!({ "line": line, "character": 0 });
    for (version, character) in (2..).zip("\n// a comment".chars()) {
        let change =
            json!({ "range": { "start": position, "end": position }, "text": character.to_string() });
        let document = json!({ "uri": URI, "version": version });
        editor.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        )?;
        position = json!({ "line": line, "character": version - 2 });
        let params = json!({ "textDocument": { "uri": URI }, "position": position });
        waits.push(editor.request("textDocument/hover", params)?.1);
    }
    print("a character, then a hover", &mut waits);
    let begin = Instant::now();
    editor.wait_for("workspace/inlayHint/refresh")?;
    println!("after the last character: partitioned after {:.2?}", begin.elapsed());
    editor.request("shutdown", Value::Null)?;
    editor.notify("exit", Value::Null)?;
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}

/// Sends requests about windows at equal distances.
fn measure(editor: &mut Editor, lines: &[&str], method: &str) -> Result<(), Box<dyn Error>> {
    let (mut times, mut largest) = (Vec::new(), 0);
    for i in 0..REQUESTS {
        let line = i * lines.len().saturating_sub(WINDOW) / REQUESTS;
        let column = lines.get(line).and_then(|line| line.find('%')).unwrap_or(0);
        let start = json!({ "line": line, "character": column });
        let params = json!({
            "textDocument": { "uri": URI },
            "position": start,
            "range": { "start": { "line": line, "character": 0 }, "end": { "line": line + WINDOW, "character": 0 } },
            "context": { "includeDeclaration": true },
        });
        let (result, time) = editor.request(method, params)?;
        largest = largest.max(result.to_string().len());
        times.push(time);
    }
    print(&format!("{method} (at most {largest} bytes)"), &mut times);
    Ok(())
}

fn print(name: &str, times: &mut [Duration]) {
    times.sort();
    if let (Some(median), Some(last)) = (times.get(times.len() / 2), times.last()) {
        println!("{name}: median {median:.2?}, at most {last:.2?}");
    }
}
