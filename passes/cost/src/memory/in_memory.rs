//! The temporaries in a device's memory at the peak, grouped by producer.

use rustc_hash::FxHashMap;
use shardc_ir::{FuncId, Module, OpId, ValueId};

use super::machine::Machine;
use super::stages::{Alive, Estimate};

/// Temporaries at the peak with the same type, kind of producer, and source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InMemory {
    /// The total bytes of the temporaries on a device, padding included.
    pub bytes: u64,
    /// The number of temporaries.
    pub count: usize,
    /// The local type of each temporary, such as `tensor<8x128xf32>`.
    pub ty: String,
    /// The kind of operation that produces the temporaries, such as `stablehlo.dot_general`.
    pub made_by: String,
    /// The location of the producers in the user's source, if known: `model.py:31:9`.
    pub made_at: Option<String>,
    /// The operation at the end of the live range of the first temporary.
    pub kept_until: String,
    /// The location of the operation of [`InMemory::kept_until`] in the user's source, if known.
    pub kept_until_at: Option<String>,
    /// The temporaries.
    pub values: Vec<ValueId>,
}

/// Returns the temporaries that are live at the peak of a function with local types on a machine, the largest first. Arguments and
/// results are not listed.
#[must_use]
pub fn at_peak(module: &Module, func: FuncId, machine: Machine) -> Vec<InMemory> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    grouped(module, &Estimate::new(module, func, body, machine.into(), &|_| 0).peak(body).alive)
}

/// Groups the temporaries at the peak, the largest group first.
pub(super) fn grouped(module: &Module, alive: &[Alive]) -> Vec<InMemory> {
    let name = |op: OpId| module.ops[op].kind.name().to_owned();
    let mut groups: Vec<InMemory> = Vec::new();
    let mut known: FxHashMap<(String, String, Option<String>), usize> = FxHashMap::default();
    for &Alive { bytes, value, made_by, kept_until } in alive {
        // A buffer without a value is a copy that the compiler inserts, or the memory of a called function. Such a buffer is not listed.
        let Some(value) = value else { continue };
        let ty = module.types.display(module.values[value].ty);
        let made_at = module.user_loc(made_by);
        let group = *known.entry((ty.clone(), name(made_by), made_at.clone())).or_insert_with(|| {
            let kept_until_at = module.user_loc(kept_until);
            let (made_by, kept_until) = (name(made_by), name(kept_until));
            let values = Vec::new();
            groups.push(InMemory {
                bytes: 0,
                count: 0,
                ty,
                made_by,
                made_at,
                kept_until,
                kept_until_at,
                values,
            });
            groups.len() - 1
        });
        let group = &mut groups[group];
        group.bytes = group.bytes.saturating_add(bytes);
        group.count += 1;
        group.values.push(value);
    }
    // The sort is stable: ties stay in the order of definition.
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(u64, usize, String, String, String)> {
        let module = shardc_stablehlo::parse(text).unwrap();
        let all = at_peak(&module, module.entry().unwrap(), Machine::of("cpu"));
        let fields = |it: InMemory| (it.bytes, it.count, it.ty, it.made_by, it.kept_until);
        all.into_iter().map(fields).collect()
    }

    #[test]
    fn live_values_are_listed_with_producer_and_last_user() {
        let text = "func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
            %0 = stablehlo.cholesky %x, lower = true : tensor<16x16xf32>
            %1 = stablehlo.cholesky %0, lower = true : tensor<16x16xf32>
            %2 = stablehlo.cholesky %1, lower = true : tensor<16x16xf32>
            %3 = stablehlo.add %2, %0 : tensor<16x16xf32>
            %4 = stablehlo.add %3, %1 : tensor<16x16xf32>
            return %4 : tensor<16x16xf32> }";
        let ty = "tensor<16x16xf32>".to_owned();
        assert_eq!(of(text), [(3072, 3, ty, "stablehlo.cholesky".to_owned(), "stablehlo.add".to_owned())]);
    }

    #[test]
    fn values_in_a_loop_and_across_it_are_listed() {
        let text = "func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
            %0 = stablehlo.cholesky %x, lower = true : tensor<16x16xf32>
            %n = stablehlo.constant dense<false> : tensor<i1>
            %r = stablehlo.while(%a = %x) : tensor<16x16xf32> cond {
              stablehlo.return %n : tensor<i1>
            } do {
              %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
              %2 = stablehlo.cholesky %1, lower = true : tensor<16x16xf32>
              stablehlo.return %2 : tensor<16x16xf32>
            }
            return %r : tensor<16x16xf32> }";
        let all = of(text);
        let made: Vec<_> = all.iter().map(|it| (&*it.3, &*it.4)).collect();
        assert!(made.contains(&("stablehlo.dot_general", "stablehlo.cholesky")), "in the loop: {made:?}");
        assert!(made.contains(&("stablehlo.cholesky", "stablehlo.while")), "across it: {made:?}");
        let module = shardc_stablehlo::parse(text).unwrap();
        let need = super::super::need(&module, module.entry().unwrap(), Machine::of("cpu"));
        assert_eq!(
            all.iter().map(|it| it.0).sum::<u64>(),
            need.estimate.temporaries,
            "each buffer is listed once"
        );
    }
}
