//! What the examples print.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use shardc_filetest::skip::{Need, skip};

fn run(program: &str) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn spmd_user_guide() {
    let output = run(env!("CARGO_BIN_EXE_spmd_user_guide"));
    // What follows an empty line and "Run" or "Not run" depends on whether there is a plugin.
    let (pictures, rest) = output.rsplit_once("\n\n").unwrap();
    insta::assert_snapshot!(pictures);
    if rest.starts_with("Not run") {
        skip(Need::CpuPlugin, &format!("running the example: {}", rest.trim_end()));
    } else {
        assert!(rest.contains("The same as on one device: true"), "{rest}");
    }
}
