//! The preprocessor of mdBook: links to files outside of the book become links to the repository.

use std::path::Path;

use serde_json::Value;

use super::SOURCES;
use super::page::{links, resolve};

/// Rewrites the links of all chapters. mdBook's JSON nests chapters in lists whose name depends on its version, so every object is searched.
pub(super) fn rewrite(value: &mut Value, repository: &str) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| rewrite(value, repository)),
        Value::Object(fields) => {
            let path = fields.get("source_path").and_then(Value::as_str).map(str::to_owned);
            if let (Some(path), Some(Value::String(content))) = (path, fields.get_mut("content")) {
                *content = absolute(&Path::new(SOURCES).join(path), content, repository);
            }
            fields.values_mut().for_each(|value| rewrite(value, repository));
        }
        _ => {}
    }
}

/// The text of a page in which links that leave the book are absolute.
fn absolute(page: &Path, text: &str, repository: &str) -> String {
    let mut out = text.to_owned();
    for link in links(text).into_iter().rev() {
        let Some((file, _)) = link.local().filter(|(file, _)| !file.is_empty()) else { continue };
        let path = resolve(page, file);
        if !path.starts_with(SOURCES) {
            let path = path.to_string_lossy().replace('\\', "/");
            let target = link.target.replacen(file, &format!("{repository}/blob/main/{path}"), 1);
            out.replace_range(link.start..link.start + link.target.len(), &target);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn links_that_leave_the_book_are_absolute() {
        let content = "[a](../ARCHITECTURE.md) [b](../../README.md#scope) [c](#here)";
        let chapter = |content: &str| json!({ "items": [{ "Chapter": { "content": content, "source_path": "tasks/a.md", "sub_items": [] } }] });
        let mut book = chapter(content);
        rewrite(&mut book, "https://host/shardc");
        let expected =
            "[a](../ARCHITECTURE.md) [b](https://host/shardc/blob/main/README.md#scope) [c](#here)";
        assert_eq!(book, chapter(expected));
    }
}
