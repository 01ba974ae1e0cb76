//! Restricts adapters to some layers: PEFT's `layers_to_transform` and `layers_pattern`.

use fancy_regex::Regex;

use super::TargetsError;

/// The layers of the model in which linear layers get adapters.
///
/// The number of a layer is the first numeric part of a module's name that follows two other parts (PEFT 0.21,
/// `check_target_module_exists`), or that follows one of the given parents.
#[derive(Clone, Debug)]
pub struct Layers {
    numbers: Vec<u64>,
    parents: Vec<String>,
    regexes: Vec<Regex>,
}

impl PartialEq for Layers {
    fn eq(&self, other: &Layers) -> bool {
        (&self.numbers, &self.parents) == (&other.numbers, &other.parents)
    }
}

impl Layers {
    /// Selects the layers with these numbers. `parents` are regular expressions for the module that contains the layers, such as `layers`
    /// or `h`; if the list is empty, any module may contain them.
    ///
    /// # Errors
    /// Returns an error if a parent is not a regular expression.
    pub fn new(numbers: Vec<u64>, parents: Vec<String>) -> Result<Layers, TargetsError> {
        let compile = |text: &String| {
            Regex::new(&format!(r"^(?:(?:^|.*?\.){text}\.(?<idx>\d+)\.)"))
                .map_err(|error| TargetsError::Pattern(text.clone(), error.to_string()))
        };
        let regexes = match parents.as_slice() {
            [] => Regex::new(r"^.*?\.[^.]*\.(?<idx>\d+)\.").into_iter().collect(),
            parents => parents.iter().map(compile).collect::<Result<_, _>>()?,
        };
        Ok(Layers { numbers, parents, regexes })
    }

    /// Returns whether a module belongs to one of the layers.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let number = |regex: &Regex| {
            let captures = regex.captures(name).ok()??;
            captures.name("idx")?.as_str().parse::<u64>().ok()
        };
        self.regexes.iter().find_map(number).is_some_and(|number| self.numbers.contains(&number))
    }

    /// Returns the indices of the layers with adapters.
    #[must_use]
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Returns the expressions for the modules that contain the layers.
    #[must_use]
    pub fn parents(&self) -> &[String] {
        &self.parents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_numbered_by_the_first_number_of_a_name() {
        let layers = Layers::new(vec![1], Vec::new()).unwrap();
        assert!(layers.has("model.layers.1.self_attn.q_proj"));
        assert!(!layers.has("model.layers.0.experts.1.up_proj"), "1 is the number of an expert");
        assert!(!layers.has("layers.1.q_proj"), "PEFT wants a part before the parent of layers");
        let layers = Layers::new(vec![0, 2], vec!["layers".to_owned(), "h".to_owned()]).unwrap();
        assert!(layers.has("layers.2.q_proj") && layers.has("transformer.h.0.attn.c_attn"));
        assert!(!layers.has("model.blocks.2.q_proj") && !layers.has("layers.1.q_proj"));
    }
}
