//! Verifies invariant I8: types of regions.

use smallvec::SmallVec;

use super::Report;
use crate::infer::{shape_fits, type_fits, without};
use crate::{DType, Module, OpId, OpKind, RegionId, RegionKind, TensorType, Type, TypeId, ValueId};

/// The expected type of a region's argument or returned value.
#[derive(Clone, Copy)]
enum Expect {
    /// A value of exactly this type.
    Type(TypeId),
    /// A tensor with a given element type: a scalar, or a tensor with the shape of another value.
    Element(Element),
    /// A tensor with the shape of a value without one of its dimensions, and with this element type.
    Slice(ValueId, u32, DType),
}

#[derive(Clone, Copy)]
struct Element {
    dtype: DType,
    /// The value whose shape is required; `None` if a scalar is required.
    like: Option<ValueId>,
    /// Whether any float type is accepted if `dtype` is a float type.
    any_float: bool,
}

impl Expect {
    fn fits(self, module: &Module, ty: TypeId) -> bool {
        match self {
            Expect::Type(want) => type_fits(module, want, ty),
            Expect::Element(want) => match module.types.get(ty) {
                Type::Tensor(tensor) => {
                    let shape = want.like.map_or(&[][..], |value| module.shape(value));
                    let same = tensor.dtype == want.dtype
                        || (want.any_float && tensor.dtype.is_float() && want.dtype.is_float());
                    same && shape_fits(&tensor.shape, shape)
                }
                Type::Quantized(_) => true,
                Type::Other(text) => text.starts_with("tensor<"),
                Type::Token | Type::Tuple(_) => false,
            },
            Expect::Slice(value, dim, dtype) => match module.types.get(ty) {
                Type::Tensor(tensor) => {
                    tensor.dtype == dtype && shape_fits(&tensor.shape, &without(module.shape(value), &[dim]))
                }
                Type::Quantized(_) | Type::Other(_) => true,
                Type::Token | Type::Tuple(_) => false,
            },
        }
    }

    fn text(self, module: &Module) -> String {
        match self {
            Expect::Type(ty) => module.types.display(ty),
            Expect::Element(want) => {
                let shape = want.like.map_or(&[][..], |value| module.shape(value));
                TensorType::new(shape, want.dtype).to_string()
            }
            Expect::Slice(value, dim, dtype) => {
                TensorType::new(&without(module.shape(value), &[dim]), dtype).to_string()
            }
        }
    }

    /// Returns an expectation that also accepts all other float types if it expects a float type.
    fn any_float(self) -> Self {
        match self {
            Expect::Type(_) | Expect::Slice(..) => self,
            Expect::Element(want) => Expect::Element(Element { any_float: true, ..want }),
        }
    }
}

fn scalar(dtype: DType) -> Expect {
    Expect::Element(Element { dtype, like: None, any_float: false })
}

type Expects = SmallVec<[Expect; 4]>;

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    use OpKind as K;
    let module = report.module;
    let op = &module.ops[id];
    let types = |values: &[ValueId]| -> Expects {
        values.iter().map(|&v| Expect::Type(module.values[v].ty)).collect()
    };
    // Scalars with the element types of the values; `None` if a type is unknown.
    let scalars = |values: &[ValueId]| -> Option<Expects> {
        values.iter().map(|&v| module.tensor(v).map(|t| scalar(t.dtype))).collect()
    };
    // The expected arguments of a region that combines: the accumulators (as in `list`), then one element for each accumulator. If an
    // accumulator is a float, its element may be of any float type.
    let twice = |list: &Expects| -> Expects {
        list.iter().copied().chain(list.iter().map(|e| e.any_float())).collect()
    };
    let boolean: Expects = SmallVec::from_slice(&[scalar(DType::I1)]);
    let mut expected: SmallVec<[(Expects, Expects); 2]> = SmallVec::new();
    match &op.kind {
        K::While => {
            let carried = types(&op.operands);
            expected.push((carried.clone(), boolean));
            expected.push((carried.clone(), carried));
        }
        K::Case | K::If => {
            let results = types(&op.results);
            expected.extend(op.regions.iter().map(|_| (Expects::new(), results.clone())));
        }
        K::Reduce { .. } | K::ReduceWindow(_) => {
            // The body may take tensors instead of scalars: they have the shape of the initial value.
            let inits = op.operands.iter().skip(op.results.len());
            let like = |(&result, &init): (&ValueId, &ValueId)| {
                let dtype = module.tensor(result)?.dtype;
                module.tensor(init)?;
                Some(Expect::Element(Element { dtype, like: Some(init), any_float: false }))
            };
            if let Some(elements) = op.results.iter().zip(inits).map(like).collect::<Option<Expects>>() {
                expected.push((twice(&elements), elements));
            }
        }
        K::Scatter(_) => {
            if let Some(elements) = scalars(&op.results) {
                expected.push((twice(&elements), elements));
            }
        }
        K::AllReduce(_) | K::ReduceScatter { .. } | K::CollectiveReduce(_) => {
            if let Some(elements) = scalars(&op.results[..1]) {
                expected.push((twice(&elements), elements));
            }
        }
        K::SelectAndScatter(_) => {
            if let (Some(inputs), Some(outputs)) = (scalars(&op.operands[..1]), scalars(&op.results)) {
                let inputs: Expects = inputs.iter().chain(&inputs).map(|e| e.any_float()).collect();
                expected.push((inputs, boolean));
                expected.push((twice(&outputs), outputs));
            }
        }
        K::Sort { .. } => {
            if let Some(elements) = scalars(&op.operands) {
                expected.push((elements.iter().flat_map(|&e| [e, e]).collect(), boolean));
            }
        }
        // `placement` checks local types; regions of unknown operations are unrestricted.
        K::ManualComputation(_) | K::Opaque(_) => {}
        K::Map { .. } => {
            if let (Some(inputs), Some(outputs)) = (scalars(&op.operands), scalars(&op.results)) {
                expected.push((inputs, outputs));
            }
        }
        K::NamedComputation(_) => expected.push((types(&op.operands), types(&op.results))),
        K::Scan(spec) => {
            let slices = |values: &[ValueId], count: u32| -> Option<Expects> {
                let slice = |(i, &v): (usize, &ValueId)| {
                    if i >= count as usize {
                        return Some(Expect::Type(module.values[v].ty));
                    }
                    let tensor = module.tensor(v)?;
                    Some(Expect::Slice(v, spec.dim, tensor.dtype))
                };
                values.iter().enumerate().map(slice).collect()
            };
            if let (Some(inputs), Some(outputs)) =
                (slices(&op.operands, spec.inputs), slices(&op.results, spec.outputs))
            {
                expected.push((inputs, outputs));
            }
        }
        // Type inference checks the types of the called function or region.
        K::Composite(_) | K::AsyncStart => {}
        // By invariant I6, other operations have no regions. An operation with regions must not remain unchecked.
        kind => {
            if kind.def().region_kind != RegionKind::None {
                let message = format!("the verifier has no check for the regions of {}", kind.title());
                report.at_op("SH0208", id, message);
            }
            return;
        }
    }
    for (i, (&region, (args, yields))) in op.regions.iter().zip(&expected).enumerate() {
        let what = format!("region {i} of {}", op.kind.title());
        check_values(report, id, &what, "argument", &module.regions[region].args, args);
        check_values(report, id, &what, "returned value", yielded(module, region), yields);
    }
}

/// Returns the values that a region returns; none for a region without terminator, which the check of invariant I5 reports.
pub(super) fn yielded(module: &Module, region: RegionId) -> &[ValueId] {
    module.terminator(region).map_or(&[], |end| &module.ops[end].operands)
}

fn check_values(
    report: &mut Report<'_>,
    op: OpId,
    region: &str,
    what: &str,
    have: &[ValueId],
    want: &[Expect],
) {
    let module = report.module;
    if have.len() != want.len() {
        let message = format!("{region} has {} {what}s, expected {}", have.len(), want.len());
        report.hinted("SH0208", op, message, hint(&module.ops[op].kind));
        return;
    }
    for (i, (&value, want)) in have.iter().zip(want).enumerate() {
        let ty = module.values[value].ty;
        if !want.fits(module, ty) {
            let (have, want) = (module.types.display(ty), want.text(module));
            let message = format!("{what} {i} of {region} is {have}, expected {want}");
            report.hinted("SH0208", op, message, hint(&module.ops[op].kind));
        }
    }
}

/// Checks the number and the types of the values that a region takes or returns.
pub(super) fn check_types(
    report: &mut Report<'_>,
    op: OpId,
    region: &str,
    what: &str,
    have: &[ValueId],
    want: &[TypeId],
) {
    let want: Expects = want.iter().map(|&ty| Expect::Type(ty)).collect();
    check_values(report, op, region, what, have, &want);
}

/// A hint that describes the arguments and returned values of an operation's regions.
fn hint(kind: &OpKind) -> Option<&'static str> {
    use OpKind as K;
    match kind {
        K::Reduce { .. }
        | K::ReduceWindow(_)
        | K::Scatter(_)
        | K::AllReduce(_)
        | K::ReduceScatter { .. }
        | K::CollectiveReduce(_) => {
            Some("the region takes one accumulator per input, then one element per input")
        }
        K::SelectAndScatter(_) => {
            Some("the first region compares two elements to select one, the second combines elements")
        }
        K::Sort { .. } => Some(
            "the region takes two elements of each operand and returns whether the first comes before the second",
        ),
        K::While => Some(
            "both regions take the loop-carried values; the first returns the condition, the second the next loop-carried values",
        ),
        K::If | K::Case => Some("the regions have no arguments and return the results"),
        _ => None,
    }
}
