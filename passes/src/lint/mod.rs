//! What a program's annotations probably do not mean: warnings about sharding that is right, but costs memory,
//! communication, or a reader's time.
//!
//! [`LINTS`] is the table of rules. A rule looks at one stage of the program: as it is annotated, as it is propagated,
//! or as it is planned; all rules of a stage share one run (`run`), so that the whole costs about what compilation costs.
//! Only the search for constraints without effect propagates again, a bounded number of times (`redundant`).
//!
//! ## What holds
//!
//! * Nothing is changed: rules read, and what they find is data.
//! * Rules look at what the compiler would do: where it tries two strategies, at the one that it keeps.
//! * Findings are in order of the table, within a rule the most bytes first; the same program gives the same findings.
//! * Whatever was not looked at, since it was too much or could not be planned, is told in [`LintReport::notes`].

mod aliases;
mod annotations;
mod axes;
mod groups;
mod parameters;
mod redundant;
mod reshards;
mod run;
mod subject;
mod uneven;
mod unintended;
mod values;

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Diagnostic, Severity};

use crate::plan::Plan;
use subject::Subject;

pub use run::lint;
pub use unintended::not_meant;

/// A rule.
#[derive(Debug)]
pub struct Lint {
    /// Its name, which [`LintOptions::with_levels`] takes.
    pub name: &'static str,
    /// The code of its diagnostics.
    pub code: &'static str,
    /// What it warns of, in one line.
    pub about: &'static str,
    check: Check,
}

/// The stage of the program that a rule looks at, and how it does. Code and severity of what it gives are filled in by who
/// runs it; its bytes are those held, sent or padded on a device.
#[derive(Clone, Copy, Debug)]
enum Check {
    /// Sees the program as annotated, with calls inlined.
    Annotated(fn(&Subject<'_>) -> Vec<Diagnostic>),
    /// Sees the program as propagated, with a sharding on every value.
    Propagated(fn(&Subject<'_>) -> Vec<Diagnostic>),
    /// Sees the program as planned, with explicit reshards, and what planning has to tell.
    Planned(fn(&Subject<'_>, &Plan) -> Vec<Diagnostic>),
    /// Sees the program as annotated; besides, constraints without effect are searched for (`redundant`).
    Redundancy(fn(&Subject<'_>) -> Vec<Diagnostic>),
}

/// Every rule, in the order in which findings are given.
pub const LINTS: &[Lint] = &[
    Lint {
        name: "large-unsharded-parameter",
        code: "SH0901",
        about: "an argument of many bytes is whole on every device, and an axis could split it",
        check: Check::Propagated(parameters::unsharded),
    },
    Lint {
        name: "unused-mesh-axis",
        code: "SH0902",
        about: "an axis of the mesh splits nothing: its devices all do the same",
        check: Check::Propagated(axes::unused),
    },
    Lint {
        name: "nothing-split",
        code: "SH0911",
        about: "no annotation splits anything: every device does the whole program",
        check: Check::Annotated(axes::nothing_split),
    },
    Lint {
        name: "annotation-without-effect",
        code: "SH0903",
        about: "a sharding splits a dimension of size one, or a constraint changes no sharding of the program",
        check: Check::Redundancy(annotations::of_size_one),
    },
    Lint {
        name: "contradicting-group",
        code: "SH0904",
        about: "two values of one sharding group are annotated with shardings that contradict",
        check: Check::Annotated(groups::contradicting),
    },
    Lint {
        name: "aliased-pair-disagrees",
        code: "SH0905",
        about: "a donated argument and the result that takes its memory are sharded differently",
        check: Check::Propagated(aliases::disagreeing),
    },
    Lint {
        name: "uneven-parameter",
        code: "SH0906",
        about: "a split dimension of an argument or result does not divide: who feeds the program must pad",
        check: Check::Propagated(uneven::parameters),
    },
    Lint {
        name: "more-parts-than-elements",
        code: "SH0912",
        about: "an annotation splits a dimension into more parts than it has elements: some devices have padding only",
        check: Check::Annotated(uneven::more_parts_than_elements),
    },
    Lint {
        name: "uneven-split",
        code: "SH0907",
        about: "a split dimension inside the program does not divide, and the padding takes many bytes",
        check: Check::Propagated(uneven::values),
    },
    Lint {
        name: "constraint-reshards",
        code: "SH0908",
        about: "a sharding constraint forces data to move between devices",
        check: Check::Planned(reshards::by_constraints),
    },
    Lint {
        name: "sharded-value-replicated",
        code: "SH0909",
        about: "a value that is split is gathered whole on every device, though no annotation asks for it",
        check: Check::Planned(reshards::to_whole),
    },
    Lint {
        name: "gather-for-operation",
        code: "SH0310",
        about: "an operation cannot be done on parts of a dimension that is split, so that it is gathered",
        check: Check::Planned(reshards::for_operations),
    },
    Lint {
        name: "large-replicated-value",
        code: "SH0910",
        about: "a value of many bytes inside the program is whole on every device",
        check: Check::Propagated(values::replicated),
    },
    Lint {
        name: "everything-replicated",
        code: "SH0913",
        about: "arguments are split, but every operation is done whole on every device",
        check: Check::Planned(values::everything),
    },
];

/// The rule with this name or code.
#[must_use]
pub fn find(name: &str) -> Option<&'static Lint> {
    LINTS.iter().find(|lint| lint.name == name || lint.code == name)
}

/// What becomes of the findings of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing: the rule is not run.
    Allow,
    /// They are warnings.
    #[default]
    Warn,
    /// They are errors.
    Deny,
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct LintOptions {
    /// What is smaller than this is not worth a warning, where a rule is about bytes.
    pub min_bytes: u64,
    /// How many findings of one rule are told apart; the rest is counted.
    pub max_per_rule: usize,
    /// How often propagation is run again, at most, to find constraints without effect.
    pub max_trials: usize,
    levels: [Level; LINTS.len()],
}

impl Default for LintOptions {
    fn default() -> Self {
        LintOptions {
            min_bytes: 1 << 20,
            max_per_rule: 20,
            max_trials: 8,
            levels: [Level::Warn; LINTS.len()],
        }
    }
}

impl LintOptions {
    /// Changes the levels of rules, by name or code: let be, or made errors. `all` stands for all rules; the name of a rule counts
    /// more than `all`.
    ///
    /// # Errors
    /// A name that no rule has, or one that is in both lists (`SH0900`).
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
                    return Err(Diagnostic::invalid("SH0900", message).hint("leave out one of the two"));
                }
                (named[at], self.levels[at]) = (true, level);
            }
        }
        Ok(self)
    }

    /// What becomes of the findings of a rule.
    #[must_use]
    pub fn level(&self, lint: &Lint) -> Level {
        let at = LINTS.iter().position(|other| other.code == lint.code);
        at.map_or(Level::Warn, |at| self.levels[at])
    }
}

fn unknown(name: &str) -> Diagnostic {
    let names: Vec<&str> = LINTS.iter().map(|lint| lint.name).collect();
    Diagnostic::invalid("SH0900", format!("no rule is called {name}")).hint(unknown_name_hint(
        name,
        "the rules",
        &names,
    ))
}

/// One thing that a rule found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub lint: &'static Lint,
    /// What it has to say; an error where the rule is denied.
    pub diagnostic: Diagnostic,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct LintReport {
    /// The findings, in order of the rules.
    pub findings: Vec<Finding>,
    /// What was not looked at, and what was left out: one sentence each.
    pub notes: Vec<String>,
    /// What reading the annotations already warned of; the caller's, since it comes before any rule.
    pub warnings: Vec<Diagnostic>,
}

impl LintReport {
    /// Whether a rule that is denied found something.
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
    fn names_count_more_than_all() {
        let level = |options: &LintOptions, name: &str| find(name).map(|lint| options.level(lint));
        let options = LintOptions::default().with_levels(&["uneven-split"], &["all"]).unwrap();
        assert_eq!(level(&options, "uneven-split"), Some(Level::Allow));
        assert_eq!(level(&options, "SH0902"), Some(Level::Deny));
        let options = LintOptions::default().with_levels(&["all"], &["SH0902"]).unwrap();
        assert_eq!(level(&options, "uneven-split"), Some(Level::Allow));
        assert_eq!(level(&options, "unused-mesh-axis"), Some(Level::Deny));
    }

    #[test]
    fn names_that_no_rule_has_are_refused() {
        let error = LintOptions::default().with_levels(&[], &["uneven"]).unwrap_err();
        assert_eq!(error.code, "SH0900");
        assert!(error.hint.is_some_and(|hint| hint.contains("uneven-split")));
        assert!(LintOptions::default().with_levels(&["SH0902"], &["unused-mesh-axis"]).is_err());
    }
}
