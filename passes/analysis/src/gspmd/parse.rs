//! The parser of `mhlo.sharding` text. It accepts every form that XLA's HLO parser accepts.
//!
//! ```text
//! {replicated}  {manual}  {unknown}  {unreduced}  {maximal device=3}
//! {devices=[2,4]0,2,4,6,1,3,5,7}                         tile dimensions, and an explicit list of devices
//! {devices=[2,4]<=[8]}  {devices=[4,2]<=[2,4]T(1,0)}     tile dimensions, and a reshaped and transposed iota
//! {... last_tile_dim_replicate}  {... last_tile_dims={manual, replicated}}
//! {... shard_as 1}  {... shard_like 1}  {... metadata={...}}
//! {mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}], unreduced={'y':(2)2}}
//! {{...}, {...}}                                         a tuple: one sharding per element
//! ```
//!
//! Metadata is skipped. The parser is stricter than XLA's:
//!
//! * The devices must be a permutation of `0..n`, where `n` is the product of the tile dimensions.
//! * Sum is the only supported reduction of unreduced values.
//! * A mesh has at most [`MAX_DEVICES`] devices.

use std::str::FromStr;

use shardc_ir::limits::{MAX_DEVICES, too_many_devices};
use shardc_ir::suggest::nearest;
use shardc_ir::{AxisList, AxisRef, DimSharding, SubAxis};
use smallvec::SmallVec;

use super::hlo::{Devices, HloSharding, Leaf, LeafKind, Named, NamedValue, ShardGroup, Subgroup, Tiling};
use super::text::{Cursor, TextError};

impl FromStr for HloSharding {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut cursor = Cursor::new(text);
        cursor.expect("{")?;
        let sharding = if cursor.peek("{") || cursor.peek("}") {
            let mut leaves = Vec::new();
            cursor.list("}", |c| {
                c.expect("{")?;
                leaves.push(leaf(c)?);
                Ok(())
            })?;
            HloSharding::Tuple(leaves)
        } else {
            HloSharding::Single(leaf(&mut cursor)?)
        };
        cursor.expect_end()?;
        Ok(sharding)
    }
}

/// Parses the sharding of one value, after its opening brace.
fn leaf(c: &mut Cursor<'_>) -> Result<Leaf, TextError> {
    if c.peek_word("mesh") || c.peek_word("maximal_mesh") {
        return Ok(Leaf { kind: LeafKind::Named(Box::new(named(c)?)), group: None });
    }
    let start = c.at();
    let mut kind: Option<LeafKind> = None;
    let mut tiles: Option<(usize, Vec<i64>, Devices)> = None;
    let mut device: Option<i64> = None;
    let mut maximal = false;
    let mut subgroups: Option<SmallVec<[Subgroup; 2]>> = None;
    let mut group = None;
    let words = [
        ("replicated", LeafKind::Replicated),
        ("manual", LeafKind::Manual),
        ("unknown", LeafKind::Unknown),
        ("unreduced", LeafKind::Unreduced),
    ];
    while !c.eat("}") {
        if let Some((_, found)) = words.iter().find(|(word, _)| c.eat_word(word)) {
            if kind.as_ref().is_some_and(|kind| kind != found) {
                return Err(
                    c.error("a sharding can be only one of replicated, manual, unknown and unreduced")
                );
            }
            kind = Some(found.clone());
        } else if c.eat_word("maximal") {
            maximal = true;
        } else if c.eat_word("devices") {
            let at = c.at();
            if tiles.is_some() {
                return Err(c.error("the devices are given twice"));
            }
            c.expect("=")?;
            let (dims, devices) = tile_assignment(c)?;
            tiles = Some((at, dims, devices));
        } else if c.eat_word("device") {
            c.expect("=")?;
            device = Some(c.int("the number of a device")?);
        } else if c.eat_word("last_tile_dim_replicate") {
            if subgroups.is_some() {
                return Err(c.error("the last tile dimensions are given twice"));
            }
            subgroups = Some(SmallVec::from_slice(&[Subgroup::Replicated]));
        } else if c.eat_word("last_tile_dims") {
            if subgroups.is_some() {
                return Err(c.error("the last tile dimensions are given twice"));
            }
            c.expect("=")?;
            c.expect("{")?;
            let mut list = SmallVec::new();
            c.list("}", |c| {
                let all = [Subgroup::Manual, Subgroup::Unreduced, Subgroup::Replicated];
                match all.into_iter().find(|s| c.eat_word(s.as_str())) {
                    Some(subgroup) => list.push(subgroup),
                    None => return Err(c.expected("`manual`, `replicated` or `unreduced`")),
                }
                Ok(())
            })?;
            subgroups = Some(list);
        } else if c.eat_word("shard_as") {
            group = Some(ShardGroup::As(c.int("the number of a group")?));
        } else if c.eat_word("shard_like") {
            group = Some(ShardGroup::Like(c.int("the number of a group")?));
        } else if c.eat_word("metadata") {
            c.expect("=")?;
            c.skip_braces()?;
        } else if c.peek("unreduced_") || c.peek_word("reduction_op") {
            return Err(unsupported(c, "the only supported reduction of an unreduced value is sum"));
        } else {
            return Err(c.expected("a kind of sharding, `devices=`, or `}`"));
        }
    }
    let error = |message: &str| TextError { at: start, message: message.to_owned(), unsupported: false };
    let kind = match (kind, maximal, device, tiles) {
        (Some(kind), false, None, None) => kind,
        (None, true, Some(device), None) => LeafKind::Maximal(device),
        (None, true, None, None) => return Err(error("a maximal sharding needs `device=`")),
        (None, false, None, Some((at, dims, devices))) => {
            tiling(at, dims, devices, subgroups.take().unwrap_or_default())?
        }
        (None, false, None, None) => return Err(error("expected a kind of sharding or `devices=`")),
        _ => return Err(error("a sharding cannot be of two kinds")),
    };
    if subgroups.is_some_and(|s| !s.is_empty()) {
        return Err(error("last tile dimensions need tiles (`devices=`)"));
    }
    Ok(Leaf { kind, group })
}

fn unsupported(c: &mut Cursor<'_>, message: &str) -> TextError {
    TextError { unsupported: true, ..c.error(message) }
}

/// Parses a tile assignment: `[2,4]<=[8]` or `[2,4]0,1,2,3,4,5,6,7`.
fn tile_assignment(c: &mut Cursor<'_>) -> Result<(Vec<i64>, Devices), TextError> {
    c.expect("[")?;
    let dims = sizes(c, "a number of tiles")?;
    c.expect("]")?;
    if c.eat("<=") {
        return Ok((dims, iota(c)?));
    }
    let at = c.at();
    let list = c.ints("a device, or `<=`")?;
    permutation(at, &list)?;
    Ok((dims, Devices::List(list)))
}

/// Parses positive sizes whose product is at most [`MAX_DEVICES`].
fn sizes(c: &mut Cursor<'_>, what: &str) -> Result<Vec<i64>, TextError> {
    let at = c.at();
    let list = c.ints(what)?;
    let fail = |message: String| Err(TextError { at, message, unsupported: false });
    if list.contains(&0) {
        return fail("a size must be at least 1".to_owned());
    }
    let product = list.iter().try_fold(1i64, |n, &size| n.checked_mul(size).filter(|&n| n <= MAX_DEVICES));
    match product {
        Some(_) => Ok(list),
        None => fail(format!("there are too many devices: {}", too_many_devices())),
    }
}

fn permutation(at: usize, list: &[i64]) -> Result<(), TextError> {
    let fail = |message: String| Err(TextError { at, message, unsupported: false });
    let mut seen = vec![false; list.len()];
    for &device in list {
        match usize::try_from(device).ok().and_then(|d| seen.get_mut(d)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return fail(format!("device {device} is listed twice")),
            None => {
                return fail(format!("device {device} is out of range, {} devices are listed", list.len()));
            }
        }
    }
    Ok(())
}

/// Parses a transposed iota: `[2,4]T(1,0)`.
fn iota(c: &mut Cursor<'_>) -> Result<Devices, TextError> {
    c.expect("[")?;
    let reshape = sizes(c, "a size")?;
    c.expect("]")?;
    let mut perm: Vec<usize> = (0..reshape.len()).collect();
    if c.eat("T") {
        c.expect("(")?;
        let at = c.at();
        let list = c.ints("a dimension")?;
        c.expect(")")?;
        if list.len() != reshape.len() {
            let message =
                format!("the transposition has {} dimensions, expected {}", list.len(), reshape.len());
            return Err(TextError { at, message, unsupported: false });
        }
        if permutation(at, &list).is_err() {
            let message =
                format!("a transposition must list each dimension from 0 to {} once", reshape.len() - 1);
            return Err(TextError { at, message, unsupported: false });
        }
        perm = list.iter().filter_map(|&d| usize::try_from(d).ok()).collect();
    }
    Ok(Devices::transposed(&reshape, &perm))
}

fn tiling(
    at: usize,
    dims: Vec<i64>,
    devices: Devices,
    subgroups: SmallVec<[Subgroup; 2]>,
) -> Result<LeafKind, TextError> {
    // `sizes` bounds both products by `MAX_DEVICES`.
    let (tiles, count): (i64, i64) = (dims.iter().product(), devices.count());
    if tiles != count {
        let message = format!("the tile assignment has {tiles} tiles for {count} devices");
        return Err(TextError { at, message, unsupported: false });
    }
    if subgroups.len() > dims.len() {
        let message = format!(
            "{} last tile dimensions are given, but there are only {} tile dimensions",
            subgroups.len(),
            dims.len()
        );
        return Err(TextError { at, message, unsupported: false });
    }
    Ok(Tiling { dims, devices, subgroups }.canonical())
}

/// Parses `mesh['x'=2], device_ids=(...), [...], ...}`, after the opening brace.
fn named(c: &mut Cursor<'_>) -> Result<Named, TextError> {
    if c.eat_word("maximal_mesh") {
        c.expect("[")?;
        if !c.eat_word("device_id") {
            return Err(c.expected("`device_id=`"));
        }
        c.expect("=")?;
        let device = c.int("the number of a device")?;
        c.expect("]")?;
        if c.eat(",") {
            metadata(c)?;
        }
        c.expect("}")?;
        let devices = Some(Devices::List(vec![device]));
        return Ok(Named { axes: Vec::new(), devices, value: NamedValue::Maximal });
    }
    if !c.eat_word("mesh") {
        return Err(c.expected("`mesh`"));
    }
    let (axes, mut devices) = (mesh_axes(c)?, None);
    c.eat(",");
    if c.eat_word("device_ids") {
        c.expect("=")?;
        devices = device_ids(c, &axes)?;
        c.eat(",");
    }
    let words = [
        ("replicated", NamedValue::Replicated),
        ("manual", NamedValue::Manual),
        ("unreduced", NamedValue::Unreduced),
    ];
    if let Some((_, value)) = words.into_iter().find(|(word, _)| c.eat_word(word)) {
        if c.eat(",") {
            metadata(c)?;
        }
        c.expect("}")?;
        return Ok(Named { axes, devices, value });
    }
    c.expect("[")?;
    let mut dims = Vec::new();
    c.list("]", |c| {
        dims.push(dim_sharding(c, &axes)?);
        Ok(())
    })?;
    let (mut replicated, mut unreduced, mut manual) = (AxisList::new(), AxisList::new(), AxisList::new());
    while c.eat(",") {
        if c.eat_word("replicated") {
            c.expect("=")?;
            replicated = axis_list(c, &axes)?;
        } else if c.eat_word("unreduced") {
            c.expect("=")?;
            if !c.peek("{") && !c.eat_word("sum") {
                return Err(unsupported(c, "the only supported reduction of an unreduced value is sum"));
            }
            unreduced = axis_list(c, &axes)?;
        } else if c.eat_word("manual") {
            c.expect("=")?;
            manual = axis_list(c, &axes)?;
        } else {
            metadata(c)?;
        }
    }
    c.expect("}")?;
    let mut used: AxisList = AxisList::new();
    let lists = dims.iter().map(|d| &d.axes).chain([&replicated, &unreduced, &manual]);
    for &axis in lists.flatten() {
        if used.iter().any(|&other| crate::propagate::overlaps(axis, other)) {
            let name = axes.get(usize::from(axis.axis)).map_or("?", |(name, _)| name);
            return Err(c.error(format!("axis '{name}' is used twice")));
        }
        used.push(axis);
    }
    Ok(Named { axes, devices, value: NamedValue::Dims { dims, replicated, unreduced, manual } })
}

fn metadata(c: &mut Cursor<'_>) -> Result<(), TextError> {
    if !c.eat_word("metadata") {
        return Err(c.expected("`replicated=`, `unreduced=`, `manual=` or `metadata=`"));
    }
    c.expect("=")?;
    c.skip_braces()
}

/// Parses the axes of a mesh: `['x'=2,'y'=4]`.
pub(super) fn mesh_axes(c: &mut Cursor<'_>) -> Result<Vec<(Box<str>, i64)>, TextError> {
    c.expect("[")?;
    let mut axes = Vec::new();
    c.list("]", |c| mesh_axis(c, &mut axes))?;
    Ok(axes)
}

/// Parses an axis of a mesh: `'x'=2`.
pub(super) fn mesh_axis(c: &mut Cursor<'_>, axes: &mut Vec<(Box<str>, i64)>) -> Result<(), TextError> {
    let name = c.string("the name of an axis in quotes")?;
    c.expect("=")?;
    let size = c.int("the size of an axis")?;
    if axes.iter().any(|(other, _)| &**other == name) {
        return Err(c.error(format!("the mesh has two axes '{name}'")));
    }
    if size == 0 {
        return Err(c.error(format!("axis '{name}' has size 0, expected at least 1")));
    }
    let devices = axes.iter().map(|(_, size)| size).try_fold(size, |n, size| n.checked_mul(*size));
    if devices.is_none_or(|n| n > MAX_DEVICES) {
        return Err(c.error(format!("there are too many devices: {}", too_many_devices())));
    }
    axes.push((name.into(), size));
    Ok(())
}

/// Parses device ids: `(0,2,1,3)` or `([2,2]T(1,0))`.
fn device_ids(c: &mut Cursor<'_>, axes: &[(Box<str>, i64)]) -> Result<Option<Devices>, TextError> {
    c.expect("(")?;
    let at = c.at();
    let devices = if c.peek("[") {
        iota(c)?
    } else {
        let list = c.ints("a device")?;
        permutation(at, &list)?;
        Devices::List(list)
    };
    c.expect(")")?;
    let count: i64 = axes.iter().map(|(_, size)| size).product();
    if devices.count() != count {
        let message = format!("{} devices are listed for a mesh of {count} devices", devices.count());
        return Err(TextError { at, message, unsupported: false });
    }
    Ok(if devices.is_identity() { None } else { Some(devices) })
}

/// Parses a dimension sharding: `{'x', 'y':(1)2, ?}`.
pub(super) fn dim_sharding(c: &mut Cursor<'_>, axes: &[(Box<str>, i64)]) -> Result<DimSharding, TextError> {
    c.expect("{")?;
    let mut dim = DimSharding::default();
    c.list("}", |c| {
        if dim.open {
            return Err(c.error("`?` must be last"));
        }
        if c.eat("?") {
            dim.open = true;
        } else {
            dim.axes.push(axis(c, axes)?);
        }
        Ok(())
    })?;
    Ok(dim)
}

/// Parses a list of axes: `{'x', 'y'}`.
pub(super) fn axis_list(c: &mut Cursor<'_>, axes: &[(Box<str>, i64)]) -> Result<AxisList, TextError> {
    c.expect("{")?;
    let mut list = AxisList::new();
    c.list("}", |c| {
        list.push(axis(c, axes)?);
        Ok(())
    })?;
    Ok(list)
}

/// Parses an axis or sub-axis: `'x'` or `'x':(1)2`. The name may also be the index of an axis.
fn axis(c: &mut Cursor<'_>, axes: &[(Box<str>, i64)]) -> Result<AxisRef, TextError> {
    let at = c.at();
    let fail = |message: String| TextError { at, message, unsupported: false };
    let name = c.string("an axis in quotes")?;
    let index = axes
        .iter()
        .position(|(other, _)| &**other == name)
        .or_else(|| name.parse().ok().filter(|&i: &usize| i < axes.len()));
    let Some(index) = index.filter(|&i| i <= usize::from(u16::MAX)) else {
        let known: Vec<String> = axes.iter().map(|(name, _)| format!("'{name}'")).collect();
        let meant = nearest(name, axes.iter().map(|(name, _)| &**name));
        let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        let message = format!("the mesh has no axis '{name}', its axes are {}{meant}", known.join(", "));
        return Err(fail(message));
    };
    let whole = AxisRef::whole(index);
    if !c.eat(":") {
        return Ok(whole);
    }
    c.expect("(")?;
    let pre = c.int("a size")?;
    c.expect(")")?;
    let size = c.int("a size")?;
    let full = axes[index].1;
    match (u32::try_from(pre), u32::try_from(size)) {
        (Ok(p @ 1..), Ok(s @ 1..)) if pre.checked_mul(size).is_some_and(|n| full % n == 0) => {
            let sub = if s == 1 || size == full { None } else { Some(SubAxis { pre: p, size: s }) };
            if s == 1 && full != 1 {
                return Err(fail(format!("'{name}':({pre})1 is not a sub-axis")));
            }
            Ok(AxisRef { sub, ..whole })
        }
        _ => Err(fail(format!("'{name}':({pre}){size} is not a sub-axis of an axis of size {full}"))),
    }
}
