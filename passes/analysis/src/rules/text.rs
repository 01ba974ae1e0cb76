//! Parses and prints sharding rules, in the notation of Shardy's `#sdy.op_sharding_rule<...>`:
//! `([i, k],[k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}`.

use std::fmt;

use smallvec::SmallVec;

use crate::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};

const KINDS: [(&str, FactorKind); 3] = [
    ("reduction", FactorKind::Reduction),
    ("need_replication", FactorKind::NeedReplication),
    ("permutation", FactorKind::Permutation),
];
const BLOCKED: &str = "blocked_propagation";

/// Writes the symbol of a factor: `i` to `z`, then `z_1`, `z_2`, ...
fn write_symbol(f: &mut fmt::Formatter<'_>, factor: usize) -> fmt::Result {
    match u8::try_from(factor) {
        Ok(n) if n < 18 => write!(f, "{}", char::from(b'i' + n)),
        _ => write!(f, "z_{}", factor - 17),
    }
}

impl fmt::Display for ShardingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tensors(f, &self.operands)?;
        f.write_str("->")?;
        write_tensors(f, &self.results)?;
        if !self.factors.is_empty() {
            f.write_str(" {")?;
            for (i, factor) in self.factors.iter().enumerate() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                write_symbol(f, i)?;
                write!(f, "={}", factor.size)?;
            }
            f.write_str("}")?;
        }
        for (name, kind) in KINDS {
            write_group(f, name, self.factors.iter().map(|x| x.kind == kind))?;
        }
        write_group(f, BLOCKED, self.factors.iter().map(|x| x.blocked))?;
        if self.custom {
            f.write_str(", custom")?;
        }
        Ok(())
    }
}

fn write_tensors(f: &mut fmt::Formatter<'_>, tensors: &[TensorMapping]) -> fmt::Result {
    f.write_str("(")?;
    for (i, tensor) in tensors.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        f.write_str("[")?;
        for (d, factors) in tensor.dims.iter().enumerate() {
            if d > 0 {
                f.write_str(", ")?;
            }
            for &factor in factors {
                write_symbol(f, usize::from(factor))?;
            }
        }
        f.write_str("]")?;
    }
    f.write_str(")")
}

fn write_group(f: &mut fmt::Formatter<'_>, name: &str, members: impl Iterator<Item = bool>) -> fmt::Result {
    let mut first = true;
    for (i, _) in members.enumerate().filter(|(_, m)| *m) {
        if first {
            write!(f, " {name}={{")?;
        } else {
            f.write_str(", ")?;
        }
        first = false;
        write_symbol(f, i)?;
    }
    if first { Ok(()) } else { f.write_str("}") }
}

/// The reason why a text is not a sharding rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sharding rule, at byte {at}: {message}")]
pub struct RuleParseError {
    /// The position in the text, in bytes.
    pub at: usize,
    /// The error at this position.
    pub message: &'static str,
}

/// Parses a rule, with or without `#sdy.op_sharding_rule<` and `>` around it.
///
/// # Errors
/// Returns an error if the text is not a sharding rule.
pub fn parse_rule(text: &str) -> Result<ShardingRule, RuleParseError> {
    let mut reader = Reader { text, at: 0, symbols: Vec::new() };
    let wrapped = reader.eat("#sdy.op_sharding_rule<");
    let operands = reader.tensors()?;
    reader.expect("->", "expected '->'")?;
    let results = reader.tensors()?;
    let mut rule = ShardingRule {
        factors: SmallVec::new(),
        operands: operands.into_iter().collect(),
        results: results.into_iter().collect(),
        custom: false,
    };
    reader.sizes(&mut rule)?;
    loop {
        if let Some((_, kind)) = KINDS.into_iter().find(|(name, _)| reader.eat(name)) {
            for factor in reader.group()? {
                rule.factors[usize::from(factor)].kind = kind;
            }
        } else if reader.eat(BLOCKED) {
            for factor in reader.group()? {
                rule.factors[usize::from(factor)].blocked = true;
            }
        } else if reader.eat(",") {
            reader.expect("custom", "expected 'custom'")?;
            rule.custom = true;
        } else {
            break;
        }
    }
    if wrapped {
        reader.expect(">", "expected '>'")?;
    }
    reader.skip();
    if reader.at == text.len() { Ok(rule) } else { Err(reader.error("expected the end of the rule")) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// For each factor with a size, the index of its symbol.
    symbols: Vec<usize>,
}

impl Reader<'_> {
    fn error(&self, message: &'static str) -> RuleParseError {
        RuleParseError { at: self.at, message }
    }

    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str, message: &'static str) -> Result<(), RuleParseError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(message)) }
    }

    fn number(&mut self) -> Result<i64, RuleParseError> {
        self.skip();
        let rest = &self.text[self.at..];
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..len].parse().map_err(|_| self.error("expected a number"))?;
        self.at += len;
        Ok(number)
    }

    /// Parses a symbol, if one is next, and returns its index.
    fn symbol(&mut self) -> Result<Option<usize>, RuleParseError> {
        self.skip();
        let Some(c @ b'i'..=b'z') = self.text.as_bytes().get(self.at).copied() else { return Ok(None) };
        self.at += 1;
        if c == b'z' && self.text[self.at..].starts_with('_') {
            self.at += 1;
            let more =
                usize::try_from(self.number()?).map_err(|_| self.error("the factor index is too large"))?;
            return more.checked_add(17).map(Some).ok_or_else(|| self.error("the factor index is too large"));
        }
        Ok(Some(usize::from(c - b'i')))
    }

    fn tensors(&mut self) -> Result<Vec<TensorMapping>, RuleParseError> {
        let mut out = Vec::new();
        self.expect("(", "expected '('")?;
        if self.eat(")") {
            return Ok(out);
        }
        loop {
            let mut tensor = TensorMapping::default();
            self.expect("[", "expected '['")?;
            while !self.eat("]") {
                if !tensor.dims.is_empty() {
                    self.expect(",", "expected ',' or ']'")?;
                }
                let mut factors = SmallVec::new();
                while let Some(symbol) = self.symbol()? {
                    factors.push(
                        FactorIndex::try_from(symbol)
                            .map_err(|_| self.error("the factor index is too large"))?,
                    );
                }
                if factors.is_empty() {
                    return Err(self.error("expected a factor"));
                }
                tensor.dims.push(factors);
            }
            out.push(tensor);
            if self.eat(")") {
                return Ok(out);
            }
            self.expect(",", "expected ',' or ')'")?;
        }
    }

    fn sizes(&mut self, rule: &mut ShardingRule) -> Result<(), RuleParseError> {
        if self.eat("{") {
            while !self.eat("}") {
                if !self.symbols.is_empty() {
                    self.expect(",", "expected ',' or '}'")?;
                }
                let symbol = self.symbol()?.ok_or_else(|| self.error("expected a factor"))?;
                // The mappings were parsed earlier and identify factors by symbol index, so the sizes must be in the order of symbols.
                if symbol != self.symbols.len() {
                    return Err(self.error("the sizes of factors must be in the order i, j, k, ..."));
                }
                self.symbols.push(symbol);
                self.expect("=", "expected '='")?;
                let size = self.number()?;
                rule.factors.push(Factor { size, kind: FactorKind::PassThrough, blocked: false });
            }
        }
        // The mappings are checked after the sizes, which follow them in the text: only now `factors` is complete.
        let known = |f: &FactorIndex| usize::from(*f) < rule.factors.len();
        if rule.tensors().flat_map(|t| &t.dims).flatten().all(known) {
            Ok(())
        } else {
            Err(self.error("every factor must have a size"))
        }
    }

    fn group(&mut self) -> Result<Vec<FactorIndex>, RuleParseError> {
        let mut out = Vec::new();
        self.expect("=", "expected '='")?;
        self.expect("{", "expected '{'")?;
        while !self.eat("}") {
            if !out.is_empty() {
                self.expect(",", "expected ',' or '}'")?;
            }
            match self.symbol()? {
                Some(symbol) if symbol < self.symbols.len() => out.push(symbol as FactorIndex),
                _ => return Err(self.error("expected a factor that has a size")),
            }
        }
        Ok(out)
    }
}
