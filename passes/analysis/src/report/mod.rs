//! Reports for users: selection of the warnings to show, and formatting of byte sizes.

pub mod byte_size;
pub mod warnings;
