//! Pickling plain data like `torch.save`.

use std::collections::HashMap;

use super::opcodes as op;
use super::value::Value;
use crate::dtypes;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use crate::gather;
use crate::tensor::Tensor;

/// A pickle, and the storages of its tensors, in the order of their keys.
pub(super) struct Pickle<'a> {
    pub(super) bytes: Vec<u8>,
    pub(super) storages: Vec<&'a Tensor>,
    /// Indices of storages by location: tensors that share a storage in the source file also share it in the written file.
    places: HashMap<(*const DataFile, u64, u64), usize>,
}

impl<'a> Pickle<'a> {
    pub(super) fn of(value: &'a Value) -> Result<Pickle<'a>> {
        let mut pickle = Pickle { bytes: vec![op::PROTO, 2], storages: Vec::new(), places: HashMap::new() };
        pickle.value(value)?;
        pickle.bytes.push(op::STOP);
        Ok(pickle)
    }

    fn value(&mut self, value: &'a Value) -> Result<()> {
        match value {
            Value::None => self.bytes.push(op::NONE),
            Value::Bool(is) => self.bytes.push(if *is { op::NEWTRUE } else { op::NEWFALSE }),
            Value::Int(number) => self.int(*number),
            Value::Float(number) => {
                self.bytes.push(op::BINFLOAT);
                self.bytes.extend(number.to_be_bytes());
            }
            Value::Str(text) => self.text(text)?,
            Value::List(items) => {
                self.bytes.extend([op::EMPTY_LIST, op::MARK]);
                items.iter().try_for_each(|item| self.value(item))?;
                self.bytes.push(op::APPENDS);
            }
            Value::Tuple(items) => {
                self.bytes.push(op::MARK);
                items.iter().try_for_each(|item| self.value(item))?;
                self.bytes.push(op::TUPLE);
            }
            Value::Dict(items) => {
                self.bytes.extend([op::EMPTY_DICT, op::MARK]);
                for (key, item) in items {
                    self.value(key)?;
                    self.value(item)?;
                }
                self.bytes.push(op::SETITEMS);
            }
            Value::DType(dtype) => {
                let name = dtypes::to_torch(*dtype);
                let name = name.ok_or_else(|| no_place(&format!("the element type {dtype}")))?;
                self.global("torch", name);
            }
            Value::Tensor(tensor) => self.tensor(tensor)?,
        }
        Ok(())
    }

    fn int(&mut self, number: i64) {
        match i32::try_from(number) {
            Ok(number) => {
                self.bytes.push(op::BININT);
                self.bytes.extend(number.to_le_bytes());
            }
            Err(_) => {
                self.bytes.extend([op::LONG1, 8]);
                self.bytes.extend(number.to_le_bytes());
            }
        }
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let length = u32::try_from(text.len()).map_err(|_| no_place("strings of 4 GiB or more"))?;
        self.bytes.push(op::BINUNICODE);
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(text.as_bytes());
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) {
        self.bytes.push(op::GLOBAL);
        self.bytes.extend(format!("{module}\n{name}\n").as_bytes());
    }

    fn ints(&mut self, numbers: impl Iterator<Item = u64>) {
        self.bytes.push(op::MARK);
        numbers.for_each(|number| self.int(number as i64));
        self.bytes.push(op::TUPLE);
    }

    fn tensor(&mut self, tensor: &'a Tensor) -> Result<()> {
        let (dtype, bytes) = (tensor.dtype(), tensor.byte_len());
        let name = dtypes::to_torch(dtype);
        let name = name.ok_or_else(|| no_place(&format!("a tensor of {dtype}")))?;
        let class = dtypes::to_storage(dtype);
        let (module, function) =
            ("torch._utils", if class.is_some() { "_rebuild_tensor_v2" } else { "_rebuild_tensor_v3" });
        self.global(module, function);
        self.bytes.extend([op::MARK, op::MARK]);
        self.text("storage")?;
        let elements = match class {
            Some(class) => {
                self.global("torch", class);
                bytes / dtype.bytes() as u64
            }
            None => {
                self.global("torch.storage", "UntypedStorage");
                bytes
            }
        };
        let key = self.storage(tensor);
        self.text(&key.to_string())?;
        self.text("cpu")?;
        self.int(elements as i64);
        self.bytes.extend([op::TUPLE, op::BINPERSID]);
        self.int(0);
        self.ints(tensor.shape().iter().map(|&size| size as u64));
        self.ints(gather::row_major(tensor.shape()).into_iter());
        self.bytes.push(op::NEWFALSE);
        self.global("collections", "OrderedDict");
        self.bytes.extend([op::EMPTY_TUPLE, op::REDUCE]);
        if class.is_none() {
            self.global("torch", name);
        }
        self.bytes.extend([op::TUPLE, op::REDUCE]);
        Ok(())
    }

    /// Returns the key of a tensor's storage, an index into the storages; adds the storage if it is new.
    fn storage(&mut self, tensor: &'a Tensor) -> usize {
        let next = self.storages.len();
        let key = match tensor.place() {
            Some((file, offset)) => *self.places.entry((file, offset, tensor.byte_len())).or_insert(next),
            None => next,
        };
        if key == next {
            self.storages.push(tensor);
        }
        key
    }
}

fn no_place(what: &str) -> StateDictError {
    StateDictError::new(ErrorKind::ElementType, format!("torch.save files do not support {what}"))
}
