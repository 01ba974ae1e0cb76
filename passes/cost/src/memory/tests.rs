//! Tests of the memory estimate on small programs: each tests one rule.

use std::fmt::Write as _;

use super::*;
use schedule::FAR_BEHIND;

/// Returns the bytes of temporaries of a function with one argument of 1024 bytes. `%0 = C %x` stands for a decomposition, which is never
/// fused.
fn of(body: &str) -> u64 {
    temporaries_of(&parsed("", body), Machine::of("cpu"))
}

/// Returns the bytes of temporaries of a program.
fn temporaries_of(module: &Module, model: impl Into<Model>) -> u64 {
    let main = module.entry().unwrap();
    let body = module.funcs[main].body.unwrap();
    Estimate::new(module, main, body, model.into(), &|_| 0).peak(body).bytes
}

/// Returns the bytes of temporaries of a program, given as text.
pub(super) fn on(text: &str, model: impl Into<Model>) -> u64 {
    temporaries_of(&shardc_stablehlo::parse(text).unwrap(), model)
}

pub(super) fn on_a_tpu(text: &str) -> u64 {
    on(text, Machine::of("v5e"))
}

fn parsed(attributes: &str, body: &str) -> Module {
    let lines = body.lines().map(|line| match line.split_once("C ") {
        Some((result, operand)) => {
            format!("{result} stablehlo.cholesky {}, lower = true : tensor<16x16xf32>\n", operand.trim())
        }
        None => format!("{line}\n"),
    });
    let text = format!(
        "func.func @main(%x: tensor<16x16xf32> {attributes}) -> tensor<16x16xf32> {{ {} }}",
        lines.collect::<String>()
    );
    shardc_stablehlo::parse(&text).unwrap()
}

#[test]
fn values_are_live_until_their_last_use() {
    let chain = "%0 = C %x\n%1 = C %0\n%2 = C %1\n%3 = C %2\n";
    assert_eq!(of(&format!("{chain} return %3 : tensor<16x16xf32>")), 2048, "results are not temporaries");
    let kept =
        format!("{chain} %4 = stablehlo.add %3, %1 : tensor<16x16xf32>\n return %4 : tensor<16x16xf32>");
    assert_eq!(of(&kept), 3072);
}

#[test]
fn fused_operations_take_no_memory_and_keep_their_operands() {
    let text = "%0 = C %x
        %1 = stablehlo.cosine %0 : tensor<16x16xf32>
        %2 = C %x
        %3 = C %2
        %4 = stablehlo.add %3, %1 : tensor<16x16xf32>
        return %4 : tensor<16x16xf32>";
    assert_eq!(of(text), 3072);
}

#[test]
fn a_table_with_lookups_is_in_memory() {
    let of = |table: &str| {
        on_a_tpu(&format!(
            "func.func @main(%x: tensor<512x256xf32>, %y: tensor<512x256xbf16>, %i: tensor<8x1xi32>) -> tensor<8x256xf32> {{
            {table}
            %1 = \"stablehlo.gather\"(%0, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}}> : (tensor<512x256xf32>, tensor<8x1xi32>) -> tensor<8x256xf32>
            return %1 : tensor<8x256xf32> }}"
        ))
    };
    assert_eq!(of("%0 = stablehlo.cosine %x : tensor<512x256xf32>"), 512 * 256 * 4);
    let converted = "%0 = stablehlo.convert %y : (tensor<512x256xbf16>) -> tensor<512x256xf32>";
    assert_eq!(of(converted), 0, "the looked-up rows are converted");
}

#[test]
fn elements_of_rows_are_taken_from_the_converted_rows() {
    let text = "func.func @main(%y: tensor<512x256xbf16>, %i: tensor<512x1x1xi32>) -> tensor<512x1xf32> {
        %0 = stablehlo.convert %y : (tensor<512x256xbf16>) -> tensor<512x256xf32>
        %1 = \"stablehlo.gather\"(%0, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<512x256xf32>, tensor<512x1x1xi32>) -> tensor<512x1xf32>
        return %1 : tensor<512x1xf32> }";
    assert_eq!(on_a_tpu(text), 512 * 256 * 4);
}

#[test]
fn results_are_written_in_place_at_the_last_use() {
    let text = "%0 = C %x
        %1 = stablehlo.cosine %0 : tensor<16x16xf32>
        %2 = C %1
        %3 = stablehlo.add %2, %1 : tensor<16x16xf32>
        return %3 : tensor<16x16xf32>";
    assert_eq!(of(text), 2048);
}

#[test]
fn a_tpu_v5p_does_not_overwrite_values_computed_with_a_reduction() {
    let of = |reduced: &str, machine: Machine| {
        let text = format!(
            "func.func @main(%x: tensor<256x256xf32>) -> (tensor<256xf32>, tensor<256x256xf32>) {{
            %zero = stablehlo.constant dense<0.0> : tensor<f32>
            %0 = stablehlo.cholesky %x, lower = true : tensor<256x256xf32>
            %1 = stablehlo.reduce({reduced} init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
            %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
            %3 = stablehlo.divide %0, %2 : tensor<256x256xf32>
            %4 = stablehlo.cholesky %3, lower = true : tensor<256x256xf32>
            return %1, %4 : tensor<256xf32>, tensor<256x256xf32> }}"
        );
        on(&text, machine)
    };
    let one = 256 * 256 * 4;
    assert_eq!(of("%0", Machine::of("v5p")), 2 * one);
    assert_eq!(of("%x", Machine::of("v5p")), one);
    assert_eq!(of("%0", Machine::of("v5e")), one);
    assert_eq!(of("%0", Machine::of("cpu")), one, "a separate operation");
}

#[test]
fn a_table_does_not_overwrite_the_matmul_of_its_reduction() {
    let of = |last: &str| {
        let text = format!(
            "func.func @main(%x: tensor<256x256xf32>, %at: tensor<256x1xi32>) -> tensor<256x256xf32> {{
            %zero = stablehlo.constant dense<0.0> : tensor<f32>
            %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
            %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
            %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
            %3 = stablehlo.subtract %0, %2 : tensor<256x256xf32>
            {last}
            return %4 : tensor<256x256xf32> }}"
        );
        on_a_tpu(&text)
    };
    let one = 256 * 256 * 4;
    let looked_up = "%4 = \"stablehlo.gather\"(%3, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}> : (tensor<256x256xf32>, tensor<256x1xi32>) -> tensor<256x256xf32>";
    let (table, computed) = (of(looked_up), of("%4 = stablehlo.tanh %3 : tensor<256x256xf32>"));
    assert!(table >= 2 * one, "the matmul and the table: {table}");
    assert!(computed < 2 * one, "recomputed from the matmul: {computed}");
}

#[test]
fn a_fused_matmul_is_not_kept_for_other_users() {
    // The program computes attention weights with a scale per row, which later layers read again.
    let kept = on_a_tpu(
        "func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %sums = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
        %scale = stablehlo.cosine %sums : tensor<256xf32>
        %once = stablehlo.optimization_barrier %scale : tensor<256xf32>
        %scales = stablehlo.broadcast_in_dim %scale, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
        %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
        %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
        %2 = stablehlo.multiply %1, %scales : tensor<256x256xf32>
        %3 = stablehlo.exponential %2 : tensor<256x256xf32>
        %4 = stablehlo.dot_general %3, %y, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
        %5 = stablehlo.cholesky %4, lower = true : tensor<256x256xf32>
        %6 = stablehlo.cholesky %5, lower = true : tensor<256x256xf32>
        %7 = stablehlo.multiply %6, %3 : tensor<256x256xf32>
        %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
        %9 = stablehlo.broadcast_in_dim %once, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
        %10 = stablehlo.subtract %6, %9 : tensor<256x256xf32>
        %11 = stablehlo.multiply %10, %3 : tensor<256x256xf32>
        return %11 : tensor<256x256xf32> }",
    );
    assert!(kept >= 3 * 256 * 256 * 4, "the weights, and the operand and result of the layer: {kept}");
}

#[test]
fn strided_slices_are_in_memory() {
    let of = |moved: &str, rows: u64| {
        on_a_tpu(&format!(
            "func.func @main(%x: tensor<256x256xf32>) -> tensor<{rows}x256xf32> {{
            %zero = stablehlo.constant dense<0.0> : tensor<f32>
            %0 = stablehlo.cosine %x : tensor<256x256xf32>
            %1 = stablehlo.{moved} -> tensor<{rows}x256xf32>
            %2 = stablehlo.sine %1 : tensor<{rows}x256xf32>
            return %2 : tensor<{rows}x256xf32> }}"
        ))
    };
    let pad =
        |padding: &str| of(&format!("pad %0, %zero, {padding} : (tensor<256x256xf32>, tensor<f32>)"), 512);
    let one = 256 * 256 * 4;
    let behind = pad("low = [0, 0], high = [256, 0], interior = [0, 0]");
    assert!(behind < one, "padding is fused into the user: {behind}");
    let between = pad("low = [0, 0], high = [1, 0], interior = [1, 0]");
    assert!(between >= 3 * one, "the rows, and twice as many: {between}");
    let slice = |range: &str| of(&format!("slice %0 [{range}, 0:256] : (tensor<256x256xf32>)"), 128);
    assert!(slice("0:128") < one, "a slice is fused into its user");
    assert!(slice("0:256:2") >= one + one / 2, "the rows, and every other one");
}

#[test]
fn a_matmul_on_a_gpu_is_a_separate_kernel() {
    let text = "func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
        %0 = stablehlo.tanh %x : tensor<256x256xf32>
        %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
        %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
        %3 = stablehlo.exponential %2 : tensor<256x256xf32>
        %4 = stablehlo.cholesky %3, lower = true : tensor<256x256xf32>
        return %4 : tensor<256x256xf32> }";
    let one = 256 * 256 * 4;
    assert_eq!(on(text, Machine::of("cpu")), one, "all in one operation");
    assert_eq!(on(text, Machine::of("h100")), 2 * one, "the operand, read in place, and the result");
}

#[test]
fn a_barrier_copies_nothing() {
    let body = |behind: &str| {
        format!(
            "%0 = C %x
            %1 = C %0
            %b:2 = stablehlo.optimization_barrier %0, %x : tensor<16x16xf32>, tensor<16x16xf32>
            %2 = C %b#{behind}
            %3 = stablehlo.add %2, %0 : tensor<16x16xf32>
            %4 = stablehlo.add %3, %1 : tensor<16x16xf32>
            return %4 : tensor<16x16xf32>"
        )
    };
    assert_eq!(of(&body("0")), 3072, "%0 is read on both sides");
    assert_eq!(of(&body("1")), 3072, "an argument has memory outside");
    let row = "%0 = C %x
        %r = stablehlo.reshape %0 : (tensor<16x16xf32>) -> tensor<256xf32>
        %b = stablehlo.optimization_barrier %r : tensor<256xf32>
        %s = stablehlo.reshape %b : (tensor<256xf32>) -> tensor<16x16xf32>
        %1 = C %s
        %2 = stablehlo.add %1, %0 : tensor<16x16xf32>
        return %2 : tensor<16x16xf32>";
    assert_eq!(of(row), 2048, "a reshape shares the memory");
}

/// Returns the text of a matmul.
fn dot(result: &str, a: &str, b: &str) -> String {
    format!(
        "{result} = stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
    )
}

#[test]
fn recomputable_values_are_not_kept() {
    let text = |kept: &str| {
        let (first, second, third) = (dot("%2", "%1", "%1"), dot("%5", "%4", "%1"), dot("%6", "%5", kept));
        format!(
            "%0 = C %x\n%1 = stablehlo.cosine %0 : tensor<16x16xf32>\n{first}%3 = C %2\n%4 = C %3\n{second}{third}return %6 : tensor<16x16xf32>"
        )
    };
    assert_eq!(of(&text("%0")), 3072, "%0 and two of the decompositions");
    assert_eq!(of(&text("%5")), 3072, "%1 and two of the decompositions");
}

#[test]
fn an_update_runs_as_soon_as_it_can_and_frees_its_gradient() {
    let text = format!(
        "func.func @main(%w: tensor<16x16xf32> {{tf.aliasing_output = 0 : i32}}) -> (tensor<16x16xf32>, tensor<f32>) {{
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.cholesky %w, lower = true : tensor<16x16xf32>
        {}%2 = stablehlo.cholesky %w, lower = true : tensor<16x16xf32>
        {}%4 = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<f32>
        %5 = stablehlo.subtract %w, %1 : tensor<16x16xf32>
        return %5, %4 : tensor<16x16xf32>, tensor<f32> }}",
        dot("%1", "%0", "%0"),
        dot("%3", "%2", "%2")
    );
    let module = shardc_stablehlo::parse(&text).unwrap();
    let need = estimate(&module, module.entry().unwrap(), Machine::of("cpu"));
    assert_eq!(
        need.temporaries, 2048,
        "a decomposition and its product, but not the first product until the end"
    );
}

#[test]
fn far_operations_that_free_more_than_they_allocate_run_early() {
    // The program computes a chain of matrices, then a matmul of each with `rows` rows of 64 bytes, and the sum of the matmuls.
    let of = |matrices: usize, rows: usize| {
        let (part, square) = (format!("tensor<{rows}x16xf32>"), format!("tensor<{rows}x{rows}xf32>"));
        let mut text = String::from("%0 = C %x\n");
        for at in 1..matrices {
            let _ = writeln!(text, "%{at} = C %{}", at - 1);
        }
        let _ = writeln!(
            text,
            "%rows = stablehlo.slice %0 [0:{rows}, 0:16] : (tensor<16x16xf32>) -> {part}
             %s0 = stablehlo.slice %0 [0:{rows}, 0:{rows}] : (tensor<16x16xf32>) -> {square}"
        );
        for at in 1..matrices {
            let before = at - 1;
            let _ = writeln!(
                text,
                "%p{at} = stablehlo.dot_general %rows, %{at}, contracting_dims = [1] x [0] : ({part}, tensor<16x16xf32>) -> {part}
                 %q{at} = stablehlo.dot_general %p{at}, %rows, contracting_dims = [1] x [1] : ({part}, {part}) -> {square}
                 %s{at} = stablehlo.add %s{before}, %q{at} : {square}"
            );
        }
        let last = matrices - 1;
        let _ = writeln!(
            text,
            "%t = stablehlo.dot_general %s{last}, %rows, contracting_dims = [0] x [0] : ({square}, {part}) -> {part}
             %b = stablehlo.dot_general %t, %t, contracting_dims = [0] x [0] : ({part}, {part}) -> tensor<16x16xf32>
             return %b : tensor<16x16xf32>"
        );
        of(&text)
    };
    let near = FAR_BEHIND as usize / 3;
    let kept = of(near, 2);
    assert!(kept >= 1024 * near as u64, "{kept} bytes of {near} matrices");
    let far = 4 * FAR_BEHIND as usize;
    let kept = of(far, 2);
    assert!(kept <= 4 * 1024 + 128 * far as u64, "{kept} bytes of {far} matrices");
    let kept = of(far, 15);
    assert!(kept >= 1024 * far as u64, "{kept} bytes: hardly more is freed than allocated");
}

#[test]
fn loop_carried_values_are_counted_once() {
    let text = "%0 = C %x
        %n = stablehlo.constant dense<0> : tensor<i32>
        %r = stablehlo.while(%a = %0) : tensor<16x16xf32> cond {
          %c = stablehlo.compare LT, %n, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %1 = stablehlo.slice %a [0:4, 0:16] : (tensor<16x16xf32>) -> tensor<4x16xf32>
          %2 = stablehlo.dynamic_update_slice %a, %1, %n, %n : (tensor<16x16xf32>, tensor<4x16xf32>, tensor<i32>, tensor<i32>) -> tensor<16x16xf32>
          stablehlo.return %2 : tensor<16x16xf32>
        }
        %s = C %r
        return %s : tensor<16x16xf32>";
    assert_eq!(of(text), 1024, "the state");
}

/// Returns the bytes of temporaries of a loop that takes a row of a stack of four, and computes `%y` from the row and `%none` by `body`.
fn of_rows(machine: Machine, stack: &str, result: &str, body: &str) -> u64 {
    let (_, row) = stack.split_once('x').unwrap();
    let (sizes, _) = row.rsplit_once('x').unwrap();
    let (sizes, rank) = (sizes.replace('x', ", "), row.matches('x').count());
    let (indices, types) = (", %n".repeat(rank), ", tensor<i32>".repeat(rank));
    let text = format!(
        "func.func @main(%w: tensor<{stack}>) -> tensor<{result}> {{
        %n = stablehlo.constant dense<0> : tensor<i32>
        %none = stablehlo.constant dense<0.0> : tensor<{result}>
        %r:3 = stablehlo.while(%i = %n, %ws = %w, %z = %none) : tensor<i32>, tensor<{stack}>, tensor<{result}> cond {{
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }} do {{
          %row = stablehlo.dynamic_slice %ws, %i{indices}, sizes = [1, {sizes}] : (tensor<{stack}>, tensor<i32>{types}) -> tensor<1x{row}>
          {body}
          stablehlo.return %i, %ws, %y : tensor<i32>, tensor<{stack}>, tensor<{result}>
        }}
        return %r#2 : tensor<{result}> }}"
    );
    on(&text, machine)
}

#[test]
fn a_stack_in_another_layout_than_its_matmul_is_copied() {
    // The rows of the stack are `[8, 8, 128]` (features, heads, size). If only features are contracted, heads and size are both columns.
    let of = |machine: Machine, contracted: &str, result: &str| {
        let body = format!(
            "%h = stablehlo.reshape %row : (tensor<1x8x8x128xf32>) -> tensor<8x8x128xf32>
            %y = stablehlo.dot_general %h, %h, contracting_dims = {contracted} : (tensor<8x8x128xf32>, tensor<8x8x128xf32>) -> tensor<{result}>"
        );
        of_rows(machine, "4x8x8x128xf32", result, &body)
    };
    let stack = 4 * 8 * 8 * 128 * 4;
    let cut_across = |machine| of(machine, "[0] x [0]", "8x128x8x128xf32");
    assert_eq!(cut_across(Machine::of("v5p")) - cut_across(Machine::of("cpu")), stack);
    let along = |machine| of(machine, "[0, 1] x [0, 1]", "128x128xf32");
    assert_eq!(along(Machine::of("v5p")), along(Machine::of("cpu")));
}

#[test]
fn a_stack_with_gathers_of_partial_tiles_is_copied() {
    // The rows of the stack are features, heads and size; features are sharded. Heads and size are padded from 4 by 64 to 4 by 128.
    let of = |machine: Machine, part: u32, whole: u32| {
        let body = format!(
            "%y = \"stablehlo.all_gather\"(%row) <{{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> : (tensor<1x{part}x4x64xf32>) -> tensor<1x{whole}x4x64xf32>"
        );
        of_rows(machine, &format!("4x{part}x4x64xf32"), &format!("1x{whole}x4x64xf32"), &body)
    };
    let copied = |part: u32| of(Machine::of("v5p"), part, 2 * part) - of(Machine::of("cpu"), part, 2 * part);
    let rows = |features: u64| features * 4 * 64 * 4;
    let padding = rows(128 - 96) + rows(256 - 192);
    let expected = 4 * 2 * rows(96) + padding + rows(256);
    assert_eq!(
        copied(96),
        expected,
        "the stack, rows with features along the lanes, and a copy of the gathered row"
    );
    assert_eq!(copied(128), 0, "whole tiles");
}

#[test]
fn a_donated_argument_is_live_all_the_time() {
    let body = "%0 = C %x
        %1 = C %0
        %2 = stablehlo.add %1, %x : tensor<16x16xf32>
        return %2 : tensor<16x16xf32>";
    for attributes in ["{tf.aliasing_output = 0 : i32}", "{jax.buffer_donor = true}"] {
        let module = parsed(attributes, body);
        let need = estimate(&module, module.entry().unwrap(), Machine::of("cpu"));
        assert_eq!((need.arguments, need.aliases, need.peak), (1024, 1024, 3072));
    }
    let module = parsed("", body);
    assert_eq!(estimate(&module, module.entry().unwrap(), Machine::of("cpu")).peak, 4096);
    // Host memory is not counted as device memory.
    let module = parsed("{mhlo.memory_kind = \"pinned_host\"}", body);
    let need = estimate(&module, module.entry().unwrap(), Machine::of("cpu"));
    assert_eq!((need.arguments, need.host, need.peak), (0, 1024, 3072));
}

#[test]
fn a_loop_needs_the_temporaries_of_its_body() {
    let text = "%0 = C %x
        %n = stablehlo.constant dense<false> : tensor<i1>
        %r = stablehlo.while(%a = %x) : tensor<16x16xf32> cond {
          stablehlo.return %n : tensor<i1>
        } do {
          %1 = C %0
          %2 = C %1
          %3 = C %2
          stablehlo.return %3 : tensor<16x16xf32>
        }
        return %r : tensor<16x16xf32>";
    let module = parsed("", text);
    let need = need(&module, module.entry().unwrap(), Machine::of("cpu"));
    assert_eq!(need.estimate.temporaries, 1024 + 2048);
    let numbers: Vec<usize> = need.at.iter().map(|&(_, number)| number).collect();
    assert_eq!(numbers, [2, 1], "the second operation of the loop, which is the third of the function");
}

#[test]
fn values_that_only_matmuls_read_are_rounded_on_a_tpu() {
    let text = |last: &str| format!("%0 = C %x\n{}{last}", dot("%1", "%0", "%0"));
    let of = |last: &str| temporaries_of(&parsed("", &text(last)), Machine::of("v5e"));
    assert_eq!(of("return %1 : tensor<16x16xf32>"), 2 * 16 * 128);
    let other = "%2 = stablehlo.add %1, %0 : tensor<16x16xf32>\nreturn %2 : tensor<16x16xf32>";
    assert_eq!(of(other), 4 * 16 * 128);
}

/// Returns the text of a scatter that adds eight rows to a table of zeros.
fn scattered(result: &str, table: &str, places: &str, rows: &str, dims: &str) -> String {
    format!(
        "{result} = \"stablehlo.scatter\"(%z, %at, {rows}) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [{dims}], scatter_dims_to_operand_dims = [{dims}], index_vector_dim = 1>}}> ({{
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %s = stablehlo.add %l, %r : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }}) : (tensor<{table}xf32>, tensor<{places}xi32>, tensor<8x2xf32>) -> tensor<{table}xf32>\n"
    )
}

#[test]
fn a_table_with_too_much_row_padding_keeps_its_layout() {
    let of = |rows: u64| {
        let table = format!("{rows}x2");
        on_a_tpu(&format!(
            "func.func @main(%at: tensor<8x1xi32>, %added: tensor<8x2xf32>) -> tensor<{table}xf32> {{
                %z = stablehlo.constant dense<0.0> : tensor<{table}xf32>
                {}
                %1 = stablehlo.reverse %0, dims = [0] : tensor<{table}xf32>
                return %1 : tensor<{table}xf32>
            }}",
            scattered("%0", &table, "8x1", "%added", "0")
        ))
    };
    assert_eq!(of(1 << 20), (4 << 20) * 128, "512 MiB");
    assert_eq!(of(1 << 21), (4 << 21) * 2, "not 1 GiB");
}

#[test]
fn block_lookups_read_a_copy_without_tiles_along_the_index() {
    let text = "func.func @main(%x: tensor<256x84x84x4xui8>, %ats: tensor<64x1xi32>) -> tensor<64x84x84x4xui8> {
        %n = stablehlo.constant dense<0> : tensor<i32>
        %none = stablehlo.constant dense<0> : tensor<64x84x84x4xui8>
        %r:3 = stablehlo.while(%i = %n, %xs = %x, %z = %none) : tensor<i32>, tensor<256x84x84x4xui8>, tensor<64x84x84x4xui8> cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %y = \"stablehlo.gather\"(%xs, %ats) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 84, 84, 4>}> : (tensor<256x84x84x4xui8>, tensor<64x1xi32>) -> tensor<64x84x84x4xui8>
          stablehlo.return %i, %xs, %y : tensor<i32>, tensor<256x84x84x4xui8>, tensor<64x84x84x4xui8>
        }
        return %r#2 : tensor<64x84x84x4xui8> }";
    // Tiles of four colors by 128 columns.
    assert_eq!(on_a_tpu(text), (256 + 64) * 84 * 4 * 128);
}

#[test]
fn reductions_to_almost_nothing_run_early() {
    let text = "func.func @main(%x: tensor<2048x2048xf32>) -> (tensor<2048xf32>, tensor<2048x2048xf32>) {
        %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %y = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
        %w = stablehlo.custom_call @C(%y) : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
        %sum = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
        return %sum, %w : tensor<2048xf32>, tensor<2048x2048xf32> }";
    let of = |rules| on(text, Model::new(Machine::of("v5e"), rules));
    let matrix = 4 * 2048 * 2048;
    let rules = RuleSet::default().without(Rule::EarlyResults).without(Rule::EarlyFrees);
    assert!(of(rules) < 2 * matrix);
    assert!(of(rules.without(Rule::EarlyReductions)) >= 2 * matrix, "program order");
}

#[test]
fn a_loop_result_is_not_written_over_an_argument_that_the_loop_reads() {
    let of = |attribute: &str| {
        let text = format!(
            "func.func @main(%x: tensor<4x512x512xf32> {attribute}) -> tensor<4x512x512xf32> {{
            %n = stablehlo.constant dense<0> : tensor<i32>
            %none = stablehlo.constant dense<0.0> : tensor<4x512x512xf32>
            %r:3 = stablehlo.while(%i = %n, %xs = %x, %ys = %none) : tensor<i32>, tensor<4x512x512xf32>, tensor<4x512x512xf32> cond {{
              %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %c : tensor<i1>
            }} do {{
              %row = stablehlo.dynamic_slice %xs, %i, %n, %n, sizes = [1, 512, 512] : (tensor<4x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x512xf32>
              %new = stablehlo.dynamic_update_slice %ys, %row, %i, %n, %n : (tensor<4x512x512xf32>, tensor<1x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x512x512xf32>
              stablehlo.return %i, %xs, %new : tensor<i32>, tensor<4x512x512xf32>, tensor<4x512x512xf32>
            }}
            return %r#2 : tensor<4x512x512xf32> }}"
        );
        on_a_tpu(&text)
    };
    assert_eq!(of("{tf.aliasing_output = 0 : i32}") - of(""), 4 * 4 * 512 * 512);
}

#[test]
fn a_stack_of_rows_that_loops_convert_is_converted_before_the_loop() {
    let of = |machine: Machine, of_row: &str| {
        let body = format!(
            "%h = stablehlo.reshape %row : (tensor<1x512x512xf32>) -> tensor<512x512xf32>
            %half = stablehlo.convert %h : (tensor<512x512xf32>) -> tensor<512x512xbf16>
            {of_row}
            %y = stablehlo.dot_general %half, %half, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>"
        );
        of_rows(machine, "4x512x512xf32", "512x512xf32", &body)
    };
    let stack = 2 * 4 * 512 * 512;
    assert_eq!(of(Machine::of("v5e"), "") - of(Machine::of("cpu"), ""), stack, "half of the 32-bit stack");
    let wide = "%again = stablehlo.negate %h : tensor<512x512xf32>";
    assert_eq!(of(Machine::of("v5e"), wide), of(Machine::of("cpu"), wide), "another user needs 32 bits");
}

#[test]
fn an_all_gather_has_memory_beside_the_matmul_before_it() {
    let text = "func.func @main(%x: tensor<1024x1024xf32>, %p: tensor<128x1024xf32>) -> tensor<1024x1024xf32> {
        %0 = stablehlo.custom_call @C(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
        %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
        %2 = \"stablehlo.all_gather\"(%p) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
        %3 = stablehlo.custom_call @D(%1, %2) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
        return %3 : tensor<1024x1024xf32> }";
    let matrix = 4 * 1024 * 1024;
    let of = |rules| on(text, Model::new(Machine::of("v5e"), rules));
    assert_eq!(of(RuleSet::default().without(Rule::EarlyGathers)), 2 * matrix);
    assert_eq!(
        of(RuleSet::default()),
        2 * matrix + matrix / 2,
        "the matmul's operand, rounded, is live as well"
    );
}

#[test]
fn a_lookup_of_one_element_per_row_reads_a_late_copy_on_a_v5p() {
    let (narrow, wide) = ("tensor<512x4096xbf16>", "tensor<512x4096xf32>");
    let text = format!(
        "func.func @main(%x: {narrow}, %at: tensor<512x1x1xi32>) -> (tensor<512x1xf32>, {narrow}) {{
        %l = stablehlo.custom_call @C(%x) : ({narrow}) -> {narrow}
        %w = stablehlo.convert %l : ({narrow}) -> {wide}
        %p = \"stablehlo.gather\"(%w, %at) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}}> : ({wide}, tensor<512x1x1xi32>) -> tensor<512x1xf32>
        %m = stablehlo.custom_call @C(%x) : ({narrow}) -> {narrow}
        %g = stablehlo.custom_call @D(%m, %l) : ({narrow}, {narrow}) -> {narrow}
        %h = stablehlo.custom_call @C(%g) : ({narrow}) -> {narrow}
        return %p, %h : tensor<512x1xf32>, {narrow} }}"
    );
    let of = |device| on(&text, Machine::of(device));
    let logits = 2 * 512 * 4096;
    assert_eq!(of("v5e"), 3 * logits, "the logits and the converted table");
    assert_eq!(of("v5p"), 5 * logits, "also two values of their last user");
}
