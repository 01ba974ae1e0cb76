//! Degenerate collectives: collectives of the input program outside of manual computations.
//!
//! The input program is written for one process in StableHLO's process grid of replicas and partitions; partitioning creates the other
//! processes. Unless attributes of the module or the collective refer to more processes, replica groups can only contain process 0, and the
//! collective is the identity. XLA's partitioner behaves similarly: it leaves cross-replica collectives unchanged, and rejects a program
//! that reads its partition id.

use shardc_ir::{Build, Dense, Diagnostic, Module, OpId, OpKind, ReplicaGroups};

use super::OpPlanner;
use super::available::AvailableCopies;

impl OpPlanner<'_> {
    /// Replaces a collective, `partition_id` or `replica_id` in a program of one process by its operand, or by zero.
    pub(super) fn degenerate_collective(&mut self, op: OpId, copies: &mut AvailableCopies) {
        if let Some((what, hint)) = further_processes(self.rw.module, op) {
            let data = &self.rw.module.ops[op];
            let message =
                format!("{} {what} is not supported outside of a manual computation", data.kind.name());
            let mut error = Diagnostic::unsupported("SH0304", message).at(data.span).hint(hint);
            error.user_loc = self.rw.module.user_loc(op);
            self.errors.push(error);
            return;
        }
        self.rw.erase();
        let is_left_out = match self.rw.module.ops[op].kind.collective() {
            None => true,
            Some(spec) => !receives(&self.rw.module.ops[op].kind, &spec.groups),
        };
        for (i, result) in self.rw.module.ops[op].results.clone().into_iter().enumerate() {
            let (Some(sharding), Some(ty)) =
                (self.rw.module.shardings.of(result), self.rw.module.stored(result))
            else {
                continue;
            };
            let (zero, ty) = (vec![0; ty.dtype.bytes()], self.rw.module.values[result].ty);
            let operand = self.rw.module.ops[op].operands.get(i).copied();
            let made = match operand.filter(|_| !is_left_out) {
                Some(operand) => self.rw.op(OpKind::Reshard(sharding), &[operand], &[ty], &[]),
                None => self.rw.op(OpKind::Constant(Dense::splat(&zero)), &[], &[ty], &[]),
            };
            self.rw.module.take_over(self.rw.module.ops[made].results[0], result);
            self.free.note(self.rw.module, made);
            self.op(made, &[], copies);
        }
    }
}

/// Whether process 0 receives a value. If no process sends to it, the result is zero.
fn receives(kind: &OpKind, groups: &ReplicaGroups) -> bool {
    let sends_only_to_some = matches!(kind, OpKind::CollectivePermute(_) | OpKind::CollectiveBroadcast(_));
    !sends_only_to_some || groups.contains(0)
}

/// Returns the part of an error message that states why the collective spans more than one process, and a hint. `None` if there is only
/// one process.
fn further_processes(module: &Module, op: OpId) -> Option<(String, &'static str)> {
    const MANUAL: &str = "put per-device code into an sdy.manual_computation (jax.shard_map); elsewhere write the program for one device and annotate it, and shardc inserts the collectives";
    if let Some(n) = module.num_replicas().filter(|&n| n > 1) {
        let hint =
            "partition a program for one replica: replace the replicas by a mesh axis that shards the batch";
        return Some((format!("in a program for {n} replicas"), hint));
    }
    let data = &module.ops[op];
    let spec = data.kind.collective();
    let asks_for_partitions =
        matches!(data.kind, OpKind::PartitionId) || spec.is_some_and(|spec| spec.crosses_partitions());
    if asks_for_partitions && let Some(n) = module.num_partitions().filter(|&n| n > 1) {
        return Some((format!("in a program for {n} partitions"), MANUAL));
    }
    let spec = spec?;
    if spec.has_dynamic_root {
        return Some(("with a dynamic root".to_owned(), MANUAL));
    }
    if spec.mesh_axes.is_some() && spec.groups.is_empty() {
        return Some(("along mesh axes".to_owned(), MANUAL));
    }
    let changes = data.operands.iter().zip(&data.results);
    let changes = changes.filter(|&(&a, &b)| module.values[a].ty != module.values[b].ty).count() > 0;
    if changes || spec.groups.ids().any(|id| id > 0) {
        return Some(("between several devices".to_owned(), MANUAL));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{refused, try_around};

    /// Returns a program with an all-reduce over these replica groups, in a module with these attributes.
    fn all_reduce(attributes: &str, groups: &str) -> String {
        format!(
            r#"module attributes {{{attributes}}} {{
              sdy.mesh @mesh = <["x"=4]>
              func.func @main(%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<8xf32> {{
                %0 = "stablehlo.all_reduce"(%x) <{{replica_groups = {groups}}}> ({{
                  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                    %s = stablehlo.add %p, %q : tensor<f32>
                    stablehlo.return %s : tensor<f32>
                }}) : (tensor<8xf32>) -> tensor<8xf32>
                return %0 : tensor<8xf32>
              }}
            }}"#
        )
    }

    #[test]
    fn an_all_reduce_of_one_process_is_the_identity() {
        let program = all_reduce("", "dense<[[0]]> : tensor<1x1xi64>");
        let done = try_around("plan", &program).unwrap();
        assert_eq!((done.added("stablehlo.all_reduce"), done.added("sdy.reshard")), (-1, 1));
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{"x"}]"#]);
    }

    #[test]
    fn a_process_that_nobody_sends_to_gets_zeros() {
        let program = r#"
            sdy.mesh @mesh = <["x"=4]>
            func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
              return %0 : tensor<8xf32>
            }"#;
        let done = try_around("plan", program).unwrap();
        assert_eq!(done.shardings("stablehlo.constant"), [r#"[{"x"}]"#]);
        assert!(done.after.contains("dense<0.000000e+00> : tensor<8xf32>"), "{}", done.after);
    }

    #[test]
    fn an_all_reduce_of_several_processes_is_refused() {
        let program = all_reduce("", "dense<[[0, 1]]> : tensor<1x2xi64>");
        assert_eq!(refused("plan", &program), ["SH0304"]);
    }

    #[test]
    fn an_all_reduce_in_a_program_of_several_replicas_is_refused() {
        let program = all_reduce("mhlo.num_replicas = 2 : i32", "dense<[[0]]> : tensor<1x1xi64>");
        assert_eq!(refused("plan", &program), ["SH0304"]);
    }
}
