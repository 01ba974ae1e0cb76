//! Tests that the checkpoints of a manager are listed, kept and deleted by step number, and can be saved asynchronously.

use shardc_checkpoint::{Alone, CheckpointManager, Entry, Info, Keep, Options, Region};
use shardc_ir::DType;

use crate::common::{Arrays, array, check, part, state_of};
use crate::place::Place;

fn of_step(step: u64) -> Arrays {
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(step, DType::F32, &[6, 10]), vec![2, 1]));
    arrays.insert("m.v".to_owned(), (array(step + 1000, DType::BF16, &[7]), vec![2]));
    arrays
}

/// Saves a step, synchronously or asynchronously.
fn save_step(manager: &CheckpointManager, step: u64, is_now: bool) -> shardc_checkpoint::Result<()> {
    let arrays = of_step(step);
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    let state = state_of(&arrays, &Info::default(), &Alone);
    if is_now { manager.save(step, &state, &read) } else { manager.save_async(step, &state, &read) }
}

pub(crate) fn steps_are_listed_kept_and_deleted_by_number(place: &Place) {
    let keep = Keep { newest: Some(2), every: Some(20) };
    let options = Options { save_interval: 5, keep, save_on_preemption: false, ..Options::default() };
    let manager = CheckpointManager::new(&place.store, "run", options).unwrap();
    assert_eq!(manager.latest().unwrap(), None);
    assert_eq!((0..11).filter(|&s| manager.should_save(s).unwrap()).collect::<Vec<_>>(), [0, 5, 10]);
    // The steps are saved out of order: only their numbers matter.
    for step in [20, 10, 5, 25, 30] {
        save_step(&manager, step, true).unwrap();
    }
    assert_eq!(manager.all_steps().unwrap(), [20, 25, 30]);
    assert_eq!(manager.latest().unwrap(), Some(30));
    let checkpoint = manager.open(25).unwrap();
    assert_eq!(checkpoint.info().step, Some(25));
    check(&checkpoint, &of_step(25), &[1, 2], 0, 1);
    let error = manager.open(10).unwrap_err();
    assert!(error.to_string().contains("there are steps 20, 25, 30"), "{error}");
    assert_eq!(save_step(&manager, 30, true).unwrap_err().code(), "SH1306");
    manager.delete(25).unwrap();
    assert_eq!(manager.delete(25).unwrap_err().code(), "SH1305");
    assert_eq!(manager.all_steps().unwrap(), [20, 30]);
}

pub(crate) fn steps_are_saved_in_the_background(place: &Place) {
    let keep = Keep { newest: Some(2), every: None };
    let options = || Options { keep, save_on_preemption: false, ..Options::default() };
    let manager = CheckpointManager::new(&place.store, "run", options()).unwrap();
    for step in 1..=3 {
        save_step(&manager, step, false).unwrap();
    }
    manager.wait().unwrap();
    assert_eq!(manager.all_steps().unwrap(), [2, 3]);
    check(&manager.open(3).unwrap(), &of_step(3), &[1, 4], 0, 1);
    // Creates an incomplete step: without the marker file (object stores), or without the final folder name (file systems). The next
    // manager deletes it.
    let left = if place.store.is_folder() {
        "run/4.orbax-checkpoint-tmp/default/w/zarr.json"
    } else {
        "run/4/default/w/zarr.json"
    };
    place.put(left, b"{}".to_vec());
    assert_eq!(manager.all_steps().unwrap(), [2, 3]);
    drop(manager);
    let manager = CheckpointManager::new(&place.store, "run", options()).unwrap();
    save_step(&manager, 4, true).unwrap();
    assert_eq!(manager.all_steps().unwrap(), [3, 4]);
    check(&manager.open(4).unwrap(), &of_step(4), &[1, 1], 0, 1);
}
