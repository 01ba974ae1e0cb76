//! Device meshes, checked when they are made.

use shardc_ir::MAX_DEVICES;

use crate::{ErrorKind, GraphError};

/// Devices arranged along named axes, major to minor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh(shardc_ir::Mesh);

impl Mesh {
    /// A mesh over devices `0..n` in order: the last axis runs fastest.
    ///
    /// # Errors
    /// An axis without name, two of one name, or a size below one.
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
                return Err(ErrorKind::Mesh(format!("axis {name:?} of the mesh has size {size}")).here());
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

    /// A mesh over devices in the given order, row-major: the last axis runs fastest.
    ///
    /// # Errors
    /// Those of [`Mesh::new`]; or the ids are not a permutation of `0..n`.
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

    /// Number of devices.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.0.num_devices()
    }

    /// Names and sizes of the axes, major to minor.
    pub fn axes(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.axes.iter().map(|(name, &size)| (&**name, size))
    }

    pub(crate) fn from_ir(mesh: shardc_ir::Mesh) -> Mesh {
        Mesh(mesh)
    }

    /// The mesh as the compiler knows it.
    #[must_use]
    pub fn as_ir(&self) -> &shardc_ir::Mesh {
        &self.0
    }
}
