//! The verdict about a program, and the places that are not proven.

use shardc_ir::{EntityRef, Module, OpId, Region, ValueDef, ValueId};

use crate::boundary::Boundary;
use crate::changes::changes;
use crate::eval::{Eval, Status};
use crate::exact::{Failure, Test};
use crate::report::{Counts, Evidence, Output, Place, Report, Verdict};
use crate::{Options, describe, effects, locate};

/// Decides what the state of the outputs means, and tests the program if it is not proven.
pub(crate) fn report(
    eval: &Eval<'_, '_>,
    original: &Module,
    origins: &[Option<OpId>],
    body: &Region,
    outputs: &[Output],
    boundary: &Boundary,
    options: &Options,
) -> Report {
    let module = eval.module;
    let returned: Vec<ValueId> =
        body.ops.last().map(|&op| module.ops[op].operands.to_vec()).unwrap_or_default();
    let is_proven: Vec<bool> = outputs.iter().map(|output| matches!(output, Output::Proven)).collect();
    let roots = |proven: bool| {
        returned.iter().zip(&is_proven).filter(move |(_, is)| **is == proven).map(|(&value, _)| value)
    };
    let proven = cone(module, roots(true), |_| true);
    let open = cone(module, roots(false), |_| true);
    let mut kinds = std::collections::BTreeMap::<String, Counts>::new();
    for (op, data) in &module.ops {
        let (is_proven, is_open) = (proven[op.index()], open[op.index()]);
        if (!is_proven && !is_open) || data.results.is_empty() {
            continue;
        }
        let is_known = eval.status[op.index()] == Status::Known && eval.matched[op.index()];
        let counts = kinds.entry(data.kind.name().to_owned()).or_default();
        if is_proven || is_known { counts.proven += 1 } else { counts.not_decided += 1 }
    }
    let mut report = Report {
        verdict: Verdict::Proven,
        evidence: None,
        outputs: is_proven.clone(),
        kinds,
        places: Vec::new(),
        untested: None,
        certificate: None,
    };
    let mut is_refuted = false;
    for (at, output) in outputs.iter().enumerate() {
        let (found, needed, own) = match output {
            Output::Proven => continue,
            Output::Refuted { found, needed } => (found, needed, true),
            Output::Open { found, needed } => (found, needed, false),
        };
        is_refuted |= own;
        for place in places(eval, original, origins, returned.get(at).copied(), (found, needed), own) {
            match report
                .places
                .iter_mut()
                .find(|old| old.span == place.span && old.operation == place.operation)
            {
                Some(old) => old.outputs.push(at),
                None => report.places.push(Place { outputs: vec![at], ..place }),
            }
        }
    }
    // Every offset begins at the number of the device, which is not its cause.
    let is_number =
        |place: &Place| matches!(place.operation.as_str(), "stablehlo.partition_id" | "stablehlo.replica_id");
    report.places.sort_by_key(|place| (is_number(place), place.span.start));
    let effects = effects::places(original, module);
    let has_effects = !effects.is_empty();
    report.places.extend(effects);
    let all_proven = !has_effects && is_proven.iter().all(|&is| is);
    if all_proven && !options.always_test {
        return report;
    }
    if is_refuted {
        report.verdict = Verdict::Refuted;
        report.evidence = Some(Evidence::Relation);
    } else if !all_proven {
        report.verdict = Verdict::NotDecided;
    }
    if is_refuted && !options.always_test && options.certificate.is_none() {
        return report;
    }
    let Some(work) = options.test_work else {
        report.untested = Some("tests are disabled".to_owned());
        return report;
    };
    let test = match Test::new(original, boundary, work, &options.interrupt) {
        Ok(test) => test,
        Err(reason) => {
            report.untested = Some(reason);
            return report;
        }
    };
    let outcome = test.run(module).and_then(|results| Ok(test.differences(&results)?));
    match outcome {
        Err(Failure::NotRun(reason)) => report.untested = Some(reason),
        Err(Failure::Deadlock(error)) => {
            report.verdict = Verdict::Refuted;
            report.evidence = Some(Evidence::Deadlock);
            report.places.insert(0, waiting(*error));
            changed(&mut report, &test, module, &[], options);
        }
        Ok(different) if !different.is_empty() => {
            report.verdict = Verdict::Refuted;
            report.evidence = Some(Evidence::Test);
            if !changed(&mut report, &test, module, &different, options) {
                locate(&mut report, eval, &test, (&returned, &different));
            }
        }
        Ok(_) if all_proven => {}
        Ok(_) if has_effects => report.untested = Some("effects are not compared".to_owned()),
        Ok(_) => report.verdict = Verdict::Tested,
    }
    report
}

/// The collective at which devices wait.
fn waiting(error: shardc_interpreter::Error) -> Place {
    Place {
        operation: error.operation,
        span: error.span,
        location: error.location,
        found: "a collective at which devices wait for each other".to_owned(),
        needed: "the same collectives on all devices of a group".to_owned(),
        outputs: Vec::new(),
    }
}

/// Puts the operations that the certificate does not have before the other places; returns whether there are any.
fn changed(
    report: &mut Report,
    test: &Test<'_>,
    module: &Module,
    different: &[usize],
    options: &Options,
) -> bool {
    let Some(certificate) = &options.certificate else { return false };
    match changes(certificate, test, module) {
        Err(reason) => {
            report.certificate = Some(reason);
            false
        }
        Ok(places) => {
            let is_any = !places.is_empty();
            certified(report, places, different);
            is_any
        }
    }
}

fn certified(report: &mut Report, places: Vec<Place>, different: &[usize]) {
    report
        .places
        .retain(|old| !places.iter().any(|place| place.span == old.span && place.operation == old.operation));
    let places = places.into_iter().map(|place| Place { outputs: different.to_vec(), ..place });
    report.places.splice(0..0, places);
}

/// Puts the operations because of which results differ before the other places.
fn locate(
    report: &mut Report,
    eval: &Eval<'_, '_>,
    test: &Test<'_>,
    (returned, different): (&[ValueId], &[usize]),
) {
    let module = eval.module;
    let mut places = Vec::new();
    for suspect in locate::suspects(eval, test, returned, different) {
        let data = &module.ops[suspect.op];
        let is_same = |place: &Place| place.span == data.span && place.operation == data.kind.name();
        let old = report.places.iter().position(is_same).map(|at| report.places.remove(at));
        let mut place = old.unwrap_or_else(|| Place {
            operation: data.kind.name().to_owned(),
            span: data.span,
            location: module.user_loc(suspect.op),
            found: "elements that the original does not have".to_owned(),
            needed: "elements of a value of the original".to_owned(),
            outputs: different.to_vec(),
        });
        if let Some(repair) = suspect.repair {
            place.needed = format!("the results are equal if the operation is changed: {repair}");
        }
        places.push(place);
    }
    report.places.splice(0..0, places);
}

/// The operations on which values depend, by operation; operations with regions are entered. `follow` says whether the operands of the
/// operation that defines a value are followed.
fn cone(
    module: &Module,
    roots: impl Iterator<Item = ValueId>,
    follow: impl Fn(ValueId) -> bool,
) -> Vec<bool> {
    let mut seen = vec![false; module.ops.len()];
    let mut stack: Vec<ValueId> = roots.collect();
    while let Some(value) = stack.pop() {
        let ValueDef::Result(op, _) = module.values[value].def() else { continue };
        if !follow(value) || std::mem::replace(&mut seen[op.index()], true) {
            continue;
        }
        stack.extend(&module.ops[op].operands);
        for &region in &module.ops[op].regions {
            for inner in module.walk(region) {
                seen[inner.index()] = true;
                stack.extend(&module.ops[inner].operands);
            }
        }
    }
    seen
}

/// The operations at which the value of an output begins to differ from all terms of the original.
fn places(
    eval: &Eval<'_, '_>,
    original: &Module,
    origins: &[Option<OpId>],
    root: Option<ValueId>,
    (found, needed): (&str, &str),
    is_refuted: bool,
) -> Vec<Place> {
    let reason = is_refuted.then_some(found);
    let module = eval.module;
    let is_matched =
        |value: ValueId| eval.values[value.index()].as_ref().is_some_and(|view| eval.is_original(view));
    let reached = cone(module, root.into_iter(), |value| !is_matched(value));
    let mut places = Vec::new();
    for (op, data) in module.ops.iter().filter(|(op, _)| reached[op.index()]) {
        let starts = data.operands.iter().all(|&value| is_matched(value));
        let status = &eval.status[op.index()];
        let place = |found: String, needed: String| Place {
            operation: data.kind.name().to_owned(),
            span: data.span,
            location: module.user_loc(op),
            found,
            needed,
            outputs: Vec::new(),
        };
        match status {
            Status::Unknown(reason) => places.push(place("unknown".to_owned(), reason.clone())),
            Status::Known if starts && !data.results.is_empty() => {
                let view = eval.values[data.results[0].index()].as_ref();
                let shown = match (reason, view) {
                    (Some(reason), _) => reason.to_owned(),
                    (None, Some(view)) => describe::view(eval.terms, view, original, origins),
                    (None, None) => String::new(),
                };
                places.push(place(shown, needed.to_owned()));
            }
            Status::Known | Status::Unused => {}
        }
    }
    if places.is_empty() {
        let op = root.and_then(|value| module.def_op(value));
        places.push(Place {
            operation: op.map_or_else(|| "return".to_owned(), |op| module.ops[op].kind.name().to_owned()),
            span: op.map_or(shardc_ir::Span::NONE, |op| module.ops[op].span),
            location: op.and_then(|op| module.user_loc(op)),
            found: found.to_owned(),
            needed: needed.to_owned(),
            outputs: Vec::new(),
        });
    }
    places
}
