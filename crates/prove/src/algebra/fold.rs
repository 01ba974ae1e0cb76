//! Reductions by a region, such as the greatest element and its position.
//!
//! | rewrite | condition |
//! |---|---|
//! | a reduction of reductions is one reduction | the same region and initial values; the outer position is the major one |
//! | the reduction of one element is the element | |
//!
//! By the specification, the region and the initial values are a monoid: the order of elements matters, but not how they are grouped.

use std::sync::Arc;

use crate::terms::{CORE, Digit, Digits, Op, Terms, VarRole, View, push};

/// A region and its initial values.
pub(crate) struct Folding {
    /// The region.
    pub(crate) text: Arc<str>,
    pub(crate) starts: Vec<View>,
}

fn number(digits: &[Digit]) -> Digits {
    let mut number = Digits::new();
    digits.iter().for_each(|&digit| push(&mut number, digit));
    number
}

impl Terms {
    /// Reduces views over a slot of this size.
    pub(crate) fn fold(
        &mut self,
        folding: &Folding,
        inputs: &[View],
        slot: u32,
        size: u64,
    ) -> Option<Vec<View>> {
        if size == 1 {
            return Some(inputs.to_vec());
        }
        if let Some((inner, count)) = self.unfolded(folding, inputs, slot, size) {
            return self.fold(folding, &inner, slot, size * count);
        }
        let core = number(&[Digit::all(CORE, size)]);
        let mut args: Vec<View> = Vec::new();
        for view in inputs {
            args.push(view.moved(|old| (old == slot).then_some(&core[..]))?);
        }
        args.extend(folding.starts.iter().cloned());
        let kinds: Vec<_> = inputs.iter().map(|view| self.kind(view)).collect();
        (0u32..)
            .zip(kinds)
            .map(|(at, kind)| self.build(Op::Fold(folding.text.clone(), at, size), kind, &args, &[], &[]))
            .collect()
    }

    /// The arguments of reductions that are reduced again, as functions of one position along the slot, and the size of the inner one.
    fn unfolded(
        &mut self,
        folding: &Folding,
        inputs: &[View],
        slot: u32,
        size: u64,
    ) -> Option<(Vec<View>, u64)> {
        let first = inputs.first()?;
        let node = self.node(first.term).clone();
        let Op::Fold(text, 0, count) = &node.op else { return None };
        for (at, view) in (0u32..).zip(inputs) {
            let other = self.node(view.term);
            if other.op != Op::Fold(folding.text.clone(), at, *count)
                || other.args != node.args
                || other.vars != node.vars
                || view.index != first.index
            {
                return None;
            }
        }
        let own = self.fresh();
        let bound: Vec<Option<Digits>> = node
            .vars
            .iter()
            .map(|var| match var.role {
                VarRole::Core { stride, .. } => Some(number(&[Digit { slot: own, stride, size: var.size }])),
                VarRole::Batch | VarRole::Reduced | VarRole::Minor { .. } => None,
            })
            .collect();
        let args: Vec<View> =
            (0..node.args.len()).map(|arg| self.argument(first, arg, &bound)).collect::<Option<_>>()?;
        let (inner, starts) = args.split_at_checked(inputs.len())?;
        if starts != folding.starts || **text != *folding.text {
            return None;
        }
        let outer = number(&[Digit { slot, stride: *count, size }]);
        let minor = number(&[Digit::all(slot, *count)]);
        let place = |old: u32| match old {
            _ if old == slot => Some(&outer[..]),
            _ if old == own => Some(&minor[..]),
            _ => None,
        };
        let moved: Option<Vec<View>> = inner.iter().map(|view| view.moved(place)).collect();
        Some((moved?, *count))
    }
}
