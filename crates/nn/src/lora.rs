//! LoRA settings, and the linear layers they can apply to.

use std::cell::RefCell;
use std::rc::Rc;

use shardc_graph::Key;
use shardc_strategy::Lora;

use crate::Variable;

/// The LoRA adapters of the linear layers of a scope.
#[derive(Clone, Debug)]
pub(crate) struct Adapters<'g> {
    pub(crate) lora: Rc<Lora>,
    /// Dropout key; `None` if the model is not trained.
    pub(crate) key: Option<Key<'g>>,
}

/// The requested targets, and the linear layers of the graph.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    pub(crate) asked: Vec<Rc<Lora>>,
    pub(crate) names: Vec<String>,
}

/// The linear layers of a graph.
pub(crate) type SharedMaps = Rc<RefCell<Maps>>;

impl Maps {
    /// Returns the error message for modules to save (PEFT's `modules_to_save`, trained in full) that have no variable, if any.
    pub(crate) fn unsaved(&self, variables: &[Variable]) -> Option<String> {
        let is_there = |saved: &String| {
            let lora = Lora { modules_to_save: vec![saved.clone()], ..Lora::default() };
            variables.iter().filter_map(|v| v.name.rsplit_once('.')).any(|(module, _)| lora.saves(module))
        };
        let saved = self.asked.iter().flat_map(|lora| &lora.modules_to_save);
        let missing: Vec<&str> = saved.filter(|saved| !is_there(saved)).map(String::as_str).collect();
        (!missing.is_empty()).then(|| format!("modules_to_save: no module named {:?}", missing.join(", ")))
    }

    /// Returns the error message for targets that match no linear layer, with a list of the linear layers.
    pub(crate) fn unmatched(&self) -> Option<String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let unmatched: Vec<String> =
            self.asked.iter().flat_map(|lora| lora.targets.unmatched(&names)).collect();
        let known = || if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        (!unmatched.is_empty()).then(|| {
            format!(
                "the LoRA target {:?} matches no linear layer; the linear layers are {}",
                unmatched.join(", "),
                known()
            )
        })
    }
}
