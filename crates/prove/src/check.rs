//! Compares the outputs of the partitioned program with those of the original.

use shardc_ir::{EntityRef, Func, Module, OpId, ReductionKind, Region, RegionId, ValueId};

use crate::algebra::{Range, join_of, substituted, substitution};
use crate::boundary::{AxisDigit, Block, Boundary};
use crate::certificate::Certificate;
use crate::eval::{Devices, Eval, Rules, Stop};
use crate::report::{Error, Output, Report};
use crate::terms::{DEVICE, Digit, Digits, Kind, Op, TermId, Terms, View, push};
use crate::{Options, describe, verdict};

fn digits(axes: &[AxisDigit]) -> impl Iterator<Item = Digit> {
    axes.iter().map(|axis| Digit { slot: DEVICE, stride: axis.stride, size: axis.size })
}

/// The positions of a global dimension in terms of the device and the local position.
pub(crate) fn number(block: &Block, dim: usize) -> Digits {
    let mut number = Digits::new();
    digits(&block.axes[dim]).for_each(|digit| push(&mut number, digit));
    push(&mut number, Digit::all(dim as u32, block.local[dim]));
    number
}

fn entry<'m>(module: &'m Module, name: &'static str) -> Result<(&'m Func, &'m Region), Error> {
    let func = module.entry().map(|func| &module.funcs[func]).ok_or(Error::NoEntry(name))?;
    let body = func.body.ok_or(Error::NoEntry(name))?;
    Ok((func, &module.regions[body]))
}

/// Checks that the boundary describes the types of both programs.
fn check_boundary(original: &Module, partitioned: &Module, boundary: &Boundary) -> Result<(), Error> {
    let fault = |text: String| Err(Error::Boundary(text));
    let devices = boundary.device_ids.len() as u64;
    if devices == 0 {
        return fault("the boundary has no devices".to_owned());
    }
    let ((global, _), (local, _)) = (entry(original, "original")?, entry(partitioned, "partitioned")?);
    for (what, blocks, global, local) in [
        ("inputs", &boundary.inputs, &global.params, &local.params),
        ("outputs", &boundary.outputs, &global.results, &local.results),
    ] {
        if blocks.len() != global.len() || blocks.len() != local.len() {
            let (ours, one, two) = (blocks.len(), global.len(), local.len());
            return fault(format!("the manifest has {ours} {what}, the original {one}, the partition {two}"));
        }
        for (at, block) in blocks.iter().enumerate() {
            let shape = |module: &Module, ty| -> Vec<u64> {
                let shape = module.types.shape_of(ty);
                shape.map_or_else(Vec::new, |shape| shape.iter().map(|&size| size.max(0) as u64).collect())
            };
            let shapes = [shape(original, global[at]), shape(partitioned, local[at])];
            let axes = block.axes.iter().flatten().chain(&block.unreduced);
            let fits = |axis: &AxisDigit| {
                let end = axis.stride.checked_mul(axis.size);
                axis.stride > 0 && end.is_some_and(|end| end > 0 && devices.is_multiple_of(end))
            };
            let covers = |dim: usize| block.shards(dim).saturating_mul(block.local[dim]) >= block.global[dim];
            if shapes != [block.global.clone(), block.local.clone()]
                || block.axes.len() != block.global.len()
                || !axes.into_iter().all(fits)
                || !(0..block.axes.len()).all(covers)
            {
                return fault(format!("block {at} of the {what} does not fit the types of the programs"));
            }
        }
    }
    Ok(())
}

/// The parameters of the partitioned program.
fn parameters(
    terms: &mut Terms,
    module: &Module,
    blocks: &[Block],
    params: &[ValueId],
    devices: u64,
) -> Vec<View> {
    let mut views = Vec::new();
    for (at, (block, &param)) in blocks.iter().zip(params).enumerate() {
        let kind = module.stored(param).map_or(Kind::Bool, |ty| Kind::of(ty.dtype));
        let numbers: Vec<Digits> = (0..block.axes.len()).map(|dim| number(block, dim)).collect();
        let padded = if block.unreduced.is_empty() { padded(terms, kind, at, block, &numbers) } else { None };
        views.push(if let Some(view) = padded {
            view
        } else {
            let mut index = whole(module, param);
            let mut device = Digits::new();
            push(&mut device, Digit::all(DEVICE, devices));
            index.push(device);
            terms.unknown(kind, index)
        });
    }
    views
}

/// A parameter on all devices. Elements of blocks that are beyond the size of the dimension are arbitrary.
fn padded(terms: &mut Terms, kind: Kind, at: usize, block: &Block, numbers: &[Digits]) -> Option<View> {
    let slots: Vec<u32> = numbers.iter().map(|_| terms.fresh()).collect();
    let whole = slots.iter().zip(&block.global).map(|(&slot, &size)| {
        let mut whole = Digits::new();
        push(&mut whole, Digit::all(slot, size));
        whole
    });
    let mut view = terms.leaf(Op::Param(at as u32), kind, whole);
    for (dim, &slot) in slots.iter().enumerate() {
        let total = block.shards(dim).checked_mul(block.local[dim])?;
        view = terms.padded(kind, &view, slot, [block.global[dim], total])?;
    }
    view.moved(|slot| {
        let dim = slots.iter().position(|&own| own == slot)?;
        numbers.get(dim).map(|number| &number[..])
    })
}

fn whole(module: &Module, param: ValueId) -> Vec<Digits> {
    let sizes = module.shape(param).iter().zip(0u32..);
    let one = |(&size, dim): (&i64, u32)| {
        let mut number = Digits::new();
        push(&mut number, Digit::all(dim, size.max(1) as u64));
        number
    };
    sizes.map(one).collect()
}

fn evaluate(
    eval: &mut Eval<'_, '_>,
    region: shardc_ir::RegionId,
    args: Vec<View>,
) -> Result<Option<Vec<View>>, Error> {
    match eval.region(region, args) {
        Ok(results) => Ok(Some(results)),
        Err(Stop::Interrupted(reason)) => Err(Error::Interrupted(reason)),
        Err(Stop::NoRule(_) | Stop::TooLong) => Ok(None),
    }
}

/// Checks a partitioned program without tests of its parts.
pub(crate) fn directly(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
) -> Result<Report, Error> {
    checked(original, partitioned, boundary, options, |_, _, report| report)
}

/// Checks a partitioned program, and describes its values in a certificate.
///
/// # Errors
/// As for [`prove`](crate::prove()).
pub fn certify(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
) -> Result<(Report, Certificate), Error> {
    checked(original, partitioned, boundary, options, |eval, origins, report| {
        let describe = |value: ValueId| {
            let view = eval.values[value.index()].as_ref()?;
            Some(describe::view(eval.terms, view, original, origins))
        };
        let certificate = Certificate::new(original, partitioned, boundary, options, describe);
        (report, certificate)
    })
}

/// Checks a partitioned program, and passes its views and the report to a function.
fn checked<T>(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
    then: impl FnOnce(&Eval<'_, '_>, &[Option<OpId>], Report) -> T,
) -> Result<T, Error> {
    evaluated(original, partitioned, boundary, options, |mut both| {
        let outputs = both.outputs();
        let eval = &both.eval;
        let body = &partitioned.regions[both.body];
        let report = verdict::report(eval, original, &both.origins, body, &outputs, boundary, options);
        then(eval, &both.origins, report)
    })
}

/// Both programs after their evaluation.
pub(crate) struct Both<'m, 't> {
    pub(crate) original: &'m Module,
    pub(crate) boundary: &'m Boundary,
    /// The views of the values of the original.
    pub(crate) views: Vec<Option<View>>,
    /// The first operation of the original whose result is each term.
    pub(crate) origins: Vec<Option<OpId>>,
    /// The evaluation of the partitioned program.
    pub(crate) eval: Eval<'m, 't>,
    /// The body of the entry function of the partitioned program.
    pub(crate) body: RegionId,
    /// The results of the original; `None` if it has too many steps.
    wanted: Option<Vec<View>>,
    /// The results of the partitioned program; `None` if it has too many steps.
    pub(crate) found: Option<Vec<View>>,
}

impl Both<'_, '_> {
    /// The state of the proof of each output.
    pub(crate) fn outputs(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        for (at, block) in self.boundary.outputs.iter().enumerate() {
            let wanted = self.wanted.as_ref().and_then(|list| list.get(at));
            let found = self.found.as_ref().and_then(|list| list.get(at));
            outputs.push(match wanted.zip(found) {
                Some((wanted, found)) => {
                    output(self.eval.terms, block, wanted, found, self.original, &self.origins)
                }
                None => Output::Open {
                    found: "not evaluated".to_owned(),
                    needed: "the program has too many steps".to_owned(),
                },
            });
        }
        outputs
    }
}

/// Evaluates both programs, and passes their views to a function.
pub(crate) fn evaluated<T>(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
    then: impl FnOnce(Both<'_, '_>) -> T,
) -> Result<T, Error> {
    check_boundary(original, partitioned, boundary)?;
    let mut terms = Terms::default();
    let (global, global_body) = entry(original, "original")?;
    let (local, local_body) = entry(partitioned, "partitioned")?;
    let (Some(global_region), Some(body)) = (global.body, local.body) else {
        return Err(Error::NoEntry("partitioned"));
    };
    let mut params = Vec::new();
    for (at, &param) in global_body.args.iter().enumerate() {
        let kind = original.stored(param).map_or(Kind::Bool, |ty| Kind::of(ty.dtype));
        params.push(terms.leaf(Op::Param(at as u32), kind, whole(original, param)));
    }
    let one = Devices { count: 1, are_partitions: boundary.are_partitions, ids: Vec::new() };
    let rules = Rules::new(original);
    let mut eval = Eval::new(original, &mut terms, one, &rules, options.interrupt.clone());
    let wanted = evaluate(&mut eval, global_region, params)?;
    let origins = eval.origins();
    let views = eval.values;
    terms.originals = terms.len();

    let ids = &boundary.device_ids;
    let is_identity = ids.iter().zip(0..).all(|(&id, at)| id == at);
    let devices = Devices {
        count: ids.len() as u64,
        are_partitions: boundary.are_partitions,
        ids: if is_identity { Vec::new() } else { ids.clone() },
    };
    let params = parameters(&mut terms, partitioned, &boundary.inputs, &local_body.args, devices.count);
    let mut eval = Eval::new(partitioned, &mut terms, devices, &rules, options.interrupt.clone());
    let found = evaluate(&mut eval, body, params)?;
    Ok(then(Both { original, boundary, views, origins, eval, body, wanted, found }))
}

/// Compares an output with the output of the original.
fn output(
    terms: &mut Terms,
    block: &Block,
    wanted: &View,
    found: &View,
    original: &Module,
    origins: &[Option<OpId>],
) -> Output {
    let numbers: Vec<Digits> = (0..block.axes.len()).map(|dim| number(block, dim)).collect();
    let kind = terms.kind(found);
    let text = |terms: &Terms, view: &View| describe::view(terms, view, original, origins);
    let is_uneven = (0..block.axes.len()).any(|dim| block.is_uneven(dim));
    let needed = wanted.moved(|slot| numbers.get(slot as usize).map(|number| &number[..]));
    let Some(needed) = needed.or_else(|| is_uneven.then(|| wanted.clone())) else {
        return Output::Open {
            found: text(terms, found),
            needed: "blocks with common boundaries".to_owned(),
        };
    };
    let found = match combined(terms, block, kind, found) {
        Some(found) => found,
        None => return Output::Open { found: text(terms, found), needed: text(terms, &needed) },
    };
    if is_uneven {
        return match within(terms, block, wanted, &found) {
            Some((wanted, found)) if wanted == found => Output::Proven,
            Some((wanted, found)) => Output::Open {
                found: text(terms, &found)
                    + &describe::difference(terms, wanted.term, found.term, original, origins),
                needed: text(terms, &wanted),
            },
            None => Output::Open { found: text(terms, &found), needed: text(terms, wanted) },
        };
    }
    if found == needed {
        return Output::Proven;
    }
    let (shown, wanted) = (text(terms, &found), text(terms, &needed));
    match contradiction(terms, kind, &found, &needed) {
        Some(reason) => Output::Refuted { found: reason, needed: wanted },
        None => {
            let difference = describe::difference(terms, needed.term, found.term, original, origins);
            Output::Open { found: format!("{shown}{difference}"), needed: wanted }
        }
    }
}

/// The wanted and the found output as functions of the global positions in uneven dimensions, without padding.
fn within(terms: &mut Terms, block: &Block, wanted: &View, found: &View) -> Option<(View, View)> {
    let (mut pairs, mut numbers, mut uneven) = (Vec::new(), Vec::new(), Vec::new());
    for (dim, &size) in block.global.iter().enumerate() {
        if !block.is_uneven(dim) {
            numbers.push(number(block, dim));
            continue;
        }
        if size == 0 {
            return None;
        }
        let slot = terms.fresh();
        let mut stride = block.shards(dim).checked_mul(block.local[dim])?;
        uneven.push((slot, Range::new(stride, 0, size)));
        for digit in digits(&block.axes[dim]).chain([Digit::all(dim as u32, block.local[dim])]) {
            stride /= digit.size;
            pairs.push((digit, Digit { slot, stride, size: digit.size }));
        }
        let mut whole = Digits::new();
        push(&mut whole, Digit::all(slot, size));
        numbers.push(whole);
    }
    let wanted = wanted.moved(|slot| numbers.get(slot as usize).map(|number| &number[..]))?;
    pairs.retain(|(digit, _)| digit.size > 1);
    let mut found = substituted(found, &substitution(&pairs, std::slice::from_ref(found))?)?;
    for (slot, range) in uneven {
        found = terms.part(&found, slot, range)?;
    }
    Some((wanted, found))
}

/// The combination of the partial results of an unreduced output.
fn combined(terms: &mut Terms, block: &Block, kind: Kind, found: &View) -> Option<View> {
    if block.unreduced.is_empty() {
        return Some(found.clone());
    }
    let join = join_of(kind, block.reduction)?;
    let devices: Vec<Digit> = digits(&block.unreduced).collect();
    over_devices(terms, join, kind, found, &devices)
}

/// Reduces over digits of the device.
fn over_devices(
    terms: &mut Terms,
    join: ReductionKind,
    kind: Kind,
    view: &View,
    digits: &[Digit],
) -> Option<View> {
    let mut sorted = digits.to_vec();
    sorted.sort_by_key(|digit| digit.stride);
    let (mut number, mut slots, mut low) = (Vec::new(), Vec::new(), 1);
    for digit in sorted {
        let slot = terms.fresh();
        number.push(Digit { slot: DEVICE, stride: low, size: digit.stride / low });
        number.push(Digit::all(slot, digit.size));
        slots.push((slot, digit.size));
        low = digit.end();
    }
    // The most major digit of the device: views use no position beyond it.
    let most = view.digits().filter(|digit| digit.slot == DEVICE).map(Digit::end).max().unwrap_or(1).max(low);
    number.push(Digit { slot: DEVICE, stride: low, size: most / low });
    let mut device = Digits::new();
    number.iter().rev().for_each(|&digit| push(&mut device, digit));
    let moved = view.moved(|slot| (slot == DEVICE).then_some(&device[..]))?;
    terms.reduce(join, kind, &moved, &slots)
}

/// The reason for which two views cannot be equal for all inputs, if it is certain.
fn contradiction(terms: &mut Terms, kind: Kind, found: &View, needed: &View) -> Option<String> {
    if terms.has_unknown(found.term) || !terms.has_param(needed.term) || kind == Kind::Bool {
        return None;
    }
    let own: Vec<Digit> = needed.digits().filter(|digit| digit.slot == DEVICE).collect();
    let extra: Vec<Digit> =
        found.digits().filter(|digit| digit.slot == DEVICE && !own.contains(digit)).collect();
    for (join, name) in
        [(ReductionKind::Add, "sum"), (ReductionKind::Max, "maximum"), (ReductionKind::Min, "minimum")]
    {
        if !extra.is_empty()
            && kind != Kind::Complex
            && over_devices(terms, join, kind, found, &extra).as_ref() == Some(needed)
        {
            return Some(format!("a partial {name}: it is not combined over {}", describe::digits(&extra)));
        }
    }
    None
}

impl Eval<'_, '_> {
    /// Whether a view is of a term of the original program.
    pub(crate) fn is_original(&self, view: &View) -> bool {
        self.terms.is_known(view, self.known_terms, true)
    }

    /// The first operation whose result is each term.
    fn origins(&self) -> Vec<Option<OpId>> {
        let mut origins = vec![None; self.terms.len()];
        for (op, data) in &self.module.ops {
            for result in &data.results {
                if let Some(TermId(term)) = self.values[result.index()].as_ref().map(|view| view.term) {
                    let origin: &mut Option<OpId> = &mut origins[term as usize];
                    origin.get_or_insert(op);
                }
            }
        }
        origins
    }
}
