//! Damages: each changes one operation so that the program may compute something else.

use shardc_ir::{
    BinaryOp, CollectiveSpec, CompareDirection, Dense, Module, OpId, OpKind, ReplicaGroups, Span, UnaryOp,
};

use crate::edit;
use crate::random::Random;

/// A class of damages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Members of a replica group are exchanged.
    MemberOrder,
    /// Members of two groups, or the targets of two pairs of a permute, are exchanged.
    OtherMembers,
    /// All groups are others of the same size: those of another collective, or along another axis; a permute has the opposite direction.
    OtherGroups,
    /// A collective that keeps the shape is removed.
    Dropped,
    /// A collective that keeps the shape is repeated.
    Repeated,
    /// A reduction combines elements with another operation.
    OtherReduction,
    /// An integer constant or the bounds of a slice are shifted: offsets, indices, limits.
    ShiftedOffset,
    /// A select is removed: one of its values is used everywhere.
    RemovedMask,
    /// Operands of an operation that is not commutative are exchanged.
    SwappedOperands,
    /// A float constant is changed.
    ChangedConstant,
    /// An element-wise operation is replaced by another.
    OtherOperation,
}

impl Damage {
    /// Every class.
    pub const ALL: [Damage; 11] = [
        Damage::MemberOrder,
        Damage::OtherMembers,
        Damage::OtherGroups,
        Damage::Dropped,
        Damage::Repeated,
        Damage::OtherReduction,
        Damage::ShiftedOffset,
        Damage::RemovedMask,
        Damage::SwappedOperands,
        Damage::ChangedConstant,
        Damage::OtherOperation,
    ];

    /// The name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Damage::MemberOrder => "member-order",
            Damage::OtherMembers => "other-members",
            Damage::OtherGroups => "other-groups",
            Damage::Dropped => "dropped",
            Damage::Repeated => "repeated",
            Damage::OtherReduction => "other-reduction",
            Damage::ShiftedOffset => "shifted-offset",
            Damage::RemovedMask => "removed-mask",
            Damage::SwappedOperands => "swapped-operands",
            Damage::ChangedConstant => "changed-constant",
            Damage::OtherOperation => "other-operation",
        }
    }
}

/// Positions in the text of a damaged program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damaged {
    /// The damaged operation; if it was removed, its users and the producer of the value that replaces it.
    pub exact: Vec<Span>,
    /// The producers of its operands and the users of its results.
    pub near: Vec<Span>,
}

/// The operations of a program that admit a damage.
#[must_use]
pub fn sites(module: &Module, damage: Damage) -> Vec<OpId> {
    edit::ops(module).into_iter().filter(|&op| admits(module, op, damage)).collect()
}

fn keeps_shape(kind: &OpKind) -> bool {
    matches!(kind, OpKind::AllReduce(_) | OpKind::CollectivePermute(_))
}

fn admits(module: &Module, op: OpId, damage: Damage) -> bool {
    let data = &module.ops[op];
    let is_permute = matches!(data.kind, OpKind::CollectivePermute(_));
    let groups = edit::spec(&data.kind).map(|spec| &spec.groups);
    let dtype = data.results.first().and_then(|&value| module.tensor(value)).map(|ty| ty.dtype);
    match damage {
        Damage::MemberOrder => !is_permute && groups.and_then(ReplicaGroups::group_size) > Some(1),
        Damage::OtherMembers | Damage::OtherGroups => groups.is_some_and(|groups| groups.len() > 1),
        Damage::Dropped | Damage::Repeated => keeps_shape(&data.kind),
        Damage::OtherReduction => {
            let kind = &data.kind;
            matches!(kind, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. } | OpKind::Reduce { .. })
        }
        Damage::ShiftedOffset => match &data.kind {
            OpKind::Slice(_) => true,
            OpKind::Constant(Dense::Splat(_) | Dense::Elements(_)) => {
                dtype.is_some_and(|dtype| !dtype.is_float() && dtype.bytes() > 0 && dtype.bits() >= 8)
            }
            _ => false,
        },
        Damage::ChangedConstant => {
            matches!(data.kind, OpKind::Constant(Dense::Splat(_) | Dense::Elements(_)))
                && dtype.is_some_and(|dtype| dtype.is_float() && dtype.bytes() > 1)
        }
        Damage::RemovedMask => matches!(data.kind, OpKind::Select),
        Damage::SwappedOperands => match &data.kind {
            OpKind::Binary(op) => !op.is_commutative(),
            OpKind::DynamicSlice { .. } => data.operands.len() > 2,
            OpKind::Select | OpKind::Compare(..) | OpKind::DotGeneral(_) | OpKind::Concatenate { .. } => {
                data.operands.len() > 1
            }
            _ => false,
        },
        Damage::OtherOperation => other_operation(&data.kind).is_some(),
    }
}

fn other_operation(kind: &OpKind) -> Option<OpKind> {
    Some(match kind {
        OpKind::Binary(op) => OpKind::Binary(match op {
            BinaryOp::Add => BinaryOp::Subtract,
            BinaryOp::Subtract | BinaryOp::Multiply => BinaryOp::Add,
            BinaryOp::Divide => BinaryOp::Multiply,
            BinaryOp::Maximum => BinaryOp::Minimum,
            BinaryOp::Minimum => BinaryOp::Maximum,
            BinaryOp::And => BinaryOp::Or,
            BinaryOp::Or | BinaryOp::Xor => BinaryOp::And,
            BinaryOp::ShiftLeft => BinaryOp::ShiftRightLogical,
            BinaryOp::ShiftRightLogical => BinaryOp::ShiftLeft,
            _ => return None,
        }),
        OpKind::Unary(op) => OpKind::Unary(match op {
            UnaryOp::Exponential => UnaryOp::ExponentialMinusOne,
            UnaryOp::Log => UnaryOp::LogPlusOne,
            UnaryOp::Rsqrt => UnaryOp::Sqrt,
            UnaryOp::Sqrt => UnaryOp::Rsqrt,
            UnaryOp::Sine => UnaryOp::Cosine,
            UnaryOp::Cosine => UnaryOp::Sine,
            UnaryOp::Tanh => UnaryOp::Logistic,
            UnaryOp::Logistic => UnaryOp::Tanh,
            UnaryOp::Negate => UnaryOp::Abs,
            UnaryOp::Abs => UnaryOp::Negate,
            _ => return None,
        }),
        OpKind::Compare(direction, ty) => {
            let other = match direction {
                CompareDirection::EQ => CompareDirection::NE,
                CompareDirection::NE => CompareDirection::EQ,
                CompareDirection::GE => CompareDirection::GT,
                CompareDirection::GT => CompareDirection::GE,
                CompareDirection::LE => CompareDirection::LT,
                CompareDirection::LT => CompareDirection::LE,
            };
            OpKind::Compare(other, *ty)
        }
        _ => return None,
    })
}

/// Applies a damage to an operation that admits it. `None` if it changes nothing; the module may then be changed in part.
pub fn apply(module: &mut Module, op: OpId, damage: Damage, random: &mut Random) -> Option<Damaged> {
    let near = edit::neighbors(module, op);
    let span = module.ops[op].span;
    let is_removed = matches!(damage, Damage::Dropped | Damage::RemovedMask);
    match damage {
        Damage::MemberOrder | Damage::OtherMembers | Damage::OtherGroups => {
            let others = other_groups(module, op);
            let spec = edit::spec_mut(&mut module.ops[op].kind)?;
            regroup(spec, damage, &others, random)?;
        }
        Damage::Dropped => {
            let data = module.ops[op].clone();
            for (&result, &operand) in data.results.iter().zip(&data.operands) {
                edit::replace(module, result, operand, None);
            }
            edit::remove(module, op);
        }
        Damage::Repeated => {
            let data = module.ops[op].clone();
            let parts = (data.kind, &data.results[..], &data.regions[..]);
            // The second operation shares no region with the first.
            let regions: Vec<_> = data
                .regions
                .iter()
                .map(|&region| {
                    shardc_ir::rewrite::clone_region(module, region, &mut shardc_ir::rewrite::ValueMap::new())
                })
                .collect();
            let again = edit::insert(module, op, true, (parts.0, parts.1, &regions), &data.results)?;
            for (at, &result) in data.results.iter().enumerate() {
                let new = *module.ops[again].results.get(at)?;
                edit::replace(module, result, new, Some(again));
            }
        }
        Damage::OtherReduction => {
            let region = *module.ops[op].regions.first()?;
            for inner in module.regions[region].ops.clone() {
                if let OpKind::Binary(kind) = &mut module.ops[inner].kind {
                    let others: &[BinaryOp] = match kind {
                        BinaryOp::And | BinaryOp::Or => &[BinaryOp::And, BinaryOp::Or],
                        _ => &[BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum],
                    };
                    let others: Vec<BinaryOp> =
                        others.iter().copied().filter(|other| other != kind).collect();
                    *kind = *random.choose(&others)?;
                }
            }
        }
        Damage::ShiftedOffset | Damage::ChangedConstant => {
            let shape = module.shape(*module.ops[op].operands.first().unwrap_or(&module.ops[op].results[0]));
            let shape = shape.to_vec();
            let dtype = module.tensor(*module.ops[op].results.first()?)?.dtype;
            match &mut module.ops[op].kind {
                OpKind::Constant(dense) => change(dense, dtype.bytes(), dtype.is_float(), random)?,
                OpKind::Slice(spec) => {
                    let moves: Vec<(usize, i64)> = (0..shape.len())
                        .flat_map(|dim| [(dim, 1), (dim, -1)])
                        .filter(|&(dim, by)| spec.start[dim] + by >= 0 && spec.limit[dim] + by <= shape[dim])
                        .collect();
                    let &(dim, by) = random.choose(&moves)?;
                    spec.start[dim] += by;
                    spec.limit[dim] += by;
                }
                _ => return None,
            }
        }
        Damage::RemovedMask => {
            let data = module.ops[op].clone();
            let value = *data.operands.get(1 + random.below(2))?;
            edit::replace(module, *data.results.first()?, value, None);
            edit::remove(module, op);
        }
        Damage::SwappedOperands => {
            let data = &mut module.ops[op];
            let (a, b) = match data.kind {
                OpKind::Select => (1, 2),
                OpKind::DynamicSlice { .. } | OpKind::Concatenate { .. } => {
                    let first = usize::from(matches!(data.kind, OpKind::DynamicSlice { .. }));
                    let (a, b) = random.pair(data.operands.len() - first)?;
                    (a + first, b + first)
                }
                _ => (0, 1),
            };
            if data.operands.get(a)? == data.operands.get(b)? {
                return None;
            }
            data.operands.swap(a, b);
        }
        Damage::OtherOperation => module.ops[op].kind = other_operation(&module.ops[op].kind)?,
    }
    Some(match is_removed {
        true => Damaged { exact: near, near: Vec::new() },
        false => Damaged { exact: vec![span], near },
    })
}

/// The groups of other collectives with as many members, and groups along other axes.
fn other_groups(module: &Module, op: OpId) -> Vec<ReplicaGroups> {
    let Some(own) = edit::spec(&module.ops[op].kind).map(|spec| spec.groups.clone()) else {
        return Vec::new();
    };
    let mut found: Vec<ReplicaGroups> = Vec::new();
    if let (OpKind::CollectivePermute(_), lists) = (&module.ops[op].kind, own.to_lists()) {
        found.push(lists.into_iter().map(|pair| pair.into_iter().rev().collect::<Vec<_>>()).collect());
    } else if let Some(size) = own.group_size() {
        let specs = edit::ops(module)
            .into_iter()
            .filter(|&other| !matches!(module.ops[other].kind, OpKind::CollectivePermute(_)));
        found.extend(
            specs
                .filter_map(|other| edit::spec(&module.ops[other].kind))
                .map(|spec| spec.groups.clone())
                .filter(|groups| groups.group_size() == Some(size) && groups.len() == own.len()),
        );
        // The ids column by column.
        let ids: Vec<i64> = own.ids().collect();
        let columns: Vec<i64> =
            (0..size).flat_map(|column| ids.iter().copied().skip(column).step_by(size)).collect();
        found.push(ReplicaGroups::matrix(columns, size));
    }
    found.retain(|groups| *groups != own);
    found.sort_by_key(ReplicaGroups::to_lists);
    found.dedup();
    found
}

fn regroup(
    spec: &mut CollectiveSpec,
    damage: Damage,
    others: &[ReplicaGroups],
    random: &mut Random,
) -> Option<()> {
    spec.mesh_axes = None;
    if damage == Damage::OtherGroups {
        spec.groups = random.choose(others)?.clone();
        return Some(());
    }
    let width = spec.groups.group_size()?;
    spec.groups.edit(|lists| {
        if damage == Damage::MemberOrder {
            let group = random.below(lists.len());
            let (a, b) = random.pair(width)?;
            lists.get_mut(group)?.swap(a, b);
            return Some(());
        }
        // In pairs of a permute, the targets.
        let (a, b) = random.pair(lists.len())?;
        let at = if width == 2 { 1 } else { random.below(width) };
        let (one, two) = (*lists.get(a)?.get(at)?, *lists.get(b)?.get(at)?);
        *lists.get_mut(a)?.get_mut(at)? = two;
        *lists.get_mut(b)?.get_mut(at)? = one;
        Some(())
    })
}

/// Changes one element of a constant: an integer by one, a float by a bit of its exponent or the first bit after the point.
fn change(dense: &mut Dense, width: usize, is_float: bool, random: &mut Random) -> Option<()> {
    let mut bytes = match dense {
        Dense::Splat(bytes) => bytes.to_vec(),
        Dense::Elements(bytes) => bytes.to_vec(),
        Dense::Resource(_) | Dense::Raw(_) => return None,
    };
    let start = random.below(bytes.len().checked_div(width)?) * width;
    let element = bytes.get_mut(start..start + width)?;
    if is_float {
        // Bits 6 and 7 of the last but one byte are the last bit of the exponent and the first of the mantissa of most formats.
        let byte = element.get_mut(width.checked_sub(2)?)?;
        *byte ^= if random.below(2) == 0 { 0x80 } else { 0x40 };
    } else {
        let mut carry = if random.below(2) == 0 { 1u8 } else { 0xff };
        let step = carry;
        for byte in element {
            let (sum, overflows) = byte.overflowing_add(carry);
            *byte = sum;
            // One more carries on overflow; one less borrows unless it overflows.
            match (step, overflows) {
                (1, true) => carry = 1,
                (0xff, false) => carry = 0xff,
                _ => break,
            }
        }
    }
    *dense = match dense {
        Dense::Splat(_) => Dense::splat(&bytes),
        _ => Dense::compact(width, bytes),
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_change_by_one() {
        for value in [0i32, 255, 256, -1, 7] {
            let mut found = Vec::new();
            for seed in 0..16 {
                let mut dense = Dense::splat(&value.to_le_bytes());
                change(&mut dense, 4, false, &mut Random::new(seed)).unwrap();
                let Dense::Splat(bytes) = dense else { panic!("{dense:?}") };
                found.push(i32::from_le_bytes(bytes.as_slice().try_into().unwrap()).wrapping_sub(value));
            }
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, [-1, 1]);
        }
    }
}
