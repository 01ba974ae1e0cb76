//! Damaged and malicious files are rejected with an error that states the reason. No code in them is executed, they do not cause endless
//! loops, and no memory is allocated only because a header claims a large size.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use shardc_ir::DType;
use shardc_statedict::torch::{load, save, to_value};
use shardc_statedict::{StateDict, StateDictError, Tensor, fsdp, open, safetensors};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn stored() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored)
}

/// Creates an archive of these entries.
fn archive(entries: &[(&str, &[u8], SimpleFileOptions)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, options) in entries {
        zip.start_file(*name, *options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns the error for a file of these bytes.
fn error_of(bytes: &[u8]) -> StateDictError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, bytes).unwrap();
    let error = open(&path)
        .and_then(|dict| dict.iter().try_for_each(|(_, tensor)| tensor.read().map(drop)))
        .unwrap_err();
    assert_eq!(error.path(), Some(path.as_path()), "{error}");
    error
}

/// Returns the error for a pickle with a storage "0" of sixteen bytes.
fn pickled(pickle: &[u8]) -> StateDictError {
    let zip = archive(&[("a/data.pkl", pickle, stored()), ("a/data/0", &[0; 16], stored())]);
    error_of(&zip)
}

fn assert_says(error: &StateDictError, code: &str, text: &str) {
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

/// Returns a pickled dict with one tensor. `class` and `elements` describe the storage of the tensor.
fn tensor(class: &str, elements: u32, offset: i32, sizes: &[i32], strides: &[i32]) -> Vec<u8> {
    let mut out =
        b"\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n".to_vec();
    out.extend(class.as_bytes());
    out.extend(b"\nX\x01\0\0\x000X\x03\0\0\0cpuJ");
    out.extend(elements.to_le_bytes());
    out.extend(b"tQJ");
    out.extend(offset.to_le_bytes());
    for list in [sizes, strides] {
        out.push(b'(');
        for number in list {
            out.push(b'J');
            out.extend(number.to_le_bytes());
        }
        out.push(b't');
    }
    out.extend(b"\x89ccollections\nOrderedDict\n)RtRs.");
    out
}

#[test]
fn a_plain_tensor_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let pickle = tensor("FloatStorage", 4, 1, &[3], &[1]);
    fs::write(&path, archive(&[("a/data.pkl", &pickle, stored()), ("a/data/0", &[7; 16], stored())]))
        .unwrap();
    assert_eq!(open(&path).unwrap().get("w").unwrap().read().unwrap(), [7; 12]);
}

#[test]
fn no_code_is_run() {
    // A pickle of protocol 2 that calls `posix.system("true")`.
    let error = pickled(b"\x80\x02cposix\nsystem\nX\x04\0\0\0true\x85R.");
    assert_says(&error, "SH1407", "the global `posix.system`");
    assert!(error.advice().unwrap().contains("no code is run"), "{error:?}");
    assert_says(
        &pickled(b"\x80\x02c__builtin__\neval\nX\x01\0\0\x001\x85R."),
        "SH1407",
        "`__builtin__.eval`",
    );
    assert_says(
        &pickled(b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81."),
        "SH1407",
        "`torch.nn.modules.linear.Linear`",
    );
    assert_says(&pickled(b"\x80\x02ctorch\nload\n)R."), "SH1407", "`torch.load`");
    assert_says(&pickled(b"\x80\x02ccollections\nOrderedDict\n)\x81."), "SH1407", "NEWOBJ (0x81)");
    assert_says(&pickled(b"\x80\x02(iposix\nsystem\n."), "SH1407", "INST");
    assert_says(&pickled(b"\x80\x02X\x01\0\0\0aX\x01\0\0\0b\x93."), "SH1407", "STACK_GLOBAL");
    assert_says(&pickled(b"\x80\x02\x82\x01."), "SH1407", "EXT1");
    assert_says(&pickled(b"\x80\x02K\x01)R."), "SH1407", "a call of an object that is not a function");
    assert_says(&pickled(b"\x80\x02ctorch\nfloat32\n)R."), "SH1407", "a call of DType(F32)");
    assert_says(&pickled(b"\x80\x02]}b."), "SH1407", "not an OrderedDict");
    assert_says(&pickled(b"\x80\x02ctorch\nFloatStorage\n."), "SH1407", "not plain data");
}

#[test]
fn damaged_pickles_are_reported_with_offset() {
    assert_says(&pickled(b"\x80\x02"), "SH1406", "damaged at byte 2: unexpected end");
    assert_says(&pickled(b"\x80\x02."), "SH1406", "the stack is empty");
    assert_says(&pickled(b"\x80\x02(."), "SH1406", "the stack is empty");
    assert_says(&pickled(b"\x80\x02K\x01(a."), "SH1406", "the stack is empty");
    assert_says(&pickled(b"\x80\x02}(K\x01u."), "SH1406", "a key without a value");
    assert_says(&pickled(b"\x80\x02t."), "SH1406", "there is no mark");
    assert_says(&pickled(b"\x80\x02h\x05."), "SH1406", "the memo has no entry 5");
    assert_says(&pickled(b"\x80\x02X\xff\xff\xff\x7fab."), "SH1406", "unexpected end");
    assert_says(&pickled(b"\x80\x02\x8a\xff."), "SH1406", "unexpected end");
    assert_says(&pickled(b"\x80\x02\x8a\x091234567890."), "SH1406", "an integer of 9 bytes");
    assert_says(&pickled(b"\x80\x02X\x02\0\0\0\xff\xfe."), "SH1406", "not UTF-8");
    assert_says(&pickled(b"\x80\x02ctorch"), "SH1406", "a name has no terminating newline");
    let error = pickled(b"\x80\x04N.");
    assert_says(&error, "SH1406", "protocol 4");
    assert!(error.advice().unwrap().contains("pickle_protocol=2"));
}

#[test]
fn nesting_depth_is_limited() {
    let deep = [b"\x80\x02".as_slice(), &[b']'; 100_000], &[b'a'; 99_999], b"."].concat();
    assert_says(&pickled(&deep), "SH1406", "more than 64 levels deep");
    // A list that contains itself.
    assert_says(&pickled(b"\x80\x02]q\0h\0a."), "SH1406", "more than 64 levels deep");
    // A list with the same string a hundred thousand times counts as that many values, which is allowed.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let same = [b"\x80\x02](X\x01\0\0\0aq\0".as_slice(), &b"h\0".repeat(100_000), b"e."].concat();
    fs::write(&path, archive(&[("a/data.pkl", &same, stored())])).unwrap();
    assert_eq!(load(&path).unwrap().items().unwrap().len(), 100_001);
    // Nested lists that contain the same list twice, forty levels deep: 2^40 values.
    let mut wide = b"\x80\x02]q\0".to_vec();
    for i in 0..40 {
        wide.extend([b']', b'q', i + 1, b'(', b'h', i, b'h', i, b'e']);
    }
    wide.push(b'.');
    assert_says(&pickled(&wide), "SH1406", "shared objects of the pickle expand to too many values");
    let many = [b"\x80\x02".as_slice(), &vec![b'N'; 5 << 20], b"."].concat();
    assert_says(&pickled(&many), "SH1406", "more than 4194304 objects");
}

#[test]
fn tensors_must_be_within_their_storage() {
    let beyond = "exceeds its storage";
    assert_says(&pickled(&tensor("FloatStorage", 4, 2, &[3], &[1])), "SH1408", beyond);
    assert_says(&pickled(&tensor("FloatStorage", 4, 4, &[1], &[1])), "SH1408", beyond);
    assert_says(&pickled(&tensor("FloatStorage", 4, 0, &[2, 2], &[3, 1])), "SH1408", beyond);
    assert_says(
        &pickled(&tensor("FloatStorage", 4, 0, &[i32::MAX, i32::MAX, 4], &[1, 1, 1])),
        "SH1408",
        "overflows",
    );
    assert_says(&pickled(&tensor("FloatStorage", 4, 0, &[i32::MAX], &[i32::MAX])), "SH1408", beyond);
    // A few bytes that expand to gigabytes.
    let error = pickled(&tensor("FloatStorage", 4, 0, &[1 << 30], &[0]));
    assert_says(&error, "SH1408", "more elements than the 4 of its storage");
    assert!(error.advice().unwrap().contains(".contiguous()"));
    assert_says(
        &pickled(&tensor("FloatStorage", 5, 0, &[1], &[1])),
        "SH1406",
        "\"0\" of 5 elements has only 16 bytes",
    );
    assert_says(&pickled(&tensor("FloatStorage", u32::MAX, 0, &[1], &[1])), "SH1406", "-1 elements");
    assert_says(&pickled(&tensor("FloatStorage", 4, -1, &[1], &[1])), "SH1406", "negative or not a number");
    assert_says(&pickled(&tensor("FloatStorage", 4, 0, &[-1], &[1])), "SH1406", "negative or not a number");
    assert_says(&pickled(&tensor("FloatStorage", 4, 0, &[2], &[-1])), "SH1406", "negative or not a number");
    assert_says(
        &pickled(&tensor("FloatStorage", 4, 0, &[2], &[1, 1])),
        "SH1408",
        "2 strides for 1 dimensions",
    );
    assert_says(&pickled(&tensor("QInt8Storage", 4, 0, &[1], &[1])), "SH1407", "`torch.QInt8Storage`");
    let ones = [1; 65];
    assert_says(&pickled(&tensor("FloatStorage", 4, 0, &ones, &ones)), "SH1406", "65 dimensions");
}

#[test]
fn containers_are_checked() {
    let empty: &[u8] = b"\x80\x02}.";
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let bomb = archive(&[("a/data.pkl", empty, stored()), ("a/data/0", &[0; 1 << 20], deflated)]);
    assert!(bomb.len() < 4000);
    assert_says(&error_of(&bomb), "SH1405", "\"a/data/0\" of the zip archive is compressed");
    let bomb = archive(&[("a/data.pkl", &[b'N'; 1 << 20], deflated)]);
    assert_says(&error_of(&bomb), "SH1405", "compressed");
    assert_says(&error_of(&archive(&[("a/data/0", &[0; 4], stored())])), "SH1405", "no data.pkl");
    let two = archive(&[("a/data.pkl", empty, stored()), ("b/data.pkl", empty, stored())]);
    assert_says(&error_of(&two), "SH1405", "more than one folder");
    assert_says(&error_of(&archive(&[("data.pkl", empty, stored())])), "SH1405", "is not in a folder");
    let big = archive(&[("a/data.pkl", empty, stored()), ("a/byteorder", b"big", stored())]);
    assert_says(&error_of(&big), "SH1405", "big-endian");
    let script = archive(&[("a/constants.pkl", empty, stored()), ("a/data.pkl", empty, stored())]);
    assert_says(&error_of(&script), "SH1405", "TorchScript");
    let missing = archive(&[("a/data.pkl", &tensor("FloatStorage", 4, 0, &[4], &[1]), stored())]);
    assert_says(&error_of(&missing), "SH1406", "the storage \"0\" is missing");
    let twice = [b"\x80\x02}(X\x01\0\0\0aNX\x01\0\0\0aNu.".as_slice()].concat();
    assert_says(&pickled(&twice), "SH1406", "has the key \"a\" twice");
    assert_says(&pickled(b"\x80\x02}(X\x01\0\0\0aK\x01u."), "SH1413", "\"a\" is an int, not a tensor");
    assert_says(&error_of(b"PK"), "SH1405", "not a torch.save file");
    assert_says(&error_of(b"PK\x03\x04 and nothing"), "SH1405", "damaged");

    // Two entries with one name: the second is renamed in both of its headers.
    let mut renamed = archive(&[("a/data.pkl", empty, stored()), ("a/data.pkk", b"\x80\x02N.", stored())]);
    for at in 0..renamed.len() - 10 {
        if &renamed[at..at + 10] == b"a/data.pkk" {
            renamed[at + 9] = b'l';
        }
    }
    let error = error_of(&renamed);
    assert_says(&error, "SH1405", "the same name");

    // Two overlapping entries: the directory gives the second the offset of the first.
    let mut overlapping = archive(&[
        ("a/data.pkl", empty, stored()),
        ("a/data/0", &[1; 64], stored()),
        ("a/data/1", &[1; 64], stored()),
    ]);
    let directory: Vec<usize> =
        (0..overlapping.len() - 4).filter(|&at| &overlapping[at..at + 4] == b"PK\x01\x02").collect();
    let place: [u8; 4] = overlapping[directory[1] + 42..][..4].try_into().unwrap();
    overlapping[directory[2] + 42..][..4].copy_from_slice(&place);
    assert_eq!(error_of(&overlapping).code(), "SH1405");
}

#[test]
fn damaged_safetensors_files_are_described() {
    let header = |json: &str, bytes: usize| {
        [&(json.len() as u64).to_le_bytes(), json.as_bytes(), &vec![0; bytes]].concat()
    };
    assert_says(&error_of(b"abc"), "SH1403", "it has 3 bytes");
    assert_says(&error_of(&u64::MAX.to_le_bytes()), "SH1403", "not a safetensors file");
    assert_says(&error_of(&[&1000u64.to_le_bytes()[..], b"{}"].concat()), "SH1403", "truncated");
    assert_says(&error_of(&header("{", 0)), "SH1403", "the header is invalid");
    let one = r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    assert_says(&error_of(&header(one, 7)), "SH1403", "need 8 bytes, but the file has 7");
    assert_says(&error_of(&header(one, 9)), "SH1403", "need 8 bytes, but the file has 9");
    let wrong = one.replace("[2]", "[3]");
    assert_says(&error_of(&header(&wrong, 8)), "SH1403", "the header is invalid");
    let huge = one.replace("[2]", "[9223372036854775807,9223372036854775807]");
    assert_says(&error_of(&header(&huge, 8)), "SH1403", "the header is invalid");
    let hole = one.replace("[0,8]", "[4,12]");
    assert_says(&error_of(&header(&hole, 12)), "SH1403", "the header is invalid");
    let overlapping = r#"{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
    assert_says(&error_of(&header(overlapping, 12)), "SH1403", "the header is invalid");
    let small = r#"{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}"#;
    assert_says(&error_of(&header(small, 1)), "SH1412", "fewer than eight bits");
}

#[test]
fn indices_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("model.safetensors.index.json");
    let index_error = |text: &str| {
        fs::write(&index, text).unwrap();
        open(folder.path()).unwrap_err()
    };
    assert_says(&index_error("[]"), "SH1404", "not an index");
    for file in ["../a.safetensors", "/a", "", "..", "b\\\\c"] {
        let text = format!(r#"{{"weight_map":{{"w":"{file}"}}}}"#);
        assert_says(&index_error(&text), "SH1404", "not a file name within the folder of the index");
    }
    assert_says(&index_error(r#"{"weight_map":{"w":"a.safetensors"}}"#), "SH1402", "no such file");
    let mut dict = StateDict::new();
    dict.insert("v", Tensor::from_bytes(DType::UI8, &[2], vec![1, 2]).unwrap()).unwrap();
    let mut bytes = Vec::new();
    safetensors::write(&dict, &mut bytes, &mut |_| {}).unwrap();
    fs::write(folder.path().join("a.safetensors"), bytes).unwrap();
    let error = index_error(r#"{"weight_map":{"w":"a.safetensors"}}"#);
    assert_says(&error, "SH1404", "a.safetensors does not contain this tensor");
    assert_eq!(error.tensor(), Some("w"));
    fs::write(&index, r#"{"weight_map":{"v":"a.safetensors"}}"#).unwrap();
    assert_eq!(open(folder.path()).unwrap().get("v").unwrap().read().unwrap(), [1, 2]);
    fs::remove_file(&index).unwrap();
    // An index is optional.
    assert_eq!(open(folder.path()).unwrap().get("v").unwrap().read().unwrap(), [1, 2]);
    fs::remove_file(folder.path().join("a.safetensors")).unwrap();
    assert_says(&open(folder.path()).unwrap_err(), "SH1402", "has no safetensors file or index");
}

/// Returns the files that the tests corrupt.
fn files() -> Vec<Vec<u8>> {
    [
        "objects.pth",
        "objects.safetensors",
        "flat_rank-00000000-of-00000003.pth",
        "flattened_rank-00000001-of-00000002.pth",
    ]
    .map(|name| fs::read(data(name)).unwrap())
    .to_vec()
}

/// Reads a damaged file in every way; no read may panic.
fn read_all(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x_rank-0.pth");
    fs::write(&path, bytes).unwrap();
    if let Ok(dict) = open(&path) {
        for (_, tensor) in dict.iter() {
            assert_eq!(tensor.read().unwrap().len() as u64, tensor.byte_len());
        }
    }
    let _ = load(&path);
    let _ = fsdp::consolidate_files(&[path]);
}

#[test]
fn truncated_files_are_rejected() {
    for file in files() {
        for at in (0..file.len()).step_by(97) {
            let _ = error_of(&file[..at]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn flipped_files_do_no_harm(which in 0usize..4, flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6)) {
        let mut file = files().swap_remove(which);
        for (at, mask) in flips {
            let at = at.index(file.len());
            file[at] ^= mask;
        }
        read_all(&file);
    }

    /// Damages only the pickle; the archive stays intact.
    #[test]
    fn flipped_pickles_do_no_harm(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let dict = open(&data("objects.pth")).unwrap();
        let mut bytes = Cursor::new(Vec::new());
        save(&to_value(&dict), "a", &mut bytes, &mut |_| {}).unwrap();
        let mut zip = zip::ZipArchive::new(Cursor::new(bytes.into_inner())).unwrap();
        let mut entries = Vec::new();
        for i in 0..zip.len() {
            let mut entry = zip.by_index(i).unwrap();
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
            entries.push((entry.name().unwrap().into_owned(), content));
        }
        let pickle = &mut entries.iter_mut().find(|(name, _)| name.ends_with("data.pkl")).unwrap().1;
        for (at, byte) in flips {
            let at = at.index(pickle.len());
            pickle[at] = byte;
        }
        let entries: Vec<_> = entries.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice(), stored())).collect();
        read_all(&archive(&entries));
    }

    #[test]
    fn random_pickles_do_no_harm(bytes in prop::collection::vec(prop_oneof![
        any::<u8>(),
        prop::sample::select(b"(.JKMGNX]ae)t}suqrhjcRbQ\x80\x85\x86\x87\x88\x89\x8a".to_vec()),
    ], 0..200)) {
        read_all(&archive(&[("a/data.pkl", &bytes, stored()), ("a/data/0", &[0; 16], stored())]));
    }
}
