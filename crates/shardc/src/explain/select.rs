//! Selects the values that a question is about.

use shardc_ir::suggest::nearest;
use shardc_ir::{Diagnostic, ValueDef, ValueId};
use shardc_passes::annotations::names::Named;
use shardc_passes::propagate::Subject;

use super::{Explainer, Question};
use crate::Error;

/// The maximum number of suggestions for an unknown name.
const OFFERED: usize = 6;

impl Explainer<'_> {
    /// The values and function results that a question selects.
    pub(super) fn select(&self, question: &Question) -> Result<Vec<Subject>, Error> {
        let args = &self.module.regions[self.body].args;
        match question {
            Question::Argument(i) => match args.get(*i) {
                Some(&value) => Ok(vec![Subject::Value(value)]),
                None => Err(missing("argument", *i, args.len())),
            },
            Question::Result(i) if *i < self.num_results() => Ok(vec![Subject::Result(*i as u32)]),
            Question::Result(i) => Err(missing("result", *i, self.num_results())),
            Question::Value(name) => self.named(name),
            Question::Line(line) => self.on_line(*line),
            Question::Summary
            | Question::Overview
            | Question::Collectives
            | Question::Origins
            | Question::Collective(_) => Ok(Vec::new()),
        }
    }

    fn named(&self, name: &str) -> Result<Vec<Subject>, Error> {
        let values = self.values();
        let texts: Vec<String> = values.iter().map(|&v| self.names.value(v)).collect();
        let mut found: Vec<Subject> = Vec::new();
        for (&value, text) in values.iter().zip(&texts) {
            // `%7` selects all results `%7#0`, `%7#1`, ... of an operation.
            let is_named = text == name
                || text.strip_prefix('%') == Some(name)
                || text.split_once('#').is_some_and(|(pack, _)| pack == name);
            if is_named || self.label(Subject::Value(value)).as_deref() == Some(name) {
                found.push(Subject::Value(value));
            }
        }
        let results = (0..self.num_results()).map(|i| Subject::Result(i as u32));
        found.extend(results.filter(|&r| self.label(r).as_deref() == Some(name)));
        if found.is_empty() {
            // If no value has exactly this name, the name selects values whose front-end names contain it.
            let args = self.module.regions[self.body].args.iter().map(|&v| Subject::Value(v));
            let all = args.chain((0..self.num_results()).map(|i| Subject::Result(i as u32)));
            found.extend(all.filter(|&s| self.label(s).is_some_and(|label| label.contains(name))));
        }
        if !found.is_empty() {
            return Ok(found);
        }
        // If no value has the name, it may be a position: `arg0`, `res0`.
        match Named::position(name).filter(|_| name.starts_with(|c: char| c.is_alphabetic())) {
            Some(Named::Argument(i)) => return self.select(&Question::Argument(i)),
            Some(Named::Result(i)) => return self.select(&Question::Result(i)),
            None => {}
        }
        let like: Vec<&str> =
            texts.iter().map(String::as_str).filter(|text| text.contains(name)).take(OFFERED).collect();
        let labels = self.module.regions[self.body].args.iter().map(|&v| Subject::Value(v));
        let labels = labels.chain((0..self.num_results()).map(|i| Subject::Result(i as u32)));
        let labels: Vec<String> = labels.filter_map(|subject| self.label(subject)).collect();
        let hint = if let Some(meant) = nearest(name, labels.iter().map(String::as_str)) {
            format!("did you mean {meant}?")
        } else if like.is_empty() {
            "write a name as in the file (%5, %arg0), the front end's name of an argument, or a line: --line 12"
                .to_owned()
        } else {
            format!("similar names: {}", like.join(", "))
        };
        Err(Diagnostic::invalid("SH0820", format!("the program has no value named {name}")).hint(hint).into())
    }

    fn on_line(&self, line: usize) -> Result<Vec<Subject>, Error> {
        let on_line = |&value: &ValueId| match self.module.values[value].def() {
            ValueDef::Result(op, _) => self.names.line_of(op) == Some(line),
            ValueDef::Arg(region, _) => {
                region == self.body && self.names.subject_place(Subject::Value(value)).line == Some(line)
            }
        };
        let found: Vec<Subject> = self.values().into_iter().filter(on_line).map(Subject::Value).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        Err(Diagnostic::invalid("SH0820", format!("no value is defined on line {line}"))
            .hint("lines of the file are numbered from 1; bytecode has no lines")
            .into())
    }
}

fn missing(what: &str, i: usize, of: usize) -> Error {
    Diagnostic::invalid("SH0820", format!("the program has no {what} {i}"))
        .hint(format!("there are {of} {what}s; their indices start at 0"))
        .into()
}
