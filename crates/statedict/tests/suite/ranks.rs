//! Rank files that contradict their metadata or each other are rejected, and the error names the mismatch.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;

use shardc_ir::DType;
use shardc_statedict::fsdp::{Layout, RankFile, ShardMetadata, Sharding, consolidate, shard};
use shardc_statedict::{StateDict, StateDictError, Tensor};

fn f32s(shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>();
    Tensor::from_bytes(
        DType::F32,
        shape,
        (0..count).flat_map(|n| (n as f32).to_le_bytes()).collect::<Vec<u8>>(),
    )
    .unwrap()
}

fn model() -> StateDict {
    let mut full = StateDict::new();
    full.insert("w", f32s(&[3, 5])).unwrap();
    full.insert("b", f32s(&[7])).unwrap();
    full.insert("mean", f32s(&[2])).unwrap();
    full
}

fn ranks(layout: Layout) -> Vec<RankFile> {
    let sharding = Sharding { layout, world_size: 2 };
    let rank = |rank: usize| {
        let (model, metadata) = shard(&model(), &["mean"], sharding, rank).unwrap();
        RankFile { path: PathBuf::from(format!("rank-{rank}")), model, metadata }
    };
    (0..2).map(rank).collect()
}

const FLAT: Layout = Layout::Flat { multiple: 4 };

fn assert_refused(ranks: Vec<RankFile>, text: &str) -> StateDictError {
    let error = consolidate(ranks).unwrap_err();
    assert_eq!(error.code(), "SH1410", "{error}");
    assert!(error.to_string().contains(text), "{error}");
    error
}

/// Returns a copy of a state dict in which the tensor whose name ends with `ending` is replaced, or removed if `tensor` is `None`.
fn replaced(dict: &StateDict, ending: &str, tensor: Option<&Tensor>) -> StateDict {
    let mut made = StateDict::new();
    for (name, old) in dict.iter() {
        match (name.ends_with(ending), tensor) {
            (true, None) => {}
            (true, Some(tensor)) => made.insert(name, tensor.clone()).unwrap(),
            (false, _) => made.insert(name, old.clone()).unwrap(),
        }
    }
    made
}

/// Changes the metadata of rank 0. The metadata of other ranks is unchanged, because the consolidation does not use it.
fn with_metadata(layout: Layout, change: impl Fn(&mut ShardMetadata)) -> Vec<RankFile> {
    let mut ranks = ranks(layout);
    change(&mut ranks[0].metadata);
    ranks
}

#[test]
fn valid_rank_files_are_assembled() {
    for layout in [FLAT, Layout::Flattened { multiple: 4 }, Layout::FirstDimension] {
        let full = consolidate(ranks(layout)).unwrap();
        for (name, tensor) in model().iter() {
            assert_eq!(full.get(name).unwrap().read().unwrap(), tensor.read().unwrap(), "{layout:?}: {name}");
        }
    }
}

#[test]
fn mismatched_shards_are_named() {
    let mut lacking = ranks(FLAT);
    lacking[1].model = replaced(&lacking[1].model, "_w", None);
    let error = assert_refused(lacking, "this rank has no shard of this parameter");
    assert_eq!(error.path(), Some("rank-1".as_ref()));
    assert!(error.tensor().unwrap().ends_with("_FSDP_SHARD_SEPARATOR_w"), "{error}");
    let mut other = ranks(Layout::FirstDimension);
    other[1].model = replaced(&other[1].model, "_w", Some(&f32s(&[2, 4])));
    assert_refused(other, "rank 0 has f32[2, 5], but this rank has f32[2, 4]");
    let mut short = ranks(FLAT);
    for rank in &mut short {
        rank.model = replaced(&rank.model, "_w", Some(&f32s(&[7])));
    }
    assert_refused(short, "do not cover the parameter's shape [3, 5]");
    let mut scalar = ranks(FLAT);
    for rank in &mut scalar {
        rank.model = replaced(&rank.model, "_w", Some(&f32s(&[])));
    }
    assert_refused(scalar, "f32[] cannot be a shard of a parameter of shape [3, 5]");
}

#[test]
fn mismatched_metadata_is_rejected() {
    assert_refused(with_metadata(FLAT, |m| m.shard_info.clear()), "does not list this shard");
    let huge =
        |m: &mut ShardMetadata| m.shard_info[""].values_mut().for_each(|p| p.shape = vec![usize::MAX, 2]);
    assert_refused(with_metadata(FLAT, huge), "do not cover the parameter's shape");
    let same = |m: &mut ShardMetadata| {
        m.shard_info[""].values_mut().for_each(|p| (p.shape, p.name) = (vec![1], "w".to_owned()));
    };
    assert_refused(with_metadata(FLAT, same), "two shards contain this parameter");
    let columns = |m: &mut ShardMetadata| m.shard_info[""].values_mut().for_each(|p| p.shape = vec![3, 4]);
    assert_refused(
        with_metadata(Layout::FirstDimension, columns),
        "f32[2, 5] cannot be a shard of a parameter of shape [3, 4]",
    );
    let flattened = Layout::Flattened { multiple: 4 };
    assert_refused(
        with_metadata(flattened, |m| m.flatten_info.clear()),
        "does not list the parameters of this flat parameter",
    );
    for (change, text) in [
        (
            (|flat| flat.sizes[0] += 1) as fn(&mut shardc_statedict::fsdp::FlatParameter),
            "flat parameter of 22 elements",
        ),
        (|flat| flat.sizes[0] = usize::MAX, "flat parameter of 22 elements"),
        (|flat| drop(flat.names.pop()), "flat parameter of 22 elements"),
        (|flat| flat.shapes[0] = vec![5, 4], "but shape [5, 4]"),
        (|flat| flat.names[1] = flat.names[0].clone(), "two shards contain this parameter"),
    ] {
        let ranks = with_metadata(flattened, |m| m.flatten_info.values_mut().for_each(change));
        assert_refused(ranks, text);
    }
}

#[test]
fn buffers_keep_their_types() {
    let mut ranks = ranks(FLAT);
    let halves = Tensor::from_bytes(DType::BF16, &[2], vec![0x80, 0x3f, 0x40, 0xc0]).unwrap();
    ranks[0].model = replaced(&ranks[0].model, "mean", Some(&halves));
    let name = "_fsdp_wrapped_module.mean";
    ranks[0].metadata.buffer_dtypes.insert(name.to_owned(), DType::F32);
    let full = consolidate(ranks.clone()).unwrap();
    let mean = full.get("mean").unwrap();
    assert_eq!((mean.dtype(), mean.byte_len()), (DType::F32, 8));
    assert_eq!(mean.read().unwrap(), [1f32.to_le_bytes(), (-3f32).to_le_bytes()].concat());
    assert_eq!(mean.read_slice(std::slice::from_ref(&(1..2))).unwrap(), (-3f32).to_le_bytes());
    ranks[0].metadata.buffer_dtypes.insert(name.to_owned(), DType::I32);
    let error = consolidate(ranks).unwrap_err();
    assert_eq!((error.code(), error.tensor()), ("SH1408", Some(name)), "{error}");
}

#[test]
fn ranks_beyond_the_last_are_rejected() {
    let sharding = Sharding { layout: FLAT, world_size: 2 };
    assert_eq!(shard(&model(), &[], sharding, 2).unwrap_err().code(), "SH1409");
    let mut scalars = StateDict::new();
    scalars.insert("s", f32s(&[])).unwrap();
    let error =
        shard(&scalars, &[], Sharding { layout: Layout::FirstDimension, world_size: 2 }, 0).unwrap_err();
    assert_eq!((error.code(), error.tensor()), ("SH1408", Some("s")));
    assert_eq!(consolidate(Vec::new()).unwrap_err().code(), "SH1409");
}
