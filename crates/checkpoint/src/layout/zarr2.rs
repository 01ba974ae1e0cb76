//! Conversion of Zarr v2 array metadata to Zarr v3.

use serde_json::{Value, json};

/// The name of the metadata file of a Zarr v2 array.
pub(crate) const METADATA: &str = ".zarray";

/// Converts the metadata of a Zarr v2 array to Zarr v3. Errors name the unsupported property.
pub(crate) fn to_v3(metadata: &Value) -> Result<Value, String> {
    if metadata["zarr_format"] != 2 {
        return Err(format!("zarr_format must be 2, got {}", metadata["zarr_format"]));
    }
    if metadata["filters"].as_array().is_some_and(|filters| !filters.is_empty()) {
        return Err(format!("filters {} are not supported", metadata["filters"]));
    }
    let shape = metadata["shape"].as_array().ok_or("it has no shape")?;
    let (data_type, endian) = data_type(&metadata["dtype"])?;
    let mut codecs = Vec::new();
    match metadata["order"].as_str() {
        Some("C") | None => {}
        Some("F") if shape.len() < 2 => {}
        Some("F") => {
            let order: Vec<usize> = (0..shape.len()).rev().collect();
            codecs.push(json!({ "name": "transpose", "configuration": { "order": order } }));
        }
        Some(other) => return Err(format!("unknown order {other:?}")),
    }
    codecs.push(json!({ "name": "bytes", "configuration": { "endian": endian } }));
    codecs.extend(compressor(&metadata["compressor"])?);
    let separator = metadata["dimension_separator"].as_str().unwrap_or(".");
    Ok(json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": metadata["chunks"] } },
        "chunk_key_encoding": { "name": "v2", "configuration": { "separator": separator } },
        "fill_value": metadata["fill_value"],
        "codecs": codecs,
    }))
}

/// Returns Zarr v3's name of a Zarr v2 type, and the byte order of the elements.
fn data_type(dtype: &Value) -> Result<(&str, &'static str), String> {
    let unknown = || format!("unknown data type {dtype}");
    let text = dtype.as_str().ok_or_else(unknown)?;
    let endian = match text.as_bytes().first() {
        Some(b'<' | b'|') => "little",
        Some(b'>') => "big",
        // For a type that NumPy lacks, such as `bfloat16`, TensorStore writes the type's Zarr v3 name.
        _ => return Ok((text, "little")),
    };
    let name = match &text[1..] {
        "b1" => "bool",
        "i1" => "int8",
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "u1" => "uint8",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "f2" => "float16",
        "f4" => "float32",
        "f8" => "float64",
        "c8" => "complex64",
        "c16" => "complex128",
        _ => return Err(unknown()),
    };
    Ok((name, endian))
}

/// Returns Zarr v3's codec for a Zarr v2 compressor; `None` if there is no compressor (`null`).
fn compressor(compressor: &Value) -> Result<Option<Value>, String> {
    if compressor.is_null() {
        return Ok(None);
    }
    let id = compressor["id"].as_str().unwrap_or_default();
    Ok(Some(match id {
        "zstd" => json!({ "name": "zstd", "configuration": { "level": 1, "checksum": false } }),
        "gzip" => json!({ "name": "gzip", "configuration": { "level": 1 } }),
        "zlib" => json!({ "name": "numcodecs.zlib", "configuration": { "level": 1 } }),
        _ => return Err(format!("compressor {compressor} is not supported")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        json!({
            "zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<f4", "order": "C", "filters": null,
            "compressor": null, "fill_value": null,
        })
    }

    #[test]
    fn zarr2_metadata_converts_to_zarr3() {
        let with = |key: &str, value: Value| {
            let mut metadata = metadata();
            metadata[key] = value;
            to_v3(&metadata)
        };
        let plain = to_v3(&metadata()).unwrap();
        assert_eq!(plain["data_type"], "float32");
        assert_eq!(plain["chunk_grid"]["configuration"]["chunk_shape"], json!([2, 3]));
        assert_eq!(plain["codecs"].as_array().unwrap().len(), 1);
        assert_eq!(with("dtype", json!("bfloat16")).unwrap()["data_type"], "bfloat16");
        assert_eq!(with("dtype", json!(">i8")).unwrap()["codecs"][0]["configuration"]["endian"], "big");
        assert_eq!(with("order", json!("F")).unwrap()["codecs"][0]["configuration"]["order"], json!([1, 0]));
        assert_eq!(with("compressor", json!({ "id": "zstd" })).unwrap()["codecs"][1]["name"], "zstd");
        for (key, value) in [
            ("dtype", json!("<M8[ns]")),
            ("dtype", json!([["a", "<f4"]])),
            ("filters", json!([{ "id": "delta" }])),
            ("compressor", json!({ "id": "lzma" })),
            ("order", json!("K")),
            ("zarr_format", json!(3)),
        ] {
            assert!(with(key, value).is_err(), "{key}");
        }
    }
}
