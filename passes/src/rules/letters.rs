//! Products of sums as letters say them: `ab,bc->ac`.

use shardc_ir::{Module, OpId};

use super::builder::{RuleBuilder, operand_shape, result_shape};
use crate::rule::{FactorKind, ShardingRule};

/// The rule of an operation each of whose dimensions is a letter. A letter of operands alone is a factor of the kind
/// `inner`; one of results alone has nothing to do with the operands. `None` where the letters do not fit the shapes,
/// or leave dimensions out (`...`), or one tensor has a letter twice.
pub(super) fn rule(module: &Module, op: OpId, letters: &str, inner: FactorKind) -> Option<ShardingRule> {
    let (operands, results) = letters.split_once("->")?;
    let operands = tensors(operands)?;
    let results = tensors(results)?;
    let data = &module.ops[op];
    if operands.len() != data.operands.len() || results.len() != data.results.len() {
        return None;
    }
    let shapes: Vec<&[i64]> = (0..operands.len())
        .map(|i| operand_shape(module, op, i))
        .chain((0..results.len()).map(|i| result_shape(module, op, i)))
        .collect::<Option<_>>()?;
    let all = || operands.iter().chain(&results).zip(&shapes);
    let mut order: Vec<(char, i64)> = Vec::new();
    // Results first, so that factors are in the order of their dimensions.
    for (tensor, shape) in all().skip(operands.len()).chain(all().take(operands.len())) {
        if tensor.len() != shape.len() {
            return None;
        }
        for (i, (&letter, &n)) in tensor.iter().zip(*shape).enumerate() {
            if tensor[..i].contains(&letter) {
                return None;
            }
            match order.iter().find(|(known, _)| *known == letter) {
                Some(&(_, size)) if size != n => return None,
                Some(_) => {}
                None => order.push((letter, n)),
            }
        }
    }
    let mut rule = RuleBuilder::new(module, op);
    for (letter, n) in order {
        let in_results = results.iter().any(|tensor| tensor.contains(&letter));
        let in_operands = operands.iter().any(|tensor| tensor.contains(&letter));
        let kind = match (in_operands, in_results) {
            (true, true) => FactorKind::PassThrough,
            (true, false) => inner,
            (false, _) => FactorKind::NeedReplication,
        };
        let factor = rule.factor(n, kind);
        let dim = |tensor: &[char]| tensor.iter().position(|&l| l == letter);
        for (i, tensor) in operands.iter().enumerate() {
            if let Some(dim) = dim(tensor) {
                rule.operand(i, dim, factor);
            }
        }
        for (i, tensor) in results.iter().enumerate() {
            if let Some(dim) = dim(tensor) {
                rule.result(i, dim, factor);
            }
        }
    }
    Some(rule.finish())
}

/// The letters of each tensor; blanks do not count.
fn tensors(text: &str) -> Option<Vec<Vec<char>>> {
    let letters = |tensor: &str| -> Option<Vec<char>> {
        tensor.chars().filter(|c| !c.is_whitespace()).map(|c| c.is_ascii_alphabetic().then_some(c)).collect()
    };
    text.split(',').map(letters).collect()
}
