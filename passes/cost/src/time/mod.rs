//! Estimates the time of one execution of a partitioned program on a target, without a device.
//!
//! 1. The operations that are not fused into their users are *kernels*. A kernel takes the longer of its arithmetic (matrix units, then
//!    element-wise) and its memory traffic (the roofline model of Williams, Waterman and Patterson, 2009), plus the start of an operation
//!    (`work`). Kernels with equal loops are merged (`merge`), and values that stay on the chip cause no traffic (`fast_memory`).
//! 2. A collective takes the time of its bytes on the links of its groups ([`shardc_target::Group`]).
//! 3. Kernels run one after the other. A collective that the compiler overlaps runs beside them as soon as its operands are ready; the device
//!    waits for the others (`schedule`).
//! 4. The body of a loop is scheduled once, and its time is multiplied by the trip count. Iterations do not overlap.
//!
//! Peak rates are assumed, so the estimate is a lower bound of what a device takes. It ranks partitions of the same program.

mod fast_memory;
mod links;
mod merge;
mod regions;
mod schedule;
mod work;

use shardc_ir::{FuncId, Module, OpId};
use shardc_target::Target;

use self::links::Links;
pub use self::links::collective_traffic;
use self::regions::Estimate;
pub use self::work::ideal_seconds;
use crate::memory::Machine;

/// The estimated time of one execution of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeEstimate {
    /// The sums over the whole execution.
    pub total: Total,
    /// Kernels and collectives in the order of their start.
    pub spans: Vec<Span>,
    /// Loops, in program order; a loop inside of another follows it.
    pub loops: Vec<LoopTime>,
    /// Whether a matmul runs. A compiler may hide collectives behind it.
    pub has_matmul: bool,
}

/// Sums over an execution, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// The whole execution.
    pub seconds: f64,
    /// Kernels.
    pub compute: f64,
    /// The part of `compute` in kernels that are limited by memory bandwidth, without their starts.
    pub memory_bound: f64,
    /// The part of `compute` that is the starts of kernels.
    pub launches: f64,
    /// Collectives, overlapped or not.
    pub communication: f64,
    /// The time in which no kernel runs because the device waits for a collective.
    pub exposed: f64,
    /// Floating-point operations of matmuls and convolutions (not seconds).
    pub flops: f64,
}

/// The execution of a kernel or collective. In a loop, it stands for all iterations: start and duration are multiplied by the trip count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The operation. For a kernel of several operations, it is the largest matmul or convolution, or else the last operation.
    pub op: OpId,
    /// The number of operations of the kernel.
    pub operations: usize,
    /// Whether it is a collective.
    pub is_collective: bool,
    /// Start in seconds.
    pub start: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds in which no kernel runs because the device waits for this collective.
    pub exposed: f64,
    /// The number of executions.
    pub runs: u64,
}

/// The time of a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopTime {
    /// The loop.
    pub op: OpId,
    /// The number of iterations; unknown trip counts are estimated.
    pub trips: u64,
    /// Seconds of all iterations.
    pub seconds: f64,
}

/// Estimates the time of a function with local types. Replica groups contain device numbers of the target or, if `order` is given, positions in
/// this list of device numbers.
#[must_use]
pub fn estimate(
    module: &Module,
    func: FuncId,
    target: &Target,
    order: Option<&[i64]>,
    machine: Machine,
) -> TimeEstimate {
    let mut time = Estimate::new(module, func, Links::new(target, order), machine).function(func);
    time.spans.sort_by(|a, b| a.start.total_cmp(&b.start));
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str, target: &str) -> TimeEstimate {
        let module = shardc_stablehlo::parse(text).unwrap();
        estimate(&module, module.entry().unwrap(), &target.parse().unwrap(), None, Machine::default())
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 0.02, "{value} is not {expected}");
    }

    const SQUARE: &str = "tensor<4096x4096xbf16>";
    const CUBE: f64 = 4096.0 * 4096.0 * 4096.0;

    #[test]
    fn a_large_matmul_runs_at_the_peak_rate() {
        let text = format!(
            "func.func @main(%x: {SQUARE}) -> {SQUARE} {{
            %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
            return %0 : {SQUARE} }}"
        );
        let time = time(&text, "v5e:2x2");
        let flops = 2.0 * CUBE;
        assert!((time.total.flops - flops).abs() < 1.0);
        close(time.total.seconds, flops / 197e12);
        assert!(time.total.memory_bound == 0.0);
    }

    #[test]
    fn element_wise_operations_are_limited_by_memory() {
        let text = format!(
            "func.func @main(%x: {SQUARE}) -> {SQUARE} {{
            %0 = stablehlo.add %x, %x : {SQUARE}
            %1 = stablehlo.multiply %0, %x : {SQUARE}
            return %1 : {SQUARE} }}"
        );
        let time = time(&text, "v5e:2x2");
        assert_eq!(time.spans.len(), 1, "both operations are one kernel");
        close(time.total.seconds, 2.0 * 2.0 * 4096.0 * 4096.0 / 819e9);
        close(time.total.memory_bound, time.total.seconds);
    }

    #[test]
    fn constant_results_are_written() {
        let text = format!(
            "func.func @main() -> {SQUARE} {{
            %0 = stablehlo.constant dense<0.0> : {SQUARE}
            return %0 : {SQUARE} }}"
        );
        let time = time(&text, "v5e:2x2");
        assert_eq!(time.spans.len(), 1);
        close(time.total.memory_bound, 2.0 * 4096.0 * 4096.0 / 819e9);
    }

    fn gathers(target: &str) -> TimeEstimate {
        let shard = "tensor<1024x4096xbf16>";
        let gather = "channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>";
        let text = format!(
            "func.func @main(%x: {SQUARE}, %w: {shard}, %v: {shard}) -> {SQUARE} {{
            %a = \"stablehlo.all_gather\"(%w) <{{all_gather_dim = 0 : i64, {gather}, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> : ({shard}) -> {SQUARE}
            %b = \"stablehlo.all_gather\"(%v) <{{all_gather_dim = 0 : i64, {gather}, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> : ({shard}) -> {SQUARE}
            %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
            %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
            return %1 : {SQUARE} }}"
        );
        time(&text, target)
    }

    #[test]
    fn all_gathers_overlap_with_matmuls() {
        let time = gathers("v5e:4x4");
        let (gather, product) = (0.75 * 2.0 * 4096.0 * 4096.0 / 45e9, 2.0 * CUBE / 197e12);
        close(time.total.communication, 2.0 * gather);
        close(time.total.compute, 2.0 * product);
        // The second all-gather starts after the first and hides the first matmul.
        close(time.total.seconds, 2.0 * gather.max(product) + product.min(gather));
        close(time.total.exposed, time.total.seconds - 2.0 * product);
        let waits: f64 = time.spans.iter().map(|span| span.exposed).sum();
        close(waits, time.total.exposed);
    }

    #[test]
    fn a_convolution_hides_no_all_gather() {
        let (image, kernel) = ("tensor<8x56x56x256xbf16>", "tensor<3x3x256x256xbf16>");
        let convolve = |image_value: &str, kernel_value: &str| {
            format!(
                "stablehlo.convolution({image_value}, {kernel_value}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {kernel}) -> {image}"
            )
        };
        let layer = format!(
            "func.func private @layer(%x: {image}, %v: {kernel}) -> {image} {{
            %0 = {}
            return %0 : {image} }}",
            convolve("%x", "%v")
        );
        let called = format!("func.call @layer(%x, %v) : ({image}, {kernel}) -> {image}");
        for first in [convolve("%x", "%v"), called] {
            let text = format!(
                "func.func @main(%x: {image}, %w: tensor<3x3x64x256xbf16>, %v: {kernel}) -> ({image}, {image}) {{
                %0 = \"stablehlo.all_gather\"(%w) <{{all_gather_dim = 2 : i64, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> : (tensor<3x3x64x256xbf16>) -> {kernel}
                %1 = {first}
                %2 = {}
                return %1, %2 : {image}, {image} }}
                {layer}",
                convolve("%1", "%0")
            );
            let time = time(&text, "v5e:4x4");
            assert!(time.total.communication > 0.0);
            close(time.total.exposed, time.total.communication);
        }
    }

    #[test]
    fn devices_of_a_cpu_wait_for_collectives() {
        let time = gathers("cpu:4");
        close(time.total.exposed, time.total.communication);
        close(time.total.seconds, time.total.compute + time.total.communication);
    }

    #[test]
    fn a_loop_takes_the_time_of_all_iterations() {
        let text = format!(
            "func.func @main(%x: {SQUARE}) -> {SQUARE} {{
            %zero = stablehlo.constant dense<0> : tensor<i32>
            %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, {SQUARE} cond {{
              %ten = stablehlo.constant dense<10> : tensor<i32>
              %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %c : tensor<i1>
            }} do {{
              %one = stablehlo.constant dense<1> : tensor<i32>
              %n = stablehlo.add %i, %one : tensor<i32>
              %b = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
              stablehlo.return %n, %b : tensor<i32>, {SQUARE}
            }}
            return %r#1 : {SQUARE} }}"
        );
        let time = time(&text, "v5e:2x2");
        close(time.total.seconds, 10.0 * 2.0 * CUBE / 197e12);
        assert_eq!((time.loops.len(), time.loops[0].trips), (1, 10));
        let product = time.spans.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).unwrap();
        assert_eq!(product.runs, 10);
        close(product.seconds, time.total.seconds);
    }
}
