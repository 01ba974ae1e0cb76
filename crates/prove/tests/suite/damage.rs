//! Damages of partitioned programs: each changes one operation so that the program may compute something else.

use shardc_ir::{BinaryOp, CollectiveSpec, Dense, EntityRef, Module, OpId, OpKind, ReplicaGroups};

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    /// Two members of a group change places.
    MemberOrder,
    /// Members of two groups are exchanged.
    OtherGroup,
    /// A collective that keeps the shape is removed.
    Dropped,
    /// An all-reduce is repeated.
    Repeated,
    /// A collective reduces with another operation.
    OtherReduction,
    /// An integer constant is one greater: offsets, indices, bounds.
    ShiftedInteger,
    /// A select returns its first value everywhere.
    RemovedMask,
    /// The operands of a difference or quotient change places.
    SwappedOperands,
    /// A float constant is changed.
    ChangedConstant,
    /// An element-wise operation is replaced by another.
    OtherOperation,
}

impl Damage {
    pub(crate) const ALL: [Damage; 10] = [
        Damage::MemberOrder,
        Damage::OtherGroup,
        Damage::Dropped,
        Damage::Repeated,
        Damage::OtherReduction,
        Damage::ShiftedInteger,
        Damage::RemovedMask,
        Damage::SwappedOperands,
        Damage::ChangedConstant,
        Damage::OtherOperation,
    ];
}

fn spec(kind: &mut OpKind) -> Option<&mut CollectiveSpec> {
    match kind {
        OpKind::AllReduce(spec) => Some(spec),
        OpKind::AllGather { spec, .. }
        | OpKind::ReduceScatter { spec, .. }
        | OpKind::AllToAll { spec, .. } => Some(spec),
        _ => None,
    }
}

/// Applies a damage to an operation. Returns whether the operation admits it.
#[expect(clippy::too_many_lines, reason = "a table: one arm for each damage")]
pub(crate) fn apply(module: &mut Module, op: OpId, damage: Damage) -> bool {
    match damage {
        Damage::MemberOrder | Damage::OtherGroup => {
            let Some(spec) = spec(&mut module.ops[op].kind) else { return false };
            let mut lists = spec.groups.to_lists();
            let changed = match (damage, lists.as_mut_slice()) {
                (Damage::MemberOrder, [first, ..]) if first.len() > 1 => {
                    first.swap(0, 1);
                    true
                }
                (Damage::OtherGroup, [first, second, ..]) => {
                    std::mem::swap(&mut first[0], &mut second[0]);
                    true
                }
                _ => false,
            };
            spec.groups = ReplicaGroups::from(lists);
            changed
        }
        Damage::Dropped => {
            if !matches!(module.ops[op].kind, OpKind::AllReduce(_) | OpKind::CollectivePermute(_)) {
                return false;
            }
            module.ops[op].kind = OpKind::OptimizationBarrier;
            module.ops[op].regions.clear();
            true
        }
        Damage::Repeated => {
            if !matches!(module.ops[op].kind, OpKind::AllReduce(_)) {
                return false;
            }
            let Some(region) = module.bodies().find(|&body| module.regions[body].ops.contains(&op)) else {
                return false;
            };
            let data = module.ops[op].clone();
            let types: Vec<_> = data.results.iter().map(|&value| module.values[value].ty).collect();
            let again = module.add_op(data.kind, &data.results, &types, &data.regions);
            let results = module.ops[again].results.clone();
            for (user, entry) in module.ops.iter_mut() {
                if user != again {
                    for operand in &mut entry.operands {
                        if let Some(at) = data.results.iter().position(|result| result == operand) {
                            *operand = results[at];
                        }
                    }
                }
            }
            let at = module.regions[region].ops.iter().position(|&other| other == op).unwrap();
            module.insert_op(region, at + 1, again);
            true
        }
        Damage::OtherReduction => {
            if !matches!(module.ops[op].kind, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. }) {
                return false;
            }
            let region = module.ops[op].regions[0];
            let inner = module.regions[region].ops[0];
            let other = match &module.ops[inner].kind {
                OpKind::Binary(BinaryOp::Add) => BinaryOp::Maximum,
                OpKind::Binary(BinaryOp::Maximum) => BinaryOp::Minimum,
                _ => return false,
            };
            module.ops[inner].kind = OpKind::Binary(other);
            true
        }
        Damage::ShiftedInteger | Damage::ChangedConstant => {
            let Some(&result) = module.ops[op].results.first() else { return false };
            let Some(dtype) = module.tensor(result).map(|ty| ty.dtype) else { return false };
            let OpKind::Constant(dense) = &mut module.ops[op].kind else { return false };
            let bytes = match dense {
                Dense::Splat(bytes) => bytes.to_vec(),
                Dense::Elements(bytes) => bytes.to_vec(),
                Dense::Resource(_) | Dense::Raw(_) => return false,
            };
            let mut bytes = bytes;
            if dtype.is_float() == (damage == Damage::ShiftedInteger) || dtype.bytes() < 2 {
                return false;
            }
            // The exponent of a float, or the last bit of an integer.
            let at = if dtype.is_float() { dtype.bytes() - 1 } else { 0 };
            bytes[at] = if dtype.is_float() { bytes[at] ^ 0x01 } else { bytes[at].wrapping_add(1) };
            *dense = match dense {
                Dense::Splat(_) => Dense::splat(&bytes),
                _ => Dense::elements(bytes),
            };
            true
        }
        Damage::RemovedMask => {
            let data = &module.ops[op];
            if !matches!(data.kind, OpKind::Select) {
                return false;
            }
            let taken = data.operands[1];
            module.ops[op].kind = OpKind::OptimizationBarrier;
            module.ops[op].operands = std::iter::once(taken).collect();
            true
        }
        Damage::SwappedOperands => {
            let is_ordered =
                matches!(module.ops[op].kind, OpKind::Binary(BinaryOp::Subtract | BinaryOp::Divide));
            if is_ordered {
                module.ops[op].operands.swap(0, 1);
            }
            is_ordered
        }
        Damage::OtherOperation => {
            let other = match &module.ops[op].kind {
                OpKind::Binary(BinaryOp::Add) => BinaryOp::Subtract,
                OpKind::Binary(BinaryOp::Multiply) => BinaryOp::Add,
                OpKind::Binary(BinaryOp::Maximum) => BinaryOp::Minimum,
                _ => return false,
            };
            module.ops[op].kind = OpKind::Binary(other);
            true
        }
    }
}

/// Every damage that an operation of the program admits.
pub(crate) fn all(module: &Module) -> Vec<(OpId, Damage)> {
    let mut found = Vec::new();
    let ops: Vec<OpId> = module.bodies().flat_map(|body| module.regions[body].ops.to_vec()).collect();
    let seen = |op: OpId| ops.iter().any(|&other| other.index() == op.index());
    for op in module.ops.keys().filter(|&op| seen(op)) {
        for damage in Damage::ALL {
            let data = &module.ops[op];
            let admits = match damage {
                Damage::MemberOrder | Damage::OtherGroup => spec(&mut data.kind.clone()).is_some(),
                Damage::Dropped => matches!(data.kind, OpKind::AllReduce(_) | OpKind::CollectivePermute(_)),
                Damage::Repeated => matches!(data.kind, OpKind::AllReduce(_)),
                Damage::OtherReduction => {
                    matches!(data.kind, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. })
                }
                Damage::ShiftedInteger | Damage::ChangedConstant => matches!(data.kind, OpKind::Constant(_)),
                Damage::RemovedMask => matches!(data.kind, OpKind::Select),
                Damage::SwappedOperands | Damage::OtherOperation => matches!(data.kind, OpKind::Binary(_)),
            };
            if admits {
                found.push((op, damage));
            }
        }
    }
    found
}
