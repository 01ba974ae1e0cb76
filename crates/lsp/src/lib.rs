//! # shardc-lsp: a language server for StableHLO programs
//!
//! [`serve`] speaks the Language Server Protocol over a [`Connection`]: diagnostics while the user types, shardings and collectives on
//! hover, local shapes as inlay hints, and navigation between definitions and uses. `shardc lsp` runs it over standard input and output.
//!
//! ```text
//! client ──messages──> server ──newest text──> worker (one thread for each open document)
//!        <─responses──        <─updates: parsed, partitioned, linted──
//! ```
//!
//! The server thread answers requests from the last update of the document, and never waits for the compiler. A change of the text cancels
//! the work on older text by a [`CancelToken`](shardc::CancelToken). There is no global state: all state belongs to one call of [`serve`].
//!
//! | module | subject |
//! |---|---|
//! | `server` | messages, and the requests that wait for the analysis |
//! | `protocol` | capabilities of server and client |
//! | `documents` | open documents and their workers |
//! | `analysis` | the stages of an analysis: parsing, partitioning, linting |
//! | `text` | positions in the encoding of the client, and edits |
//! | `diagnostics`, `hover`, `hints`, `navigation` | one feature each |

mod analysis;
mod diagnostics;
mod documents;
mod hints;
mod hover;
mod navigation;
mod protocol;
mod server;
mod text;

use lsp_server::Connection;
use shardc::Compiler;

pub use lsp_server;

/// The reason why the server ended before the client requested it.
#[derive(Debug)]
pub struct ServeError(String);

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}

/// Serves one client until it sends `shutdown` and `exit`. `compiler` has the options for all programs.
///
/// # Errors
/// The client violates the protocol, or closes the connection without `shutdown`.
pub fn serve(connection: &Connection, compiler: &Compiler) -> Result<(), ServeError> {
    server::run(connection, compiler).map_err(ServeError)
}

/// Serves a client on standard input and output, as [`serve`] does.
///
/// # Errors
/// The errors of [`serve`], and those of the streams.
pub fn serve_stdio(compiler: &Compiler) -> Result<(), ServeError> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, compiler);
    // The threads end when the connection is closed.
    drop(connection);
    served.and_then(|()| threads.join().map_err(|error| ServeError(error.to_string())))
}
