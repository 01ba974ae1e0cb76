//! The choices of a search, each with the best alternative.

use super::candidate::Candidate;
use super::groups::Axes;
use super::problem::{Problem, Score};
use super::report::{ChoiceReport, first_name, mesh_of, mesh_text, placement_text, use_text};
use super::search::Search;

/// The choices, each with the best evaluated candidate that differs in it.
pub(super) fn choices(problem: &Problem, search: &Search<'_>, best: &Candidate) -> Vec<ChoiceReport> {
    let ranked = search.ranked();
    let axes_of = |candidate: &Candidate| {
        let annotated = problem.annotated(candidate, true).ok()?;
        Some(problem.axes_of(&annotated.module))
    };
    // On a given mesh, other purposes of the axes are an alternative if the same strategy has another effect with them.
    let is_other_use = |other: &Candidate| {
        let renamed = Candidate { axes: best.axes.clone(), ..other.clone() };
        other.axes != best.axes
            && (problem.mesh.is_none()
                || search.score(&renamed).is_some_and(|score| Some(score) != search.score(other)))
    };
    let (own_score, own_axes) = (search.score(best), axes_of(best));
    // On a given mesh, another name for the same shardings is not an alternative, nor is a fixed sharding that propagation chooses anyway.
    let changes = |other: &Candidate, score: Score| {
        let is_same = |axes: Vec<Axes>| {
            let own = own_axes.iter().flatten();
            own.zip(&axes).all(|(own, other)| own.is_none() || other.is_none() || own == other)
        };
        let is_as_good = own_score.is_some_and(|own| score.is_close(&own));
        problem.mesh.is_none() || !is_as_good || !axes_of(other).is_some_and(is_same)
    };
    let mut choices = Vec::new();
    let mut choice = |what: &str,
                      differs: &dyn Fn(&Candidate) -> bool,
                      text: &dyn Fn(&Candidate) -> String| {
        let is_alternative = |(other, score): &&(&Candidate, Score)| differs(other) && changes(other, *score);
        if let Some((other, score)) = ranked.iter().find(is_alternative) {
            choices.push(ChoiceReport {
                what: what.to_owned(),
                chosen: text(best),
                next_best: text(other),
                score: (*score).into(),
            });
        }
    };
    let purposes = |candidate: &Candidate| match problem.mesh {
        Some(_) => {
            let own = mesh_of(problem, candidate).axes;
            let uses = own.keys().zip(&candidate.axes).map(|(name, axis)| use_text(name, axis.0));
            uses.collect::<Vec<_>>().join(", ")
        }
        None => mesh_text(problem, candidate),
    };
    let what = if problem.mesh.is_some() { "use of the axes" } else { "mesh" };
    choice(what, &is_other_use, &purposes);
    choice("strategy", &|other| other.axes == best.axes && other.words() != best.words(), &Candidate::words);
    let axes_text = |group: usize, candidate: &Candidate| {
        let own = candidate.placed.get(&group);
        let default = if candidate.as_annotated { "open" } else { "as in the strategy" };
        own.map_or_else(|| default.to_owned(), |dims| placement_text(problem, candidate, dims))
    };
    for (i, group) in problem.groups.iter().enumerate() {
        let name = first_name(problem, group);
        let differs = |other: &Candidate| {
            other.axes == best.axes
                && other.words() == best.words()
                && other.placed.get(&i) != best.placed.get(&i)
                && problem
                    .groups
                    .iter()
                    .enumerate()
                    .all(|(j, _)| j == i || other.placed.get(&j) == best.placed.get(&j))
        };
        choice(&name, &differs, &|candidate| axes_text(i, candidate));
    }
    choices
}
