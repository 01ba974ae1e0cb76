//! What LoRA is asked for, and which linear maps there are for it.

use std::cell::RefCell;
use std::rc::Rc;

use shardc_graph::Key;
use shardc_strategy::Lora;

use crate::Variable;

/// What linear maps of a scope get.
#[derive(Clone, Debug)]
pub(crate) struct Adapters<'g> {
    pub(crate) lora: Rc<Lora>,
    /// For dropout, while they are trained.
    pub(crate) key: Option<Key<'g>>,
}

/// What was asked for, and the linear maps that there are.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    pub(crate) asked: Vec<Rc<Lora>>,
    pub(crate) names: Vec<String>,
}

/// The linear maps of a graph.
pub(crate) type SharedMaps = Rc<RefCell<Maps>>;

impl Maps {
    /// Returns why modules that are to be trained whole are not, if some have no variable.
    pub(crate) fn unsaved(&self, variables: &[Variable]) -> Option<String> {
        let is_there = |saved: &String| {
            let lora = Lora { modules_to_save: vec![saved.clone()], ..Lora::default() };
            variables.iter().filter_map(|v| v.name.rsplit_once('.')).any(|(module, _)| lora.saves(module))
        };
        let saved = self.asked.iter().flat_map(|lora| &lora.modules_to_save);
        let missing: Vec<&str> = saved.filter(|saved| !is_there(saved)).map(String::as_str).collect();
        (!missing.is_empty())
            .then(|| format!("no module is called {:?}, of modules_to_save", missing.join(", ")))
    }

    /// Targets that there is no map for, with the maps that there are.
    pub(crate) fn unmatched(&self) -> Option<String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let unmatched: Vec<String> =
            self.asked.iter().flat_map(|lora| lora.targets.unmatched(&names)).collect();
        let known = || if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        (!unmatched.is_empty()).then(|| {
            format!("no linear map is a target {:?} of LoRA; there are {}", unmatched.join(", "), known())
        })
    }
}
