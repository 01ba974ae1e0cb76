//! Source locations of operations that libraries build in closures.

use std::panic::Location;

use super::Graph;

impl Graph {
    /// Attributes the operations and errors of `build` to the caller's line, like `#[track_caller]`, which does not apply to closures.
    /// Libraries need this method if their layers pass closures to control flow. Do not call a user's closure in `build`: operations of a
    /// user's closure already have the user's lines.
    ///
    /// Nested calls use the outermost location.
    ///
    /// ```
    /// use shardc_graph::{DType::F32, Graph, Mesh, Tensor};
    ///
    /// /// A layer of a library. Its errors are reported at the line that applies the layer.
    /// #[track_caller]
    /// fn powers<'g>(x: Tensor<'g>, y: Tensor<'g>) -> Tensor<'g> {
    ///     let g = x.graph();
    ///     g.track_caller(|| g.fori(0, 3, x, |_, x| x * y))
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let g = Graph::new("step", &Mesh::new(&[])?);
    /// let line = line!() + 1;
    /// powers(g.ones([2], F32), g.ones([3], F32));
    /// assert_eq!(g.finish(&[]).unwrap_err().0[0].location.line(), line);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn track_caller<R>(&self, build: impl FnOnce() -> R) -> R {
        self.at_line(Location::caller(), build)
    }

    /// Runs `build` like [`track_caller`](Graph::track_caller), for a closure of this crate; `line` comes from the `#[track_caller]`
    /// function that created the closure.
    pub(crate) fn at_line<R>(&self, line: &'static Location<'static>, build: impl FnOnce() -> R) -> R {
        let outer = {
            let caller = &mut self.state.borrow_mut().caller;
            let outer = *caller;
            caller.get_or_insert(line);
            outer
        };
        let _restored = Restored { graph: self, outer };
        build()
    }
}

/// Restores the previous caller of a graph when dropped, also after a panic in a closure, so that later operations of the graph get
/// correct source lines.
struct Restored<'g> {
    graph: &'g Graph,
    outer: Option<&'static Location<'static>>,
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        // After a panic during a borrow, the state is still borrowed, and a second panic here would abort the process.
        if let Ok(mut state) = self.graph.state.try_borrow_mut() {
            state.caller = self.outer;
        }
    }
}
