//! Meshes of eight devices, and shardings on them.

use super::Choices;

/// The parameters of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeshRecipe {
    /// Selects the axes.
    pub axes: u16,
    /// Selects the order of devices; zero is the default order.
    pub order: u16,
}

/// A mesh of eight devices.
#[derive(Clone, Debug)]
pub(crate) struct Mesh {
    axes: &'static [(&'static str, u32)],
    ids: Option<Vec<usize>>,
}

const MESHES: [&[(&str, u32)]; 6] = [
    &[("x", 8)],
    &[("x", 2), ("y", 4)],
    &[("x", 4), ("y", 2)],
    &[("x", 2), ("y", 2), ("z", 2)],
    &[("y", 4), ("x", 2)],
    &[("x", 1), ("y", 8)],
];

pub(crate) const DEVICES: usize = 8;

impl MeshRecipe {
    pub(crate) fn mesh(self) -> Mesh {
        let axes = MESHES[usize::from(self.axes) % MESHES.len()];
        let ids = (self.order != 0).then(|| {
            let mut left: Vec<usize> = (0..DEVICES).collect();
            let mut code = usize::from(self.order);
            (0..DEVICES)
                .map(|_| {
                    let at = code % left.len();
                    code /= left.len();
                    left.remove(at)
                })
                .collect()
        });
        Mesh { axes, ids }
    }
}

impl Mesh {
    /// The declaration.
    pub(crate) fn text(&self) -> String {
        let axes: Vec<String> = self.axes.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
        let ids = self.ids.as_ref().map(|ids| {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            format!(", device_ids=[{}]", ids.join(", "))
        });
        format!("sdy.mesh @mesh = <[{}]{}>\n", axes.join(", "), ids.unwrap_or_default())
    }

    /// The axes and their sizes.
    pub(crate) fn axes(&self) -> &'static [(&'static str, u32)] {
        self.axes
    }

    /// The device groups along one axis, one for each combination of coordinates along the other axes.
    pub(crate) fn groups(&self, axis: &str) -> Vec<Vec<usize>> {
        let at = self.axes.iter().position(|(name, _)| *name == axis).unwrap_or(0);
        let size = self.axes[at].1 as usize;
        let stride: usize = self.axes[at + 1..].iter().map(|(_, size)| *size as usize).product();
        let device = |place: usize| self.ids.as_ref().map_or(place, |ids| ids[place]);
        (0..DEVICES)
            .filter(|place| (place / stride).is_multiple_of(size))
            .map(|first| (0..size).map(|i| device(first + i * stride)).collect())
            .collect()
    }

    /// Draws a sharding of a tensor of rank `rank`: each axis, or each half of an axis, shards a random dimension or no dimension. In one
    /// of four cases, the tensor is unreduced along the axes that shard no dimension.
    pub(crate) fn sharding(&self, c: &mut Choices<'_>, rank: usize) -> String {
        // One number selects the open dimensions and whether the tensor is unreduced, because recipes have few numbers.
        let first = c.below(32);
        let (open, is_pending) = (first % 8, first / 8 == 3);
        let mut pieces: Vec<Piece> = Vec::new();
        for &(name, size) in self.axes {
            if size >= 4 && c.one_in(5) {
                pieces.push((name, 1, 2, size));
                pieces.push((name, 2, size / 2, size));
            } else {
                pieces.push((name, 1, size, size));
            }
        }
        if c.one_in(3) {
            pieces.reverse();
        }
        let mut dims: Vec<Vec<Piece>> = vec![Vec::new(); rank];
        let mut rest: Vec<Piece> = Vec::new();
        for piece in pieces {
            // An axis shards each dimension with twice the probability of sharding no dimension.
            let at = c.below(rank * 2 + 1);
            match dims.get_mut(if at < rank * 2 { at / 2 } else { rank }) {
                Some(dim) => push(dim, piece),
                None => rest.push(piece),
            }
        }
        let dims: Vec<String> = dims
            .iter()
            .enumerate()
            .map(|(d, pieces)| {
                let mut items = texts(pieces);
                if open >> d & 1 == 1 {
                    items.push("?".to_owned());
                }
                format!("{{{}}}", items.join(", "))
            })
            .collect();
        let place = |piece: &Piece| self.axes.iter().position(|(name, _)| *name == piece.0);
        rest.sort_by_key(|piece| (place(piece), piece.1));
        let mut pending = Vec::new();
        rest.into_iter().for_each(|piece| push(&mut pending, piece));
        let pending = match is_pending && !pending.is_empty() {
            true => format!(", unreduced={{{}}}", texts(&pending).join(", ")),
            false => String::new(),
        };
        format!("<@mesh, [{}]{pending}>", dims.join(", "))
    }
}

/// An axis or a sub-axis: its name, pre-size and size, and the size of the axis.
type Piece = (&'static str, u32, u32, u32);

/// Appends an axis or a sub-axis, and merges adjacent sub-axes.
fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        Some(last) if last.0 == piece.0 && last.1 * last.2 == piece.1 => last.2 *= piece.2,
        _ => pieces.push(piece),
    }
}

fn texts(pieces: &[Piece]) -> Vec<String> {
    let text = |&(name, pre, size, full): &Piece| match size == full {
        true => format!("\"{name}\""),
        false => format!("\"{name}\":({pre}){size}"),
    };
    pieces.iter().map(text).collect()
}
