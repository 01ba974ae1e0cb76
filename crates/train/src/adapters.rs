//! Merges low-rank adapters into the weights of a state.

use indexmap::IndexMap;
use shardc::Error;
use shardc::lora::Merge;
use shardc_graph::{DType, DotDims, Graph, Tensor};
use shardc_ir::Diagnostic;
use shardc_nn::{Init, Kind, Lora, Scope, Variable};
use shardc_runtime::HostArray;

use crate::state::unknown;
use crate::{State, Step};

/// A kernel and its adapters.
struct Adapted<'a> {
    kernel: &'a Variable,
    a: &'a Variable,
    b: &'a Variable,
    /// The magnitude variable of DoRA, if any.
    magnitude: Option<&'a Variable>,
}

impl Adapted<'_> {
    fn has(&self, name: &str) -> bool {
        [Some(self.a), Some(self.b), self.magnitude].into_iter().flatten().any(|of| of.name == name)
    }

    /// The name of the linear layer.
    fn map(&self) -> &str {
        self.a.name.strip_suffix(".lora_a").unwrap_or_default()
    }
}

impl Step {
    /// The state with the adapters ([`Scope::with_lora`]) merged into the kernels: `W + s A B`, computed on the devices with the kernels'
    /// sharding. The returned state has no adapter variables, and a step of the same model without LoRA can [`adopt`](Step::adopt) it. The
    /// given state does not change.
    ///
    /// # Errors
    /// There are no adapters, their rank differs from that of `lora`, or a kernel is stored in four bits (SH1252); the state lacks a
    /// variable (SH0720); or an execution fails.
    pub fn merge_adapters(&self, state: &State, lora: &Lora) -> Result<State, Error> {
        let adapted = self.adapted(lora)?;
        let kernels = self.folded(&adapted, state, lora, Merge::Into)?;
        let mut merged = state.filtered(|name| !adapted.iter().any(|of| of.has(name)));
        merged.arrays.extend(kernels.arrays);
        Ok(merged)
    }

    /// The inverse of [`merge_adapters`](Step::merge_adapters): returns a state for this step from a merged state and the adapters, for
    /// example those of the original state. Kernels are restored up to rounding.
    ///
    /// # Errors
    /// The errors of [`merge_adapters`](Step::merge_adapters).
    pub fn unmerge_adapters(&self, merged: &State, adapters: &State, lora: &Lora) -> Result<State, Error> {
        let adapted = self.adapted(lora)?;
        if let Some(of) = adapted.iter().find(|of| of.magnitude.is_some()) {
            let text = format!("DoRA adapters cannot be unmerged from a kernel: {:?}", of.kernel.name);
            return Err(Diagnostic::unsupported("SH1252", text)
                .hint("keep the state from before the merge")
                .into());
        }
        let mut state = merged.clone();
        for variable in adapted.iter().flat_map(|of| [of.a, of.b]) {
            let array = adapters.sharded(&variable.name);
            let array = array.ok_or_else(|| unknown("adapter", &variable.name, adapters.arrays.keys()))?;
            state.arrays.insert(variable.name.clone(), array.clone());
        }
        let kernels = self.folded(&adapted, &state, lora, Merge::OutOf)?;
        state.arrays.extend(kernels.arrays);
        Ok(state)
    }

    /// The kernels of this step that have adapters, each with its adapter variables.
    fn adapted(&self, lora: &Lora) -> Result<Vec<Adapted<'_>>, Error> {
        let named: IndexMap<&str, &Variable> =
            self.variables().iter().map(|v| (v.name.as_str(), v)).collect();
        let (mut adapted, mut wrong) = (Vec::new(), Vec::new());
        for &a in named.values().filter(|v| matches!(v.kind, Kind::Parameter | Kind::Frozen)) {
            let map = match a.name.strip_suffix("lora_a") {
                Some(map) if map.is_empty() || map.ends_with('.') => map,
                _ => continue,
            };
            let get = |what: &str| named.get(format!("{map}{what}").as_str()).copied();
            let rank = a.shape.last().copied().unwrap_or_default();
            match (get("kernel"), get("lora_b")) {
                _ if lora.rank_of(map.trim_end_matches('.')) != rank => {
                    let want = lora.rank_of(map.trim_end_matches('.'));
                    wrong.push(format!("{:?} has rank {rank}, expected {want}", a.name));
                }
                (Some(kernel), Some(b)) => {
                    adapted.push(Adapted { kernel, a, b, magnitude: get("lora_magnitude") });
                }
                _ if get("kernel.nf4").is_some() => {
                    wrong.push(format!(
                        "the kernel of {:?} is stored in four bits, and merging would round the sum to four bits",
                        a.name
                    ));
                }
                _ => wrong.push(format!("{:?} has no kernel", a.name)),
            }
        }
        if adapted.is_empty() && wrong.is_empty() {
            wrong.push("the step has no adapters".to_owned());
        }
        if wrong.is_empty() {
            return Ok(adapted);
        }
        let text = format!("adapters cannot be merged: {}", wrong.join("; "));
        Err(Diagnostic::invalid("SH1252", text).hint("keep the adapters separate from the kernels").into())
    }

    /// The kernels of a state with adapters merged or removed.
    fn folded(
        &self,
        adapted: &[Adapted<'_>],
        state: &State,
        lora: &Lora,
        merge: Merge,
    ) -> Result<State, Error> {
        let g = Graph::new("merge", &self.mesh());
        let p = Scope::new(&g);
        let sign = match merge {
            Merge::Into => 1.0,
            Merge::OutOf => -1.0,
        };
        let get = |v: &Variable| p.variable(&v.name, Kind::Frozen, &v.shape, v.dtype, Init::zeros());
        let mut results: Vec<(&str, Tensor<'_>)> = Vec::new();
        for of in adapted {
            let Adapted { kernel, a, b, magnitude } = of;
            let front: Vec<i64> = (0..kernel.num_stacks as i64).collect();
            let dims = DotDims {
                lhs_contracting: vec![-1],
                rhs_contracting: vec![front.len() as i64],
                lhs_batching: front.clone(),
                rhs_batching: front,
                accumulate: None,
            };
            let wide = if kernel.dtype == DType::F64 { DType::F64 } else { DType::F32 };
            let change =
                get(a).to(wide).dot_general(get(b).to(wide), &dims) * (sign * lora.scale_of(of.map()));
            let mut value = get(kernel).to(wide) + change;
            if let Some(magnitude) = magnitude {
                let stacks = kernel.num_stacks;
                let outputs = magnitude.shape.len() - stacks;
                let inputs: Vec<i64> = (stacks..kernel.shape.len() - outputs).map(|d| d as i64).collect();
                let (norm, magnitude) = (value.square().sum(inputs).sqrt(), get(magnitude).to(wide));
                let factor = magnitude.eq(0.0).select(magnitude.full_like(1.0), magnitude / norm);
                let places: Vec<i64> = (0..stacks)
                    .chain(kernel.shape.len() - outputs..kernel.shape.len())
                    .map(|d| d as i64)
                    .collect();
                value = value * factor.broadcast_in_dim(&kernel.shape, &places);
            }
            results.push((&kernel.name, value.to(kernel.dtype)));
        }
        let fold = self.beside(p.finish(&results)?)?;
        // The program donates no arguments, so `state` stays valid.
        let none: [(&str, &HostArray); 0] = [];
        let metrics = fold.run(&mut fold.adopt(state)?, &none)?;
        Ok(State { arrays: metrics.arrays, processes: self.processes() })
    }
}
