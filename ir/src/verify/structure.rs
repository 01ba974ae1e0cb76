//! Verifies invariants I2 to I5 (ownership, definitions, dominance, terminators) in one walk over the program.

use cranelift_entity::EntityRef;

use super::Report;
use crate::{OpId, OpKind, RegionId, ValueDef, ValueId};

/// A region on the stack of the walk.
struct Frame {
    region: RegionId,
    /// The mark of values that operations in this region may use. Each body that is isolated from above has its own mark.
    mark: u32,
    /// The index of the current operation in the region.
    at: usize,
    /// The index of the next region of the current operation to enter.
    sub: usize,
}

struct Walk<'r, 'm> {
    report: &'r mut Report<'m>,
    region_seen: Vec<bool>,
    op_seen: Vec<bool>,
    /// For each value that may be used at the current position, the mark of the isolated body that defines it; 0 for other values.
    visible: Vec<u32>,
    program: Program,
    sound: bool,
}

/// The operations of a module in pre-order.
pub(super) struct Program {
    /// All operations of the program, in pre-order.
    pub(super) order: Vec<OpId>,
    /// For each operation in `order`, the innermost isolated body that contains it, as an index into `scopes`.
    pub(super) scope: Vec<u32>,
    /// The bodies that are isolated from above.
    pub(super) scopes: Vec<ManualScope>,
    /// For each region, whether it is the body of a function.
    pub(super) is_body: Vec<bool>,
}

/// A body that is isolated from above.
#[derive(Clone, Copy)]
pub(super) struct ManualScope {
    /// The `sdy.manual_computation` with this body; `None` for the body of a function.
    pub(super) manual: Option<OpId>,
    /// The index in `scopes` of the body that contains the `sdy.manual_computation`.
    pub(super) parent: u32,
}

/// Returns the operations of the program; `None` if invariant I2 or I3 is violated, so that the program must not be walked.
pub(super) fn check(report: &mut Report<'_>) -> Option<Program> {
    let module = report.module;
    let mut walk = Walk {
        report,
        region_seen: vec![false; module.regions.len()],
        op_seen: vec![false; module.ops.len()],
        visible: vec![0; module.values.len()],
        program: Program {
            order: Vec::with_capacity(module.ops.len()),
            scope: Vec::with_capacity(module.ops.len()),
            scopes: Vec::new(),
            is_body: vec![false; module.regions.len()],
        },
        sound: true,
    };
    for body in module.bodies() {
        walk.body(body);
    }
    walk.sound.then_some(walk.program)
}

impl Walk<'_, '_> {
    /// Adds an isolated body to `scopes`, and returns its mark: its index plus one.
    fn new_mark(&mut self, manual: Option<OpId>, mark: u32) -> u32 {
        self.program.scopes.push(ManualScope { manual, parent: mark.saturating_sub(1) });
        self.program.scopes.len() as u32
    }

    fn body(&mut self, body: RegionId) {
        let module = self.report.module;
        let mark = self.new_mark(None, 0);
        self.program.is_body[body.index()] = true;
        let mut stack = Vec::new();
        self.enter(&mut stack, body, mark);
        while let Some(frame) = stack.last_mut() {
            let ops = &module.regions[frame.region].ops;
            let Some(&id) = ops.get(frame.at) else {
                let region = frame.region;
                stack.pop();
                self.leave(region);
                continue;
            };
            // The walk returns to an operation after each of its regions; `first` means that no region has been entered yet.
            let (first, last) = (frame.sub == 0, frame.at + 1 == ops.len());
            if first {
                if self.op_seen[id.index()] {
                    self.sound = false;
                    let message =
                        format!("{id} ({}) occurs twice in the program", module.ops[id].kind.name());
                    self.report.internal("SH0202", message);
                    frame.at += 1;
                    continue;
                }
                self.op_seen[id.index()] = true;
                self.program.order.push(id);
                self.program.scope.push(frame.mark - 1);
                self.operation(id, frame.mark, last);
            }
            let op = &module.ops[id];
            if let Some(&region) = op.regions.get(frame.sub) {
                frame.sub += 1;
                let opaque = matches!(op.kind, OpKind::Opaque(_) | OpKind::Composite(_));
                if !opaque && module.terminator(region).is_none() {
                    self.report.at_op(
                        "SH0205",
                        id,
                        format!("a region of {} does not end with a return", op.kind.name()),
                    );
                }
                let isolated = matches!(op.kind, OpKind::ManualComputation(_));
                let mark = frame.mark;
                let mark = if isolated { self.new_mark(Some(id), mark) } else { mark };
                self.enter(&mut stack, region, mark);
            } else {
                for &result in &op.results {
                    // Results become visible after the regions, since an operation's results cannot be used inside its
                    // regions.
                    self.visible[result.index()] = frame.mark;
                }
                frame.at += 1;
                frame.sub = 0;
            }
        }
    }

    fn enter(&mut self, stack: &mut Vec<Frame>, region: RegionId, mark: u32) {
        if std::mem::replace(&mut self.region_seen[region.index()], true) {
            self.sound = false;
            self.report.internal("SH0202", format!("{region} belongs to two operations or functions"));
            return;
        }
        for (i, &arg) in self.report.module.regions[region].args.iter().enumerate() {
            self.defined(arg, ValueDef::Arg(region, i as u32));
            self.visible[arg.index()] = mark;
        }
        stack.push(Frame { region, mark, at: 0, sub: 0 });
    }

    /// Leaves a region: its values cannot be used afterwards.
    fn leave(&mut self, region: RegionId) {
        let region = &self.report.module.regions[region];
        for arg in &region.args {
            self.visible[arg.index()] = 0;
        }
        for &op in &region.ops {
            for result in &self.report.module.ops[op].results {
                self.visible[result.index()] = 0;
            }
        }
    }

    fn defined(&mut self, value: ValueId, def: ValueDef) {
        let have = self.report.module.values[value].def();
        if have != def {
            self.sound = false;
            let message = format!("{value} is used as {} but defined as {}", text(def), text(have));
            self.report.internal("SH0203", message);
        }
    }

    fn operation(&mut self, id: OpId, mark: u32, last: bool) {
        let op = &self.report.module.ops[id];
        for (i, value) in op.operands.iter().enumerate() {
            // A value may be used here if it has the mark of the innermost isolated body, since `leave` removes the marks of values that
            // are out of scope. One comparison replaces a walk up the regions, so the entire check takes linear time.
            if self.visible[value.index()] != mark {
                self.report.hinted(
                    "SH0204",
                    id,
                    format!("operand {i} of {} ({value}) is not defined before its use", op.kind.name()),
                    Some("a value can be used after its definition, in the same region or in nested regions"),
                );
            }
        }
        for (i, &result) in op.results.iter().enumerate() {
            self.defined(result, ValueDef::Result(id, i as u32));
        }
        if matches!(op.kind, OpKind::Return) && !last {
            self.report.at_op("SH0205", id, "a return is not the last operation of its region");
        }
    }
}

fn text(def: ValueDef) -> String {
    match def {
        ValueDef::Result(op, i) => format!("result {i} of {op}"),
        ValueDef::Arg(region, i) => format!("argument {i} of {region}"),
    }
}
