//! Runs each test on each kind of store: memory, a folder, and a local S3 server.
//!
//! S3 is tested if the feature `s3` is enabled and `SHARDC_PYTHON` names a Python with moto, whose server is started once per test process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod failing;
mod line;
mod place;
mod sharding;
mod steps;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::place::{Kind, Place};

/// A test, which gets an empty store.
type Test = fn(&Place);

/// Lists tests with their names.
macro_rules! tests {
    ($($test:path),* $(,)?) => { [$((stringify!($test), $test as Test)),*] };
}

fn main() -> ExitCode {
    let everywhere = tests![
        damage::every_file_is_verified,
        damage::all_damage_is_reported_and_no_wrong_data_returned,
        failing::failing_every_third_request_loses_nothing,
        failing::failing_store_reports_the_reason,
        failing::full_store_keeps_complete_checkpoints,
        failing::interrupted_save_is_complete_or_absent,
        sharding::any_sharding_restores_onto_any_other,
        sharding::processes_save_together_and_restore_their_parts,
        sharding::processes_communicate_through_a_folder,
        sharding::a_process_that_fails_fails_all_and_leaves_nothing,
        sharding::checkpoints_are_not_overwritten,
        sharding::truncated_large_blocks_round_trip,
        sharding::parts_of_one_block_are_read_along_either_dimension,
        sharding::checkpoint_is_resharded_and_compared,
        steps::steps_are_listed_kept_and_deleted_by_number,
        steps::steps_are_saved_in_the_background,
    ];
    let mut trials = Vec::new();
    for kind in Kind::ALL {
        trials.extend(everywhere.map(|(name, test)| trial(kind, name, test)));
    }
    trials.extend(
        tests![line::broken_connections_lose_nothing].map(|(name, test)| trial(Kind::S3, name, test)),
    );
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Tests with so many requests that only `cargo xtask sweep --of tests` runs them on the S3 server.
const SLOW_ON_S3: [&str; 1] = ["sharding::checkpoint_is_resharded_and_compared"];

fn trial(kind: Kind, name: &'static str, test: Test) -> Trial {
    let trial = Trial::test(format!("{kind}::{name}"), move || {
        if let Some(place) = Place::new(kind, name) {
            test(&place);
        }
        Ok(())
    });
    trial.with_ignored_flag(kind == Kind::S3 && SLOW_ON_S3.contains(&name))
}
