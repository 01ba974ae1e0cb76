//! The functions and classes that plain data with tensors is made of; a pickle that names another one is refused.

use shardc_ir::DType;

use crate::dtypes;

/// What a pickle may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    /// `collections.OrderedDict`.
    OrderedDict,
    /// `torch.Size`.
    Size,
    /// `torch._utils._rebuild_tensor_v2`: storage, offset, size, strides, requires_grad, hooks, metadata.
    Tensor,
    /// `torch._utils._rebuild_tensor_v3`: the same, with an element type, over an untyped storage.
    TypedTensor,
    /// `torch._utils._rebuild_parameter`: tensor, requires_grad, hooks.
    Parameter,
    /// A class of storages: `torch.FloatStorage`.
    Storage(DType),
    /// `torch.storage.UntypedStorage`.
    UntypedStorage,
    /// `torch.float32` and others.
    DType(DType),
}

impl Global {
    pub(crate) fn find(module: &str, name: &str) -> Option<Global> {
        match (module, name) {
            ("collections", "OrderedDict") => Some(Global::OrderedDict),
            ("torch", "Size") => Some(Global::Size),
            ("torch._utils", "_rebuild_tensor_v2") => Some(Global::Tensor),
            ("torch._utils", "_rebuild_tensor_v3") => Some(Global::TypedTensor),
            ("torch._utils", "_rebuild_parameter") => Some(Global::Parameter),
            ("torch.storage", "UntypedStorage") => Some(Global::UntypedStorage),
            ("torch", name) => dtypes::from_storage(name)
                .map(Global::Storage)
                .or_else(|| dtypes::from_torch(name).map(Global::DType)),
            _ => None,
        }
    }
}
