//! The memory of a device: totals, classes, and the values at the peak.

use indexmap::IndexMap;
use shardc_ir::TensorType;
use shardc_passes::cost::memory::{BuffersOverTime, aliased};
use shardc_passes::report::byte_size::bytes_text;

use super::classes::{class_of_argument, class_of_temporary, returned};
use super::over_time::OverTime;
use super::report::{BufferReport, ClassReport, MemoryReport};
use crate::explain::SourcePlace;
use crate::explain::classes::ProgramRoles;
use crate::{InterfaceTensor, MemoryEstimate, Output};

/// The memory of a partition. `roles` are those of the program's arguments.
pub(super) fn report(
    output: &Output,
    memory: &MemoryEstimate,
    roles: &ProgramRoles,
    temporaries: &BuffersOverTime,
    limit: u64,
) -> MemoryReport {
    let mut classes: IndexMap<&str, u64> = IndexMap::new();
    let mut live = Vec::new();
    for (i, input) in output.interface.inputs.iter().enumerate() {
        // Without a loss, the roles are guesses.
        let class = if roles.loss.is_some() { class_of_argument(roles.class(i)) } else { "arguments" };
        if input.is_token || input.memory_kind.as_deref().is_some_and(|kind| kind.contains("host")) {
            continue;
        }
        let bytes = output.machine.bytes_of_argument(&local(input));
        *classes.entry(class).or_default() += bytes;
        live.push(BufferReport {
            name: input.name.clone().unwrap_or_else(|| format!("argument {i}")),
            ty: local(input).to_string(),
            class: class.to_owned(),
            bytes,
            count: 1,
            ..BufferReport::default()
        });
    }
    let results = memory.outputs.saturating_sub(memory.aliases);
    if results > 0 {
        classes.insert("results", results);
    }
    live.extend(buffers_of_results(output));
    let returned = returned(&output.module);
    let constant = classes.clone();
    let at_peak = &temporaries.at_peak;
    // If all temporaries fit in on-chip memory, the estimate does not count them.
    let is_on_chip = at_peak.iter().map(|group| group.bytes).sum::<u64>() > memory.temporaries;
    let mut listed = 0;
    for group in at_peak {
        let is_returned = group.values.iter().all(|v| returned.contains(v));
        let class = class_of_temporary(&group.made_by, is_returned, is_on_chip);
        if !is_on_chip {
            *classes.entry(class).or_default() += group.bytes;
            listed += group.bytes;
        }
        live.push(BufferReport {
            name: group.made_by.clone(),
            ty: group.ty.clone(),
            class: class.to_owned(),
            bytes: group.bytes,
            count: group.count,
            place: SourcePlace { user: group.made_at.clone(), ..SourcePlace::default() },
            ..BufferReport::default()
        });
    }
    let rest = memory.temporaries.saturating_sub(listed);
    if rest > 0 {
        classes.insert(if is_on_chip { "tables and copies" } else { "fragmentation and copies" }, rest);
    }
    live.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
    let mut classes: Vec<ClassReport> =
        classes.into_iter().map(|(class, bytes)| ClassReport { class: class.to_owned(), bytes }).collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.bytes));
    let over_time = OverTime::of(output, temporaries, &constant, is_on_chip);
    MemoryReport {
        limit,
        low: memory.low,
        expected: memory.peak,
        high: memory.high,
        reasons: reasons(memory),
        fits: limit == 0 || memory.high <= limit,
        classes,
        host: memory.host,
        live,
        points: over_time.points,
        timeline: over_time.timeline,
        classes_over_time: over_time.classes,
        buffers: over_time.buffers,
        unlisted: over_time.unlisted,
    }
}

/// The results in device memory that are not aliased to arguments.
fn buffers_of_results(output: &Output) -> Vec<BufferReport> {
    let aliased = output.module.entry().map(|func| aliased(&output.module, func)).unwrap_or_default();
    let results = output.interface.outputs.iter().enumerate();
    let own = results.filter(|(i, result)| {
        let is_on_host = result.memory_kind.as_deref().is_some_and(|kind| kind.ends_with("_host"));
        !result.is_token && !is_on_host && !aliased.contains(i)
    });
    own.map(|(i, result)| BufferReport {
        name: result.name.clone().unwrap_or_else(|| format!("result {i}")),
        ty: local(result).to_string(),
        class: "results".to_owned(),
        bytes: output.machine.bytes_of_argument(&local(result)),
        count: 1,
        ..BufferReport::default()
    })
    .collect()
}

/// The causes of the width of the interval. Causes that matter little are one row, so that the rows add up to the width.
fn reasons(memory: &MemoryEstimate) -> Vec<String> {
    let causes = [
        (memory.width.fusion, "values that the compiler may keep or recompute"),
        (memory.width.schedule, "operations that the compiler may run earlier or later"),
        (memory.width.allocation, "gaps between buffers"),
        (memory.width.fast_memory, "buffers that may be in the fast memory"),
        (memory.width.other, "choices of the compiler that the model does not have"),
    ];
    let matters = |&(bytes, _): &(u64, &str)| bytes > memory.peak / 100;
    let mut listed: Vec<(u64, &str)> = causes.into_iter().filter(matters).collect();
    let sum: u64 = listed.iter().map(|(bytes, _)| bytes).sum();
    let rest = memory.high.saturating_sub(memory.low).saturating_sub(sum);
    if !listed.is_empty() && rest > 0 {
        listed.push((rest, "smaller causes"));
    }
    listed.into_iter().map(|(bytes, cause)| format!("{}: {cause}", bytes_text(bytes))).collect()
}

fn local(input: &InterfaceTensor) -> TensorType {
    TensorType { shape: input.local_shape.clone(), ..input.global.clone() }
}
