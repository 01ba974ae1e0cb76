//! Tests of the programs of training steps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{BF16, F32, I1, I32},
    Graph, Keep, Mesh, spec,
};
use shardc_ir::{OpKind, UnaryOp};
use shardc_nn::layers::{Attention, BatchNorm};
use shardc_nn::models::Decoder;
use shardc_nn::optim::{self, Adafactor, Frozen, Groups, LossScale, Sgd};
use shardc_nn::{Init, Kind, Policy, Scope};

fn mesh() -> Mesh {
    Mesh::new(&[("data", 4), ("model", 2)]).unwrap()
}

#[test]
fn a_stack_has_one_variable_for_all_layers() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g).with_policy(Policy::mixed_bf16());
    let x = g.parameter("x", [16, 8], BF16);
    let y = p.stack("layers", 3, x, |p, x| {
        let w = p.at("dense").parameter("kernel", [8, 8], Init::ones());
        (x.dot(w) + p.parameter("bias", [8], Init::zeros())).tanh()
    });
    let params = p.trainable();
    let shown: Vec<String> = params.iter().map(|p| format!("{} {:?}", p.name, p.tensor)).collect();
    assert_eq!(shown, ["layers.dense.kernel f32[3, 8, 8]", "layers.bias f32[3, 8]"]);
    for (param, gradient) in params.iter().zip(p.gradients(y.to(F32).mean(..))) {
        assert_eq!((gradient.shape(), gradient.dtype()), (param.tensor.shape(), F32));
        p.set(&param.name, param.tensor - gradient);
    }
    let step = p.finish(&[]).unwrap();
    assert!(step.variables.iter().all(|v| v.num_stacks == 1));
    assert_eq!(step.results, [Some(0), Some(1)]);
}

#[test]
fn a_stack_in_a_stack_has_weights_for_each_layer_of_both() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let x = g.parameter("x", [16, 8], F32);
    let y = p.stack("stage", 2, x, |p, x| {
        let x = x + p.parameter("bias", [8], Init::ones());
        p.stack("layer", 3, x, |p, x| x.dot(p.parameter("kernel", [8, 8], Init::normal(1.0))).tanh())
    });
    assert_eq!(y.shape(), [16, 8]);
    for (param, gradient) in p.trainable().iter().zip(p.gradients(y.mean(..))) {
        assert_eq!(gradient.shape(), param.tensor.shape());
        p.set(&param.name, param.tensor - gradient);
    }
    let step = p.finish(&[]).unwrap();
    let shown: Vec<_> =
        step.variables.iter().map(|v| (v.name.as_str(), v.shape.as_slice(), v.layers())).collect();
    assert_eq!(
        shown,
        [("stage.bias", &[2, 8][..], (2, &[8][..])), ("stage.layer.kernel", &[2, 3, 8, 8], (6, &[8, 8])),]
    );
    // One slice along both stack dimensions takes the parameter of the inner layer.
    let slices = step.module.ops.values().filter_map(|op| match &op.kind {
        OpKind::DynamicSlice { sizes } => Some(sizes.to_vec()),
        _ => None,
    });
    assert!(slices.into_iter().any(|sizes| sizes == [1, 1, 8, 8]));
    let init = step.initializer().unwrap();
    let body = init.funcs[init.entry().unwrap()].body.unwrap();
    let values = init.ops[init.terminator(body).unwrap()].operands.to_vec();
    assert_eq!(
        values.iter().map(|&v| init.shape(v).to_vec()).collect::<Vec<_>>(),
        [vec![2, 8], vec![2, 3, 8, 8]]
    );
}

/// Returns the number of `tanh` operations in the gradients of a stack of layers followed by a unit.
fn tangents(keep: Option<Keep>) -> usize {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let p = keep.map_or(p.clone(), |keep| p.checkpointed(keep));
    let x = g.parameter("x", [16, 8], F32);
    let x = p.stack("layers", 3, x, |p, x| x.dot(p.parameter("kernel", [8, 8], Init::ones())).tanh());
    let y = p.unit("last", x, |p, x| x.dot(p.parameter("kernel", [8, 8], Init::ones())).tanh());
    let gradients = p.gradients(y.sum(..));
    let module = g.finish(&[("layers", gradients[0]), ("last", gradients[1])]).unwrap();
    module.ops.values().filter(|op| matches!(op.kind, OpKind::Unary(UnaryOp::Tanh))).count()
}

#[test]
fn units_are_rematerialized_in_the_backward_pass() {
    assert_eq!(tangents(None), 2);
    assert_eq!(tangents(Some(Keep::Everything)), 2);
    assert_eq!(tangents(Some(Keep::Nothing)), 4);
}

#[test]
fn optimizer_state_is_sharded_as_its_parameter() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let w = p.parameter("w", [8, 8], Init::zeros());
    let param = &p.trainable()[0];
    let m = p.variable_of(param, "momentum", F32, Init::zeros());
    p.mark_sharding(|v| (v.name == "w").then(|| spec!["data", None]));
    p.set("momentum.w", m * 0.9 + w);
    let step = p.finish(&[]).unwrap();
    let func = &step.module.funcs[step.module.entry().unwrap()];
    let args = &step.module.regions[func.body.unwrap()].args;
    let split = |i: usize| step.module.shardings.of(args[step.arguments[i]]);
    assert!(split(0).is_some() && split(0) == split(1));
    assert_eq!(func.res_shardings[0].expand(), split(1));
    assert_eq!(func.arg_attrs[step.arguments[1]].donated_to(), Some(0));
}

#[test]
fn repeated_requests_return_one_variable() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let embedding = p.at("wte").parameter("embedding", [10, 4], Init::zeros());
    let again = p.at("wte").shared().parameter("embedding", [10, 4], Init::zeros());
    let frozen = p.frozen().parameter("scale", [4], Init::ones());
    assert_eq!((p.variables().len(), p.trainable().len()), (2, 1));
    assert_eq!(p.variables()[1].kind, Kind::Frozen);
    p.finish(&[("sum", (embedding + again * frozen).sum(..))]).unwrap();
}

#[test]
fn mistakes_are_reported() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    p.parameter("w", [4], Init::zeros());
    p.parameter("w", [5], Init::zeros());
    p.variable("n", Kind::Counter, (), I32, Init::Constant(0.5));
    p.set("v", g.scalar(0.0, F32));
    p.set("w", g.scalar(0.0, F32));
    let errors = p.finish(&[]).unwrap_err();
    let messages: Vec<String> = errors.0.iter().map(|error| error.kind.to_string()).collect();
    assert_eq!(
        messages,
        [
            "there are two parameters named \"w\"",
            "there is no variable named \"v\"",
            "the variable \"w\" is f32[4], but is set to f32[]",
        ]
    );
}

#[test]
fn rematerialized_units_update_statistics() {
    let make = |keep: Option<Keep>| {
        let g = Graph::new("step", &mesh());
        let p = Scope::new(&g);
        let p = keep.map_or(p.clone(), |keep| p.checkpointed(keep));
        let x = g.parameter("x", [16, 8], F32);
        let y = p.unit("norm", x, |p, x| BatchNorm::new().apply(p, x, true));
        let y = p.unit("other", y, |p, x| BatchNorm::new().apply(p, x.tanh(), true));
        for (param, gradient) in p.trainable().iter().zip(p.gradients(y.square().mean(..))) {
            p.set(&param.name, param.tensor - gradient);
        }
        p.finish(&[]).unwrap()
    };
    for keep in [None, Some(Keep::Nothing)] {
        assert!(make(keep).results.iter().all(Option::is_some), "all change");
    }
}

/// Returns the errors in the step that `build` makes.
fn reported(build: impl for<'g> FnOnce(&'g Graph, &Scope<'g>)) -> Vec<String> {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    build(&g, &p);
    let errors = p.finish(&[]).err().map_or(Vec::new(), |errors| errors.0);
    errors.iter().map(|error| error.kind.to_string()).collect()
}

#[test]
fn a_loss_scale_skips_steps_of_its_own_scope() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let scale = LossScale::default();
    let (x, ok) = (g.parameter("x", [16, 8], F32), g.parameter("ok", (), I1));
    let (first, second) = (p.at("first"), p.at("second"));
    // The scope of one loss scale is nested in the scope of another.
    for scope in [&first, &second, &second.at("inner")] {
        let loss = (x * scope.parameter("w", (), Init::ones())).square().mean(..);
        let (gradients, _) = scale.gradients(scope, loss);
        optim::apply(&Sgd::new(0.1), scope, &gradients);
    }
    scale.skip_unless(&second, ok);
    let step = p.finish(&[]).unwrap();
    let module = &step.module;
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let results = &module.ops[module.terminator(body).unwrap()].operands;
    let ok = module.regions[body].args[step.inputs.iter().find(|input| input.name == "ok").unwrap().index];
    let held: Vec<&str> = (step.variables.iter().zip(&step.results))
        .filter(|(_, result)| {
            let op = &module.ops[module.def_op(results[result.unwrap()]).unwrap()];
            matches!(op.kind, OpKind::Select) && op.operands[0] == ok
        })
        .map(|(variable, _)| variable.name.as_str())
        .collect();
    let own = ["second.w", "second.optimizer.count", "second.inner.w", "second.inner.optimizer.count"];
    assert_eq!(held, own);
}

#[test]
fn gradients_are_those_of_the_parameters() {
    let errors = reported(|g, p| {
        let (gener, disc) = (p.at("gener"), p.at("disc"));
        let sum = gener.parameter("w", [1], Init::zeros()) * 2 + disc.parameter("w", [1], Init::zeros()) * 7;
        let gradients = p.gradients(sum.sum(..));
        optim::apply(&Sgd::new(1.0), &disc, &gradients);
        optim::apply(&Sgd::new(1.0), p, &gradients[1..]);
        optim::apply(&Sgd::new(1.0), &gener, &[g.scalar(0.0, F32)]);
    });
    assert_eq!(
        errors,
        [
            "got 2 gradients for the 1 parameters of \"disc\": compute the gradients with `gradients` of the same scope",
            "the parameter \"disc.w\" has no gradient: the number of gradients is 1",
            "the parameter \"gener.w\" is f32[1], but its gradient is f32[]",
        ]
    );
}

#[test]
fn variables_cannot_be_set_in_loops() {
    let stacked = "which is one loop over layers: create stateful layers one by one in separate scopes, or return the next value \
                   from `stack_with` and set the variable to it";
    let errors = reported(|g, p| {
        p.stack("h", 2, g.parameter("x", [8, 3], F32), |p, x| BatchNorm::new().apply(&p.at("bn"), x, true));
    });
    assert_eq!(errors, [format!("cannot set the variable \"h.bn.mean\" inside a stack, {stacked}")]);
    let errors = reported(|g, p| {
        let x = g.parameter("x", [8, 3], F32);
        let p = p.checkpointed(Keep::Nothing);
        optim::accumulated(&p, 2, &x, |p, x| {
            p.unit("bn", x, |p, x| BatchNorm::new().apply(p, x, true)).square().mean(..)
        });
    });
    let parts = "where microbatches share it: use a normalization without running statistics, or compute the gradient of the full batch \
                 at once";
    let of_part = format!("cannot set the variable \"bn.mean\" during gradient accumulation, {parts}");
    assert_eq!(errors, [of_part]);
    let returned = "return the next value from the closure, and set the variable to the result";
    let errors = reported(|g, p| {
        let model = Decoder::gpt2(16, 8, 8, 2, 2);
        g.fori(0, 4, g.zeros([2], I32), |i, tokens| model.next(p, tokens, i, 8).argmax(-1));
    });
    assert_eq!(
        errors,
        ["key", "value", "first", "next"].map(|what| format!(
            "the variable \"cache.{what}\" is set inside the closure of a loop: {returned}"
        ))
    );
    // A layer in a stack uses a scope from outside of the stack.
    let errors = reported(|g, p| {
        p.stack("h", 2, g.parameter("x", [8, 3], F32), |_, x| BatchNorm::new().apply(p, x, true));
    });
    let of = ["mean", "var"];
    assert_eq!(
        errors,
        of.map(|what| format!("the variable \"{what}\" is set inside the closure of scan: {returned}"))
    );
}

#[test]
fn context_length_is_limited_by_positions() {
    let errors = reported(|g, p| {
        let position = g.parameter("position", (), I32);
        _ = Decoder::gpt2(16, 8, 8, 2, 2).next(p, g.zeros([2], I32), position, 9);
    });
    assert_eq!(errors, ["a context of 9 tokens exceeds the maximum of 8 positions"]);
}

#[test]
fn prompts_that_do_not_fit_are_reported() {
    let gpt2 = Decoder::gpt2(16, 8, 8, 2, 2);
    let errors = |decoder: &Decoder, shape: &[i64], lengths: Option<&[i64]>, context: i64| {
        reported(|g, p| {
            let lengths = lengths.map(|shape| g.zeros(shape, I32));
            _ = decoder.prefill(p, g.zeros(shape, I32), lengths, context);
        })
    };
    let shape = ["prompts must have shape [batch, time] and at least one token"];
    assert_eq!(errors(&gpt2, &[2], None, 8), shape);
    assert_eq!(errors(&gpt2, &[2, 0], None, 8), shape);
    assert_eq!(errors(&gpt2, &[2, 5], None, 4), ["prompts of 5 tokens exceed the context of 4"]);
    assert_eq!(errors(&gpt2, &[2, 5], None, 9), ["a context of 9 tokens exceeds the maximum of 8 positions"]);
    assert_eq!(errors(&gpt2, &[2, 5], Some(&[3]), 8), ["prompt lengths must be integers of shape [2]"]);
    let by_blocks = gpt2.clone().attention_block(5);
    assert!(errors(&by_blocks, &[2, 5], None, 8).is_empty());
    let masked = ["blockwise attention supports no masks, segments or explicit positions"];
    assert_eq!(errors(&by_blocks, &[2, 5], Some(&[2]), 8), masked);
    let sees_all = Decoder { attention: Attention::new(2), ..gpt2 };
    let causal = ["a key/value cache needs causal attention"];
    assert_eq!(errors(&sees_all, &[2, 5], None, 8), causal);
}

#[test]
fn stack_results_may_be_set() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let x = g.parameter("x", [8, 3], F32);
    let (_, sums) = p.stack_with("h", 2, x, |p, x| {
        let before = p.variable("sum", Kind::Statistics, [3], F32, Init::zeros());
        (x, before + x.sum(0))
    });
    p.set("h.sum", sums);
    assert_eq!(p.finish(&[]).unwrap().results, [Some(0)]);
}

#[test]
fn a_graph_has_one_scope() {
    let errors = reported(|g, p| {
        let first = p.at("first").parameter("w", [2], Init::ones());
        let second = Scope::new(g).at("second").parameter("w", [2], Init::ones());
        p.set("first.w", first * second);
    });
    let text = "the graph already has a scope: clone it, or create a nested scope";
    assert_eq!(errors, [text]);
}

#[test]
fn groups_without_parameters_are_reported() {
    let errors = reported(|g, p| {
        let x = g.parameter("x", [8, 3], F32);
        let y = p.stack("h", 2, x, |p, x| x * p.parameter("scale", [3], Init::ones()));
        let y = y.dot(p.parameter("head", [3, 2], Init::ones()));
        let groups = Groups::new(Sgd::new(0.1))
            .with("matrices", |param| param.rank() == 2, Sgd::new(0.2))
            .with("head", |param| param.name == "head", Frozen)
            .with("embedding", |param| param.name.contains("embedding"), Frozen)
            .with(
                "stacked",
                |param| param.num_stacks == 1 && param.shape() == [3] && param.dtype() == F32,
                Frozen,
            );
        optim::apply(&groups, p, &p.gradients(y.sum(..)));
    });
    assert_eq!(
        errors,
        [
            "every parameter of the group \"head\" is already in an earlier group",
            "no parameter is in the group \"embedding\"; the parameters are h.scale, head",
        ]
    );
}

#[test]
fn copies_are_sharded_as_their_source() {
    let g = Graph::new("step", &mesh());
    let p = Scope::new(&g);
    let mark = |v: &shardc_nn::Variable| match v.name.as_str() {
        "w" => Some(spec!["data", None]),
        "other" => Some(spec![None, "model"]),
        _ => None,
    };
    let w = p.parameter("w", [8, 8], Init::normal(1.0));
    for name in ["follows", "other"] {
        p.variable(name, Kind::Frozen, [8, 8], BF16, Init::copy_of("w"));
    }
    // Copies a variable (hard update of a target network) to a variable that is sharded differently.
    let whole = p.variable("whole", Kind::Frozen, [8, 8], F32, Init::copy_of("other"));
    p.mark_sharding(mark);
    whole.mark_sharding(spec![None, None]);
    p.set("whole", w);
    let step = p.finish(&[]).unwrap();
    let func = &step.module.funcs[step.module.entry().unwrap()];
    let args = &step.module.regions[func.body.unwrap()].args;
    let split = |i: usize| step.module.shardings.of(args[step.arguments[i]]);
    assert!(split(0).is_some() && split(0) == split(1));
    assert!(split(2).is_some() && split(2) != split(0) && split(3).is_some() && split(3) != split(0));
    assert_eq!(func.res_shardings[0].expand(), split(3));
    assert_eq!(step.source(&step.variables[3]).map(|source| source.name.as_str()), Some("w"));
    assert_eq!(step.source(&step.variables[0]), None);
}

#[test]
fn copies_of_unknown_variables_are_reported() {
    let errors = reported(|_, p| {
        p.parameter("w", [4], Init::ones());
        let copy = |name: &str, of: &str| p.variable(name, Kind::Frozen, [3], F32, Init::copy_of(of));
        for (name, of) in [("a", "v"), ("b", "w"), ("c", "d"), ("d", "c"), ("e", "e")] {
            copy(name, of);
        }
    });
    assert_eq!(
        errors,
        [
            "the initializer of the variable \"a\" copies \"v\", but there is no such variable",
            "the initializer of the variable \"b\" copies \"w\", but the shapes differ: [3] and [4]",
            "the initializer of the variable \"d\" copies \"c\", but the chain of copies is circular",
            "the initializer of the variable \"c\" copies \"d\", but the chain of copies is circular",
            "the initializer of the variable \"e\" copies \"e\", but the chain of copies is circular",
        ]
    );
}

#[test]
fn scalars_are_parameters() {
    let errors = reported(|g, p| {
        let x = g.parameter("x", [8, 3], F32) * p.parameter("scale", (), Init::ones());
        let x = p.stack("h", 2, x, |p, x| x * p.parameter("scale", (), Init::ones()));
        optim::apply(&Adafactor::new(0.1), p, &p.gradients(x.sum(..)));
    });
    assert_eq!(errors, [""; 0]);
}
