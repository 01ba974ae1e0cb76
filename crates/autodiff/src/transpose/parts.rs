//! Concatenation of cotangents: the cotangent of a sliced value is a concatenation, not a sum of padded slices.

use shardc_ir::{Dense, Module, OpId, OpKind, TensorBuild, ValueId};
use smallvec::SmallVec;

use super::{Sign, Transposed};
use crate::emit::{Arithmetic, Emit};

/// A slice of a value along one dimension, padded with zeros.
#[derive(Clone, Copy)]
struct Part {
    /// The index of this slice in the list of contributions to the cotangent.
    place: usize,
    value: ValueId,
    dim: usize,
    start: i64,
    end: i64,
}

impl Transposed<'_, '_> {
    /// Replaces contributions that are disjoint padded slices by one concatenation.
    pub(super) fn put_together(&mut self, asked: &mut SmallVec<[(Sign, ValueId); 1]>, like: OpId) {
        if asked.len() < 2 {
            return;
        }
        let module = &*self.linear.module;
        let all = asked.iter().enumerate().filter_map(|(place, &(_, value))| part(module, place, value));
        let mut parts: Vec<Part> = all.collect();
        let Some(dim) = parts.first().map(|part| part.dim) else { return };
        parts.retain(|part| part.dim == dim);
        parts.sort_by_key(|part| (part.start, part.end));
        let mut end = 0;
        parts.retain(|part| {
            let is_free = part.start >= end;
            end = if is_free { part.end } else { end };
            is_free
        });
        if parts.len() < 2 {
            return;
        }
        // Contributions are added or subtracted: the concatenation has the sign of the majority of slices, and the other slices are
        // negated.
        let minus = parts.iter().filter(|part| asked[part.place].0 == Sign::Minus).count();
        let sign = if 2 * minus > parts.len() { Sign::Minus } else { Sign::Plus };
        let whole = asked[parts[0].place].1;
        let mut e = Emit::new(self.linear.module, &mut self.ops, like);
        let ty = e.type_of(whole);
        let zeros = |e: &mut Emit<'_>, count: i64| {
            let mut shape = ty.shape.clone();
            shape[dim] = count;
            (count > 0).then(|| e.zeros(&shape, ty.dtype))
        };
        let (mut values, mut end) = (Vec::new(), 0);
        for part in &parts {
            values.extend(zeros(&mut e, part.start - end));
            values.push(if asked[part.place].0 == sign { part.value } else { e.neg(part.value) });
            end = part.end;
        }
        values.extend(zeros(&mut e, ty.shape[dim] - end));
        let together = e.alike_to(OpKind::Concatenate { dim: dim as u32 }, &values, whole);
        let first = parts.iter().map(|part| part.place).min().unwrap_or(0);
        asked[first] = (sign, together);
        let mut place = 0;
        asked.retain(|_| {
            let stays = place == first || parts.iter().all(|part| part.place != place);
            place += 1;
            stays
        });
    }
}

/// Returns the unpadded part of a value that is padded with zeros along exactly one dimension; `None` for other values.
fn part(module: &Module, place: usize, value: ValueId) -> Option<Part> {
    let data = &module.ops[module.def_op(value)?];
    let OpKind::Pad(spec) = &data.kind else { return None };
    let &[inner, filled] = data.operands.as_slice() else { return None };
    let OpKind::Constant(Dense::Splat(bytes)) = &module.ops[module.def_op(filled)?].kind else { return None };
    let is_zero = bytes.iter().all(|&byte| byte == 0) && spec.interior.iter().all(|&n| n == 0);
    let mut padded = (0..spec.low.len()).filter(|&d| spec.low[d] != 0 || spec.high[d] != 0);
    let (Some(dim), None) = (padded.next(), padded.next()) else { return None };
    let (start, size) = (spec.low[dim], module.shape(inner)[dim]);
    (is_zero && start >= 0 && spec.high[dim] >= 0).then(|| Part {
        place,
        value: inner,
        dim,
        start,
        end: start + size,
    })
}
