//! Checkpointing: rematerialization in the backward pass.

use shardc_autodiff::{CHECKPOINT, Keep};
use shardc_ir::{Attr, Build, NamedSpec, OpKind};

use crate::Tree;
use crate::graph::{Graph, take_captured};

impl Graph {
    /// Applies `body` to `inputs` with gradient checkpointing (`jax.checkpoint`). The values that `policy` selects are saved
    /// ([`Keep::Nothing`]: only the inputs). The rest is recomputed in the backward pass, after an `optimization_barrier` that keeps
    /// compilers from merging it with the forward pass.
    ///
    /// Tensors that `body` captures are also inputs. Checkpointing affects only programs that differentiate the result.
    ///
    /// ```
    /// use shardc_graph::{DType::F32, Graph, Keep, Mesh};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let g = Graph::new("step", &Mesh::new(&[("data", 8)])?);
    /// let (x, w) = (g.parameter("x", [8, 16], F32), g.parameter("w", [16, 16], F32));
    /// let h = g.checkpoint(Keep::Nothing, x, |x| x.dot(w).tanh().exp());
    /// let dw = g.grad(h.sum(..), &w);
    /// # g.finish(&[("dw", dw)])?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn checkpoint<'g, I: Tree<'g>, O: Tree<'g>>(
        &'g self,
        policy: Keep,
        inputs: I,
        body: impl FnOnce(I) -> O,
    ) -> O {
        let (built, tree) = self.region_like("checkpoint", &inputs, |args| {
            let tree = body(args);
            (tree.leaves(), tree)
        });
        let n = tree.leaves().len();
        let Some(built) = built else { return tree.rebuilt(&self.poisoned(n)) };
        let made = self.make_many(&inputs.leaves(), n, |m, values| {
            let captured = take_captured(&mut m.state.module, built.region);
            let spec = NamedSpec { name: "checkpoint".into(), in_shardings: None, out_shardings: None };
            let kind = OpKind::NamedComputation(Box::new(spec));
            let op = m.op(kind, &[values, &captured].concat(), &built.types, &[built.region]);
            let data = &mut m.state.module.ops[op];
            data.attrs.set(CHECKPOINT, Attr::Str(policy.to_string().into()));
            Ok(data.results.to_vec())
        });
        tree.rebuilt(&made)
    }
}
