//! Open documents, each with a worker thread that analyzes the newest text.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Sender, unbounded};
use lsp_server::Request;
use lsp_types::{TextDocumentContentChangeEvent, Uri};
use shardc::{CancelToken, Compiler, Diagnostic};

use crate::analysis::{Parsed, Partitioned, Stage, analyze};
use crate::text::{Encoding, Text};

/// The stack of a worker, as large as that of a main thread.
const STACK: usize = 8 << 20;

/// The result of a stage for one version of a document.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) uri: Uri,
    /// The number of the text, counted by this server: clients may send the same version twice.
    pub(crate) revision: u64,
    /// The result; `None` if the compiler panicked, which is a bug.
    pub(crate) stage: Option<Stage>,
}

/// A text for the worker.
struct Job {
    text: Arc<Text>,
    revision: u64,
    token: CancelToken,
}

/// An open document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    text: Arc<Text>,
    revision: u64,
    /// Cancels the analysis of the current text.
    token: CancelToken,
    worker: Sender<Job>,
    /// The current text, if it is parsed.
    pub(crate) parsed: Option<Arc<Parsed>>,
    /// The programs of the current text, if they are partitioned; `None` for an invalid program.
    pub(crate) partitioned: Vec<Option<Arc<Partitioned>>>,
    /// Whether the current text is being parsed or partitioned.
    pub(crate) is_running: bool,
    /// The errors and warnings of partitioning, and the findings of linting.
    pub(crate) found: (Vec<Diagnostic>, Vec<Diagnostic>),
    /// Whether the client shows errors of the parser.
    pub(crate) shows_errors: bool,
    /// Requests that wait for the current text to be parsed or partitioned.
    pub(crate) waiting: Vec<Request>,
}

impl Document {
    /// Opens a document, and starts its worker, which sends updates.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn open(
        (uri, version, text): (Uri, i32, String),
        revision: u64,
        encoding: Encoding,
        compiler: &Compiler,
        updates: Sender<Update>,
    ) -> std::io::Result<Document> {
        let (worker, jobs) = unbounded::<Job>();
        let (compiler, name) = (compiler.clone(), uri.clone());
        let work = move || {
            while let Ok(job) = jobs.recv() {
                // Only the newest text is analyzed.
                let job = jobs.try_iter().last().unwrap_or(job);
                work_on(&job, &compiler, &name, &updates);
            }
        };
        thread::Builder::new().name("shardc-lsp-worker".to_owned()).stack_size(STACK).spawn(work)?;
        let mut document = Document {
            uri,
            version,
            text: Arc::new(Text::new(text, encoding)),
            revision,
            token: CancelToken::new(),
            worker,
            parsed: None,
            partitioned: Vec::new(),
            is_running: false,
            found: (Vec::new(), Vec::new()),
            shows_errors: false,
            waiting: Vec::new(),
        };
        document.start();
        Ok(document)
    }

    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    /// A program of the current text, by its number, if it is partitioned.
    pub(crate) fn program(&self, number: usize) -> Option<&Partitioned> {
        self.partitioned.get(number)?.as_deref()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Applies the changes of the client. The analysis of the previous text is cancelled.
    pub(crate) fn change(
        &mut self,
        version: i32,
        revision: u64,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) {
        let encoding = self.text.encoding();
        // The worker may still use the previous text.
        let mut text = Arc::unwrap_or_clone(std::mem::take(&mut self.text));
        for change in changes {
            match change.range {
                Some(range) => text.edit(range, &change.text),
                None => text = Text::new(change.text, encoding),
            }
        }
        (self.text, self.version, self.revision) = (Arc::new(text), version, revision);
        self.start();
    }

    /// Starts the analysis of the current text.
    fn start(&mut self) {
        self.token.cancel();
        self.token = CancelToken::new();
        (self.parsed, self.partitioned, self.is_running) = (None, Vec::new(), true);
        self.found = (Vec::new(), Vec::new());
        let job = Job { text: Arc::clone(&self.text), revision: self.revision, token: self.token.clone() };
        // The worker ends only with the document.
        let _ = self.worker.send(job);
    }
}

/// Cancels the analysis when the document is closed.
impl Drop for Document {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

/// Analyzes a text, and sends each stage. A panic of the compiler, which is a bug, does not end the worker.
fn work_on(job: &Job, compiler: &Compiler, uri: &Uri, updates: &Sender<Update>) {
    let update = |stage| Update { uri: uri.clone(), revision: job.revision, stage };
    let compiler = compiler.clone().cancel_token(job.token.clone());
    let work = || {
        analyze(&compiler, uri.as_str(), Arc::clone(&job.text), &mut |stage| {
            // The server may have ended.
            let _ = updates.send(update(Some(stage)));
        });
    };
    if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
        let _ = updates.send(update(None));
    }
}
