//! Reports for users: selection of warnings, and byte sizes.

pub mod byte_size;
pub mod warnings;
