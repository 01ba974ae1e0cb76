//! Convolutions, as products of a matrix of patches with the kernel.

use shardc_ir::{ConvSpec, DType};

use super::convert::convert;
use super::matmul::{Sizes, batched};
use super::moves::{concatenate, dynamic_slice, reverse, transpose};
use super::windows::{Axis, Windows};
use crate::array::{Array, Dims, count, zip};
use crate::error::Fault;
use crate::numbers::Domain;

/// A convolution with the padding of each spatial dimension.
pub(crate) fn convolution<D: Domain>(
    input: &Array<D>,
    kernel: &Array<D>,
    spec: &ConvSpec,
    padding: &[(i64, i64)],
    dtype: DType,
) -> Result<Array<D>, Fault> {
    let (input, kernel) = (convert(input, dtype)?, convert(kernel, dtype)?);
    let places = |dims: &[u32]| dims.iter().map(|&d| d as usize).collect::<Vec<usize>>();
    // Input: batch, spatial, features. Kernel: spatial, input features, output features.
    let mut order = vec![spec.input.batch as usize];
    order.extend(places(&spec.input.spatial));
    order.push(spec.input.feature as usize);
    let input = transpose(&input, &order)?;
    let mut order = places(&spec.kernel.spatial);
    order.extend([spec.kernel.input_feature as usize, spec.kernel.output_feature as usize]);
    let mut kernel = transpose(&kernel, &order)?;
    let reversed: Vec<usize> =
        spec.reversal.iter().enumerate().filter(|(_, is_reversed)| **is_reversed).map(|(d, _)| d).collect();
    kernel = reverse(&kernel, &reversed)?;

    let spatial = spec.input.spatial.len();
    let at = |list: &[i64], d: usize| list.get(d).copied().unwrap_or(1);
    let axes: Result<Vec<Axis>, Fault> = (0..spatial)
        .map(|d| {
            Axis::new(
                input.dims()[1 + d],
                kernel.dims()[d],
                at(&spec.strides, d),
                at(&spec.lhs_dilation, d),
                at(&spec.rhs_dilation, d),
                padding.get(d).copied().unwrap_or((0, 0)),
            )
        })
        .collect();
    let windows = Windows::new(axes?);
    let batch_groups = spec.batch_group_count.max(1) as usize;
    let feature_groups = spec.feature_group_count.max(1) as usize;
    let groups = batch_groups.max(feature_groups);
    let outputs = kernel.dims().last().copied().unwrap_or(0) / groups;
    let mut parts = Vec::new();
    for group in 0..groups {
        let input = match batch_groups {
            1 => part(&input, 1 + spatial, group, feature_groups)?,
            _ => part(&input, 0, group, batch_groups)?,
        };
        let kernel = part(&kernel, 1 + spatial, group, groups)?;
        parts.push(group_product(&input, &kernel, &windows, outputs)?);
    }
    let result = concatenate(&parts, 1 + spatial)?;
    // Now batch, spatial, features.
    let mut back = vec![0; 2 + spatial];
    back[spec.output.batch as usize] = 0;
    back[spec.output.feature as usize] = 1 + spatial;
    for (d, place) in places(&spec.output.spatial).into_iter().enumerate() {
        back[place] = 1 + d;
    }
    transpose(&result, &back)
}

/// Part `index` of `parts` equal parts along a dimension.
fn part<D: Domain>(a: &Array<D>, dim: usize, index: usize, parts: usize) -> Result<Array<D>, Fault> {
    if parts == 1 {
        return Ok(a.clone());
    }
    let mut sizes = Dims::from_slice(a.dims());
    sizes[dim] /= parts;
    let mut start: Vec<i64> = sizes.iter().map(|_| 0).collect();
    start[dim] = (index * sizes[dim]) as i64;
    dynamic_slice(a, &start, &sizes)
}

/// The convolution of one group.
fn group_product<D: Domain>(
    input: &Array<D>,
    kernel: &Array<D>,
    windows: &Windows,
    outputs: usize,
) -> Result<Array<D>, Fault> {
    let (batch, features) = match *input.dims() {
        [batch, .., features] => (batch, features),
        _ => return Fault::invalid("a convolution of fewer than two dimensions"),
    };
    let out_dims = windows.results();
    let positions = count(&out_dims)?;
    let taps = windows.taps();
    let sizes = Sizes { m: batch * positions, k: taps * features, n: outputs };
    let image = count(&input.dims()[1..])?;
    let lanes: Vec<Vec<Option<usize>>> = windows.lanes().collect();
    let data = zip!(input.data(), kernel.data(), (x, y) => {
        let mut patches = crate::array::reserve(sizes.m.saturating_mul(sizes.k))?;
        for image in x.chunks_exact(image.max(1)).take(batch) {
            for position in 0..positions {
                for lane in &lanes {
                    match lane[position] {
                        Some(at) => patches.extend_from_slice(&image[at * features..(at + 1) * features]),
                        None => patches.resize(patches.len() + features, crate::array::zero(x)),
                    }
                }
            }
        }
        patches.resize(sizes.m * sizes.k, crate::array::zero(x));
        batched(&patches, y, 1, sizes)?
    });
    let mut dims = Dims::from_slice(&[batch]);
    dims.extend(out_dims);
    dims.push(outputs);
    Array::fitted(dims, input.dtype(), data)
}
