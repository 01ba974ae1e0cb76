//! The globals (functions and classes) that a pickle of plain data and tensors needs. A pickle with any other global is rejected.

use shardc_ir::DType;

use crate::dtypes;

/// The purpose of a pickle, which determines the allowed globals and opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `torch.save` of data with tensors.
    Tensors,
    /// The metadata of `torch.distributed.checkpoint`.
    Metadata,
}

/// The classes and functions of metadata. They are represented by names and attributes, and never called.
const CLASSES: &[(&str, &str)] = &[
    ("torch.distributed.checkpoint.metadata", "Metadata"),
    ("torch.distributed.checkpoint.metadata", "TensorStorageMetadata"),
    ("torch.distributed.checkpoint.metadata", "BytesStorageMetadata"),
    ("torch.distributed.checkpoint.metadata", "TensorProperties"),
    ("torch.distributed.checkpoint.metadata", "ChunkStorageMetadata"),
    ("torch.distributed.checkpoint.metadata", "MetadataIndex"),
    ("torch.distributed.checkpoint.metadata", "StorageMeta"),
    ("torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING"),
    ("torch.distributed._shard.sharded_tensor.metadata", "TensorProperties"),
    ("torch.distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("pathlib", "WindowsPath"),
    ("pathlib._local", "PosixPath"),
    ("pathlib._local", "WindowsPath"),
];

/// An allowed global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    /// `collections.OrderedDict`.
    OrderedDict,
    /// `torch.Size`.
    Size,
    /// `torch._utils._rebuild_tensor_v2`: storage, offset, size, strides, requires_grad, hooks, metadata.
    Tensor,
    /// `torch._utils._rebuild_tensor_v3`: the same arguments and an element type, over an untyped storage.
    TypedTensor,
    /// `torch._utils._rebuild_parameter`: tensor, requires_grad, hooks.
    Parameter,
    /// A storage class: `torch.FloatStorage`.
    Storage(DType),
    /// `torch.storage.UntypedStorage`.
    UntypedStorage,
    /// `torch.float32` and others.
    DType(DType),
    /// A class of metadata.
    Class(&'static str),
}

impl Global {
    pub(crate) fn find(module: &str, name: &str, dialect: Dialect) -> Option<Global> {
        if dialect == Dialect::Metadata
            && let Some((_, name)) = CLASSES.iter().find(|class| **class == (module, name))
        {
            return Some(Global::Class(name));
        }
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
