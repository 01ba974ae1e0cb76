//! Overlapping windows of a dimension, one on each device: blocks with halos.
//!
//! Element `(i, j)` of the windows of `x` is `x[start + i * step + j]`, and the fill where this position is not in `x`. A block of a sharded
//! dimension is the window with `step = length` and `start = 0`.

use super::pieces::number;
use crate::terms::{CORE, DEVICE, Digit, Digits, Kind, MINOR, Op, Terms, View, count};

/// The windows that a view has along a slot.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    /// The argument, as a function of the same slot.
    pub(crate) inner: View,
    /// The number of the window.
    pub(crate) number: Digits,
    pub(crate) step: u64,
    /// The number of positions in a window.
    pub(crate) length: u64,
    /// The position of the first window; negative if it begins before the argument.
    pub(crate) start: i64,
    /// The number of positions of the argument.
    pub(crate) size: u64,
    /// The value of positions that are not in the argument; `None` if there are none.
    pub(crate) fill: Option<View>,
}

impl Windows {
    /// Whether all positions that are not in the argument have this value.
    pub(crate) fn is_filled(&self, value: &View) -> bool {
        self.fill.as_ref().is_none_or(|fill| fill == value)
    }
}

impl Terms {
    /// The windows of a view along a slot, as a view with the position in a window along the same slot.
    pub(crate) fn windows(&mut self, kind: Kind, slot: u32, windows: &Windows) -> Option<View> {
        let Windows { inner, number: window, step, length, start, size, fill } = windows;
        let windows = count(window);
        let is_own = window.iter().all(|digit| digit.slot != slot);
        if windows < 2 || *length < 2 || *step == 0 || !is_own {
            return None;
        }
        let own = number(&[Digit::all(CORE, *size)]);
        let mut args = vec![inner.moved(|old| (old == slot).then_some(&own[..]))?];
        args.extend(fill.clone());
        let place = [windows, *step, *length].map(i64::try_from);
        let [Ok(windows), Ok(step), Ok(length)] = place else { return None };
        let windows_length = length as u64;
        let op = Op::Windows([windows, step, length, *start, i64::try_from(*size).ok()?]);
        let added = [window.clone(), number(&[Digit::all(slot, windows_length)])];
        self.build(op, kind, &args, &[], &added)
    }

    /// The windows that a view has along a slot of this length. `None` if there is only one.
    pub(crate) fn windowed(&mut self, view: &View, slot: u32, length: u64) -> Option<Windows> {
        let whole = [Digit::all(slot, length)];
        if let Op::Windows([_, step, own_length, start, size]) = self.node(view.term).op
            && view.index.last().is_some_and(|number| number[..] == whole)
            && own_length as u64 == length
        {
            let (_, others) = view.index.split_last()?;
            let window = others.last()?;
            if others.iter().flatten().any(|digit| digit.slot == slot) {
                return None;
            }
            let fill = match self.node(view.term).args.len() {
                1 => None,
                _ => Some(self.piece(view, 1, slot, 1, &[])?),
            };
            return Some(Windows {
                inner: self.piece(view, 0, slot, 1, &[])?,
                number: window.clone(),
                step: step as u64,
                length,
                start,
                size: size as u64,
                fill,
            });
        }
        // A block of a sharded dimension.
        let mut uses =
            view.index.iter().enumerate().filter(|(_, number)| number.iter().any(|d| d.slot == slot));
        let (at, own) = uses.next().filter(|_| length > 0)?;
        if uses.next().is_some() {
            return None;
        }
        let (last, window) = own.split_last()?;
        let is_device = |digit: &Digit| (DEVICE..MINOR).contains(&digit.slot);
        if *last != whole[0] || window.is_empty() || !window.iter().all(is_device) {
            return None;
        }
        let window: Digits = window.iter().copied().collect();
        let size = count(&window).checked_mul(length)?;
        let mut inner = view.clone();
        *inner.index.get_mut(at)? = number(&[Digit::all(slot, size)]);
        Some(Windows { inner, number: window, step: length, length, start: 0, size, fill: None })
    }
}

#[cfg(test)]
mod tests {
    use super::Windows;
    use crate::algebra::pieces::number;
    use crate::terms::{CORE, DEVICE, Digit, FRESH, Kind, MINOR, Op, Terms, View};

    /// The windows along slot 0 of a parameter, whose dimensions have digits of these slots and sizes.
    fn windows_of(dims: &[&[(u32, u64)]], length: u64) -> Option<Windows> {
        let mut terms = Terms::default();
        let dims = dims
            .iter()
            .map(|dim| number(&dim.iter().map(|&(slot, size)| Digit::all(slot, size)).collect::<Vec<_>>()));
        let view: View = terms.leaf(Op::Param(0), Kind::Real, dims.collect::<Vec<_>>());
        terms.windowed(&view, 0, length)
    }

    #[test]
    fn a_block_of_a_sharded_dimension_is_a_window() {
        let found = windows_of(&[&[(1, 3)], &[(DEVICE, 4), (0, 6)]], 6).expect("windows");
        let Windows { number: window, step, length, start, size, fill, inner } = found;
        assert_eq!((step, length, start, size, fill), (6, 6, 0, 24, None));
        assert_eq!(window[..], [Digit::all(DEVICE, 4)]);
        assert_eq!(inner.index[1][..], [Digit::all(0, 24)]);
    }

    #[test]
    fn other_dimensions_are_no_windows() {
        assert!(windows_of(&[&[(1, 3)]], 6).is_none(), "no dimension");
        assert!(windows_of(&[&[(0, 6)]], 6).is_none(), "all of a dimension");
        assert!(windows_of(&[&[(DEVICE, 4), (0, 3)]], 6).is_none(), "a part of the slot");
        assert!(windows_of(&[&[(0, 6), (DEVICE, 4)]], 6).is_none(), "the device in the minor digit");
        assert!(windows_of(&[&[(DEVICE, 4), (0, 6)], &[(0, 6)]], 6).is_none(), "two dimensions");
        for slot in [1, MINOR, CORE, FRESH] {
            assert!(windows_of(&[&[(slot, 4), (0, 6)]], 6).is_none(), "slot {slot} is no device");
        }
    }
}
