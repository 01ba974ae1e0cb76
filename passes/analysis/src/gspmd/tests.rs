//! Tests of parsing and printing GSPMD shardings, and of round trips of shardings through XLA's form.

use proptest::prelude::*;
use shardc_ir::{AxisList, AxisRef, DimSharding, Mesh, MeshId, Module, SubAxis, TensorSharding};

use super::hlo::{HloSharding, LeafKind, Tiling};
use super::infer::infer;
use super::to_axes::MeshPlacement;
use super::to_hlo;

fn read(text: &str) -> String {
    match text.parse::<HloSharding>() {
        Ok(sharding) => sharding.to_string(),
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn texts_in_the_form_that_xla_prints() {
    let same = [
        "{replicated}",
        "{manual}",
        "{unknown}",
        "{unreduced}",
        "{maximal device=3}",
        "{replicated shard_as 1}",
        "{unknown shard_like 0}",
        "{devices=[2,4]0,2,4,6,1,3,5,7}",
        "{devices=[2,4]<=[8]}",
        "{devices=[4,2]<=[2,4]T(1,0)}",
        "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}",
        "{}",
        "{{replicated}}",
        "{{replicated}, {manual}, {devices=[2]<=[2]}, {unknown}, {unreduced}, /*index=5*/{maximal device=0}}",
        "{mesh['x'=2,'y'=4], replicated}",
        "{mesh['x'=2,'y'=4], manual}",
        "{mesh['x'=2,'y'=4], unreduced}",
        "{mesh['x'=4], device_ids=(3,2,1,0), [{'x':(1)2}, {?}], replicated={'x':(2)2}}",
        "{mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)), [{'x', ?}, {}], unreduced={'y'}}",
        "{mesh['x'=2,'y'=2], [{'x'}], manual={'y'}}",
        "{maximal_mesh[device_id=3]}",
    ];
    for text in same {
        assert_eq!(read(text), text);
    }
    let others = [
        ("  { replicated  }  ", "{replicated}"),
        ("{{replicated},{manual}}", "{{replicated}, {manual}}"),
        ("{/* a */ devices = [2, 4] <= [8] }", "{devices=[2,4]<=[8]}"),
        ("{devices=[2,4]<=[2,4]T(0,1)}", "{devices=[2,4]<=[8]}"),
        ("{devices=[4,2]<=[1,2,4]T(0,2,1)}", "{devices=[4,2]<=[2,4]T(1,0)}"),
        ("{devices=[8]<=[2,2,2]T(2,0,1)}", "{devices=[8]<=[4,2]T(1,0)}"),
        ("{shard_as 1 replicated metadata={op_name=\"}\" source_line=3}}", "{replicated shard_as 1}"),
        ("{replicated metadata={{op_name=\"a\"},{op_name=\"b\"}}}", "{replicated}"),
        ("{device=3 maximal}", "{maximal device=3}"),
        ("{mesh[\"x\"=2] [{\"x\"}], metadata={op_name=\"a\"}}", "{mesh['x'=2], [{'x'}]}"),
        ("{mesh['x'=2,'y'=2], device_ids=(0,1,2,3), [{'1'}]}", "{mesh['x'=2,'y'=2], [{'y'}]}"),
        // Subgroups of one device are dropped, subgroups of the same kind are merged, and their order is canonical.
        ("{devices=[2,4,1]<=[8] last_tile_dim_replicate}", "{devices=[2,4]<=[8]}"),
        ("{devices=[1,8]<=[8] last_tile_dim_replicate}", "{replicated}"),
        ("{devices=[1,1,8]<=[8] last_tile_dims={manual}}", "{manual}"),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={manual, manual}}",
            "{devices=[2,4]<=[8] last_tile_dims={manual}}",
        ),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}",
            "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}",
        ),
        // Devices that hold the same tile are in ascending order.
        (
            "{devices=[2,4]7,6,5,4,3,2,1,0 last_tile_dim_replicate}",
            "{devices=[2,4]4,5,6,7,0,1,2,3 last_tile_dim_replicate}",
        ),
        (
            "{devices=[2,4]<=[2,2,2]T(1,2,0) last_tile_dim_replicate}",
            "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
        ),
    ];
    for (text, expected) in others {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn texts_that_are_wrong() {
    let cases = [
        ("", "! at character 1: expected `{`, found the end"),
        ("replicated", "! at character 1: expected `{`, found `replicated`"),
        ("{replicated", "! at character 12: expected a kind of sharding, `devices=`, or `}`, found the end"),
        ("{replicated} x", "! at character 14: expected the end, found `x`"),
        (
            "{replicate}",
            "! at character 2: expected a kind of sharding, `devices=`, or `}`, found `replicate`",
        ),
        (
            "{replicated manual}",
            "! at character 19: a sharding can be only one of replicated, manual, unknown and unreduced",
        ),
        ("{{replicated},}", "! at character 15: expected `{`, found `}`"),
        ("{shard_as 1}", "! at character 2: expected a kind of sharding or `devices=`"),
        ("{maximal}", "! at character 2: a maximal sharding needs `device=`"),
        ("{devices=[2,4]<=[9]}", "! at character 9: the tile assignment has 8 tiles for 9 devices"),
        ("{devices=[2,4]0,1,2}", "! at character 9: the tile assignment has 8 tiles for 3 devices"),
        ("{devices=[2]0,0}", "! at character 13: device 0 is listed twice"),
        ("{devices=[2]0,5}", "! at character 13: device 5 is out of range, 2 devices are listed"),
        ("{devices=[0]<=[0]}", "! at character 11: a size must be at least 1"),
        ("{devices=[2,4]}", "! at character 15: expected a device, or `<=`, found `}`"),
        ("{devices=[99999999999999999999]<=[1]}", "! at character 11: this number is too large"),
        (
            "{devices=[1000000,1000000]<=[1]}",
            "! at character 11: there are too many devices: a program has at most 1048576 devices",
        ),
        (
            "{devices=[4]<=[2,2]T(0,0)}",
            "! at character 22: a transposition must list each dimension from 0 to 1 once",
        ),
        ("{devices=[4]<=[2,2]T(0)}", "! at character 22: the transposition has 1 dimensions, expected 2"),
        (
            "{devices=[4]<=[4] last_tile_dims={big}}",
            "! at character 35: expected `manual`, `replicated` or `unreduced`, found `big`",
        ),
        (
            "{devices=[4]<=[4] last_tile_dims={manual,manual}}",
            "! at character 9: 2 last tile dimensions are given, but there are only 1 tile dimensions",
        ),
        (
            "{replicated last_tile_dim_replicate}",
            "! at character 2: last tile dimensions need tiles (`devices=`)",
        ),
        (
            "{replicated metadata={}",
            "! at character 24: expected a kind of sharding, `devices=`, or `}`, found the end",
        ),
        ("{replicated metadata={", "! at character 22: this brace is never closed"),
        ("{mesh['x'=2,'x'=2], replicated}", "! at character 18: the mesh has two axes 'x'"),
        ("{mesh['x'=2], [{'z'}]}", "! at character 17: the mesh has no axis 'z', its axes are 'x'"),
        ("{mesh['x'=2], [{'x'}, {'x'}]}", "! at character 30: axis 'x' is used twice"),
        ("{mesh['x'=4], [{'x':(3)2}]}", "! at character 17: 'x':(3)2 is not a sub-axis of an axis of size 4"),
        (
            "{mesh['x'=2], [{}], unreduced=max{'x'}}",
            "! at character 31: the only supported reduction of an unreduced value is sum",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text), expected, "{text}");
    }
}

/// Returns a mesh, possibly with permuted devices, and a sharding of some dimensions on it.
fn sharding_on_mesh() -> impl Strategy<Value = (Mesh, TensorSharding)> {
    let mesh =
        (proptest::collection::vec(1i64..=4, 1..=3), any::<Option<u64>>()).prop_map(|(sizes, seed)| {
            let names: Vec<String> = (0..sizes.len()).map(|i| format!("a{i}")).collect();
            let mut mesh = Mesh::new(names.iter().map(String::as_str).zip(sizes));
            mesh.device_ids = seed.map(|seed| {
                let mut ids: Vec<i64> = (0..mesh.num_devices() as i64).collect();
                let mut state = seed;
                for i in (1..ids.len()).rev() {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    ids.swap(i, (state >> 33) as usize % (i + 1));
                }
                ids
            });
            mesh
        });
    (mesh, 0usize..=3, proptest::collection::vec((0usize..6, any::<bool>()), 8)).prop_map(
        |(mesh, rank, choices)| {
            let mut dims = vec![DimSharding::default(); rank];
            let mut unreduced = AxisList::new();
            let mut parts: Vec<AxisRef> = Vec::new();
            for (axis, &size) in mesh.axes.values().enumerate() {
                let part = |pre, size| AxisRef { axis: axis as u16, sub: Some(SubAxis { pre, size }) };
                // An axis of size 4 is used in full or as two sub-axes, the minor one first.
                match choices[axis].1 && size == 4 {
                    true => parts.extend([part(2, 2), part(1, 2)]),
                    false if size > 1 => parts.push(AxisRef::whole(axis)),
                    false => {}
                }
            }
            for (part, &(place, _)) in parts.iter().zip(&choices) {
                match place {
                    d if d < rank => dims[d].axes.push(*part),
                    4 => unreduced.push(*part),
                    _ => {}
                }
            }
            unreduced.sort_unstable();
            let mesh_id = MeshId::from_u32(0);
            (mesh, TensorSharding { unreduced, ..TensorSharding::from_dims(mesh_id, dims) })
        },
    )
}

/// Returns for each device the index of its block along each dimension, and the first device that holds the same partial sum.
fn blocks(mesh: &Mesh, sharding: &TensorSharding) -> Vec<(Vec<i64>, i64)> {
    let holds = |position: usize| -> (Vec<i64>, i64) {
        let block = sharding.dims.iter().map(|d| mesh.linear_coordinate(position, &d.axes)).collect();
        (block, mesh.linear_coordinate(position, &sharding.unreduced))
    };
    let all: Vec<_> = (0..mesh.num_devices()).map(|p| (mesh.device_at(p), holds(p))).collect();
    let mut out = vec![(Vec::new(), 0); all.len()];
    for (device, held) in &all {
        let first = all.iter().filter(|(_, other)| other == held).map(|(device, _)| *device).min();
        out[*device as usize] = (held.0.clone(), first.unwrap_or(0));
    }
    out
}

/// Returns the block of each device under a tile assignment.
fn blocks_of_tiles(tiling: &Tiling) -> Vec<Vec<i64>> {
    let devices = tiling.devices.list();
    let mut out = vec![Vec::new(); devices.len()];
    for (place, &device) in devices.iter().enumerate() {
        let mut rest = place as i64;
        let mut index: Vec<i64> = Vec::new();
        for &size in tiling.dims.iter().rev() {
            index.push(rest % size);
            rest /= size;
        }
        index.reverse();
        index.truncate(tiling.rank());
        out[device as usize] = index;
    }
    out
}

proptest! {
    #[test]
    fn every_device_keeps_its_block((mesh, sharding) in sharding_on_mesh()) {
        let hlo = to_hlo(&mesh, &sharding, &[]);
        let text = hlo.to_string();
        let read: HloSharding = text.parse().map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        prop_assert_eq!(&read, &hlo, "{}", text);
        let wanted = blocks(&mesh, &sharding);
        let HloSharding::Single(leaf) = read else { return Err(TestCaseError::fail("a tuple")) };
        if let LeafKind::Tiled(tiling) = &leaf.kind {
            let tiles = blocks_of_tiles(tiling);
            let blocks: Vec<Vec<i64>> = wanted.iter().map(|(block, _)| block.clone()).collect();
            prop_assert_eq!(tiles, blocks, "{}", &text);
        }
        // The test uses the original mesh, and the mesh inferred from the sharding alone.
        let mut meshes = vec![mesh.clone()];
        if let LeafKind::Tiled(tiling) = &leaf.kind {
            let axes = infer(&[tiling]).map_err(|e| TestCaseError::fail(format!("{text}: {e:?}")))?;
            meshes.push(axes.mesh());
        }
        for mesh in meshes {
            let mut module = Module::new();
            let id = module.add_mesh("mesh", mesh.clone());
            let mut home = MeshPlacement::new(&module, id);
            let placed = home
                .place(&mut module, &leaf, sharding.rank(), &|_| false)
                .map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
            prop_assert!(placed.manual.is_empty());
            prop_assert_eq!(blocks(&mesh, &placed.sharding), wanted.clone(), "{} on {:?}", &text, mesh);
        }
    }

    #[test]
    fn no_text_panics(text in "\\{(devices=|\\[|\\]|,|[0-9]{1,3}|<=|T\\(|\\)|last_tile_dims=|\\{|\\}|manual|replicated|mesh|'x'|=|:| ){0,20}\\}?") {
        let _ = text.parse::<HloSharding>();
    }
}
