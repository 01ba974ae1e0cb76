//! Device meshes, validated on construction.

use std::collections::BTreeMap;
use std::str::FromStr;

use shardc_analysis::annotations::spec::MeshSpec;
use shardc_ir::MAX_DEVICES;

use crate::error::{Here, KindResult};
use crate::{ErrorKind, GraphError};

/// Devices arranged along named axes, major to minor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh(shardc_ir::Mesh);

impl Mesh {
    /// Creates a mesh over devices `0..n` in order: the last axis varies fastest.
    ///
    /// # Errors
    /// An axis has no name, two axes have the same name, a size is below one, or the mesh has too many devices.
    #[track_caller]
    pub fn new(axes: &[(&str, i64)]) -> Result<Mesh, GraphError> {
        let mut devices = 1i64;
        for (i, &(name, size)) in axes.iter().enumerate() {
            if name.is_empty() {
                return Err(ErrorKind::Mesh(format!("axis {i} of the mesh has no name")).here());
            }
            if axes[..i].iter().any(|&(other, _)| other == name) {
                return Err(ErrorKind::Mesh(format!("the mesh has two axes named {name:?}")).here());
            }
            if size < 1 {
                return Err(ErrorKind::Mesh(format!(
                    "axis {name:?} of the mesh must have a size of at least 1, got {size}"
                ))
                .here());
            }
            devices = match devices.checked_mul(size) {
                Some(n) if n <= MAX_DEVICES => n,
                _ => {
                    return Err(
                        ErrorKind::Mesh(format!("the mesh has more than {MAX_DEVICES} devices")).here()
                    );
                }
            };
        }
        Ok(Mesh(shardc_ir::Mesh::new(axes.iter().copied())))
    }

    /// Creates a mesh over devices in the given order, row-major: the last axis varies fastest.
    ///
    /// # Errors
    /// The errors of [`Mesh::new`], and an error if the ids are not a permutation of `0..n`.
    #[track_caller]
    pub fn with_device_ids(axes: &[(&str, i64)], device_ids: &[i64]) -> Result<Mesh, GraphError> {
        let mut mesh = Mesh::new(axes)?;
        let mut sorted = device_ids.to_vec();
        sorted.sort_unstable();
        let devices = mesh.num_devices();
        if sorted.len() != devices || sorted.iter().enumerate().any(|(i, &id)| id != i as i64) {
            let message = format!("the device ids {device_ids:?} are not a permutation of 0..{devices}");
            return Err(ErrorKind::Mesh(message).here());
        }
        mesh.0.device_ids = Some(device_ids.to_vec());
        Ok(mesh)
    }

    /// Creates a mesh of one axis over devices `0..size` in order.
    ///
    /// # Errors
    /// The errors of [`Mesh::new`].
    #[track_caller]
    pub fn one_d(size: i64, name: &str) -> Result<Mesh, GraphError> {
        Mesh::new(&[(name, size)])
    }

    /// Creates a mesh over devices in the given order, with separate shape and axis names: the last axis varies fastest. If `names` is
    /// empty, axes are named by their indices, as in [`Mesh::unnamed`].
    ///
    /// ```
    /// let mesh = shardc_graph::Mesh::from_ids(&[3, 2, 1, 0], &[2, 2], &["data", "model"])?;
    /// assert_eq!((mesh.shape(), mesh.axis_size("model")), (vec![2, 2], Some(2)));
    /// # Ok::<(), shardc_graph::GraphError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Mesh::with_device_ids`], and an error if the number of names is not the number of axes.
    #[track_caller]
    pub fn from_ids(device_ids: &[i64], shape: &[i64], names: &[&str]) -> Result<Mesh, GraphError> {
        if names.is_empty() {
            return Mesh::with_device_ids(&with_names(shape, &numbers(shape)), device_ids);
        }
        if shape.len() != names.len() {
            let message =
                format!("the mesh shape {shape:?} needs one name per axis, got {}: {names:?}", names.len());
            return Err(ErrorKind::Mesh(message).here());
        }
        let axes: Vec<(&str, i64)> = names.iter().copied().zip(shape.iter().copied()).collect();
        Mesh::with_device_ids(&axes, device_ids)
    }

    /// Creates a mesh whose axes are named by their indices, from `0`.
    ///
    /// # Errors
    /// The errors of [`Mesh::new`].
    #[track_caller]
    pub fn unnamed(shape: &[i64]) -> Result<Mesh, GraphError> {
        Mesh::new(&with_names(shape, &numbers(shape)))
    }

    /// Creates a mesh over several slices of devices, with fast connections within a slice (ICI) and slow ones between slices (DCN). Axis
    /// `i` spans `dcn_shape[i]` slices with `ici_shape[i]` devices each (JAX's `create_hybrid_device_mesh`, PyTorch/XLA's `HybridMesh`).
    /// `slices` gives the slice index of each device.
    ///
    /// ```
    /// use shardc_graph::Mesh;
    ///
    /// // Two slices of four devices: axis "data" spans both slices, axis "model" stays within a slice.
    /// let mesh = Mesh::hybrid(&[2, 2], &[2, 1], &["data", "model"], &[0, 0, 0, 0, 1, 1, 1, 1])?;
    /// assert_eq!(mesh.shape(), [4, 2]);
    /// # Ok::<(), shardc_graph::GraphError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Mesh::from_ids`], and an error if the number of slices does not match `dcn_shape`, or if the number of devices in a
    /// slice does not match `ici_shape`.
    #[track_caller]
    pub fn hybrid(
        ici_shape: &[i64],
        dcn_shape: &[i64],
        names: &[&str],
        slices: &[i64],
    ) -> Result<Mesh, GraphError> {
        let (shape, ids) = side_by_side(ici_shape, dcn_shape, slices).here()?;
        Mesh::from_ids(&ids, &shape, names)
    }

    /// Returns the sizes of the axes, major to minor.
    #[must_use]
    pub fn shape(&self) -> Vec<i64> {
        self.0.axes.values().copied().collect()
    }

    /// Returns the number of devices along the axis of this name.
    #[must_use]
    pub fn axis_size(&self, name: &str) -> Option<i64> {
        self.0.axes.get(name).copied()
    }

    /// Returns the index of the axis of this name, major to minor.
    #[must_use]
    pub fn get_axis_index(&self, name: &str) -> Option<usize> {
        self.0.axes.get_index_of(name)
    }

    /// Returns the number of devices.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.0.num_devices()
    }

    /// Returns the names and sizes of the axes, major to minor.
    pub fn axes(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.axes.iter().map(|(name, &size)| (&**name, size))
    }

    pub(crate) fn from_ir(mesh: shardc_ir::Mesh) -> Mesh {
        Mesh(mesh)
    }

    /// Returns the mesh in the IR.
    #[must_use]
    pub fn as_ir(&self) -> &shardc_ir::Mesh {
        &self.0
    }
}

/// Parses `data=4,model=2`: axes with their sizes, major to minor.
impl FromStr for Mesh {
    type Err = GraphError;

    #[track_caller]
    fn from_str(text: &str) -> Result<Mesh, GraphError> {
        let spec = text.parse::<MeshSpec>().map_err(|error| ErrorKind::Mesh(error.to_string()).here())?;
        Ok(Mesh(spec.to_mesh()))
    }
}

/// Returns the shape and the device ids of a mesh of slices. Slices in the order of their indices form an array of shape `dcn_shape`; the
/// devices of a slice, in the order of their ids, form an array of shape `ici_shape`.
fn side_by_side(ici_shape: &[i64], dcn_shape: &[i64], slices: &[i64]) -> KindResult<(Vec<i64>, Vec<i64>)> {
    let wrong = |text: String| Err(ErrorKind::Mesh(text));
    if ici_shape.len() != dcn_shape.len() {
        return wrong(format!(
            "the ICI shape {ici_shape:?} and the DCN shape {dcn_shape:?} of a hybrid mesh must have the same rank"
        ));
    }
    if ici_shape.iter().chain(dcn_shape).any(|&size| size < 1) {
        return wrong(format!(
            "a hybrid mesh of ICI shape {ici_shape:?} and DCN shape {dcn_shape:?} has an axis of size 0"
        ));
    }
    let product =
        |shape: &[i64]| shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size)).unwrap_or(i64::MAX);
    let (in_slice, count) = (product(ici_shape), product(dcn_shape));
    let mut by_slice: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (device, &slice) in slices.iter().enumerate() {
        by_slice.entry(slice).or_default().push(device as i64);
    }
    let have = by_slice.len();
    if have as i64 != count {
        return wrong(format!("the DCN shape {dcn_shape:?} needs {count} slices, got {have}"));
    }
    if let Some((slice, devices)) = by_slice.iter().find(|(_, devices)| devices.len() as i64 != in_slice) {
        let have = devices.len();
        return wrong(format!(
            "the ICI shape {ici_shape:?} needs {in_slice} devices per slice, but slice {slice} has {have}"
        ));
    }
    let by_slice: Vec<Vec<i64>> = by_slice.into_values().collect();
    // Each product divides the length of the device list, so it cannot overflow.
    let shape: Vec<i64> = ici_shape.iter().zip(dcn_shape).map(|(ici, dcn)| ici * dcn).collect();
    let device_at = |position: i64| {
        let (mut rest, mut slice, mut within) = (position, 0, 0);
        let (mut of_slices, mut of_devices) = (1, 1);
        for ((&size, &ici), &dcn) in shape.iter().zip(ici_shape).zip(dcn_shape).rev() {
            let place = rest % size;
            rest /= size;
            slice += place / ici * of_slices;
            within += place % ici * of_devices;
            (of_slices, of_devices) = (of_slices * dcn, of_devices * ici);
        }
        by_slice[slice as usize][within as usize]
    };
    let ids = (0..slices.len() as i64).map(device_at).collect();
    Ok((shape, ids))
}

/// Returns names for unnamed axes: their indices.
fn numbers(shape: &[i64]) -> Vec<String> {
    (0..shape.len()).map(|axis| axis.to_string()).collect()
}

fn with_names<'n>(shape: &[i64], names: &'n [String]) -> Vec<(&'n str, i64)> {
    names.iter().map(String::as_str).zip(shape.iter().copied()).collect()
}
