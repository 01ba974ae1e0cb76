//! Constant evaluation of the integers from which shapes are computed.
//!
//! Only small tensors of integers and booleans are evaluated: a shape has few elements. Arithmetic that would wrap around in the element
//! type is not evaluated.

use rustc_hash::FxHashMap;
use shardc_ir::{
    DType, DTypeClass, DYNAMIC, Dense, Module, OpId, OpKind, SizeList, TensorType, UnaryOp, ValueId,
};
use smallvec::smallvec;

/// The maximum number of elements of a tensor that is evaluated.
const MAX_ELEMENTS: i64 = 64;

/// The known elements of integer values that are not constants: loop-invariant arguments of regions.
#[derive(Debug, Default)]
pub(super) struct Integers {
    args: FxHashMap<ValueId, SizeList>,
}

impl Integers {
    /// Records the elements of a region argument.
    pub(super) fn set(&mut self, arg: ValueId, elements: SizeList) {
        self.args.insert(arg, elements);
    }

    /// Returns the elements of a constant or of a recorded argument, row-major; booleans are 0 and 1.
    pub(super) fn of(&self, module: &Module, value: ValueId) -> Option<SizeList> {
        let Some(op) = module.def_op(value) else { return self.args.get(&value).cloned() };
        let OpKind::Constant(dense) = &module.ops[op].kind else { return None };
        let ty = evaluated(module, value)?;
        if ty.dtype.is_integer() {
            let elements = module.constant_integers(value)?;
            return elements.iter().all(|&n| represents(ty.dtype, n)).then_some(elements);
        }
        let count = usize::try_from(ty.num_elements()?).ok()?;
        let elements: SizeList = match dense {
            Dense::Splat(bytes) => SizeList::from_elem(i64::from(bytes.first() != Some(&0)), count),
            Dense::Elements(bytes) => bytes.iter().map(|&byte| i64::from(byte != 0)).collect(),
            Dense::Resource(_) | Dense::Raw(_) => return None,
        };
        (elements.len() == count).then_some(elements)
    }

    /// Evaluates the one result of an operation that is not a constant, if all its operands are known.
    pub(super) fn evaluate(&self, module: &Module, op: OpId) -> Option<SizeList> {
        let data = &module.ops[op];
        let &[result] = data.results.as_slice() else { return None };
        let ty = evaluated(module, result)?;
        let count = usize::try_from(ty.num_elements()?).ok()?;
        let operand = |i: usize| self.of(module, *data.operands.get(i)?);
        let elements: SizeList = match &data.kind {
            OpKind::GetDimensionSize { dim } => {
                let size = *module.shape(*data.operands.first()?).get(*dim as usize)?;
                (size != DYNAMIC).then(|| smallvec![size])?
            }
            OpKind::Reshape => operand(0)?,
            OpKind::Convert if ty.dtype.class() == DTypeClass::Bool => {
                operand(0)?.iter().map(|&n| i64::from(n != 0)).collect()
            }
            OpKind::Convert => operand(0)?,
            OpKind::BroadcastInDim { .. } => match operand(0)?.as_slice() {
                &[n] => SizeList::from_elem(n, count),
                all if ty.rank() == 1 => SizeList::from_slice(all),
                _ => return None,
            },
            OpKind::Concatenate { dim: 0 } => {
                let mut all = SizeList::new();
                for i in 0..data.operands.len() {
                    all.extend(operand(i)?);
                }
                all
            }
            OpKind::Slice(spec) if ty.rank() == 1 => {
                let [start, limit, stride] =
                    [&spec.start, &spec.limit, &spec.stride].map(|list| list.first().copied());
                let (start, limit) = (usize::try_from(start?).ok()?, usize::try_from(limit?).ok()?);
                let stride = usize::try_from(stride?).ok().filter(|&n| n > 0)?;
                operand(0)?.get(start..limit)?.iter().step_by(stride).copied().collect()
            }
            OpKind::Unary(unary) => {
                operand(0)?.iter().map(|&n| apply(*unary, n, ty.dtype)).collect::<Option<_>>()?
            }
            OpKind::Binary(binary) => {
                let (a, b) = (operand(0)?, operand(1)?);
                a.iter().zip(&b).map(|(&a, &b)| binary.on_integers(a, b)).collect::<Option<_>>()?
            }
            OpKind::Compare(direction, _) => {
                let (a, b) = (operand(0)?, operand(1)?);
                a.iter().zip(&b).map(|(&a, &b)| i64::from(direction.holds(a, b))).collect()
            }
            OpKind::Clamp => {
                let (least, all, greatest) = (operand(0)?, operand(1)?, operand(2)?);
                let bound = |bounds: &SizeList, i: usize| bounds.get(i).or(bounds.first()).copied();
                let clamp = |(i, &n): (usize, &i64)| Some(n.max(bound(&least, i)?).min(bound(&greatest, i)?));
                all.iter().enumerate().map(clamp).collect::<Option<_>>()?
            }
            OpKind::Select => {
                let (chosen, a, b) = (operand(0)?, operand(1)?, operand(2)?);
                let is_true = |i: usize| chosen.get(i).or(chosen.first()).is_some_and(|&n| n != 0);
                a.iter().zip(&b).enumerate().map(|(i, (&a, &b))| if is_true(i) { a } else { b }).collect()
            }
            _ => return None,
        };
        let fits = elements.len() == count && elements.iter().all(|&n| represents(ty.dtype, n));
        fits.then_some(elements)
    }
}

/// Returns the bytes of a constant with these elements.
pub(super) fn encode(dtype: DType, elements: &[i64]) -> Vec<u8> {
    let width = dtype.bytes().min(8);
    elements.iter().flat_map(|n| n.to_le_bytes().into_iter().take(width)).collect()
}

/// Returns the type of a value whose elements are evaluated: a tensor of few integers or booleans. `None` for other values.
fn evaluated(module: &Module, value: ValueId) -> Option<&TensorType> {
    module.tensor(value).filter(|ty| {
        ty.encoding.is_none()
            && matches!(ty.dtype.class(), DTypeClass::Signed | DTypeClass::Unsigned | DTypeClass::Bool)
            && ty.num_elements().is_some_and(|n| n <= MAX_ELEMENTS)
    })
}

fn apply(op: UnaryOp, n: i64, dtype: DType) -> Option<i64> {
    match op {
        UnaryOp::Negate => n.checked_neg(),
        UnaryOp::Abs => n.checked_abs(),
        UnaryOp::Sign => Some(n.signum()),
        UnaryOp::Not if dtype.class() == DTypeClass::Bool => Some(1 - n),
        _ => None,
    }
}

/// Whether elements of the type include a number. 64-bit unsigned integers are supported up to the greatest `i64`.
fn represents(dtype: DType, n: i64) -> bool {
    let bits = dtype.bits();
    match dtype.class() {
        DTypeClass::Bool => (0..=1).contains(&n),
        DTypeClass::Unsigned => n >= 0 && (bits >= 64 || n < 1i64 << bits),
        _ => bits >= 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&n),
    }
}
