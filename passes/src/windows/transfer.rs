//! Determines the windows of an operation's operands that each device needs for its block of the result.
//!
//! If an operation skips elements (a strided slice), blocks are compacted before the exchange. If it inserts elements (interior padding,
//! dilation), the window is expanded after the exchange.

use shardc_ir::{OpKind, SliceSpec, WindowSpec};
use smallvec::{SmallVec, smallvec};

use super::PerDevice;
use super::held::{Held, Span, Window, ceil_div};

/// The value at positions of a window that correspond to no element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// An undefined value; no operation reads it.
    Nothing,
    /// The value zero.
    Zero,
    /// The scalar operand with this index.
    Operand(usize),
}

/// The compaction of each block before an exchange: only every `stride`th element is kept, since the others are not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thin {
    /// The distance in a block between elements that are used.
    pub(crate) stride: i64,
    /// The size of a compacted block.
    pub(crate) size: i64,
    /// For each device, the offset in its block of the first element that is used.
    pub(crate) first: PerDevice,
}

/// The expansion of each window after an exchange: fill values are inserted between its elements, for interior padding and dilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    /// The distance between original elements in the expanded window.
    pub(crate) step: i64,
    /// The size of the expanded window.
    pub(crate) size: i64,
    /// For each device, the offset of the first original element in its expanded window.
    pub(crate) first: PerDevice,
}

/// The exchange along one dimension of an operand, or of several consecutive operands of a `concatenate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// The indices of the operands.
    pub(crate) operands: SmallVec<[usize; 2]>,
    /// The dimension of the operands along which elements are exchanged.
    pub(crate) dim: usize,
    /// The elements of each block to keep before the exchange.
    pub(crate) thin: Option<Thin>,
    /// The elements that each device holds, after compaction: one or more views per operand.
    pub(crate) held: SmallVec<[Held; 2]>,
    /// The elements that each device needs.
    pub(crate) window: Window,
    /// The fill to insert between the elements of each window after the exchange.
    pub(crate) spread: Option<Spread>,
    /// The value at positions of the window that correspond to no element.
    pub(crate) fill: Fill,
}

/// The dimension that is sharded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// The result dimension with this index, and the corresponding dimension of each operand.
    Result(usize),
    /// The spatial dimension with this index of a convolution's kernel and input. Each result is then a partial sum.
    Kernel(usize),
}

/// Whether dimension `dim` of the result is computed from windows instead of the same block of the operands.
pub(crate) fn is_windowed(kind: &OpKind, operand: &[i64], dim: usize) -> bool {
    match kind {
        OpKind::Slice(spec) => {
            let whole = |d: usize| {
                spec.start[d] == 0 && spec.stride[d] == 1 && Some(&spec.limit[d]) == operand.get(d)
            };
            dim < spec.start.len() && !whole(dim)
        }
        OpKind::Pad(spec) => {
            [&spec.low, &spec.high, &spec.interior].iter().any(|list| list.get(dim).is_some_and(|&n| n != 0))
        }
        OpKind::Concatenate { dim: along } => *along as usize == dim,
        OpKind::Splice(spec) => spec.dim as usize == dim,
        OpKind::Reverse { dims } => dims.contains(&(dim as u32)),
        OpKind::ReduceWindow(spec) | OpKind::SelectAndScatter(spec) => !is_single_elements(spec, dim),
        OpKind::Convolution(spec) => spec.output.spatial.contains(&(dim as u32)),
        _ => false,
    }
}

/// Whether operands may be replicated along the dimension of the windows: each device then slices its elements locally.
pub(crate) fn takes_whole(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Concatenate { .. } | OpKind::Splice(_))
}

/// Whether each window along `dim` is one element, without strides or padding.
fn is_single_elements(spec: &WindowSpec, dim: usize) -> bool {
    let one = |list: &[i64]| list.get(dim).is_none_or(|&n| n == 1);
    one(&spec.dimensions)
        && one(&spec.strides)
        && one(&spec.base_dilations)
        && spec.padding.get(dim).is_none_or(|&p| p == (0, 0))
}

/// Returns the windows needed to shard the operation `k` ways; shapes are global. Returns `None` if the dimension
/// [has no windows](is_windowed) or is empty, or cannot be sharded this way. For operations that
/// [accept replicated operands](takes_whole), `is_whole` returns whether an operand is replicated along the dimension.
pub(crate) fn transfers(
    kind: &OpKind,
    operands: &[&[i64]],
    is_whole: &dyn Fn(usize) -> bool,
    result: &[i64],
    along: Along,
    k: i64,
) -> Option<SmallVec<[Transfer; 1]>> {
    match along {
        Along::Result(dim) => along_result(kind, operands, is_whole, result, dim, k),
        Along::Kernel(i) => along_kernel(kind, operands, result, i, k),
    }
}

/// Shards result dimension `dim`: determines the window of each operand from which a device computes its block of the result.
fn along_result(
    kind: &OpKind,
    operands: &[&[i64]],
    is_whole: &dyn Fn(usize) -> bool,
    result: &[i64],
    dim: usize,
    k: i64,
) -> Option<SmallVec<[Transfer; 1]>> {
    let input = *operands.first()?;
    let made = *result.get(dim)?;
    if made <= 0 || k <= 0 || !is_windowed(kind, input, dim) {
        return None;
    }
    let blocks = Blocks { size: made, k, block: ceil_div(made, k) };
    match kind {
        OpKind::Slice(spec) => {
            let (start, stride) = (spec.start[dim], spec.stride[dim]);
            let held = Held::blocks(0, *input.get(dim)?, k, 0);
            let window = blocks.windows(1, 0, 1);
            // After compaction, only the elements that are used exist, so only these are sent.
            let mut transfer = Transfer::plain(0, dim, held, window, Fill::Nothing);
            transfer.thin_out(start, stride, made);
            Some(smallvec![transfer])
        }
        OpKind::Pad(spec) => {
            let held = Held::blocks(0, *input.get(dim)?, k, 0);
            let window = blocks.windows(1, spec.low[dim], 1);
            let mut transfer = Transfer::plain(0, dim, held, window, Fill::Operand(1));
            // The amount of padding is arbitrary, so the addition may overflow.
            transfer.spread_out(spec.interior[dim].checked_add(1)?);
            Some(smallvec![transfer])
        }
        // The operands are consecutive in one index space, so a window may span several of them.
        OpKind::Concatenate { .. } => {
            let pieces = operands.iter().enumerate().map(|(i, shape)| Some((i, 0..*shape.get(dim)?)));
            Some(smallvec![Transfer::joined(operands, pieces, is_whole, dim, k, blocks.windows(1, 0, 1))?])
        }
        // An operand from which several ranges are taken has several views.
        OpKind::Splice(spec) => {
            let pieces = spec.pieces.iter().map(|p| Some((p.operand as usize, p.start..p.limit)));
            Some(smallvec![Transfer::joined(operands, pieces, is_whole, dim, k, blocks.windows(1, 0, 1))?])
        }
        OpKind::Reverse { .. } => {
            // Blocks are counted from the front. So if the last block has padding, the mirror image of a block is not aligned with the
            // blocks, and devices exchange elements. Each device reverses its window after the exchange.
            let origins: Vec<i64> = (0..k).map(|i| made - (i + 1) * blocks.block).collect();
            let needs = origins.iter().map(|&o| o.max(0)..(o + blocks.block).max(0)).collect();
            let window = Window { size: blocks.block, origins, needs };
            let held = Held::blocks(0, made, k, 0);
            Some(smallvec![Transfer::plain(0, dim, held, window, Fill::Nothing)])
        }
        OpKind::ReduceWindow(spec) => {
            let at = |list: &[i64]| list.get(dim).copied().unwrap_or(1);
            let low = spec.padding.get(dim).map_or(0, |p| p.0);
            let reach = reach(at(&spec.dimensions), at(&spec.window_dilations))?;
            // A variadic `reduce_window` has one initial value per input, after the inputs.
            let inputs = operands.len() / 2;
            let mut all = SmallVec::new();
            for (i, shape) in operands.iter().enumerate().take(inputs) {
                let held = Held::blocks(0, *shape.get(dim)?, k, 0);
                let window = blocks.windows(at(&spec.strides), low, reach);
                let mut transfer = Transfer::plain(i, dim, held, window, Fill::Operand(inputs + i));
                transfer.spread_out(at(&spec.base_dilations));
                all.push(transfer);
            }
            Some(all)
        }
        OpKind::SelectAndScatter(spec) => {
            let scatter = Scatter::new(spec, input, dim, k)?;
            let windows = *operands.get(1)?.get(dim)?;
            let operand = scatter.operand(windows);
            let source = scatter.source();
            let held = |size: i64| Held::blocks(0, size, k, 0);
            Some(smallvec![
                Transfer::plain(0, dim, held(made), operand, Fill::Nothing),
                Transfer::plain(1, dim, held(windows), source, Fill::Zero),
            ])
        }
        OpKind::Convolution(spec) => {
            let i = spec.output.spatial.iter().position(|&d| d as usize == dim)?;
            let (from, kernel) =
                (*spec.input.spatial.get(i)? as usize, *spec.kernel.spatial.get(i)? as usize);
            let at = |list: &[i64]| list.get(i).copied().unwrap_or(1);
            let low = spec.padding.get(i).map_or(0, |p| p.0);
            let reach = reach(*operands.get(1)?.get(kernel)?, at(&spec.rhs_dilation))?;
            let held = Held::blocks(0, *input.get(from)?, k, 0);
            let window = blocks.windows(at(&spec.strides), low, reach);
            let mut transfer = Transfer::plain(0, from, held, window, Fill::Zero);
            transfer.spread_out(at(&spec.lhs_dilation));
            Some(smallvec![transfer])
        }
        _ => None,
    }
}

/// Shards the kernel: each device needs the elements that are multiplied with its block of the kernel in all windows, and computes a
/// partial sum. Blocks must be even: padding of the kernel would be multiplied by elements, and zero times infinity is NaN.
fn along_kernel(
    kind: &OpKind,
    operands: &[&[i64]],
    result: &[i64],
    i: usize,
    k: i64,
) -> Option<SmallVec<[Transfer; 1]>> {
    let OpKind::Convolution(spec) = kind else { return None };
    let &[input, kernel, ..] = operands else { return None };
    let from = *spec.input.spatial.get(i)? as usize;
    let size = *kernel.get(*spec.kernel.spatial.get(i)? as usize)?;
    let windows = *result.get(*spec.output.spatial.get(i)? as usize)?;
    let at = |list: &[i64]| list.get(i).copied().unwrap_or(1);
    if size <= 0 || windows <= 0 || k <= 0 || size % k != 0 {
        return None;
    }
    let low = spec.padding.get(i).map_or(0, |p| p.0);
    // From the perspective of the kernel, strides and dilations swap roles: kernel element `t` is multiplied with the elements `t *
    // dilation + r * stride`.
    let reach = (windows - 1) * at(&spec.strides) + 1;
    let mut window = Blocks { size, k, block: size / k }.windows(at(&spec.rhs_dilation), low, reach);
    if spec.reversal.get(i) == Some(&true) {
        // Each device reverses its block of the kernel; the last block is then multiplied with the elements of the first.
        window.origins.reverse();
        window.needs.reverse();
    }
    let held = Held::blocks(0, *input.get(from)?, k, 0);
    let mut transfer = Transfer::plain(0, from, held, window, Fill::Zero);
    transfer.spread_out(at(&spec.lhs_dilation));
    Some(smallvec![transfer])
}

/// Returns for each device the offset of its result block in the local result of a `select_and_scatter` with windows along `dim`. The local
/// result is larger than the block: a device processes all windows that overlap its block, and these extend beyond it.
pub(crate) fn scattered_from(kind: &OpKind, operand: &[i64], dim: usize, k: i64) -> Option<PerDevice> {
    let OpKind::SelectAndScatter(spec) = kind else { return None };
    let scatter = Scatter::new(spec, operand, dim, k)?;
    Some(
        scatter
            .first
            .iter()
            .zip(0..)
            .map(|(&first, i)| Some(i * scatter.block - first * scatter.stride))
            .collect(),
    )
}

/// A `select_and_scatter` without padding, along one dimension. Each device processes the windows that overlap its block.
struct Scatter {
    size: i64,
    block: i64,
    window: i64,
    stride: i64,
    /// For each device, the index of the first window that it processes. Windows with negative indices do not exist in the program.
    first: Vec<i64>,
    /// The number of windows that each device processes.
    count: i64,
    /// The number of elements that the windows of one device cover, at least up to the end of the block.
    reach: i64,
}

impl Scatter {
    fn new(spec: &WindowSpec, operand: &[i64], dim: usize, k: i64) -> Option<Scatter> {
        let size = *operand.get(dim)?;
        let at = |list: &[i64]| list.get(dim).copied().unwrap_or(1);
        let (window, stride) = (at(&spec.dimensions), at(&spec.strides));
        let padded = spec.padding.get(dim).is_some_and(|&p| p != (0, 0));
        if padded || size <= 0 || k <= 0 || window <= 0 || stride <= 0 {
            return None;
        }
        let block = ceil_div(size, k);
        // The second bound matters if windows do not overlap: the block may then start in the gap between two windows.
        let first_of = |begin: i64| ceil_div(begin - (window - 1), stride).min(begin.div_euclid(stride));
        let first: Vec<i64> = (0..k).map(|i| first_of(i * block)).collect();
        // All devices run the same program, so the largest extent of any device is used for all.
        let reach = first.iter().zip(1..).map(|(&first, i)| {
            let end = i * block;
            let last = (end - 1).div_euclid(stride);
            ((last - first) * stride + window).max(end - first * stride)
        });
        let reach = reach.max()?;
        let count = (reach - window) / stride + 1;
        Some(Scatter { size, block, window, stride, first, count, reach })
    }

    /// Returns one past the index of the last window that overlaps the block of device `i`; `None` if the block is empty.
    fn end(&self, i: i64) -> Option<i64> {
        let end = ((i + 1) * self.block).min(self.size);
        (end > i * self.block).then(|| (end - 1).div_euclid(self.stride) + 1)
    }

    /// Returns the window of the operand: the elements of those windows that exist in the global program.
    fn operand(&self, windows: i64) -> Window {
        let origins: Vec<i64> = self.first.iter().map(|&first| first * self.stride).collect();
        let needs = self.first.iter().zip(0..).zip(&origins).map(|((&first, i), &origin)| {
            let (begin, end) = (first.max(0), self.end(i).unwrap_or(first).min(windows));
            if begin < end {
                begin * self.stride..(end - 1) * self.stride + self.window
            } else {
                origin..origin
            }
        });
        Window { size: self.reach, needs: needs.collect(), origins }
    }

    /// Returns the window of the source operand: it has one element for each window that a device processes, and zero for windows that do
    /// not exist.
    fn source(&self) -> Window {
        let needs =
            self.first.iter().zip(0..).map(|(&first, i)| first..self.end(i).unwrap_or(first).max(first));
        Window { size: self.count, needs: needs.collect(), origins: self.first.clone() }
    }
}

/// Returns the number of elements from the first to the last element of a dilated window. Returns `None` if the window is empty.
fn reach(size: i64, dilation: i64) -> Option<i64> {
    (size > 0 && dilation > 0).then(|| (size - 1) * dilation + 1)
}

/// The blocks of a result dimension of `size` elements, sharded `k` ways.
struct Blocks {
    size: i64,
    k: i64,
    block: i64,
}

impl Blocks {
    /// Returns the window that each block needs, if element `r` of the result needs the `reach` elements that begin at `r * stride - low`.
    fn windows(&self, stride: i64, low: i64, reach: i64) -> Window {
        let origins: Vec<i64> = (0..self.k).map(|i| i * self.block * stride - low).collect();
        let needs = (0..self.k).zip(&origins).map(|(i, &origin)| {
            // The last blocks may be short or empty; they must not cause elements to be sent that no result needs.
            let results = (self.size - i * self.block).clamp(0, self.block);
            if results == 0 { origin..origin } else { origin..origin + (results - 1) * stride + reach }
        });
        Window { size: (self.block - 1) * stride + reach, needs: needs.collect(), origins }
    }
}

/// Returns which of the elements `start + r * stride` (`r` from 0 to `count - 1`) each block holds: the compaction of the blocks, and the
/// range of `r` for each device.
fn thinned(held: &Held, start: i64, stride: i64, count: i64) -> (Thin, Vec<Span>) {
    let rank = |index: i64| ceil_div(index - start, stride).clamp(0, count);
    let spans: Vec<Span> = held.spans.iter().map(|s| rank(s.start)..rank(s.end)).collect();
    let first: PerDevice = spans
        .iter()
        .zip(&held.spans)
        .map(|(thin, span)| (!thin.is_empty()).then(|| start + thin.start * stride - span.start))
        .collect();
    let size = spans.iter().map(|s| s.end - s.start).max().unwrap_or(0);
    (Thin { stride, size, first }, spans)
}

/// Returns the elements of a slice along `dim` that each device holds, if the operand has `size` elements in `k` shards along `dim`. The
/// result is the compaction of each device's block to the elements of the slice, and each device's range of elements of the slice.
pub(crate) fn held_of_slice(spec: &SliceSpec, size: i64, dim: usize, k: i64) -> (Thin, Vec<Span>) {
    let (start, limit, stride) = (spec.start[dim], spec.limit[dim], spec.stride[dim]);
    thinned(&Held::blocks(0, size, k, 0), start, stride, ceil_div(limit - start, stride).max(0))
}

impl Transfer {
    fn plain(operand: usize, dim: usize, held: Held, window: Window, fill: Fill) -> Transfer {
        let (operands, held) = (smallvec![operand], smallvec![held]);
        Transfer { operands, dim, thin: None, held, window, spread: None, fill }
    }

    /// Returns the transfer for a concatenation of pieces, each a range of one operand along `dim`. Returns `None` if an operand does not
    /// exist.
    fn joined(
        operands: &[&[i64]],
        pieces: impl Iterator<Item = Option<(usize, Span)>>,
        is_whole: &dyn Fn(usize) -> bool,
        dim: usize,
        k: i64,
        window: Window,
    ) -> Option<Transfer> {
        let mut end = 0;
        let mut held = SmallVec::new();
        for piece in pieces {
            let (operand, range) = piece?;
            let size = *operands.get(operand)?.get(dim)?;
            let view = if is_whole(operand) { Held::whole } else { Held::blocks };
            let seen = end..end + (range.end - range.start);
            held.push(view(operand, size, k, end - range.start).only(&seen));
            end = seen.end;
        }
        let operands = (0..operands.len()).collect();
        Some(Transfer { operands, dim, thin: None, held, window, spread: None, fill: Fill::Nothing })
    }

    /// Compacts the blocks to the elements `start + r * stride` (`r` from 0 to `count - 1`). The indices in the window are then values of
    /// `r`.
    fn thin_out(&mut self, start: i64, stride: i64, count: i64) {
        let [held] = self.held.as_mut_slice() else { return };
        if stride == 1 {
            // With stride 1, elements keep their positions, and the window moves instead.
            for at in self.window.origins.iter_mut() {
                *at += start;
            }
            for need in &mut self.window.needs {
                *need = need.start + start..need.end + start;
            }
            return;
        }
        let (thin, spans) = thinned(held, start, stride, count);
        let origins = spans.iter().map(|s| s.start).collect();
        *held = Held { source: held.source, block: thin.size, origins, spans, is_whole: held.is_whole };
        self.thin = Some(thin);
    }

    /// Converts the window into a window of a tensor that has `step - 1` elements inserted between adjacent elements of the operand.
    fn spread_out(&mut self, step: i64) {
        if step <= 1 {
            return;
        }
        let spread = &self.window;
        // Only multiples of `step` are elements. The window may begin between two of them, at the distance `first`
        // before an element.
        let origins: Vec<i64> = spread.origins.iter().map(|&o| ceil_div(o, step)).collect();
        let needs = spread
            .needs
            .iter()
            .zip(&origins)
            .map(|(need, &origin)| {
                let (first, end) = (ceil_div(need.start, step), ceil_div(need.end, step));
                if first < end { first..end } else { origin..origin }
            })
            .collect();
        let first = origins.iter().zip(&spread.origins).map(|(&o, &s)| Some(o * step - s)).collect();
        let size = spread.size;
        self.window = Window { size: (size - 1) / step + 1, origins, needs };
        self.spread = Some(Spread { step, size, first });
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::{PadSpec, SliceSpec};

    use super::*;

    fn slice(start: i64, limit: i64, stride: i64) -> OpKind {
        let list = |n: i64| smallvec![n];
        OpKind::Slice(Box::new(SliceSpec { start: list(start), limit: list(limit), stride: list(stride) }))
    }

    #[track_caller]
    fn only(kind: &OpKind, operands: &[&[i64]], result: i64, k: i64) -> Transfer {
        let mut all = transfers(kind, operands, &|_| false, &[result], Along::Result(0), k).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn a_slice_without_stride_moves_the_window() {
        let transfer = only(&slice(3, 11, 1), &[&[16]], 8, 4);
        assert_eq!(transfer.thin, None);
        assert_eq!(transfer.window.origins, [3, 5, 7, 9]);
        assert_eq!(transfer.window.needs[3], 9..11);
    }

    #[test]
    fn a_slice_with_stride_thins_blocks() {
        let transfer = only(&slice(1, 16, 3), &[&[16]], 5, 4);
        let thin = transfer.thin.unwrap();
        assert_eq!((thin.size, thin.first), (2, vec![Some(1), Some(0), Some(2), Some(1)]));
        assert_eq!(transfer.held[0].spans, [0..1, 1..3, 3..4, 4..5]);
        assert_eq!(transfer.window.needs, [0..2, 2..4, 4..5, 6..6]);
    }

    #[test]
    fn each_element_of_a_slice_is_held_where_it_is_in_a_block() {
        for (n, k, stride) in
            (1..20).flat_map(|n| (1..9).flat_map(move |k| (1..5).map(move |stride| (n, k, stride))))
        {
            for (start, limit) in (0..n).flat_map(|start| (start..=n).map(move |limit| (start, limit))) {
                let OpKind::Slice(spec) = slice(start, limit, stride) else { continue };
                let (thin, spans) = held_of_slice(&spec, n, 0, k);
                let block = ceil_div(n, k);
                let taken: Vec<i64> = (start..limit).step_by(stride as usize).collect();
                let mut found = 0;
                for (device, span) in (0..k).zip(&spans) {
                    assert!(span.end - span.start <= thin.size);
                    for (at, r) in span.clone().enumerate() {
                        let place =
                            device * block + thin.first[device as usize].unwrap() + at as i64 * stride;
                        assert_eq!(place, taken[r as usize]);
                        assert_eq!(place / block, device);
                        found += 1;
                    }
                }
                assert_eq!(found, taken.len());
            }
        }
    }

    #[test]
    fn each_device_does_all_windows_that_touch_its_block() {
        for (size, k, window, stride) in (1..20).flat_map(|n| {
            (1..9).flat_map(move |k| (1..5).flat_map(move |w| (1..5).map(move |s| (n, k, w, s))))
        }) {
            if window > size {
                continue;
            }
            let spec = WindowSpec {
                dimensions: smallvec![window],
                strides: smallvec![stride],
                ..WindowSpec::default()
            };
            let windows = (size - window) / stride + 1;
            let scatter = Scatter::new(&spec, &[size], 0, k).unwrap();
            let (operand, source) = (scatter.operand(windows), scatter.source());
            let kind = OpKind::SelectAndScatter(Box::new(spec));
            let from = scattered_from(&kind, &[size], 0, k).unwrap();
            assert_eq!((scatter.reach - window) / stride + 1, scatter.count);
            for (i, at) in from.iter().enumerate() {
                let case = (size, k, window, stride, i);
                let own = i as i64 * scatter.block..((i as i64 + 1) * scatter.block).min(size);
                let at = at.unwrap();
                assert!(
                    at >= 0 && at + scatter.block <= scatter.reach,
                    "{case:?}: {at} of {}",
                    scatter.reach
                );
                assert_eq!(operand.origins[i] + at, i as i64 * scatter.block, "{case:?}");
                assert_eq!(operand.origins[i], source.origins[i] * stride, "{case:?}");
                for (window_span, r) in (0..windows).map(|r| (r * stride..r * stride + window, r)) {
                    let touches = window_span.start < own.end && own.start < window_span.end;
                    if touches {
                        assert!(source.needs[i].contains(&r), "{case:?}: window {r}");
                        assert!(operand.needs[i].start <= window_span.start, "{case:?}");
                        assert!(window_span.end <= operand.needs[i].end, "{case:?}");
                    }
                }
                // Windows that exist only because all devices process the same number of windows must not overlap the device's block, or
                // must scatter zeros.
                let all = source.origins[i]..source.origins[i] + source.size;
                for r in all.filter(|_| !own.is_empty()).filter(|r| !source.needs[i].contains(r)) {
                    assert!(
                        r * stride >= own.end || r * stride + window <= own.start,
                        "{case:?}: window {r}"
                    );
                }
                for (window, needs) in [(&operand, &operand.needs[i]), (&source, &source.needs[i])] {
                    let all = window.origins[i]..window.origins[i] + window.size;
                    assert!(needs.is_empty() || all.start <= needs.start && needs.end <= all.end, "{case:?}");
                }
            }
        }
    }

    #[test]
    fn interior_padding_spreads_the_window() {
        let list = |n: i64| smallvec![n];
        let spec = PadSpec { low: list(1), high: list(0), interior: list(1) };
        let transfer = only(&OpKind::Pad(Box::new(spec)), &[&[4], &[]], 8, 4);
        let spread = transfer.spread.unwrap();
        assert_eq!((spread.size, spread.first), (2, vec![Some(1); 4]));
        assert_eq!((transfer.window.size, transfer.window.origins), (1, vec![0, 1, 2, 3]));
    }
}
