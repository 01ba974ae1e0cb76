//! Running a program: one thread for each device.

use std::collections::VecDeque;
use std::thread;

use shardc_ir::FuncId;

use crate::array::Array;
use crate::error::{Error, Fault};
use crate::eval::Device;
use crate::meeting::Meeting;
use crate::numbers::Domain;
use crate::program::{Grid, Launch, Outcome, Program};
use crate::value::Value;

/// Size of the stack of the threads on which devices run. Only pages that are used take memory.
const STACK: usize = 64 << 20;

/// Records the end of a device, also if its thread panics: the others must not wait for it.
struct End<'m, D: Domain> {
    meeting: &'m Meeting<D>,
    failed: bool,
}

impl<D: Domain> Drop for End<'_, D> {
    fn drop(&mut self) {
        self.meeting.finish(self.failed);
    }
}

impl<D: Domain> Program<'_, D> {
    /// Runs a function on global values. If the program has manual computations, all devices of their mesh run it.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn call(&self, func: FuncId, args: Vec<Value<D>>) -> Result<Vec<Value<D>>, Box<Error>> {
        let grid = Grid { replicas: 1, partitions: self.plan.devices() };
        let launches = vec![Launch { func, args }; grid.devices()];
        let outcome = self.run(grid, launches, Vec::new())?;
        Ok(outcome.results.into_iter().next().unwrap_or_default())
    }

    /// Runs a function on each device of a grid. `infeed` has the values that infeeds receive, in order.
    ///
    /// # Errors
    /// See [`Fault`]. If several devices fail, the error is that of the first of them that did not fail because of another device.
    pub fn run(
        &self,
        grid: Grid,
        launches: Vec<Launch<D>>,
        infeed: Vec<Array<D>>,
    ) -> Result<Outcome<D>, Box<Error>> {
        let name = launches.first().map_or("", |launch| &*self.module.funcs[launch.func].name);
        let fault = |fault| Error::of_function(name, shardc_ir::Span::NONE, fault);
        if launches.len() != grid.devices() {
            let text = format!("{} programs for {} devices", launches.len(), grid.devices());
            return Err(fault(Fault::Invalid(text)));
        }
        let alone = launches.len() == 1;
        let meeting = Meeting::new(launches.len(), VecDeque::from(infeed));
        let results = thread::scope(|scope| {
            let mut threads = Vec::new();
            for (id, launch) in launches.into_iter().enumerate() {
                let device = Device::new(self, grid, id, &meeting);
                let end = End { meeting: &meeting, failed: true };
                let run = move || {
                    // The closure owns all of it, so that it is dropped even if the thread does not start.
                    let mut end = end;
                    let result = device.run(launch.func, launch.args);
                    end.failed = result.is_err();
                    result
                };
                threads.push(thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run));
            }
            let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| {
                    Err(fault(Fault::Internal("the evaluation of an operation panicked".to_owned())))
                }),
                Err(_) => Err(fault(Fault::Internal("a thread cannot be started".to_owned()))),
            };
            threads.into_iter().map(join).collect::<Vec<Result<Vec<Value<D>>, Box<Error>>>>()
        });
        let mut all = Vec::new();
        let mut failed: Option<Box<Error>> = None;
        for (id, result) in results.into_iter().enumerate() {
            match result {
                Ok(values) => all.push(values),
                Err(mut error) => {
                    error.device = (!alone).then_some(id);
                    // The first error that is not a consequence of another.
                    if failed.as_ref().is_none_or(|first| first.fault == Fault::Aborted) {
                        failed = Some(error);
                    }
                }
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Outcome { results: all, outfeed: meeting.into_outfeed() }),
        }
    }
}
