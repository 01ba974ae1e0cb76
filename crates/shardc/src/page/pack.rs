//! JSON in which every distinct value occurs once.
//!
//! The propagation paths of the arguments of a large program consist of the same steps. The packed form is a table of distinct values, in
//! which lists and objects refer to earlier entries by index:
//!
//! ```json
//! {"shapes": [["line", "text"]], "table": [12, "%0 = ...", [1, 0, 1]]}
//! ```
//!
//! An entry that is an array is a list if it begins with 0, or an object whose keys are `shapes[n - 1]` if it begins with `n`. The last entry
//! is the whole value.

use indexmap::IndexSet;
use serde_json::Value;

/// The packed form of a value, as text that may be embedded in an HTML `script` element.
pub(super) fn packed(value: &Value) -> String {
    let mut packer = Packer::default();
    packer.add(value);
    let shapes: Vec<&str> = packer.shapes.iter().map(String::as_str).collect();
    let table: Vec<&str> = packer.table.iter().map(String::as_str).collect();
    let text = format!("{{\"shapes\":[{}],\n\"table\":[{}]}}", shapes.join(","), table.join(","));
    // `</script>` and `<!--` would end or hide the element. In JSON, `<` occurs only within strings.
    text.replace('<', "\\u003c")
}

#[derive(Default)]
struct Packer {
    /// The keys of each shape, as JSON.
    shapes: IndexSet<String>,
    /// The entries, as JSON.
    table: IndexSet<String>,
}

impl Packer {
    /// The index of a value in the table. The depth of the recursion is that of the report's types.
    fn add(&mut self, value: &Value) -> usize {
        let entry = match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
            Value::Array(items) => {
                let indices = items.iter().map(|item| self.add(item)).collect();
                list(0, indices)
            }
            Value::Object(fields) => {
                let keys: Vec<&String> = fields.keys().collect();
                let keys = serde_json::to_string(&keys).unwrap_or_default();
                let shape = self.shapes.insert_full(keys).0 + 1;
                let indices = fields.values().map(|field| self.add(field)).collect();
                list(shape, indices)
            }
        };
        self.table.insert_full(entry).0
    }
}

fn list(first: usize, rest: Vec<usize>) -> String {
    let numbers: Vec<String> = std::iter::once(first).chain(rest).map(|n| n.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::packed;

    #[test]
    fn equal_values_are_stored_once() {
        let place = json!({"line": 3, "text": "x"});
        let text = packed(&json!([place, place, 3]));
        assert_eq!(text, "{\"shapes\":[[\"line\",\"text\"]],\n\"table\":[3,\"x\",[1,0,1],[0,2,2,0]]}");
    }

    #[test]
    fn the_whole_value_is_last() {
        // The whole value cannot be equal to an earlier entry, since it contains all of them.
        assert!(packed(&json!([[], [[]]])).ends_with("[[0],[0,0],[0,0,1]]}"));
    }

    #[test]
    fn no_markup_is_left() {
        let text = packed(&json!({"</script>": "<!-- </script><script>"}));
        assert!(!text.contains('<'), "{text}");
    }
}
