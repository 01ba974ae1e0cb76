//! Tests that all torn, corrupted or missing objects are detected and named, and no wrong data is returned.

use shardc_checkpoint::{Alone, Checkpoint, CheckpointError, Fit, Info, Region, Store, Wanted};

use crate::common::{Array, save_blocks, small};
use crate::place::Place;

/// Opens and verifies a checkpoint; returns all damage as messages.
fn faults(store: &Store, path: &str) -> Vec<String> {
    match Checkpoint::open(store, path).and_then(|checkpoint| checkpoint.verify(None)) {
        Ok(damages) => damages.iter().map(|d| format!("{} {}", d.object, d.what)).collect(),
        Err(CheckpointError::Damaged(damages)) => {
            damages.iter().map(|d| format!("{} {}", d.object, d.what)).collect()
        }
        Err(error @ CheckpointError::Metadata { .. }) => vec![error.to_string()],
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn every_file_is_verified(place: &Place) {
    let store = &place.store;
    save_blocks(store, "s", &small(), &Info::default(), &Alone).unwrap();
    assert_eq!(faults(store, "s"), Vec::<String>::new());
    let names = place.names("s");
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        if name == "commit_success.txt" {
            // The marker file marks the checkpoint as complete by its existence; its content is not read.
            continue;
        }
        let object = format!("s/{name}");
        let good = place.get(&object);
        let flipped = |at: usize| {
            let mut bad = good.clone();
            bad[at] ^= 4;
            bad
        };
        let last = good.len() - 1;
        let bad = [
            flipped(0),
            flipped(last / 2),
            flipped(last.saturating_sub(2)),
            good[..last].to_vec(),
            good[..last / 3].to_vec(),
        ];
        for (i, bad) in bad.into_iter().enumerate() {
            place.put(&object, bad);
            let found = faults(store, "s");
            assert!(found.len() == 1 && found[0].contains(&name), "{name}, damage {i}: {found:?}");
        }
        if name != "shardc.json" {
            place.delete(&object);
            let found = faults(store, "s");
            assert!(
                found.len() == 1 && found[0].contains(&name) && found[0].contains("missing"),
                "{found:?}"
            );
        }
        place.put(&object, good);
    }
    assert_eq!(faults(store, "s"), Vec::<String>::new());
}

pub(crate) fn all_damage_is_reported_and_no_wrong_data_returned(place: &Place) {
    let arrays = small();
    save_blocks(&place.store, "s", &arrays, &Info::default(), &Alone).unwrap();
    for name in ["w/c/0/0", "w/c/1/0", "layer.b/c/1"] {
        let object = format!("s/{name}");
        let mut bytes = place.get(&object);
        bytes[1] ^= 1;
        place.put(&object, bytes);
    }
    let checkpoint = Checkpoint::open(&place.store, "s").unwrap();
    let found: Vec<String> = checkpoint.verify(None).unwrap().into_iter().map(|d| d.object).collect();
    assert_eq!(found, ["layer.b/c/1", "w/c/0/0", "w/c/1/0"]);
    let wanted = |(name, (array, _)): (&String, &(Array, Vec<usize>))| Wanted {
        name: name.clone(),
        dtype: array.dtype,
        shape: array.shape.clone(),
        regions: vec![Region::whole(&array.shape)],
    };
    let wanted: Vec<Wanted> = arrays.iter().map(wanted).collect();
    let mut taken = 0;
    let mut take = |_, _, _: &mut Vec<u8>| {
        taken += 1;
        Ok(())
    };
    let error = checkpoint.restore(&wanted, &Fit::default(), &mut take, None).unwrap_err();
    let CheckpointError::Damaged(damages) = error else { panic!("{error}") };
    assert_eq!(damages.iter().map(|d| d.object.as_str()).collect::<Vec<_>>(), found);
    assert_eq!(taken, 0);
}
