//! Decodes the table of data files to which the entries of a node or manifest refer.

use super::cursor::Cursor;

/// The maximum length of the path of a data file, in bytes.
const LONGEST: usize = 65_535;

/// A data file, by its path relative to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataFile {
    pub(super) path: String,
    /// The folder to which the paths in this data file are relative.
    pub(super) base: String,
}

/// Reads a table of data files, whose paths are relative to the folder `base`.
pub(super) fn read(cursor: &mut Cursor<'_>, base: &str) -> Result<Vec<DataFile>, String> {
    let count = cursor.count()?;
    let mut prefixes = vec![0; count.min(1)];
    prefixes.extend(cursor.lengths(count.saturating_sub(1))?);
    let suffixes = cursor.lengths(count)?;
    let bases = cursor.lengths(count)?;
    let mut files = Vec::with_capacity(count);
    let mut path: Vec<u8> = Vec::new();
    // Shared prefixes could expand without limit, so the total size of the paths is bounded.
    let mut room = 64 << 20;
    for ((prefix, suffix), own_base) in prefixes.into_iter().zip(suffixes).zip(bases) {
        if prefix > path.len() {
            return Err("the shared prefix of a data file's path is longer than the previous path".to_owned());
        }
        path.truncate(prefix);
        path.extend(cursor.take(suffix)?);
        let length = base.len() + path.len();
        if length > LONGEST || length > room {
            return Err("the paths of its data files are too long".to_owned());
        }
        room -= length;
        let text = std::str::from_utf8(&path).map_err(|_| "the path of a data file is not UTF-8")?;
        let below =
            text.get(..own_base).ok_or("the base path of a data file is longer than its full path")?;
        let whole = format!("{base}{text}");
        if whole.split('/').any(|part| matches!(part, "" | "." | "..")) || whole.contains(['\\', '\0']) {
            return Err(format!("the data file {whole:?} is outside of the database's folder"));
        }
        files.push(DataFile { path: whole, base: format!("{base}{below}") });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_prefixes_and_stay_below_the_database() {
        let table = [&[2u8, 3, 4, 1, 2, 2][..], b"p/aab"].concat();
        let files = read(&mut Cursor::new(&table), "x/");
        // The second path shares three bytes with the first and adds one.
        let table_of = |prefix, first: &[u8], second: &[u8], base: u8| {
            let mut table = vec![2, prefix, first.len() as u8, second.len() as u8, base, base];
            table.extend(first);
            table.extend(second);
            table
        };
        assert!(files.is_ok());
        let files = read(&mut Cursor::new(&table_of(3, b"p/aa", b"b", 2)), "x/").unwrap();
        assert_eq!(files[1], DataFile { path: "x/p/ab".to_owned(), base: "x/p/".to_owned() });
        for (prefix, first, second, base) in
            [(9, &b"a"[..], &b"b"[..], 0), (0, b"../a", b"b", 0), (0, b"/etc", b"b", 0), (0, b"a", b"b", 2)]
        {
            assert!(read(&mut Cursor::new(&table_of(prefix, first, second, base)), "").is_err());
        }
        assert_eq!(read(&mut Cursor::new(&[0]), "").unwrap(), []);
    }
}
