//! Matches the input against the directives.

use std::{collections::BTreeSet, ops::Range};

use super::{
    directive::{Directive, Kind},
    pattern::{Match, Values},
};

/// A directive that the input does not satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The index of the directive in the file.
    pub(super) directive: usize,
    /// The reason.
    pub reason: Reason,
    /// Byte range of the search: from the end of the previous match to the end of the block.
    pub(super) region: Range<usize>,
    /// The ranges that earlier directives of the same block matched.
    pub(super) taken: Vec<Range<usize>>,
    /// The values of variables.
    pub(super) values: Values,
    /// The variables that were set in the same block before the failure.
    pub(super) set: BTreeSet<String>,
}

/// The reason why a directive is not satisfied. Ranges are bytes of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The text does not occur.
    NotFound,
    /// The directive uses a variable without a value.
    Undefined(String),
    /// The text occurs less often than required.
    TooFew {
        /// Number of occurrences.
        found: usize,
    },
    /// The text occurs, but not on the required line.
    Elsewhere {
        /// The range of the text.
        at: Range<usize>,
    },
    /// The text must not occur.
    Excluded {
        /// The range of the text.
        at: Range<usize>,
    },
}

/// A directive that is neither `-DAG` nor `-NOT`, with the `-DAG` and `-NOT` directives before it.
struct Stop {
    /// The index of the directive; `None` for the end of the input.
    directive: Option<usize>,
    /// The indices of the `-DAG` and `-NOT` directives before this directive.
    before: Vec<usize>,
}

pub(super) struct Checker<'a> {
    input: &'a str,
    directives: &'a [Directive],
    values: Values,
    taken: Vec<Range<usize>>,
    set: BTreeSet<String>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(input: &'a str, directives: &'a [Directive]) -> Self {
        Checker { input, directives, values: Values::new(), taken: Vec::new(), set: BTreeSet::new() }
    }

    /// Returns the first failed directive of each block, or a missing label.
    pub(super) fn check(mut self) -> Vec<Failure> {
        let stops = self.stops();
        let mut failures = Vec::new();
        let (mut done, mut from) = (0, 0);
        let labels = stops.iter().enumerate().filter(|(_, stop)| {
            stop.directive.and_then(|at| self.directives.get(at)).is_some_and(|d| d.kind == Kind::Label)
        });
        let ends: Vec<usize> = labels.map(|(at, _)| at + 1).chain([stops.len()]).collect();
        for end in ends {
            let block = stops.get(done..end).unwrap_or_default();
            let label =
                block.last().and_then(|stop| stop.directive).filter(|&at| self.kind(at) == Kind::Label);
            let until = match label {
                None => self.input.len(),
                Some(label) => match self.find(label, from..self.input.len()) {
                    Ok(found) => found.at.end,
                    // Without the label, the block boundaries are unknown.
                    Err(failure) => {
                        failures.push(failure);
                        return failures;
                    }
                },
            };
            self.taken.clear();
            self.set.clear();
            let mut at = from;
            for stop in block {
                match self.stop(stop, at..until) {
                    Ok(end) => at = end,
                    Err(failure) => {
                        failures.push(failure);
                        break;
                    }
                }
            }
            from = until;
            done = end;
        }
        failures
    }

    fn kind(&self, directive: usize) -> Kind {
        self.directives.get(directive).map_or(Kind::End, |directive| directive.kind)
    }

    fn stops(&self) -> Vec<Stop> {
        let all = self.directives.iter().enumerate();
        let implicit: Vec<usize> = all.clone().filter(|(_, d)| d.implicit).map(|(at, _)| at).collect();
        let mut stops = Vec::new();
        let mut before = implicit.clone();
        for (at, directive) in all.filter(|(_, directive)| !directive.implicit) {
            match directive.kind {
                Kind::Not | Kind::Dag => before.push(at),
                _ => stops.push(Stop {
                    directive: Some(at),
                    before: std::mem::replace(&mut before, implicit.clone()),
                }),
            }
        }
        if !before.is_empty() {
            stops.push(Stop { directive: None, before });
        }
        stops
    }

    /// Searches once for the pattern of a directive, given as an index.
    fn find(&self, directive: usize, region: Range<usize>) -> Result<Match, Failure> {
        let text = self.input.get(region.clone()).unwrap_or_default();
        let found = match (self.kind(directive), self.directives.get(directive)) {
            (Kind::Empty, _) => Ok(empty_line(text)),
            (_, Some(Directive { pattern, .. })) => pattern.find(text, &self.values),
            (_, None) => Ok(None),
        };
        match found {
            Ok(Some(found)) => {
                let at = region.start + found.at.start..region.start + found.at.end;
                Ok(Match { at, sets: found.sets })
            }
            Ok(None) => Err(self.failure(directive, Reason::NotFound, region)),
            Err(name) => Err(self.failure(directive, Reason::Undefined(name), region)),
        }
    }

    fn failure(&self, directive: usize, reason: Reason, region: Range<usize>) -> Failure {
        let (taken, values, set) = (self.taken.clone(), self.values.clone(), self.set.clone());
        Failure { directive, reason, region, taken, values, set }
    }

    fn keep(&mut self, found: Match) {
        self.set.extend(found.sets.iter().map(|(name, _)| name.clone()));
        self.values.extend(found.sets);
        self.taken.push(found.at);
    }

    /// Matches the `-DAG` and `-NOT` directives of `stop.before`, and then the directive of `stop` itself. Returns the end of that
    /// directive's match.
    fn stop(&mut self, stop: &Stop, region: Range<usize>) -> Result<usize, Failure> {
        let (start, nots) = self.group(&stop.before, region.clone())?;
        let Some(directive) = stop.directive else {
            self.excluded(&nots, start..region.end)?;
            return Ok(region.end);
        };
        let count = if let Kind::Count(count) = self.kind(directive) { count } else { 1 };
        let mut first: Option<usize> = None;
        let mut end = start;
        for times in 0..count {
            match self.find(directive, end..region.end) {
                Ok(found) => {
                    end = found.at.end;
                    first.get_or_insert(found.at.start);
                    if times == 0 {
                        self.on_line(directive, start, &found.at, &region)?;
                    }
                    self.keep(found);
                }
                Err(failure) if times > 0 => {
                    let reason = Reason::TooFew { found: times };
                    return Err(Failure { reason, region: start..region.end, ..failure });
                }
                Err(failure) => return Err(failure),
            }
        }
        self.excluded(&nots, start..first.unwrap_or(start))?;
        Ok(end)
    }

    /// Checks that a match is on the line that the directive requires.
    fn on_line(
        &self,
        directive: usize,
        start: usize,
        at: &Range<usize>,
        region: &Range<usize>,
    ) -> Result<(), Failure> {
        let between = self.input.get(start..at.start).unwrap_or_default();
        let lines = between.bytes().filter(|&byte| byte == b'\n').count();
        let fits = match self.kind(directive) {
            Kind::Next | Kind::Empty => lines == 1,
            Kind::Same => lines == 0,
            _ => true,
        };
        if fits {
            return Ok(());
        }
        Err(self.failure(directive, Reason::Elsewhere { at: at.clone() }, start..region.end))
    }

    fn excluded(&self, nots: &[usize], region: Range<usize>) -> Result<(), Failure> {
        for &not in nots {
            match self.find(not, region.clone()) {
                Ok(found) => {
                    return Err(self.failure(not, Reason::Excluded { at: found.at }, region));
                }
                Err(failure) if failure.reason == Reason::NotFound => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Matches groups of `-DAG` directives separated by `-NOT` directives. Returns the end of the last group, and the indices of the `-NOT`
    /// directives after it.
    fn group(&mut self, before: &[usize], region: Range<usize>) -> Result<(usize, Vec<usize>), Failure> {
        let mut start = region.start;
        let mut nots = Vec::new();
        // The matches of the current group of `-DAG` directives, in input order.
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (i, &directive) in before.iter().enumerate() {
            if self.kind(directive) == Kind::Not {
                nots.push(directive);
                continue;
            }
            let mut from = start;
            let found = loop {
                let found = self.find(directive, from..region.end)?;
                match ranges.iter().find(|old| old.start < found.at.end && found.at.start < old.end) {
                    Some(old) => from = old.end,
                    None => break found,
                }
            };
            let place = ranges.partition_point(|old| old.start < found.at.start);
            ranges.insert(place, found.at.clone());
            self.keep(found);
            let ends = before.get(i + 1).is_none_or(|&next| self.kind(next) == Kind::Not);
            if let (true, Some(first), Some(last)) = (ends, ranges.first(), ranges.last()) {
                let (first, last) = (first.start, last.end);
                self.excluded(&std::mem::take(&mut nots), start..first)?;
                start = last;
                ranges.clear();
            }
        }
        Ok((start, nots))
    }
}

/// Finds the end of a line that is followed by an empty line, as FileCheck does for `-EMPTY:`.
fn empty_line(text: &str) -> Option<Match> {
    let bytes = text.as_bytes();
    let at = (0..bytes.len())
        .find(|&at| bytes.get(at) == Some(&b'\n') && matches!(bytes.get(at + 1), None | Some(b'\n')))?;
    Some(Match { at: at + 1..at + 1, sets: Vec::new() })
}
