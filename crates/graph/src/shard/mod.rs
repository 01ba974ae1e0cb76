//! How tensors of a graph are split over its mesh.

mod mark;
