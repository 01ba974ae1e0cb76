//! Tests which rows of batches each process reads, without devices.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use shardc_data::{LastBatch, TokenFile, TokenWidth};
use shardc_ir::DType;
use shardc_runtime::{ArrayType, HostArray, ShardLayout};

use super::plan::{Input, Plan};
use super::source::{Arrays, Callback, Examples, Passages, Shuffled, Source};

/// An input `[rows, width]` on `data * model` devices: rows sharded over "data", columns over "model" if `splits`.
fn input(name: &str, rows: usize, width: usize, data: usize, model: usize, splits: bool) -> Input {
    let blocks = (0..data * model).map(|d| vec![d / model, if splits { d % model } else { 0 }]).collect();
    let shards = [data, if splits { model } else { 1 }];
    let layout = ShardLayout::new(&[rows, width], &shards, blocks).unwrap();
    Input { name: name.to_owned(), ty: ArrayType { dtype: DType::I32, shape: vec![rows, width] }, layout }
}

/// A source that fills row `r` of batch `b` of input `i` with `1000 b + 10 r + i`, and records the requested rows.
fn counted(width: usize, asked: &Arc<Mutex<Vec<Range<usize>>>>) -> impl Source + use<> {
    let asked = Arc::clone(asked);
    Callback::new(&["x", "y"], move |batch, rows| {
        asked.lock().unwrap().push(rows.clone());
        (0..2)
            .map(|i| {
                let of_row = |row: usize| vec![(1000 * batch) as f64 + (10 * row + i) as f64; width];
                let values: Vec<f64> = rows.clone().flat_map(of_row).collect();
                Ok(HostArray::from_f64(DType::I32, &[rows.len(), width], &values)?)
            })
            .collect()
    })
}

#[test]
fn processes_together_read_the_batch() {
    let (rows, width, data, model) = (16, 6, 4, 2);
    let inputs =
        vec![input("x", rows, width, data, model, true), input("y", rows, width, data, model, false)];
    for processes in [1, 2, 4] {
        let each = data * model / processes;
        for batch in [0, 3] {
            let mut seen = BTreeSet::new();
            let mut gathered: Vec<Vec<HostArray>> = vec![Vec::new(); 2];
            for process in 0..processes {
                let places: Vec<usize> = (process * each..(process + 1) * each).collect();
                let plan = Plan::new(inputs.clone(), places, None).unwrap();
                let asked = Arc::default();
                let blocks = plan.blocks(&mut counted(width, &asked), batch).unwrap();
                for row in asked.lock().unwrap().iter().cloned().flatten() {
                    assert!(seen.insert(row), "row {row} is read twice by {processes} processes");
                }
                for (all, blocks) in gathered.iter_mut().zip(blocks) {
                    all.extend(blocks.iter().map(|block| (**block).clone()));
                }
            }
            assert_eq!(seen, (0..rows).collect());
            let whole = counted(width, &Arc::default()).rows(batch, 0..rows).unwrap();
            for ((input, blocks), whole) in inputs.iter().zip(gathered).zip(whole) {
                assert_eq!(input.layout.gather(&blocks).unwrap(), whole, "{processes} processes");
            }
        }
    }
}

#[test]
fn only_rows_of_own_devices_are_read() {
    let plan = Plan::new(vec![input("x", 16, 2, 8, 1, false)], vec![6, 1, 0], None).unwrap();
    let asked = Arc::default();
    let mut source = counted(2, &asked);
    // The source returns two arrays, and the plan has one input.
    assert!(plan.blocks(&mut source, 0).unwrap_err().to_string().contains("SH1120"));
    asked.lock().unwrap().clear();
    let both = vec![input("x", 16, 2, 8, 1, false), input("y", 16, 2, 8, 1, false)];
    let blocks = Plan::new(both, vec![6, 1, 0], None).unwrap().blocks(&mut source, 0).unwrap();
    assert_eq!(*asked.lock().unwrap(), [0..4, 12..14]);
    assert_eq!(blocks[0][0].to_f64_vec(), [120.0, 120.0, 130.0, 130.0]);
    assert_eq!(blocks[1][1].to_f64_vec(), [21.0, 21.0, 31.0, 31.0]);
}

#[test]
fn indivisible_batch_suggests_a_size() {
    let refused = |rows, data, size| {
        let plan = Plan::new(vec![input("x", rows, 2, data, 1, false)], vec![0], size);
        plan.unwrap_err().to_string()
    };
    assert_eq!(
        refused(10, 4, None),
        "error[SH1121]: a batch of 10 rows is not divisible by 4 shards of the input \"x\"; use 8 or 12 rows"
    );
    assert!(refused(3, 4, None).ends_with("use 4 rows"));
    assert!(refused(8, 4, Some(6)).contains("the source has batches of 6 rows, but the step takes 8"));
    let other = vec![input("x", 8, 2, 4, 1, false), input("y", 4, 2, 4, 1, false)];
    assert!(Plan::new(other, vec![0], None).unwrap_err().to_string().contains("SH1120"));
}

#[test]
fn rows_of_wrong_type_are_rejected() {
    let plan = Plan::new(vec![input("x", 8, 2, 4, 1, false)], vec![1], None).unwrap();
    for wrong in [
        HostArray::zeros(DType::F32, &[2, 2]).unwrap(),
        HostArray::zeros(DType::I32, &[2, 3]).unwrap(),
        HostArray::zeros(DType::I32, &[8, 2]).unwrap(),
    ] {
        let mut source = Callback::new(&["x"], move |_, _| Ok(vec![wrong.clone()]));
        let error = plan.blocks(&mut source, 5).unwrap_err().to_string();
        assert!(error.starts_with("error[SH1120]: the rows 2..4 of \"x\" in batch 5 are tensor<"), "{error}");
    }
    let mut source = Callback::new(&["x"], |_, _| Err("the disk is gone".into()));
    let error = plan.blocks(&mut source, 5).unwrap_err().to_string();
    assert_eq!(error, "error[SH1122]: the source failed to read rows 2..4 of batch 5: the disk is gone");
}

#[test]
fn last_batch_is_padded_with_zeros() {
    let points =
        HostArray::from_f64(DType::I32, &[10, 1], &(1..=10).map(f64::from).collect::<Vec<_>>()).unwrap();
    let arrays = || Arrays::new(vec![("x", points.clone())]).unwrap();
    let mut kept = Shuffled::new(arrays(), 4, 1).with_last(LastBatch::Keep).with_epochs(2);
    assert_eq!((kept.num_batches(), kept.rows_of(2, 4), kept.rows_of(3, 4)), (Some(6), 2, 4));
    let plan = Plan::new(vec![input("x", 4, 1, 4, 1, false)], vec![0, 1, 2, 3], kept.batch_size()).unwrap();
    let values = |blocks: Vec<Vec<Arc<HostArray>>>| -> Vec<f64> {
        blocks[0].iter().flat_map(|block| block.to_f64_vec()).collect()
    };
    let mut seen: Vec<f64> =
        (0..3).flat_map(|batch| values(plan.blocks(&mut kept, batch).unwrap())).collect();
    assert_eq!(seen[10..], [0.0, 0.0]);
    seen.sort_by(f64::total_cmp);
    assert_eq!(seen[2..], (1..=10).map(f64::from).collect::<Vec<_>>());
    // A process that holds only padding requests nothing.
    let last = Plan::new(vec![input("x", 4, 1, 4, 1, false)], vec![3], None).unwrap();
    assert_eq!(values(last.blocks(&mut kept, 2).unwrap()), [0.0]);
    assert_eq!(Shuffled::new(arrays(), 4, 1).with_epochs(2).num_batches(), Some(4));
}

#[test]
fn invalid_example_arrays_are_reported() {
    let zeros = |shape: &[usize]| HostArray::zeros(DType::I32, shape).unwrap();
    let error = |arrays| Arrays::new(arrays).unwrap_err().to_string();
    assert_eq!(
        error(vec![("x", zeros(&[4, 3])), ("y", zeros(&[0]))]),
        "error[SH1120]: \"y\" is tensor<0xi32>, which has no examples; the first dimension counts examples: a filter or a limit may have removed all of them"
    );
    assert_eq!(
        error(vec![("x", zeros(&[]))]),
        "error[SH1120]: \"x\" is tensor<i32>, which has no example dimension; add a leading dimension for the examples"
    );
    assert_eq!(
        error(vec![("x", zeros(&[10, 1])), ("y", zeros(&[9]))]),
        "error[SH1120]: \"y\" is tensor<9xi32>, which has 9 examples, but \"x\" has 10; all arrays must have the same number of examples"
    );
}

#[test]
fn passages_are_read_from_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = (0..20u16).flat_map(u16::to_le_bytes).collect();
    std::fs::write(file.path(), bytes).unwrap();
    let open = || TokenFile::open(file.path(), TokenWidth::U16).unwrap();
    let mut whole = Passages::new("tokens", open(), 6);
    assert_eq!((whole.count(), whole.names()), (3, vec!["tokens".to_owned()]));
    let rows = whole.read(&[2, 0]).unwrap();
    assert_eq!(rows[0].to_f64_vec(), [12., 13., 14., 15., 16., 17., 0., 1., 2., 3., 4., 5.]);
    assert!(whole.read(&[3]).unwrap_err().to_string().contains("SH1112"));
    assert_eq!(Passages::new("tokens", open(), 6).every(1).count(), 15);
    // A source without examples is an error for both values of `LastBatch`. Otherwise all batches would contain only padding.
    for last in [LastBatch::Drop, LastBatch::Keep] {
        let mut none = Shuffled::new(Passages::new("tokens", open(), 21), 2, 0).with_last(last);
        let plan = Plan::new(vec![input("tokens", 2, 21, 1, 1, false)], vec![0], none.batch_size()).unwrap();
        let error = plan.blocks(&mut none, 0).unwrap_err().to_string();
        assert_eq!(
            error,
            "error[SH1122]: the source failed to read rows 0..2 of batch 0: there are no examples"
        );
    }
}
