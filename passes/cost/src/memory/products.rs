//! Models output fusion: determines which matmuls are fused with their users.
//!
//! A matmul and its only user become one operation if the user is element-wise (XLA output fusion), except in these cases:
//!
//! * the user only converts the result, and a reduction reads the converted value. The matmul and the reduction are then computed together;
//! * the maximum of each row of the result is taken, as for attention scores, and rows are too long for one operation. One operation then
//!   computes the matmul and the row maxima. For shorter rows, one operation computes the matmul and the exponentials, and all later values
//!   are computed from the exponentials;
//! * the user (a widening conversion, for example) is itself fused into several users, and the rows of the user's result, or of an
//!   element-wise function of that result, are reduced;
//! * other matmuls use the transposed result, or collectives use it. The matmul runs in program order if its result is not larger than each
//!   of its operands. Otherwise it is delayed until its users run;
//! * the fused operation would contain two matmuls. If two matmuls are added, the result of one is written to memory first.

use shardc_analysis::analysis::elementwise::is_elementwise;
use shardc_ir::reducer::reduction_of;
use shardc_ir::{EntityRef, Module, OpId, OpKind, ReductionKind, ValueId};

use super::kinds::is_product;
use super::program::{Program, Reads};
use super::rules::Rule;

/// The maximum number of elements of a row that one TPU operation can hold. Measured: with 8192 keys, exponentials were computed together
/// with the scores; with 8320 and more, only the scores.
const WHOLE_ROW: i64 = 8192;

/// Finds the matmuls that are fused with their users. `walk` lists all operations in program order.
pub(super) fn join(program: &mut Program<'_>, walk: &[OpId], reads: &[Reads]) {
    if program.machine.multiplies_alone() {
        return;
    }
    let reduced = reduced(program.module, walk);
    for &op in walk {
        program.joins_reader[op.index()] = joins_reader(program, op, reads, &reduced);
    }
    one_each(program, walk, reads, &reduced);
}

fn joins_reader(program: &Program<'_>, op: OpId, reads_of: &[Reads], reduced: &[Reduced]) -> bool {
    let data = &program.module.ops[op];
    let Some(&result) = data.results.first().filter(|_| is_product(&data.kind)) else { return false };
    let (reads, reduced) = (reads_of[result.index()], reduced[result.index()]);
    let Some(reader) = reads.last.filter(|_| reads.count <= 1 && !program.is_hard(op)) else { return false };
    let is_in_memory = (reduced.as_it_is || reduced.has_long_rows) && program.applies(Rule::RowReductions);
    match &program.module.ops[reader].kind {
        OpKind::Transpose { .. } => {
            let weight = |v: &ValueId| program.weight(*v);
            let is_largest = data.operands.iter().all(|v| weight(v) < weight(&result));
            is_largest || is_written_transposed(program.module, reader, reads_of)
        }
        _ => is_elementwise(program.module, reader) && !is_in_memory,
    }
}

/// Whether the result of a transpose is dead or returned, or its last user is element-wise or another transpose.
fn is_written_transposed(module: &Module, transpose: OpId, reads_of: &[Reads]) -> bool {
    let transposed = module.ops[transpose].results.first();
    let reader = transposed.and_then(|v| reads_of[v.index()].last);
    reader.is_none_or(|reader| {
        is_elementwise(module, reader)
            || matches!(module.ops[reader].kind, OpKind::Return | OpKind::Transpose { .. })
    })
}

/// How a value is reduced.
#[derive(Clone, Copy, Default)]
struct Reduced {
    /// Whether the value itself is reduced, possibly after a conversion.
    as_it_is: bool,
    /// Whether an element-wise function of the value is reduced to the maximum of each row, and rows are longer than [`WHOLE_ROW`].
    has_long_rows: bool,
    /// Whether the rows of an element-wise function of the value are reduced.
    in_rows: bool,
}

fn reduced(module: &Module, walk: &[OpId]) -> Vec<Reduced> {
    let mut reduced = vec![Reduced::default(); module.values.len()];
    for &op in walk.iter().rev() {
        let data = &module.ops[op];
        let of_result = data.results.first().map_or(Reduced::default(), |v| reduced[v.index()]);
        for (at, &operand) in data.operands.iter().enumerate() {
            let of = &mut reduced[operand.index()];
            match &data.kind {
                OpKind::Reduce { dims } if at == 0 => {
                    let shape = module.shape(operand);
                    let row: i64 = dims.iter().filter_map(|&dim| shape.get(dim as usize)).product();
                    let region = data.regions.first();
                    let of_row = region.and_then(|&region| reduction_of(module, region, data.results.len()));
                    of.as_it_is = true;
                    of.in_rows |= dims.iter().any(|&dim| dim as usize + 1 == shape.len());
                    of.has_long_rows |= row > WHOLE_ROW && of_row == Some(ReductionKind::Max);
                }
                OpKind::Convert => {
                    of.as_it_is |= of_result.as_it_is;
                    of.has_long_rows |= of_result.has_long_rows;
                    of.in_rows |= of_result.in_rows;
                }
                _ if is_elementwise(module, op) => {
                    of.has_long_rows |= of_result.has_long_rows;
                    of.in_rows |= of_result.in_rows;
                }
                _ => {}
            }
        }
    }
    reduced
}

/// Marks matmul results that must be in memory, so that no fused operation contains two matmuls, and no matmul is computed more than once.
fn one_each(program: &mut Program<'_>, walk: &[OpId], reads: &[Reads], reduced: &[Reduced]) {
    let module = program.module;
    // For each operation that is fused into its user, the matmul that it contains.
    let mut product_of: Vec<Option<OpId>> = vec![None; module.ops.len()];
    for &op in walk {
        let data = &module.ops[op];
        let mut parts: Vec<(OpId, ValueId)> = Vec::new();
        let operands = if is_product(&data.kind) { &[][..] } else { &data.operands[..] };
        for &operand in operands {
            let def = module.def_op(operand).filter(|_| program.is_in_region_of(operand, op));
            let part = def.filter(|def| product_of[def.index()].is_some()).map(|def| (def, operand));
            parts.extend(part.filter(|part| !parts.contains(part)));
        }
        // The operation is fused with the last of these matmuls.
        parts.sort_unstable();
        let part = parts.pop();
        for (def, value) in parts {
            product_of[def.index()] = None;
            program.joins_reader[def.index()] = false;
            program.put_in_memory(def, value);
        }
        if program.joins_reader[op.index()] {
            product_of[op.index()] = Some(op);
        } else if let Some(product) = part.and_then(|(def, _)| product_of[def.index()])
            && program.is_always_fused(op)
        {
            let is_for_several = data.results.iter().any(|v| reads[v.index()].count > 1);
            let is_reduced = data.results.iter().any(|v| reduced[v.index()].in_rows);
            if is_for_several && program.applies(Rule::RowReductions) {
                program.joins_reader[product.index()] = false;
                program.with_rows[product.index()] = is_reduced;
            } else {
                product_of[op.index()] = Some(product);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::Machine;
    use crate::memory::tests::{on, on_a_tpu};

    const SQUARE: &str = "tensor<512x512xf32>";
    const OF_SQUARE: u64 = 4 * 512 * 512;
    const NARROW: &str = "tensor<512x128xf32>";

    /// A chain of decompositions, of which two results are live at a time.
    const CHAIN: &str = "%c1 = stablehlo.cholesky %x, lower = true : tensor<512x512xf32>
        %c2 = stablehlo.cholesky %c1, lower = true : tensor<512x512xf32>
        %c3 = stablehlo.cholesky %c2, lower = true : tensor<512x512xf32>";

    /// Returns the memory of the forward and backward pass of an attention with 16 queries, in units of 16-bit scores.
    fn attention(keys: u64) -> u64 {
        let (scores, wide) = (format!("tensor<16x{keys}xbf16>"), format!("tensor<16x{keys}xf32>"));
        let (key, query) = (format!("tensor<{keys}x128xbf16>"), "tensor<16x128xbf16>");
        let row = "tensor<16xf32>";
        let by_keys = "contracting_dims = [1] x [1]";
        let by_scores = "contracting_dims = [1] x [0]";
        let rows = |op: &str, of: &str| {
            format!(
                "stablehlo.reduce({of}) applies stablehlo.{op} across dimensions = [1] : ({wide}, tensor<f32>) -> {row}"
            )
        };
        let spread = |of: &str| format!("stablehlo.broadcast_in_dim {of}, dims = [0] : ({row}) -> {wide}");
        let text = format!(
            "func.func @main(%q: {query}, %k: {key}, %v: {key}) -> {query} {{
            %zero = stablehlo.constant dense<0.0> : tensor<f32>
            %s = stablehlo.dot_general %q, %k, {by_keys} : ({query}, {key}) -> {scores}
            %sw = stablehlo.convert %s : ({scores}) -> {wide}
            %scale = stablehlo.constant dense<0.125> : tensor<f32>
            %scales = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> {wide}
            %w = stablehlo.multiply %sw, %scales : {wide}
            %m = {}
            %ms = {}
            %d = stablehlo.subtract %w, %ms : {wide}
            %e = stablehlo.exponential %d : {wide}
            %n = {}
            %ns = {}
            %p = stablehlo.divide %e, %ns : {wide}
            %pn = stablehlo.convert %p : ({wide}) -> {scores}
            %o = stablehlo.dot_general %pn, %v, {by_scores} : ({scores}, {key}) -> {query}
            %dp = stablehlo.dot_general %o, %v, {by_keys} : ({query}, {key}) -> {scores}
            %dpw = stablehlo.convert %dp : ({scores}) -> {wide}
            %t = stablehlo.multiply %dpw, %e : {wide}
            %r = {}
            %rs = {}
            %u = stablehlo.subtract %dpw, %rs : {wide}
            %ds = stablehlo.multiply %u, %e : {wide}
            %dsn = stablehlo.convert %ds : ({wide}) -> {scores}
            %a = stablehlo.dot_general %dsn, %k, {by_scores} : ({scores}, {key}) -> {query}
            %b = stablehlo.dot_general %dsn, %v, {by_scores} : ({scores}, {key}) -> {query}
            %c = stablehlo.add %a, %b : {query}
            return %c : {query} }}",
            rows("maximum", "%w init: %zero"),
            spread("%m"),
            rows("add", "%e init: %zero"),
            spread("%n"),
            rows("add", "%t init: %zero"),
            spread("%r"),
        );
        on_a_tpu(&text) / (16 * keys * 2)
    }

    #[test]
    fn exponentials_are_fused_with_scores_if_rows_fit() {
        assert_eq!(attention(8192), 4, "32-bit exponentials, and the gradients of weights and scores");
        assert_eq!(attention(8320), 2, "scores instead of exponentials, which their gradients overwrite");
    }

    #[test]
    fn one_of_two_added_matmuls_is_in_memory() {
        let (square, narrow) = (SQUARE, NARROW);
        let factor = format!("cholesky %x, lower = true : {square}");
        let of = "contracting_dims = [1] x [0]";
        let text = format!(
            "func.func @main(%x: {square}, %y: {narrow}) -> {narrow} {{
            %a = stablehlo.{factor}
            %0 = stablehlo.dot_general %a, %y, {of} : ({square}, {narrow}) -> {narrow}
            %b = stablehlo.{factor}
            %1 = stablehlo.dot_general %b, %y, {of} : ({square}, {narrow}) -> {narrow}
            %2 = stablehlo.add %0, %1 : {narrow}
            return %2 : {narrow} }}"
        );
        assert!(on_a_tpu(&text) < 2 * OF_SQUARE, "the first factor is not kept for the sum");
    }

    #[test]
    fn a_matmul_with_a_transposed_use_in_a_matmul_is_computed_in_place() {
        let text = format!(
            "func.func @main(%x: {SQUARE}, %y: {NARROW}) -> tensor<128x512xf32> {{
            %p = stablehlo.cholesky %x, lower = true : {SQUARE}
            %v = stablehlo.dot_general %p, %y, contracting_dims = [1] x [0] : ({SQUARE}, {NARROW}) -> {NARROW}
            %t = stablehlo.transpose %v, dims = [1, 0] : ({NARROW}) -> tensor<128x512xf32>
            {CHAIN}
            %r = stablehlo.dot_general %t, %c3, contracting_dims = [1] x [0] : (tensor<128x512xf32>, {SQUARE}) -> tensor<128x512xf32>
            return %r : tensor<128x512xf32> }}"
        );
        let kept = OF_SQUARE / 4 / 2;
        assert_eq!(on_a_tpu(&text), 2 * OF_SQUARE + kept, "it is live during the chain, in 16 bits");
    }

    #[test]
    fn a_matmul_larger_than_its_operands_waits_for_its_transposed_use() {
        let text = format!(
            "func.func @main(%x: {SQUARE}, %y: tensor<512x8xf32>) -> {SQUARE} {{
            %v = stablehlo.dot_general %y, %y, contracting_dims = [1] x [1] : (tensor<512x8xf32>, tensor<512x8xf32>) -> {SQUARE}
            %t = stablehlo.transpose %v, dims = [1, 0] : ({SQUARE}) -> {SQUARE}
            {CHAIN}
            %r = stablehlo.dot_general %t, %c3, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
            return %r : {SQUARE} }}"
        );
        assert_eq!(on_a_tpu(&text), 2 * OF_SQUARE, "it is not live during the chain");
    }

    #[test]
    fn a_dot_without_contraction_is_element_wise() {
        let text = format!(
            "func.func @main(%x: {SQUARE}, %h: tensor<512xf32>, %y: {NARROW}) -> ({NARROW}, {SQUARE}) {{
            %w = stablehlo.cholesky %x, lower = true : {SQUARE}
            %m = stablehlo.dot_general %h, %w, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<512xf32>, {SQUARE}) -> {SQUARE}
            %r = stablehlo.dot_general %m, %y, contracting_dims = [1] x [0] : ({SQUARE}, {NARROW}) -> {NARROW}
            %c = stablehlo.cholesky %w, lower = true : {SQUARE}
            return %r, %c : {NARROW}, {SQUARE} }}"
        );
        assert_eq!(on_a_tpu(&text), OF_SQUARE, "only the operand is in memory");
    }

    #[test]
    fn a_quotient_with_two_matmul_users_is_kept_on_a_v5p() {
        let of = "contracting_dims = [1] x [0]";
        let (half, product) = ("tensor<512x512xbf16>", "tensor<512x128xbf16>");
        let text = format!(
            "func.func @main(%x: {SQUARE}, %n: tensor<512xf32>, %y: {product}) -> ({product}, {product}, {SQUARE}) {{
            %e = stablehlo.cholesky %x, lower = true : {SQUARE}
            %ns = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<512xf32>) -> {SQUARE}
            %q = stablehlo.divide %e, %ns : {SQUARE}
            %p = stablehlo.convert %q : ({SQUARE}) -> {half}
            %a = stablehlo.dot_general %p, %y, {of} : ({half}, {product}) -> {product}
            %b = stablehlo.dot_general %p, %a, {of} : ({half}, {product}) -> {product}
            %c = stablehlo.cholesky %e, lower = true : {SQUARE}
            return %a, %b, %c : {product}, {product}, {SQUARE} }}"
        );
        assert_eq!(on_a_tpu(&text), OF_SQUARE, "divided in each matmul");
        assert_eq!(on(&text, Machine::of("v5p")), OF_SQUARE + OF_SQUARE / 2);
    }
}
