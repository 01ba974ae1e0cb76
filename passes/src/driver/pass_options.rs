//! Options of passes, in mlir-opt's notation: `pass{name=value name=value}`.

use std::fmt;

use shardc_ir::suggest::nearest;

use crate::propagate::DebugOptions;

/// An option that a pass takes.
#[derive(Clone, Copy, Debug)]
pub struct PassOption {
    /// The name of the option.
    pub name: &'static str,
    /// The allowed values; the first is the default.
    pub values: &'static [&'static str],
}

impl PassOption {
    /// Returns a boolean option called `name` that is false by default.
    #[must_use]
    pub const fn flag(name: &'static str) -> Self {
        PassOption { name, values: &["false", "true"] }
    }

    /// Returns a boolean option called `name` that is true by default.
    #[must_use]
    pub const fn on(name: &'static str) -> Self {
        PassOption { name, values: &["true", "false"] }
    }
}

/// The option values given to a run of a pass. Other options have their defaults.
#[derive(Clone, Debug, Default)]
pub struct PassOptions(Vec<(PassOption, &'static str)>);

impl PassOptions {
    /// Parses the options of a pass that takes `known`.
    ///
    /// # Errors
    /// Returns an error for an unknown name, or for a value that the option does not allow. The message lists the allowed values.
    pub fn parse(text: &str, known: &[PassOption]) -> Result<Self, String> {
        let mut given = Vec::new();
        for word in text.split_whitespace() {
            // A name without a value sets a flag, as in mlir-opt.
            let (name, value) = word.split_once('=').unwrap_or((word, "true"));
            let Some(option) = known.iter().find(|option| option.name == name) else {
                let names: Vec<&str> = known.iter().map(|option| option.name).collect();
                return Err(if names.is_empty() {
                    format!("unknown option {name}: the pass takes no options")
                } else {
                    let meant = nearest(name, names.iter().copied()).filter(|_| names.len() > 1);
                    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
                    format!("unknown option {name}; {meant}the pass takes {}", names.join(", "))
                });
            };
            let value = match value {
                "1" => "true",
                "0" => "false",
                other => other,
            };
            let Some(&value) = option.values.iter().find(|&&v| v == value) else {
                return Err(format!("{name} must be one of {}, got {value}", option.values.join(", ")));
            };
            given.push((*option, value));
        }
        Ok(PassOptions(given))
    }

    /// Returns the value of an option. If the option is given several times, the last value applies.
    #[must_use]
    pub fn value(&self, option: PassOption) -> &'static str {
        let given = self.0.iter().rev().find(|(o, _)| o.name == option.name);
        given.map_or(option.values[0], |&(_, value)| value)
    }

    /// Whether a boolean option is true.
    #[must_use]
    pub fn is_on(&self, option: PassOption) -> bool {
        self.value(option) == "true"
    }
}

/// Formats the option values as `name=value name=value`, which [`PassOptions::parse`] accepts.
impl fmt::Display for PassOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (option, value)) in self.0.iter().enumerate() {
            write!(f, "{}{}={value}", if i > 0 { " " } else { "" }, option.name)?;
        }
        Ok(())
    }
}

/// Whether propagation writes the origin of each axis.
pub const DEBUG_ORIGINS: PassOption = PassOption::flag("debug-sharding-origins");

/// Whether propagation writes Shardy's propagation edges: for each operation, the axes that it propagated.
pub const DEBUG_EDGES: PassOption = PassOption::flag("debug-propagation-edge-sharding");

/// The options of passes that write Shardy's debugging attributes.
pub const DEBUG: &[PassOption] = &[DEBUG_ORIGINS, DEBUG_EDGES];

/// Returns which of Shardy's debugging attributes the options of [`DEBUG`] request.
#[must_use]
pub fn debug_options(options: &PassOptions) -> DebugOptions {
    DebugOptions { origins: options.is_on(DEBUG_ORIGINS), edges: options.is_on(DEBUG_EDGES) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: PassOption = PassOption::flag("flag");
    const CHOICE: PassOption = PassOption { name: "choice", values: &["a", "b"] };

    #[test]
    fn omitted_options_have_defaults() {
        let options = PassOptions::parse("", &[FLAG, CHOICE]).unwrap();
        assert!(!options.is_on(FLAG));
        assert_eq!(options.value(CHOICE), "a");
    }

    #[test]
    fn the_last_value_wins() {
        let options = PassOptions::parse(" flag choice=a  choice=b", &[FLAG, CHOICE]).unwrap();
        assert!(options.is_on(FLAG));
        assert_eq!(options.value(CHOICE), "b");
    }

    #[test]
    fn unknown_names_and_values_are_reported() {
        assert_eq!(
            PassOptions::parse("flug=true", &[FLAG]).unwrap_err(),
            "unknown option flug; the pass takes flag"
        );
        assert_eq!(
            PassOptions::parse("flag", &[]).unwrap_err(),
            "unknown option flag: the pass takes no options"
        );
        assert_eq!(
            PassOptions::parse("choice=c", &[CHOICE]).unwrap_err(),
            "choice must be one of a, b, got c"
        );
    }
}
