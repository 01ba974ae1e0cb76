//! Verifies invariants I11 (meshes) and I12 (shardings).

use cranelift_entity::EntityRef;

use super::Report;
use crate::limits::{MAX_DEVICES, too_many_devices};
use crate::{
    AxisRef, Mesh, MeshId, Module, OpId, OpKind, ShardingId, Span, TensorSharding, Type, TypeId, ValueId,
};

/// Checks meshes and shardings. Returns `false` if one is invalid, so that its axes must not be used.
pub(super) fn check(report: &mut Report<'_>, order: &[OpId]) -> bool {
    let module = report.module;
    let mesh_ok: Vec<bool> = module.meshes.keys().map(|mesh| check_mesh(report, mesh)).collect();
    let faults: Vec<Option<String>> = (0..module.shardings.len())
        .map(|i| {
            let sharding = module.shardings.get(ShardingId::new(i));
            // An invalid mesh is reported once, not for each sharding that uses it.
            if !mesh_ok[sharding.mesh.index()] {
                return None;
            }
            fault(&module.meshes[sharding.mesh], sharding).err()
        })
        .collect();
    let sound = faults.iter().all(Option::is_none) && mesh_ok.iter().all(|&ok| ok);
    let mut users = Users { report, reported: vec![false; faults.len()], faults };
    for func in module.funcs.values() {
        if let Some(body) = func.body {
            for (i, &arg) in module.regions[body].args.iter().enumerate() {
                users.value(arg, func.span, None, || format!("argument {i} of @{}", func.name));
            }
        }
        for (i, (sharding, &ty)) in func.res_shardings.iter().zip(&func.results).enumerate() {
            if let Some(id) = sharding.expand() {
                users.check(id, ty, func.span, None, || format!("result {i} of @{}", func.name));
            }
        }
    }
    for &op in order {
        users.op(op);
    }
    sound
}

fn check_mesh(report: &mut Report<'_>, id: MeshId) -> bool {
    let mesh = &report.module.meshes[id];
    let before = report.errors.len();
    let name = report.module.mesh_name(id);
    let span = report.module.mesh_places[id].span;
    if let Some((axis, size)) = mesh.axes.iter().find(|(_, size)| **size < 1) {
        let message = format!("axis \"{axis}\" of mesh @{name} must have a size of at least 1, got {size}");
        report.invalid("SH0211", span, message);
        return false;
    }
    let devices =
        mesh.axes.values().try_fold(1i64, |n, &size| n.checked_mul(size).filter(|&n| n <= MAX_DEVICES));
    let Some(devices) = devices else {
        report.invalid("SH0211", span, {
            let sizes: Vec<String> = mesh.axes.values().map(i64::to_string).collect();
            format!("mesh @{name} of {} devices is too large: {}", sizes.join(" x "), too_many_devices())
        });
        return false;
    };
    if mesh.axes.len() > usize::from(u16::MAX) {
        report.invalid(
            "SH0211",
            span,
            format!("mesh @{name} has {} axes, more than the maximum of {}", mesh.axes.len(), u16::MAX),
        );
    }
    let Some(ids) = &mesh.device_ids else { return report.errors.len() == before };
    if mesh.axes.is_empty() {
        if ids.len() != 1 || ids[0] < 0 {
            let message = format!("mesh @{name} without axes must have one device id, got {ids:?}");
            report.invalid("SH0211", span, message);
        }
    } else if ids.len() as i64 != devices {
        let message = format!("mesh @{name} has {devices} devices and {} device ids", ids.len());
        report.invalid("SH0211", span, message);
    } else {
        let mut seen = vec![false; ids.len()];
        for &device in ids {
            match usize::try_from(device).ok().and_then(|d| seen.get_mut(d)) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    let message = format!(
                        "the device ids of mesh @{name} are not a permutation of 0..{devices}: {device} is {}",
                        if (0..devices).contains(&device) { "repeated" } else { "out of range" }
                    );
                    report.invalid("SH0211", span, message);
                    break;
                }
            }
        }
    }
    report.errors.len() == before
}

/// The first error in the axes of a sharding.
fn fault(mesh: &Mesh, sharding: &TensorSharding) -> Result<(), String> {
    if mesh.is_maximal() {
        let bare = sharding.rank() == 0 && sharding.replicated.is_empty() && sharding.unreduced.is_empty();
        return if bare {
            Ok(())
        } else {
            Err("a sharding on a maximal mesh has no axes: write `[]`".to_owned())
        };
    }
    let axes = sharding.split_axes().chain(sharding.replicated.iter().copied());
    check_axes(mesh, axes.chain(sharding.unreduced.iter().copied()))?;
    for (d, dim) in sharding.dims.iter().enumerate() {
        check_whole(mesh, &dim.axes)?;
        if dim.axes.is_empty() && !dim.open && dim.priority.is_some() {
            return Err(format!("dimension {d} has a priority, but it is closed and has no axes"));
        }
    }
    for (what, axes) in [("replicated", &sharding.replicated), ("unreduced", &sharding.unreduced)] {
        check_whole(mesh, axes)?;
        check_order(mesh, what, axes)?;
    }
    Ok(())
}

/// Checks that adjacent sub-axes of an axis are merged into one sub-axis, as the canonical form requires.
pub(super) fn check_whole(mesh: &Mesh, axes: &[AxisRef]) -> Result<(), String> {
    for pair in axes.windows(2) {
        let &[a, b] = pair else { continue };
        if a.axis == b.axis
            && let (Some(first), Some(next)) = (a.sub, b.sub)
            && first.pre.checked_mul(first.size) == Some(next.pre)
        {
            let (a, b) = (mesh.axis_text(a), mesh.axis_text(b));
            return Err(format!("the adjacent sub-axes {a} and {b} must be merged"));
        }
    }
    Ok(())
}

/// Checks that axes whose order is not significant are in mesh order.
pub(super) fn check_order(mesh: &Mesh, what: &str, axes: &[AxisRef]) -> Result<(), String> {
    for pair in axes.windows(2) {
        let &[a, b] = pair else { continue };
        let place = |axis: AxisRef| (axis.axis, axis.sub.map(|sub| sub.pre));
        if place(a) > place(b) {
            let (a, b) = (mesh.axis_text(a), mesh.axis_text(b));
            return Err(format!("the {what} axes {a} and {b} are not in the order of the mesh"));
        }
    }
    Ok(())
}

/// Checks that the axes exist, that sub-axes are well-formed, and that none overlap.
pub(super) fn check_axes(mesh: &Mesh, axes: impl Iterator<Item = AxisRef>) -> Result<(), String> {
    let mut parts: Vec<(AxisRef, i64, i64)> = Vec::new();
    for axis in axes {
        let Some((name, &size)) = mesh.axes.get_index(usize::from(axis.axis)) else {
            let known: Vec<String> = mesh.axes.keys().map(|a| format!("\"{a}\"")).collect();
            return Err(format!(
                "axis number {} is out of range, the mesh has the axes {}",
                axis.axis,
                known.join(", ")
            ));
        };
        let (from, to) = match axis.sub {
            None => (1, size),
            Some(sub) => {
                let (pre, part) = (i64::from(sub.pre), i64::from(sub.size));
                // The product of two `u32` may exceed `i64`. If it saturates, the check below rejects the sub-axis: the saturated value
                // divides no axis size, which is at most `MAX_DEVICES`.
                let minor = pre.saturating_mul(part);
                if pre < 1 || part < 2 || size % minor != 0 {
                    return Err(format!(
                        "\"{name}\":({pre}){part} is not a sub-axis of axis \"{name}\" of size {size}"
                    ));
                }
                if part == size {
                    return Err(format!(
                        "\"{name}\":({pre}){part} is the full axis \"{name}\": write \"{name}\""
                    ));
                }
                (pre, minor)
            }
        };
        parts.push((axis, from, to));
    }
    // After sorting by start, overlapping sub-axes are adjacent, so one pass suffices.
    parts.sort_unstable_by_key(|&(axis, from, to)| (axis.axis, from, to));
    for pair in parts.windows(2) {
        let [(a, a_from, a_to), (b, b_from, b_to)] = [pair[0], pair[1]];
        if a.axis != b.axis {
            continue;
        }
        let (a_text, b_text) = (mesh.axis_text(a), mesh.axis_text(b));
        // An axis of size 1 overlaps nothing, but may be listed only once.
        if a_to > b_from || (a_from, a_to) == (b_from, b_to) {
            return Err(if a == b {
                format!("axis {a_text} is used twice")
            } else {
                format!("{a_text} and {b_text} overlap")
            });
        }
        // `(1)2` and `(3)2` of an axis of 6 do not overlap, but no factorization of the axis has both.
        if b_from % a_to != 0 {
            return Err(format!("{a_text} and {b_text} do not belong to one factorization of the axis"));
        }
    }
    Ok(())
}

/// Checks the users of shardings, and reports the errors in shardings at their users.
struct Users<'r, 'm> {
    report: &'r mut Report<'m>,
    faults: Vec<Option<String>>,
    /// For each sharding, whether its error was reported. It is reported only at the first user.
    reported: Vec<bool>,
}

impl Users<'_, '_> {
    fn op(&mut self, id: OpId) {
        let module: &Module = self.report.module;
        let op = &module.ops[id];
        let name = op.kind.title();
        for (i, &result) in op.results.iter().enumerate() {
            self.value(result, op.span, Some(id), || format!("result {i} of {name}"));
        }
        for &region in &op.regions {
            for (i, &arg) in module.regions[region].args.iter().enumerate() {
                self.value(arg, op.span, Some(id), || format!("argument {i} of a region of {name}"));
            }
        }
        let (operands, results) = (&op.operands, &op.results);
        match &op.kind {
            OpKind::ShardingConstraint(s) | OpKind::Reshard(s) => self.each(id, &[*s], results),
            OpKind::MeshCollective(c) => self.each(id, &[c.out], results),
            OpKind::ManualComputation(spec) => {
                self.each(id, &spec.in_shardings, operands);
                self.each(id, &spec.out_shardings, results);
            }
            OpKind::DataFlowEdge(Some(s)) => self.each(id, &[*s], results),
            OpKind::NamedComputation(spec) => {
                self.each(id, spec.in_shardings.as_deref().unwrap_or_default(), operands);
                self.each(id, spec.out_shardings.as_deref().unwrap_or_default(), results);
            }
            _ => {}
        }
    }

    fn each(&mut self, op: OpId, shardings: &[ShardingId], values: &[ValueId]) {
        let module = self.report.module;
        let data = &module.ops[op];
        for (i, (&sharding, &value)) in shardings.iter().zip(values).enumerate() {
            let what = || format!("value {i} of {}", data.kind.title());
            self.check(sharding, module.values[value].ty, data.span, Some(op), what);
        }
        // A surplus sharding, beyond the last value, has no type to compare with. Only the errors in the sharding itself are reported.
        for (i, sharding) in shardings.iter().enumerate().skip(values.len()) {
            if let Some(fault) = &self.faults[sharding.index()]
                && !std::mem::replace(&mut self.reported[sharding.index()], true)
            {
                let message = format!("sharding {i} of {} is not valid: {fault}", data.kind.title());
                self.report.at_op("SH0212", op, message);
            }
        }
    }

    fn value(&mut self, value: ValueId, span: Span, op: Option<OpId>, what: impl Fn() -> String) {
        let module = self.report.module;
        if let Some(id) = module.shardings.of(value) {
            self.check(id, module.values[value].ty, span, op, what);
        }
    }

    fn check(&mut self, id: ShardingId, ty: TypeId, span: Span, op: Option<OpId>, what: impl Fn() -> String) {
        let module = self.report.module;
        let sharding = module.shardings.get(id);
        let mesh = &module.meshes[sharding.mesh];
        let message = if let Some(fault) = &self.faults[id.index()]
            && !std::mem::replace(&mut self.reported[id.index()], true)
        {
            Some(format!("the sharding of {} is not valid: {fault}", what()))
        } else {
            misfit(module, ty, sharding, mesh).map(|fault| format!("the sharding of {} {fault}", what()))
        };
        if let Some(message) = message {
            match op {
                Some(op) => self.report.at_op("SH0212", op, message),
                None => self.report.invalid("SH0212", span, message),
            }
        }
    }
}

/// Describes why a valid sharding does not fit a value of this type; `None` if it fits.
fn misfit(module: &Module, ty: TypeId, sharding: &TensorSharding, mesh: &Mesh) -> Option<String> {
    // The sharding of a tuple with one element is the sharding of this element.
    let ty = match module.types.get(ty) {
        Type::Tuple(items) => match items[..] {
            [item] => item,
            _ => ty,
        },
        _ => ty,
    };
    let rank = match module.types.get(ty) {
        Type::Tensor(tensor) => tensor.rank(),
        Type::Quantized(tensor) => tensor.rank(),
        Type::Other(text) if text.starts_with("tensor<*") => {
            return Some("is on an unranked value".to_owned());
        }
        Type::Other(_) => return None,
        // Tokens and other tuples have no dimensions, so no axis can apply to them.
        Type::Token | Type::Tuple(_) if !sharding.replicated.is_empty() || !sharding.unreduced.is_empty() => {
            return Some("has axes, but the value is not a tensor".to_owned());
        }
        Type::Token | Type::Tuple(_) => 0,
    };
    let whole = sharding.rank() == 0 && mesh.is_maximal();
    (rank != sharding.rank() && !whole)
        .then(|| format!("has {} dimensions, but the value has {rank}", sharding.rank()))
}
