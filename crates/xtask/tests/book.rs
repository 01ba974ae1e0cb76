//! Checks the pages and links of the documentation.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

#[test]
fn every_page_is_in_the_book_and_no_link_is_broken() {
    let faults = xtask::book::faults(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
