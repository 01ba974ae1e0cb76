//! What is saved from one sharding by some processes is restored onto another by others, bit by bit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use common::{Arrays, array, check, save_by, save_own, varied};
use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointError, Difference, Entry, Fit, Folder, Info, Region, Slice, State, Store,
    Threads, Wanted, diff, reshard, save,
};
use shardc_ir::DType;

const PATIENCE: Duration = Duration::from_secs(120);

/// Splits of the first two dimensions: meshes 4x2, 2x4, 8x1, 1x8, one device, and one that divides little.
const MESHES: [[usize; 2]; 6] = [[4, 2], [2, 4], [8, 1], [1, 8], [1, 1], [3, 5]];

#[test]
fn any_sharding_becomes_any_other() {
    let store = Store::memory().unwrap();
    for saved in MESHES {
        let arrays = varied(&saved);
        let path = format!("{saved:?}").replace(['[', ']', ',', ' '], "_");
        save_own(&store, &path, &arrays, &Info::default(), &Alone).unwrap();
        let checkpoint = Checkpoint::open(&store, &path).unwrap();
        for wanted in MESHES {
            check(&checkpoint, &arrays, &wanted, 0, 1);
        }
        assert_eq!(checkpoint.verify(None).unwrap(), []);
    }
}

#[test]
fn processes_save_together_and_restore_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    let arrays = varied(&[4, 2]);
    let info = Info {
        step: Some(7),
        program: Some("fingerprint".to_owned()),
        notes: BTreeMap::from([("who".to_owned(), "me".to_owned())]),
    };
    for count in [2, 4] {
        let path = format!("by {count}");
        save_by(&store, &path, &arrays, &info, &Threads::group(count, PATIENCE)).unwrap();
        let checkpoint = Checkpoint::open(&store, &path).unwrap();
        assert_eq!((checkpoint.info(), checkpoint.processes()), (&info, Some(count)));
        for (restored_by, mesh) in [(1, [1, 1]), (2, [2, 4]), (4, [8, 1])] {
            for index in 0..restored_by {
                check(&checkpoint, &arrays, &mesh, index, restored_by);
            }
        }
        assert_eq!(checkpoint.verify(None).unwrap(), []);
        let written: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(written.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{written:?}");
    }
}

#[test]
fn processes_may_meet_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(&folder.path().join("checkpoints")).unwrap();
    let group: Vec<Folder> =
        (0..3).map(|i| Folder::new(folder.path().join("meeting"), i, 3, PATIENCE)).collect();
    let arrays = varied(&[3, 1]);
    save_by(&store, "a", &arrays, &Info::default(), &group).unwrap();
    check(&Checkpoint::open(&store, "a").unwrap(), &arrays, &[1, 2], 0, 1);
}

#[test]
fn a_process_that_fails_fails_all_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    let arrays = varied(&[4, 2]);
    let errors = Mutex::new(Vec::new());
    let group = Threads::group(2, PATIENCE);
    std::thread::scope(|scope| {
        for process in &group {
            let (store, arrays, errors) = (&store, &arrays, &errors);
            scope.spawn(move || {
                let state = common::state_of(arrays, &Info::default(), process);
                let read = |entry: &Entry, region: &Region| {
                    if entry.name == "params.wide" && region.offset == [32, 0] {
                        return Err("the device is gone".to_owned());
                    }
                    Ok(common::part(&arrays[&entry.name].0, region))
                };
                let error = save(store, "a", &state, &read, process, None).unwrap_err();
                errors.lock().unwrap().push(error);
            });
        }
    });
    let mut texts: Vec<String> = errors.into_inner().unwrap().iter().map(ToString::to_string).collect();
    texts.sort();
    assert_eq!(texts[0], "params.wide[32..64, 0..32]: the device is gone");
    assert!(texts[1].starts_with("process ") && texts[1].contains(" failed: params.wide"), "{texts:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(matches!(Checkpoint::open(&store, "a"), Err(CheckpointError::NotFound { .. })));
}

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
                let outcome = save_own(store, "a", &arrays, &Info::default(), &process);
                errors.lock().unwrap().push(outcome.unwrap_err());
            });
        }
    });
    let errors = errors.into_inner().unwrap();
    assert!(errors.iter().all(|error| error.to_string().contains("has another state")), "{errors:?}");
}

fn small() -> (Store, Arrays) {
    let store = Store::memory().unwrap();
    let mut arrays = Arrays::new();
    for name in ["a", "b", "c"] {
        arrays.insert(name.to_owned(), (array(5, DType::F32, &[4, 4]), vec![2, 1]));
    }
    save_own(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
    (store, arrays)
}

fn wanted(name: &str, dtype: DType, shape: &[usize]) -> Wanted {
    Wanted { name: name.to_owned(), dtype, shape: shape.to_vec(), regions: vec![Region::whole(shape)] }
}

#[test]
fn all_that_does_not_fit_is_said_at_once() {
    let (store, _) = small();
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
        "the checkpoint does not fit: missing: x, y; unexpected: c; \
         misshaped: a is f32[4, 4] and not bf16[4, 4], b is f32[4, 4] and not f32[4, 5]"
    );
    assert_eq!(error.code(), "SH1309");
    let beyond = Region { offset: vec![2, 0], shape: vec![3, 4] };
    let list = [Wanted { regions: vec![beyond], ..wanted("a", DType::F32, &[4, 4]) }];
    let error = checkpoint.restore(&list, &Fit::partial(), &mut |_, _, _| Ok(()), None).unwrap_err();
    assert!(error.to_string().contains("has no [2..5, 0..4]"), "{error}");
}

#[test]
fn a_part_is_restored_under_other_names() {
    let (store, arrays) = small();
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
fn a_checkpoint_is_not_written_over() {
    let (store, arrays) = small();
    let error = save_own(&store, "s", &arrays, &Info::default(), &Alone).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("SH1306", "there is a checkpoint at s already"));
    let slices = vec![Slice { entry: 0, region: Region::whole(&[3]) }];
    let entries = vec![Entry::whole("w", DType::F32, &[4])];
    let state = State { entries, slices, info: Info::default() };
    let read = |_: &Entry, _: &Region| Ok(vec![0; 16]);
    let error = save(&store, "t", &state, &read, &Alone, None).unwrap_err();
    assert_eq!(error.code(), "SH1303");
    assert!(save(&store, "", &state, &read, &Alone, None).is_err());
}

#[test]
fn large_blocks_that_the_array_cuts_off_come_back() {
    // Blocks of four mebibytes, the last of them cut off in both dimensions; a folder has their ends written first.
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(5, DType::F32, &[2050, 2055]), vec![2, 2]));
    arrays.insert("v".to_owned(), (array(6, DType::BF16, &[3_500_001]), vec![2]));
    let folder = tempfile::tempdir().unwrap();
    for store in [Store::memory().unwrap(), Store::folder(folder.path()).unwrap()] {
        save_own(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
        let checkpoint = Checkpoint::open(&store, "s").unwrap();
        assert_eq!(checkpoint.verify(None).unwrap(), []);
        check(&checkpoint, &arrays, &[2, 2], 0, 1);
        check(&checkpoint, &arrays, &[3, 1], 0, 1);
    }
}

#[test]
fn few_tiles_are_read_of_what_is_not_wanted() {
    // 16 MiB in one block, of which one device wants an eighth, along either dimension.
    let store = Store::memory().unwrap();
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(9, DType::F32, &[2048, 2048]), vec![1, 1]));
    save_own(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    for (offset, shape) in [([256, 0], [256, 2048]), ([0, 256], [2048, 256])] {
        let region = Region { offset: offset.to_vec(), shape: shape.to_vec() };
        let list = [Wanted { regions: vec![region.clone()], ..wanted("w", DType::F32, &[2048, 2048]) }];
        let mut taken = Vec::new();
        let mut take = |_, _, elements: &mut Vec<u8>| {
            taken = std::mem::take(elements);
            Ok(())
        };
        checkpoint.restore(&list, &Fit::default(), &mut take, None).unwrap();
        assert!(taken == common::part(&arrays["w"].0, &region));
    }
}

#[test]
fn a_checkpoint_is_written_again_with_other_blocks_and_compared() {
    let store = Store::memory().unwrap();
    let arrays = varied(&[4, 2]);
    let info = Info { step: Some(3), ..Info::default() };
    save_own(&store, "a", &arrays, &info, &Alone).unwrap();
    let from = Checkpoint::open(&store, "a").unwrap();
    let entries: Vec<Entry> =
        from.entries().map(|e| Entry::split(&e.name, e.dtype, &e.shape, &vec![3; e.shape.len()])).collect();
    reshard(&from, entries, &store, "b", &Alone, None).unwrap();
    let to = Checkpoint::open(&store, "b").unwrap();
    assert_eq!(to.info(), &info);
    check(&to, &arrays, &[1, 4], 0, 1);
    assert_eq!(diff(&from, &to, true).unwrap(), []);

    let mut other = arrays.clone();
    other.get_mut("params.wide").unwrap().0.bytes[5] ^= 1;
    other.remove("nothing");
    other.insert("more".to_owned(), (array(1, DType::F32, &[2]), vec![1]));
    other.insert("step".to_owned(), (array(1, DType::I64, &[]), vec![]));
    save_own(&store, "c", &other, &info, &Alone).unwrap();
    let changed = diff(&from, &Checkpoint::open(&store, "c").unwrap(), true).unwrap();
    assert_eq!(
        changed,
        [
            Difference::OnlyFirst("nothing".to_owned()),
            Difference::Values { name: "params.wide".to_owned(), elements: 1, of: 127 * 63 },
            Difference::Type {
                name: "step".to_owned(),
                first: "i32[]".to_owned(),
                second: "i64[]".to_owned()
            },
            Difference::OnlySecond("more".to_owned()),
        ]
    );
}
