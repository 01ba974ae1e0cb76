//! Expressions of symbolic dimensions in JAX's syntax: `2*b`, `b + 1`, `floordiv(b, 2)`.

use std::collections::{BTreeMap, BTreeSet};

/// The maximum nesting depth of an expression.
const MAX_DEPTH: u32 = 64;

/// The size of a dimension in terms of dimension variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A constant number of elements.
    Number(i64),
    /// A dimension variable.
    Variable(String),
    /// A function of other expressions.
    Apply(Function, Vec<Expression>),
}

/// A function of dimension expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The sum of all arguments.
    Add,
    /// The first argument minus the second.
    Subtract,
    /// The product of all arguments.
    Multiply,
    /// The quotient, rounded towards minus infinity.
    FloorDivide,
    /// The remainder of [`Function::FloorDivide`]; it has the sign of the divisor.
    Modulo,
    /// The greatest argument.
    Maximum,
    /// The least argument.
    Minimum,
    /// The first argument to the power of the second.
    Power,
}

impl Expression {
    /// Parses an expression. Returns `None` if the text is not an expression.
    #[must_use]
    pub fn parse(text: &str) -> Option<Expression> {
        let mut reader = Reader { rest: text.trim_start(), depth: 0 };
        let expression = reader.sum()?;
        reader.rest.is_empty().then_some(expression)
    }

    /// Returns the value of the expression if variables have the sizes `sizes`. Returns `None` if a variable has no size, or if the
    /// arithmetic overflows or divides by zero.
    #[must_use]
    pub fn evaluate(&self, sizes: &BTreeMap<String, i64>) -> Option<i64> {
        let (function, arguments) = match self {
            Expression::Number(n) => return Some(*n),
            Expression::Variable(name) => return sizes.get(name).copied(),
            Expression::Apply(function, arguments) => (function, arguments),
        };
        let values = arguments.iter().map(|argument| argument.evaluate(sizes)).collect::<Option<Vec<_>>>()?;
        let &first = values.first()?;
        values.iter().skip(1).try_fold(first, |a, &b| match function {
            Function::Add => a.checked_add(b),
            Function::Subtract => a.checked_sub(b),
            Function::Multiply => a.checked_mul(b),
            Function::FloorDivide => a.checked_sub(modulo(a, b)?)?.checked_div(b),
            Function::Modulo => modulo(a, b),
            Function::Maximum => Some(a.max(b)),
            Function::Minimum => Some(a.min(b)),
            Function::Power => a.checked_pow(u32::try_from(b).ok()?),
        })
    }

    /// Adds the names of the variables in the expression to `names`.
    pub fn variables(&self, names: &mut BTreeSet<String>) {
        match self {
            Expression::Number(_) => {}
            Expression::Variable(name) => {
                names.insert(name.clone());
            }
            Expression::Apply(_, arguments) => {
                arguments.iter().for_each(|argument| argument.variables(names));
            }
        }
    }

    /// Solves `expression = value` for its only variable without a size in `sizes`; returns the name and the size of the variable. Returns
    /// `None` if several variables have no size, or the expression is not linear in this variable.
    #[must_use]
    pub fn solve(&self, value: i64, sizes: &BTreeMap<String, i64>) -> Option<(String, i64)> {
        let mut names = BTreeSet::new();
        self.variables(&mut names);
        let mut unknown = names.into_iter().filter(|name| !sizes.contains_key(name));
        let (name, None) = (unknown.next()?, unknown.next()) else { return None };
        let mut sizes = sizes.clone();
        let mut at = |n: i64| {
            sizes.insert(name.clone(), n);
            self.evaluate(&sizes)
        };
        let (one, two) = (at(1)?, at(2)?);
        let slope = two.checked_sub(one)?;
        let n = value.checked_sub(one)?.checked_div(slope)?.checked_add(1)?;
        (at(n) == Some(value)).then_some((name, n))
    }
}

fn modulo(a: i64, b: i64) -> Option<i64> {
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}

/// A recursive-descent parser.
struct Reader<'a> {
    rest: &'a str,
    depth: u32,
}

impl Reader<'_> {
    fn take(&mut self, token: char) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn word(&mut self, accepts: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !accepts(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word.to_owned()
    }

    fn sum(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut left = self.product()?;
        loop {
            let function = if self.take('+') {
                Function::Add
            } else if self.take('-') {
                Function::Subtract
            } else {
                break;
            };
            left = Expression::Apply(function, vec![left, self.product()?]);
        }
        self.depth -= 1;
        Some(left)
    }

    fn product(&mut self) -> Option<Expression> {
        let mut left = self.factor()?;
        while self.take('*') {
            left = Expression::Apply(Function::Multiply, vec![left, self.factor()?]);
        }
        Some(left)
    }

    fn factor(&mut self) -> Option<Expression> {
        if self.take('-') {
            let minus_one = Expression::Number(-1);
            return Some(Expression::Apply(Function::Multiply, vec![minus_one, self.power()?]));
        }
        self.power()
    }

    fn power(&mut self) -> Option<Expression> {
        let base = self.atom()?;
        match self.take('^') {
            true => Some(Expression::Apply(Function::Power, vec![base, self.atom()?])),
            false => Some(base),
        }
    }

    fn atom(&mut self) -> Option<Expression> {
        if self.take('(') {
            let inner = self.sum()?;
            return self.take(')').then_some(inner);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.word(|c| c.is_ascii_digit()).parse().ok().map(Expression::Number);
        }
        let name = self.word(|c| c.is_alphanumeric() || c == '_');
        if name.is_empty() {
            return None;
        }
        if !self.take('(') {
            return Some(Expression::Variable(name));
        }
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        let (function, count) = match name.as_str() {
            "floordiv" => (Function::FloorDivide, 2),
            "mod" => (Function::Modulo, 2),
            "max" => (Function::Maximum, arguments.len()),
            "min" => (Function::Minimum, arguments.len()),
            _ => return None,
        };
        (self.take(')') && arguments.len() == count).then_some(Expression::Apply(function, arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(of: &[(&str, i64)]) -> BTreeMap<String, i64> {
        of.iter().map(|&(name, n)| (name.to_owned(), n)).collect()
    }

    #[test]
    fn expressions_are_evaluated_as_jax_does() {
        let sizes = sizes(&[("b", 7), ("n_1", 3)]);
        let cases = [
            ("b", 7),
            ("2*b + 1", 15),
            ("b - n_1 - 1", 3),
            ("-1*b + 10", 3),
            ("- b + 10", 3),
            ("floordiv(b, 2)", 3),
            ("floordiv(- b, 2)", -4),
            ("mod(- b, n_1)", 2),
            ("max(b, n_1, 9)", 9),
            ("b^2*n_1", 147),
            ("4*floordiv(b + 1, 4)", 8),
            ("2 * (b + n_1)", 20),
        ];
        for (text, value) in cases {
            assert_eq!(Expression::parse(text).unwrap().evaluate(&sizes), Some(value), "{text}");
        }
        for text in ["", "b +", "f(b)", "floordiv(b)", "(b", "b)", "mod(b, 0)", "99999999999*99999999999"] {
            assert_eq!(Expression::parse(text).and_then(|e| e.evaluate(&sizes)), None, "{text}");
        }
        assert_eq!(Expression::parse(&"(".repeat(100_000)), None);
    }

    #[test]
    fn linear_expressions_are_solved() {
        let known = sizes(&[("k", 2)]);
        let solve = |text: &str, n| Expression::parse(text).unwrap().solve(n, &known);
        assert_eq!(solve("2*b", 64), Some(("b".to_owned(), 32)));
        assert_eq!(solve("k*b + 1", 9), Some(("b".to_owned(), 4)));
        assert_eq!(solve("2*b", 7), None);
        assert_eq!(solve("b*c", 8), None);
        assert_eq!(solve("5", 5), None);
    }
}
