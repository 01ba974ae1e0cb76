//! What operations read weights as: converted, transposed, reshaped, a row of a stack.

use rustc_hash::FxHashMap;
use shardc_ir::{DimList, Module, OpKind, RegionId, SizeList, SliceSpec, TensorType, ValueId};

/// What a step towards the form of a weight does; each has an inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reform {
    /// Another element type.
    Convert,
    /// Another order of dimensions.
    Transpose(DimList),
    /// Another shape.
    Reshape,
    /// A box with static bounds and stride one.
    Slice(Box<SliceSpec>),
    /// Of these dimensions one row, at an index that the program computes.
    Row(DimList),
}

/// A step towards the form of a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub reform: Reform,
    /// To what.
    pub from: TensorType,
}

impl Step {
    /// What tells a part of a weight from others: `[2]` for a row, `[0:32]` for several along a dimension.
    pub(super) fn part(&self) -> Option<String> {
        let Reform::Slice(spec) = &self.reform else { return None };
        let bounds = spec.start.iter().zip(&spec.limit);
        let range = |(d, (start, limit)): (usize, (&i64, &i64))| match limit - start {
            n if n == self.from.shape[d] => String::new(),
            1 => start.to_string(),
            _ => format!("{start}:{limit}"),
        };
        let ranges: Vec<String> = bounds.enumerate().map(range).collect();
        Some(format!("[{}]", ranges.join(",").trim_end_matches(',')))
    }
}

/// A value that is a weight in another form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The argument that is the weight.
    pub(crate) argument: usize,
    /// What is done to it, in order.
    pub(crate) steps: Vec<Step>,
    /// The rows that are taken, in order: of how many, and which.
    pub(crate) rows: Vec<(i64, ValueId)>,
}

/// The forms that weights take in a body without calls.
pub(crate) fn forms(
    module: &Module,
    body: RegionId,
    is_weight: impl Fn(usize) -> bool,
) -> FxHashMap<ValueId, Form> {
    let args = module.regions[body].args.iter().copied().enumerate().filter(|&(i, _)| is_weight(i));
    let form = |argument| Form { argument, steps: Vec::new(), rows: Vec::new() };
    let mut forms: FxHashMap<ValueId, Form> = args.map(|(i, arg)| (arg, form(i))).collect();
    for op in module.walk(body) {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::While => {
                for (i, operand) in data.operands.iter().enumerate() {
                    let Some(form) = forms.get(operand).cloned() else { continue };
                    if !stays(module, &data.regions, i) {
                        continue;
                    }
                    let inner = data.regions.iter().filter_map(|&r| module.regions[r].args.get(i)).copied();
                    forms.extend(inner.chain([data.results[i]]).map(|value| (value, form.clone())));
                }
            }
            OpKind::OptimizationBarrier => {
                for (operand, &result) in data.operands.iter().zip(&data.results) {
                    if let Some(form) = forms.get(operand).cloned() {
                        forms.insert(result, form);
                    }
                }
            }
            kind => {
                let (Some(&from), &[result]) = (data.operands.first(), data.results.as_slice()) else {
                    continue;
                };
                let (Some(form), Some(ty)) = (forms.get(&from), module.tensor(from)) else { continue };
                let Some(reform) = reform(kind, &ty.shape) else { continue };
                let mut form = form.clone();
                if let Reform::Row(dims) = &reform {
                    let row = |&d: &u32| (ty.shape[d as usize], data.operands[1 + d as usize]);
                    form.rows.extend(dims.iter().map(row));
                }
                form.steps.push(Step { reform, from: ty.clone() });
                forms.insert(result, form);
            }
        }
    }
    forms
}

/// Whether what a loop carries in a place is the same in each trip.
fn stays(module: &Module, regions: &[RegionId], i: usize) -> bool {
    regions.last().is_some_and(|&body| {
        let returned = module.terminator(body).and_then(|end| module.ops[end].operands.get(i));
        returned == module.regions[body].args.get(i)
    })
}

/// What an operation does to the first operand, if that can be undone.
fn reform(kind: &OpKind, shape: &[i64]) -> Option<Reform> {
    match kind {
        OpKind::Convert => Some(Reform::Convert),
        OpKind::Transpose { permutation } => Some(Reform::Transpose(permutation.clone())),
        OpKind::Reshape => Some(Reform::Reshape),
        OpKind::Slice(spec) if spec.stride.iter().all(|&stride| stride == 1) => {
            Some(Reform::Slice(spec.clone()))
        }
        OpKind::DynamicSlice { sizes } => rows(shape, sizes).map(Reform::Row),
        _ => None,
    }
}

/// The dimensions of which one row is taken, if the others are whole.
fn rows(shape: &[i64], sizes: &SizeList) -> Option<DimList> {
    let cut = shape.iter().zip(sizes).enumerate().filter(|(_, (n, size))| n != size);
    cut.map(|(d, (_, &size))| (size == 1).then_some(d as u32)).collect()
}
