//! Linearization of `case` and `if`.

use shardc_ir::{Build, Diagnostic, TypeId, ValueId};
use smallvec::SmallVec;

use super::{At, Nested, Tangents, Tape};

/// Linearizes every branch; the tape gets a selection between the branches' tapes.
pub(super) fn branches(at: &mut At<'_, '_>) -> Result<Tangents, Box<Diagnostic>> {
    let captured = at.linear.captured(at.op);
    let (kind, which) = (at.kind(), at.operand(0));
    let (regions, results) = {
        let data = &at.linear.module.ops[at.op];
        (data.regions.clone(), data.results.clone())
    };
    let tapes: Vec<Tape> = regions.iter().map(|&r| at.linear.region(r)).collect::<Result<_, _>>()?;
    let changes: SmallVec<[bool; 2]> =
        (0..results.len()).map(|i| tapes.iter().any(|tape| tape.returned[i].is_some())).collect();
    let mut operands: SmallVec<[ValueId; 4]> = SmallVec::from_slice(&[which]);
    operands.extend(captured.iter().filter_map(|&v| at.linear.tangent(v)));
    let types: Vec<TypeId> = results.iter().map(|&v| at.linear.module.values[v].ty).collect();
    let op = at.op;
    let choice = at.tape().op(kind, &operands, &types, &[]);
    let tangents = at.linear.module.ops[choice].results.clone();
    at.linear.nested.insert(choice, Nested::Branches { op, tapes });
    Ok(tangents.iter().zip(changes).map(|(&v, changes)| changes.then_some(v)).collect())
}
