//! Programs that run with state from files, in one process and in several.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{Folder, Ran};
use serde_json::Value;
use shardc_filetest::skip::{Need, skip};

/// A step of gradient descent towards 3, sharded over four devices. A batch is added to the loss.
const STEP: &str = r#"sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %w: tensor<10x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 0 : i32} loc("params['w']"),
    %b: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 1 : i32} loc("params['b']"),
    %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>} loc("batch"))
    -> (tensor<10x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, jax.result_info = "result[0]"},
        tensor<2xf32>, tensor<f32> {jax.result_info = "loss"}) {
  %three = stablehlo.constant dense<3.0> : tensor<10x2xf32>
  %half = stablehlo.constant dense<0.5> : tensor<10x2xf32>
  %error = stablehlo.subtract %three, %w : tensor<10x2xf32>
  %change = stablehlo.multiply %half, %error : tensor<10x2xf32>
  %next = stablehlo.add %w, %change : tensor<10x2xf32>
  %bias = stablehlo.add %b, %b : tensor<2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %squares = stablehlo.multiply %error, %error : tensor<10x2xf32>
  %sum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x2xf32>, tensor<f32>) -> tensor<f32>
  %seen = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %loss = stablehlo.add %sum, %seen : tensor<f32>
  return %next, %bias, %loss : tensor<10x2xf32>, tensor<2xf32>, tensor<f32>
}
"#;

/// A folder with the step. If the test must be skipped, prints the reason and returns `None`.
fn folder() -> Option<Folder> {
    let folder = Folder::new();
    if !folder.run(&["plugin", "list"]).out.contains("cpu") {
        skip(Need::CpuPlugin, "there is no CPU plugin (`shardc plugin install cpu`)");
        return None;
    }
    std::fs::write(folder.path("step.mlir"), STEP).unwrap();
    Some(folder)
}

fn succeeds(folder: &Folder, args: &[&str]) -> Ran {
    let ran = folder.run(args);
    assert_eq!(ran.code, Some(0), "{args:?}\n{}{}", ran.out, ran.err);
    ran
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

/// The loss of each step.
fn losses(ran: &Ran) -> Vec<f64> {
    let steps = document(ran)["steps"].as_array().unwrap().clone();
    steps.iter().map(|step| step["scalars"]["loss"].as_f64().unwrap()).collect()
}

const JSON: [&str; 2] = ["--format", "json"];

#[test]
fn a_run_resumes_from_a_checkpoint() {
    let Some(folder) = folder() else { return };
    let run = |args: &[&str]| succeeds(&folder, &[&["run", "step.mlir"], args, &JSON].concat());
    let whole = losses(&run(&["--steps", "5"]));
    assert!(whole.windows(2).all(|pair| pair[1] < pair[0]), "{whole:?}");

    let first = run(&["--steps", "2", "--save", "runs/2"]);
    assert_eq!(losses(&first), whole[..2]);
    // The random batch is the same in both runs. The loss, an additional array in the checkpoint, is accepted.
    let rest = run(&["--steps", "3", "--load", "runs/2", "--random-missing", "--save", "runs/5"]);
    assert_eq!(losses(&rest), whole[2..]);
    let shown = succeeds(&folder, &["checkpoint", "show", "runs/5", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["step"], 5, "{shown}");
    let names: Vec<&str> =
        shown["arrays"].as_array().unwrap().iter().map(|array| array["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["params.w", "params.b", "loss"]);

    // A safetensors file contains the same state, and can be loaded onto a mesh of another size with uneven shards.
    run(&["--steps", "2", "--save", "two.safetensors"]);
    let args = ["--steps", "3", "--load", "two.safetensors", "--random-missing"];
    assert_eq!(losses(&run(&args)), whole[2..]);
    for place in ["two.safetensors", "runs/2"] {
        let args = ["--mesh", "data=3", "--steps", "3", "--load", place, "--random-missing"];
        for (a, b) in losses(&run(&args)).iter().zip(&whole[2..]) {
            assert!((a - b).abs() < 1e-4 * b.abs(), "{a} {b}");
        }
    }
    // The text output has a line for each step.
    let text = succeeds(&folder, &["run", "step.mlir", "--steps", "2"]).out;
    assert!(text.starts_with("step  milliseconds") && text.contains("loss"), "{text}");
    assert!(text.contains("out0 (result[0])"), "{text}");
}

#[test]
fn checkpoints_survive_a_round_trip_through_state_dicts() {
    let Some(folder) = folder() else { return };
    succeeds(&folder, &["run", "step.mlir", "--save", "first"]);
    let convert = |args: &[&str]| succeeds(&folder, &[&["checkpoint", "convert"], args].concat());
    convert(&["first", "-o", "one.safetensors"]);
    convert(&["one.safetensors", "-o", "one.pth"]);
    convert(&["one.pth", "-o", "second", "--zarr"]);
    assert_eq!(folder.run(&["checkpoint", "diff", "first", "second"]).code, Some(0));
    let ran = folder.run(&["checkpoint", "convert", "one.pth", "-o", "second", "--zarr"]);
    assert!(ran.code == Some(1) && ran.err.contains("SH1306"), "{}", ran.err);
}

/// Unnamed arguments are named by position.
#[test]
fn results_aliasing_unnamed_arguments_are_carried_over() {
    let Some(folder) = folder() else { return };
    let nameless = ["params['w']", "params['b']", "batch"]
        .iter()
        .fold(STEP.to_owned(), |text, name| text.replace(&format!(" loc(\"{name}\")"), ""));
    std::fs::write(folder.path("nameless.mlir"), nameless).unwrap();
    let run = |args: &[&str]| losses(&succeeds(&folder, &[&["run", "nameless.mlir"], args, &JSON].concat()));
    let whole = run(&["--steps", "3"]);
    assert_eq!(run(&["--steps", "2", "--save", "two"]), whole[..2]);
    assert_eq!(run(&["--steps", "1", "--load", "two", "--random-missing"]), whole[2..]);
}

#[test]
fn all_mismatches_are_reported_at_once() {
    let Some(folder) = folder() else { return };
    let other = STEP.replace("params['w']", "weights").replace("2xf32", "4xf32");
    std::fs::write(folder.path("other.mlir"), other).unwrap();
    succeeds(&folder, &["run", "other.mlir", "--save", "other.safetensors"]);
    succeeds(&folder, &["run", "other.mlir", "--save", "other"]);
    for place in ["other.safetensors", "other"] {
        let ran = folder.run(&["run", "step.mlir", "--load", place]);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        for part in [
            "error[SH1309]",
            "2 missing, 1 unexpected, 1 with a type or shape mismatch",
            "missing: params.w, tensor<10x2xf32>",
            "missing: batch, tensor<8xf32>",
            "unexpected: weights, tensor<10x4xf32>",
            "type or shape mismatch: params.b is tensor<4xf32>",
            "--map",
        ] {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
    }
    // Arguments with other names can be loaded with `--map`.
    let renamed = STEP.replace("params['w']", "model/w").replace("params['b']", "model/b");
    std::fs::write(folder.path("renamed.mlir"), renamed).unwrap();
    succeeds(&folder, &["run", "renamed.mlir", "--save", "renamed.safetensors"]);
    let args = ["run", "step.mlir", "--load", "renamed.safetensors", "--random-missing"];
    assert_eq!(folder.run(&args).code, Some(1));
    let args = [&args[..], &["--map", "params.*=model.*", "--save", "mapped.safetensors"]].concat();
    succeeds(&folder, &args);

    // A file without any array of the program is an error regardless of other options.
    succeeds(&folder, &["run", "plain.mlir", "--mesh", "data=2", "--save", "strange.safetensors"]);
    let lenient = ["--random-missing", "--ignore-unexpected"];
    let ran = folder.run(&[&["run", "step.mlir", "--load", "strange.safetensors"], &lenient[..]].concat());
    assert!(
        ran.code == Some(1) && ran.err.contains("no array in strange.safetensors matches an argument"),
        "{}",
        ran.err
    );

    for (args, code, part) in [
        (&["--load", "nowhere"][..], 1, "SH1305"),
        (&["--save", "other"], 1, "SH1306"),
        // `other.safetensors` is a file, so a checkpoint cannot be saved inside it.
        (&["--save", "other.safetensors/3"], 1, "SH1301"),
        (&["--load", "other", "--map", "params"], 2, "ARG=NAME"),
        (&["--steps", "2", "--feed", "res2=arg0"], 2, "the result has type tensor<f32>"),
        (&["--steps", "0"], 2, "--steps"),
        (&["--processes", "3"], 1, "cannot be divided evenly"),
    ] {
        let ran = folder.run(&[&["run", "step.mlir"], args].concat());
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
        if part != "cannot be divided evenly" {
            assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
        }
    }
    // The program carries no state between steps, so several steps are rejected.
    let ran = folder.run(&["run", "plain.mlir", "--mesh", "data=2", "--spec", "arg0=data,-", "--steps", "2"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--feed"), "{}", ran.err);
}

#[test]
fn several_processes_compute_the_same_as_one() {
    let Some(folder) = folder() else { return };
    let one = losses(&succeeds(&folder, &[&["run", "step.mlir", "--steps", "3"], &JSON[..]].concat()));
    for processes in ["2", "4"] {
        let place = format!("runs{processes}");
        let args = ["run", "step.mlir", "--steps", "2", "--processes", processes, "--save", &place];
        let ran = succeeds(&folder, &[&args, &JSON[..]].concat());
        let losses_of_first = losses(&ran);
        for (a, b) in losses_of_first.iter().zip(&one) {
            assert!((a - b).abs() < 1e-5 * b.abs(), "{a} {b}");
        }
        let shown = succeeds(&folder, &["checkpoint", "show", &place, "--format", "json"]);
        let shown: Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!(shown["processes"].to_string(), processes, "{shown}");
        // The checkpoint can be resumed by one process and by several.
        for others in ["1", "2"] {
            let args = [
                "run",
                "step.mlir",
                "--processes",
                others,
                "--steps",
                "1",
                "--load",
                &place,
                "--random-missing",
            ];
            let rest = losses(&succeeds(&folder, &[&args, &JSON[..]].concat()));
            assert!((rest[0] - one[2]).abs() < 1e-5 * one[2].abs(), "{rest:?} {one:?}");
        }
        let file = format!("{processes}.safetensors");
        let args = [
            "run",
            "step.mlir",
            "--processes",
            processes,
            "--load",
            &place,
            "--random-missing",
            "--save",
            &file,
        ];
        succeeds(&folder, &args);
        let args = ["run", "step.mlir", "--load", &file, "--random-missing"];
        succeeds(&folder, &args);
    }
}

/// Runs a shell command in `count` processes.
#[cfg(unix)]
fn launch(folder: &Folder, processes: &str, script: &str) -> Ran {
    folder.run(&["launch", "-n", processes, "--", "sh", "-c", script])
}

#[cfg(unix)]
#[test]
fn output_lines_are_prefixed_with_the_process_number() {
    let folder = Folder::new();
    let script =
        "echo $SHARDC_PROCESS_ID of $SHARDC_NUM_PROCESSES; echo ${#SHARDC_SECRET} >&2; printf unended";
    let ran = launch(&folder, "4", script);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> =
        (0..4).flat_map(|i| [format!("[{i}] {i} of 4"), format!("[{i}] unended")]).collect();
    assert_eq!(lines, expected);
    assert_eq!(ran.err.lines().filter(|line| line.ends_with("] 64")).count(), 4, "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_failing_process_terminates_the_others() {
    let folder = Folder::new();
    let script = "if [ $SHARDC_PROCESS_ID = 1 ]; then exit 7; fi; exec sleep 600";
    let ran = launch(&folder, "3", script);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    assert!(ran.err.contains("process 1 failed"), "{}", ran.err);
    let script = "if [ $SHARDC_PROCESS_ID = 0 ]; then kill -9 $$; fi; exec sleep 600";
    assert_eq!(launch(&folder, "2", script).code, Some(128 + 9));
    let ran = folder.run(&["launch", "-n", "2", "--", "/nowhere/at/all"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot start /nowhere/at/all"), "{}", ran.err);
    assert_eq!(folder.run(&["launch", "-n", "0", "--", "true"]).code, Some(2));
}

#[cfg(unix)]
#[test]
fn signals_are_forwarded() {
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let script = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut command = folder.command(&["launch", "-n", "2", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert!(line.ends_with("] ready\n"), "{line}");
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    let mut lines: Vec<&str> = rest.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] told", "[1] told"]);
    assert_eq!(child.wait().unwrap().code(), Some(3));
}
