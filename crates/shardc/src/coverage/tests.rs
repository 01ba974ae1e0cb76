use super::probes::ABOUT_OTHERS;
use super::*;

#[test]
fn every_probe_is_a_program_with_its_operation() {
    for probe in PROBES {
        let module = shardc_stablehlo::parse(probe.program).unwrap_or_else(|e| panic!("{}: {e:?}", probe.op));
        shardc_ir::verify(&module).unwrap_or_else(|e| panic!("{}: {e:?}", probe.op));
        assert!(find(&module, probe.op).is_some(), "{}", probe.op);
    }
}

#[test]
fn every_operation_has_a_row() {
    let rows: Vec<&str> = PROBES.iter().flat_map(|p| stands_for(p.op).into_iter().chain([p.op])).collect();
    let missing: Vec<&str> = shardc_stablehlo::op_names()
        .into_iter()
        // Other dialects hold tests and what is kept as text.
        .filter(|name| {
            ["stablehlo.", "chlo.", "sdy.", "func."].iter().any(|dialect| name.starts_with(dialect))
        })
        .filter(|name| !rows.contains(name) && !ABOUT_OTHERS.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "add a program for it to probes.rs");
}
