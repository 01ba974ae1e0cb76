//! Splitting a state dict into several files, with an index.

use serde_json::{Map, Value, json};

use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};

/// One of the files into which a state dict is split.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the file: `model-00001-of-00003.safetensors`.
    pub file: String,
    /// The tensors.
    pub tensors: StateDict,
}

/// The files into which a state dict is split.
#[derive(Clone, Debug)]
pub struct Split {
    /// The files in order.
    pub parts: Vec<Part>,
    /// The file name and the text of the index; `None` if the state dict fits in one file.
    pub index: Option<(String, String)>,
}

/// Splits a state dict into files with at most `max_shard_size` bytes of elements, in tensor order, like Hugging Face's libraries:
/// `{stem}.safetensors` if one file is enough, otherwise `{stem}-00001-of-00003.safetensors` and so on, with
/// `{stem}.safetensors.index.json`. A larger tensor gets its own file.
///
/// # Errors
/// A tensor is added to a file twice, which would be a bug in this function (SH1413).
pub fn split(dict: &StateDict, stem: &str, max_shard_size: u64) -> Result<Split> {
    let mut groups = Vec::new();
    let mut current = (StateDict::new(), 0u64);
    for (name, tensor) in dict.iter() {
        let size = tensor.byte_len();
        if size > max_shard_size {
            let mut alone = StateDict::new();
            alone.insert(name, tensor.clone())?;
            groups.push(alone);
            continue;
        }
        if current.1 + size > max_shard_size {
            groups.push(std::mem::take(&mut current).0);
        }
        current.0.insert(name, tensor.clone())?;
        current.1 += size;
    }
    if !current.0.is_empty() || groups.is_empty() {
        groups.push(current.0);
    }
    let count = groups.len();
    let file = |i: usize| match count {
        1 => format!("{stem}.safetensors"),
        _ => format!("{stem}-{:05}-of-{count:05}.safetensors", i + 1),
    };
    let mut parts = Vec::with_capacity(count);
    for (i, mut tensors) in groups.into_iter().enumerate() {
        tensors.metadata.clone_from(&dict.metadata);
        parts.push(Part { file: file(i), tensors });
    }
    let index = (count > 1).then(|| {
        let mut map: Vec<(&str, &str)> = Vec::new();
        parts.iter().for_each(|part| map.extend(part.tensors.names().map(|name| (name, part.file.as_str()))));
        map.sort_unstable();
        let map: Map<String, Value> =
            map.into_iter().map(|(name, file)| (name.to_owned(), json!(file))).collect();
        let index = json!({ "metadata": { "total_size": dict.byte_len() }, "weight_map": map });
        (format!("{stem}.safetensors.index.json"), format!("{index:#}\n"))
    });
    Ok(Split { parts, index })
}

/// Parses a size in bytes in the notation of Hugging Face's libraries: `5GB` is 5 * 10^9, `5GiB` 5 * 2^30, and so on with K, M and T.
///
/// # Errors
/// The text is not a size in this notation, or the size is zero (SH1413).
pub fn parse_size(text: &str) -> Result<u64> {
    let wrong = || {
        let text = format!("{text:?} is not a file size");
        StateDictError::new(ErrorKind::Content, text).hint("write it as 5GB, 500MB or 2GiB")
    };
    let upper = text.trim().to_ascii_uppercase();
    let digits = upper.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, unit) = upper.split_at(digits);
    let power = |letter: &str| ["", "K", "M", "G", "T"].iter().position(|known| *known == letter);
    let unit = unit.trim();
    let scale = match (unit.strip_suffix("IB"), unit.strip_suffix('B').unwrap_or(unit)) {
        (Some(letter), _) if !letter.is_empty() => power(letter).map(|n| 1024u64.pow(n as u32)),
        (_, letter) => power(letter).map(|n| 1000u64.pow(n as u32)),
    };
    let bytes = number.parse::<f64>().ok().zip(scale).map(|(number, scale)| number * scale as f64);
    bytes.filter(|bytes| (1.0..9e18).contains(bytes)).map(|bytes| bytes as u64).ok_or_else(wrong)
}
