//! Invalid inputs to an execution.
//!
//! The first line of an input names the defect and the seed of its details; the annotated program follows. Inputs that do not match the
//! program are rejected before any transfer. A valid execution on the same client then produces correct values. An execution that hangs is
//! killed by the driver.

#![allow(clippy::ptr_arg, reason = "all edits have one type, and some make the list longer or shorter")]

use std::cell::RefCell;

use shardc::{Compiler, Error, SpmdMode, exec};
use shardc_ir::DType;
use shardc_runtime::{Client, HostArray};

use super::outcome::{Finding, Trace};
use super::rng::{Rng, hash};
use super::sources::Sources;
use crate::devices::client;

/// The prefix of the first line of a fuzzer input, which names the defect and its seed.
const LINE: &str = "// wrong: ";
/// Number of compiled programs in the cache.
const KEPT: usize = 24;

/// A defect in the inputs of an execution.
struct Wrong {
    name: &'static str,
    /// Whether the execution must be rejected. If not, it may produce any result, but must end.
    refused: bool,
    /// Introduces the defect; `None` if it does not apply to the inputs.
    edit: fn(&mut Vec<HostArray>, &mut Rng) -> Option<()>,
}

const WRONGS: &[Wrong] = &[
    Wrong { name: "an input missing", refused: true, edit: missing },
    Wrong { name: "no inputs", refused: true, edit: none },
    Wrong { name: "an input too many", refused: true, edit: surplus },
    Wrong { name: "another element type of the same width", refused: true, edit: same_width },
    Wrong { name: "another element type", refused: true, edit: element_type },
    Wrong { name: "another size", refused: true, edit: size },
    Wrong { name: "dimensions exchanged", refused: true, edit: transposed },
    Wrong { name: "a dimension more", refused: true, edit: rank },
    Wrong { name: "a scalar", refused: true, edit: scalar },
    Wrong { name: "an empty array", refused: true, edit: empty },
    Wrong { name: "fewer bytes than the shape says", refused: true, edit: bytes },
    Wrong { name: "a size beyond all memory", refused: true, edit: huge },
    Wrong { name: "inputs in another order", refused: true, edit: order },
    Wrong { name: "numbers that are none", refused: false, edit: nan },
    Wrong { name: "any bits", refused: false, edit: bits },
];

pub(super) fn draw(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let text = sources.under("tests/programs/small/", rng).text();
    let wrong = &WRONGS[rng.below(WRONGS.len())];
    format!("{LINE}{} {}\n{text}", rng.below(1_000_000), wrong.name).into_bytes()
}

/// A compiled program, and its results for valid inputs.
struct Ready {
    key: u64,
    program: exec::Program,
    inputs: Vec<HostArray>,
    expected: Vec<HostArray>,
}

thread_local! {
    static READY: RefCell<Vec<Ready>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn run(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    let first = text.lines().next().and_then(|line| line.strip_prefix(LINE)?.split_once(' '));
    let wrong = first.and_then(|(_, name)| WRONGS.iter().find(|wrong| wrong.name == name));
    let (Some((number, name)), Some(wrong)) = (first, wrong) else {
        trace.refused = Some("no line of what is wrong".to_owned());
        return Ok(());
    };
    let devices = match client() {
        Ok(Some(devices)) => devices,
        Ok(None) => {
            trace.refused = Some("SKIPPED: there is no CPU plugin".to_owned());
            return Ok(());
        }
        Err(error) => return Err(Finding::new("the CPU plugin does not load", error)),
    };
    let client: &Client = &devices;
    READY.with_borrow_mut(|all| {
        let key = hash(&[], text.split_once('\n').map_or("", |(_, program)| program));
        if !all.iter().any(|ready| ready.key == key) {
            match ready(client, &text, key) {
                Ok(ready) => {
                    if all.len() == KEPT {
                        all.remove(0);
                    }
                    all.push(ready);
                }
                Err(error) => return trace.refuse_error("compile", &error),
            }
        }
        let Some(ready) = all.iter().find(|ready| ready.key == key) else { return Ok(()) };
        trace.pass("compiled");
        let mut inputs = ready.inputs.clone();
        let mut rng = Rng::new(name, number.parse().unwrap_or(0), 0);
        if (wrong.edit)(&mut inputs, &mut rng).is_none() || inputs == ready.inputs {
            trace.refused = Some("the defect does not apply".to_owned());
            return Ok(());
        }
        trace.pass("defect introduced");
        match (ready.program.run(client, &inputs), wrong.refused) {
            (Ok(_), true) => return Err(Finding::new(format!("accepted: {name}"), shown(&inputs))),
            (Ok(_), false) => trace.pass(&format!("ran: {name}")),
            (Err(error), _) => {
                // Defects that are not rejected may still fail, because devices may compute different NaNs.
                if wrong.refused {
                    trace.refuse_error("run", &error)?;
                }
                trace.pass(&format!("refused: {name}"));
            }
        }
        right(client, ready, name)?;
        trace.pass("right after that");
        Ok(())
    })
}

fn ready(client: &Client, text: &str, key: u64) -> Result<Ready, Error> {
    let mode = if key.is_multiple_of(2) { SpmdMode::Replica } else { SpmdMode::Partition };
    let output = Compiler::new().spmd_mode(mode).partition(text.as_bytes())?;
    let program = exec::Program::partitioned(client, &output)?;
    let inputs = exec::random_inputs(&output.interface, 1)?;
    let expected = program.run(client, &inputs)?;
    Ok(Ready { key, program, inputs, expected })
}

/// Checks that valid inputs still produce the same results.
fn right(client: &Client, ready: &Ready, name: &str) -> Result<(), Finding> {
    let got = ready
        .program
        .run(client, &ready.inputs)
        .map_err(|error| Finding::new(format!("refuses what is right after {name}"), error.to_string()))?;
    for (expected, got) in ready.expected.iter().zip(&got) {
        // Sums in a different order differ slightly.
        let same = HostArray::compare(expected, got).is_ok_and(|difference| difference.within(1e-5));
        if !same {
            return Err(Finding::new(format!("wrong values after {name}"), shown(&ready.inputs)));
        }
    }
    if ready.expected.len() != got.len() {
        return Err(Finding::new(format!("other results after {name}"), shown(&ready.inputs)));
    }
    Ok(())
}

fn shown(inputs: &[HostArray]) -> String {
    let all =
        inputs.iter().map(|array| format!("{:?} {:?}, {} bytes", array.dtype, array.shape, array.data.len()));
    all.collect::<Vec<_>>().join("\n")
}

fn one<'a>(inputs: &'a mut [HostArray], rng: &mut Rng) -> Option<&'a mut HostArray> {
    let at = rng.below(inputs.len());
    inputs.get_mut(at)
}

fn missing(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    (!inputs.is_empty()).then(|| inputs.remove(rng.below(inputs.len())))?;
    Some(())
}

fn none(inputs: &mut Vec<HostArray>, _: &mut Rng) -> Option<()> {
    (!inputs.is_empty()).then(|| inputs.clear())
}

fn surplus(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let more = match inputs.get(rng.below(inputs.len())) {
        Some(array) => array.clone(),
        None => HostArray::zeros(DType::F32, &[4]).ok()?,
    };
    inputs.insert(rng.below(inputs.len() + 1), more);
    Some(())
}

fn same_width(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    array.dtype = match array.dtype {
        DType::F32 => rng.of(&[DType::I32, DType::UI32]),
        DType::I32 => rng.of(&[DType::F32, DType::UI32]),
        DType::F64 => rng.of(&[DType::I64, DType::UI64]),
        DType::BF16 => rng.of(&[DType::F16, DType::I16]),
        DType::I8 => DType::UI8,
        DType::I1 => DType::I8,
        _ => return None,
    };
    Some(())
}

fn element_type(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let types = [DType::F64, DType::F16, DType::I64, DType::I8, DType::I1, DType::I4];
    let others: Vec<DType> = types.into_iter().filter(|&ty| ty != array.dtype).collect();
    *array = HostArray::random(1, rng.of(&others), &array.shape).ok()?;
    Some(())
}

fn size(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let dim = rng.below(array.shape.len());
    let mut shape = array.shape.clone();
    let size = shape.get_mut(dim)?;
    *size = match rng.below(4) {
        0 => *size + 1,
        1 => size.saturating_sub(1),
        2 => *size * 2,
        _ => (*size / 2).max(1),
    };
    (shape != array.shape).then_some(())?;
    *array = HostArray::random(1, array.dtype, &shape).ok()?;
    Some(())
}

fn transposed(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let old = array.shape.clone();
    array.shape.reverse();
    (array.shape != old).then_some(())
}

fn rank(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let at = rng.below(array.shape.len() + 1);
    array.shape.insert(at, 1);
    Some(())
}

fn scalar(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    (!array.shape.is_empty()).then_some(())?;
    *array = HostArray::random(1, array.dtype, &[]).ok()?;
    Some(())
}

fn empty(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let dim = rng.below(array.shape.len());
    *array.shape.get_mut(dim)? = 0;
    array.data.clear();
    Some(())
}

fn bytes(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let length = rng.below(array.data.len());
    (!array.data.is_empty()).then(|| array.data.truncate(length))
}

fn huge(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    let dim = rng.below(array.shape.len());
    *array.shape.get_mut(dim)? = rng.of(&[usize::MAX, usize::MAX / 4, 1 << 62, 1 << 33]);
    Some(())
}

fn order(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let (a, b) = (rng.below(inputs.len()), rng.below(inputs.len()));
    let of_other_type = {
        let (a, b) = (inputs.get(a)?, inputs.get(b)?);
        (a.dtype, &a.shape) != (b.dtype, &b.shape)
    };
    of_other_type.then(|| inputs.swap(a, b))
}

fn nan(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let floats: Vec<usize> = (0..inputs.len())
        .filter(|&i| matches!(inputs[i].dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16))
        .collect();
    let array = &mut inputs[*floats.get(rng.below(floats.len()))?];
    let value = rng.of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0]);
    *array = HostArray::filled(array.dtype, &array.shape, value).ok()?;
    Some(())
}

fn bits(inputs: &mut Vec<HostArray>, rng: &mut Rng) -> Option<()> {
    let array = one(inputs, rng)?;
    array.data.iter_mut().for_each(|byte| *byte = rng.word() as u8);
    Some(())
}
