//! A trial: one mutated program, and what the prover says about it.

use std::sync::Arc;
use std::time::Duration;

use shardc_ir::{Module, Op, OpId, verify};
use shardc_prove::{Boundary, Certificate, Evidence, Options, Report, Verdict, certify, prove};

use crate::damage::{self, Damage, Damaged};
use crate::random::Random;
use crate::rewrite::{self, Rewrite};

/// A program and its partition.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name in reports.
    pub name: String,
    /// The program on global values.
    pub original: Module,
    /// The partitioned program, read from its text, so that each operation has a position.
    pub partitioned: Module,
    /// The blocks of inputs and outputs.
    pub boundary: Boundary,
    /// The certificate of the partition, with which the place of a damage is found.
    pub certificate: Option<Arc<Certificate>>,
}

/// The class of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A damage.
    Damage(Damage),
    /// A harmless rewrite.
    Rewrite(Rewrite),
}

impl Class {
    /// The name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Damage(damage) => damage.name(),
            Class::Rewrite(rewrite) => rewrite.name(),
        }
    }
}

/// How well the report names the damaged operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// It is among the places of the first lines.
    Exact,
    /// A direct user or producer is among the places of the first lines.
    Near,
    /// It is a later place.
    Later,
    /// It is no place.
    Missing,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The class of the mutation.
    pub class: Class,
    /// The mutated operation.
    pub operation: String,
    /// The offset of the operation in the text of the partition.
    pub offset: Option<u32>,
    /// Whether results differ in exact arithmetic; `None` if the mutated program was not run.
    pub changes: Option<bool>,
    /// Whether all outputs are proven.
    pub is_proven: bool,
    /// The verdict of a check with its default options.
    pub verdict: Verdict,
    /// For a damage that changes a value: where the report names it.
    pub found: Found,
    /// The offset of the first place of the report.
    pub first: Option<u32>,
    /// The reason for which the program was not run.
    pub untested: Option<String>,
}

/// The time limit of a trial: a damaged loop may not end.
const LIMIT: Duration = Duration::from_secs(20);

/// The number of places in the first three lines of a printed report.
pub const SHOWN: usize = 2;

impl Subject {
    /// Checks the partition itself.
    ///
    /// # Errors
    /// The boundary does not describe the programs, or the check is interrupted.
    pub fn check(&self, options: &Options) -> Result<Report, shardc_prove::Error> {
        prove(&self.original, &self.partitioned, &self.boundary, options)
    }

    /// Checks the partition itself, and keeps its certificate for the trials.
    ///
    /// # Errors
    /// As for [`Subject::check`].
    pub fn certify(&mut self, options: &Options) -> Result<Report, shardc_prove::Error> {
        let (report, certificate) = certify(&self.original, &self.partitioned, &self.boundary, options)?;
        self.certificate = Some(Arc::new(certificate));
        Ok(report)
    }

    /// Damages the partition. `None` if no operation admits a damage of this class, or if the damaged program is not valid.
    ///
    /// # Errors
    /// The check is interrupted.
    pub fn damage(
        &self,
        damage: Damage,
        random: &mut Random,
        options: &Options,
    ) -> Result<Option<Trial>, shardc_prove::Error> {
        let Some(&op) = random.choose(&damage::sites(&self.partitioned, damage)) else { return Ok(None) };
        let mut module = self.partitioned.clone();
        let Some(place) = damage::apply(&mut module, op, damage, random) else { return Ok(None) };
        self.trial(&module, Class::Damage(damage), Some(op), &place, options)
    }

    /// Damages one operation of the partition.
    ///
    /// # Errors
    /// The check is interrupted.
    pub fn damage_at(
        &self,
        op: OpId,
        damage: Damage,
        random: &mut Random,
        options: &Options,
    ) -> Result<Option<Trial>, shardc_prove::Error> {
        let mut module = self.partitioned.clone();
        let Some(place) = damage::apply(&mut module, op, damage, random) else { return Ok(None) };
        self.trial(&module, Class::Damage(damage), Some(op), &place, options)
    }

    /// Rewrites the partition at up to `count` operations. `None` if there is no operation for the rewrite.
    ///
    /// # Errors
    /// The check is interrupted.
    pub fn rewrite(
        &self,
        rewrite: Rewrite,
        count: usize,
        random: &mut Random,
        options: &Options,
    ) -> Result<Option<Trial>, shardc_prove::Error> {
        let mut module = self.partitioned.clone();
        let done = (0..count).filter(|_| rewrite::apply(&mut module, rewrite, random)).count();
        match done {
            0 => Ok(None),
            _ => self.trial(&module, Class::Rewrite(rewrite), None, &Damaged::default(), options),
        }
    }

    fn trial(
        &self,
        module: &Module,
        class: Class,
        op: Option<OpId>,
        damaged: &Damaged,
        options: &Options,
    ) -> Result<Option<Trial>, shardc_prove::Error> {
        if verify(module).is_err() {
            return Ok(None);
        }
        let interrupt = options.interrupt.clone().with_time_limit(LIMIT);
        let certificate = self.certificate.clone();
        let options = Options { always_test: true, interrupt, certificate, ..options.clone() };
        let report = match prove(&self.original, module, &self.boundary, &options) {
            Ok(report) => report,
            Err(shardc_prove::Error::Interrupted(shardc_ir::Interruption::TimeLimit(_))) => {
                return Ok(Some(Trial::endless(class, op.map(|op| &self.partitioned.ops[op]))));
            }
            Err(error) => return Err(error),
        };
        let is_proven = report.outputs.iter().all(|&is| is);
        let changes = match (&report.untested, report.evidence) {
            (_, Some(Evidence::Test | Evidence::Deadlock)) => Some(true),
            (None, _) => Some(false),
            (Some(_), _) => None,
        };
        let rank =
            |spans: &[shardc_ir::Span]| report.places.iter().position(|place| spans.contains(&place.span));
        let found = match (rank(&damaged.exact), rank(&damaged.near)) {
            (Some(at), _) if at < SHOWN => Found::Exact,
            (_, Some(at)) if at < SHOWN => Found::Near,
            (Some(_), _) => Found::Later,
            (None, _) => Found::Missing,
        };
        let span = op.map(|op| self.partitioned.ops[op].span).filter(|span| span.is_some());
        Ok(Some(Trial {
            class,
            operation: op.map_or("", |op| self.partitioned.ops[op].kind.name()).to_owned(),
            offset: span.map(|span| span.start),
            changes,
            is_proven,
            // The test ran after a proof, too, and then decided; without it, the verdict is the proof.
            verdict: if is_proven { Verdict::Proven } else { report.verdict },
            found,
            first: report.places.first().map(|place| place.span.start),
            untested: report.untested,
        }))
    }
}

impl Trial {
    /// The trial of a program that reached the time limit.
    fn endless(class: Class, op: Option<&Op>) -> Trial {
        Trial {
            class,
            operation: op.map_or("", |op| op.kind.name()).to_owned(),
            offset: op.map(|op| op.span).filter(|span| span.is_some()).map(|span| span.start),
            changes: None,
            is_proven: false,
            verdict: Verdict::NotDecided,
            found: Found::Missing,
            first: None,
            untested: Some("the time limit is reached".to_owned()),
        }
    }
}
