//! What passes tell people: which warnings are worth reading, and numbers of bytes as people write them.

pub mod byte_size;
pub mod warnings;
