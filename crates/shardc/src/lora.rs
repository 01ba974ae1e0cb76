//! LoRA for any forward program: low-rank adapters added to its linear layers, their initial values, and merging them into weights.
//!
//! ```
//! use shardc::lora::{Lora, adapt, merged, Merge};
//! use shardc::{Compiler, autodiff};
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let mut module = Compiler::parse(
//!     br#"func.func @main(%w1: tensor<16x64xf32>, %w2: tensor<64x8xf32>, %x: tensor<4x16xf32>) -> tensor<f32> {
//!       %zero = stablehlo.constant dense<0.0> : tensor<f32>
//!       %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0]
//!           : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32>
//!       %a = stablehlo.tanh %h : tensor<4x64xf32>
//!       %y = stablehlo.dot_general %a, %w2, contracting_dims = [1] x [0]
//!           : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
//!       %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1]
//!           : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
//!       return %loss : tensor<f32>
//!     }"#,
//! )?;
//! let lora = Lora::new(2, 4.0);
//! let adapted = adapt(&mut module, &lora, &[])?;
//! assert_eq!(adapted.adapters[0].map.name, "w1");
//! assert!(adapted.others[0].is_output);
//! assert_eq!(adapted.parameters.to_string(), "trainable params: 160 || all params: 1,696 || trainable%: 9.4340");
//! let unmerged = merged(&module, &adapted, &lora, Merge::Into)?;
//! assert_eq!(unmerged.entry().map(|func| unmerged.funcs[func].params.len()), Some(3));
//! // A training step has gradients of the adapters only.
//! let wrt = autodiff::arguments(&module, &["lora"])?;
//! autodiff::value_and_grad(&mut module, &wrt)?;
//! # Ok(())
//! # }
//! ```

mod config;

use shardc_graph::{DType, DotDims, Graph, GraphErrors, Key, Mesh, Tensor};
use shardc_ir::{AttrDict, Diagnostic, Module};
use shardc_strategy as strategy;
pub use shardc_strategy::{
    Adapted, Adapter, Bias, Layers, LinearMap, Lora, Parameters, Patterns, Targets, TargetsError,
};
use shardc_strategy::{Reform, Step};

pub use self::config::AdapterConfig;
use crate::Error;
use crate::strategy::role_overrides;

/// Whether adapters are merged into weights or removed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Merges the adapters: `W + s A B`.
    Into,
    /// Removes merged adapters: `W - s A B`.
    OutOf,
}

/// Adds adapters to the linear layers of a program: matmuls of weights with values that depend on the batch. Calls are inlined. `roles`
/// specifies roles of arguments, such as `arg12=batch`.
///
/// # Errors
/// A target matches no linear layer, or a rank or dropout is invalid (SH1252); a role cannot be parsed (SH1202, SH0333).
pub fn adapt(module: &mut Module, lora: &Lora, roles: &[&str]) -> Result<Adapted, Error> {
    let overrides = role_overrides(module, roles, None)?;
    strategy::adapt(module, lora, &overrides).map_err(Error::Diagnostics)
}

/// Returns a program that computes the initial values of adapters from a random key of two 32-bit words: PyTorch's uniform initialization
/// for every `A`, zeros for every `B`. The results are in the order of the adapters' arguments.
///
/// # Errors
/// The size of an adapter's tensor overflows.
pub fn initial(module: &Module, adapted: &Adapted) -> Result<Module, Error> {
    let g = Graph::new("main", &one_device()?);
    let key = Key::from_tensor(g.parameter("key", [2], DType::UI32));
    let mut values = Vec::new();
    for (i, adapter) in adapted.adapters.iter().enumerate() {
        let (shape, dtype) = argument(module, adapter.a);
        let (stacked, along) = (adapter.map.stacked.len(), adapter.map.along().len());
        let inputs: i64 = shape[stacked + along..shape.len() - 1].iter().product();
        let limit = 1.0 / (inputs.max(1) as f64).sqrt();
        values.push((name(module, adapter.a), key.fold_in(i as i64).uniform(&shape, dtype, -1, 1) * limit));
        let (shape, dtype) = argument(module, adapter.b);
        values.push((name(module, adapter.b), g.full(&shape, 0.0, dtype)));
    }
    finish(&g, &values)
}

/// Returns a program that takes the weights of adapted layers and the adapters, and returns the weights with the adapters merged or
/// removed.
///
/// # Errors
/// A weight has another user, whose result would change, or has an integer type, to which the merged weight would be rounded (SH1252); the
/// size of an adapter's tensor overflows.
pub fn merged(module: &Module, adapted: &Adapted, lora: &Lora, merge: Merge) -> Result<Module, Error> {
    let kept_apart: Vec<Diagnostic> =
        adapted.adapters.iter().filter_map(|adapter| kept_apart(module, &adapter.map)).collect();
    if !kept_apart.is_empty() {
        return Err(Error::Diagnostics(kept_apart));
    }
    let g = Graph::new("main", &one_device()?);
    let mut weights: Vec<usize> = adapted.adapters.iter().map(|adapter| adapter.map.weight).collect();
    weights.sort_unstable();
    weights.dedup();
    let parameter = |i: usize| {
        let (shape, dtype) = argument(module, i);
        g.parameter(&name(module, i), &shape, dtype)
    };
    let mut values: Vec<(usize, Tensor<'_>)> = weights.iter().map(|&i| (i, parameter(i))).collect();
    let sign = match merge {
        Merge::Into => 1.0,
        Merge::OutOf => -1.0,
    };
    for adapter in &adapted.adapters {
        let change = of_weight(&adapter.map, parameter(adapter.a), parameter(adapter.b));
        let change = change * (sign * lora.scale_of(&adapter.map.name));
        let of = values.iter_mut().filter(|(i, _)| *i == adapter.map.weight);
        for (_, value) in of {
            *value = (value.to(change.dtype()) + change).to(value.dtype());
        }
    }
    let named: Vec<(String, Tensor<'_>)> =
        values.into_iter().map(|(i, value)| (name(module, i), value)).collect();
    let mut out = finish(&g, &named)?;
    if let Some(func) = out.entry() {
        for (i, attrs) in out.funcs[func].arg_attrs.iter_mut().take(named.len()).enumerate() {
            attrs.donate_to(i);
        }
    }
    Ok(out)
}

/// Returns an error if the adapters of a linear map cannot be merged into the weight.
fn kept_apart(module: &Module, map: &LinearMap) -> Option<Diagnostic> {
    let (weight, (_, dtype)) = (name(module, map.weight), argument(module, map.weight));
    let why = if map.shares_weight {
        format!("{weight} has another user, and merging would change the result of that user")
    } else if dtype.is_integer() {
        format!("{weight} has an integer type, and merging would round the sum")
    } else {
        return None;
    };
    let message = format!("the adapters of {} cannot be merged: {why}", map.name);
    Some(
        Diagnostic::invalid("SH1252", message)
            .hint("keep the adapters separate, or leave this layer out of --targets"),
    )
}

/// Returns the matmul `A B`, reshaped, transposed and padded to the shape of the weight argument.
fn of_weight<'g>(map: &LinearMap, a: Tensor<'g>, b: Tensor<'g>) -> Tensor<'g> {
    let (stacked, along) = (map.stacked.len(), map.along().len());
    let front: Vec<i64> = (0..(stacked + along) as i64).collect();
    let rank = front.len() as i64;
    let dims = DotDims {
        lhs_batching: front.clone(),
        rhs_batching: front,
        lhs_contracting: vec![-1],
        rhs_contracting: vec![rank],
        accumulate: None,
    };
    // The result dimensions of the matmul are, in order, stack, batching, input and output dimensions.
    let product = a.dot_general(b, &dims);
    let made: Vec<usize> = [&map.along()[..], &map.contracted, &map.free].concat();
    let place = |d: usize| made.iter().position(|&m| m == d).unwrap_or(d) + stacked;
    let order: Vec<i64> = (0..stacked).chain((0..map.shape.len()).map(place)).map(|d| d as i64).collect();
    let mut value = product.transpose(&order);
    let mut rows = stacked;
    for Step { reform, from } in map.steps.iter().rev() {
        let front = value.shape()[..rows].to_vec();
        value = match reform {
            Reform::Convert => value,
            Reform::Reshape => value.reshape([front, from.shape.to_vec()].concat()),
            Reform::Transpose(permutation) => {
                let back = |d: usize| permutation.iter().position(|&p| p as usize == d).unwrap_or(d) + rows;
                let order = (0..rows).chain((0..permutation.len()).map(back));
                value.transpose(&order.map(|d| d as i64).collect::<Vec<_>>())
            }
            Reform::Slice(spec) => {
                let zeros = std::iter::repeat_n(0, rows);
                let low: Vec<i64> = zeros.clone().chain(spec.start.iter().copied()).collect();
                let high = from.shape.iter().zip(&spec.limit).map(|(n, limit)| n - limit);
                value.pad(0.0, &low, &zeros.chain(high).collect::<Vec<_>>())
            }
            Reform::Row(dims) => {
                // The slice of the weight was taken at indices of `dims`: the innermost stack dimensions become these dimensions of the
                // weight.
                let taken = rows - dims.len();
                let rest: Vec<usize> =
                    (0..from.shape.len()).filter(|d| !dims.contains(&(*d as u32))).collect();
                let sizes = rest.iter().map(|&d| from.shape[d]);
                let flat = value.reshape(front.iter().copied().chain(sizes).collect::<Vec<_>>());
                let of_dim = |d: usize| match dims.iter().position(|&row| row as usize == d) {
                    Some(row) => taken + row,
                    None => rows + rest.iter().position(|&r| r == d).unwrap_or(d),
                };
                let order = (0..taken).chain((0..from.shape.len()).map(of_dim));
                let order: Vec<i64> = order.map(|d| d as i64).collect();
                rows = taken;
                flat.transpose(&order)
            }
        };
    }
    value
}

fn one_device() -> Result<Mesh, Error> {
    Mesh::new(&[]).map_err(|error| GraphErrors(vec![error]).into())
}

fn finish(g: &Graph, values: &[(String, Tensor<'_>)]) -> Result<Module, Error> {
    let named: Vec<(&str, Tensor<'_>)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut module = g.finish(&named)?;
    // The program does not depend on a mesh. Names are stored as attributes, so that they survive printing.
    module.mesh_names.clear();
    if let Some(func) = module.entry() {
        let func = &mut module.funcs[func];
        func.arg_attrs.resize(func.params.len(), AttrDict::default());
        for i in 0..func.params.len() {
            let name = func.shown_argument(&module.locs, i);
            func.arg_attrs[i].set_arg_info(&name);
        }
    }
    Ok(module)
}

/// The name of an argument.
fn name(module: &Module, i: usize) -> String {
    module.entry().map(|f| module.funcs[f].shown_argument(&module.locs, i)).unwrap_or_default()
}

/// The shape and element type of an argument.
fn argument(module: &Module, i: usize) -> (Vec<i64>, DType) {
    let ty = module.entry().and_then(|func| module.types.as_tensor(*module.funcs[func].params.get(i)?));
    ty.map_or((Vec::new(), DType::F32), |ty| (ty.shape.to_vec(), ty.dtype))
}
