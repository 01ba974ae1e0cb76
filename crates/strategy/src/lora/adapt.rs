//! Adds adapters to the linear layers of a forward program.

use rustc_hash::FxHashMap;
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_analysis::transforms::inline::inline_calls;
use shardc_ir::suggest::nearest;
use shardc_ir::{
    BinaryOp, Class, DType, Diagnostic, DimList, DotSpec, FuncId, Module, OpId, OpKind, RegionId, Rewriter,
    SizeList, TensorBuild, ValueId,
};

use super::dropout::Dropout;
use super::maps::{LinearMap, Product, Side, linear_maps};
use super::names;
use super::{Bias, Lora, Parameters};
use crate::roles::{RoleOverrides, Roles, forward_roles, roles};

/// A linear layer with its adapters.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// The linear layer that has the adapters.
    pub map: LinearMap,
    /// The index of the argument `A`, which has the shape [`LinearMap::shape_a`].
    pub a: usize,
    /// The index of the argument `B`, which has the shape [`LinearMap::shape_b`].
    pub b: usize,
}

/// The result of adding adapters to a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapted {
    /// The adapters, in program order.
    pub adapters: Vec<Adapter>,
    /// The linear layers without adapters.
    pub others: Vec<LinearMap>,
    /// The index of the argument that is the dropout key, `ui32[2]`, if there is dropout.
    pub key: Option<usize>,
    /// The number of trained parameters.
    pub parameters: Parameters,
    /// Warnings (SH1254) about weights with adapters that also have another user, which reads the weight without adapters.
    pub warnings: Vec<Diagnostic>,
}

/// Adds low-rank adapters to the linear layers of a forward program (Hu et al., "LoRA", 2021): a matmul `x W` with a weight `W`
/// becomes `x W + s (x A) B`. Arguments are appended: `lora.NAME.a` and `lora.NAME.b` for each linear layer, in `f32` if the weight is
/// narrower, and `dropout_key`, `ui32[2]`, if there is dropout. With zeros for every `B` the program computes the same as before.
///
/// A linear layer is a matmul of an activation with a weight, possibly in a loop. The weight may be converted, transposed, reshaped or
/// sliced, or be a row of a stack, whose rows have separate adapters. The model's output is the linear layer whose result reaches no other
/// linear layer, unless another layer of the same shape has a name that differs only in numbers. Calls are inlined.
///
/// # Errors
/// Returns SH1252 if a target matches no linear layer, the rank is below 1, the dropout is not a probability below 1, DoRA or trained
/// biases are requested, or the program is a training step. Returns SH1250 if there is no entry function, and an error if a call cannot be
/// inlined.
pub fn adapt(
    module: &mut Module,
    lora: &Lora,
    overrides: &RoleOverrides,
) -> Result<Adapted, Vec<Diagnostic>> {
    check(lora).map_err(|error| vec![error])?;
    inline_calls(module)?;
    let roles = forward_roles(module, overrides).map_err(|error| vec![error])?;
    let none = || vec![Diagnostic::invalid("SH1250", "the program has no entry function")];
    let (func, body) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))).ok_or_else(none)?;
    let (maps, products) = linear_maps(module, func, body, &roles);
    if let Some(error) = training_step(module, overrides, &maps) {
        return Err(vec![error]);
    }
    let names: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
    let unmatched = lora.targets.unmatched(&names);
    if !unmatched.is_empty() {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let message = format!("no linear layer of the program matches the target {}", unmatched.join(", "));
        // A target may consist of the last parts of a name.
        let parts = names.iter().flat_map(|name| name.split('.').chain([*name])).collect::<Vec<_>>();
        let meant = unmatched.iter().find_map(|target| nearest(target, parts.iter().copied()));
        let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
        let hint = format!(
            "{meant}the linear layers are {known}; if one is missing, mark the batch with `--role x=batch`"
        );
        return Err(vec![Diagnostic::invalid("SH1252", message).hint(hint)]);
    }
    if !maps.iter().any(|map| lora.adapts(&map.name, map.is_output)) {
        let hint = "all-linear leaves out the output of the model: to adapt it, name it as a target; a linear layer is a matmul of a value that \
                    depends on the batch with an argument; mark the batch with `--role x=batch`; weights computed from several arguments, such as \
                    scaled integers, are not supported";
        let message = format!("no target selects a linear layer of {}", names.join(", "));
        return Err(vec![Diagnostic::invalid("SH1252", message).hint(hint)]);
    }
    let num_arguments = module.funcs[func].params.len();
    let mut adding = Adding { module, func, body };
    let (mut adapters, mut others, mut places) = (Vec::new(), Vec::new(), FxHashMap::default());
    for (i, map) in maps.into_iter().enumerate() {
        if lora.adapts(&map.name, map.is_output) {
            let rank = lora.rank_of(&map.name);
            places.insert(i, adapters.len());
            let dtype = adding.dtype(map.weight);
            let a = adding.argument(&format!("lora.{}.a", map.name), &map.shape_a(rank), dtype);
            let b = adding.argument(&format!("lora.{}.b", map.name), &map.shape_b(rank), dtype);
            adapters.push(Adapter { map, a, b });
        } else {
            others.push(map);
        }
    }
    let key = (lora.dropout > 0.0).then(|| adding.argument("dropout_key", &[2], DType::UI32));
    let args = module.regions[body].args.clone();
    let dropout = key.map(|key| Dropout { probability: lora.dropout, key: args[key] });
    let parameters = count(module, &args[..num_arguments], &roles, lora, &adapters);
    let mut beside = Beside { lora, adapters: &adapters, places, products, args: &args, dropout };
    let mut rw = Rewriter::new(module);
    beside.region(&mut rw, body);
    let warnings = adapters.iter().filter(|adapter| adapter.map.shares_weight).map(|adapter| {
        let name = &adapter.map.name;
        let message = format!("the adapters of {name} affect only its matmul: its weight has another user");
        let hint =
            "the other user, such as the lookup in a tied embedding, reads the weight without adapters";
        Diagnostic::warning(Class::Unsupported, "SH1254", message).hint(hint)
    });
    let warnings = warnings.collect();
    Ok(Adapted { adapters, others, key, parameters, warnings })
}

/// Returns the error for a program that is a training step: a training step updates the weights, which adapters leave frozen.
fn training_step(module: &Module, overrides: &RoleOverrides, maps: &[LinearMap]) -> Option<Diagnostic> {
    let roles = roles(module, overrides).ok()?;
    let updated =
        |map: &&LinearMap| roles.arguments.get(map.weight).is_some_and(|argument| argument.next.is_some());
    let map = maps.iter().find(updated)?;
    let message = format!("the program is a training step: it updates the weight of {}", map.name);
    let hint = "pass the program that computes the loss, and take the gradients of the adapters only: `shardc grad --wrt lora`";
    Some(Diagnostic::invalid("SH1252", message).hint(hint))
}

fn check(lora: &Lora) -> Result<(), Diagnostic> {
    let ranks = lora.rank_pattern.iter().map(|(_, rank)| *rank).chain([lora.rank]);
    if let Some(rank) = ranks.into_iter().find(|&rank| rank < 1) {
        return Err(Diagnostic::invalid(
            "SH1252",
            format!("the rank of adapters must be at least 1, got {rank}"),
        ));
    }
    if lora.dora {
        let hint = "models of shardc_train::nn support DoRA: `Scope::with_lora`";
        let message = "DoRA magnitudes (use_dora) are not supported in imported programs";
        return Err(Diagnostic::unsupported("SH1252", message).hint(hint));
    }
    if lora.bias != Bias::None {
        let message = "trained biases (\"bias\") are not supported in imported programs";
        return Err(Diagnostic::unsupported("SH1252", message).hint("set \"bias\": \"none\""));
    }
    if !(0.0..1.0).contains(&lora.dropout) {
        let message = format!("the dropout probability must be at least 0 and below 1, got {}", lora.dropout);
        return Err(Diagnostic::invalid("SH1252", message));
    }
    Ok(())
}

fn count(module: &Module, args: &[ValueId], roles: &Roles, lora: &Lora, adapters: &[Adapter]) -> Parameters {
    let size = |shape: &[i64]| shape.iter().product::<i64>().unsigned_abs();
    let weights = args.iter().zip(&roles.arguments).filter(|(_, argument)| argument.role.is_weight());
    let weights: u64 = weights.map(|(&arg, _)| size(module.shape(arg))).sum();
    let of = |adapter: &Adapter| {
        let rank = lora.rank_of(&adapter.map.name);
        size(&adapter.map.shape_a(rank)) + size(&adapter.map.shape_b(rank))
    };
    let added: u64 = adapters.iter().map(of).sum();
    // Weights of `modules_to_save` are trained fully.
    let is_saved = |name: &str| lora.saves(&names::module(name));
    let saved = args.iter().zip(&roles.arguments).filter(|(_, a)| a.role.is_weight() && is_saved(&a.name));
    let saved: u64 = saved.map(|(&arg, _)| size(module.shape(arg))).sum();
    Parameters { trained: added + saved, all: weights + added }
}

/// Returns the permutation from the result of a matmul batched by experts to the result of a matmul with one weight for all experts. With
/// `experts_first`, `[experts, outputs, x..]` is unchanged if the weight is the left operand, and `[experts, x.., outputs]` becomes
/// `[x.., experts, outputs]` if the weight is the right operand. Without `experts_first`, outputs precede experts in the result. `num_x`
/// is the number of free dimensions of `x`.
fn expert_order(experts_first: bool, num_x: usize, is_left: bool) -> DimList {
    let outputs = if is_left { 1 } else { num_x + 1 };
    let first_x = if is_left { 2 } else { 1 };
    let own = if experts_first { [0, outputs] } else { [outputs, 0] };
    let x = first_x..first_x + num_x;
    let order: Vec<usize> = if is_left { own.into_iter().chain(x).collect() } else { x.chain(own).collect() };
    order.into_iter().map(|d| d as u32).collect()
}

/// Adds arguments to a function.
struct Adding<'m> {
    module: &'m mut Module,
    func: FuncId,
    body: RegionId,
}

impl Adding<'_> {
    /// Returns the element type of a weight's adapters: trained values have at least 32 bits.
    fn dtype(&self, weight: usize) -> DType {
        let dtype = self.module.tensor(self.module.regions[self.body].args[weight]).map(|ty| ty.dtype);
        dtype.filter(|dtype| dtype.bits() > 32).unwrap_or(DType::F32)
    }

    /// Adds an argument, and returns its index.
    fn argument(&mut self, name: &str, shape: &[i64], dtype: DType) -> usize {
        let ty = self.module.types.tensor(shape, dtype);
        let (place, _) = self.module.add_parameter(self.func, self.body, ty);
        self.module.funcs[self.func].arg_attrs[place].set_arg_info(name);
        place
    }
}

/// Computes the terms that adapters add to matmuls.
struct Beside<'a> {
    lora: &'a Lora,
    adapters: &'a [Adapter],
    /// For each linear layer with adapters, by its index, the index of its adapter.
    places: FxHashMap<usize, usize>,
    products: FxHashMap<OpId, Product>,
    args: &'a [ValueId],
    dropout: Option<Dropout>,
}

impl Beside<'_> {
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            if has_program_regions(&rw.module.ops[op].kind) {
                for inner in rw.module.ops[op].regions.clone() {
                    self.region(rw, inner);
                }
            }
            let Some(product) = self.products.remove(&op) else { continue };
            let Some(&place) = self.places.get(&product.map) else { continue };
            rw.keep();
            let result = rw.module.ops[op].results[0];
            if let Some(sum) = self.product(rw, op, place, &product.rows) {
                rw.stand_for(result, sum);
            }
        }
    }

    /// Returns the result of a matmul with the adapter's term added.
    fn product(&self, rw: &mut Rewriter<'_>, op: OpId, place: usize, rows: &[ValueId]) -> Option<ValueId> {
        let data = &rw.module.ops[op];
        let (OpKind::DotGeneral(spec), &[result]) = (&data.kind, data.results.as_slice()) else {
            return None;
        };
        let (spec, adapter) = (spec.clone(), &self.adapters[place]);
        let (x, batch, contracted) = match adapter.map.side {
            Side::Left => (data.operands[1], spec.rhs_batch.clone(), spec.rhs_contract.clone()),
            Side::Right => (data.operands[0], spec.lhs_batch.clone(), spec.lhs_contract.clone()),
        };
        let (read, given) = (rw.dtype(x)?, rw.dtype(result)?);
        let x = match &self.dropout {
            Some(dropout) => dropout.apply(rw, x, place, rows)?,
            None => x,
        };
        let a = self.rows(rw, adapter.a, rows, read)?;
        let b = self.rows(rw, adapter.b, rows, given)?;
        // With experts, the inputs of `A` follow the expert dimension, which is free in the matmul `x A`.
        let experts = u32::from(adapter.map.experts.is_some());
        let (along, into) = (batch.len() as u32, contracted.len() as u32);
        let low = DotSpec {
            rhs_batch: (0..along).collect(),
            rhs_contract: (along + experts..along + experts + into).collect(),
            lhs_batch: batch,
            lhs_contract: contracted,
            ..*spec.clone()
        };
        let rank = self.lora.rank_of(&adapter.map.name);
        let wide = rw.module.shape(x).to_vec();
        let kept =
            |d: &usize| !low.lhs_batch.contains(&(*d as u32)) && !low.lhs_contract.contains(&(*d as u32));
        let free = (0..wide.len()).filter(kept).map(|d| wide[d]);
        let experts = adapter.map.experts.map(|d| adapter.map.shape[d]);
        let batch_sizes = low.lhs_batch.iter().map(|&d| wide[d as usize]);
        let shape: Vec<i64> = batch_sizes.chain(free).chain(experts).chain([rank]).collect();
        let low = rw.tensor(OpKind::DotGeneral(Box::new(low)), &[x, a], &shape, given);
        let scale = rw.full(self.lora.scale_of(&adapter.map.name), low)?;
        let low = rw.binary(BinaryOp::Multiply, low, scale);
        let last = shape.len() as u32 - 1;
        let is_left = adapter.map.side == Side::Left;
        // Batching dimensions of the matmul `(x A) B`, in `x A` and in `B`.
        let (low_batch, b_batch): (DimList, DimList) = match experts {
            Some(_) => ([last - 1].into_iter().collect(), [0].into_iter().collect()),
            None => ((0..along).collect(), (0..along).collect()),
        };
        let (low_rank, b_rank) = ([last].into_iter().collect(), [b_batch.len() as u32].into_iter().collect());
        let (operands, lhs_batch, rhs_batch, lhs_contract, rhs_contract) = match adapter.map.side {
            Side::Left => ([b, low], b_batch, low_batch, b_rank, low_rank),
            Side::Right => ([low, b], low_batch, b_batch, low_rank, b_rank),
        };
        let up = DotSpec {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            // Both operands have the type of the result.
            algorithm: None,
            ..*spec
        };
        let up = OpKind::DotGeneral(Box::new(up));
        let up = match adapter.map.experts {
            None => rw.alike_to(up, &operands, result),
            Some(experts) => {
                // Experts are the leading dimension of the result of `(x A) B`, but not always of the result of the original matmul.
                let order = expert_order(experts < adapter.map.free[0], last as usize - 1, is_left);
                let wanted = rw.module.shape(result).to_vec();
                let mut made = wanted.clone();
                order.iter().zip(&wanted).for_each(|(&d, &size)| made[d as usize] = size);
                let up = rw.tensor(up, &operands, &made, given);
                rw.alike_to(OpKind::Transpose { permutation: order }, &[up], result)
            }
        };
        Some(rw.binary(BinaryOp::Add, result, up))
    }

    /// Returns an adapter, or a row of it, converted to an element type.
    fn rows(
        &self,
        rw: &mut Rewriter<'_>,
        argument: usize,
        rows: &[ValueId],
        dtype: DType,
    ) -> Option<ValueId> {
        let mut value = self.args[argument];
        let (shape, kept) = (rw.module.shape(value).to_vec(), rw.dtype(value)?);
        if !rows.is_empty() {
            let index = rw.dtype(rows[0])?;
            let mut operands = vec![value];
            for &row in rows {
                operands.push(rw.convert(row, index));
            }
            let zero = rw.zeros(&[], index);
            operands.resize(1 + shape.len(), zero);
            let row = &shape[rows.len()..];
            let sizes: SizeList = std::iter::repeat_n(1, rows.len()).chain(row.iter().copied()).collect();
            let sliced = rw.tensor(OpKind::DynamicSlice { sizes: sizes.clone() }, &operands, &sizes, kept);
            value = rw.tensor(OpKind::Reshape, &[sliced], row, kept);
        }
        Some(rw.convert(value, dtype))
    }
}
