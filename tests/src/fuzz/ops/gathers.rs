//! Gathers and scatters, with all their dimension numbers.

use super::moves::INDICES;
use super::piece::{ANY, NUMBERS, Piece, Tensor, ints, list};

/// The dimension numbers of a gather or a scatter, which have the same meaning in both.
struct Numbers {
    operand: Vec<i64>,
    indices: Vec<i64>,
    /// The sizes of slices or windows, one for each dimension of the operand.
    sizes: Vec<i64>,
    /// The gathered slices, or the updates.
    out: Vec<i64>,
    offset: Vec<usize>,
    collapsed: Vec<usize>,
    batching: Vec<usize>,
    indices_batching: Vec<usize>,
    map: Vec<usize>,
    vector: usize,
}

fn numbers(p: &mut Piece<'_>) -> Option<Numbers> {
    let operand = p.shape();
    let rank = operand.len();
    let mut kept: Vec<usize> = (0..rank).collect();
    let batching: Vec<usize> =
        if rank > 1 && p.chance(3, "batching") { vec![p.rng.below(rank)] } else { Vec::new() };
    kept.retain(|d| !batching.contains(d));
    let collapsed: Vec<usize> = kept.iter().copied().filter(|&d| operand[d] > 0 && p.rng.one_in(2)).collect();
    let mut map: Vec<usize> =
        kept.iter().copied().filter(|d| collapsed.contains(d) || p.rng.one_in(3)).collect();
    if p.chance(3, "index map in another order") {
        p.rng.shuffle(&mut map);
    }
    let sizes: Vec<i64> = (0..rank)
        .map(|d| match (batching.contains(&d) || collapsed.contains(&d), p.rng.one_in(2)) {
            (true, _) => operand[d].min(1),
            (false, true) => operand[d],
            (false, false) => p.rng.below(operand[d] as usize) as i64 + i64::from(operand[d] > 0),
        })
        .collect();
    p.note_if((0..rank).any(|d| sizes[d] > 1 && sizes[d] < operand[d]), "windows smaller than the operand");
    p.note_if(map.iter().any(|d| !collapsed.contains(d)), "windows that begin anywhere");
    (batching.iter().all(|&d| operand[d] > 0)).then_some(())?;
    // The number of dimensions of the indices, not counting the index vector dimension.
    let free_rank = p.rng.of(&[0, 1, 1, 2]);
    let mut batch = p.shape_of(free_rank);
    let mut indices_batching = Vec::new();
    for &d in &batching {
        let at = p.rng.below(batch.len() + 1);
        batch.insert(at, operand[d]);
        indices_batching.push(at);
    }
    let vector = if map.len() == 1 && p.chance(3, "index vector left out") {
        batch.len()
    } else {
        p.rng.below(batch.len() + 1)
    };
    let mut indices = batch.clone();
    let is_left_out = map.len() == 1 && vector == batch.len() && p.rng.one_in(2);
    if !is_left_out {
        indices.insert(vector, map.len() as i64);
        for at in &mut indices_batching {
            *at += usize::from(*at >= vector);
        }
        p.note_if(vector + 1 < indices.len(), "index vector inside");
    }
    let windows: Vec<i64> =
        (0..rank).filter(|d| !collapsed.contains(d) && !batching.contains(d)).map(|d| sizes[d]).collect();
    let out_rank = batch.len() + windows.len();
    let mut all: Vec<usize> = (0..out_rank).collect();
    p.rng.shuffle(&mut all);
    let mut offset: Vec<usize> = all.into_iter().take(windows.len()).collect();
    offset.sort_unstable();
    let (mut of_batch, mut of_window) = (batch.iter(), windows.iter());
    let out: Vec<i64> = (0..out_rank)
        .map(|d| if offset.contains(&d) { of_window.next() } else { of_batch.next() }.copied().unwrap_or(1))
        .collect();
    (out_rank <= 5 && out.iter().product::<i64>() <= 6000).then_some(())?;
    Some(Numbers { operand, indices, sizes, out, offset, collapsed, batching, indices_batching, map, vector })
}

fn index_tensor(p: &mut Piece<'_>, n: &Numbers) -> (Tensor, bool) {
    let elem = p.rng.of(INDICES);
    let most = n.map.iter().map(|&d| n.operand[d]).max().unwrap_or(1);
    let sorted = n.map.len() == 1 && p.chance(5, "sorted");
    let fill = match (sorted, p.rng.one_in(2)) {
        (true, _) => format!("sorted {most}"),
        // Unsigned types have no negative numbers.
        (false, true) if !elem.starts_with("ui") => {
            p.note("out of bounds");
            format!("index {most}")
        }
        _ => format!("inside {most}"),
    };
    // Indices can be sorted only along a single dimension.
    let sorted = sorted && n.indices.iter().filter(|&&n| n != 1).count() <= 1;
    (p.argument(&n.indices, elem, &fill), sorted)
}

pub(super) fn gather(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(ANY);
    let n = numbers(p)?;
    let x = p.numbers(&n.operand, elem);
    let (indices, sorted) = index_tensor(p, &n);
    let dims = format!(
        "dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}], operand_batching_dims = [{}], start_indices_batching_dims = [{}], start_index_map = [{}], index_vector_dim = {}>, indices_are_sorted = {sorted}",
        list(&n.offset),
        list(&n.collapsed),
        list(&n.batching),
        list(&n.indices_batching),
        list(&n.map),
        n.vector
    );
    let z = if name == "stablehlo.gather" {
        p.op1(name, &[&x, &indices], &format!("{dims}, slice_sizes = {}", ints(&n.sizes)), "", &n.out, elem)
    } else {
        let text = format!("[{}]", list(&n.sizes));
        let sizes = p.constant(&[n.sizes.len() as i64], indices.elem, &text);
        p.op1(name, &[&x, &indices, &sizes], &dims, "", &n.out, elem)
    };
    p.result(&z);
    Some(())
}

pub(super) fn torch_index_select(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(NUMBERS), p.shape());
    let dim = p.rng.below(shape.len());
    (shape[dim] > 0).then_some(())?;
    let batch = if dim > 0 && p.chance(3, "batch dimensions") { 1 } else { 0 };
    let mut of_index: Vec<i64> = shape[..batch].to_vec();
    of_index.push(p.size());
    let x = p.numbers(&shape, elem);
    let i = p.argument(&of_index, "i32", &format!("inside {}", shape[dim]));
    let mut out = shape[..dim].to_vec();
    out.extend(&of_index[batch..]);
    out.extend(&shape[dim + 1..]);
    let attributes = format!("batch_dims = {batch} : i64, dim = {dim} : i64");
    let z = p.op1(name, &[&x, &i], &attributes, "", &out, elem);
    p.result(&z);
    Some(())
}

pub(super) fn scatter(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let n = numbers(p)?;
    let count = if p.chance(5, "several operands") { 2 } else { 1 };
    let elem = p.rng.of(if count == 1 { NUMBERS } else { &["i32", "f32"] });
    // Updates have distinct positions if each window has one index, different from all others, and one element along the indexed dimension.
    let single = n.map.len() == 1 && n.batching.is_empty() && n.map.iter().all(|&d| n.sizes[d] == 1);
    let windows: i64 = n.indices.iter().product();
    let unique = single && windows <= n.operand[n.map[0]] && p.chance(2, "unique");
    let (indices, sorted) = match unique {
        true => (p.argument(&n.indices, "i32", "each"), false),
        false => index_tensor(p, &n),
    };
    let replaces = unique && count == 1 && p.chance(2, "replaces");
    let xs: Vec<Tensor> = (0..count).map(|_| p.numbers(&n.operand, elem)).collect();
    let us: Vec<Tensor> = (0..count).map(|_| p.numbers(&n.out, elem)).collect();
    let short = match (elem.starts_with("complex"), p.rng.below(4)) {
        (true, _) | (_, 0 | 1) => "stablehlo.add",
        (_, 2) => "stablehlo.maximum",
        _ => "stablehlo.minimum",
    };
    p.note_if(!replaces, short.trim_start_matches("stablehlo."));
    let region = match (replaces, count) {
        (true, _) => p.second(elem),
        (false, 1) => p.combiner(short, elem),
        _ => {
            let k = p.fresh();
            let t = super::piece::ty(&[], elem);
            format!(
                "{{ ^bb0(%{k}a: {t}, %{k}b: {t}, %{k}c: {t}, %{k}d: {t}): %{k}e = \"{short}\"(%{k}a, %{k}c) : ({t}, {t}) -> {t} %{k}f = \"stablehlo.add\"(%{k}b, %{k}d) : ({t}, {t}) -> {t} \"stablehlo.return\"(%{k}e, %{k}f) : ({t}, {t}) -> () }}"
            )
        }
    };
    let attributes = format!(
        "indices_are_sorted = {sorted}, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}], input_batching_dims = [{}], scatter_indices_batching_dims = [{}], scatter_dims_to_operand_dims = [{}], index_vector_dim = {}>, unique_indices = {unique}",
        list(&n.offset),
        list(&n.collapsed),
        list(&n.batching),
        list(&n.indices_batching),
        list(&n.map),
        n.vector
    );
    let operands: Vec<&Tensor> = xs.iter().chain([&indices]).chain(&us).collect();
    let outs: Vec<(&[i64], &'static str)> = xs.iter().map(|x| (&x.shape[..], elem)).collect();
    let all = p.op(name, &operands, &attributes, &region, &outs);
    all.iter().for_each(|t| p.result(t));
    Some(())
}
