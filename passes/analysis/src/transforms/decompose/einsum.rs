//! Einsum expansion: expands `einsum` and `unary_einsum` to `dot_general`, `reduce` and `transpose`.
//!
//! * A letter that occurs twice in one operand selects the diagonal of the two dimensions.
//! * If a letter occurs in only one operand and not in the result, its dimension is reduced first.
//! * A letter of both operands is a contracting or batching dimension.
//! * `...` stands for dimensions counted from the last.
//!
//! An `einsum` stays if its letters do not fit the shapes or if a letter occurs twice in the result.
//!
//! ```mlir
//! %0 = stablehlo.einsum %a, %b, config = "bij,jkb->kbi" : (tensor<2x3x4xf32>, tensor<4x5x2xf32>) -> tensor<5x2x3xf32>
//! ```
//! becomes
//! ```mlir
//! %d = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [2] x [0] : ... -> tensor<2x3x5xf32>
//! %0 = stablehlo.transpose %d, dims = [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
//! ```

use shardc_ir::{
    CompareDirection, CompareType, DType, DimList, DotSpec, Module, OpId, OpKind, Rewriter, TensorBuild,
    ValueId,
};

/// The label of a dimension: a letter, or a position within `...`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Letter(char),
    Rest(usize),
}

/// A tensor and the labels of its dimensions.
struct Term {
    value: ValueId,
    labels: Vec<Label>,
}

impl Term {
    fn place(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|&l| l == label)
    }
}

/// Appends the expansion and returns its result; `None` if the operation is not expanded.
pub(super) fn decompose(rw: &mut Rewriter<'_>, op: OpId, config: &str) -> Option<ValueId> {
    let module = &*rw.module;
    let data = &module.ops[op];
    let (operands, &result) = (data.operands.clone(), data.results.first()?);
    let plain = |v: ValueId| module.tensor(v).is_some_and(|t| t.is_static() && t.encoding.is_none());
    if !operands.iter().chain([&result]).all(|&v| plain(v)) {
        return None;
    }
    let (inputs, output) = config.split_once("->")?;
    let inputs: Vec<&str> = inputs.split(',').collect();
    if inputs.len() != operands.len() {
        return None;
    }
    let output = labels(output, module.rank(result))?;
    let mut terms = Vec::with_capacity(inputs.len());
    for (text, &value) in inputs.into_iter().zip(&operands) {
        terms.push(Term { value, labels: labels(text, module.rank(value))? });
    }
    if !fits(module, &terms, &Term { value: result, labels: output.clone() }) {
        return None;
    }

    let dtype = module.tensor(result)?.dtype;
    for i in 0..terms.len() {
        diagonals(rw, &mut terms[i])?;
        let is_needed = |label: &Label| {
            output.contains(label)
                || terms.iter().enumerate().any(|(j, t)| j != i && t.labels.contains(label))
        };
        let (kept, alone): (Vec<Label>, Vec<Label>) = terms[i].labels.iter().copied().partition(is_needed);
        if !alone.is_empty() {
            let dims = alone.iter().filter_map(|&label| terms[i].place(label)).map(|d| d as u32).collect();
            let value = rw.sum(terms[i].value, dims)?;
            terms[i] = Term { value, labels: kept };
        }
    }
    let product = match terms.as_slice() {
        [one] => Term { value: rw.convert(one.value, dtype), labels: one.labels.clone() },
        [lhs, rhs] => product(rw, lhs, rhs, &output, dtype)?,
        _ => return None,
    };
    // An operand itself must not replace the result, which may have a different sharding, so it is transposed (possibly by the identity).
    let value = if product.labels == output && !operands.contains(&product.value) {
        product.value
    } else {
        let places = output.iter().map(|&label| product.place(label).map(|d| d as u32));
        let permutation: DimList = places.collect::<Option<_>>()?;
        let shape = rw.module.shape(result).to_vec();
        rw.tensor(OpKind::Transpose { permutation }, &[product.value], &shape, dtype)
    };
    Some(value)
}

/// Returns the labels of the dimensions of a tensor, from its part of the configuration; whitespace is ignored.
fn labels(text: &str, rank: usize) -> Option<Vec<Label>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let letters = |text: &str| -> Option<Vec<Label>> {
        text.chars().map(|c| c.is_ascii_alphabetic().then_some(Label::Letter(c))).collect()
    };
    let labels = match text.split_once("...") {
        None => letters(&text)?,
        Some((before, after)) => {
            let (before, after) = (letters(before)?, letters(after)?);
            let rest = rank.checked_sub(before.len() + after.len())?;
            let rest = (0..rest).rev().map(Label::Rest);
            before.into_iter().chain(rest).chain(after).collect()
        }
    };
    (labels.len() == rank).then_some(labels)
}

/// Whether all dimensions with the same label have the same size, and the labels of the result are distinct and occur in the operands.
fn fits(module: &Module, terms: &[Term], result: &Term) -> bool {
    let mut sizes: Vec<(Label, i64)> = Vec::new();
    for term in terms {
        for (&label, &n) in term.labels.iter().zip(module.shape(term.value)) {
            match sizes.iter().find(|(known, _)| *known == label) {
                Some(&(_, size)) if size != n => return false,
                Some(_) => {}
                None => sizes.push((label, n)),
            }
        }
    }
    let shape = module.shape(result.value);
    result.labels.iter().enumerate().all(|(i, &label)| {
        !result.labels[..i].contains(&label) && shape.get(i).is_some_and(|&n| sizes.contains(&(label, n)))
    })
}

/// Replaces dimensions of `term` that have the same label by their diagonal.
fn diagonals(rw: &mut Rewriter<'_>, term: &mut Term) -> Option<()> {
    while let Some((i, j)) = twice(&term.labels) {
        let shape = rw.module.shape(term.value).to_vec();
        let dtype = rw.dtype(term.value)?;
        let [row, column] =
            [i, j].map(|d| rw.tensor(OpKind::Iota { dim: d as u32 }, &[], &shape, DType::I32));
        let equal = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let equal = rw.tensor(equal, &[row, column], &shape, DType::I1);
        let zeros = rw.zeros(&shape, dtype);
        let value = rw.tensor(OpKind::Select, &[equal, term.value, zeros], &shape, dtype);
        term.value = rw.sum(value, DimList::from_slice(&[j as u32]))?;
        term.labels.remove(j);
    }
    Some(())
}

/// Returns the positions of the first two occurrences of a label that is repeated.
fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    labels.iter().enumerate().find_map(|(j, label)| Some((labels[..j].iter().position(|l| l == label)?, j)))
}

/// Appends the `dot_general` of two tensors. Labels that both tensors have are contracted if the output lacks them.
fn product(rw: &mut Rewriter<'_>, lhs: &Term, rhs: &Term, output: &[Label], dtype: DType) -> Option<Term> {
    let mut spec = DotSpec::default();
    let mut batch = Vec::new();
    for (l, &label) in lhs.labels.iter().enumerate() {
        let Some(r) = rhs.place(label) else { continue };
        let (of_lhs, of_rhs) = if output.contains(&label) {
            batch.push(label);
            (&mut spec.lhs_batch, &mut spec.rhs_batch)
        } else {
            (&mut spec.lhs_contract, &mut spec.rhs_contract)
        };
        of_lhs.push(l as u32);
        of_rhs.push(r as u32);
    }
    let free = |a: &Term, b: &Term| -> Vec<Label> {
        a.labels.iter().copied().filter(|&label| b.place(label).is_none()).collect()
    };
    let labels = [batch, free(lhs, rhs), free(rhs, lhs)].concat();
    let size = |label: &Label| {
        [lhs, rhs].into_iter().find_map(|t| rw.module.shape(t.value).get(t.place(*label)?).copied())
    };
    let shape: Vec<i64> = labels.iter().map(size).collect::<Option<_>>()?;
    let value = rw.tensor(OpKind::DotGeneral(Box::new(spec)), &[lhs.value, rhs.value], &shape, dtype);
    Some(Term { value, labels })
}
