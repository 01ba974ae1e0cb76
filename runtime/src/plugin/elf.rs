//! Checks by its headers whether a file can be a shared library for this machine.
//!
//! The dynamic loader maps a file according to its headers, and a process that accesses a mapped part beyond the end of the file is killed
//! by SIGBUS. So a truncated file is detected first.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The value of the ELF field `e_machine` for this program's processor; `None` if it is not known.
const MACHINE: Option<u16> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else {
    None
};
/// The ELF constant `ET_DYN`: the file is a shared library.
const SHARED: u16 = 3;
/// The ELF constant `PT_LOAD`: a segment that the loader maps.
const LOADED: u32 = 1;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// Checks the headers of a file.
///
/// # Errors
///
/// A description of the defect, worded as the predicate of a sentence about the file.
pub(super) fn check(path: &Path) -> Result<(), String> {
    // The check applies only to the 64-bit little-endian ELF files of Linux: other systems use other formats.
    if !cfg!(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")) {
        return Ok(());
    }
    let mut file = File::open(path).map_err(|e| e.to_string())?;
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    let mut header = [0u8; HEADER];
    let short = |_| format!("it is not a shared library: it has {length} bytes");
    file.read_exact(&mut header).map_err(short)?;
    if &header[..4] != b"\x7fELF" {
        return Err("it is not a shared library: it does not begin like an ELF file".to_owned());
    }
    if header[4] != 2 || header[5] != 1 {
        return Err(
            "it is a shared library for a different kind of machine: not 64 bits, little-endian".to_owned()
        );
    }
    let kind = half(&header, 16);
    if kind != SHARED {
        return Err(format!("it is an ELF file of type {kind}, not a shared library"));
    }
    let machine = half(&header, 18);
    if MACHINE.is_some_and(|here| here != machine) {
        return Err(format!(
            "it is a shared library for a different processor (ELF machine {machine}; this machine is {})",
            std::env::consts::ARCH
        ));
    }
    let sections = end(word(&header, 40), half(&header, 58), half(&header, 60));
    let (start, size, count) = (word(&header, 32), half(&header, 54), half(&header, 56));
    let mut needed = sections.max(end(start, size, count));
    if needed <= length && usize::from(size) >= PROGRAM_HEADER {
        let mut table = vec![0u8; usize::from(size) * usize::from(count)];
        file.seek(SeekFrom::Start(start)).map_err(|e| e.to_string())?;
        file.read_exact(&mut table).map_err(|e| e.to_string())?;
        for entry in table.chunks_exact(usize::from(size)).filter(|entry| full(entry, 0) == LOADED) {
            needed = needed.max(word(entry, 8).saturating_add(word(entry, 32)));
        }
    }
    if needed > length {
        return Err(format!("it is truncated: it has {length} bytes, but its headers require {needed}"));
    }
    Ok(())
}

/// Returns the offset after the end of a table with `count` entries of `size` bytes.
fn end(start: u64, size: u16, count: u16) -> u64 {
    start.saturating_add(u64::from(size) * u64::from(count))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn full(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from(full(bytes, at)) | u64::from(full(bytes, at + 4)) << 32
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::plugin::Plugin;

    /// Returns the bytes of a shared library that this process has loaded.
    fn library() -> Vec<u8> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path =
            maps.lines().find_map(|line| line.split_whitespace().last().filter(|p| p.contains("libc.so")));
        std::fs::read(path.unwrap()).unwrap()
    }

    fn check_error(bytes: &[u8]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.so");
        std::fs::write(&path, bytes).unwrap();
        check(&path).err().unwrap_or_default()
    }

    #[test]
    fn truncated_files_are_rejected() {
        let whole = library();
        assert_eq!(check_error(&whole), "");
        for length in [64, 1000, 4096, whole.len() / 2, whole.len() - 1] {
            assert!(
                check_error(&whole[..length]).contains("it is truncated"),
                "{length}: {}",
                check_error(&whole[..length])
            );
        }
    }

    #[test]
    fn other_files_are_rejected() {
        assert!(check_error(b"").contains("it has 0 bytes"));
        assert!(check_error(&[b'x'; 100]).contains("does not begin like an ELF file"));
        let changed = |at: usize, value: u8| {
            let mut bytes = library();
            bytes[at] = value;
            check_error(&bytes)
        };
        assert!(changed(4, 1).contains("not 64 bits"));
        assert!(changed(16, 2).contains("ELF file of type 2"));
        assert!(changed(18, 183).contains("different processor"));
    }

    /// A truncated library is rejected: the loader would map it, and the process would be killed when it accesses the missing part.
    #[test]
    fn truncated_plugin_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plugin.so");
        let whole = library();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = Plugin::load(&path).unwrap_err();
        assert_eq!(error.code(), "RT0102");
        assert!(error.to_string().contains("it is truncated"), "{error}");
        // An intact library that is not a plugin passes the check, so the error is reported when the library is loaded.
        std::fs::write(&path, &whole).unwrap();
        let error = Plugin::load(&path).unwrap_err().to_string();
        assert!(error.contains("it is not a PJRT plugin") && error.contains("GetPjrtApi"), "{error}");
    }
}
