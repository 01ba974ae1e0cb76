//! Reads the values of VHLO attributes, and limits the size of new attributes.

use crate::bytecode::attr::{AttrRef, BAttr, BType, Piece, Store, TypeRef};

/// The error message of a failed conversion: one sentence.
pub(super) type Problem = String;

/// The maximum length of a list of dimension numbers or sizes that may be encoded as a splat.
const MAX_SPLAT: usize = 1 << 10;

/// The limit on the size of new attributes: bytes per byte of the file, plus a constant.
const MAX_GROWTH: usize = 64;
const MIN_LIMIT: usize = 16 << 20;

/// The memory that new attributes may still take.
pub(super) struct Budget {
    /// The number of bytes that new attributes may still take.
    left: usize,
}

impl Budget {
    /// Creates the budget for a file of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        let left = size.saturating_mul(MAX_GROWTH).saturating_add(MIN_LIMIT);
        Budget { left }
    }

    /// Adds a new attribute.
    pub(super) fn add<'b>(&mut self, store: &mut Store<'b>, attr: BAttr<'b>) -> Result<AttrRef, Problem> {
        let size = match &attr {
            BAttr::DenseArray { bytes, .. } => bytes.len(),
            BAttr::Array(items) => items.len() * size_of::<AttrRef>(),
            BAttr::Pieces(pieces) => pieces.iter().map(piece_size).sum(),
            _ => 0,
        };
        self.left = self.left.saturating_sub(size + size_of::<BAttr<'_>>());
        if self.left == 0 {
            return Err("the attributes take too much memory for the size of the file".to_owned());
        }
        Ok(store.add_attr(attr))
    }
}

fn piece_size(piece: &Piece<'_>) -> usize {
    let text = if let Piece::Text(text) = piece { text.len() } else { 0 };
    size_of::<Piece<'_>>() + text
}

/// Returns the error for a missing attribute that VHLO always writes.
pub(super) fn missing(name: &str) -> Problem {
    format!("the attribute `{name}` is missing")
}

/// Returns the text of a channel handle.
pub(super) fn channel(handle: i64, kind: i64) -> String {
    format!("#stablehlo.channel_handle<handle = {handle}, type = {kind}>")
}

/// Returns the value of a boolean attribute.
pub(super) fn bool(store: &Store<'_>, at: AttrRef) -> Option<bool> {
    match store.attr(at) {
        attr if is_text(attr, "true") => Some(true),
        attr if is_text(attr, "false") => Some(false),
        BAttr::Int { ty, .. } if matches!(store.ty(*ty), BType::Int { width: 1, .. }) => {
            store.int(at).map(|value| value != 0)
        }
        _ => None,
    }
}

pub(super) fn is_text(attr: &BAttr<'_>, wanted: &str) -> bool {
    matches!(attr, BAttr::Pieces(pieces) if matches!(&pieces[..], [Piece::Text(text)] if text == wanted))
}

/// Returns the element type, number of elements and bytes of a tensor.
pub(super) fn dense<'s>(store: &'s Store<'_>, at: AttrRef) -> Option<(TypeRef, usize, &'s [u8])> {
    let BAttr::Dense { ty, bytes } = store.attr(at) else { return None };
    let BType::Tensor { shape, element, .. } = store.ty(*ty) else { return None };
    let count =
        shape.iter().try_fold(1usize, |count, &size| count.checked_mul(usize::try_from(size).ok()?))?;
    Some((*element, count, bytes))
}

/// Whether a tensor is small enough to expand to a list: `count` is at most [`MAX_SPLAT`], or at most eight times the number of stored
/// bytes.
pub(super) fn is_listed(count: usize, bytes: &[u8]) -> bool {
    count <= MAX_SPLAT.max(bytes.len().saturating_mul(8))
}

/// Returns the numbers of a tensor of `i64`.
pub(super) fn int_list(store: &Store<'_>, at: AttrRef, name: &str) -> Result<Vec<i64>, Problem> {
    let list = || {
        let (element, count, bytes) = dense(store, at)?;
        let wide = matches!(store.ty(element), BType::Int { width: 64, .. });
        if wide && is_listed(count, bytes) { store.ints(at) } else { None }
    };
    list().ok_or_else(|| format!("the attribute `{name}` must be a short tensor of 64-bit integers"))
}
