//! The manifest of a database: the B+tree of its newest version.

use bytes::Bytes;

use super::cursor::Cursor;
use super::envelope::{self, Kind};
use super::table::{self, DataFile};

/// A reference to a node of a B+tree in a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) file: DataFile,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) height: u8,
}

/// The contents of a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Manifest {
    /// The root of the newest version; `None` if the database is empty.
    Root(Option<Link>),
    /// The manifest has no root: the versions are in numbered manifest files.
    Numbered,
}

/// The maximum size of a manifest in bytes. A manifest lists at most a few thousand versions, so its actual size is much smaller.
const LARGEST: u64 = 16 << 20;

impl Manifest {
    pub(super) fn read(encoded: &Bytes) -> Result<Manifest, String> {
        let body = envelope::open(encoded, Kind::Manifest, LARGEST)?;
        let mut cursor = Cursor::new(&body);
        let _uuid = cursor.take(16)?;
        let kind = cursor.varint()?;
        let _inline = cursor.varint()?;
        let _largest_node = cursor.varint()?;
        let _arity = cursor.byte()?;
        match cursor.varint()? {
            0 => {}
            1 => drop(cursor.take(4)?),
            other => return Err(format!("unknown compression method {other}")),
        }
        match kind {
            0 => {}
            1 => return Ok(Manifest::Numbered),
            other => return Err(format!("unknown kind of manifest {other}")),
        }
        let files = table::read(&mut cursor, "")?;
        // The newest versions are stored in columns, oldest first. Older versions are in nodes of a version tree, which are not read.
        let count = cursor.count()?;
        let generations = cursor.varints(count)?;
        let heights = cursor.take(count)?;
        let numbers = cursor.varints(count)?;
        let offsets = cursor.varints(count)?;
        let lengths = cursor.varints(count)?;
        let keys = cursor.varints(count)?;
        if generations.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("its versions are not in strictly ascending order".to_owned());
        }
        let Some(last) = count.checked_sub(1) else { return Ok(Manifest::Root(None)) };
        if keys[last] == 0 {
            return Ok(Manifest::Root(None));
        }
        let file = usize::try_from(numbers[last]).ok().and_then(|number| files.get(number));
        let file = file.ok_or("its newest version is in a file that it does not list")?.clone();
        let (offset, length, height) = (offsets[last], lengths[last], heights[last]);
        Ok(Manifest::Root(Some(Link { file, offset, length, height })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts() {
        let mut body = vec![7; 16];
        body.extend([0, 0x80, 8, 100, 4, 0]);
        body.extend([1, 3, 0]);
        body.extend(b"d/a");
        // Two versions, stored in columns: generations, heights, file indices, offsets, lengths, numbers of keys. The remaining columns are
        // not read.
        body.extend([2, 4, 5, 0, 1, 0, 0, 10, 20, 30, 40, 2, 3]);
        let read = |body: &[u8]| Manifest::read(&envelope::tests::encode(Kind::Manifest, body, true));
        let file = DataFile { path: "d/a".to_owned(), base: String::new() };
        let root = Link { file, offset: 20, length: 40, height: 1 };
        assert_eq!(read(&body), Ok(Manifest::Root(Some(root))));
        for cut in 0..body.len() {
            assert!(read(&body[..cut]).is_err(), "{cut}");
        }
        body[16] = 1;
        assert_eq!(read(&body), Ok(Manifest::Numbered));
    }
}
