//! Fuzzers: corrupted programs, extreme meshes, passes in any order, invalid inputs.
//!
//! A fuzzer generates an input from a seed and a case number, and runs it through shardc. A finding is a panic, an abort, excessive time or
//! memory, an internal compiler error, or output that cannot be parsed again. Cases run in [workers](worker), which are separate processes,
//! so a crash ends only one case. The [driver](drive) starts and watches the workers, and writes each finding to a file that
//! [`replay`](worker::replay) runs again.
//!
//! An input contains everything that its case depends on, so a saved input reproduces the case.

mod bytecode;
pub mod drive;
mod inputs;
mod meshes;
mod mutate;
pub mod ops;
mod outcome;
mod partitions;
mod passes;
mod reduce;
mod report;
mod rng;
mod sources;
mod text;
pub mod worker;

pub use outcome::{Finding, Trace};
pub use report::Report;
pub use rng::Rng;
pub use sources::{From, Sources};

/// A fuzzer.
pub struct Fuzzer {
    /// The name of the fuzzer.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The file extension of the fuzzer's inputs.
    pub extension: &'static str,
    /// Whether the fuzzer runs programs. The back end then needs unlimited address space.
    pub runs: bool,
    /// Generates an input.
    draw: fn(&Sources, &mut Rng) -> Vec<u8>,
    /// Runs an input.
    run: fn(&[u8], &mut Trace) -> Result<(), Finding>,
}

/// Every fuzzer.
pub const FUZZERS: &[Fuzzer] = &[
    Fuzzer {
        name: "text",
        about: "damaged text through everything that reads a program",
        extension: "mlir",
        runs: false,
        draw: text::draw,
        run: text::run,
    },
    Fuzzer {
        name: "bytecode",
        about: "damaged MLIR bytecode and portable artifacts",
        extension: "mlirbc",
        runs: false,
        draw: bytecode::draw,
        run: text::run_bytecode,
    },
    Fuzzer {
        name: "partitions",
        about: "damaged partitioned programs, given to the collective verifier",
        extension: "mlir",
        runs: false,
        draw: partitions::draw,
        run: partitions::run,
    },
    Fuzzer {
        name: "meshes",
        about: "small programs on hostile meshes",
        extension: "mlir",
        runs: false,
        draw: meshes::draw,
        run: meshes::run,
    },
    Fuzzer {
        name: "passes",
        about: "passes in any order",
        extension: "mlir",
        runs: false,
        draw: passes::draw,
        run: passes::run,
    },
    Fuzzer {
        name: "ops",
        about: "every operation with any attributes, partitioned and compared",
        extension: "mlir",
        runs: true,
        draw: ops::draw,
        run: ops::run,
    },
    Fuzzer {
        name: "devices",
        about: "every operation on meshes of up to a million devices",
        extension: "mlir",
        runs: false,
        draw: ops::draw_on_many,
        run: ops::run_on_many,
    },
    Fuzzer {
        name: "inputs",
        about: "wrong inputs to a run on devices",
        extension: "mlir",
        runs: true,
        draw: inputs::draw,
        run: inputs::run,
    },
];

/// The fuzzer with the name `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Fuzzer> {
    FUZZERS.iter().find(|fuzzer| fuzzer.name == name)
}

impl Fuzzer {
    /// The input of a case.
    #[must_use]
    pub fn input(&self, sources: &Sources, seed: u64, case: u64) -> Vec<u8> {
        (self.draw)(sources, &mut Rng::new(self.name, seed, case))
    }

    /// Runs an input. A panic is a finding.
    ///
    /// # Errors
    /// The finding.
    pub fn check(&self, input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
        outcome::quietly(|| (self.run)(input, trace)).and_then(|done| done)
    }
}
