//! Type inference: computes the result types that operands and attributes determine, and checks the constraints on other result types.
//!
//! Source: StableHLO specification, section "Ops"; constraints are quoted by meaning, not by number. Dynamic sizes
//! ([`DYNAMIC`](crate::DYNAMIC)) fit any size within their bound. Quantized tensors are checked as tensors of their expressed type, and
//! their elements in `quant`. For types outside of the specification ([`Type::Other`]), inference fails for operations that compute on
//! elements; other operations accept any such type.

mod bounds;
mod broadcast;
mod check;
mod chlo;
mod collective;
mod dynamic;
mod elementwise;
mod gather;
mod linalg;
mod norm;
mod quant;
mod reduction;
mod shape;
#[cfg(test)]
mod tests;
mod transfer;
mod window;

use smallvec::{SmallVec, smallvec};

pub(crate) use bounds::bounds_fit;
pub use check::check_result_types;

use crate::{
    DType, DTypeClass, DYNAMIC, DynamicOp, Module, OpKind, RegionId, Shape, TensorType, Type, TypeId, ValueId,
};

/// Why operands do not fit an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InferError(pub String);

/// Infers the result types of an operation, and interns them.
///
/// Results of matmuls, convolutions and reductions may have a wider element type than their operands. Unless a region determines the
/// element type, the inferred type has the element type of the operands.
///
/// # Errors
/// Returns an error if the operands do not fit the operation, or if they do not determine the result types: constants, `iota`, `convert`,
/// `bitcast_convert`, `reshape`, `broadcast_in_dim`, random numbers, `custom_call`, `manual_computation`, unknown operations.
pub fn infer_types(
    module: &mut Module,
    kind: &OpKind,
    operands: &[ValueId],
    regions: &[RegionId],
) -> Result<SmallVec<[TypeId; 2]>, InferError> {
    let types =
        infer(&Ctx { module, kind, operands, regions, stand_ins: &[] }).map_err(|fail| match fail {
            Fail::Wrong(message) => InferError(message),
            Fail::Free => {
                InferError(format!("the result type of {} cannot be inferred from its operands", kind.name()))
            }
            Fail::Unknown => {
                InferError(format!("{} has an operand that is not a numeric tensor", kind.name()))
            }
        })?;
    // If the group size is unknown, `infer` returns `?` for the dimension: sufficient for checks, but not a type for a
    // new operation.
    if matches!(kind, OpKind::AllGather { spec, .. } | OpKind::ReduceScatter { spec, .. } if collective::group_size(spec).is_none())
    {
        let name = kind.name();
        return Err(InferError(format!(
            "the result type of {name} without replica groups cannot be inferred"
        )));
    }
    Ok(types
        .into_iter()
        .map(|ty| match ty {
            Ty::Same(id) => id,
            Ty::Tensor(tensor) => module.types.intern(Type::Tensor(tensor)),
            Ty::Token => module.types.intern(Type::Token),
            Ty::Tuple(items) => module.types.intern(Type::Tuple(items)),
        })
        .collect())
}

/// A result type that may not be interned yet.
#[derive(Debug)]
pub(crate) enum Ty {
    /// An interned type, usually an operand's.
    Same(TypeId),
    /// A tensor type.
    Tensor(TensorType),
    /// The type of a token.
    Token,
    /// The type of a tuple of values with these types.
    Tuple(Vec<TypeId>),
}

/// Why there is no inferred type.
#[derive(Debug)]
pub(crate) enum Fail {
    /// The operation violates a constraint.
    Wrong(String),
    /// The operands do not determine the result type.
    Free,
    /// An operand has a type that shardc does not support.
    Unknown,
}

pub(crate) type Res<T> = Result<T, Fail>;
pub(crate) type Types = SmallVec<[Ty; 1]>;

/// Fails with a message unless the condition holds.
macro_rules! ensure {
    ($cond:expr, $($arg:tt)*) => {
        if !$cond {
            return Err($crate::infer::Fail::Wrong(format!($($arg)*)));
        }
    };
}
pub(crate) use ensure;

/// An operation that may not be in the module yet.
pub(crate) struct Ctx<'m> {
    pub(crate) module: &'m Module,
    pub(crate) kind: &'m OpKind,
    pub(crate) operands: &'m [ValueId],
    pub(crate) regions: &'m [RegionId],
    /// For each operand, then for each result: if it is quantized, a tensor of its expressed type. Empty if none is quantized, or if
    /// quantized values are not supported by the caller (`infer_types`).
    pub(crate) stand_ins: &'m [Option<TensorType>],
}

impl<'m> Ctx<'m> {
    /// Returns the interned type of operand `i`.
    pub(crate) fn ty(&self, i: usize) -> Res<TypeId> {
        match self.operands.get(i) {
            Some(&v) => Ok(self.module.values[v].ty),
            None => Err(Fail::Wrong(format!(
                "{} has too few operands: {}",
                self.kind.name(),
                self.operands.len()
            ))),
        }
    }

    /// Returns operand `i`, which must be a tensor.
    pub(crate) fn tensor(&self, i: usize) -> Res<&'m TensorType> {
        let ty = self.ty(i)?;
        match self.module.types.get(ty) {
            Type::Tensor(tensor) => Ok(tensor),
            // Without stand-ins (`infer_types`), inference fails for a quantized operand: it does not determine the quantization of
            // results.
            Type::Quantized(_) => self.stand_ins.get(i).and_then(Option::as_ref).ok_or(Fail::Unknown),
            Type::Other(_) => Err(Fail::Unknown),
            Type::Token | Type::Tuple(_) => Err(Fail::Wrong(format!(
                "operand {i} of {} must be a tensor, got {}",
                self.kind.name(),
                self.module.types.display(ty)
            ))),
        }
    }

    /// Returns operand `i`, which must be a scalar tensor.
    pub(crate) fn scalar(&self, i: usize) -> Res<&'m TensorType> {
        let tensor = self.tensor(i)?;
        ensure!(tensor.rank() == 0, "operand {i} of {} must be a scalar, got {tensor}", self.kind.name());
        Ok(tensor)
    }

    /// Returns the operation's name, with its dialect.
    pub(crate) fn name(&self) -> &'m str {
        self.kind.name()
    }

    /// Returns the types that region `i` returns; `None` if it is missing or incomplete.
    pub(crate) fn yields(&self, i: usize) -> Option<impl ExactSizeIterator<Item = TypeId> + use<'m>> {
        let module = self.module;
        let end = module.terminator(*self.regions.get(i)?)?;
        Some(module.ops[end].operands.iter().map(move |&v| module.values[v].ty))
    }

    /// Returns the element type in which region `region` reduces elements of type `dtype` to value `i`; `dtype` if the region is missing.
    /// Fails unless the region's type has the same class as `dtype` and is at least as wide. For floats, any float type is accepted.
    pub(crate) fn accumulated(&self, region: usize, i: usize, dtype: DType) -> Res<DType> {
        let yielded = self.yields(region).and_then(|mut types| types.nth(i));
        let Some(body) = yielded.and_then(|ty| self.module.types.as_tensor(ty)) else { return Ok(dtype) };
        ensure!(
            promotes(dtype, body.dtype),
            "{} combines elements of type {dtype} in {}, which cannot represent them",
            self.name(),
            body.dtype
        );
        Ok(body.dtype)
    }
}

/// Whether elements of type `from` may be promoted to type `to`.
fn promotes(from: DType, to: DType) -> bool {
    use DTypeClass as C;
    let family = |class| match class {
        C::Bool | C::Signed | C::Unsigned => C::Signed,
        other => other,
    };
    // As in StableHLO's verifier, `i1` is an integer type, and floats may lose precision.
    family(from.class()) == family(to.class()) && (from.is_float() || from.bits() <= to.bits())
}

/// Infers the result types of an operation, without interning them.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
pub(crate) fn infer(cx: &Ctx<'_>) -> Res<Types> {
    use OpKind as K;
    match cx.kind {
        K::Unary(op) => elementwise::unary(cx, *op),
        K::Binary(op) => elementwise::binary(cx, *op),
        K::Compare(..) => elementwise::compare(cx),
        K::Select => elementwise::select(cx),
        K::Clamp => elementwise::clamp(cx),
        K::ReducePrecision { exponent_bits, .. } => {
            let tensor = cx.tensor(0)?;
            ensure!(tensor.dtype.is_float(), "reduce_precision expects floats, got {}", tensor.dtype);
            ensure!(*exponent_bits > 0, "reduce_precision needs at least one exponent bit");
            same(cx, 0)
        }
        K::Convert
        | K::BitcastConvert
        | K::Constant(_)
        | K::Iota { .. }
        | K::BroadcastInDim { .. }
        | K::Reshape
        | K::RngBitGenerator { .. }
        | K::CustomCall(_)
        | K::ManualComputation(_)
        | K::Einsum { .. }
        | K::UnaryEinsum { .. }
        | K::TorchIndexSelect { .. }
        | K::UniformQuantize
        | K::UniformDequantize
        | K::Composite(_)
        | K::AsyncStart
        | K::AsyncDone
        | K::Infeed(_)
        | K::Recv(_)
        | K::NamedComputation(_)
        | K::Opaque(_) => Err(Fail::Free),
        K::Dynamic(DynamicOp::Gather(spec)) => gather::gather(cx, spec, cx.constant(2).as_deref()),
        K::Dynamic(DynamicOp::Convolution(spec)) => window::dynamic_convolution(cx, spec),
        K::Dynamic(
            DynamicOp::Reshape
            | DynamicOp::BroadcastInDim(_)
            | DynamicOp::Iota { .. }
            | DynamicOp::Pad
            | DynamicOp::RealSlice,
        ) => Err(Fail::Free),
        K::BatchNorm(kind, spec) => norm::batch_norm(cx, *kind, *spec),
        K::Map { dims } => norm::map(cx, dims),
        K::Rng(distribution) => dynamic::rng(cx, *distribution),
        K::GetDimensionSize { dim } => dynamic::get_dimension_size(cx, *dim),
        K::SetDimensionSize { dim } => dynamic::set_dimension_size(cx, *dim),
        K::Broadcast { sizes } => dynamic::broadcast(cx, sizes),
        K::CreateToken => Ok(smallvec![Ty::Token]),
        K::Outfeed { .. } => transfer::outfeed(cx),
        K::Send(spec) => transfer::send(cx, spec),
        K::CollectiveReduce(spec) => transfer::collective_reduce(cx, spec.has_dynamic_root),
        K::CrossReplicaSum(_) | K::DataFlowEdge(_) | K::FuncDataFlowEdge => same(cx, 0),
        K::Broadcasting(spec) => chlo::broadcasting(cx, spec),
        K::ConstantLike(value) => chlo::constant_like(cx, value),
        K::TopK { k, .. } => chlo::top_k(cx, *k),
        K::RaggedDot(spec) => chlo::ragged_dot(cx, spec),
        K::Scan(spec) => chlo::scan(cx, spec),
        K::Transpose { permutation } => shape::transpose(cx, permutation),
        K::Reverse { dims } => {
            let tensor = cx.tensor(0)?;
            distinct_dims(cx.name(), "dimensions", dims, tensor.rank())?;
            same(cx, 0)
        }
        K::Slice(spec) => shape::slice(cx, spec),
        K::DynamicSlice { sizes } => shape::dynamic_slice(cx, sizes),
        K::DynamicUpdateSlice => shape::dynamic_update_slice(cx),
        K::Concatenate { dim } => shape::concatenate(cx, *dim),
        K::Splice(spec) => shape::splice(cx, spec),
        K::Pad(spec) => shape::pad(cx, spec),
        K::DotGeneral(spec) => linalg::dot_general(cx, spec),
        K::Convolution(spec) => window::convolution(cx, spec),
        K::Reduce { dims } => reduction::reduce(cx, dims),
        K::ReduceWindow(spec) => window::reduce_window(cx, spec),
        K::SelectAndScatter(spec) => window::select_and_scatter(cx, spec),
        K::Sort { dim, .. } => reduction::sort(cx, dim.unwrap_or(-1)),
        K::Gather(spec) => gather::gather(cx, spec, Some(&spec.slice_sizes)),
        K::Scatter(spec) => gather::scatter(cx, spec),
        K::Fft { kind, length } => linalg::fft(cx, *kind, length),
        K::Cholesky { .. } => linalg::cholesky(cx),
        K::TriangularSolve(spec) => linalg::triangular_solve(cx, spec),
        K::While | K::OptimizationBarrier => (0..cx.operands.len()).map(|i| cx.ty(i).map(Ty::Same)).collect(),
        K::Case => {
            index_scalar(cx, DType::I32)?;
            branch(cx)
        }
        K::If => {
            index_scalar(cx, DType::I1)?;
            branch(cx)
        }
        K::Call { callee } => match cx.module.func_names.get(callee) {
            Some(&func) => Ok(cx.module.funcs[func].results.iter().map(|&ty| Ty::Same(ty)).collect()),
            // The types of a function that is kept as text are unknown.
            None if cx.module.kept_symbol(callee).is_some() => Err(Fail::Free),
            None => Err(Fail::Wrong(format!("there is no function @{callee}"))),
        },
        K::Return | K::ShardingGroup { .. } => Ok(smallvec![]),
        K::Tuple => {
            let items = (0..cx.operands.len()).map(|i| cx.ty(i)).collect::<Res<_>>()?;
            Ok(smallvec![Ty::Tuple(items)])
        }
        K::GetTupleElement { index } => match cx.module.types.get(cx.ty(0)?) {
            Type::Tuple(items) => match items.get(*index as usize) {
                Some(&item) => Ok(smallvec![Ty::Same(item)]),
                None => {
                    Err(Fail::Wrong(format!("a tuple of {} elements has no element {index}", items.len())))
                }
            },
            Type::Quantized(_) | Type::Other(_) => Err(Fail::Unknown),
            Type::Tensor(_) | Type::Token => {
                Err(Fail::Wrong("the operand of get_tuple_element must be a tuple".to_owned()))
            }
        },
        K::AfterAll => Ok(smallvec![Ty::Token]),
        K::AllReduce(_) => collective::all_reduce(cx),
        K::AllGather { dim, spec } => collective::all_gather(cx, *dim, spec),
        K::ReduceScatter { dim, spec } => collective::reduce_scatter(cx, *dim, spec),
        K::AllToAll { split_dim, concat_dim, split_count, spec } => {
            collective::all_to_all(cx, *split_dim, *concat_dim, *split_count, spec)
        }
        K::CollectiveBroadcast(spec) => transfer::with_root(cx, spec.has_dynamic_root),
        K::CollectivePermute(_) => {
            cx.tensor(0)?;
            same(cx, 0)
        }
        K::PartitionId | K::ReplicaId => Ok(tensor(&[], DType::UI32)),
        K::ShardingConstraint(_) | K::Reshard(_) | K::MeshCollective(_) | K::PropagationBarrier { .. } => {
            same(cx, 0)
        }
    }
}

/// Infers one result, with the type of operand `i`.
pub(crate) fn same(cx: &Ctx<'_>, i: usize) -> Res<Types> {
    Ok(smallvec![Ty::Same(cx.ty(i)?)])
}

/// Infers one result, a tensor with this shape and element type.
pub(crate) fn tensor(shape: &[i64], dtype: DType) -> Types {
    smallvec![Ty::Tensor(TensorType::new(shape, dtype))]
}

fn index_scalar(cx: &Ctx<'_>, dtype: DType) -> Res<()> {
    let index = cx.scalar(0)?;
    ensure!(index.dtype == dtype, "operand 0 of {} must be {dtype}, got {}", cx.name(), index.dtype);
    Ok(())
}

fn branch(cx: &Ctx<'_>) -> Res<Types> {
    match cx.yields(0) {
        Some(types) => Ok(types.map(Ty::Same).collect()),
        None => Err(Fail::Wrong(format!("region 0 of {} does not end with a return", cx.name()))),
    }
}

/// Whether two sizes may be equal: a dynamic size may equal any size.
pub(crate) fn size_fits(a: i64, b: i64) -> bool {
    a == b || a == DYNAMIC || b == DYNAMIC
}

/// Whether two shapes may be equal, given their dynamic sizes.
pub(crate) fn shape_fits(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| size_fits(a, b))
}

/// Whether two types may be equal. Dynamic sizes match any size within their bounds, and other encodings are ignored.
pub(crate) fn type_fits(module: &Module, a: TypeId, b: TypeId) -> bool {
    if a == b {
        return true;
    }
    match (module.types.get(a), module.types.get(b)) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype && shape_fits(&a.shape, &b.shape) && bounds_fit(a, b)
        }
        (Type::Quantized(a), Type::Quantized(b)) => {
            quant::element_fits(&a.element, &b.element) && shape_fits(&a.shape, &b.shape)
        }
        // Unranked types are kept as text, and `?` or `*` in a type may match anything.
        (Type::Other(a), Type::Other(b)) => [a, b].iter().any(|text| text.contains(['?', '*'])),
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| type_fits(module, a, b))
        }
        _ => false,
    }
}

/// Given two compatible dimension sizes, returns the static one.
pub(crate) fn known(a: i64, b: i64) -> i64 {
    if a == DYNAMIC { b } else { a }
}

/// Applies a function to a size; a dynamic size stays dynamic.
pub(crate) fn on_size(n: i64, f: impl FnOnce(i64) -> i64) -> i64 {
    if n == DYNAMIC { n } else { f(n) }
}

/// Prints a shape for messages: `[2, ?]`.
pub(crate) fn shape_text(shape: &[i64]) -> String {
    let sizes: Vec<String> =
        shape.iter().map(|&n| if n == DYNAMIC { "?".to_owned() } else { n.to_string() }).collect();
    format!("[{}]", sizes.join(", "))
}

/// Fails unless dimension numbers are in range and distinct.
pub(crate) fn distinct_dims(op: &str, what: &str, dims: &[u32], rank: usize) -> Res<()> {
    // The mask has `rank` entries, not `dims.len()`: a list of a million dimensions fails at the first dimension that is out of range or
    // repeated.
    let mut seen = mask(&[], rank);
    for &dim in dims {
        ensure!((dim as usize) < rank, "{what} {dims:?} of {op} must be less than the rank, {rank}");
        let twice = std::mem::replace(&mut seen[dim as usize], true);
        ensure!(!twice, "{what} {dims:?} of {op}: dimension {dim} is repeated");
    }
    Ok(())
}

/// Returns for each of `n` dimensions whether `dims` contains it: linear, where `contains` in a loop would be quadratic.
pub(crate) fn mask(dims: &[u32], n: usize) -> SmallVec<[bool; 16]> {
    let mut mask = SmallVec::from_elem(false, n);
    for &dim in dims {
        if let Some(entry) = mask.get_mut(dim as usize) {
            *entry = true;
        }
    }
    mask
}

/// Returns the shape without these dimensions.
pub(crate) fn without(shape: &[i64], dims: &[u32]) -> Shape {
    let gone = mask(dims, shape.len());
    shape.iter().zip(gone).filter(|&(_, gone)| !gone).map(|(&n, _)| n).collect()
}
