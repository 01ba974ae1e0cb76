//! User input about a program: meshes and partition specs from the command line or the API, names of arguments and results, and a mesh that
//! replaces the program's mesh.

pub mod dims;
pub mod forget;
pub mod names;
pub mod remesh;
pub mod spec;
