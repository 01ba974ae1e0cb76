//! Rewrites that add arguments, such as the adapters of LoRA: with zeros for some of these arguments, the function is the same.

use shardc_ir::{Dense, Diagnostic, FuncId, Module, OpKind, RegionId, ValueId};
use shardc_passes::annotations::names::{Named, Names};

use super::annotated::misfit;
use crate::Error;

/// Prepares a program and a rewrite of it that has more arguments for a comparison.
///
/// `zeros` are names of the additional arguments that are zero, in which `*` matches any text: `lora.*.b`. They become constants in the
/// copy of `applied`. The copy of the original gets all additional arguments, and does not use them, so that both programs have the same
/// arguments. The values of additional arguments that are not zero are arbitrary.
///
/// # Errors
/// A name matches no argument (SH0333), or an argument that the original has (SH0715).
pub fn with_zeros(original: &Module, applied: &Module, zeros: &[&str]) -> Result<(Module, Module), Error> {
    let (mut original, mut applied) = (original.clone(), applied.clone());
    let (Some((global, global_body)), Some((func, body))) = (entry(&original), entry(&applied)) else {
        return Err(misfit("a program has no entry function", "name the function @main"));
    };
    let own = original.funcs[global].params.len();
    let names = Names::of(&applied, &applied.funcs[func]);
    for text in zeros {
        for named in names.matching(text)? {
            match named {
                Named::Argument(at) if at >= own => zero(&mut applied, body, at)?,
                Named::Argument(_) | Named::Result(_) => {
                    let text = format!("{text} is not an argument that only the second program has");
                    return Err(misfit(text, "name additional arguments, which are the last ones"));
                }
            }
        }
    }
    for &ty in applied.funcs[func].params.iter().skip(own) {
        let ty = original.types.intern(applied.types.get(ty).clone());
        original.add_parameter(global, global_body, ty);
    }
    Ok((original, applied))
}

fn entry(module: &Module) -> Option<(FuncId, RegionId)> {
    module.entry().and_then(|func| Some((func, module.funcs[func].body?)))
}

/// Replaces an argument by a constant.
fn zero(module: &mut Module, body: RegionId, at: usize) -> Result<(), Error> {
    let argument: Option<ValueId> = module.regions[body].args.get(at).copied();
    let Some((argument, ty)) = argument.and_then(|value| Some((value, module.tensor(value)?))) else {
        let text = format!("argument {at} is not a tensor, and cannot be zero");
        return Err(Diagnostic::invalid("SH0715", text).into());
    };
    let zero = OpKind::Constant(Dense::splat(&vec![0; ty.dtype.bytes()]));
    let op = module.add_op(zero, &[], &[module.values[argument].ty], &[]);
    let constant = module.ops[op].results[0];
    for data in module.ops.values_mut() {
        data.operands
            .iter_mut()
            .filter(|operand| **operand == argument)
            .for_each(|operand| *operand = constant);
    }
    let ops = std::iter::once(op).chain(module.regions[body].ops.iter().copied()).collect();
    module.set_ops(body, ops);
    Ok(())
}
