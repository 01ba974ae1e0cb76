//! Operations on windows of a dimension of which each device has other ones.
//!
//! Let `W` compute `out` results along a dimension, result `o` from positions `o * stride + k * window_dilation - low` of its operand `x`, in
//! which elements are `base_dilation` apart. Let the operand of each device be window `i` of `x`, which starts at `start + i * step`. Then
//! result `o` on the device is result `i * out + o` of `W` on `x` with padding `low - start * base_dilation`, if
//!
//! 1. `stride * out = step * base_dilation`, so that results of devices do not overlap and leave no gap;
//! 2. no result reads outside of its window, where a device has the padding of `W` and other devices have elements: `low` is less than
//!    `base_dilation`, and the last position that is read is before that of the next element after the window;
//! 3. positions of windows that are not in `x` have the value with which `W` pads: zero, or the initial value.
//!
//! The padding after the last element does not matter beyond the last position that is read, and is that position in canonical form.

use std::fmt;

use super::Eval;
use crate::terms::{Digit, Digits, View, count, push};

/// An operation along one dimension.
#[derive(Clone, Debug)]
pub(super) struct Sliding {
    pub(super) window: u64,
    pub(super) stride: i64,
    pub(super) base_dilation: i64,
    pub(super) window_dilation: i64,
    pub(super) padding: (i64, i64),
    /// The number of positions of the operand.
    pub(super) from: u64,
    /// The number of results.
    pub(super) to: u64,
    /// The number of the window of the operand on a device; empty if all results are on each device.
    pub(super) number: Digits,
}

impl Sliding {
    /// The last position that is read, without padding before the operand.
    fn last(&self) -> Option<i64> {
        let window = i64::try_from(self.window).ok()?.checked_sub(1)?.checked_mul(self.window_dilation)?;
        let results = i64::try_from(self.to).ok()?.checked_sub(1)?.checked_mul(self.stride)?;
        window.checked_add(results)?.checked_sub(self.padding.0)
    }

    /// The operation on the argument of windows, with all results; `None` if the conditions do not hold.
    fn of_all(&self, step: u64, start: i64, size: u64, number: &Digits) -> Option<Sliding> {
        let (from, to, step) =
            (i64::try_from(self.from).ok()?, i64::try_from(self.to).ok()?, i64::try_from(step).ok()?);
        let is_joined = self.stride.checked_mul(to)? == step.checked_mul(self.base_dilation)?;
        let is_inside =
            self.padding.0 < self.base_dilation && self.last()? < from.checked_mul(self.base_dilation)?;
        if !is_joined || !is_inside {
            return None;
        }
        let low = self.padding.0.checked_sub(start.checked_mul(self.base_dilation)?)?;
        Some(Sliding {
            padding: (low, self.padding.1),
            from: size,
            to: self.to.checked_mul(count(number))?,
            number: number.clone(),
            ..self.clone()
        })
    }

    /// Padding after the operand up to the last position that is read.
    pub(super) fn trim(&mut self) {
        let end = i64::try_from(self.from).ok().and_then(|from| (from - 1).checked_mul(self.base_dilation));
        if let Some(high) = self.last().zip(end).and_then(|(last, end)| last.checked_sub(end)) {
            self.padding.1 = high;
        }
    }

    /// Whether each result is from the element at the same position.
    pub(super) fn is_one_to_one(&self) -> bool {
        self.window == 1 && self.stride == 1 && self.base_dilation == 1 && self.padding == (0, 0)
    }

    /// The position of a result of a device, of which there are `length`.
    pub(super) fn result(&self, dim: u32, length: u64) -> Digits {
        let mut number = self.number.clone();
        push(&mut number, Digit::all(dim, length));
        number
    }
}

impl fmt::Display for Sliding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sliding { window, stride, base_dilation, window_dilation, padding, from, to: _, number: _ } =
            self;
        write!(out, "{from} {window} {stride} {padding:?} {base_dilation} {window_dilation}")
    }
}

impl Eval<'_, '_> {
    /// The argument of the windows that an operand is along a dimension. The operation becomes that on this argument. `None` if the operand
    /// is not windows, or if the results of devices are not blocks of the results on the argument.
    pub(super) fn slide(
        &mut self,
        view: &View,
        dim: u32,
        fill: &View,
        sliding: &mut Sliding,
    ) -> Option<View> {
        if sliding.is_one_to_one() || !sliding.number.is_empty() {
            return None;
        }
        let windows = self.terms.windowed(view, dim, sliding.from)?;
        if !windows.is_filled(fill) {
            return None;
        }
        *sliding = sliding.of_all(windows.step, windows.start, windows.size, &windows.number)?;
        Some(windows.inner)
    }
}
