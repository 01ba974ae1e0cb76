//! The engines that run programs: the devices of a PJRT client, and the interpreter.

use shardc_ir::Module;
use shardc_runtime::{Client, HostArray};

use super::{Interpreted, Limits, Program, interpreter};
use crate::{Error, Output};

/// The runner of a program: a plugin or the interpreter.
///
/// The interpreter needs no plugin, and has as many devices as a program asks for. It computes as the StableHLO specification says, rounds
/// each result, and is slower than compiled code by orders of magnitude.
#[derive(Clone, Copy, Debug)]
pub enum Engine<'c> {
    /// The devices of a client.
    Pjrt(&'c Client),
    /// The interpreter.
    Interpreter,
}

/// A program that an engine can run.
#[derive(Debug)]
enum Kind<'c> {
    Compiled(&'c Client, Box<Program>),
    Interpreted(Box<Interpreted>),
}

/// A program that an [`Engine`] can run any number of times.
#[derive(Debug)]
pub struct Runnable<'c>(Kind<'c>);

impl<'c> Engine<'c> {
    /// Prepares a module for one device, ignoring its annotations.
    ///
    /// # Errors
    /// The engine rejects the program.
    pub fn single(self, module: &Module, limits: Limits) -> Result<Runnable<'c>, Error> {
        Ok(Runnable(match self {
            Engine::Pjrt(client) => {
                let program = Program::single(client, module)?.with_limits(limits);
                Kind::Compiled(client, Box::new(program))
            }
            Engine::Interpreter => Kind::Interpreted(Box::new(Interpreted::single(module, limits)?)),
        }))
    }

    /// Prepares a partitioned program for all its devices.
    ///
    /// # Errors
    /// The engine rejects the program, or has too few devices.
    pub fn partitioned(self, output: &Output, limits: Limits) -> Result<Runnable<'c>, Error> {
        Ok(Runnable(match self {
            Engine::Pjrt(client) => {
                let program = Program::partitioned(client, output)?.with_limits(limits);
                Kind::Compiled(client, Box::new(program))
            }
            Engine::Interpreter => Kind::Interpreted(Box::new(Interpreted::partitioned(output, limits)?)),
        }))
    }

    /// Whether the engine uses the memory of this machine.
    pub(super) fn is_on_host(self) -> bool {
        match self {
            Engine::Pjrt(client) => client.platform_name() == "cpu",
            Engine::Interpreter => true,
        }
    }

    /// Seeded inputs for the parameters of a program, which this engine accepts. For the interpreter, a token is an array without elements.
    pub(super) fn random_inputs(self, output: &Output, seed: u64) -> Result<Vec<HostArray>, Error> {
        match self {
            Engine::Pjrt(_) => super::random_inputs(&output.interface, seed),
            Engine::Interpreter => interpreter::random_inputs(&output.interface, seed),
        }
    }
}

impl Runnable<'_> {
    /// Runs the program on full arrays, and assembles the outputs.
    ///
    /// # Errors
    /// The inputs do not match the program, a limit is reached, the program fails, or devices that hold the same block disagree on it by more
    /// than rounding.
    pub fn run(&self, inputs: &[HostArray]) -> Result<Vec<HostArray>, Error> {
        match &self.0 {
            Kind::Compiled(client, program) => program.run(client, inputs),
            Kind::Interpreted(program) => program.run(inputs),
        }
    }
}
