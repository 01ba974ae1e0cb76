//! shardc's FileCheck and LLVM's FileCheck agree on the same checks and inputs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use shardc_filetest::{
    filecheck::{Options, check},
    skip::{Need, skip},
};

/// Checks and their inputs; [`variations`] of both are also tested.
const CASES: [(&str, &str); 10] = [
    (
        "// CHECK-LABEL: func @a\n// CHECK-SAME: (%[[X:.*]]: f32)\n// CHECK-NEXT: %[[Y:.*]] = add %[[X]], %[[X]]\n\
         // CHECK-NOT: gather\n// CHECK: return %[[Y]]\n// CHECK-LABEL: func @b\n// CHECK-DAG: mul\n// CHECK-DAG: neg\n",
        "func @a(%arg0: f32)\n  %0 = add %arg0, %arg0\n  return %0\nfunc @b(%arg0: f32)\n  neg\n  mul\n",
    ),
    (
        "// CHECK: a\n// CHECK-NEXT: {{b|bc}}\n// CHECK-EMPTY:\n// CHECK-NEXT: d{{$}}\n// CHECK-COUNT-2: e\n",
        "a\nbc\n\nd\ne e\n",
    ),
    (
        "// CHECK-DAG: [[A:%[0-9]+]] = x\n// CHECK-DAG: [[B:%[0-9]+]] = y\n// CHECK-NOT: [[B]] = z\n// CHECK: use [[A]], [[B]]\n",
        "%1 = y\n%0 = x\nuse %0, %1\n%1 = z\n",
    ),
    (
        "// CHECK: dense<{{\\[\\[}}0, 1], [2]]>\n// CHECK{LITERAL}: [[0]] {{a}}\n// CHECK: ({{[^)]*}}) {{[a-z]{2,3}}}\n",
        "dense<[[0, 1], [2]]>\n[[0]] {{a}}\n(a, b) xyz\n",
    ),
    (
        "// CHECK: n = [[#N:]]\n// CHECK: n = [[#N+1]]\n// CHECK: line [[@LINE]]\n// CHECK: line [[#@LINE-2]]\n",
        "n = 7\nn = 8\nline 3\nline 2\n",
    ),
    (
        "// CHECK: [[V:[a-z]+]] = [[V]]{{$}}\n// CHECK: \\b.*+?()|^$ #-&~<>\n",
        "x = y\nxx = xx\n\\b.*+?()|^$ #-&~<>\n",
    ),
    ("// CHECK:   a   b\n// CHECK-NEXT:\tc{{ }}d\n", "  a b \n\tc\td\n"),
    ("// CHECK: [[[A:.*]]] x\n// CHECK-NEXT: [[[A]]] y {{{.*}}}\n", "[1] x\n[1] y {z}\n"),
    ("// CHECK-NOT: a\n// CHECK-DAG: b\n// CHECK-NOT: c\n// CHECK-DAG: d\n// CHECK-NOT: e\n", "b\nx\nd\nf\n"),
    ("// CHECK: b{{[^x]*}}c\n// CHECK: {{^}}d{{.}}\n// CHECK-SAME: {{[[:alpha:]]+}}\n", "b c\nedx\ndyz\n"),
];

/// The cases, and variations in which a line of the checks or of the input is deleted, duplicated, or swapped with the next one.
fn variations() -> Vec<(String, String)> {
    let varied = |text: &str| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut all = vec![text.to_owned()];
        for at in 0..lines.len() {
            let mut without = lines.clone();
            let line = without.remove(at);
            all.push(without.concat());
            let mut twice = lines.clone();
            twice.insert(at, line);
            all.push(twice.concat());
            if at + 1 < lines.len() {
                let mut swapped = lines.clone();
                swapped.swap(at, at + 1);
                all.push(swapped.concat());
            }
        }
        all
    };
    let mut all = Vec::new();
    for (checks, input) in CASES {
        all.extend(varied(checks).into_iter().map(|checks| (checks, input.to_owned())));
        all.extend(varied(input).into_iter().map(|input| (checks.to_owned(), input)));
    }
    all
}

fn llvms() -> Option<PathBuf> {
    let prefix = std::env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into());
    Some(Path::new(&prefix).join("bin/FileCheck")).filter(|program| program.is_file())
}

#[test]
fn our_filecheck_agrees_with_llvm() {
    let Some(llvms) = llvms() else {
        return skip(Need::Mlir, "there is no FileCheck of LLVM to compare with");
    };
    let dir = tempfile::tempdir().expect("a folder");
    let (checks_file, input_file) = (dir.path().join("checks"), dir.path().join("input"));
    let (mut passed, mut failed) = (0, 0);
    for (checks, input) in variations() {
        fs::write(&checks_file, &checks).expect("the folder can be written to");
        fs::write(&input_file, &input).expect("the folder can be written to");
        let mut command = Command::new(&llvms);
        command.arg(&checks_file).arg("--input-file").arg(&input_file);
        let status = command.stderr(Stdio::null()).status().expect("FileCheck starts");
        let ours = check(&checks, "checks", &input, &Options::default());
        assert_eq!(ours.is_ok(), status.success(), "checks\n{checks}\ninput\n{input}\n{ours:?}");
        *if ours.is_ok() { &mut passed } else { &mut failed } += 1;
    }
    assert!(passed > 50 && failed > 50, "{passed} pass, {failed} fail");
}
