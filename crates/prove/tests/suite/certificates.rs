//! Changed partitions, whose operation the certificate finds.

use std::sync::Arc;

use shardc_prove::{Certificate, Evidence, Options, Place, Report, Verdict, certify, prove};

use crate::support::{Spec, boundary, module};

const ORIGINAL: &str = "func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.tanh %0 : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}";

const PARTITION: &str = r#"func.func @main(%x: tensor<4x2xf32>, %w: tensor<2x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.tanh %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}"#;

const INPUTS: [Spec; 2] = ["a,b", "b,-"];

/// The certificate of a correct partition, as it is read from a file.
fn certificate(original: &str, partition: &str, inputs: &[Spec], outputs: &[Spec]) -> Certificate {
    let (original, partition) = (module(original), module(partition));
    let boundary = boundary(&original, &partition, [inputs, outputs]);
    let (report, certificate) = certify(&original, &partition, &boundary, &Options::default()).unwrap();
    assert!(matches!(report.verdict, Verdict::Proven | Verdict::Tested), "{report:?}");
    let text = serde_json::to_string(&certificate).unwrap();
    let read = serde_json::from_str(&text).unwrap();
    assert_eq!(certificate, read, "{text}");
    read
}

fn check(original: &str, changed: &str, specs: [&[Spec]; 2], certificate: Certificate) -> Report {
    let (original, changed) = (module(original), module(changed));
    let boundary = boundary(&original, &changed, specs);
    let options = Options { certificate: Some(Arc::new(certificate)), ..Options::default() };
    prove(&original, &changed, &boundary, &options).unwrap()
}

/// The line of the first place, and what is needed there, after a part of the partition is replaced.
fn first(original: &str, partition: &str, specs: [&[Spec]; 2], (from, to): (&str, &str)) -> (String, String) {
    let certificate = certificate(original, partition, specs[0], specs[1]);
    assert!(partition.contains(from), "{from}");
    let changed = partition.replacen(from, to, 1);
    let report = check(original, &changed, specs, certificate);
    assert_eq!(report.verdict, Verdict::Refuted, "{changed}");
    assert_eq!(report.certificate, None);
    let place = &report.places[0];
    let line = changed[place.span.start as usize..].lines().next().unwrap_or_default();
    (line.trim().to_owned(), place.needed.clone())
}

#[test]
fn a_certificate_says_what_values_are() {
    let certificate = certificate(ORIGINAL, PARTITION, &INPUTS, &["a,-"]);
    let claims: Vec<&str> = certificate.steps[..3].iter().map(|step| &*step.results[0].is).collect();
    assert_eq!(
        claims,
        [
            "add over 2 of shape [8, 2, 6], dimension 0 by device / 2 % 2; dimension 1 by device % 2",
            "add over 4 (stablehlo.dot_general of the original) of shape [8, 6], dimension 0 by device / 2 % 2",
            "unary(tanh) (stablehlo.tanh of the original) of shape [8, 6], dimension 0 by device / 2 % 2",
        ]
    );
}

#[test]
fn a_changed_operation_is_found() {
    let find = |change| first(ORIGINAL, PARTITION, [&INPUTS, &["a,-"]], change);
    let (line, needed) = find(("stablehlo.tanh", "stablehlo.sine"));
    assert!(line.contains("stablehlo.sine"), "{line}");
    assert!(needed.contains("stablehlo.tanh"), "{needed}");
    let (line, needed) = find(("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"));
    assert!(line.contains("stablehlo.all_reduce"), "{line}");
    assert!(needed.contains("stablehlo.all_reduce"), "{needed}");
    let (line, _) = find(("%s = stablehlo.add", "%s = stablehlo.maximum"));
    assert!(line.contains("stablehlo.all_reduce"), "{line}");
}

#[test]
fn an_operation_with_another_operand_is_found() {
    let (line, needed) =
        first(ORIGINAL, PARTITION, [&INPUTS, &["a,-"]], ("stablehlo.tanh %1", "stablehlo.tanh %0"));
    assert!(line.contains("stablehlo.tanh"), "{line}");
    assert!(needed.contains("stablehlo.tanh"), "{needed}");
}

#[test]
fn a_removed_operation_is_named_at_its_users() {
    let start = PARTITION.find("  %1 =").unwrap();
    let end = PARTITION.find("  %2 =").unwrap();
    let (line, needed) = first(
        ORIGINAL,
        PARTITION,
        [&INPUTS, &["a,-"]],
        (&PARTITION[start..end + "  %2 = stablehlo.tanh %1".len()], "  %2 = stablehlo.tanh %0"),
    );
    assert!(line.contains("stablehlo.tanh"), "{line}");
    assert!(needed.contains("stablehlo.all_reduce"), "{needed}");
}

#[test]
fn a_removed_operation_before_the_end_is_named_at_its_operand() {
    let (line, needed) = first(ORIGINAL, PARTITION, [&INPUTS, &["a,-"]], ("return %2", "return %1"));
    assert!(line.contains("stablehlo.all_reduce"), "{line}");
    assert!(needed.contains("stablehlo.tanh"), "{needed}");
}

#[test]
fn operations_in_loops_are_found() {
    let program = |rows: u64, gather: &str, value: &str| {
        format!(
            "func.func @main(%x: tensor<{rows}x4xf32>, %n: tensor<i32>) -> tensor<{rows}x4xf32> {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %s = %x) : tensor<i32>, tensor<{rows}x4xf32>
  cond {{
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %next = stablehlo.add %i, %one : tensor<i32>
    {gather}
    %t = stablehlo.tanh {value} : tensor<{rows}x4xf32>
    %u = stablehlo.multiply %t, %s : tensor<{rows}x4xf32>
    stablehlo.return %next, %u : tensor<i32>, tensor<{rows}x4xf32>
  }}
  return %0#1 : tensor<{rows}x4xf32>
}}"
        )
    };
    let sum = |rows: u64| {
        format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1] : (tensor<{rows}x4xf32>, tensor<f32>) -> tensor<{rows}xf32>
    %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<{rows}xf32>) -> tensor<{rows}x4xf32>"
        )
    };
    let (original, partition) = (program(8, &sum(8), "%b"), program(4, &sum(4), "%b"));
    let find = |change| first(&original, &partition, [&["a,-", ""], &["a,-"]], change);
    let (line, _) = find(("stablehlo.tanh", "stablehlo.sine"));
    assert!(line.contains("stablehlo.sine"), "{line}");
    let (line, needed) = find(("stablehlo.return %next, %u", "stablehlo.return %next, %t"));
    assert!(line.contains("stablehlo.tanh"), "{line}");
    assert!(needed.contains("stablehlo.multiply"), "{needed}");
}

/// The lines of the first two places after a part of the partition is replaced.
fn two(original: &str, partition: &str, specs: [&[Spec]; 2], (from, to): (&str, &str)) -> String {
    let certificate = certificate(original, partition, specs[0], specs[1]);
    let changed = partition.replacen(from, to, 1);
    let report = check(original, &changed, specs, certificate);
    assert_eq!(report.verdict, Verdict::Refuted, "{changed}");
    let line = |place: &Place| {
        let before = &changed[..place.span.start as usize];
        changed.lines().nth(before.matches('\n').count()).unwrap_or_default()
    };
    report.places.iter().take(2).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn equal_operations_are_told_apart_by_their_use() {
    let program = |rows: u64| {
        format!(
            "func.func @main(%x: tensor<{rows}x2xf32>) -> tensor<{rows}x1xf32> {{
  %left = stablehlo.slice %x [0:{rows}, 0:1] : (tensor<{rows}x2xf32>) -> tensor<{rows}x1xf32>
  %one = stablehlo.tanh %left : tensor<{rows}x1xf32>
  %right = stablehlo.slice %x [0:{rows}, 1:2] : (tensor<{rows}x2xf32>) -> tensor<{rows}x1xf32>
  %two = stablehlo.tanh %right : tensor<{rows}x1xf32>
  %0 = stablehlo.subtract %one, %two : tensor<{rows}x1xf32>
  return %0 : tensor<{rows}x1xf32>
}}"
        )
    };
    let lines = two(&program(8), &program(4), [&["a,-"], &["a,-"]], ("1:2]", "0:1]"));
    assert!(lines.contains("%right"), "{lines}");
    let lines = two(&program(8), &program(4), [&["a,-"], &["a,-"]], ("0:1]", "1:2]"));
    assert!(lines.contains("%left"), "{lines}");
}

#[test]
fn the_condition_of_a_loop_with_more_iterations_is_found() {
    let program = |rows: u64| {
        format!(
            "func.func @main(%x: tensor<{rows}xf32>) -> tensor<{rows}xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<{rows}xf32>
  cond {{
    %count = stablehlo.constant dense<2> : tensor<i32>
    %is = stablehlo.compare LT, %i, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %is : tensor<i1>
  }} do {{
    %three = stablehlo.constant dense<3> : tensor<i32>
    %less = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %all = stablehlo.broadcast_in_dim %less, dims = [] : (tensor<i1>) -> tensor<{rows}xi1>
    %t = stablehlo.tanh %s : tensor<{rows}xf32>
    %u = stablehlo.select %all, %t, %s : tensor<{rows}xi1>, tensor<{rows}xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %u : tensor<i32>, tensor<{rows}xf32>
  }}
  return %0#1 : tensor<{rows}xf32>
}}"
        )
    };
    let lines = two(&program(8), &program(4), [&["a"], &["a"]], ("dense<2>", "dense<3>"));
    assert!(lines.contains("%count") || lines.contains("%is"), "{lines}");
}

#[test]
fn a_loop_with_more_iterations_is_found_before_its_users() {
    let program = |rows: u64| {
        format!(
            "func.func @main(%x: tensor<4x{rows}xf32>) -> tensor<4x{rows}xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4x{rows}xf32>
  cond {{
    %is = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %is : tensor<i1>
  }} do {{
    %r = stablehlo.reverse %s, dims = [0] : tensor<4x{rows}xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %r : tensor<i32>, tensor<4x{rows}xf32>
  }}
  %1 = stablehlo.sine %0#1 : tensor<4x{rows}xf32>
  return %1 : tensor<4x{rows}xf32>
}}"
        )
    };
    // Two reversals are none, so that the operand of the sine is a value of the certificate.
    let lines = two(&program(8), &program(4), [&["-,a"], &["-,a"]], ("compare LT", "compare LE"));
    assert!(lines.contains("compare LE"), "{lines}");
}

#[test]
fn another_operand_of_a_loop_is_found() {
    let program = |rows: u64| {
        format!(
            "func.func @main(%x: tensor<{rows}xf32>, %y: tensor<{rows}xf32>) -> tensor<{rows}xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.sine %x : tensor<{rows}xf32>
  %t = stablehlo.tanh %s : tensor<{rows}xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %y) : tensor<i32>, tensor<{rows}xf32>
  cond {{
    %is = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %is : tensor<i1>
  }} do {{
    %r = stablehlo.add %a, %t : tensor<{rows}xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %r : tensor<i32>, tensor<{rows}xf32>
  }}
  return %0#1 : tensor<{rows}xf32>
}}"
        )
    };
    let lines = two(&program(8), &program(4), [&["a", "a"], &["a"]], ("%a = %y", "%a = %s"));
    assert!(lines.contains("stablehlo.while"), "{lines}");
}

#[test]
fn elements_of_a_power_of_two_are_told_from_zeros() {
    let program = |rows: u64| {
        format!(
            "func.func @main(%x: tensor<{rows}x8xf32>) -> (tensor<{rows}x8xf32>, tensor<{rows}x8xf32>) {{
  %c = stablehlo.constant dense<0.0> : tensor<{rows}x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<{rows}x8xf32>
  %0 = stablehlo.add %x, %c : tensor<{rows}x8xf32>
  %1 = stablehlo.multiply %x, %z : tensor<{rows}x8xf32>
  return %0, %1 : tensor<{rows}x8xf32>, tensor<{rows}x8xf32>
}}"
        )
    };
    let specs: [&[Spec]; 2] = [&["a,-"], &["a,-", "a,-"]];
    // The element of the field is 2^57.
    let lines = two(&program(64), &program(32), specs, ("dense<0.0>", "dense<1.17549435E-38>"));
    assert!(lines.contains("1.17549435E-38"), "{lines}");
}

#[test]
fn names_and_order_do_not_matter() {
    let certificate = certificate(ORIGINAL, PARTITION, &INPUTS, &["a,-"]);
    let changed = PARTITION
        .replace("%2", "%other")
        .replace("stablehlo.tanh", "stablehlo.sine")
        .replace("  return", "  %unused = stablehlo.add %w, %w : tensor<2x6xf32>\n  return");
    let report = check(ORIGINAL, &changed, [&INPUTS, &["a,-"]], certificate);
    assert_eq!(report.places[0].operation, "stablehlo.sine", "{:?}", report.places);
}

#[test]
fn a_certificate_of_another_program_is_not_used() {
    let other = certificate(ORIGINAL, PARTITION, &INPUTS, &["a,-"]);
    let (original, changed) = (
        ORIGINAL.replace("stablehlo.tanh", "stablehlo.cosine"),
        PARTITION.replace("stablehlo.tanh", "stablehlo.sine"),
    );
    let report = check(&original, &changed, [&INPUTS, &["a,-"]], other);
    assert_eq!(report.verdict, Verdict::Refuted);
    assert_eq!(report.certificate.as_deref(), Some("it is of another original program"));
}

#[test]
fn devices_that_wait_for_each_other_are_refuted() {
    let start = PARTITION.find("  %1 =").unwrap();
    let end = PARTITION.find("  %2 =").unwrap();
    let reduction = PARTITION[start..end].replace("%1 =", "%3 =");
    let changed = format!(
        "{}  %id = stablehlo.replica_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %is = stablehlo.compare EQ, %id, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %1 = \"stablehlo.if\"(%is) ({{
{reduction}    stablehlo.return %3 : tensor<4x6xf32>
  }}, {{
    stablehlo.return %0 : tensor<4x6xf32>
  }}) : (tensor<i1>) -> tensor<4x6xf32>
{}",
        &PARTITION[..start],
        &PARTITION[end..]
    );
    let certificate = certificate(ORIGINAL, PARTITION, &INPUTS, &["a,-"]);
    let report = check(ORIGINAL, &changed, [&INPUTS, &["a,-"]], certificate);
    assert_eq!((report.verdict, report.evidence), (Verdict::Refuted, Some(Evidence::Deadlock)));
    assert!(
        report.places.iter().any(|place| place.operation == "stablehlo.all_reduce"),
        "{:?}",
        report.places
    );
}
