//! Files that are given in place of a program: what they are, and how a program comes out of them.

use shardc_ir::Diagnostic;

use crate::codes;

/// Bytes at the start that are looked at.
const HEAD: usize = 4096;

const JAX: &str = "in JAX: print(jax.jit(f).lower(*args).as_text())";

/// What `bytes` are, if they are known to be something else than StableHLO text or MLIR bytecode: an error that says
/// how to get a program from it.
///
/// ```
/// let error = shardc_stablehlo::not_a_program(b"HloModule jit_f, entry_computation_layout={()->f32[]}");
/// assert_eq!(error.map(|e| e.message), Some("this is HLO text, not StableHLO".to_owned()));
/// ```
#[must_use]
pub fn not_a_program(bytes: &[u8]) -> Option<Diagnostic> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let (what, hint) = binary(head).or_else(|| text(head))?;
    Some(Diagnostic::invalid(codes::FOREIGN, format!("this is {what}, not StableHLO")).hint(hint))
}

fn binary(head: &[u8]) -> Option<(&'static str, String)> {
    let magics: [(&[u8], &str, &str); 8] = [
        (b"\x1f\x8b", "a gzip archive", "unpack it first: gunzip FILE"),
        (
            b"PK\x03\x04",
            "a zip archive",
            "unpack it first; in one that torch.export wrote, lower the program with torch_xla",
        ),
        (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first: unzstd FILE"),
        (b"\x7fELF", "an executable", "give the program that it was compiled from"),
        (b"\x89HDF", "an HDF5 file", "it holds arrays, not a program"),
        (b"\x93NUMPY", "a NumPy file", "it holds an array, not a program"),
        (b"BC\xc0\xde", "LLVM bitcode", "give the StableHLO that it was compiled from"),
        (b"\xff\xfe", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8 FILE"),
    ];
    for (magic, what, hint) in magics {
        if head.starts_with(magic) {
            return Some((what, hint.to_owned()));
        }
    }
    if !head.starts_with(b"ML\xefR") && head.windows(4).any(|bytes| bytes == b"ML\xefR") {
        let hint = "take the program out of it: jax.export.deserialize(data).mlir_module()";
        return Some(("a serialized JAX export", hint.to_owned()));
    }
    // Field 1 of an HloModuleProto is its name, a short string.
    if let [0x0a, length @ 1..=127, name @ ..] = head
        && name.get(usize::from(*length)) == Some(&0x12)
        && name.get(..usize::from(*length)).is_some_and(|name| name.is_ascii())
    {
        return Some((
            "a serialized HLO module",
            format!("have the tool that wrote it write StableHLO; {JAX}"),
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
        return Some(("a Python or shell script", format!("give the program that it lowers; {JAX}")));
    }
    if starts(&["{ lambda", "{lambda"]) {
        return Some(("a jaxpr", format!("lower it; {JAX}")));
    }
    if starts(&["; ModuleID", "source_filename", "target triple", "define "]) {
        return Some(("LLVM IR", "give the StableHLO that it was compiled from".to_owned()));
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
