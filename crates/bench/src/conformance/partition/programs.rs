//! The executable programs of the corpora, and the meshes for which they are partitioned.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;
use shardc_filetest::files;

/// A program and its meshes.
pub(super) struct Program {
    /// The path relative to the root of the shared data.
    pub(super) path: String,
    pub(super) file: PathBuf,
    /// The meshes, beginning with the file's own mesh.
    pub(super) meshes: Vec<Mesh>,
    pub(super) kind: Kind,
}

/// The kind of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program without manual computations, which is compared with the same program on one device.
    Whole,
    /// A program with manual computations, which is compared with the same program on one device. It is valid only on its own mesh.
    Manual,
    /// A Shardy test for StableHLO's interpreter, compared with the values that it expects.
    Interpreted,
}

/// A mesh for a program: its own mesh or another one.
pub(super) struct Mesh {
    /// `own`, `4x2`.
    pub(super) label: String,
    /// The value of `--mesh`.
    pub(super) option: Option<String>,
}

/// Axis sizes of the meshes that are tested in addition to the file's own mesh, by number of axes. In each list, the first shape divides
/// dimensions evenly, and the second does not. At most 8 devices are available.
const SHAPES: [&[&[i64]]; 3] =
    [&[&[4], &[3], &[8]], &[&[4, 2], &[3, 2], &[2, 4], &[2, 2]], &[&[2, 2, 2], &[1, 3, 2], &[2, 1, 2]]];

/// The label of the file's own mesh.
const OWN: &str = "own";

/// Number of meshes for each program, in addition to the file's own mesh.
const OTHERS: usize = 2;

/// The executable programs of one folder of the corpus.
pub(super) fn programs(root: &Path, folder: &str) -> Result<Vec<Program>> {
    let file = root.join(folder).join("manifest.json");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let manifest: Value =
        serde_json::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
    let list =
        manifest["programs"].as_array().with_context(|| format!("{} has no programs", file.display()))?;
    list.iter()
        .filter(|program| program["executable"] == true)
        .map(|program| {
            let name = program["file"].as_str().context("a program in the manifest has no `file`")?;
            let file = root.join(folder).join(name);
            let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            let is_manual =
                ["sdy.manual_computation", "@SPMDFullToShardShape", "@xla.sdy.GlobalToLocalShape"]
                    .iter()
                    .any(|word| text.contains(word));
            let has_names = program["dialect"] == "sdy";
            let meshes = meshes(&program["mesh"], has_names);
            let kind = if is_manual { Kind::Manual } else { Kind::Whole };
            Ok(Program { path: format!("{folder}/{name}"), file, meshes, kind })
        })
        .collect()
}

/// Shardy's tests for the interpreter.
pub(super) fn interpreted(root: &Path) -> Result<Vec<Program>> {
    let folder = root.join("conformance/shardy");
    let mut found = files(&folder, "mlir").with_context(|| format!("reading {}", folder.display()))?;
    let is_executable = |file: &PathBuf| {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
        folder.to_string_lossy().starts_with("executable_")
    };
    found.retain(is_executable);
    let program = |file: PathBuf| Program {
        path: file.strip_prefix(root).unwrap_or(&file).display().to_string(),
        file,
        meshes: vec![Mesh { label: OWN.to_owned(), option: None }],
        kind: Kind::Interpreted,
    };
    Ok(found.into_iter().map(program).collect())
}

/// Returns the file's own mesh, and further meshes to test. `mesh` is the file's mesh in the manifest: `{"data": 2, "model": 4}`, or
/// `{"shape": [2, 4], "axes": ["data", "model"]}`, where axes may be unnamed. Tile assignments have no axis names (`has_names` is false)
/// and fit any mesh with the same number of devices, so further meshes with that number are skipped.
fn meshes(mesh: &Value, has_names: bool) -> Vec<Mesh> {
    let numbers = |list: &Value| list.as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
    let (names, sizes): (Vec<String>, Vec<i64>) = if mesh["shape"].is_array() {
        let sizes: Vec<i64> = numbers(&mesh["shape"]);
        let name = |i: usize| mesh["axes"][i].as_str().map_or_else(|| format!("axis_{i}"), str::to_owned);
        ((0..sizes.len()).map(name).collect(), sizes)
    } else {
        let axes = mesh.as_object().into_iter().flatten();
        axes.filter_map(|(name, size)| Some((name.clone(), size.as_i64()?))).unzip()
    };
    let shapes = names.len().checked_sub(1).and_then(|rank| SHAPES.get(rank)).copied().unwrap_or_default();
    let own = Mesh { label: OWN.to_owned(), option: None };
    let devices = |shape: &[i64]| shape.iter().product::<i64>();
    let is_other = |shape: &[i64]| if has_names { shape != sizes } else { devices(shape) != devices(&sizes) };
    let others = shapes.iter().filter(|shape| is_other(shape)).take(OTHERS).map(|shape| {
        let axes: Vec<String> =
            names.iter().zip(*shape).map(|(name, size)| format!("{name}={size}")).collect();
        let label = shape.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
        Mesh { label, option: Some(axes.join(",")) }
    });
    std::iter::once(own).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_is_run_on_its_mesh_and_on_two_others() {
        let of = |mesh: Value, has_names| {
            let show = |m: Mesh| format!("{} {}", m.label, m.option.unwrap_or_default());
            meshes(&mesh, has_names).into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(of(json!({"x": 2, "y": 4}), true), ["own ", "4x2 x=4,y=2", "3x2 x=3,y=2"]);
        assert_eq!(of(json!({"data": 8}), true), ["own ", "4 data=4", "3 data=3"]);
        assert_eq!(
            of(json!({"shape": [4, 2], "axes": ["data", "model"]}), false),
            ["own ", "3x2 data=3,model=2", "2x2 data=2,model=2"]
        );
        assert_eq!(
            of(json!({"shape": [2, 2, 2]}), false),
            ["own ", "1x3x2 axis_0=1,axis_1=3,axis_2=2", "2x1x2 axis_0=2,axis_1=1,axis_2=2"]
        );
        assert_eq!(of(json!({}), true), ["own "]);
    }
}
