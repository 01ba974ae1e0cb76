//! The files of `shardc prove --counter-example`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use shardc::Module;
use shardc::prove::{CounterExample, Difference};
use shardc_stablehlo::PrintOptions;

/// The most elements of arguments that are written.
const MOST_ELEMENTS: usize = 1 << 20;

/// The files that were written.
pub(super) struct Written {
    folder: PathBuf,
    /// The number of operations of the original and of the partition; `None` if no pair was found.
    counts: Option<[usize; 2]>,
    is_output: bool,
    difference: Option<Difference>,
}

/// Writes the files of a counter-example.
pub(super) fn write(folder: &Path, example: Option<&CounterExample>) -> Result<Written> {
    let Some(example) = example else {
        return Ok(Written { folder: folder.to_owned(), counts: None, is_output: true, difference: None });
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let program = |module: &Module| shardc_stablehlo::print(module, &PrintOptions::default());
    put("original.mlir", program(&example.original))?;
    put("partitioned.mlir", program(&example.partitioned))?;
    put("manifest.json", example.manifest.to_json() + "\n")?;
    put("difference.json", serde_json::to_string_pretty(&difference(example))? + "\n")?;
    let count = |module: &Module| {
        let body = module.entry().and_then(|entry| module.funcs[entry].body);
        body.map_or(0, |body| module.regions[body].ops.len().saturating_sub(1))
    };
    Ok(Written {
        folder: folder.to_owned(),
        counts: Some([count(&example.original), count(&example.partitioned)]),
        is_output: example.is_output,
        difference: example.difference.clone(),
    })
}

fn difference(example: &CounterExample) -> Value {
    let Some(found) = &example.difference else {
        return json!({ "version": 1, "is_output": example.is_output, "difference": null });
    };
    let elements: usize = found.arguments.iter().map(|argument| argument.values.len()).sum();
    let arguments: Vec<Value> = found
        .arguments
        .iter()
        .map(|argument| {
            let values = (elements <= MOST_ELEMENTS).then_some(&argument.values);
            json!({ "shape": argument.shape, "dtype": argument.dtype, "values": values })
        })
        .collect();
    json!({
        "version": 1,
        "is_output": example.is_output,
        "arithmetic": if found.is_exact { "exact" } else { "float" },
        "arguments": arguments,
        "difference": {
            "position": found.position,
            "expected": found.expected,
            "device": found.device,
            "local_position": found.local,
            "actual": found.actual,
        },
    })
}

impl Written {
    /// A line about the files.
    pub(super) fn text(&self) -> String {
        let folder = self.folder.display();
        let Some([original, partitioned]) = self.counts else {
            return "no counter-example was found\n".to_owned();
        };
        let what = if self.is_output { "an output" } else { "a value inside" };
        let element = match &self.difference {
            Some(found) => format!(
                "element {:?} of the result is {} instead of {} on device {}, at {:?} of its block",
                found.position, found.actual, found.expected, found.device, found.local
            ),
            None => "elements differ only for other inputs than small integers".to_owned(),
        };
        format!(
            "counter-example in {folder}: {what} differs (operations: {partitioned} in place of {original}); {element}\n"
        )
    }

    pub(super) fn document(&self) -> Value {
        json!({
            "folder": self.counts.map(|_| self.folder.display().to_string()),
            "is_output": self.is_output,
            "operations": self.counts,
        })
    }
}
