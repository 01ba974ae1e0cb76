//! scratch
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::exit)]
use shardc_autodiff::{Derivative, Request};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let mut m = shardc_stablehlo::parse(&text).unwrap();
    shardc_passes::transforms::inline::inline_calls(&mut m).unwrap();
    let body = m.funcs[m.entry().unwrap()].body.unwrap();
    shardc_passes::transforms::decompose::decompose(&mut m, body);
    let f = m.entry().unwrap();
    let wrt: Vec<usize> = a[2].split(',').map(|x| x.parse().unwrap()).collect();
    let how = match a.get(3).map(|x| x.as_str()) {
        Some("jvp") => Derivative::Jvp,
        Some("vjp") => Derivative::Vjp,
        _ => Derivative::Gradient,
    };
    if let Err(e) = shardc_autodiff::differentiate(&mut m, f, &Request::new(how, &wrt, &[0]).with_value()) {
        eprintln!("{}", e[0].message);
        std::process::exit(1);
    }
    let f = m.entry().unwrap();
    let body = m.funcs[f].body.unwrap();
    shardc_passes::transforms::dce::dce(&mut m, body);
    if let Err(e) = shardc_ir::verify(&m) {
        eprintln!("verify: {}", e[0].message);
    }
    print!("{}", shardc_stablehlo::print(&m, &shardc_stablehlo::PrintOptions::default()));
}
