//! Checkpoints at locations given on the command line.

use anyhow::Result;
use shardc::checkpoint::{Checkpoint, CheckpointError, Damage, Store, steps};

use crate::failure::{Failure, usage};

/// Converts an error of a checkpoint, with its code and hint.
pub(crate) fn failure(error: CheckpointError) -> anyhow::Error {
    let notes = match &error {
        CheckpointError::Damaged(damages) => damages.iter().map(line).collect(),
        _ => Vec::new(),
    };
    let message = match &error {
        CheckpointError::Damaged(_) => "the checkpoint is damaged".to_owned(),
        error => error.to_string(),
    };
    let (code, hint) = (error.code().to_owned(), error.hint().map(str::to_owned));
    Failure::Runtime { code, message, notes, hint }.into()
}

/// Describes a damaged object in one line.
pub(crate) fn line(damage: &Damage) -> String {
    format!("{} {}", damage.object, damage.what)
}

/// Parses the options of a store, `KEY=VALUE`.
pub(crate) fn options(given: &[String]) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(usage(format!("--store-option {text}: expected KEY=VALUE"))),
    };
    given.iter().map(pair).collect()
}

/// Opens the store whose root is the location `place`.
pub(crate) fn store(place: &str, options: &[(String, String)]) -> Result<Store> {
    Store::open(place, options).map_err(|error| usage(error.to_string()))
}

/// Opens the checkpoint at a location. If the location is a folder of steps, opens the requested step or the last step.
pub(crate) fn open(
    place: &str,
    options: &[(String, String)],
    step: Option<u64>,
    item: Option<&str>,
) -> Result<Checkpoint> {
    try_open(place, options, step, item)?.map_err(failure)
}

/// Opens a checkpoint as [`open`] does. An error of the checkpoint is the inner result; invalid options are the outer error.
pub(crate) fn try_open(
    place: &str,
    options: &[(String, String)],
    step: Option<u64>,
    item: Option<&str>,
) -> Result<Result<Checkpoint, CheckpointError>> {
    let store = store(place, options)?;
    let open = |path: &str| Checkpoint::open_item(&store, path, item);
    if let Some(step) = step {
        return Ok(open(&step.to_string()).map_err(|error| match error {
            CheckpointError::NotFound { path, .. } => {
                CheckpointError::NotFound { path, there: steps(&store, "").unwrap_or_default() }
            }
            other => other,
        }));
    }
    Ok(match open("") {
        Err(CheckpointError::NotFound { path, there }) => match there.last() {
            Some(last) => open(&last.to_string()),
            None => Err(CheckpointError::NotFound { path, there }),
        },
        opened => opened,
    })
}

/// Splits the location of a new checkpoint into its folder and its name.
pub(crate) fn split(to: &str) -> Result<(&str, &str)> {
    let to = to.trim_end_matches('/');
    let (folder, name) = match to.rsplit_once('/') {
        None => (".", to),
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
    };
    // The part after `://` is a bucket, not the name of a checkpoint.
    if name.is_empty() || folder.ends_with(":/") {
        return Err(usage(format!(
            "{to} is not a valid location for a checkpoint: name a folder in the store"
        )));
    }
    Ok((folder, name))
}

/// Whether a name matches a pattern, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_place_is_a_folder_and_a_name() {
        let split = |to| super::split(to).ok();
        assert_eq!(split("a"), Some((".", "a")));
        assert_eq!(split("/a"), Some(("/", "a")));
        assert_eq!(split("a/b/"), Some(("a", "b")));
        assert_eq!(split("s3://bucket/x"), Some(("s3://bucket", "x")));
        assert_eq!(split("s3://bucket"), None);
        assert_eq!(split("/"), None);
    }

    #[test]
    fn stars_match_any_text() {
        for (pattern, name) in
            [("a", "a"), ("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*b*c", "axxbyc"), ("a**", "a")]
        {
            assert!(super::matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "ab"), ("a*c", "ab"), ("a*b*c", "acb"), ("ab*b", "ab")] {
            assert!(!super::matches(pattern, name), "{pattern} {name}");
        }
    }
}
