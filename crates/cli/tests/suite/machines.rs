//! `--format json`, and other machine-readable output.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::Folder;
use serde_json::{Value, json};

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn errors_and_warnings_are_lines_of_json() {
    let folder = Folder::new();
    let ran = folder.run(&["partition", "warns.mlir", "-o", "out", "--summary", "--format", "json"]);
    let lines = ran.complaints();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    let warning = lines.iter().find(|line| line["code"] == "SH0310").expect("the sort gathers");
    assert_eq!(
        json!([
            warning["type"],
            warning["severity"],
            warning["code"],
            warning["file"],
            warning["line"],
            warning["column"]
        ]),
        json!(["diagnostic", "warning", "SH0310", "warns.mlir", 3, 8])
    );
    assert!(warning["message"].as_str().unwrap().contains("stablehlo.sort"));
    assert!(warning["notes"].is_array() && warning.as_object().unwrap().contains_key("hint"));
    let summary = lines.last().unwrap();
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["collectives"][0]["kind"], "all_gather");

    let ran = folder.run(&["partition", "warns.mlir", "-o", "out", "--at-peak", "--format", "json"]);
    let lines = ran.complaints();
    let most = &lines.last().unwrap()["at_peak"][0];
    assert_eq!(most["made_by"], "stablehlo.all_gather", "{most}");
    assert!(most["bytes"].as_u64() > Some(0) && most["kept_until"].is_string(), "{most}");

    let cases: &[(&[&str], i32, Value)] = &[
        (&["partition", "plain.mlir", "-o", "-"], 1, json!("SH0303")),
        (&["lint", "plain.mlir", "--mesh", "x"], 2, json!("SH0306")),
        (&["partition", "absent.mlir", "-o", "-"], 1, Value::Null),
        (&["partition", "plain.mlir"], 2, Value::Null),
        (&["ops", "nothing"], 2, Value::Null),
        (&["opt", "plain.mlir", "--passes", "nothing"], 2, Value::Null),
        (&["compile", "plain.mlir", "--target", "abacus"], 2, Value::Null),
    ];
    for (args, code, name) in cases {
        // The option is accepted before and after the command.
        for args in [[&["--format=json"], *args].concat(), [args, &["--format", "json"][..]].concat()] {
            let ran = folder.run(&args);
            let lines = ran.complaints();
            assert_eq!((ran.code, lines.len(), &lines[0]["code"]), (Some(*code), 1, name), "{args:?}");
            assert_eq!(lines[0]["severity"], "error");
            for key in ["message", "file", "line", "column", "hint", "notes"] {
                assert!(lines[0].as_object().unwrap().contains_key(key), "{args:?} lacks {key}");
            }
        }
    }
}

#[test]
fn an_option_is_quoted_with_its_column() {
    let folder = Folder::new();
    let ran = folder.run(&[
        "partition",
        "plain.mlir",
        "-o",
        "-",
        "--mesh",
        "data=4",
        "--spec",
        "arg0=dta,-",
        "--format",
        "json",
    ]);
    let error = &ran.complaints()[0];
    assert_eq!(
        json!([error["code"], error["file"], error["option"], error["line"], error["column"]]),
        json!(["SH0335", "<command line>", "--spec arg0=dta,-", 1, 13])
    );
}

#[test]
fn results_are_documents() {
    let folder = Folder::new();
    let mesh = ["--mesh", "data=4", "--spec", "arg0=data,-"];
    for (args, key) in [
        (&["lint", "warns.mlir"][..], "findings"),
        (&["lint", "--list"], "rules"),
        (&["ops", "tanh"], "operations"),
        (&["opt", "--passes", "list"], "passes"),
        (&["plugin", "list"], "plugins"),
        (&[&["explain", "plain.mlir"], &mesh[..]].concat(), "axes"),
    ] {
        let ran = folder.run(&[args, &["--format", "json"]].concat());
        let document = object(&ran.out);
        assert!(document["version"] == 1 && document[key].is_array(), "{args:?}: {}", ran.out);
    }
}

#[test]
fn old_option_names_work() {
    let folder = Folder::new();
    let mesh = ["--mesh", "data=4", "--spec", "arg0=data,-"];
    assert!(object(&folder.run(&["ops", "tanh", "--json"]).out)["operations"].is_array());
    assert!(folder.run(&["ops", "tanh", "--format", "markdown"]).out.starts_with('#'));
    let lint = object(&folder.run(&["lint", "warns.mlir", "--json"]).out);
    assert_eq!(lint["findings"][0]["place"]["line"], lint["findings"][0]["line"]);
    assert_eq!(folder.run(&["lint", "--json", "absent.mlir"]).complaints().len(), 1);
    assert_eq!(folder.run(&["lint", "warns.mlir", "--format", "markdown"]).code, Some(2));
    let explain = [&["explain", "plain.mlir", "--json", "a.json", "--html", "a.html"], &mesh[..]].concat();
    assert_eq!(folder.run(&explain).out, "");
    assert_eq!(folder.made(), ["a.html", "a.json"]);
    let explain = [&["explain", "plain.mlir", "--json", "-"], &mesh[..]].concat();
    assert_eq!(object(&folder.run(&explain).out)["version"], 1);
}

#[test]
fn quiet_keeps_errors_and_results() {
    let folder = Folder::new();
    let loud = folder.run(&["partition", "warns.mlir", "-o", "-", "--summary"]);
    assert!(loud.err.contains("SH0310") && loud.err.contains("all_gather"));
    for quiet in ["--quiet", "-q"] {
        let ran = folder.run(&[quiet, "partition", "warns.mlir", "-o", "-", "--summary"]);
        assert_eq!((ran.code, ran.err.as_str(), ran.out), (Some(0), "", loud.out.clone()));
    }
    assert!(folder.run(&["partition", "plain.mlir", "-o", "-", "-q"]).err.contains("SH0303"));
    let opt = folder.run(&["--quiet", "opt", "plain.mlir", "-sdy-basic-propagate", "-split-input-file"]);
    assert_eq!((opt.code, opt.err.as_str()), (Some(0), ""));
}

#[test]
fn completions_and_manual_pages() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = folder.run(&["completions", shell]);
        assert!(
            ran.code == Some(0) && ran.out.contains("partition") && ran.out.contains("spmd-mode"),
            "{shell}"
        );
        assert!(!ran.out.contains("unused-command"));
    }
    assert!(folder.run(&["man"]).out.contains(".TH shardc 1"));
    assert_eq!(folder.run(&["man", "--dir", "man1"]).code, Some(0));
    let page = std::fs::read_to_string(folder.path("man1/shardc-partition.1")).unwrap();
    assert!(page.contains(".TH shardc-partition 1") && page.contains("manifest"));
    assert!(folder.path("man1/shardc-plugin-install.1").is_file());
    assert!(!folder.path("man1/shardc-__aot-compile.1").exists());
    let help = folder.run(&["--help"]).out;
    assert!(help.contains("completions") && help.contains("--color"));
}
