//! Tests that a state which does not match a checkpoint is rejected, and the error lists all differences: processes, shapes, names, missing
//! blocks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::common::{Arrays, array, save_blocks};
use shardc_checkpoint::{
    Alone, Checkpoint, Entry, Fit, Info, Region, Slice, State, Store, Threads, Wanted, save,
};
use shardc_ir::DType;

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn processes_with_different_states_do_not_save() {
    let store = Store::memory().unwrap();
    let errors = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (i, process) in Threads::group(2, PATIENCE).into_iter().enumerate() {
            let (store, errors) = (&store, &errors);
            scope.spawn(move || {
                let mut arrays = Arrays::new();
                arrays.insert("x".to_owned(), (array(1, DType::F32, &[4 + i]), vec![1]));
                let outcome = save_blocks(store, "a", &arrays, &Info::default(), &process);
                errors.lock().unwrap().push(outcome.unwrap_err());
            });
        }
    });
    let errors = errors.into_inner().unwrap();
    assert!(errors.iter().all(|error| error.to_string().contains("has a different state")), "{errors:?}");
}

fn saved() -> (Store, Arrays) {
    let store = Store::memory().unwrap();
    let mut arrays = Arrays::new();
    for name in ["a", "b", "c"] {
        arrays.insert(name.to_owned(), (array(5, DType::F32, &[4, 4]), vec![2, 1]));
    }
    save_blocks(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
    (store, arrays)
}

fn wanted(name: &str, dtype: DType, shape: &[usize]) -> Wanted {
    Wanted { name: name.to_owned(), dtype, shape: shape.to_vec(), regions: vec![Region::whole(shape)] }
}

#[test]
fn all_mismatches_are_reported_together() {
    let (store, _) = saved();
    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    let list = [
        wanted("a", DType::BF16, &[4, 4]),
        wanted("b", DType::F32, &[4, 5]),
        wanted("x", DType::F32, &[1]),
        wanted("y", DType::F32, &[1]),
    ];
    let restored =
        checkpoint.restore(&list, &Fit::default(), &mut |_, _, _| panic!("nothing is taken"), None);
    let error = restored.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the checkpoint does not match the request: missing: x, y; unexpected: c; \
         misshaped: a is f32[4, 4], expected bf16[4, 4], b is f32[4, 4], expected f32[4, 5]"
    );
    assert_eq!(error.code(), "SH1309");
    let beyond = Region { offset: vec![2, 0], shape: vec![3, 4] };
    let list = [Wanted { regions: vec![beyond], ..wanted("a", DType::F32, &[4, 4]) }];
    let error = checkpoint.restore(&list, &Fit::partial(), &mut |_, _, _| Ok(()), None).unwrap_err();
    assert!(error.to_string().contains("does not contain the region [2..5, 0..4]"), "{error}");
}

#[test]
fn a_part_is_restored_under_other_names() {
    let (store, arrays) = saved();
    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    let list = [wanted("new", DType::F32, &[4, 4]), wanted("none", DType::F32, &[2])];
    let fit = Fit { names: BTreeMap::from([("new".to_owned(), "b".to_owned())]), ..Fit::partial() };
    let mut taken = Vec::new();
    checkpoint
        .restore(
            &list,
            &fit,
            &mut |number, region, elements| {
                taken.push((number, region, std::mem::take(elements)));
                Ok(())
            },
            None,
        )
        .unwrap();
    assert!(taken == [(0, 0, arrays["b"].0.bytes.clone())]);
    let mut refuse = |_, _, _: &mut Vec<u8>| Err("no room".to_owned());
    let error = checkpoint.restore(&list, &fit, &mut refuse, None).unwrap_err();
    assert_eq!(error.to_string(), "new[0..4, 0..4]: no room");
}

#[test]
fn a_state_that_lacks_a_block_or_a_name_is_not_saved() {
    let store = Store::memory().unwrap();
    let slices = vec![Slice { entry: 0, region: Region::whole(&[3]) }];
    let entries = vec![Entry::whole("w", DType::F32, &[4])];
    let state = State { entries, slices, info: Info::default() };
    let read = |_: &Entry, _: &Region| Ok(vec![0; 16]);
    let error = save(&store, "t", &state, &read, &Alone, None).unwrap_err();
    assert_eq!(error.code(), "SH1303");
    let error = save(&store, "", &state, &read, &Alone, None).unwrap_err();
    assert_eq!(error.code(), "SH1312");
}
