//! Consolidation of the files of all ranks into a full state dict.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::metadata::{FlatParameter, ShardMetadata};
use super::rank::{RankFile, open_rank};
use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::tensor::Tensor;

/// Prefix of the name component of a shard.
const SHARD: &str = "_fsdp_shard";
/// Name component of a flat parameter.
const FLAT: &str = "_fsdp_wrapped_module.flat_param_";
/// Name components added by wrappers.
const WRAPPERS: [&str; 2] = ["_fsdp_wrapped_module.", "_fpw_module."];

/// Returns the files that match a shell pattern (`*`, `?`, `[...]`), which is the concatenation of `prefix` and `suffix`.
///
/// # Errors
/// The pattern is invalid, or nothing matches it (SH1402).
pub fn find_files(prefix: &str, suffix: &str) -> Result<Vec<PathBuf>> {
    let pattern = format!("{prefix}{suffix}");
    let wrong = |text: String| StateDictError::new(ErrorKind::NoFile, text);
    let options = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let found = glob::glob_with(&pattern, options)
        .map_err(|e| wrong(format!("{pattern:?} is not a valid pattern: {e}")))?;
    let mut files = Vec::new();
    for path in found {
        files.push(path.map_err(|error| {
            let path = error.path().to_owned();
            StateDictError::io("search it", &path, error.into())
        })?);
    }
    if files.is_empty() {
        let error = wrong(format!("no file matches {pattern}"));
        return Err(error.hint("the pattern is the prefix followed by the suffix"));
    }
    Ok(files)
}

/// Consolidates the files of all ranks, in any order, into a full state dict. Only headers are read at first; tensors are read lazily.
///
/// # Errors
/// The errors of [`open_rank`] and [`consolidate`].
pub fn consolidate_files(paths: &[PathBuf]) -> Result<StateDict> {
    let ranks = paths.iter().map(|path| open_rank(path)).collect::<Result<Vec<RankFile>>>()?;
    consolidate(ranks)
}

/// Consolidates the shards of all ranks into a full state dict, like PyTorch/XLA's `consolidate_sharded_model_checkpoints`. Buffers come
/// from rank 0, and are cast to their original element types.
///
/// # Errors
/// The number of files is not the number of ranks, or a rank is repeated (SH1409); a shard is missing or does not match the metadata
/// (SH1410).
pub fn consolidate(mut ranks: Vec<RankFile>) -> Result<StateDict> {
    ranks.sort_by_key(|rank| rank.metadata.rank);
    check(&ranks)?;
    let Some(first) = ranks.first() else {
        return Err(StateDictError::new(ErrorKind::Ranks, "there are no rank files"));
    };
    let metadata = &first.metadata;
    let mut full = IndexMap::new();
    for (name, tensor) in first.model.iter() {
        let (name, tensor) = match shard_name(name) {
            Some((module, shard)) => {
                parameter(&ranks, metadata, (name, module, shard)).map_err(|error| error.of_tensor(name))?
            }
            None => {
                let tensor = match metadata.buffer_dtypes.get(name) {
                    Some(&dtype) => tensor.clone().cast(dtype).map_err(|error| error.of_tensor(name))?,
                    None => tensor.clone(),
                };
                (name.to_owned(), tensor)
            }
        };
        insert(&mut full, name, tensor, &first.path)?;
    }
    unflatten(&mut full, metadata, &first.path)?;
    let mut dict = StateDict::new();
    for (name, tensor) in full {
        let name = WRAPPERS.iter().fold(name, |name, wrapper| name.replace(wrapper, ""));
        dict.insert(name, tensor).map_err(|error| error.in_file(&first.path))?;
    }
    Ok(dict)
}

/// Checks that there is one file per rank.
fn check(ranks: &[RankFile]) -> Result<()> {
    for (i, file) in ranks.iter().enumerate() {
        let ShardMetadata { world_size, rank, .. } = file.metadata;
        let wrong = |text: String| {
            let error = StateDictError::new(ErrorKind::Ranks, text).in_file(&file.path);
            Err(error.hint("the pattern must match all rank files of one checkpoint, and no others"))
        };
        if world_size != ranks.len() {
            return wrong(format!(
                "the file is from a checkpoint of {world_size} ranks, but {} rank files were found",
                ranks.len()
            ));
        }
        if rank != i {
            let other = if rank < i {
                "another file has the same rank".to_owned()
            } else {
                format!("no file has rank {i}")
            };
            return wrong(format!("the file has rank {rank}, but {other}"));
        }
    }
    Ok(())
}

/// Splits the name of a shard before the component with the prefix [`SHARD`]. Returns the name of the module, and the name of the
/// shard within the module.
fn shard_name(name: &str) -> Option<(&str, &str)> {
    if name.starts_with(SHARD) {
        return Some(("", name));
    }
    let at = name.find(&format!(".{SHARD}"))?;
    Some((&name[..at], &name[at + 1..]))
}

fn joined(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") }
}

/// Joins the shards of a parameter. Returns the name of the parameter and the unsharded tensor.
fn parameter(
    ranks: &[RankFile],
    metadata: &ShardMetadata,
    (name, module, shard): (&str, &str, &str),
) -> Result<(String, Tensor)> {
    let wrong = |text: String, path: &Path| StateDictError::new(ErrorKind::ShardMetadata, text).in_file(path);
    let mut parts: Vec<Tensor> = Vec::with_capacity(ranks.len());
    for rank in ranks {
        let Some(part) = rank.model.find(name) else {
            return Err(wrong("this rank has no shard of this parameter".to_owned(), &rank.path));
        };
        // The shapes on different ranks may differ only in the first dimension.
        if let Some(first) = parts.first()
            && (first.dtype() != part.dtype() || first.shape().get(1..) != part.shape().get(1..))
        {
            let (a, b) = (describe(first), describe(part));
            return Err(wrong(format!("rank 0 has {a}, but this rank has {b}"), &rank.path));
        }
        parts.push(part.clone());
    }
    let (Some(first), Some(path)) = (parts.first(), ranks.first().map(|rank| rank.path.as_path())) else {
        return Err(StateDictError::new(ErrorKind::Ranks, "there are no ranks"));
    };
    let Some(info) = metadata.shard_info.get(module).and_then(|shards| shards.get(shard)) else {
        return Err(wrong("the shard metadata does not list this shard".to_owned(), path));
    };
    let dtype = first.dtype();
    let fits = match first.shape() {
        [] => false,
        [_] => true,
        [_, rest @ ..] => info.shape.get(1..) == Some(rest),
    };
    if !fits {
        let text = format!("{} cannot be a shard of a parameter of shape {:?}", describe(first), info.shape);
        return Err(wrong(text, path));
    }
    // Shards of the first dimension and shards of a flat parameter are both concatenated, without the padding at the end.
    let whole = Tensor::joined(dtype, &info.shape, Arc::from(parts), 0).map_err(|_| {
        wrong(format!("the shards of all ranks do not cover the parameter's shape {:?}", info.shape), path)
    })?;
    Ok((joined(module, &info.name), whole))
}

fn describe(tensor: &Tensor) -> String {
    format!("{}{:?}", tensor.dtype(), tensor.shape())
}

/// Removes flat parameters, and appends the original parameters of which they consist.
fn unflatten(full: &mut IndexMap<String, Tensor>, metadata: &ShardMetadata, path: &Path) -> Result<()> {
    let flat: Vec<String> = full.keys().filter(|name| name.contains(FLAT)).cloned().collect();
    for name in flat {
        let wrong =
            |text: String| StateDictError::new(ErrorKind::ShardMetadata, text).of_tensor(&name).in_file(path);
        let Some(whole) = full.shift_remove(&name) else { continue };
        let Some(FlatParameter { names, shapes, sizes }) = metadata.flatten_info.get(&name) else {
            return Err(wrong(
                "the shard metadata does not list the parameters of this flat parameter".to_owned(),
            ));
        };
        let size = whole.dtype().bytes() as u64;
        let all = sizes
            .iter()
            .try_fold(0u64, |sum, &n| sum.checked_add(n as u64))
            .and_then(|n| n.checked_mul(size));
        if names.len() != shapes.len() || names.len() != sizes.len() || all != Some(whole.byte_len()) {
            let text = format!(
                "the shard metadata lists parameters of {sizes:?} elements for this flat parameter of {} elements",
                whole.byte_len() / size
            );
            return Err(wrong(text));
        }
        let module = name.rsplit_once('.').map_or("", |(module, _)| module);
        let whole: Arc<[Tensor]> = Arc::from([whole]);
        let mut from = 0;
        for ((part, shape), &count) in names.iter().zip(shapes).zip(sizes) {
            let elements = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
            if elements != Some(count) {
                return Err(wrong(format!(
                    "the shard metadata lists the parameter {part:?} with {count} elements, but shape {shape:?}"
                )));
            }
            let dtype = whole.first().map(Tensor::dtype);
            let Some(dtype) = dtype else { continue };
            let tensor =
                Tensor::joined(dtype, shape, whole.clone(), from).map_err(|error| error.in_file(path))?;
            from += count as u64 * size;
            insert(full, joined(module, part), tensor, path)?;
        }
    }
    Ok(())
}

fn insert(full: &mut IndexMap<String, Tensor>, name: String, tensor: Tensor, path: &Path) -> Result<()> {
    if full.contains_key(&name) {
        let text = "two shards contain this parameter";
        return Err(StateDictError::new(ErrorKind::ShardMetadata, text).of_tensor(&name).in_file(path));
    }
    full.insert(name, tensor);
    Ok(())
}
