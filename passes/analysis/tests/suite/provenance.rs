//! On real programs, the provenance of every axis on every value ends at an annotation that exists.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use shardc_analysis::gspmd::import_gspmd;
use shardc_analysis::propagate::{
    AnnotationSource, AxisRole, Cause, PropagateOptions, Provenance, Subject, propagate,
};
use shardc_analysis::transforms::inline::inline_calls;
use shardc_ir::{Module, OpKind, ShardingId, TensorSharding, ValueId};

/// Returns the paths of the programs of this repository, and of those in the corpus of the shared folder, if it exists.
fn programs() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let shared = std::env::var_os("SHARDC_SHARED").map(|dir| Path::new(&dir).join("corpus/jax"));
    let mut out = Vec::new();
    for dir in [Some(own), shared].into_iter().flatten() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        out.extend(files.filter(|path| {
            // The largest programs are skipped: they have no features that smaller programs of the same kind lack.
            let size = std::fs::metadata(path).map_or(0, |data| data.len());
            path.extension().is_some_and(|ext| ext == "mlir") && size < 1 << 20
        }));
    }
    out.sort();
    out
}

/// Returns the sharding that an annotation has in the program before propagation.
fn given(module: &Module, annotation: AnnotationSource) -> Option<TensorSharding> {
    let func = module.entry()?;
    let body = module.funcs[func].body?;
    let get = |id: ShardingId| module.shardings.get(id).clone();
    match annotation {
        AnnotationSource::Argument(i) => {
            module.shardings.sharding_of(*module.regions[body].args.get(i as usize)?).cloned()
        }
        AnnotationSource::Result(i) => module.funcs[func].res_shardings.get(i as usize)?.expand().map(get),
        AnnotationSource::Operation(op, i) => {
            module.shardings.sharding_of(*module.ops[op].results.get(i as usize)?).cloned()
        }
        AnnotationSource::Constraint(op) => match module.ops.get(op).map(|op| &op.kind) {
            Some(OpKind::ShardingConstraint(id) | OpKind::Reshard(id)) => Some(get(*id)),
            _ => None,
        },
        AnnotationSource::ManualIn(op, i) | AnnotationSource::ManualOut(op, i) => {
            match &module.ops[op].kind {
                OpKind::ManualComputation(spec) => {
                    let list = match annotation {
                        AnnotationSource::ManualIn(..) => &spec.in_shardings,
                        _ => &spec.out_shardings,
                    };
                    list.get(i as usize).copied().map(get)
                }
                _ => None,
            }
        }
    }
}

/// Checks the provenance of each axis of a sharding; returns the number of axes.
fn check(before: &Module, provenance: &Provenance, subject: Subject, sharding: &TensorSharding) -> usize {
    let dims = sharding.dims.iter().enumerate().map(|(d, dim)| (AxisRole::Dim(d as u32), &dim.axes));
    let places = dims.chain([(AxisRole::Unreduced, &sharding.unreduced)]);
    let mut count = 0;
    for (place, axes) in places {
        for &axis in axes {
            count += 1;
            let chains = provenance.chains(subject, place, axis);
            assert!(!chains.is_empty(), "{subject:?} {place:?} {axis:?} comes from nowhere");
            for chain in chains {
                let origin = chain.origin().unwrap_or_else(|| panic!("{chain:?} has no end"));
                if let AnnotationSource::Constraint(op) = origin
                    && before.ops.get(op).is_none()
                {
                    // Propagation created this constraint for an operand of a manual computation, so the original program does not contain
                    // it.
                    continue;
                }
                let given = given(before, origin).unwrap_or_else(|| panic!("{origin:?} is no annotation"));
                assert!(
                    given.split_axes().chain(given.unreduced.iter().copied()).any(|a| a.axis == axis.axis),
                    "{origin:?} does not speak of {axis:?}"
                );
                for (link, next) in chain.links.iter().zip(chain.links.iter().skip(1)) {
                    let from = match link.cause {
                        Cause::Annotation(_) => panic!("an annotation in the middle of {chain:?}"),
                        Cause::Carried { from, .. }
                        | Cause::Returned { from }
                        | Cause::Donated { from }
                        | Cause::Group { from } => from,
                    };
                    assert_eq!(from, next.subject, "{chain:?} has a gap");
                }
            }
        }
    }
    count
}

#[test]
fn every_axis_comes_from_an_annotation() {
    let mut axes = 0;
    let programs = programs();
    assert!(programs.len() >= 4, "the programs of this repository are missing");
    for path in programs {
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let mut module = shardc_stablehlo::parse(&source).expect("it is a program");
        if import_gspmd(&mut module, None).is_err() {
            continue;
        }
        if inline_calls(&mut module).is_err() {
            continue;
        }
        let before = module.clone();
        let options = PropagateOptions { provenance: true, ..PropagateOptions::default() };
        let Ok(report) = propagate(&mut module, &options) else { continue };
        let provenance = report.provenance.expect("it was asked for");
        let func = module.entry().expect("it has propagated");
        let body = module.funcs[func].body.expect("it has propagated");
        let mut values: Vec<ValueId> = module.regions[body].args.clone();
        for op in module.walk(body) {
            values.extend(&module.ops[op].results);
        }
        for value in values {
            if let Some(sharding) = module.shardings.sharding_of(value) {
                axes += check(&before, &provenance, Subject::Value(value), sharding);
            }
        }
        for (i, id) in module.funcs[func].res_shardings.iter().enumerate() {
            if let Some(id) = id.expand() {
                axes += check(&before, &provenance, Subject::Result(i as u32), module.shardings.get(id));
            }
        }
    }
    assert!(axes > 1000, "{axes} axes are too few to mean anything");
}
