//! Writing state dicts to the files named by options.

use std::fs::OpenOptions;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use shardc::statedict::{StateDict, StateDictError, dcp, safetensors, torch};
use shardc_passes::report::byte_size::bytes_text;

use crate::failure::{Failure, usage};
use crate::output::{Named, Outputs};
use crate::ui::Ui;

/// The default size of safetensors files in a folder, as in Hugging Face libraries.
const SHARD_SIZE: &str = "5GB";
/// The extensions of files of torch.save.
const TORCH: [&str; 4] = ["pth", "pt", "bin", "ckpt"];
/// The size of write buffers. Only headers are written in smaller pieces.
const BUFFER: usize = 1 << 16;

/// Converts an error of the library.
pub(crate) fn failure(error: StateDictError) -> anyhow::Error {
    Failure::state_dict(&error).into()
}

/// The location and the format of a state dict.
pub(crate) struct Destination {
    option: &'static str,
    form: Form,
}

enum Form {
    Torch(PathBuf),
    /// A folder of `torch.distributed.checkpoint`.
    Dcp(PathBuf),
    /// Files `{stem}*.safetensors` in a folder, with a maximum size.
    Safetensors {
        folder: PathBuf,
        stem: String,
        max_shard_size: u64,
    },
}

/// The object that a file of torch.save contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// The state dict itself.
    Nothing,
    /// A dict with the state dict under the key `model`.
    Model,
}

impl Destination {
    /// A checkpoint of `torch.distributed.checkpoint`.
    pub(crate) fn dcp(option: &'static str, folder: &Path) -> Destination {
        Destination { option, form: Form::Dcp(folder.to_owned()) }
    }

    pub(crate) fn new(
        option: &'static str,
        path: &Path,
        max_shard_size: Option<&str>,
    ) -> Result<Destination> {
        let size = |text: &str| {
            safetensors::parse_size(text).map_err(|error| {
                usage(format!(
                    "--max-shard-size: {error}{}",
                    error.advice().map(|a| format!("; {a}")).unwrap_or_default()
                ))
            })
        };
        let given = max_shard_size.map(size).transpose()?;
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
            let max_shard_size = given.map_or_else(|| size(SHARD_SIZE), Ok)?;
            let form =
                Form::Safetensors { folder: path.to_owned(), stem: "model".to_owned(), max_shard_size };
            return Ok(Destination { option, form });
        }
        if TORCH.contains(&ending) {
            if given.is_some() {
                return Err(usage(
                    "--max-shard-size applies only to safetensors: a file of torch.save is not split",
                ));
            }
            return Ok(Destination { option, form: Form::Torch(path.to_owned()) });
        }
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| ending == "safetensors")
        else {
            let path = path.display();
            return Err(usage(format!(
                "{option} {path}: the name must end with .safetensors, .pth, .pt or .bin, or be that of a folder"
            )));
        };
        let (folder, stem) = (path.parent().unwrap_or(Path::new("")).to_owned(), stem.to_owned());
        Ok(Destination {
            option,
            form: Form::Safetensors { folder, stem, max_shard_size: given.unwrap_or(u64::MAX) },
        })
    }
}

/// Writes a state dict, either all of its files or none, and prints a summary.
pub(crate) fn write(
    dict: &StateDict,
    destination: &Destination,
    wrapping: Wrapping,
    inputs: &[Named<'_>],
    ui: &Ui,
) -> Result<()> {
    let bar = if ui.shows_progress() { ProgressBar::new(dict.byte_len()) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} ({bytes_per_sec}, {eta})")
    {
        bar.set_style(style);
    }
    let mut done = |bytes: u64| bar.inc(bytes);
    let option = destination.option;
    let mut written: Vec<PathBuf> = Vec::new();
    match &destination.form {
        Form::Torch(path) => {
            let mut outputs = Outputs::plan(&[(option, path)], inputs)?;
            let model = torch::to_value(dict);
            let value = match wrapping {
                Wrapping::Nothing => model,
                Wrapping::Model => torch::dict([("model".to_owned(), model)]),
            };
            let folder = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("archive");
            let file = made(&mut outputs, path)?;
            torch::save(&value, folder, BufWriter::with_capacity(BUFFER, file), &mut done)
                .map_err(failure)?;
            outputs.commit()?;
            written.push(path.clone());
        }
        Form::Dcp(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let (data, metadata) = (folder.join(dcp::DATA), folder.join(dcp::METADATA));
            let mut outputs = Outputs::plan(&[(option, &data), (option, &metadata)], inputs)?;
            let mut of_data = BufWriter::with_capacity(BUFFER, made(&mut outputs, &data)?);
            let mut of_metadata = made(&mut outputs, &metadata)?;
            dcp::write(dict, &mut of_data, &mut of_metadata, &mut done).map_err(failure)?;
            outputs.commit()?;
            written.push(folder.clone());
        }
        Form::Safetensors { folder, stem, max_shard_size } => {
            let split = safetensors::split(dict, stem, *max_shard_size).map_err(failure)?;
            let place = |name: &str| folder.join(name);
            written.extend(split.parts.iter().map(|part| place(&part.file)));
            written.extend(split.index.iter().map(|(name, _)| place(name)));
            if !folder.as_os_str().is_empty() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot create {}", folder.display()))?;
            }
            let named: Vec<Named<'_>> = written.iter().map(|path| (option, path.as_path())).collect();
            let mut outputs = Outputs::plan(&named, inputs)?;
            for part in &split.parts {
                let file = made(&mut outputs, &place(&part.file))?;
                let mut file = BufWriter::with_capacity(BUFFER, file);
                safetensors::write(&part.tensors, &mut file, &mut done).map_err(failure)?;
            }
            if let Some((name, text)) = &split.index {
                outputs.put(&place(name), text.as_bytes())?;
            }
            outputs.commit()?;
        }
    }
    bar.finish_and_clear();
    tell(dict, &written, ui);
    Ok(())
}

/// Creates a temporary file that [`Outputs::commit`] renames to `path`.
fn made(outputs: &mut Outputs, path: &Path) -> Result<std::fs::File> {
    let place = outputs.place(path)?;
    let file = OpenOptions::new().write(true).truncate(true).open(&place);
    // If no temporary file can be created, `place` is the file itself.
    file.or_else(|_| std::fs::File::create(&place))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Prints the names and the size of the files.
fn tell(dict: &StateDict, written: &[PathBuf], ui: &Ui) {
    let bytes = dict.byte_len();
    ui.summary(
        || {
            let (tensors, size) = (dict.len(), bytes_text(bytes));
            match written {
                [file] => format!("{}: {tensors} tensors, {size}\n", file.display()),
                [parts @ .., index] => {
                    format!("{}: {tensors} tensors, {size} in {} files\n", index.display(), parts.len())
                }
                [] => String::new(),
            }
        },
        || json!({ "files": written, "tensors": dict.len(), "bytes": bytes }),
    );
}
