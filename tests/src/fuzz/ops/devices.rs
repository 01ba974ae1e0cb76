//! Collectives in manual computations.

use super::piece::{Piece, groups, list, ty};

pub(super) fn manual(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let axes: Vec<(&'static str, usize)> =
        p.mesh.axes().iter().copied().filter(|(_, size)| *size > 1).collect();
    // A mesh of one device has no axis for a collective.
    (!axes.is_empty()).then_some(())?;
    let (axis, size) = p.rng.of(&axes);
    let n = size as i64;
    // Either all axes are manual, or only one. For `partition_id`, all axes are manual, because the ID depends on all axes.
    let whole = name == "stablehlo.partition_id" || p.chance(2, "all axes");
    p.note_if(!whole && p.mesh.axes().len() > 1, "some axes");
    let elem = p.rng.of(&["f32", "i32"]);
    let rank = 1 + p.rng.below(3);
    let mut block: Vec<i64> = (0..rank).map(|_| p.rng.of(&[1, 2, 3, 4])).collect();
    let dim = p.rng.below(rank);
    let other = p.rng.below(rank);
    block[other] *= n;
    let mut global = block.clone();
    global[dim] *= n;
    let x = p.numbers(&global, elem);
    let k = p.fresh();
    let along = p.mesh.groups(axis);
    let channel =
        format!("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>", 1 + p.rng.below(50));
    let t = ty(&block, elem);
    let add = p.combiner("stablehlo.add", elem);
    let (mut out, mut out_dim) = (block.clone(), Some(dim));
    let all = groups(&along);
    let meets = format!("{channel}, replica_groups = {all}");
    let call = match name {
        "stablehlo.all_reduce" => {
            out_dim = None;
            format!("(%{k}a) <{{{meets}, use_global_device_ids}}> ({add}) : ({t})")
        }
        "stablehlo.all_gather" => {
            out[other] *= n;
            out_dim = None;
            format!("(%{k}a) <{{all_gather_dim = {other} : i64, {meets}, use_global_device_ids}}> : ({t})")
        }
        "stablehlo.reduce_scatter" => {
            out[other] /= n;
            out_dim = Some(other);
            format!(
                "(%{k}a) <{{{meets}, scatter_dimension = {other} : i64, use_global_device_ids}}> ({add}) : ({t})"
            )
        }
        "stablehlo.all_to_all" => {
            let to = p.rng.below(rank);
            out[other] /= n;
            out[to] *= n;
            format!(
                "(%{k}a) <{{{channel}, concat_dimension = {to} : i64, replica_groups = {all}, split_count = {n} : i64, split_dimension = {other} : i64}}> : ({t})"
            )
        }
        "stablehlo.collective_permute" => {
            let round = p.rng.one_in(2);
            p.note(if round { "round" } else { "some get nothing" });
            let pairs = permute_pairs(&along, round);
            format!("(%{k}a) <{{{channel}, source_target_pairs = {}}}> : ({t})", groups(&pairs))
        }
        "stablehlo.collective_broadcast" => {
            out_dim = None;
            format!("(%{k}a) <{{{meets}}}> : ({t})")
        }
        _ => String::new(),
    };
    let out_ty = ty(&out, elem);
    let body = match name {
        "sdy.manual_computation" => {
            format!("%{k}b = \"stablehlo.multiply\"(%{k}a, %{k}a) : ({t}, {t}) -> {t}")
        }
        "stablehlo.partition_id" => format!(
            "%{k}i = \"stablehlo.partition_id\"() : () -> tensor<ui32> %{k}c = \"stablehlo.convert\"(%{k}i) : (tensor<ui32>) -> tensor<{elem}> %{k}d = \"stablehlo.broadcast_in_dim\"(%{k}c) <{{broadcast_dimensions = array<i64>}}> : (tensor<{elem}>) -> {t} %{k}b = \"stablehlo.add\"(%{k}a, %{k}d) : ({t}, {t}) -> {t}"
        ),
        _ => format!("%{k}b = \"{name}\"{call} -> {out_ty}"),
    };
    // Devices along the other axes must hold the same block, but the device id differs between them, so the mesh must have only one axis.
    (name != "stablehlo.partition_id" || axes.len() == 1).then_some(())?;
    let sharding = |dim: Option<usize>| {
        let dims =
            (0..rank).map(|d| if Some(d) == dim { format!("{{\"{axis}\"}}") } else { "{}".to_owned() });
        format!("<@mesh, [{}]>", list(dims))
    };
    let manual: Vec<String> = match whole {
        true => p.mesh.axes().iter().map(|(name, _)| format!("\"{name}\"")).collect(),
        false => vec![format!("\"{axis}\"")],
    };
    let mut whole_out = out.clone();
    if let Some(dim) = out_dim {
        whole_out[dim] *= n;
    }
    let attributes = format!(
        "in_shardings = #sdy.sharding_per_value<[{}]>, manual_axes = #sdy<manual_axes{{{}}}>, out_shardings = #sdy.sharding_per_value<[{}]>",
        sharding(Some(dim)),
        manual.join(", "),
        sharding(out_dim)
    );
    let region = format!("{{ ^bb0(%{k}a: {t}): {body} \"sdy.return\"(%{k}b) : ({out_ty}) -> () }}");
    let z = p.op1("sdy.manual_computation", &[&x], &attributes, &region, &whole_out, elem);
    p.result(&z);
    Some(())
}

/// The pairs of a collective-permute from each device of a group to the next one. Unless `round`, the last device sends nothing, and the
/// first receives nothing.
fn permute_pairs(along: &[Vec<usize>], round: bool) -> Vec<Vec<usize>> {
    along
        .iter()
        .flat_map(|g| {
            (0..g.len()).map(|i| vec![g[i], g[(i + 1) % g.len()]]).take(g.len() - usize::from(!round))
        })
        .collect()
}
