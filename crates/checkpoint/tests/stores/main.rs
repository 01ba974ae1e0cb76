//! The same tests for each kind of store: memory, a folder, and a local S3.
//!
//! S3 is moto's server, one per test process, if the feature `s3` is enabled and `SHARDC_PYTHON` names a Python with moto.

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

/// A test on an empty place.
type Test = fn(&Place);

/// Tests with their names.
macro_rules! tests {
    ($($test:path),* $(,)?) => { [$((stringify!($test), $test as Test)),*] };
}

fn main() -> ExitCode {
    let everywhere = tests![
        damage::every_file_is_watched,
        damage::all_damage_is_told_at_once_and_nothing_wrong_is_given,
        failing::a_store_that_fails_every_third_request_loses_nothing,
        failing::a_store_that_always_fails_says_why,
        failing::a_full_store_keeps_what_was_whole,
        failing::a_save_that_ends_anywhere_is_whole_or_none,
        sharding::any_sharding_becomes_any_other,
        sharding::processes_save_together_and_restore_their_parts,
        sharding::processes_may_meet_in_a_folder,
        sharding::a_process_that_fails_fails_all_and_leaves_nothing,
        sharding::a_checkpoint_is_not_written_over,
        sharding::large_blocks_that_the_array_cuts_off_come_back,
        sharding::parts_of_one_block_are_read_along_either_dimension,
        sharding::a_checkpoint_is_written_again_with_other_blocks_and_compared,
        steps::steps_are_listed_kept_and_deleted_by_number,
        steps::steps_are_saved_behind_the_run,
    ];
    let mut trials = Vec::new();
    for kind in Kind::ALL {
        trials.extend(everywhere.map(|(name, test)| trial(kind, name, test)));
    }
    trials.extend(tests![line::a_bad_line_loses_nothing].map(|(name, test)| trial(Kind::S3, name, test)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(kind: Kind, name: &'static str, test: Test) -> Trial {
    Trial::test(format!("{kind}::{name}"), move || {
        if let Some(place) = Place::new(kind, name) {
            test(&place);
        }
        Ok(())
    })
}
