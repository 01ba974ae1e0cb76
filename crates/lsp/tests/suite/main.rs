//! A scripted client speaks with the server over an in-memory connection.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod diagnostics;
mod edits;
mod hints;
mod hover;
mod navigation;
mod protocol;
