//! Written files are read back, and sharded files are reassembled, bit for bit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

use proptest::prelude::*;
use shardc_ir::DType;
use shardc_statedict::fsdp::{Layout, Sharding, consolidate_files, find_files, shard, write_rank};
use shardc_statedict::torch::{save, to_value};
use shardc_statedict::{StateDict, Tensor, open, safetensors};

const TYPES: [DType; 6] = [DType::F32, DType::BF16, DType::F64, DType::I64, DType::UI8, DType::F8E4M3FN];

fn a_tensor() -> impl Strategy<Value = Tensor> {
    (prop::sample::select(TYPES.to_vec()), prop::collection::vec(0usize..5, 0..4), any::<u8>()).prop_map(
        |(dtype, shape, seed)| {
            let len = shape.iter().product::<usize>() * dtype.bytes();
            let bytes: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect();
            Tensor::from_bytes(dtype, &shape, bytes).unwrap()
        },
    )
}

fn a_dict() -> impl Strategy<Value = StateDict> {
    prop::collection::vec(a_tensor(), 0..8).prop_map(|tensors| {
        let mut dict = StateDict::new();
        for (i, tensor) in tensors.into_iter().enumerate() {
            // The names are not in alphabetical order.
            dict.insert(format!("layer.{}.w", (7 * i + 3) % 8), tensor).unwrap();
        }
        dict
    })
}

fn contents(dict: &StateDict) -> Vec<(String, DType, Vec<usize>, Vec<u8>)> {
    let all =
        dict.iter().map(|(name, t)| (name.to_owned(), t.dtype(), t.shape().to_vec(), t.read().unwrap()));
    all.collect()
}

fn sorted(dict: &StateDict) -> Vec<(String, DType, Vec<usize>, Vec<u8>)> {
    let mut all = contents(dict);
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn written(dict: &StateDict, path: &Path) {
    let mut bytes = Vec::new();
    safetensors::write(dict, &mut bytes, &mut |_| {}).unwrap();
    fs::write(path, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn safetensors_files_round_trip(dict in a_dict()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        written(&dict, &path);
        prop_assert_eq!(sorted(&open(&path).unwrap()), sorted(&dict));
    }

    #[test]
    fn torch_files_round_trip_in_order(dict in a_dict()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pth");
        let mut bytes = Cursor::new(Vec::new());
        save(&to_value(&dict), "a", &mut bytes, &mut |_| {}).unwrap();
        fs::write(&path, bytes.into_inner()).unwrap();
        prop_assert_eq!(contents(&open(&path).unwrap()), contents(&dict));
    }

    #[test]
    fn split_files_round_trip(dict in a_dict(), size in 1u64..200) {
        let folder = tempfile::tempdir().unwrap();
        let split = safetensors::split(&dict, "model", size).unwrap();
        for part in &split.parts {
            prop_assert!(part.tensors.byte_len() <= size || part.tensors.len() == 1);
            written(&part.tensors, &folder.path().join(&part.file));
        }
        if let Some((name, text)) = &split.index {
            fs::write(folder.path().join(name), text).unwrap();
        }
        prop_assert_eq!(split.index.is_some(), split.parts.len() > 1);
        prop_assert_eq!(sorted(&open(folder.path()).unwrap()), sorted(&dict));
    }

    #[test]
    fn shards_are_reassembled(
        dict in a_dict(),
        world_size in 1usize..5,
        multiple in 1usize..9,
        layout in 0usize..3,
    ) {
        let layout = [Layout::Flat { multiple }, Layout::Flattened { multiple }, Layout::FirstDimension][layout];
        // Scalars are not sharded, like buffers.
        let buffers: Vec<&str> = dict.iter().filter(|(_, t)| t.shape().is_empty()).map(|(name, _)| name).collect();
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("c");
        for rank in 0..world_size {
            let (model, metadata) = shard(&dict, &buffers, Sharding { layout, world_size }, rank).unwrap();
            let path = format!("{}_rank-{rank:08}-of-{world_size:08}.safetensors", prefix.display());
            write_rank(Path::new(&path), &model, &metadata).unwrap();
        }
        let files = find_files(prefix.to_str().unwrap(), "_rank-*-of-*.safetensors").unwrap();
        prop_assert_eq!(sorted(&consolidate_files(&files).unwrap()), sorted(&dict));
    }

    #[test]
    fn slices_match_the_whole_tensor(
        shape in prop::collection::vec(1usize..6, 1..4),
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 4),
        world_size in 1usize..4,
    ) {
        let count: usize = shape.iter().product();
        let bytes: Vec<u8> = (0..count as u16).flat_map(u16::to_le_bytes).collect();
        let mut dict = StateDict::new();
        dict.insert("w", Tensor::from_bytes(DType::UI16, &shape, bytes).unwrap()).unwrap();
        let bounds: Vec<Range<usize>> = shape.iter().zip(&at).map(|(&n, (a, b))| {
            let (a, b) = (a.index(n + 1), b.index(n + 1));
            a.min(b)..a.max(b)
        }).collect();
        let want: Vec<u8> = (0..count).filter(|&i| {
            let mut rest = i;
            bounds.iter().zip(&shape).rev().all(|(bounds, &n)| {
                let at = rest % n;
                rest /= n;
                bounds.contains(&at)
            })
        }).flat_map(|i| (i as u16).to_le_bytes()).collect();
        // The tensor in memory, in a file, and in the files of ranks.
        prop_assert_eq!(&dict.get("w").unwrap().read_slice(&bounds).unwrap(), &want);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        written(&dict, &path);
        prop_assert_eq!(&open(&path).unwrap().get("w").unwrap().read_slice(&bounds).unwrap(), &want);
        let mut files = Vec::new();
        for rank in 0..world_size {
            let sharding = Sharding { layout: Layout::Flat { multiple: 3 }, world_size };
            let (model, metadata) = shard(&dict, &[], sharding, rank).unwrap();
            let path = folder.path().join(format!("rank-{rank}"));
            write_rank(&path, &model, &metadata).unwrap();
            files.push(path);
        }
        let full = consolidate_files(&files).unwrap();
        prop_assert_eq!(&full.get("w").unwrap().read_slice(&bounds).unwrap(), &want);
    }
}

#[test]
fn invalid_slice_bounds_are_rejected() {
    let tensor = Tensor::from_bytes(DType::UI8, &[2, 2], vec![1, 2, 3, 4]).unwrap();
    let (rows, from_the_end) = (0..2, Range { start: 2, end: 1 });
    for bounds in [vec![rows], vec![0..3, 0..2], vec![from_the_end, 0..2], vec![0..2, 0..2, 0..1]] {
        assert_eq!(tensor.read_slice(&bounds).unwrap_err().code(), "SH1411", "{bounds:?}");
    }
}

#[test]
fn file_sizes_match_hugging_face() {
    let size = |text: &str| safetensors::parse_size(text).ok();
    assert_eq!(size("5GB"), Some(5_000_000_000));
    assert_eq!(size("2 gib"), Some(2 << 30));
    assert_eq!(size("1.5KB"), Some(1500));
    assert_eq!((size("300B"), size("300"), size("2T")), (Some(300), Some(300), Some(2_000_000_000_000)));
    for wrong in ["", "GB", "0GB", "-1GB", "5XB", "1e99GB", "5 G B", "nanGB", "99999999TB"] {
        assert_eq!(size(wrong), None, "{wrong}");
    }
}

#[test]
fn unsupported_types_are_named() {
    let mut dict = StateDict::new();
    dict.insert("z", Tensor::from_bytes(DType::C128, &[1], vec![0; 16]).unwrap()).unwrap();
    let error = safetensors::write(&dict, &mut Vec::new(), &mut |_| {}).unwrap_err();
    assert_eq!((error.code(), error.tensor()), ("SH1412", Some("z")));
    let mut dict = StateDict::new();
    dict.insert("k", Tensor::from_bytes(DType::F8E3M4, &[1], vec![0]).unwrap()).unwrap();
    let error = save(&to_value(&dict), "a", Cursor::new(Vec::new()), &mut |_| {}).unwrap_err();
    assert_eq!(error.code(), "SH1412");
}
