//! Operations of the graph builder have the values and gradients of `jax.numpy`, `jax.nn` and `jax.lax`.
//!
//! The values are from `data/graph_values.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use serde_json::Value;
use shardc::exec::Program;
use shardc::graph::{
    Conv,
    DType::{BF16, C64, F32, I32},
    Graph, Mesh, OutOfBounds, Padding, ScanOptions, ScatterSpec, Tensor, Transposition, TriangularSpec,
};
use shardc::runtime::HostArray;
use shardc_tests::devices::client;

const VALUES: &str = include_str!("../data/graph_values.json");

type Make = for<'g> fn(&'g Graph, &[Tensor<'g>]) -> Tensor<'g>;

fn sum_over(padding: Padding, strides: &[i64]) -> Conv {
    Conv { padding, strides: strides.to_vec(), ..Conv::default() }
}

const CASES: &[(&str, Make)] = &[
    ("relu", |_, x| x[0].relu()),
    ("relu6", |_, x| x[0].relu6()),
    ("leaky_relu", |_, x| x[0].leaky_relu(0.1)),
    ("elu", |_, x| x[0].elu(1.0)),
    ("relu_zero", |_, x| x[0].relu()),
    ("selu", |_, x| x[0].selu()),
    ("celu", |_, x| x[0].celu(0.7)),
    ("soft_sign", |_, x| x[0].soft_sign()),
    ("mish", |_, x| x[0].mish()),
    ("hard_tanh", |_, x| x[0].hard_tanh()),
    ("hard_sigmoid", |_, x| x[0].hard_sigmoid()),
    ("hard_silu", |_, x| x[0].hard_silu()),
    ("glu", |_, x| x[0].glu(-1)),
    ("standardize", |_, x| x[0].standardize(-1, 1e-5)),
    ("softmax_where", |g, x| x[0].softmax_where(g.tri(4, 6, 1), -1)),
    ("log_softmax_where", |g, x| {
        let kept = g.tri(4, 6, 1);
        kept.select(x[0].log_softmax_where(kept, -1), -9)
    }),
    ("softplus_edges", |_, x| x[0].softplus()),
    ("logaddexp", |_, x| x[0].logaddexp(x[1])),
    ("gelu", |_, x| x[0].gelu()),
    ("gelu_exact", |_, x| x[0].gelu_exact()),
    ("silu", |_, x| x[0].silu()),
    ("softplus", |_, x| x[0].softplus()),
    ("log_sigmoid", |_, x| x[0].log_sigmoid()),
    ("softmax", |_, x| x[0].softmax(-1)),
    ("softmax_all", |_, x| x[0].softmax(..)),
    ("log_softmax", |_, x| x[0].log_softmax(0)),
    ("logsumexp", |_, x| x[0].logsumexp(1)),
    ("one_hot", |_, x| x[0].one_hot(6, F32)),
    ("mean", |_, x| x[0].mean(0)),
    ("var", |_, x| x[0].var(1)),
    ("broadcast", |_, x| x[0] * x[1] + x[1]),
    ("matmul", |_, x| x[0].dot(x[1])),
    ("batched_matmul", |_, x| x[0].matmul(x[1])),
    ("einsum_attention", |g, x| g.einsum("bqhd,bkhd->bhqk", x)),
    ("einsum_three", |g, x| g.einsum("ij,jk,kl->il", x)),
    ("einsum_trace", |g, x| g.einsum("ii", x)),
    ("einsum_diagonal", |g, x| g.einsum("iij->ji", x)),
    ("einsum_outer", |g, x| g.einsum("i,j", x)),
    ("einsum_sum", |g, x| g.einsum("ij,k->j", x)),
    ("einsum_more", |g, x| g.einsum("...ij,...jk->...ik", x)),
    ("einsum_more_implicit", |g, x| g.einsum("i...,...j", x)),
    ("einsum_swapped", |g, x| g.einsum("ij,jk->ki", x)),
    ("einsum_batches", |g, x| g.einsum("abi,baj->iabj", x)),
    ("einsum_path", |g, x| g.einsum("abc,cd,db,be->ae", x)),
    ("einsum_accumulating", |g, x| g.einsum_accumulating("ij,jk->ik", &[x[0].to(BF16), x[1].to(BF16)], F32)),
    ("conv_same", |_, x| x[0].conv(x[1], &sum_over(Padding::Same, &[2, 1]))),
    ("conv_dilated", |_, x| {
        let padding = Padding::Explicit(vec![(2, 1), (0, 3)]);
        x[0].conv(x[1], &Conv { padding, rhs_dilation: vec![2, 1], ..Conv::default() })
    }),
    ("conv_grouped", |_, x| x[0].conv(x[1], &Conv { feature_groups: 3, ..Conv::default() })),
    ("max_pool", |_, x| x[0].max_pool(&[2, 2], &[2, 2], &Padding::Valid)),
    ("avg_pool", |_, x| x[0].avg_pool(&[3, 3], &[2, 2], &Padding::Same)),
    ("take", |_, x| x[0].take(x[1], 0)),
    ("take_columns", |_, x| x[0].take(x[1], -1)),
    ("take_fill", |_, x| {
        let taken = x[0].take_with(x[1], 0, OutOfBounds::Fill);
        taken.eq(taken).select(taken, 7.0)
    }),
    ("take_along_axis", |_, x| x[0].take_along_axis(x[1], 1)),
    ("at_set", |g, x| x[0].at_set(g.constant(&[2i32, 0], [2]), x[1], 0)),
    ("at_add", |_, x| x[0].at_add(x[2], x[1], 0)),
    ("at_add_columns", |_, x| x[0].at_add(x[2], x[1], 1)),
    ("take_wrap", |_, x| x[0].take_with(x[1], 0, OutOfBounds::Wrap)),
    ("take_fill_negative", |_, x| {
        let taken = x[0].take_with(x[1], 0, OutOfBounds::Fill);
        taken.is_nan().select(7.0, taken)
    }),
    ("take_fill_whole", |_, x| x[0].take_with(x[1], 0, OutOfBounds::Fill)),
    ("take_along_axis_fill", |_, x| {
        let taken = x[0].take_along_axis_with(x[1], 1, OutOfBounds::Fill);
        taken.is_nan().select(7.0, taken)
    }),
    ("index", |_, x| x[0].index(&[x[1], x[2]])),
    ("index_rows", |_, x| x[0].index(&[x[1]])),
    ("at_set_outside", |_, x| x[0].at_set(x[2], x[1], 0)),
    ("at_mul", |_, x| x[0].at_mul(x[2], x[1], 0)),
    ("at_max", |_, x| x[0].at_max(x[2], x[1], 0)),
    ("at_min", |_, x| x[0].at_min(x[2], x[1], 1)),
    ("segment_sum", |_, x| x[0].segment_sum(x[1], 5)),
    ("segment_max", |_, x| x[0].segment_max(x[1], 3)),
    ("segment_min", |_, x| x[0].segment_min(x[1], 3)),
    ("segment_prod", |_, x| x[0].segment_prod(x[1], 3)),
    ("scatter", |_, x| {
        let spec = ScatterSpec {
            update_window_dims: [1].into_iter().collect(),
            inserted_window_dims: [0].into_iter().collect(),
            scatter_dims_to_operand_dims: [0].into_iter().collect(),
            index_vector_dim: 1,
            ..ScatterSpec::default()
        };
        x[0].scatter(x[2], x[1], &spec, |old, new| old + new)
    }),
    ("conv_transpose", |_, x| x[0].conv_transpose(x[1], &sum_over(Padding::Same, &[2, 3]))),
    ("conv_transpose_valid", |_, x| x[0].conv_transpose(x[1], &sum_over(Padding::Valid, &[2, 1]))),
    ("conv_layout", |_, x| {
        let conv = Conv {
            lhs: "NCHW".to_owned(),
            rhs: "OIHW".to_owned(),
            out: "NCHW".to_owned(),
            padding: Padding::SameLower,
            ..Conv::default()
        };
        x[0].transpose(&[0, 3, 1, 2]).conv(x[1].transpose(&[3, 2, 0, 1]), &conv)
    }),
    ("sum_pool", |_, x| x[0].sum_pool(&[2, 3], &[1, 2], &Padding::Same) / 6),
    ("min_pool", |_, x| x[0].min_pool(&[2, 2], &[2, 1], &Padding::Explicit(vec![(1, 0), (0, 1)]))),
    ("reduce_window", |_, x| x[0].reduce_window(0, &[2, 3], &[1, 3], &Padding::Valid, |a, b| a + b)),
    ("sort_descending", |_, x| x[0].sort_descending(0)),
    ("sort_with", |_, x| x[0].sort_with(&[x[1]], 1)[1]),
    ("searchsorted", |_, x| x[0].searchsorted(x[1], false)),
    ("searchsorted_right", |_, x| x[0].searchsorted(x[1], true)),
    ("cumsum_reverse", |_, x| x[0].cumsum_reverse(0)),
    ("cummin_reverse", |_, x| x[0].cummin_reverse(1)),
    ("cumlogsumexp", |_, x| x[0].cumlogsumexp(1)),
    ("associative_scan", |g, x| {
        g.associative_scan((x[0], x[1]), -1, true, |(a, b), (c, d)| (a * c, b * c + d)).1
    }),
    ("diff", |_, x| x[0].diff(1)),
    ("linspace", |g, _| g.linspace(-1.0, 2.5, 8, F32)),
    ("causal_mask", |g, x| g.causal_mask(4, 6).select(x[0], 0)),
    ("cholesky", |_, x| (x[0].dot(x[0].t()) + x[0].graph().eye(4, F32)).cholesky()),
    ("triangular_solve", |_, x| {
        let spec = TriangularSpec {
            left_side: true,
            lower: true,
            unit_diagonal: false,
            transpose_a: Transposition::None,
        };
        (x[0].tril(0) + x[0].graph().eye(4, F32) * 3).triangular_solve(x[1], &spec)
    }),
    ("rfft", |_, x| {
        let y = x[0].rfft();
        y.real() + 2 * y.imag()
    }),
    ("fft_and_back", |_, x| (x[0].to(C64).fft() * x[1].to(C64).fft()).ifft().real()),
    ("irfft", |_, x| (x[0].rfft() * x[1].rfft()).irfft(6)),
    ("norm", |_, x| x[0].norm(1)),
    ("norm_one", |_, x| x[0].norm_of(1.0, 0)),
    ("norm_largest", |_, x| x[0].norm_of(f64::INFINITY, 1)),
    ("norm_three", |_, x| x[0].norm_of(3.0, 1)),
    ("trace", |_, x| x[0].trace()),
    ("diagonal", |_, x| x[0].diagonal(1)),
    ("diagonal_below", |_, x| x[0].diagonal(-2)),
    ("outer", |_, x| x[0].outer(x[1])),
    ("cross", |_, x| x[0].cross(x[1])),
    ("var_ddof", |_, x| x[0].var_ddof(1, 1)),
    ("std", |_, x| x[0].std(0)),
    ("reduce_precision", |_, x| x[0].reduce_precision(5, 4)),
    ("bitcast", |_, x| x[0].bitcast(I32)),
    ("sign_bit", |_, x| x[0].sign_bit().to(I32)),
    ("nan_to_num", |_, x| (x[0].log() - (-x[0]).log()).nan_to_num() / 1e38),
    ("trunc", |_, x| x[0].trunc()),
    ("modulo", |_, x| x[0].modulo(x[1])),
    ("modulo_whole", |_, x| x[0].modulo(3) * 10 + x[0].modulo(-4)),
    ("floor_div", |_, x| x[0].floor_div(x[1])),
    ("floor_div_whole", |_, x| x[0].floor_div(3) * 10 + x[0].floor_div(-4)),
    ("clip", |_, x| x[0].clip(-0.5, x[1])),
    ("sort", |_, x| x[0].sort(1)),
    ("argsort", |_, x| x[0].argsort(0)),
    ("top_k", |_, x| x[0].top_k(3).0),
    ("top_k_places", |_, x| x[0].top_k(3).1),
    ("argmax", |_, x| x[0].argmax(1)),
    ("argmin", |_, x| x[0].argmin(0)),
    ("cumsum", |_, x| x[0].cumsum(1)),
    ("cumprod", |_, x| x[0].cumprod(0)),
    ("cummax", |_, x| x[0].cummax(1)),
    ("tril", |_, x| x[0].tril(1)),
    ("triu", |_, x| x[0].triu(-1)),
    ("roll", |_, x| x[0].roll(2, 1)),
    ("tile", |_, x| x[0].tile(&[2, 3])),
    ("slice_by", |_, x| x[0].slice_by(1, (1, -1), 2)),
    ("flip", |_, x| x[0].flip(1)),
    ("clamp", |_, x| x[0].clamp(-1.0, 0.5)),
    ("where", |_, x| x[0].gt(x[1]).select(x[0] * x[1], x[1])),
    ("atan2", |_, x| x[0].atan2(x[1])),
    ("scan", |g, x| g.scan(g.zeros([6], F32), x[0], |c, r| ((c + r).tanh(), c * r)).1),
    ("scan_reverse", |g, x| {
        let options = ScanOptions { reverse: true, ..ScanOptions::default() };
        g.scan_with(options, g.zeros([6], F32), x[0], |c, r| (c * 0.5 + r, c)).1
    }),
    ("fori", |g, x| g.fori(0, 3, x[0], |i, c| c.sin() * (i.to(F32) + 1.0))),
    ("cond", |g, x| g.cond(x[0].sum(..).gt(0), || x[0] * 2.0, || -x[0])),
    ("compare_constants", |g, x| g.zeros([4, 6], I32).gt(-4).to(F32) + 0.0 * x[0]),
    ("expm1", |_, x| x[0].expm1()),
    ("erf", |_, x| x[0].erf()),
    ("pow", |_, x| x[0].abs().pow(x[1])),
];

/// An array of the data; entries that are not numbers become NaN.
fn array(value: &Value) -> HostArray {
    let list = |name: &str| value[name].as_array().unwrap().clone();
    let shape: Vec<usize> = list("shape").iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let data: Vec<f64> = list("data").iter().map(|n| n.as_f64().unwrap_or(f64::NAN)).collect();
    let dtype = if value["dtype"] == "f32" { F32 } else { I32 };
    HostArray::from_f64(dtype, &shape, &data).unwrap()
}

/// Cases whose gradients are rounded to bf16. They may differ by one unit in the last place, because the order in which XLA's CPU back end
/// adds numbers depends on the CPU.
const ROUNDED_TO_BF16: &[&str] = &["einsum_accumulating"];

/// Describes the difference between two arrays; `None` if they are close. `rounding` is the permitted relative difference of an element.
fn compare(what: &str, want: &HostArray, have: &HostArray, rounding: f64) -> Option<String> {
    if (want.dtype, &want.shape) != (have.dtype, &have.shape) {
        return Some(format!("{what} is {}, not {}", have.ty(), want.ty()));
    }
    let scale = want.to_f64_vec().iter().fold(1.0f64, |most, n| most.max(n.abs()));
    let (want, have) = (want.to_f64_vec(), have.to_f64_vec());
    let off = want.iter().zip(&have).map(|(a, b)| (a - b).abs() - rounding * a.abs()).fold(0.0, f64::max);
    let is_close = off <= 4e-6 * scale && want.iter().zip(&have).all(|(a, b)| a.is_nan() == b.is_nan());
    (!is_close).then(|| format!("{what} is off by {off:e}: {have:?}, not {want:?}"))
}

#[test]
fn operations_and_gradients_match_jax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let mut wrong = String::new();
    for (name, make) in CASES {
        let value = &values[name];
        let inputs: Vec<HostArray> = value["inputs"].as_array().unwrap().iter().map(array).collect();
        let g = Graph::new(name, &Mesh::new(&[("data", 1)]).unwrap());
        let tensors: Vec<Tensor<'_>> = inputs
            .iter()
            .enumerate()
            .map(|(i, input)| g.parameter(&format!("x{i}"), input.shape.as_slice(), input.dtype))
            .collect();
        let result = make(&g, &tensors);
        let mut returned = vec![("result".to_owned(), result)];
        let expected = value["gradients"].as_array().unwrap();
        if !expected.is_empty() {
            let weights = g.arange(result.num_elements(), F32).cos().reshape(result.shape());
            let by: Vec<Tensor<'_>> = tensors.iter().copied().filter(|t| t.dtype() == F32).collect();
            let gradients = g.grad((result * weights).sum(..), &by);
            returned.extend(gradients.into_iter().enumerate().map(|(i, d)| (format!("gradient {i}"), d)));
        }
        let named: Vec<(&str, Tensor<'_>)> = returned.iter().map(|(name, t)| (name.as_str(), *t)).collect();
        let module = match g.finish(&named) {
            Ok(module) => module,
            Err(errors) => {
                writeln!(wrong, "{name}: {errors}").unwrap();
                continue;
            }
        };
        let have = Program::single(&client, &module).and_then(|program| program.run(&client, &inputs));
        let want = std::iter::once(&value["result"]).chain(expected).map(array);
        match have {
            Err(error) => writeln!(wrong, "{name}: {error}").unwrap(),
            Ok(have) => {
                let rounding = if ROUNDED_TO_BF16.contains(name) { 1.0 / 128.0 } else { 0.0 };
                for (((what, _), want), have) in returned.iter().zip(want).zip(&have) {
                    if let Some(text) = compare(what, &want, have, rounding) {
                        writeln!(wrong, "{name}: {text}").unwrap();
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(values.as_object().unwrap().len(), CASES.len());
}
