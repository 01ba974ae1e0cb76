//! What the examples print.

use std::process::Command;

fn run(program: &str) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn spmd_user_guide() {
    insta::assert_snapshot!(run(env!("CARGO_BIN_EXE_spmd_user_guide")));
}
