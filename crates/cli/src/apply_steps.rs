//! Observation between the steps that apply a strategy: times, and the printed module.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use shardc::Module;
use shardc::strategy::ApplyStep;
use shardc_ir::suggest::unknown_name_hint;
use shardc_stablehlo::PrintOptions;

use crate::failure::usage;
use crate::ui::table::Table;
use crate::ui::{Ui, complain};

/// Observes the steps of [`ApplyStep::ALL`].
pub(crate) struct WatchSteps {
    /// The names of the steps after which the module is printed.
    printed: Vec<&'static str>,
    began: Instant,
    times: Vec<(&'static str, Duration)>,
}

impl WatchSteps {
    /// Prints the module after the steps `print_after`, or after each step if one of the names is `all`.
    ///
    /// # Errors
    /// Invalid usage: an unknown step.
    pub(crate) fn new(print_after: &[String]) -> Result<WatchSteps> {
        let names: Vec<&'static str> = ApplyStep::ALL.iter().map(|step| step.name).collect();
        let known = |name: &String| {
            names.iter().copied().find(|known| known == name).ok_or_else(|| {
                usage(format!("unknown step {name}; {}", unknown_name_hint(name, "the steps", &names)))
            })
        };
        let printed = match print_after.iter().any(|name| name == "all") {
            true => names.clone(),
            false => print_after.iter().map(known).collect::<Result<_>>()?,
        };
        Ok(WatchSteps { printed, began: Instant::now(), times: Vec::new() })
    }

    /// Records the time of a step, and prints the module if requested.
    pub(crate) fn after(&mut self, step: &ApplyStep, module: &Module) {
        self.times.push((step.name, self.began.elapsed()));
        if self.printed.contains(&step.name) {
            let text = shardc_stablehlo::print(module, &PrintOptions::default());
            complain(&format!("// -----// after {} //----- //\n{text}\n", step.name));
        }
        self.began = Instant::now();
    }

    /// Renders the document of `--timings`: a table, or JSON.
    pub(crate) fn timings(&self, ui: &Ui) -> String {
        if ui.is_json() {
            let steps: Vec<Value> = self
                .times
                .iter()
                .map(|(step, time)| json!({ "step": step, "seconds": time.as_secs_f64() }))
                .collect();
            return format!("{}\n", json!({ "version": 1, "steps": steps }));
        }
        let mut table = Table::new(&["step", ">milliseconds"]);
        for (step, time) in &self.times {
            table.row(vec![(*step).to_owned(), format!("{:.3}", time.as_secs_f64() * 1e3)]);
        }
        table.to_text(None)
    }
}
