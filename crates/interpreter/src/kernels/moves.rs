//! Operations that move elements: views, concatenation, padding, iota.

use shardc_ir::DType;

use crate::array::{Array, Data, Dims, View, both, count, row_major, write_view};
use crate::error::Fault;
use crate::numbers::Domain;

/// Result dimension `i` is operand dimension `permutation[i]`.
pub(crate) fn transpose<D: Domain>(a: &Array<D>, permutation: &[usize]) -> Result<Array<D>, Fault> {
    if permutation.iter().enumerate().all(|(i, &d)| i == d) {
        return Ok(a.clone());
    }
    let strides = row_major(a.dims());
    let dims = permutation.iter().map(|&d| a.dims()[d]).collect();
    a.viewed(&View { offset: 0, strides: permutation.iter().map(|&d| strides[d]).collect(), dims })
}

/// Operand dimension `i` becomes dimension `to[i]` of the shape `dims`.
pub(crate) fn broadcast<D: Domain>(a: &Array<D>, to: &[usize], dims: Dims) -> Result<Array<D>, Fault> {
    let own = row_major(a.dims());
    let mut view = View { offset: 0, strides: dims.iter().map(|_| 0).collect(), dims };
    for (d, &target) in to.iter().enumerate() {
        let size = view.dims.get(target).copied();
        if a.dims()[d] != 1 {
            if size != Some(a.dims()[d]) {
                return Fault::invalid(format!("{:?} cannot be broadcast to {:?}", a.dims(), view.dims));
            }
            view.strides[target] = own[d];
        }
    }
    a.viewed(&view)
}

/// Reverses dimensions.
pub(crate) fn reverse<D: Domain>(a: &Array<D>, reversed: &[usize]) -> Result<Array<D>, Fault> {
    let mut view = View::whole(a.dims());
    for &d in reversed {
        view.offset += view.strides[d] * (view.dims[d] as isize - 1);
        view.strides[d] = -view.strides[d];
    }
    a.viewed(&view)
}

/// A slice with a step in each dimension.
pub(crate) fn slice<D: Domain>(
    a: &Array<D>,
    start: &[i64],
    limit: &[i64],
    step: &[i64],
) -> Result<Array<D>, Fault> {
    let mut view = View::whole(a.dims());
    let bounds = start.iter().zip(limit).zip(step);
    if bounds.len() != a.rank() {
        return Fault::invalid("a slice with bounds of another rank");
    }
    for (d, ((&start, &limit), &step)) in bounds.enumerate() {
        let size = view.dims[d] as i64;
        if step < 1 || start < 0 || limit < start || limit > size {
            return Fault::invalid(format!("the slice {start}:{limit}:{step} of a dimension of size {size}"));
        }
        view.offset += view.strides[d] * start as isize;
        view.strides[d] *= step as isize;
        view.dims[d] = ((limit - start + step - 1) / step) as usize;
    }
    a.viewed(&view)
}

/// The region of `sizes` elements at `start` in an array with these dimensions; the start is clamped so that the region fits.
fn clamped(dims: &[usize], start: &[i64], sizes: &[usize]) -> Result<View, Fault> {
    let mut view = View::whole(dims);
    if start.len() != dims.len() || sizes.len() != dims.len() {
        return Fault::invalid("a slice with bounds of another rank");
    }
    for (d, (&start, &size)) in start.iter().zip(sizes).enumerate() {
        let Some(room) = dims[d].checked_sub(size) else {
            return Fault::invalid(format!("a slice of size {size} of a dimension of size {}", dims[d]));
        };
        view.offset += view.strides[d] * start.clamp(0, room as i64) as isize;
        view.dims[d] = size;
    }
    Ok(view)
}

/// A slice at a dynamic position.
pub(crate) fn dynamic_slice<D: Domain>(
    a: &Array<D>,
    start: &[i64],
    sizes: &[usize],
) -> Result<Array<D>, Fault> {
    a.viewed(&clamped(a.dims(), start, sizes)?)
}

/// Block `index` of `count` equal blocks along a dimension.
pub(crate) fn block<D: Domain>(
    a: &Array<D>,
    dim: usize,
    index: usize,
    count: usize,
) -> Result<Array<D>, Fault> {
    let mut view = View::whole(a.dims());
    let size = a.dims().get(dim).copied().unwrap_or(0);
    if count == 0 || !size.is_multiple_of(count) || index >= count {
        return Fault::invalid(format!("{size} elements cannot be split into {count} blocks"));
    }
    view.dims[dim] = size / count;
    view.offset = view.strides[dim] * (index * (size / count)) as isize;
    a.viewed(&view)
}

/// Writes `update` to a dynamic position of `a`.
pub(crate) fn dynamic_update_slice<D: Domain>(
    mut a: Array<D>,
    update: &Array<D>,
    start: &[i64],
) -> Result<Array<D>, Fault> {
    let view = clamped(a.dims(), start, update.dims())?;
    write(&mut a, &view, update)?;
    Ok(a)
}

/// Writes an array to a view of another.
pub(crate) fn write<D: Domain>(to: &mut Array<D>, view: &View, from: &Array<D>) -> Result<(), Fault> {
    both!(to.data_mut(), from.data(), (x, y) => write_view(x, view, y))
}

/// Concatenates arrays along a dimension.
pub(crate) fn concatenate<D: Domain>(parts: &[Array<D>], dim: usize) -> Result<Array<D>, Fault> {
    let Some(first) = parts.first() else { return Fault::invalid("a concatenation of nothing") };
    let mut dims = Dims::from_slice(first.dims());
    if dim >= dims.len() {
        return Fault::invalid("a concatenation along a dimension that does not exist");
    }
    dims[dim] = 0;
    for part in parts {
        let fits =
            part.rank() == dims.len() && (0..dims.len()).all(|d| d == dim || part.dims()[d] == dims[d]);
        if !fits {
            return Fault::invalid(format!(
                "{:?} cannot be concatenated with {:?}",
                part.dims(),
                first.dims()
            ));
        }
        dims[dim] += part.dims()[dim];
    }
    let mut out = filled(first, dims)?;
    let strides = row_major(out.dims());
    let mut offset = 0;
    for part in parts {
        let view = View { offset, strides: strides.clone(), dims: Dims::from_slice(part.dims()) };
        write(&mut out, &view, part)?;
        offset += strides[dim] * part.dims()[dim] as isize;
    }
    Ok(out)
}

/// An array of zeros with the element type of `like`.
fn filled<D: Domain>(like: &Array<D>, dims: Dims) -> Result<Array<D>, Fault> {
    let data = Data::from_integers(like.dtype(), &[0])?.repeated(count(&dims)?)?;
    Array::new(dims, like.dtype(), data)
}

/// The sizes of a padded array.
pub(crate) fn padded(dims: &[usize], low: &[i64], high: &[i64], interior: &[i64]) -> Result<Dims, Fault> {
    if low.len() != dims.len() || high.len() != dims.len() || interior.len() != dims.len() {
        return Fault::invalid("padding of another rank");
    }
    let size = |d: usize| {
        let step = interior[d].saturating_add(1);
        if step < 1 {
            return Fault::invalid("negative interior padding");
        }
        let size = dims[d] as i64;
        let inner = if size > 0 { (size - 1).saturating_mul(step).saturating_add(1) } else { 0 };
        let total = inner.saturating_add(low[d]).saturating_add(high[d]);
        let invalid = |_| Fault::Invalid(format!("padding that gives dimension {d} the size {total}"));
        usize::try_from(total).map_err(invalid)
    };
    (0..dims.len()).map(size).collect()
}

/// Pads an array with a scalar; negative padding removes elements.
pub(crate) fn pad<D: Domain>(
    a: &Array<D>,
    value: &Array<D>,
    low: &[i64],
    high: &[i64],
    interior: &[i64],
) -> Result<Array<D>, Fault> {
    let dims = padded(a.dims(), low, high, interior)?;
    if value.len() != 1 {
        return Fault::invalid("a padding value that is not a scalar");
    }
    let (mut from, mut to) = (View::whole(a.dims()), Vec::new());
    for d in 0..a.rank() {
        let (size, step, total) = (a.dims()[d] as i64, interior[d] + 1, dims[d] as i64);
        // The elements whose positions `low + i * step` are within the result.
        let first = if low[d] < 0 { (-low[d] + step - 1) / step } else { 0 };
        let last = (total - low[d] + step - 1).div_euclid(step).min(size);
        let first = first.min(size);
        from.offset += from.strides[d] * first as isize;
        from.dims[d] = (last - first).max(0) as usize;
        to.push((low[d] + first * step, step));
    }
    let mut out = Array::new(dims.clone(), a.dtype(), value.data().repeated(count(&dims)?)?)?;
    let part = a.viewed(&from)?;
    if !part.is_empty() {
        let mut view = View::whole(&dims);
        view.dims = Dims::from_slice(part.dims());
        for (d, (start, step)) in to.into_iter().enumerate() {
            view.offset += view.strides[d] * start as isize;
            view.strides[d] *= step as isize;
        }
        write(&mut out, &view, &part)?;
    }
    Ok(out)
}

/// Numbers that increase along a dimension.
pub(crate) fn iota<D: Domain>(dims: Dims, dtype: DType, dim: usize) -> Result<Array<D>, Fault> {
    let Some(&size) = dims.get(dim) else {
        return Fault::invalid("an iota along a dimension that does not exist");
    };
    let numbers: Vec<i64> = (0..size as i64).collect();
    let line = Array::from_integers(Dims::from_slice(&[size]), dtype, &numbers)?;
    broadcast(&line, &[dim], dims)
}
