//! Detection of reduce-scatters written as an all-reduce and a slice.
//!
//! For some slices (v5e:4x4) the TPU compiler writes a reduce-scatter as an all-reduce and a dynamic-slice at an offset computed from the
//! device's ID. Such an all-reduce is counted as a reduce-scatter.

use super::proto::{Computation, Instruction, Shape};

/// Returns whether every user of the all-reduce `instruction` takes one of `group` equal slices of its result. `callee` looks up a
/// computation by its ID.
pub(super) fn is_scattered<'m>(
    instruction: &Instruction,
    computation: &'m Computation,
    group: usize,
    callee: &dyn Fn(i64) -> Option<&'m Computation>,
) -> bool {
    group > 1 && takes_parts(instruction, computation, group, callee, 0)
}

/// The maximum number of instructions between the all-reduce and the dynamic-slice of its result.
const MAX_STEPS: usize = 4;

fn takes_parts<'m>(
    value: &Instruction,
    computation: &'m Computation,
    group: usize,
    callee: &dyn Fn(i64) -> Option<&'m Computation>,
    steps: usize,
) -> bool {
    let mut users =
        computation.instructions.iter().filter(|user| user.operand_ids.contains(&value.id)).peekable();
    if steps > MAX_STEPS || computation.root_id == value.id || users.peek().is_none() {
        return false;
    }
    users.all(|user| match user.opcode.as_str() {
        "dynamic-slice" => {
            user.operand_ids.first() == Some(&value.id)
                && elements(user.shape.as_ref()) * group as f64 == elements(value.shape.as_ref())
        }
        "all-reduce-done" | "get-tuple-element" | "bitcast" => {
            takes_parts(user, computation, group, callee, steps + 1)
        }
        "fusion" => user.called_computation_ids.first().and_then(|&id| callee(id)).is_some_and(|inner| {
            let places = user.operand_ids.iter().enumerate().filter(|(_, operand)| **operand == value.id);
            let parameter = |place: usize| {
                let is_it = |it: &&Instruction| {
                    it.opcode == "parameter" && usize::try_from(it.parameter_number) == Ok(place)
                };
                inner.instructions.iter().find(is_it)
            };
            places.map(|(place, _)| parameter(place)).all(|parameter| {
                parameter.is_some_and(|parameter| takes_parts(parameter, inner, group, callee, steps + 1))
            })
        }),
        _ => false,
    })
}

fn elements(shape: Option<&Shape>) -> f64 {
    shape.map_or(0.0, |shape| shape.dimensions.iter().map(|&n| n as f64).product())
}
