//! Partitions a program in which one factor of an operation is sharded, and reports how the operation was partitioned.

use shardc_ir::{
    AxisRef, Diagnostic, DimSharding, EntityRef, Mesh, Module, OpId, OpKind, SpmdMode, TensorSharding,
    ValueId,
};
use shardc_passes::cost::CostModel;
use shardc_passes::driver::passes::PassContext;
use shardc_passes::driver::pipeline::{self, with_planning};
use shardc_passes::localize::localize;
use shardc_passes::propagate::{PropagateOptions, propagate};
use shardc_passes::reshard::lower_reshards;
use shardc_passes::transforms::dce::dce;
use shardc_passes::transforms::decompose::decompose;
use shardc_passes::transforms::inline::inline_calls;
use shardc_passes::transforms::merge_reductions::merge_reductions;

use super::How;

/// The dimensions of an operation that are sharded together, as pairs of tensor index and dimension.
pub(super) struct Split {
    pub(super) letter: String,
    pub(super) role: &'static str,
    pub(super) operands: Vec<(usize, usize)>,
    pub(super) results: Vec<(usize, usize)>,
}

/// Returns how `op` is partitioned if `split` is sharded over `devices` devices.
pub(super) fn observe(program: &Module, op: OpId, split: &Split, devices: i64) -> How {
    let mut module = program.clone();
    match partition(&mut module, op, split, devices) {
        Ok(how) => how,
        Err(errors) => How { refused: errors.first().map(|e| e.code), ..How::default() },
    }
}

fn partition(module: &mut Module, op: OpId, split: &Split, devices: i64) -> Result<How, Vec<Diagnostic>> {
    let entry = module.entry().ok_or_else(|| vec![module.no_entry()])?;
    let before = count(module, |kind| matches!(kind, OpKind::Select));
    let own_collectives = count(module, |kind| kind.collective().is_some());
    annotate(module, entry, op, split, devices);
    inline_calls(module)?;
    // The entry is looked up again, because removing functions changes the ids of other functions.
    let entry = module.entry().ok_or_else(|| vec![module.no_entry()])?;
    let Some(body) = module.funcs[entry].body else { return Ok(How::default()) };
    decompose(module, body);
    dce(module, body);
    propagate(module, &PropagateOptions::default())?;
    let (steps, name) = (module.ops.len(), module.ops[op].kind.name().to_owned());
    let plan = with_planning(vec!["plan".parse().map_err(|error| vec![error])?]);
    let (_, gathers) = pipeline::run(&plan, module, &mut PassContext::default(), None, &mut 0, &mut ())?;
    let is_there = module.walk(body).contains(&op);
    let operands = module.ops[op].operands.clone();
    let results = module.ops[op].results.clone();
    let splits = |value: Option<&ValueId>, dim: Option<usize>| {
        let sharding = value.and_then(|&v| module.shardings.sharding_of(v));
        sharding.is_some_and(|s| match dim {
            Some(dim) => !s.axes(dim).is_empty(),
            None => !s.is_unsplit(),
        })
    };
    let kept = |values: &[ValueId], places: &[(usize, usize)]| {
        places.iter().any(|&(t, d)| splits(values.get(t), Some(d)))
    };
    let in_place =
        kept(&operands, &split.operands) || split.operands.is_empty() && kept(&results, &split.results);
    let elsewhere = operands.iter().chain(&results).any(|v| splits(Some(v), None));
    // Planning may replace the operation by several of the same kind, one of which is computed on shards.
    let stepwise = module.walk(body).into_iter().filter(|step| step.index() >= steps).any(|step| {
        let data = &module.ops[step];
        data.kind.name() == name && data.operands.iter().any(|v| splits(Some(v), None))
    });
    let pending =
        results.iter().any(|&v| module.shardings.sharding_of(v).is_some_and(|s| !s.unreduced.is_empty()));
    merge_reductions(module, body);
    let model = CostModel::default();
    lower_reshards(module, body, &model)?;
    localize(module, entry, SpmdMode::Replica, None, &model)?;
    let permutes = count(module, |kind| matches!(kind, OpKind::CollectivePermute(_)));
    let others = count(module, |kind| kind.collective().is_some()) - permutes;
    // If planning replaced the operation, its own shardings are stale. The result is then sharded unless an all-gather was reported.
    let (in_place, elsewhere) = if is_there { (in_place, elsewhere) } else { (gathers.is_empty(), false) };
    let halo = in_place && permutes > 0 && own_collectives == 0;
    if stepwise && permutes == 0 {
        return Ok(How { in_parts: true, collective: true, ..How::default() });
    }
    Ok(How {
        in_parts: in_place || elsewhere,
        moved: !in_place && elsewhere,
        halo,
        masked: in_place && !halo && count(module, |kind| matches!(kind, OpKind::Select)) > before,
        collective: in_place && (pending || others > own_collectives),
        refused: None,
    })
}

/// Shards the dimensions of `split` along a mesh of one axis, and replicates all other dimensions.
fn annotate(module: &mut Module, entry: shardc_ir::FuncId, op: OpId, split: &Split, devices: i64) {
    let mesh = module.add_mesh("mesh", Mesh::new([("x", devices)]));
    let data = &module.ops[op];
    let lists =
        [(data.operands.clone().into_vec(), &split.operands), (data.results.to_vec(), &split.results)];
    for (values, places) in lists {
        for (i, &value) in values.iter().enumerate() {
            let rank = module.rank(value);
            let dims = (0..rank).map(|d| match places.contains(&(i, d)) {
                true => DimSharding::closed(&[AxisRef::whole(0)]),
                false => DimSharding::default(),
            });
            if module.tensor(value).is_some() {
                let sharding = module.shardings.intern(TensorSharding::from_dims(mesh, dims));
                module.shardings.set(value, Some(sharding));
            }
        }
    }
    let Some(ret) = module.funcs[entry].body.and_then(|body| module.terminator(body)) else { return };
    for (i, &value) in module.ops[ret].operands.clone().iter().enumerate() {
        if let Some(slot) = module.funcs[entry].res_shardings.get_mut(i) {
            *slot = module.shardings.of(value).into();
        }
    }
}

fn count(module: &Module, wanted: impl Fn(&OpKind) -> bool) -> usize {
    let all = module.bodies().flat_map(|body| module.walk(body));
    all.filter(|&op| wanted(&module.ops[op].kind)).count()
}
