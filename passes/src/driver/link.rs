//! Links separately partitioned functions into the caller's module: one function for each combination of argument and result shardings.

use indexmap::IndexSet;
use shardc_ir::limits::MAX_OPERATIONS;
use shardc_ir::{
    Class, CustomCallSpec, Diagnostic, Module, OpKind, RegionId, Visibility, transplant_func, verify,
};

use super::attempts::{Outcome, Partitioned, partition_alone};
use super::calls::{KeptFunctions, restored};
use super::context::{PassContext, PassData};
use super::pipeline::Pipeline;
use super::strategy::bytes_sent;
use crate::analysis::symbols::FreshNames;
use crate::collectives::clean::CleanReport;
use crate::cost::memory::{Machine, temporaries_with_calls, too_much_with_calls};
use crate::report::warnings::warning_threshold;
use crate::sharding::signature::{Signature, Signatures};

/// A function after partitioning for one signature (argument and result shardings), with its callees not yet linked.
struct Local {
    module: Module,
    /// For each call in `module` of a separately partitioned function, the index of the call's signature in the list of all signatures.
    calls: Vec<usize>,
}

/// Partitions the callees of a partitioned entry function for the signatures of their calls, and adds them to its module.
///
/// # Errors
/// Returns an error if a function cannot be partitioned.
pub(super) fn link(
    pipeline: &Pipeline,
    module: &mut Module,
    done: &mut Partitioned,
    context: &PassContext,
) -> Result<(), Vec<Diagnostic>> {
    let Some(entry) = module.entry() else { return Ok(()) };
    let kept = &context.pass_data.kept;
    let mut wanted: IndexSet<Signature> = IndexSet::new();
    let number = |wanted: &mut IndexSet<Signature>, signatures: &Signatures| -> Vec<usize> {
        signatures.0.iter().map(|signature| wanted.insert_full(signature.clone()).0).collect()
    };
    let of_entry = number(&mut wanted, &done.signatures);
    let mut locals: Vec<Local> = Vec::new();
    let mut operations = 0;
    // A loop is used instead of a recursion, since the call depth is limited only by the size of the program.
    while let Some(signature) = wanted.get_index(locals.len()).cloned() {
        let (module, more) = partition_for(pipeline, &signature, context)?;
        operations += module.bodies().map(|body| module.walk(body).len() as u64).sum::<u64>();
        if operations > MAX_OPERATIONS {
            return Err(vec![too_many(kept, &signature)]);
        }
        // SH0470 and SH0913 concern the whole program, so they are not reported for a single function.
        let of_program = ["SH0470", "SH0913"];
        done.warnings.extend(more.warnings.into_iter().filter(|warning| !of_program.contains(&warning.code)));
        add(&mut done.cleaned, &more.cleaned);
        let calls = number(&mut wanted, &more.signatures);
        locals.push(Local { module, calls });
    }
    if let Some(limit) = context.clean.memory_bytes {
        done.warnings.retain(|warning| warning.code != "SH0470");
        done.warnings.extend(too_much(module, &of_entry, &locals, &wanted, context.clean.machine, limit));
    }
    let mut channels = module.funcs[entry].body.map_or(0, |body| last_channel(module, body));
    let mut fresh = FreshNames::default();
    let mut linked = Vec::with_capacity(locals.len());
    for (mut local, signature) in locals.into_iter().zip(&wanted) {
        let Some((func, body)) = local.module.entry().and_then(|f| Some((f, local.module.funcs[f].body?)))
        else {
            continue;
        };
        let last = last_channel(&local.module, body);
        for op in local.module.walk(body) {
            let spec = local.module.ops[op].kind.collective_mut();
            if let Some(channel) = spec.and_then(|spec| spec.channel.as_mut()) {
                channel.handle += channels;
            }
        }
        channels += last;
        let data = &mut local.module.funcs[func];
        data.name = fresh.make(module, &kept.get(signature.function).name).into();
        data.visibility = Visibility::Private;
        linked.push((transplant_func(&local.module, func, module), local.calls));
    }
    let names: Vec<Box<str>> = linked.iter().map(|&(func, _)| module.funcs[func].name.clone()).collect();
    for (func, calls) in linked.iter().map(|(func, calls)| (*func, calls)).chain([(entry, &of_entry)]) {
        if let Some(body) = module.funcs[func].body {
            call_by_name(module, body, calls, &names, &mut done.warnings);
        }
    }
    done.warn_bytes = context.warn_bytes.unwrap_or_else(|| warning_threshold(bytes_sent(module)));
    verify(module)
}

/// Returns a warning (SH0470) if each device needs more than `limit` bytes, including the called functions.
fn too_much(
    module: &Module,
    of_entry: &[usize],
    locals: &[Local],
    signatures: &IndexSet<Signature>,
    machine: Machine,
    limit: u64,
) -> Option<Diagnostic> {
    let mut bytes = vec![0; locals.len()];
    let called = |module: &Module, calls: &[usize], bytes: &[u64], op| match &module.ops[op].kind {
        OpKind::CustomCall(spec) => number_of(spec, calls).map_or(0, |number| bytes[number]),
        _ => 0,
    };
    // Functions are linked in the order of the list of separately partitioned functions, which has callees first.
    let mut order: Vec<usize> = (0..locals.len()).collect();
    order.sort_by_key(|&number| signatures[number].function);
    for number in order {
        let Local { module, calls } = &locals[number];
        if let Some(func) = module.entry() {
            bytes[number] =
                temporaries_with_calls(module, func, machine, &|op| called(module, calls, &bytes, op));
        }
    }
    too_much_with_calls(module, module.entry()?, machine, limit, &|op| called(module, of_entry, &bytes, op))
}

/// Returns the index of the partitioned function that a custom call refers to. `calls` are the [`Local::calls`] of the caller.
fn number_of(spec: &CustomCallSpec, calls: &[usize]) -> Option<usize> {
    calls.get(spec.kept_callee()?.parse::<usize>().ok()?).copied()
}

/// Partitions a function for one combination of argument and result shardings.
fn partition_for(
    pipeline: &Pipeline,
    signature: &Signature,
    context: &PassContext,
) -> Result<(Module, Partitioned), Vec<Diagnostic>> {
    let function = context.pass_data.kept.get(signature.function);
    let mut module = function.module.clone();
    let internal =
        |what: &str| vec![Diagnostic::internal("SH0390", format!("the function @{} {what}", function.name))];
    let (Some(func), false) = (module.entry(), module.funcs.is_empty()) else {
        return Err(internal("has no definition: its module is empty or has no entry function"));
    };
    let Some(body) = module.funcs[func].body else { return Err(internal("has no body")) };
    for (i, sharding) in signature.operands.iter().enumerate() {
        let (arg, id) = (module.regions[body].args[i], module.shardings.intern(sharding.clone()));
        module.shardings.set(arg, Some(id));
    }
    let results = signature.results.iter().map(|s| Some(module.shardings.intern(s.clone())).into()).collect();
    module.funcs[func].res_shardings = results;
    let pass_data = PassData { kept: context.pass_data.kept.clone(), ..PassData::default() };
    let context = PassContext { pass_data, ..context.clone() };
    let Outcome::Done(done) = partition_alone(pipeline, &mut module, &context, &mut ())? else {
        return Err(internal("was only partly partitioned"));
    };
    let tensors = done.interface.inputs.iter().chain(&done.interface.outputs);
    let is_as_asked = tensors.clone().count() == signature.operands.len() + signature.results.len()
        && signature
            .operands
            .iter()
            .chain(&signature.results)
            .zip(tensors)
            .all(|(s, t)| s.same_placement(&t.sharding));
    if is_as_asked {
        Ok((module, *done))
    } else {
        Err(internal("has other local shapes than its callers expect"))
    }
}

fn too_many(kept: &KeptFunctions, signature: &Signature) -> Diagnostic {
    let name = &kept.get(signature.function).name;
    let message = format!(
        "the partitioned program exceeds {MAX_OPERATIONS} operations when @{name} is partitioned for another set of shardings"
    );
    Diagnostic::unsupported("SH0323", message)
        .hint("use the same shardings for the operands of all its calls")
}

fn last_channel(module: &Module, body: RegionId) -> i64 {
    let channel = |op| module.ops[op].kind.collective()?.channel.map(|channel| channel.handle);
    module.walk(body).into_iter().filter_map(channel).max().unwrap_or(0)
}

/// Replaces each custom call by a call, or a composite, of the function that was partitioned for its signature.
fn call_by_name(
    module: &mut Module,
    body: RegionId,
    calls: &[usize],
    names: &[Box<str>],
    warnings: &mut Vec<Diagnostic>,
) {
    for op in module.walk(body) {
        let data = &module.ops[op];
        let OpKind::CustomCall(spec) = &data.kind else { continue };
        let Some(callee) = number_of(spec, calls).and_then(|number| names.get(number)).cloned() else {
            continue;
        };
        let kind = match restored(spec, &callee) {
            Some(composite) if !communicates(module, &callee) => OpKind::Composite(Box::new(composite)),
            Some(composite) => {
                let message = format!(
                    "the composite '{}' becomes a call because its decomposition contains collectives with these shardings",
                    composite.name
                );
                let warning = Diagnostic::warning(Class::InvalidInput, "SH0361", message)
                    .at(data.span)
                    .hint("give the composite an `sdy.sharding_rule` in which the dimensions whose sharding requires collectives are `need_replication` factors");
                warnings.push(Diagnostic { user_loc: module.user_loc(op), ..warning });
                OpKind::Call { callee }
            }
            None => OpKind::Call { callee },
        };
        module.ops[op].kind = kind;
    }
}

/// Whether a partitioned function, or one of its callees, has collectives.
fn communicates(module: &Module, name: &str) -> bool {
    let mut seen: IndexSet<&str> = IndexSet::from_iter([name]);
    let mut next = 0;
    while let Some(&name) = seen.get_index(next) {
        next += 1;
        let body = module.func_names.get(name).and_then(|&func| module.funcs[func].body);
        for op in body.map(|body| module.walk(body)).unwrap_or_default() {
            match &module.ops[op].kind {
                OpKind::Call { callee } => drop(seen.insert(callee)),
                OpKind::Composite(spec) => drop(seen.insert(&spec.decomposition)),
                kind if kind.collective().is_some() => return true,
                _ => {}
            }
        }
    }
    false
}

/// Adds the clean-up counts of a function to the report. Its combined collectives are omitted: their handles belong to another module.
fn add(all: &mut CleanReport, one: &CleanReport) {
    all.merged += one.merged;
    all.dead += one.dead;
    all.composed += one.composed;
    all.hoisted += one.hoisted;
    all.repeated += one.repeated;
    all.deferred += one.deferred;
}
