//! Lints of a program's annotations: warnings about sharding that is correct, but costs memory or communication, or is hard to read.
//!
//! [`LINTS`] is the table of rules. A rule checks one stage of the program: annotated, propagated or planned. All rules of a stage share
//! one run of the passes (`run`), so linting costs about as much as compiling. Only the search for constraints without effect propagates
//! again, a bounded number of times (`redundant`).
//!
//! ## Guarantees
//!
//! * Rules do not change the program; findings are data.
//! * Rules check the program that the compiler would produce, under the propagation strategy that it would choose.
//! * Findings are in the order of the table, and by decreasing bytes within a rule. They are deterministic.
//! * [`LintReport::notes`] lists everything that was not checked because of a limit or a planning error.

mod aliases;
mod annotations;
mod axes;
mod groups;
mod parameters;
mod redundant;
mod replicas;
mod reshards;
mod run;
mod subject;
mod uneven;
mod unintended;
mod values;

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Diagnostic, Severity};

use crate::cost::CostModel;
use crate::plan::Plan;
use subject::Subject;

pub use run::lint;
pub use unintended::not_meant;

/// A lint rule.
#[derive(Debug)]
pub struct Lint {
    /// The name of the rule, by which [`LintOptions::with_levels`] refers to it.
    pub name: &'static str,
    /// The code of its diagnostics.
    pub code: &'static str,
    /// A one-line description of the findings.
    pub about: &'static str,
    check: Check,
}

/// The function that checks a rule. The variant determines the stage of compilation at which the function takes the program. The caller
/// fills in the code and severity of the returned diagnostics. Their byte counts are bytes that one device holds, sends or uses for
/// padding.
#[derive(Clone, Copy, Debug)]
enum Check {
    /// Checks the program as annotated, with calls inlined.
    Annotated(fn(&Subject<'_>) -> Vec<Diagnostic>),
    /// Checks the program as propagated, with a sharding on every value.
    Propagated(fn(&Subject<'_>) -> Vec<Diagnostic>),
    /// Checks the program as planned, with explicit reshards and the warnings of planning.
    Planned(fn(&Subject<'_>, &Plan) -> Vec<Diagnostic>),
    /// Checks the program as annotated, and searches for constraints without effect (`redundant`).
    Redundancy(fn(&Subject<'_>) -> Vec<Diagnostic>),
}

/// All rules, in the order in which their findings are reported.
pub const LINTS: &[Lint] = &[
    Lint {
        name: "large-unsharded-parameter",
        code: "SH0901",
        about: "a large argument is replicated on every device, although an axis could shard it",
        check: Check::Propagated(parameters::unsharded),
    },
    Lint {
        name: "unused-mesh-axis",
        code: "SH0902",
        about: "an axis of the mesh shards nothing: its devices all do the same work",
        check: Check::Propagated(axes::unused),
    },
    Lint {
        name: "nothing-split",
        code: "SH0911",
        about: "no annotation shards anything: every device computes the entire program",
        check: Check::Annotated(axes::nothing_split),
    },
    Lint {
        name: "annotation-without-effect",
        code: "SH0903",
        about: "a sharding shards a dimension of size one, or a constraint changes no sharding of the program",
        check: Check::Redundancy(annotations::of_size_one),
    },
    Lint {
        name: "contradicting-group",
        code: "SH0904",
        about: "two values of one sharding group have contradicting annotations",
        check: Check::Annotated(groups::contradicting),
    },
    Lint {
        name: "aliased-pair-disagrees",
        code: "SH0905",
        about: "a donated argument and the result that reuses its memory are sharded differently",
        check: Check::Propagated(aliases::disagreeing),
    },
    Lint {
        name: "uneven-parameter",
        code: "SH0906",
        about: "axes do not divide a dimension of an argument or result: the caller must pad",
        check: Check::Propagated(uneven::parameters),
    },
    Lint {
        name: "more-parts-than-elements",
        code: "SH0912",
        about: "an annotation shards a dimension into more blocks than it has elements: some devices hold only padding",
        check: Check::Annotated(uneven::more_parts_than_elements),
    },
    Lint {
        name: "uneven-split",
        code: "SH0907",
        about: "axes do not divide a dimension inside the program, and the padding takes many bytes",
        check: Check::Propagated(uneven::values),
    },
    Lint {
        name: "constraint-reshards",
        code: "SH0908",
        about: "a sharding constraint forces communication",
        check: Check::Planned(reshards::by_constraints),
    },
    Lint {
        name: "sharded-value-replicated",
        code: "SH0909",
        about: "a sharded value is all-gathered on every device, although no annotation requests it",
        check: Check::Planned(reshards::to_whole),
    },
    Lint {
        name: "gather-for-operation",
        code: "SH0310",
        about: "an operation cannot be partitioned along a sharded dimension, which is all-gathered",
        check: Check::Planned(reshards::for_operations),
    },
    Lint {
        name: "large-replicated-value",
        code: "SH0910",
        about: "a large value inside the program is replicated on every device",
        check: Check::Propagated(values::replicated),
    },
    Lint {
        name: "everything-replicated",
        code: "SH0913",
        about: "arguments are sharded, but every operation is computed on replicated values",
        check: Check::Planned(values::everything),
    },
    Lint {
        name: "several-replicas",
        code: "SH0914",
        about: "the program is for several replicas, as after partitioning",
        check: Check::Annotated(replicas::several),
    },
];

/// Returns the rule with the name or code `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Lint> {
    LINTS.iter().find(|lint| lint.name == name || lint.code == name)
}

/// The level of a rule, which determines whether its findings are reported and whether they are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The rule does not run.
    Allow,
    /// Findings are warnings.
    #[default]
    Warn,
    /// Findings are errors.
    Deny,
}

/// Options of a lint run.
#[derive(Clone, Debug)]
pub struct LintOptions {
    /// The minimum number of bytes of a finding, for rules about bytes; findings about fewer bytes are dropped.
    pub min_bytes: u64,
    /// The maximum number of listed findings of a rule; further findings are only counted.
    pub max_per_rule: usize,
    /// The maximum number of additional propagation runs in the search for constraints without effect.
    pub max_trials: usize,
    /// The rates of the machine, by which planning compares alternatives. The facade sets them to those of its compiler.
    pub costs: CostModel,
    levels: [Level; LINTS.len()],
}

impl Default for LintOptions {
    fn default() -> Self {
        LintOptions {
            min_bytes: 1 << 20,
            max_per_rule: 20,
            max_trials: 8,
            costs: CostModel::default(),
            levels: [Level::Warn; LINTS.len()],
        }
    }
}

impl LintOptions {
    /// Sets the levels of rules: `allow` and `deny` list names or codes of rules. `all` means all rules; a rule that is also listed by name
    /// has the level of that list.
    ///
    /// # Errors
    /// Returns `SH0900` if a name is unknown or in both lists.
    pub fn with_levels<S: AsRef<str>>(mut self, allow: &[S], deny: &[S]) -> Result<Self, Diagnostic> {
        let mut named = [false; LINTS.len()];
        for (names, level) in [(allow, Level::Allow), (deny, Level::Deny)] {
            for name in names.iter().map(S::as_ref) {
                if name == "all" {
                    let unnamed = self.levels.iter_mut().zip(&named).filter(|(_, named)| !**named);
                    unnamed.for_each(|(old, _)| *old = level);
                    continue;
                }
                let Some(at) = LINTS.iter().position(|lint| lint.name == name || lint.code == name) else {
                    return Err(unknown(name));
                };
                if named[at] && self.levels[at] != level {
                    let message = format!("the rule {name} is both allowed and denied");
                    return Err(Diagnostic::invalid("SH0900", message).hint("remove one of the two"));
                }
                (named[at], self.levels[at]) = (true, level);
            }
        }
        Ok(self)
    }

    /// Returns the level of a rule.
    #[must_use]
    pub fn level(&self, lint: &Lint) -> Level {
        let at = LINTS.iter().position(|other| other.code == lint.code);
        at.map_or(Level::Warn, |at| self.levels[at])
    }
}

fn unknown(name: &str) -> Diagnostic {
    let names: Vec<&str> = LINTS.iter().map(|lint| lint.name).collect();
    Diagnostic::invalid("SH0900", format!("unknown rule {name}")).hint(unknown_name_hint(
        name,
        "the rules",
        &names,
    ))
}

/// A finding of a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that reports the finding.
    pub lint: &'static Lint,
    /// The diagnostic. It is an error if the rule is denied.
    pub diagnostic: Diagnostic,
}

/// The result of a lint run.
#[derive(Clone, Debug, Default)]
pub struct LintReport {
    /// The findings, in the order of the rules in [`LINTS`].
    pub findings: Vec<Finding>,
    /// Checks that did not run and findings that are not listed, one sentence each.
    pub notes: Vec<String>,
    /// Warnings of the import, which the caller adds, since the import precedes all rules.
    pub warnings: Vec<Diagnostic>,
}

impl LintReport {
    /// Whether a denied rule has findings.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.diagnostic.severity == Severity::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique() {
        for (i, lint) in LINTS.iter().enumerate() {
            assert!(LINTS[..i].iter().all(|other| other.code != lint.code && other.name != lint.name));
            assert!(find(lint.name).is_some_and(|found| found.code == lint.code));
            assert!(find(lint.code).is_some_and(|found| found.name == lint.name));
        }
    }

    #[test]
    fn rule_names_override_all() {
        let level = |options: &LintOptions, name: &str| find(name).map(|lint| options.level(lint));
        let options = LintOptions::default().with_levels(&["uneven-split"], &["all"]).unwrap();
        assert_eq!(level(&options, "uneven-split"), Some(Level::Allow));
        assert_eq!(level(&options, "SH0902"), Some(Level::Deny));
        let options = LintOptions::default().with_levels(&["all"], &["SH0902"]).unwrap();
        assert_eq!(level(&options, "uneven-split"), Some(Level::Allow));
        assert_eq!(level(&options, "unused-mesh-axis"), Some(Level::Deny));
    }

    #[test]
    fn unknown_rule_names_are_rejected() {
        let error = LintOptions::default().with_levels(&[], &["uneven"]).unwrap_err();
        assert_eq!(error.code, "SH0900");
        assert!(error.hint.is_some_and(|hint| hint.contains("uneven-split")));
        assert!(LintOptions::default().with_levels(&["SH0902"], &["unused-mesh-axis"]).is_err());
    }
}
