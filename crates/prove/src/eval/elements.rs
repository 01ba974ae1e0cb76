//! Element-wise operations, scalars and constants.

use half::{bf16, f16};
use shardc_ir::{Attr, BroadcastingOp, CompareType, DType, DTypeClass, OpId, OpKind, ValueId};

use super::{Devices, Eval, OrStop, Stop};
use crate::algebra::Linear;
use crate::terms::{DEVICE, Digit, Digits, Kind, Op, Terms, View, push};

/// The scalar with these bytes, little-endian.
pub(super) fn literal(terms: &mut Terms, dtype: DType, bytes: &[u8]) -> View {
    let kind = Kind::of(dtype);
    match (kind, number(dtype, bytes)) {
        (Kind::Real, Some(Scalar::Real(value))) => terms.real(kind, value),
        (Kind::Bool | Kind::Integer(_), Some(Scalar::Integer(value))) => terms.integer(kind, value),
        _ => {
            let mut text = format!("{dtype} ").into_bytes();
            text.extend(bytes);
            terms.leaf(Op::Constant(text.into()), kind, [])
        }
    }
}

enum Scalar {
    Real(f64),
    Integer(i64),
}

/// The number with these bytes; `None` for types that are not decoded.
fn number(dtype: DType, bytes: &[u8]) -> Option<Scalar> {
    let real = match dtype {
        DType::F64 => f64::from_le_bytes(bytes.try_into().ok()?),
        DType::F32 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        DType::F16 => f16::from_le_bytes(bytes.try_into().ok()?).to_f64(),
        DType::BF16 => bf16::from_le_bytes(bytes.try_into().ok()?).to_f64(),
        _ => return integer(dtype, bytes).map(Scalar::Integer),
    };
    Some(Scalar::Real(real))
}

pub(super) fn integer(dtype: DType, bytes: &[u8]) -> Option<i64> {
    let is_signed = match dtype.class() {
        DTypeClass::Signed => true,
        DTypeClass::Unsigned | DTypeClass::Bool => false,
        DTypeClass::Float | DTypeClass::Complex => return None,
    };
    let is_negative = is_signed && bytes.last().is_some_and(|&byte| byte >= 0x80);
    let mut word = if is_negative { [0xff; 8] } else { [0; 8] };
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(word))
}

/// Constants with more elements are not decoded.
const MOST_ELEMENTS: usize = 1 << 16;

impl Eval<'_, '_> {
    pub(super) fn elementwise(&mut self, op: OpId) -> Result<View, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let args = self.operands(op)?;
        let kind = self.kind(data.results[0]);
        let text = || format!("{:?}", data.kind);
        match (&data.kind, args.as_slice()) {
            (OpKind::Unary(unary), [x]) => self.terms.unary(*unary, kind, x),
            (OpKind::Binary(binary), [a, b]) => self.terms.binary(*binary, kind, a, b),
            (OpKind::Compare(direction, ty), [a, b]) => {
                let is_plain = *ty != Some(CompareType::TotalOrder);
                self.terms.compare(*direction, a, b, is_plain)
            }
            (OpKind::Select, [test, a, b]) => self.terms.select(kind, test, a, b),
            (OpKind::Clamp, [low, x, high]) => self.terms.clamp(kind, low, x, high),
            (OpKind::Convert, [x]) => self.terms.convert(kind, x),
            // Rounding is the identity in exact arithmetic.
            (OpKind::ReducePrecision { .. }, [x]) => Some(x.clone()),
            (OpKind::Broadcasting(spec), args) => {
                let args = self.broadcast_operands(op, spec.dims.as_deref(), args)?;
                match (spec.op, args.as_slice()) {
                    (BroadcastingOp::Binary(binary), [a, b]) => self.terms.binary(binary.op(), kind, a, b),
                    (BroadcastingOp::Compare(direction, ty), [a, b]) => {
                        self.terms.compare(direction, a, b, ty != Some(CompareType::TotalOrder))
                    }
                    (BroadcastingOp::Select, [test, a, b]) => self.terms.select(kind, test, a, b),
                    _ => return Stop::rule("operands of a broadcasting operation"),
                }
            }
            (OpKind::ConstantLike(attr), _) => {
                let value = match &**attr {
                    Attr::Int(value, _) => Some(*value as f64),
                    Attr::Raw(text) | Attr::Str(text) => {
                        text.split(':').next().and_then(|number| number.trim().parse().ok())
                    }
                    Attr::Unit | Attr::Bool(_) | Attr::Array(_) | Attr::Dict(_) | Attr::Symbol(_) => None,
                };
                match (kind, value) {
                    (Kind::Real, Some(value)) => Some(self.terms.real(kind, value)),
                    (Kind::Integer(_), Some(value)) => Some(self.terms.integer(kind, value as i64)),
                    _ => Some(self.terms.leaf(Op::Constant(text().into_bytes().into()), kind, [])),
                }
            }
            (_, args) => self.terms.other_map(&text(), kind, args),
        }
        .or_stop()
    }

    /// Operands of a CHLO operation, moved to the dimensions of the result.
    fn broadcast_operands(&self, op: OpId, dims: Option<&[u32]>, args: &[View]) -> Result<Vec<View>, Stop> {
        let data = &self.module.ops[op];
        let rank = self.module.rank(data.results[0]);
        let mut moved = Vec::new();
        for (&value, view) in data.operands.iter().zip(args) {
            let own = self.module.rank(value);
            let place = |slot: u32| match dims {
                Some(dims) if own < rank => dims.get(slot as usize).copied().unwrap_or(slot),
                _ => slot + (rank - own.min(rank)) as u32,
            };
            moved.push(view.renamed(|slot| if slot < DEVICE { place(slot) } else { slot }));
        }
        Ok(moved)
    }

    pub(super) fn iota(&mut self, op: OpId, dim: u32) -> Result<View, Stop> {
        let value = self.module.ops[op].results[0];
        let size = self.sizes(value).get(dim as usize).copied().unwrap_or(1);
        let parts = if size > 1 { vec![(1, Digit::all(dim, size))] } else { Vec::new() };
        let kind = self.kind(value);
        self.terms.linear(&Linear { base: 0, parts }, kind).or_stop()
    }

    /// The number of this device.
    pub(super) fn device_number(&mut self, op: OpId, of_partition: bool) -> Result<View, Stop> {
        let kind = self.kind(self.module.ops[op].results[0]);
        let Devices { count, are_partitions, ids } = self.devices.clone();
        if of_partition != are_partitions || count == 1 {
            return Ok(self.terms.integer(kind, 0));
        }
        if ids.is_empty() {
            let linear = Linear { base: 0, parts: vec![(1, Digit::all(DEVICE, count))] };
            return self.terms.linear(&linear, kind).or_stop();
        }
        if let Some(view) = Linear::fit(&ids, DEVICE).and_then(|linear| self.terms.linear(&linear, kind)) {
            return Ok(view);
        }
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        let mut index = Digits::new();
        push(&mut index, Digit::all(DEVICE, count));
        Ok(self.terms.leaf(Op::Constant(bytes.into()), kind, [index]))
    }

    /// A constant of integers that is an affine function of the position.
    pub(super) fn affine_constant(&mut self, value: ValueId, bytes: &[u8]) -> Option<View> {
        let ty = self.module.tensor(value)?;
        let (dtype, kind) = (ty.dtype, Kind::of(ty.dtype));
        let count = usize::try_from(ty.num_elements()?).ok()?;
        if count > MOST_ELEMENTS || !matches!(kind, Kind::Integer(_) | Kind::Real) {
            return None;
        }
        let mut list = Vec::with_capacity(count);
        for element in bytes.chunks_exact(dtype.bytes()) {
            list.push(match number(dtype, element)? {
                Scalar::Integer(value) => value,
                Scalar::Real(value) if value.fract() == 0.0 && value.abs() < 1e12 => value as i64,
                Scalar::Real(_) => return None,
            });
        }
        if list.len() != count {
            return None;
        }
        // The position of an element is a number whose digits are the positions in the dimensions.
        let linear = Linear::fit(&list, DEVICE + 1)?;
        let position: Digits = self.whole(value).into_iter().flatten().collect();
        let linear = linear.moved(|slot| (slot == DEVICE + 1).then_some(&position[..]))?;
        self.terms.linear(&linear, kind)
    }
}
