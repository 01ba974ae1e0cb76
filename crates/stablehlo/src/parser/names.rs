//! The names of values that are visible at a position in the text.
//!
//! Most names in printed programs are the numbers `%0`, `%1`, ... They are in an array; other names are hashed.

use rustc_hash::FxHashMap;
use shardc_ir::{PackedOption, Span, ValueId};
use smallvec::SmallVec;

/// The names that an operation gives to its results: name, number of values, span.
pub(super) type ResultNames<'a> = SmallVec<[(&'a str, u32, Span); 2]>;

/// The definition of a name: `count` consecutive values, the first of which is `first`. `count` is 0 if the definition had an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Def {
    pub(super) first: PackedOption<ValueId>,
    pub(super) count: u32,
    pub(super) span: Span,
}

impl Def {
    fn none() -> Def {
        Def { first: PackedOption::default(), count: 0, span: Span::NONE }
    }
}

/// The visible names, in the order of their definitions, so that a scope can be closed.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    /// The definitions of the names `%0`, `%1`, ...; a name with a count of zero is undefined.
    numbers: Vec<Def>,
    words: FxHashMap<&'a str, Def>,
    scope: Vec<&'a str>,
}

impl<'a> Names<'a> {
    /// Reserves memory for `count` names.
    pub(super) fn reserve(&mut self, count: usize) {
        self.numbers.reserve(count);
        self.scope.reserve(count);
    }

    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<Def> {
        match number(name).and_then(|at| self.numbers.get(at)) {
            Some(def) if def.count > 0 => Some(*def),
            _ => self.words.get(name).copied(),
        }
    }

    /// Defines a name. Returns its definition if it is visible already.
    pub(super) fn insert(&mut self, name: &'a str, def: Def) -> Result<(), Def> {
        let number = number(name);
        let old = match number.and_then(|at| self.numbers.get(at)) {
            Some(old) if old.count > 0 => Some(*old),
            _ if self.words.is_empty() => None,
            _ => self.words.get(name).copied(),
        };
        if let Some(old) = old {
            return Err(old);
        }
        self.scope.push(name);
        // The array size is bounded by the number of names, regardless of the numbers that a text uses.
        let limit = 2 * self.scope.len() + 1024;
        match number.filter(|&at| at < limit && def.count > 0) {
            Some(at) => {
                // Fast path: numbers are mostly defined in order.
                if at == self.numbers.len() {
                    self.numbers.push(def);
                } else {
                    if at > self.numbers.len() {
                        self.numbers.resize(at + 1, Def::none());
                    }
                    self.numbers[at] = def;
                }
            }
            None => drop(self.words.insert(name, def)),
        }
        Ok(())
    }

    /// Returns the number of visible names, as a mark for [`Names::forget`] at the end of a region.
    pub(super) fn mark(&self) -> usize {
        self.scope.len()
    }

    /// Removes the names that were defined after the mark.
    pub(super) fn forget(&mut self, mark: usize) {
        if mark == 0 {
            self.numbers.clear();
            self.words.clear();
            self.scope.clear();
            return;
        }
        for name in self.scope.drain(mark.min(self.scope.len())..) {
            match number(name).and_then(|at| self.numbers.get_mut(at)) {
                Some(def) if def.count > 0 => *def = Def::none(),
                _ => drop(self.words.remove(name)),
            }
        }
    }

    /// Returns the visible names in the order of their definitions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, Def)> {
        self.scope.iter().filter_map(|&name| Some((name, self.get(name)?)))
    }
}

/// Returns the number in a name, if it is written without leading zeros.
#[inline]
fn number(name: &str) -> Option<usize> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > 7 || (bytes[0] == b'0' && bytes.len() > 1) {
        return None;
    }
    bytes.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + usize::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn def(first: u32) -> Def {
        Def { first: ValueId::from_u32(first).into(), count: 1, span: Span::NONE }
    }

    #[test]
    fn names_end_with_their_region() {
        let mut names = Names::default();
        assert!(names.insert("0", def(0)).is_ok());
        assert!(names.insert("x", def(1)).is_ok());
        assert!(names.insert("0", def(9)).is_err() && names.insert("x", def(9)).is_err());
        let mark = names.mark();
        for (at, name) in ["1", "01", "9999999", "arg0"].into_iter().enumerate() {
            assert!(names.insert(name, def(2 + at as u32)).is_ok());
        }
        let first = |names: &Names<'_>, name| names.get(name).and_then(|def| def.first.expand());
        assert_eq!(first(&names, "1"), Some(ValueId::from_u32(2)));
        assert_eq!(first(&names, "01"), Some(ValueId::from_u32(3)), "`%01` is not `%1`");
        assert_eq!(first(&names, "9999999"), Some(ValueId::from_u32(4)));
        assert!(names.numbers.len() < 10, "a large number does not make a large table");
        names.forget(mark);
        let known: Vec<&str> = names.iter().map(|(name, _)| name).collect();
        assert_eq!(known, ["0", "x"]);
        assert!(["1", "01", "9999999", "arg0"].iter().all(|name| names.get(name).is_none()));
    }
}
