//! Sums of products by letters: `numpy.einsum`.

use crate::error::ErrorKind;
use crate::graph::Graph;
use crate::{DotDims, Tensor};

impl Graph {
    /// Sums of products of tensors whose dimensions have letters: what a letter is that the result lacks is summed over. Without
    /// `->` the result has the letters that occur once, in the order of the alphabet.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let q = g.parameter("q", [2, 8, 4, 16], F32);
    /// let k = g.parameter("k", [2, 8, 4, 16], F32);
    /// assert_eq!(g.einsum("bqhd,bkhd->bhqk", &[q, k]).shape(), [2, 4, 8, 8]);
    /// ```
    ///
    /// Reported: there are not as many lists of letters as tensors, a tensor has another number of dimensions, a letter stands for
    /// two sizes, or the result has one that no tensor has or has it twice.
    #[track_caller]
    pub fn einsum<'g>(&'g self, letters: &str, operands: &[Tensor<'g>]) -> Tensor<'g> {
        if operands.iter().any(|operand| operand.is_poisoned()) {
            return self.poisoned(1)[0];
        }
        match Plan::new(letters, operands) {
            Ok(plan) => plan.run(self),
            Err(text) => self.report(operands, ErrorKind::Operands(format!("einsum {letters:?}: {text}"))),
        }
    }
}

struct Plan<'g> {
    /// Each tensor with the letters of its dimensions.
    terms: Vec<(Tensor<'g>, Vec<char>)>,
    result: Vec<char>,
}

impl<'g> Plan<'g> {
    fn new(letters: &str, operands: &[Tensor<'g>]) -> Result<Self, String> {
        let letters: String = letters.chars().filter(|c| !c.is_whitespace()).collect();
        let (inputs, result) = match letters.split_once("->") {
            Some((inputs, result)) => (inputs.to_owned(), Some(result.to_owned())),
            None => (letters, None),
        };
        let inputs: Vec<Vec<char>> = inputs.split(',').map(|list| list.chars().collect()).collect();
        if inputs.len() != operands.len() {
            return Err(format!("{} lists of letters for {} tensors", inputs.len(), operands.len()));
        }
        let mut sizes: Vec<(char, i64)> = Vec::new();
        for (list, operand) in inputs.iter().zip(operands) {
            let shape = operand.shape();
            if let Some(other) = list.iter().find(|c| !c.is_alphabetic()) {
                return Err(format!("{other:?} is no letter"));
            }
            if list.len() != shape.len() {
                let list: String = list.iter().collect();
                return Err(format!("{list:?} for a tensor of shape {shape:?}"));
            }
            for (&letter, &size) in list.iter().zip(&shape) {
                match sizes.iter().find(|(known, _)| *known == letter) {
                    Some(&(_, known)) if known != size => {
                        return Err(format!("{letter:?} is {known} and {size}"));
                    }
                    Some(_) => {}
                    None => sizes.push((letter, size)),
                }
            }
        }
        let result: Vec<char> = match result {
            Some(result) => result.chars().collect(),
            None => {
                let times = |letter: char| inputs.iter().flatten().filter(|&&c| c == letter).count();
                let mut once: Vec<char> = sizes.iter().map(|s| s.0).filter(|&c| times(c) == 1).collect();
                once.sort_unstable();
                once
            }
        };
        for (i, letter) in result.iter().enumerate() {
            if result[..i].contains(letter) {
                return Err(format!("the result has {letter:?} twice"));
            }
            if !sizes.iter().any(|(known, _)| known == letter) {
                return Err(format!("no tensor has the result's {letter:?}"));
            }
        }
        Ok(Plan { terms: operands.iter().copied().zip(inputs).collect(), result })
    }

    #[track_caller]
    fn run(mut self, g: &'g Graph) -> Tensor<'g> {
        for i in 0..self.terms.len() {
            self.diagonals(i);
            self.sum_alone(i);
        }
        // From the left: what is summed over vanishes as soon as nobody else has it.
        while self.terms.len() > 1 {
            let right = self.terms.remove(1);
            let left = self.terms.remove(0);
            let product = self.product(left, right);
            self.terms.insert(0, product);
        }
        match self.terms.pop() {
            Some((tensor, letters)) => {
                let permutation: Vec<i64> =
                    self.result.iter().map(|letter| place(&letters, *letter)).collect();
                tensor.transpose(&permutation)
            }
            None => g.scalar(1.0, shardc_ir::DType::F32),
        }
    }

    /// Takes the diagonal where a tensor has a letter twice.
    #[track_caller]
    fn diagonals(&mut self, i: usize) {
        let (tensor, letters) = &mut self.terms[i];
        while let Some((a, b)) = twice(letters) {
            let g = tensor.graph();
            let n = tensor.size(a as i64);
            let eye = g.eye(n, shardc_ir::DType::I1).broadcast_in_dim(tensor.shape(), &[a as i64, b as i64]);
            *tensor = eye.select(*tensor, 0).sum(b);
            letters.remove(b);
        }
    }

    /// Sums over letters that one tensor alone has.
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

    /// The product of two tensors, summed over what nobody else has.
    #[track_caller]
    fn product(
        &self,
        left: (Tensor<'g>, Vec<char>),
        right: (Tensor<'g>, Vec<char>),
    ) -> (Tensor<'g>, Vec<char>) {
        let ((x, x_letters), (y, y_letters)) = (left, right);
        let is_kept = |letter: &char| {
            self.result.contains(letter) || self.terms.iter().any(|(_, letters)| letters.contains(letter))
        };
        let both: Vec<char> = x_letters.iter().copied().filter(|c| y_letters.contains(c)).collect();
        let (batching, contracting): (Vec<char>, Vec<char>) = both.iter().partition(|c| is_kept(c));
        let places = |list: &[char], of: &[char]| list.iter().map(|&c| place(of, c)).collect::<Vec<i64>>();
        let dims = DotDims::contracting(&places(&contracting, &x_letters), &places(&contracting, &y_letters))
            .batching(&places(&batching, &x_letters), &places(&batching, &y_letters));
        let free =
            |letters: &[char]| letters.iter().copied().filter(|c| !both.contains(c)).collect::<Vec<_>>();
        let letters = [batching.clone(), free(&x_letters), free(&y_letters)].concat();
        (x.dot_general(y, &dims), letters)
    }
}

fn place(letters: &[char], letter: char) -> i64 {
    letters.iter().position(|&c| c == letter).map_or(0, |at| at as i64)
}

/// The places of a letter that occurs twice.
fn twice(letters: &[char]) -> Option<(usize, usize)> {
    (0..letters.len()).find_map(|b| Some((letters[..b].iter().position(|c| *c == letters[b])?, b)))
}
