//! Folds slices into the concatenation that reads them.
//!
//! `concatenate(x[4:], x[:4])` rolls `x`. Of a dimension that is split, each slice would be cut into equal blocks first, and
//! so would their concatenation after that: most elements move twice, to devices where nobody needs them. As a *splice* of
//! `x` each device gets its block from those that hold it. The same goes for shifts, for padding that wraps around and for
//! what else is put together of ranges of a few values.
//!
//! What is taken at a place that the program says is a slice first ([`known_slices`]).
//!
//! A slice that is cheaper by itself stays: of one that takes a few elements, which one device holds, others would have to
//! get theirs one after the other.

use rustc_hash::FxHashSet;
use shardc_ir::{
    Mesh, MeshId, Module, OpId, OpKind, RegionId, SliceSpec, SplicePiece, SpliceSpec, TensorSharding,
    UseCounts, ValueId,
};
use smallvec::SmallVec;

use super::known_slices::known_slices;
use crate::analysis::regions::program_regions;
use crate::cost;
use crate::windows::{Along, Exchange, transfers};

/// A concatenation of more operands is left as it is: it would hardly be done in as many rounds.
const MAX_OPERANDS: usize = 64;

/// No more slices of slices than these are looked through.
const MAX_DEPTH: usize = 8;

/// Folds slices everywhere under `body` of a propagated module. Slices that are no longer needed stay, unused.
pub fn fold_slices(module: &mut Module, body: RegionId) {
    known_slices(module, body);
    let mut readers = None;
    for region in program_regions(module, body) {
        let mut slices = FxHashSet::default();
        for op in module.regions[region].ops.clone() {
            match module.ops[op].kind {
                OpKind::Slice(_) => {
                    slices.insert(op);
                }
                OpKind::Concatenate { dim } if !slices.is_empty() => {
                    let readers = readers.get_or_insert_with(|| UseCounts::under(module, body));
                    if let Some(splice) = Splice::of(module, op, dim as usize, &slices)
                        && splice.pays_off(module, op, readers)
                    {
                        let SpliceOperands { operands, pieces, .. } = splice.operands;
                        module.ops[op].kind = OpKind::Splice(Box::new(SpliceSpec { dim, pieces }));
                        module.ops[op].operands = operands.into_iter().collect();
                    }
                }
                _ => {}
            }
        }
    }
}

/// A concatenation, read through the slices that it takes.
struct Splice {
    dim: usize,
    /// The mesh, and how many devices split the dimension of the result.
    mesh: MeshId,
    k: i64,
    /// The bytes that one index along the dimension stands for on a device.
    row_bytes: f64,
    operands: SpliceOperands,
}

/// What a splice takes, and from which slices that was read.
#[derive(Default)]
struct SpliceOperands {
    operands: SmallVec<[ValueId; 2]>,
    pieces: SmallVec<[SplicePiece; 2]>,
    /// The slices that were read through.
    through: Vec<OpId>,
}

impl Splice {
    /// Returns the splice that a concatenation along `dim` is, if its result is split there and it takes some of `slices`.
    fn of(module: &Module, op: OpId, dim: usize, slices: &FxHashSet<OpId>) -> Option<Splice> {
        let data = &module.ops[op];
        let result = *data.results.first()?;
        let sharding = module.shardings.sharding_of(result)?;
        let mesh = &module.meshes[sharding.mesh];
        let k = sharding.shards(mesh, dim);
        if k < 2 || data.operands.len() > MAX_OPERANDS {
            return None;
        }
        if !data.operands.iter().chain(&data.results).all(|&v| is_plain(module, v)) {
            return None;
        }
        let mut operands = SpliceOperands::default();
        for &operand in &data.operands {
            operands.add(module, operand, dim, sharding, slices);
        }
        if operands.through.is_empty() {
            return None;
        }
        let row_bytes = row_bytes(module, mesh, result, sharding, dim)?;
        Some(Splice { dim, mesh: sharding.mesh, k, row_bytes, operands })
    }

    /// Whether the splice costs less than the slices, as far as nobody else reads these, and their concatenation.
    fn pays_off(&self, module: &Module, op: OpId, readers: &UseCounts) -> bool {
        let kind = OpKind::Splice(Box::new(SpliceSpec {
            dim: self.dim as u32,
            pieces: self.operands.pieces.clone(),
        }));
        let data = &module.ops[op];
        let result = data.results[0];
        let Some(folded) = self.cost(module, &kind, &self.operands.operands, result) else { return false };
        let mut apart = self.cost(module, &data.kind, &data.operands, result);
        for &slice in &self.operands.through {
            let data = &module.ops[slice];
            if readers.get(data.results[0]) == 1 {
                let cost = self.cost(module, &data.kind, &data.operands, data.results[0]);
                apart = apart.zip(cost).map(|(a, b)| a + b);
            }
        }
        apart.is_none_or(|apart| folded <= apart)
    }

    /// Returns what an operation costs along the dimension, in bytes that a device sends; `None` where it takes too many
    /// rounds.
    fn cost(&self, module: &Module, kind: &OpKind, operands: &[ValueId], result: ValueId) -> Option<f64> {
        let shapes: SmallVec<[&[i64]; 2]> = operands.iter().map(|&v| module.shape(v)).collect();
        let mesh = &module.meshes[self.mesh];
        let is_split = |v: ValueId| {
            module.shardings.sharding_of(v).is_some_and(|sharding| sharding.shards(mesh, self.dim) > 1)
        };
        let size = *module.shape(result).get(self.dim)?;
        if size == 0 {
            return Some(0.0);
        }
        // A part that all devices are to have is sent to all of them.
        if !is_split(result) {
            let is_sent = operands.iter().any(|&v| is_split(v));
            return Some(if is_sent {
                cost::all_reduce(size as f64 * self.row_bytes, self.k as f64)
            } else {
                0.0
            });
        }
        let is_whole = |i: usize| operands.get(i).is_some_and(|&v| !is_split(v));
        let along = Along::Result(self.dim);
        let transfers = transfers(kind, &shapes, &is_whole, module.shape(result), along, self.k)?;
        let costs = transfers.iter().map(|transfer| {
            Exchange::new(&transfer.held, &transfer.window, self.row_bytes)
                .map(|exchange| exchange.cost(self.row_bytes))
        });
        costs.sum()
    }
}

impl SpliceOperands {
    /// Adds what an operand of the concatenation is: a range of another value where it is a slice of one that is split as
    /// the result is, else all of itself.
    fn add(
        &mut self,
        module: &Module,
        operand: ValueId,
        dim: usize,
        result: &TensorSharding,
        slices: &FxHashSet<OpId>,
    ) {
        let mut source = operand;
        let mut range = 0..module.shape(operand)[dim];
        for _ in 0..MAX_DEPTH {
            let Some(op) = module.def_op(source).filter(|op| slices.contains(op)) else { break };
            let data = &module.ops[op];
            let (OpKind::Slice(spec), &[from]) = (&data.kind, data.operands.as_slice()) else { break };
            let fits = is_plain(module, from)
                && cuts_only(spec, module.shape(from), dim)
                && is_split_alike(module, from, result, dim);
            if !fits {
                break;
            }
            self.through.push(op);
            range = range.start + spec.start[dim]..range.end + spec.start[dim];
            source = from;
        }
        let index = self.operands.iter().position(|&v| v == source).unwrap_or_else(|| {
            self.operands.push(source);
            self.operands.len() - 1
        });
        match self.pieces.last_mut() {
            // `x[2:4]` and `x[4:9]` side by side are `x[2:9]`.
            Some(last) if last.operand as usize == index && last.limit == range.start => {
                last.limit = range.end
            }
            _ => {
                self.pieces.push(SplicePiece { operand: index as u32, start: range.start, limit: range.end })
            }
        }
    }
}

/// Whether a value is a tensor of known size whose elements are numbers as they are.
fn is_plain(module: &Module, value: ValueId) -> bool {
    !module.is_quantized(value) && module.tensor(value).is_some_and(|ty| ty.is_static())
}

/// Whether a slice takes a range of dimension `dim`, and all of the others.
fn cuts_only(spec: &SliceSpec, shape: &[i64], dim: usize) -> bool {
    (0..shape.len())
        .all(|d| spec.stride[d] == 1 && (d == dim || spec.start[d] == 0 && spec.limit[d] == shape[d]))
}

/// Whether `value` is split as the result is, or whole along `dim`.
fn is_split_alike(module: &Module, value: ValueId, result: &TensorSharding, dim: usize) -> bool {
    module.shardings.sharding_of(value).is_some_and(|sharding| {
        let alike = |d: usize| sharding.axes(d) == result.axes(d);
        sharding.mesh == result.mesh
            && sharding.unreduced.is_empty()
            && (0..result.rank()).all(|d| alike(d) || d == dim && sharding.axes(d).is_empty())
    })
}

/// Returns the bytes that one index along `dim` of a value stands for on each device.
fn row_bytes(
    module: &Module,
    mesh: &Mesh,
    value: ValueId,
    sharding: &TensorSharding,
    dim: usize,
) -> Option<f64> {
    let ty = module.tensor(value)?;
    let mut row = sharding.local_shape(mesh, &ty.shape);
    *row.get_mut(dim)? = 1;
    let elements: f64 = row.iter().map(|&n| n as f64).product();
    Some(elements * f64::from(ty.dtype.bits()) / 8.0)
}
