//! How the partitioner handles each operation when one of its factors is sharded.
//!
//! The table is measured, not written by hand: a small program for each operation is planned and localized for each factor of its sharding
//! rule. A factor is like an einsum label; see [`ShardingRule`]. The factor is sharded over two devices, which divide it evenly, and over
//! three, which do not. The planned and the localized program show how the operation was partitioned.

mod derivative;
mod observe;
mod probes;

use std::fmt;

use shardc_ir::{Module, OpId};
use shardc_passes::rules::rule_of;
use shardc_passes::rules::sharding_rule::{FactorKind, ShardingRule};

pub use self::derivative::Differentiated;
use self::observe::{Split, observe};
use self::probes::{PROBES, Probe, stands_for};

/// How one operation is partitioned and differentiated.
#[derive(Clone, Debug)]
pub struct OpCoverage {
    /// The name, with dialect.
    pub op: &'static str,
    /// Operations that are partitioned in the same way, including `op` itself; empty if there are no others.
    pub same: Vec<&'static str>,
    /// The variant of the operation in this row; empty for the usual form.
    pub form: &'static str,
    /// The operands and results of the operation, with a letter for each factor: `[i,k],[k,j] -> [i,j]`.
    pub dims: String,
    /// One entry for each factor.
    pub factors: Vec<FactorCoverage>,
    /// How `op`, and each operation that is partitioned in the same way, is differentiated.
    pub derivatives: Vec<(&'static str, Differentiated)>,
}

/// How an operation is partitioned if one factor is sharded.
#[derive(Clone, Debug)]
pub struct FactorCoverage {
    /// The letter in [`OpCoverage::dims`].
    pub letter: String,
    /// The kind of the factor in the sharding rule, such as `reduction`.
    pub role: &'static str,
    /// The partitioning if the number of devices divides the factor.
    pub even: How,
    /// The partitioning if the number of devices does not divide the factor.
    pub uneven: How,
}

/// How devices compute an operation together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Each device computes only a shard of the operation, not the entire operation.
    pub in_parts: bool,
    /// The operands are first resharded: other dimensions are sharded instead of the requested one.
    pub moved: bool,
    /// Devices receive the borders of neighboring shards (halo exchange).
    pub halo: bool,
    /// Devices mask padding, or elements of other shards.
    pub masked: bool,
    /// Devices combine their results with a collective.
    pub collective: bool,
    /// The code of the error, if partitioning fails.
    pub refused: Option<&'static str>,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.refused {
            return write!(f, "unsupported ({code})");
        }
        if !self.in_parts {
            return f.write_str("replicated");
        }
        let words = [
            (self.moved, "resharded"),
            (self.halo, "halo"),
            (self.masked, "masked"),
            (self.collective, "collective"),
        ];
        let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
        if words.is_empty() { f.write_str("local") } else { f.write_str(&words.join(" + ")) }
    }
}

impl OpCoverage {
    /// How the operations of the row are differentiated, as text: the most common outcome, then the operations with a different outcome.
    #[must_use]
    pub fn derivative(&self) -> String {
        let mut kinds: Vec<Differentiated> = self.derivatives.iter().map(|(_, of)| *of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let names = |kind: Differentiated| {
            let of_kind = self.derivatives.iter().filter(move |(_, of)| *of == kind);
            of_kind.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>()
        };
        let Some(&most) = kinds.iter().max_by_key(|&&kind| names(kind).len()) else { return String::new() };
        let others = kinds.iter().filter(|&&kind| kind != most);
        let others = others.map(|&kind| format!("; {}: {kind}", names(kind).join(", ")));
        format!("{most}{}", others.collect::<String>())
    }
}

/// The coverage of every operation, in the order of their names.
///
/// ```
/// let table = shardc::coverage::coverage();
/// let product = table.iter().find(|row| row.op == "stablehlo.dot_general").expect("a row");
/// assert_eq!(product.dims, "[i,j,l],[i,l,k] -> [i,j,k]");
/// let last = product.factors.last().expect("a factor");
/// assert_eq!((last.role, last.even.to_string().as_str()), ("reduction", "collective"));
/// assert_eq!(last.uneven.to_string(), "masked + collective");
/// ```
#[must_use]
pub fn coverage() -> Vec<OpCoverage> {
    let mut rows: Vec<OpCoverage> = PROBES.iter().filter_map(of_probe).collect();
    rows.sort_by_key(|row| (row.op, row.form));
    rows
}

/// The table as Markdown.
#[must_use]
pub fn markdown(rows: &[OpCoverage]) -> String {
    let mut out = String::from(HEAD);
    for row in rows {
        let others: Vec<String> =
            row.same.iter().filter(|&&name| name != row.op).map(|name| format!("`{name}`")).collect();
        let also = match others.len() {
            0 => String::new(),
            1 | 2 => format!(", {}", others.join(", ")),
            n => format!(" and {n} more elementwise operations"),
        };
        let form = if row.form.is_empty() { String::new() } else { format!(", {}", row.form) };
        let mut first = format!("`{}`{also}{form} | `{}` | {}", row.op, row.dims, row.derivative());
        for factor in &row.factors {
            let FactorCoverage { letter, role, even, uneven } = factor;
            out.push_str(&format!("| {first} | {letter} | {role} | {even} | {uneven} |\n"));
            first = " |  | ".to_owned();
        }
        if row.factors.is_empty() {
            out.push_str(&format!("| {first} | | no factor | | |\n"));
        }
    }
    out
}

const HEAD: &str = "\
# Sharding support by operation

`shardc ops --markdown` writes this page; a test keeps it current. Each row is observed: a small program with the operation is
partitioned with one factor sharded.

* **local**: each device computes its shard without communication.
* **halo**: devices exchange shard borders (collective-permute).
* **masked**: each device masks padding, or elements of other devices.
* **collective**: devices combine partial results (all-reduce, reduce-scatter, all-gather).
* **resharded**: the sharding moves to another dimension first (all-to-all).
* **replicated**: every device computes the whole operation. shardc warns of the all-gather (`SH0310`); `--strict` makes it an error.
* **unsupported**: an error with this code.

The derivative is with respect to all differentiable operands, as `shardc grad` and `shardc jvp` compute it for the same program:
**yes**, **zero** (a step function, or an operation that only observes a value), **none** (integers, booleans, tokens),
**forward only**, **for some operands**, or **unsupported** with the code of the error.

Letters are factors, in the order of the operation's sharding rule. A dimension of size one is `1`.

| operation | operands -> results | derivative | factor | role | even | uneven |
|---|---|---|---|---|---|---|
";

fn of_probe(probe: &'static Probe) -> Option<OpCoverage> {
    let module = shardc_stablehlo::parse(probe.program).ok()?;
    let op = find(&module, probe.op)?;
    let rule = rule_of(&module, op);
    let splits = match &rule {
        Some(rule) => by_factor(rule),
        None => by_dimension(&module, op),
    };
    let factors = splits
        .into_iter()
        .map(|split| FactorCoverage {
            even: observe(&module, op, &split, 2),
            uneven: observe(&module, op, &split, 3),
            letter: split.letter,
            role: split.role,
        })
        .collect();
    let same = stands_for(probe.op);
    let (dims, derivatives) = (dims(&module, op, rule.as_ref()), derivative::derivatives(probe));
    Some(OpCoverage { op: probe.op, same, form: probe.form, dims, factors, derivatives })
}

fn find(module: &Module, name: &str) -> Option<OpId> {
    module.bodies().flat_map(|body| module.walk(body)).find(|&op| module.ops[op].kind.name() == name)
}

/// The label of a factor or dimension.
fn letter(i: usize) -> String {
    let letters = b"ijklmnopqrstuvwxyz";
    match letters.get(i) {
        Some(&letter) => char::from(letter).to_string(),
        None => format!("z{}", i - letters.len()),
    }
}

/// Returns a [`Split`] for each factor that is the major factor of some dimension.
fn by_factor(rule: &ShardingRule) -> Vec<Split> {
    let places =
        |mappings: &[shardc_passes::rules::sharding_rule::TensorMapping], f: usize| -> Vec<(usize, usize)> {
            let dims =
                mappings.iter().enumerate().flat_map(|(t, m)| m.dims.iter().enumerate().map(move |d| (t, d)));
            dims.filter(|(_, (_, factors))| factors.first().is_some_and(|&first| usize::from(first) == f))
                .map(|(t, (d, _))| (t, d))
                .collect()
        };
    (0..rule.factors.len())
        .filter(|&f| rule.factors[f].size > 1)
        .map(|f| Split {
            letter: letter(f),
            role: match rule.factors[f].kind {
                FactorKind::PassThrough => "pass-through",
                FactorKind::Reduction => "reduction",
                FactorKind::NeedReplication => "need-replication",
                FactorKind::Permutation => "permutation",
            },
            operands: places(&rule.operands, f),
            results: places(&rule.results, f),
        })
        .filter(|split| !split.operands.is_empty() || !split.results.is_empty())
        .collect()
}

/// For an operation without a rule, returns a [`Split`] for each dimension of the last operand or result of highest rank. The split
/// includes the same dimension of all tensors of that shape.
fn by_dimension(module: &Module, op: OpId) -> Vec<Split> {
    let data = &module.ops[op];
    let shapes =
        |values: &[shardc_ir::ValueId]| values.iter().map(|&v| module.shape(v).to_vec()).collect::<Vec<_>>();
    let (operands, results) = (shapes(&data.operands), shapes(&data.results));
    let all = operands.iter().chain(&results);
    let Some(first) = all.max_by_key(|shape| shape.len()).cloned() else { return Vec::new() };
    (0..first.len())
        .filter(|&d| first[d] > 1)
        .map(|d| {
            let places = |shapes: &[Vec<i64>]| {
                shapes.iter().enumerate().filter(|(_, s)| **s == first).map(|(t, _)| (t, d)).collect()
            };
            Split { letter: letter(d), role: "-", operands: places(&operands), results: places(&results) }
        })
        .collect()
}

/// Operands and results as lists of dimension labels.
fn dims(module: &Module, op: OpId, rule: Option<&ShardingRule>) -> String {
    let data = &module.ops[op];
    let tensor = |i: usize, is_result: bool| {
        let value = if is_result { data.results[i] } else { data.operands[i] };
        let mapping =
            rule.and_then(|rule| if is_result { rule.results.get(i) } else { rule.operands.get(i) });
        let dim = |d: usize, size: i64| match mapping.and_then(|m| m.dims.get(d)) {
            _ if size == 1 => "1".to_owned(),
            Some(factors) => factors.iter().map(|&f| letter(usize::from(f))).collect::<Vec<_>>().join("*"),
            None => letter(d),
        };
        let dims: Vec<String> = module.shape(value).iter().enumerate().map(|(d, &n)| dim(d, n)).collect();
        format!("[{}]", dims.join(","))
    };
    let list = |n: usize, is_result: bool| (0..n).map(|i| tensor(i, is_result)).collect::<Vec<_>>().join(",");
    format!("{} -> {}", list(data.operands.len(), false), list(data.results.len(), true))
}

#[cfg(test)]
mod tests;
