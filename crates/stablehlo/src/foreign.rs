//! Recognizes files that are not programs, and suggests how to get a program from each kind.

use shardc_ir::Diagnostic;

use crate::codes;

/// The number of bytes examined at the start of a file.
const HEAD: usize = 4096;

const NO_PROGRAM: &str = "a program is StableHLO text, MLIR bytecode or a portable artifact";
const PICKLE: &str =
    "the file contains Python objects, not a program: in JAX, print(jax.jit(f).lower(*args).as_text())";
const UTF_16: &str = "convert it: iconv -f UTF-16 -t UTF-8 FILE";
const JAX: &str = "in JAX: print(jax.jit(f).lower(*args).as_text())";

/// Returns an error with a hint if `bytes` are known to be neither StableHLO text nor MLIR bytecode. The hint explains how to get a program
/// from the file.
///
/// ```
/// let error = shardc_stablehlo::not_a_program(b"HloModule jit_f, entry_computation_layout={()->f32[]}");
/// assert_eq!(error.map(|e| e.message), Some("the input is HLO text, not StableHLO".to_owned()));
/// ```
#[must_use]
pub fn not_a_program(bytes: &[u8]) -> Option<Diagnostic> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let (what, hint) = binary(head).or_else(|| text(head))?;
    Some(Diagnostic::invalid(codes::FOREIGN, format!("the input is {what}, not StableHLO")).hint(hint))
}

/// Returns the error for bytes that are not UTF-8 and not a recognized file.
#[must_use]
pub fn not_text(bytes: &[u8], error: std::str::Utf8Error) -> Diagnostic {
    let at = error.valid_up_to();
    let byte = bytes.get(at).copied().unwrap_or(0);
    let message = "the input is neither StableHLO text nor MLIR bytecode";
    Diagnostic::invalid(codes::FOREIGN, message)
        .note(shardc_ir::Span::NONE, format!("byte {at} is 0x{byte:02x}, which is not UTF-8"))
        .hint(NO_PROGRAM)
}

fn binary(head: &[u8]) -> Option<(&'static str, String)> {
    let magics: [(&[u8], &str, &str); 22] = [
        (b"\x1f\x8b", "a gzip archive", "unpack it first: gunzip FILE"),
        (
            b"PK\x03\x04",
            "a zip archive",
            "unpack it first; for a file of torch.export, lower the program with torch_xla",
        ),
        (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first: unzstd FILE"),
        (b"BZh", "a bzip2 archive", "unpack it first: bunzip2 FILE"),
        (b"\xfd7zXZ\x00", "an xz archive", "unpack it first: unxz FILE"),
        (b"\x89PNG", "a PNG image", NO_PROGRAM),
        (b"\xff\xd8\xff", "a JPEG image", NO_PROGRAM),
        (b"GIF8", "a GIF image", NO_PROGRAM),
        (b"%PDF", "a PDF document", NO_PROGRAM),
        (b"SQLite format 3", "an SQLite database", NO_PROGRAM),
        (b"\x80\x02", "a Python pickle", PICKLE),
        (b"\x80\x03", "a Python pickle", PICKLE),
        (b"\x80\x04", "a Python pickle", PICKLE),
        (b"\x80\x05", "a Python pickle", PICKLE),
        (b"\xcf\xfa\xed\xfe", "an executable", "pass the program that it was compiled from"),
        (b"MZ", "an executable", "pass the program that it was compiled from"),
        (b"\x7fELF", "an executable", "pass the program that it was compiled from"),
        (b"\x89HDF", "an HDF5 file", "the file contains arrays, not a program"),
        (b"\x93NUMPY", "a NumPy file", "the file contains an array, not a program"),
        (b"BC\xc0\xde", "LLVM bitcode", "pass the StableHLO that it was compiled from"),
        (b"\xff\xfe", "UTF-16 text", UTF_16),
        (b"\xfe\xff", "UTF-16 text", UTF_16),
    ];
    for (magic, what, hint) in magics {
        if head.starts_with(magic) {
            return Some((what, hint.to_owned()));
        }
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some(("a tar archive", "unpack it first: tar -xf FILE".to_owned()));
    }
    // safetensors: a JSON header after its length, 8 bytes in little-endian order.
    if head.get(8) == Some(&b'{') && head.get(4..8) == Some(&[0; 4]) {
        return Some(("a safetensors file", "the file contains arrays, not a program".to_owned()));
    }
    // UTF-16 without a byte order mark: every other byte is zero.
    let (even, odd) = (head.iter().step_by(2), head.iter().skip(1).step_by(2));
    if head.len() >= 16 && (even.clone().all(|&b| b == 0) != odd.clone().all(|&b| b == 0)) {
        return Some(("UTF-16 text", "convert it: iconv -f UTF-16LE -t UTF-8 FILE".to_owned()));
    }
    if !head.starts_with(b"ML\xefR") && head.windows(4).any(|bytes| bytes == b"ML\xefR") {
        let hint = "extract the program: jax.export.deserialize(data).mlir_module()";
        return Some(("a serialized JAX export", hint.to_owned()));
    }
    // The first field of an HloModuleProto is its name, a short string.
    if let [0x0a, length @ 1..=127, name @ ..] = head
        && name.get(usize::from(*length)) == Some(&0x12)
        && name.get(..usize::from(*length)).is_some_and(|name| name.is_ascii())
    {
        return Some((
            "a serialized HLO module",
            format!("export StableHLO from the tool that wrote it; {JAX}"),
        ));
    }
    None
}

fn text(head: &[u8]) -> Option<(&'static str, String)> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
    };
    let first = text.lines().map(str::trim).find(|line| {
        !line.is_empty() && !line.starts_with("//") && (!line.starts_with('#') || line.starts_with("#!"))
    })?;
    let starts = |words: &[&str]| words.iter().any(|word| first.starts_with(word));
    if first.starts_with("HloModule") {
        return Some(("HLO text", format!("convert it with XLA's hlo-translate -hlo-to-mlir, or {JAX}")));
    }
    if starts(&["import ", "from ", "def ", "class ", "@jax", "\"\"\"", "'''", "#!/"]) {
        return Some((
            "a Python or shell script",
            format!("pass the StableHLO program that the script lowers; {JAX}"),
        ));
    }
    if starts(&["{ lambda", "{lambda"]) {
        return Some(("a jaxpr", format!("lower the function to StableHLO; {JAX}")));
    }
    if starts(&["; ModuleID", "source_filename", "target triple", "define "]) {
        return Some(("LLVM IR", "pass the StableHLO that it was compiled from".to_owned()));
    }
    if starts(&["{\"", "{", "["]) && !first.starts_with("{-#") {
        return Some(("JSON", "a program is text that begins with `module` or `func.func`".to_owned()));
    }
    if starts(&["<!DOCTYPE", "<html", "<?xml"]) {
        return Some(("HTML", "download the file itself, not the page that shows it".to_owned()));
    }
    if first.starts_with("version https://git-lfs") {
        return Some(("a Git LFS pointer", "fetch the file itself: git lfs pull".to_owned()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognized() {
        let utf_16: Vec<u8> = "func.func @main".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: &[(&[u8], &str)] = &[
            (b"\x89PNG\r\n\x1a\n", "a PNG image"),
            (b"\x80\x04\x95\x10", "a Python pickle"),
            (b"\xfe\xff\x00m", "UTF-16 text"),
            (&utf_16, "UTF-16 text"),
            (&tar, "a tar archive"),
            (b"\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\"", "a safetensors file"),
            (b"\x0a\x05jit_f\x12\x04main", "a serialized HLO module"),
            (b"\x1f\x8b\x08", "a gzip archive"),
            (b"\x7fELF\x02", "an executable"),
            (b"HloModule jit_f", "HLO text"),
        ];
        for (bytes, what) in cases {
            let error = not_a_program(bytes).unwrap();
            assert_eq!(error.message, format!("the input is {what}, not StableHLO"));
            assert_eq!(error.code, "SH0191");
            assert!(error.hint.is_some());
        }
        assert_eq!(not_a_program(b"module {\n}"), None);
        assert_eq!(not_a_program(b"ML\xefR\x06"), None);
    }
}
