//! Lines of operations that libraries build in closures.

use std::panic::Location;

use super::Graph;

impl Graph {
    /// Places what `build` makes, and what is wrong with it, at the line that this is called from: what `#[track_caller]` is to a
    /// function, which does not go through closures. For libraries whose layers give closures of their own to control flow;
    /// closures of a user are not to be run in it, since their lines are the user's already.
    ///
    /// Within another call of it the outermost one holds.
    ///
    /// ```
    /// use shardc_graph::{DType::F32, Graph, Mesh, Tensor};
    ///
    /// /// A layer of a library, whose errors are where it is applied.
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

    /// [`track_caller`](Graph::track_caller) for a closure of this crate, which takes `line` from the `#[track_caller]` function
    /// that made the closure.
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

/// Gives a graph the caller of before when it is dropped, after a panic in a closure too: a graph that is looked at afterwards has
/// its own lines.
struct Restored<'g> {
    graph: &'g Graph,
    outer: Option<&'static Location<'static>>,
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        // A panic while the state is borrowed leaves it so; a second panic would abort.
        if let Ok(mut state) = self.graph.state.try_borrow_mut() {
            state.caller = self.outer;
        }
    }
}
