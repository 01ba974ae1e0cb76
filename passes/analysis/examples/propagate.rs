//! Propagates the shardings of a StableHLO file and lists the shardings of arguments, results and constraints. Prints the time of each
//! step to standard error.
//!
//! `cargo run --release -p shardc-analysis --example propagate -- FILE.mlir [--all] [--times N]`

use std::time::Instant;

use shardc_analysis::propagate::{PropagateOptions, propagate};
use shardc_analysis::transforms::inline::inline_calls;
use shardc_ir::{Module, OpKind, ShardingId};

fn show(module: &Module, id: Option<ShardingId>) -> String {
    id.map_or("none".to_owned(), |id| {
        let sharding = module.shardings.get(id);
        sharding.display(&module.meshes[sharding.mesh])
    })
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = args.iter().find(|a| !a.starts_with("--")) else {
        eprintln!("usage: propagate FILE.mlir [--all] [--times N]");
        std::process::exit(2);
    };
    let times =
        args.iter().position(|a| a == "--times").and_then(|i| args.get(i + 1)?.parse().ok()).unwrap_or(1);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => fail(&[format!("{path}: {error}")]),
    };
    let mut last = None;
    for _ in 0..times {
        let start = Instant::now();
        let mut module = shardc_stablehlo::parse(&text).unwrap_or_else(|e| fail(&e));
        let parsed = start.elapsed();
        inline_calls(&mut module).unwrap_or_else(|e| fail(&e));
        let inlined = start.elapsed();
        let report = propagate(&mut module, &PropagateOptions::default()).unwrap_or_else(|e| fail(&e));
        let done = start.elapsed();
        eprintln!(
            "parse {:?}, inline {:?}, propagate {:?}: {} visits, {} updates",
            parsed,
            inlined - parsed,
            done - inlined,
            report.visits,
            report.updates
        );
        last = Some(module);
    }
    let Some(module) = last else { return };
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else { return };
    let mut out = String::new();
    for (i, &arg) in module.regions[body].args.iter().enumerate() {
        out += &format!("arg {i} {}\n", show(&module, module.shardings.of(arg)));
    }
    for (i, id) in module.funcs[func].res_shardings.iter().enumerate() {
        out += &format!("res {i} {}\n", show(&module, id.expand()));
    }
    let mut constraints = 0;
    for op in module.walk(body) {
        let data = &module.ops[op];
        if let OpKind::ShardingConstraint(id) = data.kind {
            out += &format!("con {constraints} {}\n", show(&module, Some(id)));
            constraints += 1;
        } else if args.iter().any(|a| a == "--all")
            && data.results.first().is_some_and(|&v| module.rank(v) > 0)
        {
            let free = matches!(
                data.kind,
                OpKind::Constant(_) | OpKind::BroadcastInDim { .. } | OpKind::Iota { .. }
            );
            if !free {
                let ty = module.types.display(module.values[data.results[0]].ty);
                out += &format!(
                    "op {} {ty} {}\n",
                    data.kind.name(),
                    show(&module, module.shardings.of(data.results[0]))
                );
            }
        }
    }
    use std::io::Write as _;
    let _ = std::io::stdout().write_all(out.as_bytes());
}

fn fail<E: std::fmt::Display>(errors: &[E]) -> ! {
    for error in errors {
        eprintln!("{error}");
    }
    std::process::exit(1);
}
