//! Files that are not programs, and options that do not match the program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::Folder;

#[test]
fn errors_name_files_that_are_not_programs() {
    let folder = Folder::new();
    let utf_16: Vec<u8> =
        "\u{feff}func.func @main() { return }".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: &[(&str, &[u8], &str)] = &[
        ("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "the input is a PNG image"),
        ("a.out", b"\x7fELF\x02\x01\x01\0", "the input is an executable"),
        ("step.mlir.gz", b"\x1f\x8b\x08\0\0\0", "the input is a gzip archive"),
        ("step.hlo", b"HloModule jit_f, entry_computation_layout={()->f32[]}\n", "the input is HLO text"),
        ("step.pb", b"\x0a\x05jit_f\x12\x04main\x1a\x03\xff\xfe\xfd", "the input is a serialized HLO module"),
        ("state.pkl", b"\x80\x04\x95\x1a\0\0\0\0\0\0\0}\x94.", "the input is a Python pickle"),
        ("wide.mlir", &utf_16, "the input is UTF-16 text"),
        ("noise", b"\xff\xff\xf0\x00\x9f\x92", "the input is neither StableHLO text nor MLIR bytecode"),
        ("empty.mlir", b"", "the program is empty"),
    ];
    for (name, bytes, what) in cases {
        std::fs::write(folder.path(name), bytes).unwrap();
        for command in [&["partition", name, "-o", "-"][..], &["lint", name], &["explain", name]] {
            let ran = folder.run(command);
            assert_eq!(ran.code, Some(1));
            let first = ran.err.lines().next().unwrap();
            assert!(first.starts_with("error[SH") && first.contains(what), "{name}: {}", ran.err);
            assert!(ran.err.contains(&format!("--> {name}")), "{name}: {}", ran.err);
            assert!(ran.err.contains("= help: "), "{name}: {}", ran.err);
        }
    }
}

/// The line above the carets in an error, and the part of that line that the carets mark.
fn marked(err: &str) -> (String, String) {
    let lines: Vec<&str> = err.lines().collect();
    let at = lines.iter().position(|line| line.contains('^')).unwrap_or_else(|| panic!("{err}"));
    let (from, to) = (lines[at].find('^').unwrap(), lines[at].rfind('^').unwrap());
    let option = lines[at - 1].split_once("| ").unwrap().1;
    (option.to_owned(), lines[at - 1][from..=to].to_owned())
}

#[test]
fn carets_mark_the_error() {
    let folder = Folder::new();
    for (option, value, part) in [
        ("--spec", "arg0=dta,-", "dta"),
        ("--spec", "arg0=data", "data"),
        ("--spec", "arg0=data,data", "data"),
        ("--spec", "arg9=data,-", "arg9"),
        ("--spec", "params['v']=data,-", "params['v']"),
        ("--spec", "arg0=data,1x", "1x"),
        ("--spec", "arg0", "arg0"),
        ("--mesh", "data=4,model=zero", "zero"),
    ] {
        let mesh: &[&str] = if option == "--mesh" { &[] } else { &["--mesh", "data=4"] };
        let ran = folder.run(&[&["partition", "plain.mlir", "-o", "-", option, value], mesh].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert_eq!(marked(&ran.err), (format!("{option} {value}"), part.to_owned()), "{}", ran.err);
        assert!(ran.err.contains("--> <command line>:1:"), "{}", ran.err);
    }
    // The error also shows the argument in the program.
    let ran = folder.run(&["partition", "plain.mlir", "-o", "-", "--mesh", "data=4", "--spec", "arg1=-,dta"]);
    assert!(ran.err.contains("::: plain.mlir:1:") && ran.err.contains("did you mean data?"), "{}", ran.err);
}

#[test]
fn arguments_have_names_and_positions() {
    let folder = Folder::new();
    let spec = |spec: &str| {
        let args = ["partition", "plain.mlir", "-o", "-", "--mesh", "data=4", "--spec", spec];
        let ran = folder.run(&args);
        assert_eq!(ran.code, Some(0), "{spec}: {}", ran.err);
        ran.out
    };
    assert_eq!(spec("params['w']=-,data"), spec("arg1=-,data"));
    assert_eq!(spec("params*=-,data"), spec("1=-,data"));
    let result = spec("res0=data,-");
    assert!(result.contains("-> tensor<8x16xf32>"), "{result}");
    for name in ["result0=data,-", "out0=data,-", "result['y']=data,-"] {
        assert_eq!(spec(name), result);
    }
    let explain = |args: &[&str]| {
        let mesh = ["--mesh", "data=4", "--spec", "arg1=data,-"];
        let ran = folder.run(&[&["explain", "plain.mlir"], &mesh[..], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let expected = explain(&["--arg", "1"]);
    for args in
        [&["--value", "arg1"][..], &["--value", "params['w']"], &["--arg", "params['w']"], &["--value", "%w"]]
    {
        assert_eq!(explain(args), expected);
    }
    assert_eq!(explain(&["--value", "res0"]), explain(&["--result", "0"]));
    assert_eq!(explain(&["--result", "result['y']"]), explain(&["--result", "0"]));
}

/// Hints for the command line name options, while hints of the library name methods of `Compiler`.
#[test]
fn hints_name_options() {
    let folder = Folder::new();
    for args in [
        &["partition", "plain.mlir", "-o", "-"][..],
        &["partition", "plain.mlir", "-o", "-", "--spec", "arg0=x,-"],
    ] {
        let ran = folder.run(args);
        assert!(
            ran.err.contains("--mesh \"data=4,model=2\"") && !ran.err.contains("Compiler::"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn names_of_the_file_are_accepted() {
    let folder = Folder::new();
    // `plain.mlir` has %x, whose location also names x, and %w, which the front end calls params['w'].
    let run = |spec: &str| {
        let ran = folder.run(&["partition", "plain.mlir", "-o", "-", "--mesh", "data=4", "--spec", spec]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let first = run("arg0=data,-");
    assert_eq!((run("x=data,-"), run("%x=data,-")), (first.clone(), first));
    let second = run("arg1=-,data");
    assert!(second.contains("tensor<64x4xf32>"), "{second}");
    assert_eq!((run("w=-,data"), run("%w=-,data")), (second.clone(), second));
}
