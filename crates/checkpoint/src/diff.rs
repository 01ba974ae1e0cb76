//! The differences between two sources of arrays.

use std::collections::BTreeMap;

use crate::entry::Entry;
use crate::error::Result;
use crate::reshard::Source;

/// One difference between two checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the first checkpoint has the array of this name.
    OnlyFirst(String),
    /// Only the second checkpoint has the array of this name.
    OnlySecond(String),
    /// The array's type or shape differs.
    Type {
        /// The array's name.
        name: String,
        /// The type of the array in the first checkpoint, such as `bf16[4, 8]`.
        first: String,
        /// The type of the array in the second checkpoint.
        second: String,
    },
    /// The elements differ.
    Values {
        /// The array's name.
        name: String,
        /// The number of elements with different bits.
        elements: usize,
        /// The number of elements of the array.
        of: usize,
    },
}

/// Compares two checkpoints: names, types, shapes and, if `values` is set, every bit of the elements. Shardings are ignored.
/// Differences are in the order of the arrays in the first checkpoint, followed by the arrays that only the second checkpoint has.
///
/// # Errors
/// A file is damaged (SH1308), or a store fails (SH1301).
pub fn diff(first: &dyn Source, second: &dyn Source, values: bool) -> Result<Vec<Difference>> {
    let (own, of_second) = (first.arrays(), second.arrays());
    let others: BTreeMap<&str, &Entry> = of_second.iter().map(|e| (e.name.as_str(), e)).collect();
    let names: BTreeMap<&str, ()> = own.iter().map(|e| (e.name.as_str(), ())).collect();
    let mut found = Vec::new();
    for entry in &own {
        let name = entry.name.clone();
        let Some(other) = others.get(name.as_str()) else {
            found.push(Difference::OnlyFirst(name));
            continue;
        };
        if (entry.dtype, &entry.shape) != (other.dtype, &other.shape) {
            found.push(Difference::Type { name, first: entry.ty(), second: other.ty() });
            continue;
        }
        if !values {
            continue;
        }
        let mut different = 0;
        // Compares block by block, because an array may be larger than memory.
        for region in entry.blocks() {
            let (a, b) = (first.region(&name, &region)?, second.region(&name, &region)?);
            let width = entry.dtype.bytes();
            different += a.chunks_exact(width).zip(b.chunks_exact(width)).filter(|(a, b)| a != b).count();
        }
        if different > 0 {
            found.push(Difference::Values { name, elements: different, of: entry.shape.iter().product() });
        }
    }
    let only_second = of_second.iter().filter(|entry| !names.contains_key(entry.name.as_str()));
    found.extend(only_second.map(|entry| Difference::OnlySecond(entry.name.clone())));
    Ok(found)
}
