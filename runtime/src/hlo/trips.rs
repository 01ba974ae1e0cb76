//! Trip counts of loops.
//!
//! XLA writes known trip counts to a loop's backend config, but compiled TPU programs lack these trip counts. If the trip count is missing,
//! the loop is evaluated: the loop counter starts at a constant, and its next value is computed for each iteration until the condition is
//! false.

use std::cell::Cell;
use std::collections::HashMap;

use super::proto::{Computation, Instruction};

/// The maximum number of iterations to evaluate; a longer loop has an unknown trip count.
const MOST: u64 = 1 << 16;
/// Maximum number of instructions to evaluate per iteration.
const MOST_STEPS: u32 = 1 << 10;

/// Returns the trip count of the loop `at`, which is in the computation `around`; `None` if it cannot be determined.
pub(super) fn of(at: &Instruction, around: &Computation, program: &Program<'_>) -> Option<u64> {
    written(at).or_else(|| followed(at, around, program))
}

/// Returns the trip count that XLA wrote to the backend config of the loop; `None` if there is none.
fn written(at: &Instruction) -> Option<u64> {
    let config: serde_json::Value = serde_json::from_slice(&at.backend_config).ok()?;
    let n = config.get("known_trip_count")?.get("n")?;
    n.as_u64().or_else(|| n.as_str()?.parse().ok())
}

fn followed(at: &Instruction, around: &Computation, program: &Program<'_>) -> Option<u64> {
    // The first called computation of a `while` loop is its body, the second its condition.
    let [body, condition] = at.called_computation_ids.as_slice() else { return None };
    let steps = Cell::new(0);
    let scalars =
        |computation| Some(Scalars { at: program.computations.get(&computation)?, program, steps: &steps });
    let (around, body, condition) = (scalars(around.id)?, scalars(*body)?, scalars(*condition)?);
    let counters = condition.elements_read();
    let init = *at.operand_ids.first()?;
    let elements = |computation: &Scalars<'_>, tuple: i64, given: &Given<'_>| -> HashMap<i64, i64> {
        let element = |&index: &i64| Some((index, computation.element(tuple, index, given)?));
        counters.iter().filter_map(element).collect()
    };
    let mut state = elements(&around, init, &Given::Nothing);
    for trips in 0..MOST {
        steps.set(0);
        if condition.value(condition.at.root, &Given::Tuple(&state))? == 0 {
            return Some(trips);
        }
        state = elements(&body, body.at.root, &Given::Tuple(&state));
    }
    None
}

/// The computations of a module, keyed by ID.
pub(super) struct Program<'a> {
    computations: HashMap<i64, Indexed<'a>>,
}

struct Indexed<'a> {
    root: i64,
    instructions: HashMap<i64, &'a Instruction>,
}

impl<'a> Program<'a> {
    pub(super) fn of(computations: &'a [Computation]) -> Self {
        let indexed = |computation: &'a Computation| {
            let instructions = computation.instructions.iter().map(|at| (at.id, at)).collect();
            (computation.id, Indexed { root: computation.root_id, instructions })
        };
        Program { computations: computations.iter().map(indexed).collect() }
    }

    /// Returns whether the module has a computation with this ID.
    pub(super) fn has(&self, computation: i64) -> bool {
        self.computations.contains_key(&computation)
    }
}

/// The values of a computation's parameters, as far as they are known.
enum Given<'a> {
    Nothing,
    /// The known elements, by index, of the only parameter, which is a tuple.
    Tuple(&'a HashMap<i64, i64>),
    /// The value of each parameter, which is an integer scalar; `None` if it is unknown.
    Numbers(&'a [Option<i64>]),
}

/// Evaluates the integer scalars of a computation.
struct Scalars<'a> {
    at: &'a Indexed<'a>,
    program: &'a Program<'a>,
    /// The number of instructions that were evaluated in this iteration of the loop. It is bounded because instructions of a damaged module
    /// may form a cycle.
    steps: &'a Cell<u32>,
}

impl Scalars<'_> {
    /// Returns the indices of the elements of the tuple parameter that the computation reads.
    fn elements_read(&self) -> Vec<i64> {
        let reads = self.at.instructions.values().filter(|at| at.opcode == "get-tuple-element");
        reads.map(|at| at.tuple_index).collect()
    }

    fn instruction(&self, id: i64) -> Option<&Instruction> {
        self.steps.set(self.steps.get() + 1);
        let at = self.at.instructions.get(&id).copied();
        at.filter(|_| self.steps.get() < MOST_STEPS)
    }

    fn value(&self, id: i64, given: &Given<'_>) -> Option<i64> {
        let at = self.instruction(id)?;
        let operand = |i: usize| self.value(*at.operand_ids.get(i)?, given);
        match at.opcode.as_str() {
            "constant" => number(at),
            "parameter" => match given {
                Given::Numbers(numbers) => *numbers.get(usize::try_from(at.parameter_number).ok()?)?,
                Given::Nothing | Given::Tuple(_) => None,
            },
            "get-tuple-element" => self.element(*at.operand_ids.first()?, at.tuple_index, given),
            "add" => operand(0)?.checked_add(operand(1)?),
            "subtract" => operand(0)?.checked_sub(operand(1)?),
            "compare" => {
                let (a, b) = (operand(0)?, operand(1)?);
                let holds = match at.comparison_direction.as_str() {
                    "LT" => a < b,
                    "LE" => a <= b,
                    "GT" => a > b,
                    "GE" => a >= b,
                    "EQ" => a == b,
                    "NE" => a != b,
                    _ => return None,
                };
                Some(i64::from(holds))
            }
            "fusion" => self.inside(at, given, |fused, given| fused.value(fused.at.root, given)),
            _ if hands_on(at) => operand(0),
            _ => None,
        }
    }

    /// Evaluates the element `index` of the tuple that the instruction `id` produces.
    fn element(&self, id: i64, index: i64, given: &Given<'_>) -> Option<i64> {
        let at = self.instruction(id)?;
        match at.opcode.as_str() {
            "parameter" => match given {
                Given::Tuple(elements) => elements.get(&index).copied(),
                Given::Nothing | Given::Numbers(_) => None,
            },
            "tuple" => self.value(*at.operand_ids.get(usize::try_from(index).ok()?)?, given),
            "fusion" => self.inside(at, given, |fused, given| fused.element(fused.at.root, index, given)),
            _ if hands_on(at) => self.element(*at.operand_ids.first()?, index, given),
            _ => None,
        }
    }

    /// Evaluates the operands of a fusion, and then `what` in the fused computation.
    fn inside(
        &self,
        at: &Instruction,
        given: &Given<'_>,
        what: impl Fn(&Scalars<'_>, &Given<'_>) -> Option<i64>,
    ) -> Option<i64> {
        let fused = self.program.computations.get(at.called_computation_ids.first()?)?;
        let numbers: Vec<Option<i64>> = at.operand_ids.iter().map(|&id| self.value(id, given)).collect();
        what(&Scalars { at: fused, ..*self }, &Given::Numbers(&numbers))
    }
}

/// Returns whether the value of the instruction is the value of its first operand.
fn hands_on(at: &Instruction) -> bool {
    matches!(
        at.opcode.as_str(),
        "copy" | "copy-start" | "copy-done" | "bitcast" | "reshape" | "convert" | "opt-barrier"
    )
}

/// Returns the value of a constant that is an integer scalar; `None` for other constants.
fn number(at: &Instruction) -> Option<i64> {
    let literal = at.literal.as_ref()?;
    match (literal.s32s.as_slice(), literal.s64s.as_slice(), literal.u32s.as_slice(), literal.u64s.as_slice())
    {
        (&[n], [], [], []) => Some(n.into()),
        ([], &[n], [], []) => Some(n),
        ([], [], &[n], []) => Some(n.into()),
        ([], [], [], &[n]) => i64::try_from(n).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::Literal;
    use super::*;

    fn op(id: i64, opcode: &str, operands: &[i64]) -> Instruction {
        Instruction {
            id,
            opcode: opcode.to_owned(),
            operand_ids: operands.to_vec(),
            ..Instruction::default()
        }
    }

    fn constant(id: i64, n: i32) -> Instruction {
        Instruction {
            literal: Some(Literal { s32s: vec![n], ..Literal::default() }),
            ..op(id, "constant", &[])
        }
    }

    fn element(id: i64, of: i64, index: i64) -> Instruction {
        Instruction { tuple_index: index, ..op(id, "get-tuple-element", &[of]) }
    }

    fn computation(id: i64, instructions: Vec<Instruction>) -> Computation {
        let root_id = instructions.last().map_or(0, |at| at.id);
        Computation { id, root_id, instructions, ..Computation::default() }
    }

    /// Returns the trip count of a loop whose counter starts at `first` and increases by `step`. The loop continues while the comparison
    /// `direction` of the counter with `last` holds. The counter is the second element of the loop state, and is increased in a fusion.
    fn trips(first: i32, step: i32, direction: &str, last: i32) -> Option<u64> {
        let parameter = |n: i64, id: i64| Instruction { parameter_number: n, ..op(id, "parameter", &[]) };
        let compare =
            Instruction { comparison_direction: direction.to_owned(), ..op(14, "compare", &[12, 13]) };
        let condition =
            computation(1, vec![op(11, "parameter", &[]), element(12, 11, 1), constant(13, last), compare]);
        let fused = computation(2, vec![parameter(0, 21), parameter(1, 22), op(23, "add", &[22, 21])]);
        let fusion = Instruction { called_computation_ids: vec![2], ..op(34, "fusion", &[33, 32]) };
        let body = computation(
            3,
            vec![
                op(31, "parameter", &[]),
                element(32, 31, 1),
                constant(33, step),
                fusion,
                element(35, 31, 0),
                op(36, "tuple", &[35, 34]),
            ],
        );
        let at = Instruction { called_computation_ids: vec![3, 1], ..op(45, "while", &[44]) };
        let around = computation(
            4,
            vec![
                op(41, "parameter", &[]),
                constant(42, first),
                op(43, "copy", &[42]),
                op(44, "tuple", &[41, 43]),
            ],
        );
        of(&at, &around.clone(), &Program::of(&[condition, fused, body, around]))
    }

    #[test]
    fn loop_counters_are_evaluated() {
        assert_eq!(trips(0, 1, "LT", 32), Some(32));
        assert_eq!(trips(31, -1, "GE", 0), Some(32));
        assert_eq!(trips(0, 2, "LT", 5), Some(3));
        assert_eq!(trips(5, 1, "LT", 5), Some(0));
        assert_eq!(trips(0, 0, "LT", 5), None, "it does not end");
        assert_eq!(trips(0, 1, "?", 5), None);
    }

    #[test]
    fn cyclic_modules_terminate() {
        let condition =
            computation(1, vec![op(11, "parameter", &[]), element(12, 11, 0), op(13, "copy", &[13])]);
        let body = computation(2, vec![op(21, "add", &[21, 21])]);
        let at = Instruction { called_computation_ids: vec![2, 1], ..op(31, "while", &[31]) };
        let around = computation(3, vec![at.clone()]);
        assert_eq!(of(&at, &around.clone(), &Program::of(&[condition, body, around])), None);
    }
}
