//! Tests that checkpoints are restored bit for bit with another sharding and another number of processes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointError, Difference, Entry, Fit, Folder, Info, Region, Threads, Wanted, diff,
    reshard, save,
};
use shardc_filetest::sample::{is_thorough, sample};
use shardc_ir::DType;

use crate::common::{Arrays, array, check, part, save_blocks, save_by, small, state_of, varied};
use crate::place::{Kind, Place};

const PATIENCE: Duration = Duration::from_secs(120);

/// The numbers of shards of the first two dimensions, for the meshes 4x2, 2x4, 8x1, 1x8, one device, and one that divides few sizes.
const MESHES: [[usize; 2]; 6] = [[4, 2], [2, 4], [8, 1], [1, 8], [1, 1], [3, 5]];

pub(crate) fn any_sharding_restores_onto_any_other(place: &Place) {
    let store = &place.store;
    // A Python server takes milliseconds per request, and there are thousands of requests. Each kind of store therefore tests
    // different pairs of meshes.
    let (first, step) = match place.kind {
        Kind::Memory => (0, 3),
        Kind::Folder => (1, 3),
        Kind::S3 => (5, 36),
    };
    for (number, saved) in MESHES.into_iter().enumerate() {
        let wanted: Vec<_> = sample(MESHES.iter(), first + number, step).collect();
        if wanted.is_empty() {
            continue;
        }
        let arrays = varied(&saved);
        let path = format!("{saved:?}").replace(['[', ']', ',', ' '], "_");
        save_blocks(store, &path, &arrays, &Info::default(), &Alone).unwrap();
        let checkpoint = Checkpoint::open(store, &path).unwrap();
        for wanted in wanted {
            check(&checkpoint, &arrays, wanted, 0, 1);
        }
        assert_eq!(checkpoint.verify(None).unwrap(), []);
    }
}

pub(crate) fn processes_save_together_and_restore_their_parts(place: &Place) {
    let store = &place.store;
    let arrays = varied(&[4, 2]);
    let info = Info {
        step: Some(7),
        program: Some("fingerprint".to_owned()),
        notes: BTreeMap::from([("who".to_owned(), "me".to_owned())]),
        ..Info::default()
    };
    let counts = match place.kind {
        Kind::Memory | Kind::Folder => &[2, 4][..],
        Kind::S3 if is_thorough() => &[2, 4],
        Kind::S3 => &[2],
    };
    for &count in counts {
        let path = format!("by {count}");
        save_by(store, &path, &arrays, &info, &Threads::group(count, PATIENCE)).unwrap();
        let checkpoint = Checkpoint::open(store, &path).unwrap();
        assert_eq!((checkpoint.info(), checkpoint.processes()), (&info, Some(count)));
        let ways = [(1, [1, 1]), (2, [2, 4]), (4, [8, 1])];
        for (restored_by, mesh) in sample(ways.into_iter(), 1, if place.kind == Kind::S3 { 3 } else { 1 }) {
            for index in 0..restored_by {
                check(&checkpoint, &arrays, &mesh, index, restored_by);
            }
        }
        assert_eq!(checkpoint.verify(None).unwrap(), []);
        let names = place.names("");
        assert!(names.iter().all(|name| name.starts_with("by ") && !name.contains("tmp")), "{names:?}");
    }
}

pub(crate) fn processes_communicate_through_a_folder(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let group: Vec<Folder> = (0..3).map(|i| Folder::new(folder.path().to_owned(), i, 3, PATIENCE)).collect();
    let arrays = varied(&[3, 1]);
    save_by(&place.store, "a", &arrays, &Info::default(), &group).unwrap();
    check(&Checkpoint::open(&place.store, "a").unwrap(), &arrays, &[1, 2], 0, 1);
}

pub(crate) fn a_process_that_fails_fails_all_and_leaves_nothing(place: &Place) {
    let arrays = varied(&[4, 2]);
    let errors = Mutex::new(Vec::new());
    let group = Threads::group(2, PATIENCE);
    std::thread::scope(|scope| {
        for process in &group {
            let (store, arrays, errors) = (&place.store, &arrays, &errors);
            scope.spawn(move || {
                let state = state_of(arrays, &Info::default(), process);
                let read = |entry: &Entry, region: &Region| {
                    if entry.name == "params.wide" && region.offset == [32, 0] {
                        return Err("the device is gone".to_owned());
                    }
                    Ok(part(&arrays[&entry.name].0, region))
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
    assert_eq!(place.names(""), Vec::<String>::new());
    assert!(matches!(Checkpoint::open(&place.store, "a"), Err(CheckpointError::NotFound { .. })));
}

pub(crate) fn checkpoints_are_not_overwritten(place: &Place) {
    let arrays = small();
    save_blocks(&place.store, "s", &arrays, &Info::default(), &Alone).unwrap();
    let mut other = arrays.clone();
    other.values_mut().for_each(|(array, _)| array.bytes.fill(0));
    let error = save_blocks(&place.store, "s", &other, &Info::default(), &Alone).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.code(), "SH1306");
    assert!(text.starts_with("a checkpoint already exists at ") && text.ends_with("/s"), "{text}");
    check(&Checkpoint::open(&place.store, "s").unwrap(), &arrays, &[1, 1], 0, 1);
}

pub(crate) fn truncated_large_blocks_round_trip(place: &Place) {
    // Saves an array in blocks of four MiB, of which the last is truncated in both dimensions. In a folder, the end of each file is written
    // before its beginning.
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(5, DType::F32, &[2050, 2055]), vec![2, 2]));
    arrays.insert("v".to_owned(), (array(6, DType::BF16, &[3_500_001]), vec![2]));
    save_blocks(&place.store, "s", &arrays, &Info::default(), &Alone).unwrap();
    let checkpoint = Checkpoint::open(&place.store, "s").unwrap();
    assert_eq!(checkpoint.verify(None).unwrap(), []);
    check(&checkpoint, &arrays, &[2, 2], 0, 1);
    check(&checkpoint, &arrays, &[3, 1], 0, 1);
}

pub(crate) fn parts_of_one_block_are_read_along_either_dimension(place: &Place) {
    // An array of 16 MiB in one block. A restore with another sharding reads an eighth of the array, along either dimension.
    let store = &place.store;
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(9, DType::F32, &[2048, 2048]), vec![1, 1]));
    save_blocks(store, "s", &arrays, &Info::default(), &Alone).unwrap();
    let checkpoint = Checkpoint::open(store, "s").unwrap();
    for (offset, shape) in [([256, 0], [256, 2048]), ([0, 256], [2048, 256])] {
        let region = Region { offset: offset.to_vec(), shape: shape.to_vec() };
        let list = [Wanted {
            regions: vec![region.clone()],
            name: "w".to_owned(),
            dtype: DType::F32,
            shape: vec![2048, 2048],
        }];
        let mut taken = Vec::new();
        let mut take = |_, _, elements: &mut Vec<u8>| {
            taken = std::mem::take(elements);
            Ok(())
        };
        checkpoint.restore(&list, &Fit::default(), &mut take, None).unwrap();
        assert!(taken == part(&arrays["w"].0, &region));
    }
}

pub(crate) fn checkpoint_is_resharded_and_compared(place: &Place) {
    let store = &place.store;
    let arrays = varied(&[4, 2]);
    let info = Info { step: Some(3), ..Info::default() };
    save_blocks(store, "a", &arrays, &info, &Alone).unwrap();
    let from = Checkpoint::open(store, "a").unwrap();
    let entries: Vec<Entry> =
        from.entries().map(|e| Entry::split(&e.name, e.dtype, &e.shape, &vec![3; e.shape.len()])).collect();
    reshard(&from, entries, store, "b", &Alone, None).unwrap();
    let to = Checkpoint::open(store, "b").unwrap();
    assert_eq!(to.info(), &info);
    check(&to, &arrays, &[1, 4], 0, 1);
    assert_eq!(diff(&from, &to, true).unwrap(), []);

    let mut other = arrays.clone();
    other.get_mut("params.wide").unwrap().0.bytes[5] ^= 1;
    other.remove("nothing");
    other.insert("more".to_owned(), (array(1, DType::F32, &[2]), vec![1]));
    other.insert("step".to_owned(), (array(1, DType::I64, &[]), vec![]));
    save_blocks(store, "c", &other, &info, &Alone).unwrap();
    let changed = diff(&from, &Checkpoint::open(store, "c").unwrap(), true).unwrap();
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
