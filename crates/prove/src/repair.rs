//! Changes of one operation that may correct it: other replica groups, another reduction, other operands, another constant.

use std::fmt::Write as _;

use shardc_ir::{
    BinaryOp, Channel, CollectiveSpec, CompareDirection, Dense, Module, OpId, OpKind, ReductionKind,
    ReplicaGroups, SliceSpec, UnaryOp, ValueId, reducer,
};
use smallvec::SmallVec;

use crate::boundary::{AxisDigit, Boundary};

/// A change of an operation.
pub(crate) enum Repair {
    /// It has other attributes or is another operation.
    Kind(OpKind),
    /// It has other operands.
    Operands(SmallVec<[ValueId; 3]>),
    /// Its region combines elements with another operation.
    Reduction(BinaryOp),
    /// It returns its operands.
    Removed,
    /// Its result is reduced over groups, or permuted.
    Followed(OpKind, ReductionKind),
}

impl Repair {
    /// Changes the operation.
    pub(crate) fn apply(&self, module: &mut Module, op: OpId) {
        match self {
            Repair::Kind(kind) => module.ops[op].kind = kind.clone(),
            Repair::Operands(operands) => module.ops[op].operands.clone_from(operands),
            Repair::Reduction(other) => {
                let inner = module.ops[op].regions.first().map(|&region| module.regions[region].ops.to_vec());
                for inner in inner.unwrap_or_default() {
                    if let OpKind::Binary(kind) = &mut module.ops[inner].kind {
                        *kind = *other;
                    }
                }
            }
            Repair::Removed => {
                module.ops[op].kind = OpKind::OptimizationBarrier;
                module.ops[op].regions.clear();
            }
            Repair::Followed(kind, reduction) => follow(module, op, kind, *reduction),
        }
    }

    /// The change as the end of a sentence.
    pub(crate) fn text(&self, module: &Module, op: OpId) -> String {
        match self {
            Repair::Kind(kind) => match (kind, groups(kind)) {
                (_, Some(groups)) => {
                    let mut text = format!("with groups {groups:?}");
                    if text.len() > 200 {
                        text = "with other groups".to_owned();
                    }
                    text
                }
                (OpKind::Constant(_), _) => "with another value".to_owned(),
                (OpKind::Slice(spec), _) => format!("from {:?} to {:?}", spec.start, spec.limit),
                (OpKind::Compare(direction, _), _) => format!("as comparison {direction:?}"),
                _ => format!("as {}", kind.name()),
            },
            Repair::Operands(operands) => {
                let old = &module.ops[op].operands;
                let mut text = "with operands".to_owned();
                for operand in operands {
                    let at = old.iter().position(|other| other == operand).unwrap_or_default();
                    let _ = write!(text, " {at}");
                }
                text + " in this order"
            }
            Repair::Reduction(other) => format!("with the reduction {}", OpKind::Binary(*other).name()),
            Repair::Removed => "removed".to_owned(),
            Repair::Followed(kind, reduction) => {
                let groups = groups(kind).map(|groups| format!("{groups:?}")).unwrap_or_default();
                match kind {
                    OpKind::AllReduce(_) => {
                        format!("followed by {} with {reduction:?} and groups {groups}", kind.name())
                    }
                    _ => format!("followed by {} with pairs {groups}", kind.name()),
                }
            }
        }
    }
}

/// Inserts a collective after an operation, for all users of its result.
fn follow(module: &mut Module, op: OpId, kind: &OpKind, reduction: ReductionKind) {
    let (Some(&old), Some(dtype)) = (module.ops[op].results.first(), data_type(module, op)) else { return };
    let regions = module.bodies().flat_map(|body| module.regions_under(body)).collect::<Vec<_>>();
    let place = regions
        .into_iter()
        .find_map(|region| Some((region, module.regions[region].ops.iter().position(|&other| other == op)?)));
    let Some((region, at)) = place else { return };
    let combine: Vec<_> = matches!(kind, OpKind::AllReduce(_))
        .then(|| reducer::reducer(module, reduction, dtype))
        .into_iter()
        .collect();
    let ty = module.values[old].ty;
    let new = module.add_op(kind.clone(), &[old], &[ty], &combine);
    let Some(&value) = module.ops[new].results.first() else { return };
    for (_, data) in module.ops.iter_mut().filter(|(other, _)| *other != new) {
        data.operands.iter_mut().filter(|operand| **operand == old).for_each(|operand| *operand = value);
    }
    module.insert_op(region, at + 1, new);
}

fn groups(kind: &OpKind) -> Option<&ReplicaGroups> {
    kind.collective().map(|spec| &spec.groups)
}

fn with_groups(kind: &OpKind, groups: ReplicaGroups) -> OpKind {
    let mut kind = kind.clone();
    if let Some(spec) = kind.collective_mut() {
        (spec.groups, spec.mesh_axes) = (groups, None);
    }
    kind
}

/// Groups, constants and collectives that repairs may use.
pub(crate) struct Materials {
    /// Groups along axes of the mesh.
    groups: Vec<ReplicaGroups>,
    /// Scalar constants of the original.
    constants: Vec<Dense>,
    /// Collectives that may follow an operation.
    collectives: Vec<OpKind>,
}

impl Materials {
    pub(crate) fn new(original: &Module, boundary: &Boundary, axes: &[Vec<AxisDigit>]) -> Materials {
        let ids = &boundary.device_ids;
        let along = |digits: &Vec<AxisDigit>| -> ReplicaGroups {
            let place = |position: u64| {
                digits
                    .iter()
                    .rev()
                    .fold(0, |at, digit| at * digit.size + position / digit.stride % digit.size)
            };
            let rest = |position: u64| {
                digits
                    .iter()
                    .fold(position, |rest, digit| rest - position / digit.stride % digit.size * digit.stride)
            };
            let mut order: Vec<u64> = (0..ids.len() as u64).collect();
            order.sort_by_key(|&position| (rest(position), place(position)));
            let width = digits.iter().map(|digit| digit.size as usize).product();
            ReplicaGroups::matrix(
                order.iter().filter_map(|&at| ids.get(at as usize).copied()).collect(),
                width,
            )
        };
        let mut constants = Vec::new();
        for op in original.ops.values() {
            match &op.kind {
                OpKind::Constant(dense @ Dense::Splat(_)) if !constants.contains(dense) => {
                    constants.push(dense.clone());
                }
                _ => {}
            }
        }
        let groups: Vec<ReplicaGroups> = axes.iter().map(along).collect();
        let spec = |groups: &ReplicaGroups| {
            Box::new(CollectiveSpec {
                groups: groups.clone(),
                mesh_axes: None,
                channel: boundary.are_partitions.then(|| Channel::between_devices(1)),
                use_global_device_ids: boundary.are_partitions,
                has_dynamic_root: false,
            })
        };
        let sums = groups.iter().map(|groups| OpKind::AllReduce(spec(groups)));
        let shifts = groups.iter().flat_map(shifts).map(|pairs| {
            let mut spec = spec(&pairs);
            spec.use_global_device_ids = false;
            OpKind::CollectivePermute(spec)
        });
        let collectives = sums.chain(shifts).collect();
        Materials { groups, constants, collectives }
    }

    /// The repairs of an operation.
    pub(crate) fn repairs(&self, module: &Module, op: OpId) -> Vec<Repair> {
        let data = &module.ops[op];
        let swapped = |a: usize, b: usize| {
            let mut operands = data.operands.clone();
            (a < operands.len() && b < operands.len() && operands[a] != operands[b]).then(|| {
                operands.swap(a, b);
                Repair::Operands(operands)
            })
        };
        let mut found = Vec::new();
        match &data.kind {
            OpKind::CollectivePermute(spec) => {
                found.push(Repair::Removed);
                found.extend(pairs(&spec.groups).into_iter().map(|groups| with(&data.kind, groups)));
            }
            kind if groups(kind).is_some() => {
                let own = groups(kind).cloned().unwrap_or_default();
                // The size of a group decides the shape of the result, except for an all-reduce.
                let has_any_size = matches!(kind, OpKind::AllReduce(_));
                let fits = |groups: &&ReplicaGroups| {
                    let is_equal = groups.group_size() == own.group_size() && groups.len() == own.len();
                    (has_any_size || is_equal) && **groups != own
                };
                found.extend(self.groups.iter().filter(fits).map(|groups| with(kind, groups.clone())));
                if matches!(kind, OpKind::AllReduce(_)) {
                    found.push(Repair::Removed);
                }
                found.extend(reductions(module, op));
            }
            OpKind::Reduce { .. } => found.extend(reductions(module, op)),
            OpKind::Binary(kind) => {
                found.extend((!kind.is_commutative()).then(|| swapped(0, 1)).flatten());
                let others: &[BinaryOp] = match kind {
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                        &[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]
                    }
                    BinaryOp::ShiftLeft | BinaryOp::ShiftRightLogical => {
                        &[BinaryOp::ShiftLeft, BinaryOp::ShiftRightLogical]
                    }
                    _ => &[
                        BinaryOp::Add,
                        BinaryOp::Subtract,
                        BinaryOp::Multiply,
                        BinaryOp::Divide,
                        BinaryOp::Maximum,
                        BinaryOp::Minimum,
                    ],
                };
                let others = others.iter().filter(|other| *other != kind);
                found.extend(others.map(|&other| Repair::Kind(OpKind::Binary(other))));
            }
            OpKind::Unary(kind) => found.extend(
                [
                    UnaryOp::Exponential,
                    UnaryOp::ExponentialMinusOne,
                    UnaryOp::Log,
                    UnaryOp::LogPlusOne,
                    UnaryOp::Sqrt,
                    UnaryOp::Rsqrt,
                    UnaryOp::Sine,
                    UnaryOp::Cosine,
                    UnaryOp::Tanh,
                    UnaryOp::Logistic,
                    UnaryOp::Negate,
                    UnaryOp::Abs,
                ]
                .into_iter()
                .filter(|other| other != kind)
                .map(|other| Repair::Kind(OpKind::Unary(other))),
            ),
            OpKind::Compare(direction, ty) => {
                found.extend(swapped(0, 1));
                let others = [
                    CompareDirection::EQ,
                    CompareDirection::NE,
                    CompareDirection::GE,
                    CompareDirection::GT,
                    CompareDirection::LE,
                    CompareDirection::LT,
                ];
                let others = others.into_iter().filter(|other| other != direction);
                found.extend(others.map(|other| Repair::Kind(OpKind::Compare(other, *ty))));
            }
            OpKind::Select => found.extend(swapped(1, 2)),
            OpKind::DotGeneral(_) => found.extend(swapped(0, 1)),
            OpKind::Concatenate { .. } | OpKind::DynamicSlice { .. } => {
                let first = usize::from(matches!(data.kind, OpKind::DynamicSlice { .. }));
                let ends = (first..data.operands.len().min(8)).flat_map(|a| (first..a).map(move |b| (b, a)));
                found.extend(ends.filter_map(|(a, b)| swapped(a, b)));
            }
            OpKind::Slice(spec) => found.extend(slices(module, op, spec)),
            OpKind::Constant(dense) => found.extend(self.constants(module, op, dense)),
            _ => {}
        }
        found
    }

    /// Collectives after an operation: a missing reduction or shift.
    pub(crate) fn followed(&self, module: &Module, op: OpId) -> Vec<Repair> {
        let is_real = data_type(module, op).is_some_and(|dtype| dtype.is_float());
        if module.ops[op].results.len() != 1 || matches!(module.ops[op].kind, OpKind::Constant(_)) {
            return Vec::new();
        }
        let one = |kind: &OpKind| match kind {
            OpKind::AllReduce(_) => {
                let joins: &[ReductionKind] =
                    if is_real { &[ReductionKind::Add, ReductionKind::Max] } else { &[ReductionKind::Add] };
                joins.iter().map(|&join| Repair::Followed(kind.clone(), join)).collect()
            }
            _ => vec![Repair::Followed(kind.clone(), ReductionKind::Add)],
        };
        self.collectives.iter().flat_map(one).collect()
    }

    /// Integers that differ by one in one element, and scalar constants of the original.
    fn constants(&self, module: &Module, op: OpId, dense: &Dense) -> Vec<Repair> {
        let Some(ty) = data_type(module, op) else { return Vec::new() };
        let width = ty.bytes();
        let (bytes, is_splat) = match dense {
            Dense::Splat(bytes) => (bytes.to_vec(), true),
            Dense::Elements(bytes) => (bytes.to_vec(), false),
            Dense::Resource(_) | Dense::Raw(_) => return Vec::new(),
        };
        if ty.is_float() {
            let fits = |other: &&Dense| {
                matches!(other, Dense::Splat(bytes) if bytes.len() == width) && *other != dense && is_splat
            };
            return self.constants.iter().filter(fits).map(|dense| constant(dense.clone())).collect();
        }
        if width == 0 || width > 8 || ty.bits() < 8 || bytes.len() > 32 * width {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (start, by) in
            (0..bytes.len()).step_by(width).flat_map(|start| [(start, 1u64), (start, u64::MAX)])
        {
            let mut other = bytes.clone();
            let mut word = [0; 8];
            word[..width].copy_from_slice(&other[start..start + width]);
            let sum = u64::from_le_bytes(word).wrapping_add(by);
            other[start..start + width].copy_from_slice(&sum.to_le_bytes()[..width]);
            found.push(constant(if is_splat { Dense::splat(&other) } else { Dense::compact(width, other) }));
        }
        found
    }
}

/// Slices that begin one element earlier or later.
fn slices(module: &Module, op: OpId, spec: &SliceSpec) -> Vec<Repair> {
    let mut found = Vec::new();
    for (dim, &size) in module.shape(module.ops[op].operands[0]).iter().enumerate() {
        for by in [-1, 1] {
            let mut spec = spec.clone();
            spec.start[dim] += by;
            spec.limit[dim] += by;
            if spec.start[dim] >= 0 && spec.limit[dim] <= size {
                found.push(Repair::Kind(OpKind::Slice(Box::new(spec))));
            }
        }
    }
    found
}

fn data_type(module: &Module, op: OpId) -> Option<shardc_ir::DType> {
    module.ops[op].results.first().and_then(|&value| module.tensor(value)).map(|ty| ty.dtype)
}

fn constant(dense: Dense) -> Repair {
    Repair::Kind(OpKind::Constant(dense))
}

fn with(kind: &OpKind, groups: ReplicaGroups) -> Repair {
    Repair::Kind(with_groups(kind, groups))
}

/// Other reductions of a region.
fn reductions(module: &Module, op: OpId) -> Vec<Repair> {
    let found = module.ops[op].regions.first().and_then(|&region| {
        reducer::reduction_of(module, region, 1)
            .or_else(|| reducer::reduction_of(module, region, module.ops[op].results.len()))
    });
    let others: &[BinaryOp] = match found.map(|kind| kind.op()) {
        None => &[],
        Some(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => &[BinaryOp::And, BinaryOp::Or],
        Some(_) => &[BinaryOp::Add, BinaryOp::Maximum, BinaryOp::Minimum, BinaryOp::Multiply],
    };
    let others = others.iter().filter(|&&other| found.map(|kind| kind.op()) != Some(other));
    others.map(|&other| Repair::Reduction(other)).collect()
}

/// Permutes by one device along groups, in both directions, with and without the device at the end.
fn shifts(groups: &ReplicaGroups) -> Vec<ReplicaGroups> {
    let lists = groups.to_lists();
    let shift = |forward: bool, wraps: bool| -> ReplicaGroups {
        let pairs = lists.iter().flat_map(|list| {
            let ends = list.iter().zip(list.iter().cycle().skip(1)).take(list.len() - usize::from(!wraps));
            ends.map(|(&a, &b)| if forward { (a, b) } else { (b, a) })
        });
        ReplicaGroups::pairs(pairs)
    };
    vec![shift(true, true), shift(false, true), shift(true, false), shift(false, false)]
}

/// The most pairs of a permute of which two targets are exchanged.
const MOST_PAIRS: usize = 8;

/// Other pairs of a permute: the opposite direction, and two targets exchanged.
fn pairs(own: &ReplicaGroups) -> Vec<ReplicaGroups> {
    let lists = own.to_lists();
    let mut found: Vec<ReplicaGroups> =
        vec![lists.iter().map(|pair| pair.iter().rev().copied().collect::<Vec<_>>()).collect()];
    let count = lists.len().min(MOST_PAIRS);
    for (a, b) in (0..count).flat_map(|a| (0..a).map(move |b| (b, a))) {
        let mut lists = lists.clone();
        let (one, two) = (lists[a][1], lists[b][1]);
        (lists[a][1], lists[b][1]) = (two, one);
        found.push(lists.into());
    }
    found
}
