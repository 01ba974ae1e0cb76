//! Einsum: `numpy.einsum`.

use shardc_ir::DType;

use crate::error::ErrorKind;
use crate::graph::Graph;
use crate::{DotDims, Tensor};

impl Graph {
    /// Einstein summation: each letter labels a dimension, and labels missing from the result are contracted. Without `->`, the result has
    /// the labels that occur once, in alphabetical order. `...` represents further dimensions, which broadcast.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let q = g.parameter("q", [2, 8, 4, 16], F32);
    /// let k = g.parameter("k", [2, 8, 4, 16], F32);
    /// assert_eq!(g.einsum("bqhd,bkhd->bhqk", &[q, k]).shape(), [2, 4, 8, 8]);
    /// assert_eq!(g.einsum("...d,...d->...", &[q, k]).shape(), [2, 8, 4]);
    /// ```
    ///
    /// Reports an error if the numbers of subscripts and tensors differ, if a subscript does not match the rank of its tensor, or if a
    /// label has two sizes. A label of the result must not be repeated, and must occur in a tensor.
    #[track_caller]
    pub fn einsum<'g>(&'g self, letters: &str, operands: &[Tensor<'g>]) -> Tensor<'g> {
        self.einsum_of(letters, operands, None)
    }

    /// [`einsum`](Graph::einsum) with accumulation and result in element type `accumulate`.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], DType::BF16);
    /// let w = g.parameter("w", [3, 4], DType::BF16);
    /// assert_eq!(g.einsum_accumulating("ab,bc->ac", &[x, w], F32).dtype(), F32);
    /// ```
    ///
    /// Reports the errors of [`einsum`](Graph::einsum), and an error if the accumulation type is not supported.
    #[track_caller]
    pub fn einsum_accumulating<'g>(
        &'g self,
        letters: &str,
        operands: &[Tensor<'g>],
        accumulate: DType,
    ) -> Tensor<'g> {
        self.einsum_of(letters, operands, Some(accumulate))
    }

    #[track_caller]
    fn einsum_of<'g>(
        &'g self,
        letters: &str,
        operands: &[Tensor<'g>],
        accumulate: Option<DType>,
    ) -> Tensor<'g> {
        if operands.iter().any(|operand| operand.is_poisoned()) {
            return self.poisoned(1)[0];
        }
        match Plan::new(letters, operands) {
            Ok(plan) => plan.run(self, accumulate),
            Err(text) => self.report(operands, ErrorKind::Operands(format!("einsum {letters:?}: {text}"))),
        }
    }
}

/// Placeholder labels for the dimensions of `...`, counted from the last.
const MORE: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{e0ff}';

struct Plan<'g> {
    /// The tensors that remain to be contracted, each with its dimension labels.
    terms: Vec<(Tensor<'g>, Vec<char>)>,
    result: Vec<char>,
}

/// Returns the labels of a subscript, with `...` replaced by `more` placeholder labels of [`MORE`].
fn expand(list: &str, more: usize) -> Result<Vec<char>, String> {
    let mut parts = list.splitn(2, "...");
    let (before, after) = (parts.next().unwrap_or_default(), parts.next());
    let letters = |part: &str| match part.chars().find(|c| !c.is_alphabetic()) {
        Some(other) => Err(format!("{other:?} is not a letter")),
        None => Ok(part.chars().collect::<Vec<char>>()),
    };
    let dots: Vec<char> = MORE.take(more).collect();
    Ok(match after {
        Some(after) => [letters(before)?, dots.into_iter().rev().collect(), letters(after)?].concat(),
        None => letters(before)?,
    })
}

impl<'g> Plan<'g> {
    fn new(letters: &str, operands: &[Tensor<'g>]) -> Result<Self, String> {
        let letters: String = letters.chars().filter(|c| !c.is_whitespace()).collect();
        let (inputs, result) = match letters.split_once("->") {
            Some((inputs, result)) => (inputs.to_owned(), Some(result.to_owned())),
            None => (letters, None),
        };
        let lists: Vec<&str> = inputs.split(',').collect();
        if lists.len() != operands.len() {
            return Err(format!("got {} subscripts for {} tensors", lists.len(), operands.len()));
        }
        let mut sizes: Vec<(char, i64, Vec<i64>)> = Vec::new();
        let mut terms = Vec::with_capacity(operands.len());
        let mut most = 0;
        for (list, operand) in lists.into_iter().zip(operands) {
            let shape = operand.shape();
            let named = list.replacen("...", "", 1).chars().count();
            let more = if list.contains("...") { shape.len().saturating_sub(named) } else { 0 };
            most = most.max(more);
            let letters = expand(list, more)?;
            if letters.len() != shape.len() {
                return Err(format!(
                    "the subscript {list:?} does not match the rank of a tensor of shape {shape:?}"
                ));
            }
            // Dimensions of `...` broadcast: a dimension of size one is dropped if another tensor has a larger size.
            let ones: Vec<usize> =
                (0..shape.len()).filter(|&d| MORE.contains(&letters[d]) && shape[d] == 1).collect();
            let kept = |d: &usize| !ones.contains(d);
            for d in (0..shape.len()).filter(kept) {
                match sizes.iter().find(|(known, ..)| *known == letters[d]) {
                    Some((_, size, of)) if *size != shape[d] => {
                        let what = match letters[d] {
                            letter if MORE.contains(&letter) => "a dimension of `...`".to_owned(),
                            letter => format!("{letter:?}"),
                        };
                        return Err(format!(
                            "the size of {what} is {size} in shape {of:?} but {} in shape {shape:?}",
                            shape[d]
                        ));
                    }
                    Some(_) => {}
                    None => sizes.push((letters[d], shape[d], shape.clone())),
                }
            }
            terms.push((*operand, letters, ones));
        }
        let result: Vec<char> = match result {
            Some(result) if most > 0 && !result.contains("...") => {
                return Err(format!("the result {result:?} lacks `...`"));
            }
            Some(result) => expand(&result, most)?,
            None => {
                let times = |letter| terms.iter().flat_map(|term| &term.1).filter(|&&c| c == letter).count();
                let named = sizes.iter().map(|s| s.0).filter(|c| !MORE.contains(c));
                let mut once: Vec<char> = named.filter(|&c| times(c) == 1).collect();
                once.sort_unstable();
                [expand("...", most)?, once].concat()
            }
        };
        for (i, letter) in result.iter().enumerate() {
            if result[..i].contains(letter) {
                return Err(format!("the result repeats {letter:?}"));
            }
            if !terms.iter().any(|(_, letters, _)| letters.contains(letter)) {
                return Err(format!("the result's {letter:?} is not in any operand"));
            }
        }
        let is_known = |letter: char| sizes.iter().any(|(known, ..)| *known == letter);
        let mut seen: Vec<char> = Vec::new();
        let terms = terms.into_iter().map(|(tensor, letters, ones)| {
            // A dimension of size one in all tensors is kept in the first tensor only.
            let dropped: Vec<usize> = ones
                .into_iter()
                .filter(|&d| {
                    let is_dropped = is_known(letters[d]) || seen.contains(&letters[d]);
                    seen.push(letters[d]);
                    is_dropped
                })
                .collect();
            let kept = (0..letters.len()).filter(|d| !dropped.contains(d)).map(|d| letters[d]).collect();
            let tensor = if dropped.is_empty() { tensor } else { tensor.squeeze(dropped) };
            (tensor, kept)
        });
        Ok(Plan { terms: terms.collect(), result })
    }

    #[track_caller]
    fn run(mut self, g: &'g Graph, accumulate: Option<DType>) -> Tensor<'g> {
        for i in 0..self.terms.len() {
            self.diagonals(i);
            self.sum_alone(i);
        }
        // Contracts the cheapest pair first; a label is summed over as soon as no other term has it.
        while let Some((i, j)) = self.cheapest() {
            let right = self.terms.remove(j);
            let left = self.terms.remove(i);
            let dtype = left.0.dtype();
            let (product, letters) = self.product(left, right, accumulate);
            let product = if self.terms.is_empty() { product } else { product.to(dtype) };
            self.terms.insert(i, (product, letters));
        }
        match self.terms.pop() {
            Some((tensor, letters)) => {
                let tensor = accumulate.map_or(tensor, |dtype| tensor.to(dtype));
                if letters == self.result {
                    return tensor;
                }
                let permutation: Vec<i64> =
                    self.result.iter().map(|letter| place(&letters, *letter)).collect();
                tensor.transpose(&permutation)
            }
            None => g.scalar(1.0, DType::F32),
        }
    }

    /// Returns the two terms whose contraction takes the fewest multiplications; the first such pair.
    fn cheapest(&self) -> Option<(usize, usize)> {
        let cost = |i: usize, j: usize| {
            let ((x, x_letters), (y, y_letters)) = (&self.terms[i], &self.terms[j]);
            let new = (0..y_letters.len()).filter(|&d| !x_letters.contains(&y_letters[d]));
            let shape = y.shape();
            new.fold(x.num_elements() as f64, |cost, d| cost * shape[d] as f64)
        };
        let n = self.terms.len();
        let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let best = pairs.map(|(i, j)| (cost(i, j), (i, j))).min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, pair)| pair)
    }

    /// Takes the diagonal of tensor `i` for each label that occurs twice in its subscript.
    #[track_caller]
    fn diagonals(&mut self, i: usize) {
        let (tensor, letters) = &mut self.terms[i];
        while let Some((a, b)) = twice(letters) {
            let g = tensor.graph();
            let n = tensor.size(a as i64);
            let eye = g.eye(n, DType::I1).broadcast_in_dim(tensor.shape(), &[a as i64, b as i64]);
            *tensor = eye.select(*tensor, 0).sum(b);
            letters.remove(b);
        }
    }

    /// Sums tensor `i` over labels that occur neither in another term nor in the result.
    #[track_caller]
    fn sum_alone(&mut self, i: usize) {
        let is_needed = |letter: &char| {
            let others = self.terms.iter().enumerate().filter(|(j, _)| *j != i);
            self.result.contains(letter)
                || others.into_iter().any(|(_, (_, letters))| letters.contains(letter))
        };
        let (tensor, letters) = &self.terms[i];
        let alone: Vec<usize> = (0..letters.len()).filter(|&d| !is_needed(&letters[d])).collect();
        if alone.is_empty() {
            return;
        }
        let kept = (0..letters.len()).filter(|d| !alone.contains(d)).map(|d| letters[d]).collect();
        let sum = tensor.sum(alone);
        self.terms[i] = (sum, kept);
    }

    /// Contracts two tensors over the labels that occur neither in another term nor in the result.
    #[track_caller]
    fn product(
        &self,
        left: (Tensor<'g>, Vec<char>),
        right: (Tensor<'g>, Vec<char>),
        accumulate: Option<DType>,
    ) -> (Tensor<'g>, Vec<char>) {
        let is_kept = |letter: &char| {
            self.result.contains(letter) || self.terms.iter().any(|(_, letters)| letters.contains(letter))
        };
        let both: Vec<char> = left.1.iter().copied().filter(|c| right.1.contains(c)).collect();
        let (mut batching, contracting): (Vec<char>, Vec<char>) = both.iter().partition(|c| is_kept(c));
        // Orders batching dimensions as in the result, to avoid a transpose if possible.
        batching.sort_by_key(|&c| self.result.iter().position(|&r| r == c).unwrap_or(usize::MAX));
        let free =
            |letters: &[char]| letters.iter().copied().filter(|c| !both.contains(c)).collect::<Vec<_>>();
        let after = |x: &[char], y: &[char]| [batching.clone(), free(x), free(y)].concat();
        let is_swapped = after(&right.1, &left.1) == self.result && after(&left.1, &right.1) != self.result;
        let ((x, x_letters), (y, y_letters)) = if is_swapped { (right, left) } else { (left, right) };
        let places = |list: &[char], of: &[char]| list.iter().map(|&c| place(of, c)).collect::<Vec<i64>>();
        let mut dims =
            DotDims::contracting(&places(&contracting, &x_letters), &places(&contracting, &y_letters))
                .batching(&places(&batching, &x_letters), &places(&batching, &y_letters));
        dims.accumulate = accumulate;
        (x.dot_general(y, &dims), after(&x_letters, &y_letters))
    }
}

fn place(letters: &[char], letter: char) -> i64 {
    letters.iter().position(|&c| c == letter).map_or(0, |at| at as i64)
}

/// Returns the first two positions of a label that occurs twice, if any.
fn twice(letters: &[char]) -> Option<(usize, usize)> {
    (0..letters.len()).find_map(|b| Some((letters[..b].iter().position(|c| *c == letters[b])?, b)))
}
