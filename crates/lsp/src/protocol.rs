//! The capabilities of the server, and those of the client that matter to it.

use lsp_types::{
    HoverProviderCapability, OneOf, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions,
};
use serde_json::{Value, json};

use crate::hints::HintStyle;
use crate::text::Encoding;

/// The options and capabilities of the client. Unknown and malformed parts of its message are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// Whether the server may ask the client to request inlay hints again.
    pub(crate) refreshes_hints: bool,
    /// Whether hovers may be in Markdown.
    pub(crate) markdown: bool,
    pub(crate) hints: HintStyle,
}

impl Client {
    /// Reads the parameters of the request `initialize`.
    pub(crate) fn new(params: &Value) -> Client {
        let has = |pointer: &str, wanted: &str| {
            let list = params.pointer(pointer).and_then(Value::as_array);
            list.is_some_and(|list| list.iter().any(|item| item == wanted))
        };
        let is_true = |pointer: &str| params.pointer(pointer) == Some(&Value::Bool(true));
        let bytes = has("/capabilities/general/positionEncodings", "utf-8");
        let hints = params.pointer("/initializationOptions/inlayHints").and_then(Value::as_str);
        Client {
            encoding: if bytes { Encoding::Utf8 } else { Encoding::Utf16 },
            refreshes_hints: is_true("/capabilities/workspace/inlayHint/refreshSupport"),
            markdown: has("/capabilities/textDocument/hover/contentFormat", "markdown"),
            hints: hints.map(HintStyle::parse).unwrap_or_default(),
        }
    }

    /// The result of the request `initialize`.
    pub(crate) fn initialized(self) -> Value {
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        };
        let capabilities = ServerCapabilities {
            position_encoding: Some(self.encoding.kind()),
            text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            document_highlight_provider: Some(OneOf::Left(true)),
            document_symbol_provider: Some(OneOf::Left(true)),
            inlay_hint_provider: Some(OneOf::Left(true)),
            ..ServerCapabilities::default()
        };
        json!({
            "capabilities": capabilities,
            "serverInfo": { "name": "shardc", "version": env!("CARGO_PKG_VERSION") },
        })
    }
}
