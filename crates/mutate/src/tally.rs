//! Counts of trials.

use std::collections::BTreeMap;
use std::fmt;

use shardc_prove::Verdict;

use crate::trial::{Class, Found, Trial};

/// The trials of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All trials.
    pub trials: usize,
    /// Mutated programs that were not run, so that it is unknown whether a value changed.
    pub not_run: usize,
    /// Mutated programs with other results.
    pub changed: usize,
    /// Verdicts of those that count: damaged programs with other results, or rewritten programs.
    pub refuted: usize,
    /// Not decided.
    pub not_decided: usize,
    /// Not proven, but equal in the test.
    pub tested: usize,
    /// Proven.
    pub proven: usize,
    /// Reports with the damaged operation in the first lines.
    pub exact: usize,
    /// Reports with a direct user or producer of it in the first lines.
    pub near: usize,
    /// Reports with the damaged operation in later lines.
    pub later: usize,
}

/// Counts by class.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Class, Counts>,
}

impl Trial {
    /// Whether the prover was wrong: it proved a program with other results, or refuted one with the same results.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        match self.changes {
            Some(true) => self.is_proven,
            Some(false) => self.verdict == Verdict::Refuted,
            None => matches!(self.class, Class::Rewrite(_)) && self.verdict == Verdict::Refuted,
        }
    }

    /// Whether the trial shows a weakness: an error, or a damage that changes a value without being refuted or located.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        let is_located = matches!(self.found, Found::Exact | Found::Near);
        self.is_wrong()
            || match self.class {
                Class::Damage(_) => {
                    self.changes == Some(true) && !(self.verdict == Verdict::Refuted && is_located)
                }
                Class::Rewrite(_) => self.changes == Some(true),
            }
    }
}

impl Tally {
    /// Counts a trial.
    pub fn add(&mut self, trial: &Trial) {
        let counts = self.counts.entry(trial.class).or_default();
        counts.trials += 1;
        counts.not_run += usize::from(trial.changes.is_none());
        counts.changed += usize::from(trial.changes == Some(true));
        if matches!(trial.class, Class::Damage(_)) && trial.changes != Some(true) {
            return;
        }
        match trial.verdict {
            Verdict::Proven => counts.proven += 1,
            Verdict::Tested => counts.tested += 1,
            Verdict::Refuted => counts.refuted += 1,
            Verdict::NotDecided => counts.not_decided += 1,
        }
        match trial.found {
            Found::Exact => counts.exact += 1,
            Found::Near => counts.near += 1,
            Found::Later => counts.later += 1,
            Found::Missing => {}
        }
    }

    /// The counts of all damages, or of all rewrites.
    #[must_use]
    pub fn total(&self, damages: bool) -> Counts {
        let mut total = Counts::default();
        for (_, own) in self.counts.iter().filter(|(class, _)| matches!(class, Class::Damage(_)) == damages) {
            for (sum, part) in [
                (&mut total.trials, own.trials),
                (&mut total.not_run, own.not_run),
                (&mut total.changed, own.changed),
                (&mut total.refuted, own.refuted),
                (&mut total.not_decided, own.not_decided),
                (&mut total.tested, own.tested),
                (&mut total.proven, own.proven),
                (&mut total.exact, own.exact),
                (&mut total.near, own.near),
                (&mut total.later, own.later),
            ] {
                *sum += part;
            }
        }
        total
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for damages in [true, false] {
            let own = self.counts.iter().filter(|(class, _)| matches!(class, Class::Damage(_)) == damages);
            let mut rows: Vec<(&str, Counts)> = own.map(|(class, counts)| (class.name(), *counts)).collect();
            if rows.is_empty() {
                continue;
            }
            rows.push(("all", self.total(damages)));
            let title = if damages { "damage" } else { "rewrite" };
            write!(f, "{title:20}{:>8}{:>9}{:>9}{:>9}", "trials", "not run", "changed", "refuted")?;
            write!(f, "{:>12}{:>8}{:>8}", "not decided", "tested", "proven")?;
            writeln!(f, "{}", if damages { "   place: exact    near   later" } else { "" })?;
            for (name, row) in rows {
                write!(
                    f,
                    "{name:20}{:>8}{:>9}{:>9}{:>9}",
                    row.trials, row.not_run, row.changed, row.refuted
                )?;
                write!(f, "{:>12}{:>8}{:>8}", row.not_decided, row.tested, row.proven)?;
                match damages {
                    true => writeln!(f, "{:>15}{:>8}{:>8}", row.exact, row.near, row.later)?,
                    false => writeln!(f)?,
                }
            }
        }
        Ok(())
    }
}
