//! Verifies invariants I6 (numbers of operands and regions) and I7 (types of attributes and results).

use super::hints;
use super::{Report, regions};
use crate::{OpId, check_result_types};

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    let module = report.module;
    let op = &module.ops[id];
    let name = op.kind.title();
    let def = op.kind.def();
    for (what, want, have) in
        [("operands", def.operands, op.operands.len()), ("regions", def.regions, op.regions.len())]
    {
        if !want.fits(have) {
            report.at_op("SH0206", id, format!("{name} has {have} {what}, expected {}", want.text()));
            return;
        }
    }
    if let Err(error) = check_result_types(module, id) {
        let message = error.to_string();
        let hint = hints::hint(module, op, &message);
        report.hinted("SH0207", id, message, hint.as_deref());
        return;
    }
    // If operands determine the results, inference has checked their number.
    if !def.results.fits(op.results.len()) {
        let (have, want) = (op.results.len(), def.results.text());
        report.at_op("SH0206", id, format!("{name} has {have} results, expected {want}"));
        return;
    }
    if !op.regions.is_empty() {
        regions::check(report, id);
    }
}
