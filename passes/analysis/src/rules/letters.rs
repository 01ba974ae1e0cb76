//! Sharding rules in einsum notation, with letters as dimension labels: `ab,bc->ac`.

use std::fmt;

use shardc_ir::{Module, OpId, ValueId};

use super::builder::RuleBuilder;
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// The reason why the letters of a rule do not fit an operation. The message has no subject: it follows the text of the rule in
/// [`RuleError`](super::registry::RuleError).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LettersFault {
    /// There is no `->` between operands and results.
    #[error("has no `->` between the letters of the operands and those of the results")]
    NoArrow,
    /// There is a character other than letters, commas and whitespace.
    #[error("has `{found}`, which is not a letter, in {tensor}")]
    NoLetter {
        /// The character that is not a letter.
        found: char,
        /// The operand or result whose letters contain the character.
        tensor: TensorRef,
    },
    /// The rule has more or fewer tensors than the operation.
    #[error("has letters for {}, but the call has {actual}", plural(*.letters, .side))]
    Count {
        /// Whether the counts are of operands or of results.
        side: Side,
        /// The number of operands or results for which the rule has letters.
        letters: usize,
        /// The number of operands or results of the operation.
        actual: usize,
    },
    /// There are letters for a value that is not a tensor.
    #[error("has letters for {tensor}, which is {ty}, not a ranked tensor")]
    NoTensor {
        /// The operand or result.
        tensor: TensorRef,
        /// The type of the operand or result.
        ty: String,
    },
    /// A tensor does not have as many letters as dimensions.
    #[error("has {}, `{letters}`, for the {} of {tensor}, which is {ty}", plural(.letters.chars().count(), &"letter"), plural(*.rank, &"dimension"))]
    Rank {
        /// The operand or result.
        tensor: TensorRef,
        /// The type of the operand or result.
        ty: String,
        /// The number of dimensions of the tensor.
        rank: usize,
        /// The letters that the rule has for the tensor.
        letters: String,
    },
    /// A tensor has the same letter twice.
    #[error("has the letter `{letter}` twice in {tensor}, `{letters}`: a diagonal cannot be sharded")]
    Repeated {
        /// The operand or result.
        tensor: TensorRef,
        /// The letters that the rule has for the tensor.
        letters: String,
        /// The letter that occurs twice.
        letter: char,
    },
    /// A letter labels dimensions of different sizes.
    #[error(
        "gives the letter `{letter}` two sizes: {} along dimension {} of {}, which is {}, and {} along dimension {} of {}, which is {}",
        first.size, first.dim, first.tensor, first.ty, second.size, second.dim, second.tensor, second.ty
    )]
    Sizes {
        /// The letter that labels both dimensions.
        letter: char,
        /// The first dimension with the letter.
        first: Box<LetterPlace>,
        /// A dimension with the letter that has another size.
        second: Box<LetterPlace>,
    },
}

/// Whether a tensor is an operand or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Side {
    Operand,
    Result,
}

/// An operand or a result, identified by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorRef {
    /// Whether the tensor is an operand or a result.
    pub side: Side,
    /// The index among operands or results.
    pub index: usize,
}

/// A dimension with a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterPlace {
    /// The operand or result.
    pub tensor: TensorRef,
    /// The type of the operand or result.
    pub ty: String,
    /// The index of the dimension.
    pub dim: usize,
    /// The size of the dimension.
    pub size: i64,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Operand => "operand",
            Side::Result => "result",
        })
    }
}

impl fmt::Display for TensorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.side, self.index)
    }
}

fn plural(count: usize, what: &impl fmt::Display) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A tensor and its letters.
struct Lettered<'a> {
    tensor: TensorRef,
    value: ValueId,
    letters: Vec<char>,
    shape: &'a [i64],
}

impl Lettered<'_> {
    fn dim(&self, letter: char) -> Option<usize> {
        self.letters.iter().position(|&l| l == letter)
    }

    fn place(&self, module: &Module, dim: usize) -> Box<LetterPlace> {
        let ty = module.types.display(module.values[self.value].ty).to_string();
        Box::new(LetterPlace { tensor: self.tensor, ty, dim, size: self.shape[dim] })
    }
}

/// Returns the rule of an operation from a text with one letter for each dimension. A letter that only operands have becomes a factor of
/// kind `inner`; a letter that only results have becomes a factor that needs replication.
///
/// # Errors
/// Returns an error if the letters do not fit the shapes, omit dimensions (`...`), or repeat within one tensor.
pub(super) fn rule(
    module: &Module,
    op: OpId,
    letters: &str,
    inner: FactorKind,
) -> Result<ShardingRule, LettersFault> {
    let (operands, results) = letters.split_once("->").ok_or(LettersFault::NoArrow)?;
    let data = &module.ops[op];
    let operands = tensors(module, Side::Operand, &data.operands, operands)?;
    let results = tensors(module, Side::Result, &data.results, results)?;
    let mut order: Vec<(char, i64, &Lettered<'_>, usize)> = Vec::new();
    // Results come first, so that factors are in the order of result dimensions.
    for tensor in results.iter().chain(&operands) {
        for (dim, (&letter, &size)) in tensor.letters.iter().zip(tensor.shape).enumerate() {
            match order.iter().find(|(known, ..)| *known == letter) {
                Some(&(_, other, first, at)) if other != size => {
                    let (first, second) = (first.place(module, at), tensor.place(module, dim));
                    return Err(LettersFault::Sizes { letter, first, second });
                }
                Some(_) => {}
                None => order.push((letter, size, tensor, dim)),
            }
        }
    }
    let mut rule = RuleBuilder::new(module, op);
    for (letter, size, ..) in order {
        let has = |tensors: &[Lettered<'_>]| tensors.iter().any(|tensor| tensor.dim(letter).is_some());
        let kind = match (has(&operands), has(&results)) {
            (true, true) => FactorKind::PassThrough,
            (true, false) => inner,
            (false, _) => FactorKind::NeedReplication,
        };
        let factor = rule.factor(size, kind);
        for tensor in operands.iter().chain(&results) {
            let Some(dim) = tensor.dim(letter) else { continue };
            match tensor.tensor {
                TensorRef { side: Side::Operand, index } => rule.operand(index, dim, factor),
                TensorRef { side: Side::Result, index } => rule.result(index, dim, factor),
            };
        }
    }
    Ok(rule.finish())
}

/// Parses the letters of each tensor on one side of the arrow; whitespace is ignored.
fn tensors<'m>(
    module: &'m Module,
    side: Side,
    values: &[ValueId],
    text: &str,
) -> Result<Vec<Lettered<'m>>, LettersFault> {
    // An empty text stands for one scalar, or for no tensors if the operation has none.
    let parts: Vec<&str> =
        if values.is_empty() && text.trim().is_empty() { Vec::new() } else { text.split(',').collect() };
    let tensor = |index| TensorRef { side, index };
    let mut spelt: Vec<Vec<char>> = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter().enumerate() {
        let letters: Vec<char> = part.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(&found) = letters.iter().find(|c| !c.is_ascii_alphabetic()) {
            return Err(LettersFault::NoLetter { found, tensor: tensor(i) });
        }
        spelt.push(letters);
    }
    if spelt.len() != values.len() {
        return Err(LettersFault::Count { side, letters: spelt.len(), actual: values.len() });
    }
    let mut out = Vec::with_capacity(values.len());
    for (i, (letters, &value)) in spelt.into_iter().zip(values).enumerate() {
        let ty = || module.types.display(module.values[value].ty).to_string();
        let text = || letters.iter().collect::<String>();
        let Some(stored) = module.stored(value) else {
            return Err(LettersFault::NoTensor { tensor: tensor(i), ty: ty() });
        };
        let shape = stored.shape.as_slice();
        if letters.len() != shape.len() {
            let (ty, rank) = (ty(), shape.len());
            return Err(LettersFault::Rank { tensor: tensor(i), ty, rank, letters: text() });
        }
        if let Some((_, &letter)) = letters.iter().enumerate().find(|&(at, l)| letters[..at].contains(l)) {
            return Err(LettersFault::Repeated { tensor: tensor(i), letters: text(), letter });
        }
        out.push(Lettered { tensor: tensor(i), value, letters, shape });
    }
    Ok(out)
}
