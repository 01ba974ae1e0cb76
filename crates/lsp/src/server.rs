//! The server loop: messages of the client and updates of the workers.
//!
//! A request about a text that is not parsed yet waits in its document, and so does a request for inlay hints until the program is
//! partitioned, because clients show the previous hints until then. The request is rejected when the text changes again or the client
//! cancels it. All other requests are answered at once.

use std::collections::BTreeMap;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentHighlight,
    DocumentSymbolResponse, GotoDefinitionResponse, Hover, HoverContents, Location, MarkupContent,
    MarkupKind, NumberOrString, Position, PublishDiagnosticsParams, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shardc::{Compiler, Diagnostic};

use crate::analysis::{Parsed, Stage};
use crate::documents::{Document, Update};
use crate::hover::Hovered;
use crate::protocol::Client;
use crate::{diagnostics, hints, navigation};

/// Serves one client.
pub(crate) fn run(connection: &Connection, compiler: &Compiler) -> Result<(), String> {
    let (id, params) = connection.initialize_start().map_err(|error| protocol_error(&error))?;
    let client = Client::new(&params);
    connection.initialize_finish(id, client.initialized()).map_err(|error| protocol_error(&error))?;
    let (sender, updates) = unbounded();
    let mut server = Server::new(connection.sender.clone(), client, compiler.clone(), sender);
    server.serve(connection, &updates)
}

/// The error for a client that is gone.
const CLOSED: &str = "the client closed the connection without `shutdown`";

fn protocol_error(error: &ProtocolError) -> String {
    if error.channel_is_disconnected() { CLOSED.to_owned() } else { error.to_string() }
}

/// The method of a request for inlay hints.
const INLAY_HINT: &str = "textDocument/inlayHint";

/// The state of the server.
struct Server {
    client: Sender<Message>,
    options: Client,
    compiler: Compiler,
    /// The end of the channel that workers send to.
    updates: Sender<Update>,
    /// The open documents by URI.
    documents: BTreeMap<String, Document>,
    /// The number of texts so far.
    revisions: u64,
    /// The number of requests to the client.
    requests: i32,
}

impl Server {
    fn new(client: Sender<Message>, options: Client, compiler: Compiler, updates: Sender<Update>) -> Server {
        Server { client, options, compiler, updates, documents: BTreeMap::new(), revisions: 0, requests: 0 }
    }

    fn serve(&mut self, connection: &Connection, updates: &Receiver<Update>) -> Result<(), String> {
        loop {
            select! {
                recv(connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => {
                        if connection.handle_shutdown(&request).map_err(|error| protocol_error(&error))? {
                            return Ok(());
                        }
                        self.request(request);
                    }
                    Ok(Message::Notification(notification)) if notification.method == "exit" => {
                        return Err("the client sent `exit` without `shutdown`".to_owned());
                    }
                    Ok(Message::Notification(notification)) => self.notification(notification),
                    // The only requests to the client are refreshes, whose responses are empty.
                    Ok(Message::Response(_)) => {}
                    Err(_) => return Err(CLOSED.to_owned()),
                },
                recv(updates) -> update => if let Ok(update) = update {
                    self.update(update);
                },
            }
        }
    }

    /// Sends a message. If the client is gone, the loop ends when it receives.
    fn send(&self, message: Message) {
        let _ = self.client.send(message);
    }

    fn respond(&self, response: Response) {
        self.send(Message::Response(response));
    }

    fn reject(&self, id: RequestId, code: ErrorCode, message: &str) {
        self.respond(Response::new_err(id, code as i32, message.to_owned()));
    }

    fn notification(&mut self, notification: Notification) {
        let Notification { method, params, .. } = notification;
        match method.as_str() {
            "textDocument/didOpen" => self.with_params(&method, params, Self::open),
            "textDocument/didChange" => self.with_params(&method, params, Self::change),
            "textDocument/didClose" => self.with_params(&method, params, Self::close),
            "$/cancelRequest" => self.with_params(&method, params, Self::cancel),
            // Others have no effect on this server, or are optional.
            _ => {}
        }
    }

    /// Calls `handle` with the parameters of a notification. Malformed parameters are logged by the client.
    fn with_params<P: DeserializeOwned>(&mut self, method: &str, params: Value, handle: fn(&mut Self, P)) {
        match serde_json::from_value(params) {
            Ok(params) => handle(self, params),
            Err(error) => self.log(&format!("{method}: {error}")),
        }
    }

    /// Logs an error at the client.
    fn log(&self, message: &str) {
        const ERROR: u32 = 1;
        let params = json!({ "type": ERROR, "message": message });
        self.send(Message::Notification(Notification::new("window/logMessage".to_owned(), params)));
    }

    fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let key = document.uri.to_string();
        self.revisions += 1;
        let opened = Document::open(
            (document.uri, document.version, document.text),
            self.revisions,
            self.options.encoding,
            &self.compiler,
            self.updates.clone(),
        );
        match opened {
            Ok(document) => drop(self.documents.insert(key, document)),
            Err(error) => self.log(&format!("cannot start a thread: {error}")),
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        self.revisions += 1;
        let revision = self.revisions;
        let uri = params.text_document.uri;
        let Some(document) = self.documents.get_mut(uri.as_str()) else {
            return self.log(&format!("{} was changed, but is not open", uri.as_str()));
        };
        let waiting = std::mem::take(&mut document.waiting);
        document.change(params.text_document.version, revision, params.content_changes);
        for request in waiting {
            self.reject(request.id, ErrorCode::ContentModified, "the text changed");
        }
    }

    fn close(&mut self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        let Some(document) = self.documents.remove(uri.as_str()) else { return };
        for request in &document.waiting {
            self.reject(request.id.clone(), ErrorCode::ContentModified, "the document was closed");
        }
        self.show(uri, None, Vec::new());
    }

    /// Rejects a request that waits. All others are answered already.
    fn cancel(&mut self, params: lsp_types::CancelParams) {
        let id: RequestId = match params.id {
            NumberOrString::Number(id) => id.into(),
            NumberOrString::String(id) => id.into(),
        };
        let mut waiting = self.documents.values_mut().map(|document| &mut document.waiting);
        let is_found = waiting.any(|waiting| {
            let before = waiting.len();
            waiting.retain(|request| request.id != id);
            waiting.len() < before
        });
        if is_found {
            self.reject(id, ErrorCode::RequestCanceled, "the client cancelled the request");
        }
    }

    fn request(&mut self, request: Request) {
        let Some(answer) = answer_to(&request.method) else {
            let message = format!("{} is not supported", request.method);
            return self.reject(request.id, ErrorCode::MethodNotFound, &message);
        };
        let uri = request.params.pointer("/textDocument/uri").and_then(Value::as_str);
        let Some(document) = uri.and_then(|uri| self.documents.get_mut(uri)) else {
            return self.reject(request.id, ErrorCode::InvalidParams, "the document is not open");
        };
        match document.parsed.clone() {
            Some(_) if request.method == INLAY_HINT && document.is_running => document.waiting.push(request),
            Some(parsed) => {
                let question =
                    Question { params: &request.params, document, parsed: &parsed, options: self.options };
                let response = match answer(&question) {
                    Ok(result) => Response::new_ok(request.id, result),
                    Err(error) => {
                        Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string())
                    }
                };
                self.respond(response);
            }
            None if document.is_running => document.waiting.push(request),
            None => self.reject(request.id, ErrorCode::InternalError, "the text cannot be parsed"),
        }
    }

    /// Stores the result of a stage, unless the text changed in the meantime, and sends what depends on it.
    fn update(&mut self, update: Update) {
        let Some(document) = self.documents.get_mut(update.uri.as_str()) else { return };
        if document.revision() != update.revision {
            return;
        }
        match update.stage {
            Some(Stage::Parsed(parsed)) => {
                let has_errors = !parsed.is_valid();
                let shown = parsed.programs().any(|(_, program)| !program.errors.is_empty());
                // Warnings of the previous text stay until the next stage, so that they do not flicker.
                let shows = shown || document.shows_errors;
                (document.shows_errors, document.is_running) = (shown, !has_errors);
                document.parsed = Some(parsed);
                let waiting = std::mem::take(&mut document.waiting);
                if shows {
                    self.publish(update.uri.as_str());
                }
                for request in waiting {
                    self.request(request);
                }
            }
            Some(Stage::Partitioned(partitioned, found)) => {
                document.is_running = false;
                document.partitioned = partitioned;
                document.found.0 = found;
                let waiting = std::mem::take(&mut document.waiting);
                self.publish(update.uri.as_str());
                for request in waiting {
                    self.request(request);
                }
                self.refresh_hints();
            }
            Some(Stage::Linted(found)) => {
                document.found.1 = found;
                self.publish(update.uri.as_str());
            }
            None => {
                document.is_running = false;
                let waiting = std::mem::take(&mut document.waiting);
                for request in waiting {
                    self.reject(request.id, ErrorCode::InternalError, "the analysis failed");
                }
                self.log("a bug in shardc ended the analysis: please report it with the program");
            }
        }
    }

    /// Sends the diagnostics of a document.
    fn publish(&self, uri: &str) {
        let Some(document) = self.documents.get(uri) else { return };
        let programs = document.parsed.iter().flat_map(|parsed| parsed.programs());
        let errors = programs.flat_map(|(_, program)| &program.errors);
        let found = document.found.0.iter().chain(&document.found.1);
        let all: Vec<&Diagnostic> = errors.chain(found).collect();
        let converted = diagnostics::convert(all, document.text(), &document.uri);
        self.show(document.uri.clone(), Some(document.version), converted);
    }

    fn show(&self, uri: Uri, version: Option<i32>, diagnostics: Vec<lsp_types::Diagnostic>) {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let method = "textDocument/publishDiagnostics".to_owned();
        self.send(Message::Notification(Notification::new(method, params)));
    }

    /// Asks the client to request inlay hints again.
    fn refresh_hints(&mut self) {
        if self.options.refreshes_hints {
            self.requests += 1;
            let method = "workspace/inlayHint/refresh".to_owned();
            self.send(Message::Request(Request::new(self.requests.into(), method, Value::Null)));
        }
    }
}

/// A request about a document that is parsed.
struct Question<'a> {
    params: &'a Value,
    document: &'a Document,
    parsed: &'a Parsed,
    options: Client,
}

/// The result of a request, or the error in its parameters.
type Answer = fn(&Question<'_>) -> Result<Value, serde_json::Error>;

/// The function that answers requests with a method.
fn answer_to(method: &str) -> Option<Answer> {
    Some(match method {
        "textDocument/hover" => hover,
        "textDocument/definition" => definition,
        "textDocument/references" => references,
        "textDocument/documentHighlight" => highlights,
        "textDocument/documentSymbol" => symbols,
        INLAY_HINT => inlay_hints,
        _ => return None,
    })
}

impl Question<'_> {
    /// The part of the parameters at a JSON pointer.
    fn param<T: DeserializeOwned>(&self, pointer: &str) -> Result<T, serde_json::Error> {
        serde_json::from_value(self.params.pointer(pointer).cloned().unwrap_or_default())
    }

    /// The byte offset of the parameter `position`.
    fn offset(&self) -> Result<usize, serde_json::Error> {
        self.param::<Position>("/position").map(|position| self.parsed.text.offset(position))
    }

    /// The references of the name at an offset, in its program.
    fn references(&self, offset: usize, with_definition: bool) -> Vec<std::ops::Range<usize>> {
        let program = self.parsed.program_at(offset);
        let found =
            program.map(|(_, program)| navigation::references(&program.index, offset, with_definition));
        found.unwrap_or_default()
    }

    fn location(&self, range: std::ops::Range<usize>) -> Location {
        Location::new(self.document.uri.clone(), self.parsed.text.range(range))
    }
}

fn hover(question: &Question<'_>) -> Result<Value, serde_json::Error> {
    let offset = question.offset()?;
    let Some((number, program)) = question.parsed.program_at(offset) else { return Ok(Value::Null) };
    let hovered = Hovered {
        text: &question.parsed.text,
        program,
        partitioned: question.document.program(number),
        is_running: question.document.is_running,
    };
    let kind = if question.options.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
    let hover = hovered.at(offset).map(|(value, range)| Hover {
        contents: HoverContents::Markup(MarkupContent { kind, value }),
        range: Some(question.parsed.text.range(range)),
    });
    serde_json::to_value(hover)
}

fn definition(question: &Question<'_>) -> Result<Value, serde_json::Error> {
    let offset = question.offset()?;
    let program = question.parsed.program_at(offset);
    let found = program.and_then(|(_, program)| navigation::definition(&program.index, offset));
    serde_json::to_value(found.map(|range| GotoDefinitionResponse::Scalar(question.location(range))))
}

fn references(question: &Question<'_>) -> Result<Value, serde_json::Error> {
    let with_definition: Option<bool> = question.param("/context/includeDeclaration")?;
    let offset = question.offset()?;
    let found = question.references(offset, with_definition.unwrap_or(true));
    serde_json::to_value(found.into_iter().map(|range| question.location(range)).collect::<Vec<_>>())
}

fn highlights(question: &Question<'_>) -> Result<Value, serde_json::Error> {
    let found = question.references(question.offset()?, true);
    let highlight = |range| DocumentHighlight { range: question.parsed.text.range(range), kind: None };
    serde_json::to_value(found.into_iter().map(highlight).collect::<Vec<_>>())
}

fn symbols(question: &Question<'_>) -> Result<Value, serde_json::Error> {
    serde_json::to_value(DocumentSymbolResponse::Nested(navigation::symbols(question.parsed)))
}

fn inlay_hints(question: &Question<'_>) -> Result<Value, serde_json::Error> {
    let range: lsp_types::Range = question.param("/range")?;
    let text = &*question.parsed.text;
    let range = text.offset(range.start)..text.offset(range.end);
    let mut hints = Vec::new();
    for (number, program) in question.parsed.programs() {
        if let Some(partitioned) = question.document.program(number) {
            hints.extend(hints::hints((text, program), partitioned, range.clone(), question.options.hints));
        }
    }
    serde_json::to_value(hints)
}
