//! The files that remain after a signal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Folder;
use shardc_filetest::skip::{Need, skip};

/// A command that is killed at the end of its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Killing a process that has exited is an error, which is ignored.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Waits until `done`, for at most half a minute.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The program is written to a file, and the manifest to a pipe without a reader. The signal arrives between the two.
#[test]
fn partial_outputs_are_removed_on_a_signal() {
    for (name, number) in [("TERM", 15), ("INT", 2)] {
        let folder = Folder::new();
        assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
        fs::write(folder.path("out"), "before").unwrap();
        let args = ["partition", "plain.mlir", "-o", "out", "--manifest", "pipe", "--mesh", "data=4"];
        let mut child = Running(folder.command(&args).spawn().unwrap());
        wait_until("nothing was staged", || folder.made().len() > 2);
        signal(&child.0, name);
        assert_eq!(child.0.wait().unwrap().signal(), Some(number));
        assert_eq!(folder.made(), ["out", "pipe"]);
        assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), "before");
    }
}

/// The child process that compiles is terminated, and its temporary folder is removed. Needs the CPU plugin.
#[test]
fn an_interrupted_compilation_removes_its_folder() {
    let folder = Folder::new();
    let temporary = folder.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command =
        folder.command(&["compile", "plain.mlir", "--target", "cpu", "-o", "exe", "--mesh", "data=4"]);
    let list = folder.run(&["plugin", "list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    if !list["plugins"].as_array().unwrap().iter().any(|plugin| plugin["kind"] == "cpu") {
        return skip(Need::CpuPlugin, "there is no plugin for CPUs (`shardc plugin install cpu`)");
    }
    let mut child = Running(command.env("TMPDIR", &temporary).stdout(Stdio::null()).spawn().unwrap());
    let children = format!("/proc/{0}/task/{0}/children", child.0.id());
    let grandchild = || {
        let of = |pid: &str| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let all = fs::read_to_string(&children).unwrap_or_default();
        all.split_whitespace().find(|pid| of(pid).contains("__aot-compile")).map(str::to_owned)
    };
    wait_until("nothing is compiled", || grandchild().is_some());
    let grandchild = grandchild().unwrap();
    assert_ne!(fs::read_dir(&temporary).unwrap().count(), 0);
    signal(&child.0, "TERM");
    assert_eq!(child.0.wait().unwrap().signal(), Some(15));
    wait_until("the compiler outlives its parent", || {
        // A process that has exited may be a zombie, which has no command line.
        fs::read_to_string(format!("/proc/{grandchild}/cmdline")).unwrap_or_default().is_empty()
    });
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert_eq!(folder.made(), ["temporary"]);
}
