//! Output files are complete or absent, and never overwrite an input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use crate::common::{Folder, PLAIN};

const MESH: &[&str] = &["--mesh", "data=4", "--spec", "arg0=data,-"];

fn partition<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["partition", "plain.mlir"], args, MESH].concat()
}

#[test]
fn an_output_must_not_be_the_input() {
    let folder = Folder::new();
    fs::hard_link(folder.path("plain.mlir"), folder.path("hard.mlir")).unwrap();
    let mut names = vec!["plain.mlir", "./plain.mlir", "hard.mlir"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("plain.mlir", folder.path("link.mlir")).unwrap();
        names.push("link.mlir");
    }
    for name in names {
        let ran = folder.run(&partition(&["-o", name]));
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
        assert!(ran.err.contains("would overwrite the input"), "{}", ran.err);
        assert_eq!(fs::read_to_string(folder.path("plain.mlir")).unwrap(), PLAIN);
    }
    for command in [
        &["propagate", "plain.mlir", "-o", "plain.mlir"][..],
        &["opt", "plain.mlir", "-o", "plain.mlir"],
        &["explain", "plain.mlir", "--json", "plain.mlir", "--mesh", "data=4"],
        &["compile", "plain.mlir", "--target", "cpu", "--json", "plain.mlir", "--mesh", "data=4"],
    ] {
        assert_eq!(folder.run(command).code, Some(2), "{command:?}");
        assert_eq!(fs::read_to_string(folder.path("plain.mlir")).unwrap(), PLAIN);
    }
}

#[test]
fn two_outputs_must_be_different_files() {
    let folder = Folder::new();
    for (args, what) in [
        (&["-o", "out", "--manifest", "./out"][..], "--output and --manifest are the same file"),
        (&["-o", "-", "--manifest", "-"], "--output and --manifest are both standard output"),
        (&["-o", "-", "--timings", "-"], "--output and --timings are both standard output"),
    ] {
        let ran = folder.run(&partition(args));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert!(ran.err.contains(what), "{}", ran.err);
        assert_eq!(folder.made(), [""; 0]);
    }
}

#[test]
fn a_failure_leaves_existing_files_unchanged() {
    let folder = Folder::new();
    for name in ["out", "manifest"] {
        fs::write(folder.path(name), "before").unwrap();
    }
    let ran = folder.run(&["partition", "plain.mlir", "-o", "out", "--manifest", "manifest"]);
    assert_eq!(ran.code, Some(1));
    // An unwritable path is detected before any file is written.
    fs::create_dir(folder.path("folder")).unwrap();
    for bad in ["folder", "absent/manifest"] {
        let ran = folder.run(&partition(&["-o", "out", "--manifest", bad]));
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.err.contains(&format!("cannot write {bad}")), "{}", ran.err);
    }
    for name in ["out", "manifest"] {
        assert_eq!(fs::read_to_string(folder.path(name)).unwrap(), "before");
    }
    assert_eq!(folder.made(), ["folder", "manifest", "out"]);
}

#[test]
fn program_and_manifest_are_written() {
    let folder = Folder::new();
    let args = ["-o", "out", "--manifest", "manifest", "--timings", "times"];
    let ran = folder.run(&partition(&args));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(folder.made(), ["manifest", "out", "times"]);
    assert!(fs::read_to_string(folder.path("out")).unwrap().contains("tensor<8x64xf32>"));
    assert!(fs::read_to_string(folder.path("manifest")).unwrap().starts_with('{'));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn permissions_and_links_are_preserved() {
        let folder = Folder::new();
        fs::write(folder.path("real"), "before").unwrap();
        fs::set_permissions(folder.path("real"), fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real", folder.path("link")).unwrap();
        assert_eq!(folder.run(&partition(&["-o", "link"])).code, Some(0));
        assert!(folder.path("link").is_symlink());
        assert!(fs::read_to_string(folder.path("real")).unwrap().contains("func.func"));
        assert_eq!(mode(&folder.path("real")), 0o640);
        // A new file has the usual permissions.
        fs::write(folder.path("usual"), "").unwrap();
        assert_eq!(folder.run(&partition(&["-o", "new"])).code, Some(0));
        assert_eq!(mode(&folder.path("new")), mode(&folder.path("usual")));
    }

    #[test]
    fn outputs_may_be_devices_and_pipes() {
        let folder = Folder::new();
        let ran = folder.run(&partition(&["-o", "/dev/stdout", "--manifest", "/dev/null"]));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains("func.func"));
        assert!(std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
        let mut child = folder.command(&partition(&["-o", "pipe"])).spawn().unwrap();
        assert!(fs::read_to_string(folder.path("pipe")).unwrap().contains("func.func"));
        assert!(child.wait().unwrap().success());
        assert_eq!(folder.made(), ["pipe"]);
    }
}
