//! The forms in which operations read weights: converted, transposed, reshaped, sliced, or as a row of a stack.

use rustc_hash::FxHashMap;
use shardc_ir::{DimList, Module, OpKind, RegionId, SizeList, SliceSpec, TensorType, ValueId};

/// The kind of a step from a weight to one of its forms; each has an inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reform {
    /// Conversion to a different element type.
    Convert,
    /// A transpose.
    Transpose(DimList),
    /// A reshape.
    Reshape,
    /// A slice with static bounds and stride one.
    Slice(Box<SliceSpec>),
    /// One row along these dimensions, at a dynamic index.
    Row(DimList),
}

/// A step from a weight to one of its forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of the step.
    pub reform: Reform,
    /// The tensor type to which `reform` is applied.
    pub from: TensorType,
}

impl Step {
    /// Returns the suffix that identifies a slice of a weight: `[2]` for a row, `[0:32]` for several rows along a dimension.
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

/// A value that is a weight in a different form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The argument that is the weight.
    pub(crate) argument: usize,
    /// The steps from the argument, in order.
    pub(crate) steps: Vec<Step>,
    /// The dynamic row slices, in order: the number of rows along the sliced dimension, and the index of the row.
    pub(crate) rows: Vec<(i64, ValueId)>,
}

/// Returns the forms that weights take in a body without calls.
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

/// Returns whether a loop returns its carried value `i` unchanged.
fn stays(module: &Module, regions: &[RegionId], i: usize) -> bool {
    regions.last().is_some_and(|&body| {
        let returned = module.terminator(body).and_then(|end| module.ops[end].operands.get(i));
        returned == module.regions[body].args.get(i)
    })
}

/// Returns the step that an operation applies to its first operand; `None` if it has no inverse.
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

/// Returns the dimensions along which one row is sliced; `None` if another dimension is sliced partially.
fn rows(shape: &[i64], sizes: &SizeList) -> Option<DimList> {
    let cut = shape.iter().zip(sizes).enumerate().filter(|(_, (n, size))| n != size);
    cut.map(|(d, (_, &size))| (size == 1).then_some(d as u32)).collect()
}
