//! The nodes of B+trees.

use bytes::Bytes;

use super::cursor::Cursor;
use super::manifest::Link;
use super::table;

/// The maximum length of a key in bytes. A key consists of the name of an array and the grid index of a block.
const LONGEST_KEY: usize = 16 << 10;

/// The location of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// The value is stored in the node.
    Inline(Bytes),
    /// The value is stored in a data file: the path of the file relative to the database, and offset and length in bytes.
    Indirect { path: String, offset: u64, length: u64 },
}

/// A decoded node. Its keys lack the prefix that the nodes above it define.
#[derive(Debug)]
pub(super) enum Node {
    Leaf(Vec<(Vec<u8>, Value)>),
    /// For each child, the prefix of all its keys, and a reference to the child.
    Interior(Vec<(Vec<u8>, Link)>),
}

impl Node {
    /// Decodes a node from its body; `link` is the reference through which it was found.
    pub(super) fn read(body: &Bytes, link: &Link) -> Result<Node, String> {
        let mut cursor = Cursor::new(body);
        let height = cursor.byte()?;
        if height != link.height {
            return Err(format!("it has height {height}, expected {}", link.height));
        }
        let files = table::read(&mut cursor, &link.file.base)?;
        let count = cursor.count()?;
        let mut prefixes = vec![0; count.min(1)];
        prefixes.extend(cursor.lengths(count.saturating_sub(1))?);
        let suffixes = cursor.lengths(count)?;
        let common = if height > 0 { cursor.lengths(count)? } else { Vec::new() };
        let keys = keys(&mut cursor, &prefixes, &suffixes)?;
        let file = |number: u64| {
            let file = usize::try_from(number).ok().and_then(|number| files.get(number));
            file.cloned().ok_or("it refers to a data file that it does not list")
        };
        if let Some(below) = height.checked_sub(1) {
            let numbers = cursor.varints(count)?;
            let offsets = cursor.varints(count)?;
            let lengths = cursor.varints(count)?;
            // Skips the statistics of each child: number of keys, bytes of nodes, bytes of values.
            cursor.varints(3 * count)?;
            cursor.end()?;
            let mut children = Vec::with_capacity(count);
            for (i, mut key) in keys.into_iter().enumerate() {
                if common[i] > key.len() {
                    return Err(
                        "the common prefix of a child is longer than the first key of the child".to_owned()
                    );
                }
                key.truncate(common[i]);
                let (offset, length) = (offsets[i], lengths[i]);
                children.push((key, Link { file: file(numbers[i])?, offset, length, height: below }));
            }
            return Ok(Node::Interior(children));
        }
        let lengths = cursor.lengths(count)?;
        let kinds = cursor.varints(count)?;
        if let Some(other) = kinds.iter().find(|&&kind| kind > 1) {
            return Err(format!("unknown kind of value {other}"));
        }
        let indirect = kinds.iter().filter(|&&kind| kind == 1).count();
        let numbers = cursor.varints(indirect)?;
        let offsets = cursor.varints(indirect)?;
        let mut places = numbers.into_iter().zip(offsets);
        let mut entries = Vec::with_capacity(count);
        for ((key, length), kind) in keys.into_iter().zip(lengths).zip(kinds) {
            let value = if kind == 0 {
                let start = cursor.position();
                cursor.take(length)?;
                Value::Inline(body.slice(start..start + length))
            } else {
                let (number, offset) = places.next().unwrap_or_default();
                Value::Indirect { path: file(number)?.path, offset, length: length as u64 }
            };
            entries.push((key, value));
        }
        cursor.end()?;
        Ok(Node::Leaf(entries))
    }
}

/// Decodes keys, which must be in strictly ascending order. `prefixes[i]` is the number of bytes that key `i` shares with the previous key.
fn keys(cursor: &mut Cursor<'_>, prefixes: &[usize], suffixes: &[usize]) -> Result<Vec<Vec<u8>>, String> {
    let mut keys: Vec<Vec<u8>> = Vec::with_capacity(prefixes.len());
    // Shared prefixes could expand without limit, so the total size of the keys is bounded.
    let mut room = 256usize << 20;
    for (&prefix, &suffix) in prefixes.iter().zip(suffixes) {
        let last = keys.last().map(Vec::as_slice).unwrap_or_default();
        let shared =
            last.get(..prefix).ok_or("the shared prefix of a key is longer than the previous key")?;
        let mut key = shared.to_vec();
        key.extend(cursor.take(suffix)?);
        if !keys.is_empty() && key.as_slice() <= last {
            return Err("its keys are not in strictly ascending order".to_owned());
        }
        room = room
            .checked_sub(key.len())
            .filter(|_| key.len() <= LONGEST_KEY)
            .ok_or("its keys are too long")?;
        keys.push(key);
    }
    Ok(keys)
}
