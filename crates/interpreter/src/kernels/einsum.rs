//! Contractions in einsum notation, such as `ab,bc->ac`.

use shardc_ir::{BinaryOp, DType};

use super::dot::{Side, dot_general};
use super::moves::transpose;
use super::reduce::reduce;
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::numbers::Domain;

/// The letters of the operands and of the result.
struct Equation<'c> {
    operands: Vec<&'c str>,
    result: &'c str,
}

impl<'c> Equation<'c> {
    fn new(config: &'c str, operands: usize) -> Result<Self, Fault> {
        let (left, result) = config.split_once("->").unwrap_or((config, ""));
        let equation = Equation { operands: left.split(',').map(str::trim).collect(), result: result.trim() };
        let is_plain = |text: &str| text.chars().all(char::is_alphabetic) && is_distinct(text);
        if equation.operands.len() != operands
            || !equation.operands.iter().copied().chain([equation.result]).all(is_plain)
        {
            return Fault::unsupported(format!("the einsum {config}"));
        }
        Ok(equation)
    }
}

fn is_distinct(letters: &str) -> bool {
    letters.char_indices().all(|(at, letter)| letters.find(letter) == Some(at))
}

/// The order of `letters` in which they form `wanted`.
fn order(letters: &str, wanted: &str) -> Result<Vec<usize>, Fault> {
    let place = |letter| letters.chars().position(|own| own == letter);
    let order: Option<Vec<usize>> = wanted.chars().map(place).collect();
    let order = order.filter(|order| order.len() == letters.chars().count());
    order.ok_or_else(|| Fault::Unsupported(format!("an einsum with the result {wanted} of {letters}")))
}

/// An einsum of one operand: sums over the letters that the result lacks.
pub(crate) fn unary<D: Domain>(a: &Array<D>, config: &str, dtype: DType) -> Result<Array<D>, Fault> {
    let equation = Equation::new(config, 1)?;
    let (sum, rest) = summed(a, equation.operands[0], equation.result, dtype)?;
    transpose(&sum, &order(&rest, equation.result)?)
}

/// Sums over the letters that are not in `kept`; returns the letters that are left.
fn summed<D: Domain>(
    a: &Array<D>,
    letters: &str,
    kept: &str,
    dtype: DType,
) -> Result<(Array<D>, String), Fault> {
    if letters.chars().count() != a.rank() {
        return Fault::invalid(format!("{letters} for an array of {:?}", a.dims()));
    }
    let is_kept = |letter: &char| kept.contains(*letter);
    let dims: Vec<usize> =
        letters.chars().enumerate().filter(|(_, letter)| !is_kept(letter)).map(|(dim, _)| dim).collect();
    if dims.is_empty() {
        return Ok((a.clone(), letters.to_owned()));
    }
    let zero = Array::full(Dims::new(), dtype, 0.0)?;
    let sum = reduce(&super::convert::convert(a, dtype)?, &zero, &dims, BinaryOp::Add);
    let sum = sum.unwrap_or_else(|| Fault::unsupported(format!("an einsum of {dtype}")))?;
    Ok((sum, letters.chars().filter(is_kept).collect()))
}

/// An einsum of two operands.
pub(crate) fn binary<D: Domain>(
    a: &Array<D>,
    b: &Array<D>,
    config: &str,
    dtype: DType,
) -> Result<Array<D>, Fault> {
    let equation = Equation::new(config, 2)?;
    let (left, right) = (equation.operands[0], equation.operands[1]);
    // Letters that only one operand has are summed first.
    let (a, left) = summed(a, left, &[right, equation.result].concat(), dtype)?;
    let (b, right) = summed(b, right, &[&left, equation.result].concat(), dtype)?;
    let shared: Vec<char> = left.chars().filter(|letter| right.contains(*letter)).collect();
    let (batch, contract): (Vec<char>, Vec<char>) =
        shared.into_iter().partition(|letter| equation.result.contains(*letter));
    let places = |letters: &str, wanted: &[char]| -> Vec<u32> {
        let place = |letter: &char| letters.chars().position(|own| own == *letter).map(|at| at as u32);
        wanted.iter().filter_map(place).collect()
    };
    let (left_batch, left_contract) = (places(&left, &batch), places(&left, &contract));
    let (right_batch, right_contract) = (places(&right, &batch), places(&right, &contract));
    let product = dot_general(
        &a,
        &b,
        &Side { batch: &left_batch, contract: &left_contract },
        &Side { batch: &right_batch, contract: &right_contract },
        dtype,
    )?;
    let is_free = |letter: &char| !batch.contains(letter) && !contract.contains(letter);
    let free = left.chars().filter(is_free).chain(right.chars().filter(is_free));
    let letters: String = batch.iter().copied().chain(free).collect();
    transpose(&product, &order(&letters, equation.result)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Ieee;

    fn numbers(dims: &[usize]) -> Array<Ieee> {
        let count: usize = dims.iter().product();
        let values: Vec<i64> = (0..count as i64).map(|i| i * i % 7 - 2).collect();
        Array::from_integers(Dims::from_slice(dims), DType::I32, &values).unwrap()
    }

    #[test]
    fn letters_are_batched_contracted_and_summed() {
        let (a, b) = (numbers(&[2, 3, 4]), numbers(&[3, 4, 5]));
        let result = binary(&a, &b, "abc,bcd->db", DType::I32).unwrap();
        assert_eq!(result.dims(), [5, 3]);
        let (x, y) = (a.to_integers().unwrap(), b.to_integers().unwrap());
        let want = |d: usize, b: usize| -> i64 {
            (0..2)
                .flat_map(|a| (0..4).map(move |c| (a, c)))
                .map(|(a, c)| x[(a * 3 + b) * 4 + c] * y[(b * 4 + c) * 5 + d])
                .sum()
        };
        let all: Vec<i64> =
            (0..5).flat_map(|d| (0..3).map(move |b| (d, b))).map(|(d, b)| want(d, b)).collect();
        assert_eq!(result.to_integers(), Some(all));
        assert_eq!(unary(&a, "abc->ca", DType::I32).unwrap().dims(), [4, 2]);
        assert!(binary(&a, &b, "aab,bcd->d", DType::I32).is_err());
    }
}
