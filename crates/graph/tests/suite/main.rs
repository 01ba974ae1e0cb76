//! Tests of the graph builder, in one test binary, because linking a binary takes seconds.

mod derivatives;
mod errors;
mod gallery;
mod graph;
mod marks;
mod mesh;
mod pictures;
mod replicated;
mod shard;
