//! The search: seeds, then hill climbing over meshes and strategies, then over shardings of groups of arguments and results.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use indexmap::IndexMap;
use shardc_ir::Diagnostic;

use super::AutoOptions;
use super::candidate::{Candidate, Dims, Purpose};
use super::moves;
use super::problem::{Problem, Score};
use crate::{Error, parallel};

/// The number of candidates whose neighbors are evaluated in each round.
const BEAM: usize = 3;

/// The number of evaluations that even the largest program gets, and the smallest.
const EVALUATIONS: (usize, usize) = (128, 1500);

/// The fraction of evaluations that meshes and strategies get; the rest is for shardings of groups.
const FOR_MESHES: f64 = 0.6;

/// The fraction of the latter that the best strategy gets if another one that fits is faster.
const FOR_BEST: f64 = 0.6;

/// The least relative gain of a decision: an axis of the mesh, a setting, or the sharding of a group.
pub(super) const SIGNIFICANT: f64 = 0.01;

/// The relative difference of estimates up to which candidates are equal, as in the comparison with the TPU compiler in `docs/QUALITY.md`.
pub(super) const ACCURACY: f64 = 0.05;

/// Evaluates candidates, and remembers their estimates.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    threads: usize,
    /// Estimates of all candidates that were evaluated, in order; `None` if a candidate cannot be partitioned or has no effect.
    scores: IndexMap<Candidate, Option<Score>>,
    /// The error of the first candidate that cannot be partitioned.
    error: Option<Error>,
    /// The number of evaluations that are allowed.
    evaluations: usize,
    /// The meshes on which all shardings of all groups were evaluated.
    exhausted: Vec<Vec<(Purpose, i64)>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(problem: &'a Problem, options: &AutoOptions) -> Search<'a> {
        let (least, most) = EVALUATIONS;
        Search {
            problem,
            threads: options.threads.max(1),
            scores: IndexMap::new(),
            error: None,
            evaluations: (options.work / problem.module.ops.len().max(1)).clamp(least, most),
            exhausted: Vec::new(),
        }
    }

    /// Finds the best candidate.
    ///
    /// # Errors
    /// No candidate can be partitioned: the error of the first.
    pub(super) fn run(&mut self) -> Result<Candidate, Error> {
        let for_meshes = (self.evaluations as f64 * FOR_MESHES) as usize;
        let seeds = moves::seeds(self.problem);
        self.evaluate(seeds.clone(), for_meshes);
        let fits = self.ranked().first().is_some_and(|(_, score)| score.fits);
        if !fits && self.problem.trains() {
            self.evaluate(moves::checkpointed(seeds), for_meshes);
        }
        let mut before = None;
        while let Some(best) = self.fastest().filter(|best| before.as_ref() != Some(best)) {
            let next = self
                .ranked()
                .into_iter()
                .take(BEAM)
                .flat_map(|(candidate, score)| moves::neighbors(self.problem, candidate, score.fits));
            let next: Vec<Candidate> = next.collect();
            before = Some(best);
            self.evaluate(next, for_meshes);
        }
        let Some(best) = self.choose() else {
            let none = || Diagnostic::internal("SH0829", "the search has no candidates").into();
            return Err(self.error.take().unwrap_or_else(none));
        };
        // Two axes of data parallelism shard arguments in more ways than one.
        let split = (self.problem.mesh.is_none()).then(|| moves::split_data(&best)).flatten();
        let faster = self.faster(&best);
        let left = self.evaluations.saturating_sub(self.scores.len());
        let for_best = if faster.is_none() { left } else { (left as f64 * FOR_BEST) as usize };
        self.place_groups(best.clone(), self.scores.len() + for_best)?;
        for start in self.starts(&best, faster) {
            self.place_groups(start, self.evaluations)?;
        }
        // Without a strategy, groups that are not placed keep open shardings, on which propagation decides.
        if let Some(annotated) = self.problem.as_annotated().filter(|annotated| *annotated != best) {
            self.place_groups(annotated, self.evaluations)?;
        }
        if let Some(split) = split {
            self.evaluate(vec![split.clone()], self.evaluations);
            if self.score(&split).is_some() {
                self.place_groups(split, self.evaluations)?;
            }
        }
        Ok(self.choose().unwrap_or(best))
    }

    /// The fastest candidate that fits, if it is faster than the best one, which has less work or needs less memory.
    fn faster(&self, best: &Candidate) -> Option<Candidate> {
        let seconds = self.score(best)?.seconds;
        let ranked = self.ranked();
        let mut faster = ranked.iter().filter(|(_, score)| score.fits && score.seconds < seconds);
        faster.next().map(|(candidate, _)| (*candidate).clone())
    }

    /// The candidates other than the best one whose groups are placed: a faster one, the fastest on another mesh that does not fit, and the best ones
    /// on other meshes. With other shardings, one that does not fit may need less memory.
    fn starts(&self, best: &Candidate, faster: Option<Candidate>) -> Vec<Candidate> {
        let mut starts = Vec::from_iter(faster);
        let ranked = self.ranked();
        let too_large = ranked.iter().filter(|(_, score)| !score.fits);
        let fastest = too_large.min_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds));
        for (candidate, _) in fastest.into_iter().chain(&ranked) {
            let is_new =
                candidate.axes != best.axes && starts.iter().all(|start| start.axes != candidate.axes);
            if is_new && starts.len() < BEAM {
                starts.push((*candidate).clone());
            }
        }
        starts
    }

    /// Improves the shardings of groups of arguments on the mesh of a candidate, with its strategy, until there are `limit` evaluations.
    fn place_groups(&mut self, mut best: Candidate, limit: usize) -> Result<(), Error> {
        let strategy = Candidate { placed: BTreeMap::new(), ..best.clone() };
        let of_strategy = self.problem.placements(&self.problem.annotated(&strategy, false)?.module);
        // A group that is sharded as in the strategy is not placed.
        let simplest = |mut candidate: Candidate| {
            candidate.placed.retain(|&group, dims| of_strategy[group].as_ref() != Some(dims));
            candidate
        };
        if let Some(all) = self.all_placements(&best, limit) {
            let all = all.into_iter().map(simplest);
            let both = all.flat_map(|next| {
                let other = next.with_other_priorities();
                [Some(next), other].into_iter().flatten()
            });
            let is_complete = self.evaluate(both.collect(), limit);
            self.exhausted.extend(is_complete.then(|| best.axes.clone()));
            return Ok(());
        }
        loop {
            let dims = self.problem.placements(&self.problem.annotated(&best, false)?.module);
            let changed = |change: BTreeMap<usize, Dims>| {
                let mut next = best.clone();
                next.placed.extend(change);
                simplest(next)
            };
            let found = moves::placements(self.problem, &best, &dims);
            let all = found.iter().cloned().map(changed).chain(best.with_other_priorities());
            self.evaluate(all.collect(), limit);
            // Changes of different groups that help one by one are also tried together.
            let mut helpful: Vec<_> = found
                .into_iter()
                .map(|change| (self.gain(&changed(change.clone()), &best), change))
                .filter(|(gain, _)| *gain > 0.0)
                .collect();
            helpful.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            let (mut together, mut all) = (BTreeMap::new(), Vec::new());
            for (_, change) in helpful {
                if !change.keys().any(|group| together.contains_key(group)) {
                    together.extend(change);
                    all.push(changed(together.clone()));
                }
            }
            self.evaluate(all.clone(), limit);
            let gains = all.into_iter().map(|next| (self.gain(&next, &best), next));
            match gains.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
                Some((gain, next)) if gain >= SIGNIFICANT => best = next,
                _ => return Ok(()),
            }
        }
    }

    /// The relative gain of a candidate over another one: in time if both fit, in memory if neither does; infinite if only the first fits.
    fn gain(&self, candidate: &Candidate, over: &Candidate) -> f64 {
        let (Some(score), Some(other)) = (self.score(candidate), self.score(over)) else {
            return f64::NEG_INFINITY;
        };
        match (score.fits, other.fits) {
            (true, true) => 1.0 - score.seconds / other.seconds,
            (false, false) => 1.0 - score.memory as f64 / other.memory as f64,
            (true, false) => f64::INFINITY,
            (false, true) => f64::NEG_INFINITY,
        }
    }

    /// A candidate for each combination of shardings of the groups, if the remaining evaluations are enough.
    fn all_placements(&self, best: &Candidate, limit: usize) -> Option<Vec<Candidate>> {
        let left = limit.checked_sub(self.scores.len())?;
        let mut all = vec![Candidate { placed: BTreeMap::new(), batch_first: true, ..best.clone() }];
        for (i, group) in self.problem.groups.iter().enumerate().filter(|(_, group)| !group.is_fixed) {
            let mut choices: Vec<_> =
                moves::all_placements(best, &group.shape).into_iter().map(Some).collect();
            if best.as_annotated {
                choices.push(None);
            }
            if all.len().saturating_mul(choices.len()) > left / 2 {
                return None;
            }
            let with = |candidate: &Candidate| {
                let with = choices.iter().map(|dims| {
                    let mut next = candidate.clone();
                    next.placed.extend(dims.clone().map(|dims| (i, dims)));
                    next
                });
                with.collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        Some(all)
    }

    /// Evaluates new candidates on all threads, until there are `limit` evaluations. Returns whether all were evaluated.
    fn evaluate(&mut self, candidates: Vec<Candidate>, limit: usize) -> bool {
        let mut new: Vec<Candidate> = Vec::new();
        for candidate in candidates {
            if !self.scores.contains_key(&candidate) && !new.contains(&candidate) {
                new.push(candidate);
            }
        }
        let left = limit.saturating_sub(self.scores.len());
        let is_complete = new.len() <= left;
        new.truncate(left);
        let problem = self.problem;
        let found = parallel::map(&new, self.threads, |candidate| problem.evaluate(candidate));
        for (candidate, score) in new.into_iter().zip(found) {
            let score = score.unwrap_or_else(|error| {
                self.error.get_or_insert(error);
                None
            });
            self.scores.insert(candidate, score);
        }
        is_complete
    }

    /// The candidates with estimates, best first.
    pub(super) fn ranked(&self) -> Vec<(&Candidate, Score)> {
        let scored = self.scores.iter().filter_map(|(candidate, score)| Some((candidate, (*score)?)));
        let mut ranked: Vec<_> = scored.collect();
        ranked.sort_by_cached_key(|(candidate, score)| key(candidate, score));
        ranked
    }

    /// The first candidate of the ranking.
    fn fastest(&self) -> Option<Candidate> {
        self.ranked().first().map(|(candidate, _)| (*candidate).clone())
    }

    /// The best candidate: the fastest if each decision has to gain [`SIGNIFICANT`], or if none fits, the one with the least memory. It is not slower
    /// than the program as it is annotated, if that fits. If candidates are equal by this, one has less work of devices and links, because a
    /// compiler may overlap less of it than estimated, or less memory.
    fn choose(&self) -> Option<Candidate> {
        let mut equal = self.ranked();
        let &(first, best) = equal.first()?;
        if !best.fits {
            return Some(first.clone());
        }
        let annotated = self.problem.as_annotated().and_then(|annotated| self.score(&annotated));
        let slowest = annotated.filter(|score| score.fits).map_or(f64::INFINITY, |score| score.seconds);
        equal.retain(|(_, score)| score.fits && score.seconds <= slowest);
        // A program without operations takes no time.
        let seconds = best.seconds.max(f64::MIN_POSITIVE);
        let simple = |&(candidate, score): &(&Candidate, Score)| {
            score.seconds / seconds * (1.0 + SIGNIFICANT * candidate.complexity() as f64)
        };
        let limit = self.problem.limit.max(best.memory) as f64;
        keep_least(&mut equal, simple);
        keep_least(&mut equal, |(_, score)| score.busy / seconds);
        keep_least(&mut equal, |(_, score)| score.memory as f64 / limit);
        let key =
            |found: &(&Candidate, Score)| [simple(found), found.1.busy, found.1.memory as f64].map(rounded);
        equal.into_iter().min_by_key(key).map(|(candidate, _)| candidate.clone())
    }

    /// The fastest time of all candidates, whether they fit or not; infinite if there is none.
    pub(super) fn fastest_seconds(&self) -> f64 {
        let scores = self.scores.values().flatten();
        scores.map(|score| score.seconds).fold(f64::INFINITY, f64::min)
    }

    /// The estimates for a candidate, if it was evaluated and can be partitioned.
    pub(super) fn score(&self, candidate: &Candidate) -> Option<Score> {
        self.scores.get(candidate).copied().flatten()
    }

    /// Whether all shardings of arguments and results that are not given were evaluated on the mesh of a candidate.
    pub(super) fn is_exhaustive(&self, candidate: &Candidate) -> bool {
        self.problem.given.others_are_groups && self.exhausted.contains(&candidate.axes)
    }

    /// The number of candidates that were evaluated.
    pub(super) fn evaluated(&self) -> usize {
        self.scores.len()
    }
}

/// Keeps the items whose cost is within [`ACCURACY`] of the least.
fn keep_least<T>(items: &mut Vec<T>, cost: impl Fn(&T) -> f64) {
    let least = items.iter().map(&cost).fold(f64::INFINITY, f64::min);
    items.retain(|item| cost(item) <= least + ACCURACY);
}

/// The order of candidates: those that fit, by time and memory, then the others, by memory and time; of equals, the simplest is first.
type Key = (Reverse<bool>, i64, i64, usize);

fn key(candidate: &Candidate, score: &Score) -> Key {
    let time = rounded(score.seconds);
    let memory = rounded(score.memory as f64);
    let (first, second) = if score.fits { (time, memory) } else { (memory, time) };
    (Reverse(score.fits), first, second, candidate.complexity())
}

/// The logarithm in steps of 0.1 %: smaller differences are not significant.
fn rounded(value: f64) -> i64 {
    (value.max(f64::MIN_POSITIVE).ln() * 1000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use shardc_strategy::Sharding;
    use shardc_target::Target;

    use super::*;
    use crate::Compiler;

    const PROGRAM: &str = r"
      func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
        %0 = stablehlo.tanh %x : tensor<8x8xf32>
        return %0 : tensor<8x8xf32>
      }";

    fn axis(purpose: Purpose) -> Candidate {
        Candidate::new(vec![(purpose, 8)], Sharding::NoShard)
    }

    /// The candidate that is chosen of those with these seconds, seconds of work, and bytes.
    fn chosen(candidates: &[(Candidate, f64, f64, u64)]) -> Candidate {
        let options = AutoOptions::new("tanh.mlir", "v5e:2x4".parse::<Target>().unwrap());
        let module = Compiler::read(PROGRAM.as_bytes()).unwrap();
        let problem = Problem::new(&Compiler::new(), module, &options).unwrap();
        let mut search = Search::new(&problem, &options);
        for (candidate, seconds, busy, memory) in candidates.iter().cloned() {
            let score = Score { seconds, busy, memory, fits: memory <= problem.limit, communication: 0.0 };
            search.scores.insert(candidate, Some(score));
        }
        search.choose().unwrap()
    }

    #[test]
    fn each_decision_has_to_gain() {
        let simple = axis(Purpose::Data);
        let placed = (0..3).map(|group| (group, vec![vec![0], vec![]])).collect();
        let complex = Candidate { placed, ..simple.clone() };
        let of = |gain: f64| {
            let (seconds, bytes) = (1.0 - gain, 1 << 20);
            chosen(&[(simple.clone(), 1.0, 1.0, bytes), (complex.clone(), seconds, 1.0, bytes)])
        };
        assert_eq!(of(0.02), simple);
        assert_eq!(of(0.04), complex);
    }

    #[test]
    fn of_equals_one_has_less_work_or_less_memory() {
        let (data, tensor) = (axis(Purpose::Data), axis(Purpose::Tensor));
        let (small, large) = (1 << 20, 8 << 30);
        // Overlapped communication may take longer than estimated.
        assert_eq!(chosen(&[(data.clone(), 1.0, 1.9, small), (tensor.clone(), 1.03, 1.2, small)]), tensor);
        assert_eq!(chosen(&[(data.clone(), 1.0, 1.9, small), (tensor.clone(), 1.2, 1.2, small)]), data);
        assert_eq!(chosen(&[(data.clone(), 1.0, 1.0, large), (tensor.clone(), 1.03, 1.0, small)]), tensor);
        // A difference that is small beside the memory of a device does not count.
        assert_eq!(chosen(&[(data.clone(), 1.0, 1.0, 2 * small), (tensor, 1.03, 1.0, small)]), data);
    }
}
