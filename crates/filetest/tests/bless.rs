//! A file test is run normally, as `cargo test` does, and with rewriting of failing check lines.

use std::{ffi::OsString, fs, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use shardc_filetest::{filetest::FileTest, tools};

fn main() -> ExitCode {
    if let Some(code) = tools::stand_in() {
        return code;
    }
    let trials = vec![
        Trial::test("failing_checks_are_rewritten", failing_checks_are_rewritten),
        Trial::test("conflicting_lines_are_reported", conflicting_lines_are_reported),
        Trial::test("without_bless_nothing_is_rewritten", without_bless_nothing_is_rewritten),
        Trial::test("tools_are_found", tools_are_found),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Creates a temporary folder with the test tools and a file with the content `text`. Returns the folder, the search path and the parsed
/// test.
fn set_up(text: &str) -> Result<(tempfile::TempDir, OsString, FileTest), Failed> {
    let dir = tempfile::tempdir()?;
    let bin = dir.path().join("bin");
    tools::link(&bin).map_err(|error| format!("{error:#}"))?;
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&usual)))?;
    fs::write(dir.path().join("a.mlir"), text)?;
    Ok((dir, path, FileTest::parse(text)?))
}

/// An outdated test; `{}` and `{line}` stand for the correct text.
const TEXT: &str = "// RUN: grep -v '//' %s | FileCheck %s\n// RUN: grep -n func %s | FileCheck %s --check-prefix=LINE\n\
    // CHECK: func @a\n// CHECK-NEXT: {}\n// LINE: [[@LINE+{line}]]:func\nfunc @a\n  add %0, %1 : f32\n";

fn failing_checks_are_rewritten() -> Result<(), Failed> {
    let of = |check: &str| TEXT.replace("{}", check).replace("{line}", "1");
    let (dir, path, test) = set_up(&of("add %0, %1 : f64"))?;
    let file = dir.path().join("a.mlir");
    let (changed, outcome) = test.bless(&file, dir.path(), &path);
    outcome?;
    assert!(changed.contains("a.mlir:4: CHECK-NEXT: \"add %0, %1 : f64\" is now"), "{changed}");
    assert_eq!(fs::read_to_string(&file)?, of("add %0, %1 : f32"));
    assert_eq!(test.bless(&file, dir.path(), &path), (String::new(), Ok(())), "it is right now");
    Ok(())
}

fn conflicting_lines_are_reported() -> Result<(), Failed> {
    let text =
        "// RUN: echo a b c 1 | FileCheck %s\n// RUN: echo a b c 2 | FileCheck %s\n// CHECK: a b c 0\n";
    let (dir, path, test) = set_up(text)?;
    let (changed, outcome) = test.bless(&dir.path().join("a.mlir"), dir.path(), &path);
    assert!(changed.contains("a b c 1") && changed.contains("a b c 2"), "{changed}");
    assert!(outcome.is_err_and(|message| message.contains("need different check lines")));
    Ok(())
}

fn without_bless_nothing_is_rewritten() -> Result<(), Failed> {
    let text = "// RUN: echo a b | FileCheck %s\n// CHECK: a b c\n";
    let (dir, path, test) = set_up(text)?;
    let file = dir.path().join("a.mlir");
    let message = test.run(&file, dir.path(), &path).err().unwrap_or_default();
    assert!(message.contains("a.mlir:2: error: CHECK: \"a b c\" is not in the input"), "{message}");
    assert_eq!(fs::read_to_string(&file)?, text);
    Ok(())
}

fn tools_are_found() -> Result<(), Failed> {
    let text = "// RUN: split-file %s %t\n// RUN: not grep b %t/a | FileCheck %s --allow-empty\n\
        // RUN: FileCheck %s --check-prefix=B --input-file %t/b\n// B: b\n// CHECK-NOT: b\n//--- a\na\n//--- b\nb\n";
    let (dir, path, test) = set_up(text)?;
    Ok(test.run(&dir.path().join("a.mlir"), dir.path(), &path)?)
}
