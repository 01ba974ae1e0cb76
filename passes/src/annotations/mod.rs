//! What people say of a program from outside: meshes and specs on the command line or in the API, names of arguments
//! and results, another mesh for the one that the program has.

pub mod dims;
pub mod names;
pub mod remesh;
pub mod spec;
