//! Programs in text, with blocks on four devices.

use shardc_ir::{Module, ReductionKind};
use shardc_prove::{AxisDigit, Block, Boundary, Evidence, Options, Report, Verdict, prove};

/// The axes of each dimension: `a` is the major axis of the mesh, `b` the minor one; both have two devices. Dimensions are separated by
/// commas, and `-` is an unsharded dimension.
pub(crate) type Spec = &'static str;

/// With this limit on the work of a test, most programs are too large, and their parts are not.
pub(crate) const LITTLE: u64 = 300;

pub(crate) fn module(text: &str) -> Module {
    let module = shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    shardc_ir::verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    module
}

fn axes(spec: &str) -> Vec<Vec<AxisDigit>> {
    let axis = |letter: char| match letter {
        'a' => Some(AxisDigit { stride: 2, size: 2 }),
        'b' => Some(AxisDigit { stride: 1, size: 2 }),
        _ => None,
    };
    spec.split(',').filter(|dim| !dim.is_empty()).map(|dim| dim.chars().filter_map(axis).collect()).collect()
}

/// The boundary of two programs; the shapes are those of their entry functions.
pub(crate) fn boundary(original: &Module, partitioned: &Module, specs: [&[Spec]; 2]) -> Boundary {
    let (global, local) = (original.entry().unwrap(), partitioned.entry().unwrap());
    let (global, local) = (&original.funcs[global], &partitioned.funcs[local]);
    let sizes = |module: &Module, ty| module.types.shape_of(ty).unwrap().iter().map(|&n| n as u64).collect();
    let blocks = |global: &[_], local: &[_], specs: &[Spec]| -> Vec<Block> {
        assert_eq!((global.len(), local.len()), (specs.len(), specs.len()));
        let all = specs.iter().enumerate();
        all.map(|(at, spec)| Block {
            global: sizes(original, global[at]),
            local: sizes(partitioned, local[at]),
            axes: axes(spec),
            unreduced: Vec::new(),
            reduction: ReductionKind::Add,
        })
        .collect()
    };
    Boundary {
        are_partitions: false,
        device_ids: vec![0, 1, 2, 3],
        inputs: blocks(&global.params, &local.params, specs[0]),
        outputs: blocks(&global.results, &local.results, specs[1]),
    }
}

/// Proves a program, and tests it even if it is proven.
pub(crate) fn check(original: &str, partitioned: &str, inputs: &[Spec], outputs: &[Spec]) -> Report {
    let (original, partitioned) = (module(original), module(partitioned));
    let boundary = boundary(&original, &partitioned, [inputs, outputs]);
    let quick = Options { test_work: None, ..Options::default() };
    let proof = prove(&original, &partitioned, &boundary, &quick).unwrap();
    let full = Options { always_test: true, ..Options::default() };
    let report = prove(&original, &partitioned, &boundary, &full).unwrap();
    assert_eq!(report.untested, None, "the programs run");
    if report.evidence == Some(Evidence::Test) {
        assert_ne!(proof.verdict, Verdict::Proven, "a wrong program was proven");
    } else {
        assert_ne!(proof.verdict, Verdict::Refuted, "a correct program was refuted");
        // With little work, only parts are tested: parts of a correct program must not be refuted.
        let little = Options { test_work: Some(LITTLE), ..Options::default() };
        let parts = prove(&original, &partitioned, &boundary, &little).unwrap();
        assert_ne!(
            parts.verdict,
            Verdict::Refuted,
            "a part of a correct program was refuted: {:?}",
            parts.places
        );
    }
    proof
}

/// Asserts that the partitioned program is proven.
pub(crate) fn proves(original: &str, partitioned: &str, inputs: &[Spec], outputs: &[Spec]) {
    let report = check(original, partitioned, inputs, outputs);
    assert_eq!(report.verdict, Verdict::Proven, "{:#?}\n{partitioned}", report.places);
}

/// Asserts that the partitioned program computes something else, and is not proven.
pub(crate) fn rejects(original: &str, partitioned: &str, inputs: &[Spec], outputs: &[Spec]) {
    let report = check(original, partitioned, inputs, outputs);
    assert_ne!(report.verdict, Verdict::Proven, "{partitioned}");
    assert!(!report.places.is_empty());
    let (original, partitioned) = (module(original), module(partitioned));
    let boundary = boundary(&original, &partitioned, [inputs, outputs]);
    let report = prove(&original, &partitioned, &boundary, &Options::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Refuted, "the variant must be wrong");
}

/// Asserts that the first text is proven, and that each replacement makes it wrong.
pub(crate) fn only(
    original: &str,
    partitioned: &str,
    inputs: &[Spec],
    outputs: &[Spec],
    wrong: &[(&str, &str)],
) {
    proves(original, partitioned, inputs, outputs);
    for (from, to) in wrong {
        assert!(partitioned.contains(from), "{from}");
        rejects(original, &partitioned.replacen(from, to, 1), inputs, outputs);
    }
}
