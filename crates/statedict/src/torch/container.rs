//! The container of a `torch.save` file: a zip archive with uncompressed entries.

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use zip::{CompressionMethod, ZipArchive};

use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::{DataFile, Reader};

/// The maximum size of a pickle. Pickles of models have some kilobytes per hundred tensors.
const LARGEST_PICKLE: u64 = 64 << 20;
/// The magic number of zip archives.
const ZIP: &[u8] = b"PK\x03\x04";
/// The start of `torch.save` files before PyTorch 1.6: a pickle of protocol 2 with a magic number.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

/// Returns whether a file starts like a `torch.save` file, including the old format.
///
/// # Errors
/// The file is missing (SH1402), or cannot be read (SH1401).
pub fn is_torch(path: &Path) -> Result<bool> {
    let file = DataFile::open(path)?;
    let mut head = [0; 2];
    if file.len() < 2 {
        return Ok(false);
    }
    file.read_at(0, &mut head)?;
    Ok(ZIP.starts_with(&head) || LEGACY.starts_with(&head))
}

/// A `torch.save` file: the pickle, and the locations of storages.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) file: Arc<DataFile>,
    pub(crate) pickle: Vec<u8>,
    /// The byte offset in the file, and the length in bytes, of each storage, by its key.
    pub(crate) storages: HashMap<String, (u64, u64)>,
}

impl Container {
    pub(crate) fn open(path: &Path) -> Result<Container> {
        Container::of(&DataFile::open(path)?)
    }

    /// Wraps a pickle that is not in a zip archive and has no storages.
    pub(crate) fn of_pickle(pickle: Vec<u8>) -> Container {
        Container { file: DataFile::held(Vec::new().into()), pickle, storages: HashMap::new() }
    }

    pub(crate) fn of(file: &Arc<DataFile>) -> Result<Container> {
        let path = file.path();
        let wrong = |text: String| StateDictError::new(ErrorKind::Container, text).in_file(path);
        let mut head = [0; 14];
        let head = &mut head[..file.len().min(14) as usize];
        file.read_at(0, head)?;
        if head == LEGACY {
            let error = wrong(
                "the file has the format of torch.save before PyTorch 1.6, which is not supported".to_owned(),
            );
            return Err(error.hint(
                "load and save the file again with a newer PyTorch: torch.save(torch.load(FILE), FILE)",
            ));
        }
        if !head.starts_with(ZIP) {
            return Err(wrong("the file is not a torch.save file: it is not a zip archive".to_owned()));
        }
        let bad_zip = |error: zip::result::ZipError| {
            // The central directory is at the end of an archive.
            let text = match error.to_string() {
                text if text.contains("EOCD") => {
                    format!("the file is truncated or damaged: the zip archive has no end: {text}")
                }
                text => format!("the zip archive is damaged: {text}"),
            };
            wrong(text).hint("copy or download the file again")
        };
        let mut archive = ZipArchive::new(BufReader::new(Reader::new(file.clone()))).map_err(bad_zip)?;
        if archive.has_duplicate_names() {
            return Err(wrong("two entries of the zip archive have the same name".to_owned()));
        }
        if archive.has_overlapping_entries().map_err(bad_zip)? {
            return Err(wrong("entries of the zip archive overlap".to_owned()));
        }
        let mut container = Container { file: file.clone(), pickle: Vec::new(), storages: HashMap::new() };
        let mut root: Option<String> = None;
        let mut byte_order = None;
        for i in 0..archive.len() {
            let mut entry = archive.by_index(i).map_err(bad_zip)?;
            let name = entry.name().map_err(bad_zip)?.into_owned();
            let Some((folder, rest)) = name.split_once('/') else {
                return Err(wrong(format!("the entry {name:?} of the zip archive is not in a folder")));
            };
            if *root.get_or_insert_with(|| folder.to_owned()) != folder {
                return Err(wrong("the zip archive has more than one folder".to_owned()));
            }
            let size = entry.size();
            if entry.compression() != CompressionMethod::Stored
                || entry.compressed_size() != size
                || entry.encrypted()
            {
                return Err(wrong(format!(
                    "the entry {name:?} of the zip archive is compressed or encrypted"
                )));
            }
            if let Some(key) = rest.strip_prefix("data/") {
                let start = entry.data_start();
                let Some(start) =
                    start.filter(|start| start.checked_add(size).is_some_and(|end| end <= file.len()))
                else {
                    return Err(wrong(format!("the entry {name:?} exceeds the end of the file")));
                };
                container.storages.insert(key.to_owned(), (start, size));
                continue;
            }
            let text = match rest {
                "data.pkl" if size <= LARGEST_PICKLE => &mut container.pickle,
                "byteorder" if size <= 16 => byte_order.insert(Vec::new()),
                "data.pkl" | "byteorder" => return Err(wrong(format!("{rest} is too large: {size} bytes"))),
                // A TorchScript archive contains code. All entries not listed here are ignored: tensors do not need them.
                "constants.pkl" => {
                    let error =
                        wrong("the file is a TorchScript archive, which contains a program".to_owned());
                    return Err(error.hint("save model.state_dict() with torch.save"));
                }
                _ => continue,
            };
            // Reading to the end also verifies the checksum.
            entry.read_to_end(text).map_err(|error| wrong(format!("cannot read {rest}: {error}")))?;
        }
        if container.pickle.is_empty() {
            return Err(wrong("the zip archive has no data.pkl, so it is not a torch.save file".to_owned()));
        }
        match byte_order.as_deref() {
            None | Some(b"little") => Ok(container),
            Some(_) => Err(wrong("the elements are big-endian".to_owned())
                .hint("load and save the file again on a little-endian machine")),
        }
    }
}
