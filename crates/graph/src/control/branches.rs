//! `if` and `switch`.

use shardc_ir::{DType, OpKind};

use crate::Tensor;
use crate::Tree;
use crate::error::ErrorKind;
use crate::graph::{Built, Graph, same_types};

impl Graph {
    /// Returns the result of `on_true` if the predicate, a scalar, is true, otherwise that of `on_false`. Only the selected branch runs.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.cond(x.sum(..).gt(0.0), || x, || -x);
    /// assert_eq!(y.shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if `predicate` is not a scalar `i1`, or the closures return different shapes or element types.
    #[track_caller]
    pub fn cond<'g, T: Tree<'g>>(
        &'g self,
        predicate: impl Into<Tensor<'g>>,
        on_true: impl FnOnce() -> T,
        on_false: impl FnOnce() -> T,
    ) -> T {
        let (first, tree) = self.branch("cond", on_true);
        let (second, _) = self.branch("cond", on_false);
        self.make_branches("cond", predicate.into(), DType::I1, &tree, vec![first, second])
    }

    /// Returns the result of branch number `index`, a scalar `i32`. An out-of-range index selects the last branch. Only the selected
    /// branch runs.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let which = g.parameter("which", (), DType::I32);
    /// let y = g.switch(which, || x, vec![Box::new(|| -x), Box::new(|| x * 2.0)]);
    /// assert_eq!(y.shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if `index` is not a scalar `i32`, there is no branch, or branches return different shapes or element types.
    #[track_caller]
    pub fn switch<'g, T: Tree<'g>>(
        &'g self,
        index: impl Into<Tensor<'g>>,
        first: impl FnOnce() -> T,
        others: Vec<Box<dyn FnOnce() -> T + '_>>,
    ) -> T {
        let (first, tree) = self.branch("switch", first);
        let mut built = vec![first];
        built.extend(others.into_iter().map(|branch| self.branch("switch", branch).0));
        self.make_branches("switch", index.into(), DType::I32, &tree, built)
    }

    #[track_caller]
    fn branch<'g, T: Tree<'g>>(
        &'g self,
        what: &'static str,
        branch: impl FnOnce() -> T,
    ) -> (Option<Built>, T) {
        self.region(what, &[], |_| {
            let tree = branch();
            (tree.leaves(), tree)
        })
    }

    #[track_caller]
    fn make_branches<'g, T: Tree<'g>>(
        &'g self,
        what: &'static str,
        chosen_by: Tensor<'g>,
        dtype: DType,
        tree: &T,
        built: Vec<Option<Built>>,
    ) -> T {
        let n = tree.leaves().len();
        let built: Option<Vec<Built>> = built.into_iter().collect();
        let Some(built) = built else { return tree.rebuilt(&self.poisoned(n)) };
        let made = self.make_many(&[chosen_by], n, |m, values| {
            if !m.shape_of(values[0]).is_empty() || m.dtype_of(values[0]) != dtype {
                let (shape, ty) = (m.shape_of(values[0]), m.dtype_of(values[0]));
                let text = format!(
                    "the first operand of {what} must be a scalar of type {dtype}, got {ty}{shape:?}"
                );
                return Err(ErrorKind::Operands(text));
            }
            for other in &built[1..] {
                same_types(&m.state.module, what, &built[0].types, &other.types)?;
            }
            let regions: Vec<_> = built.iter().map(|built| built.region).collect();
            let kind = if dtype == DType::I1 { OpKind::If } else { OpKind::Case };
            Ok(m.with_types(kind, values, &built[0].types, &regions))
        });
        tree.rebuilt(&made)
    }
}
