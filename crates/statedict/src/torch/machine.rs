//! The pickle virtual machine, without opcodes that run code.

use std::collections::HashMap;
use std::sync::Arc;

use super::container::Container;
use super::globals::{Dialect, Global};
use super::nodes::{Id, Node, Nodes, Storage};
use super::{opcodes as op, rebuild};
use crate::error::{ErrorKind, Result, StateDictError};

/// The maximum number of objects of a pickle: far more than any model has.
const MOST_OBJECTS: usize = 4 << 20;
/// The protocol that `torch.save` writes by default.
const PROTOCOL: u8 = 2;
/// The newest protocol of metadata pickles.
const NEWEST_PROTOCOL: u8 = 5;
/// The maximum size of an integer in bytes.
const INTEGER: usize = 8;

/// Runs the pickle of a container; returns its objects and the index of the root.
pub(crate) fn run(container: &Container, dialect: Dialect) -> Result<(Nodes, Id)> {
    let mut machine = Machine {
        container,
        dialect,
        at: 0,
        nodes: Nodes(Vec::new()),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    let root = machine.run()?;
    Ok((machine.nodes, root))
}

struct Machine<'a> {
    container: &'a Container,
    dialect: Dialect,
    at: usize,
    nodes: Nodes,
    stack: Vec<Id>,
    /// The stack height at each mark.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl Machine<'_> {
    fn wrong(&self, text: impl Into<String>) -> StateDictError {
        let text = format!("the pickle is damaged at byte {}: {}", self.at, text.into());
        StateDictError::new(ErrorKind::Pickle, text)
    }

    fn refused(&self, text: String) -> StateDictError {
        StateDictError::new(ErrorKind::NotData, format!("unsupported pickle, at byte {}: {text}", self.at)).hint(
            "only dicts, lists, tuples, strings, numbers, None, dtypes, tensors and parameters are supported, and no code is run: save \
             state dicts, not modules",
        )
    }

    fn run(&mut self) -> Result<Id> {
        loop {
            let [opcode] = self.array()?;
            match opcode {
                op::PROTO => {
                    let [protocol] = self.array()?;
                    let is_known = match self.dialect {
                        Dialect::Tensors => protocol == PROTOCOL,
                        Dialect::Metadata => (PROTOCOL..=NEWEST_PROTOCOL).contains(&protocol),
                    };
                    if !is_known {
                        let error = self.wrong(format!("pickle protocol {protocol} is not supported"));
                        return Err(error.hint("save with pickle_protocol=2, the default of torch.save"));
                    }
                }
                op::STOP => return self.pop(),
                op::MARK => self.marks.push(self.stack.len()),
                op::NONE => self.push(Node::None)?,
                op::NEWTRUE => self.push(Node::Bool(true))?,
                op::NEWFALSE => self.push(Node::Bool(false))?,
                op::BININT => {
                    let number = i32::from_le_bytes(self.array()?);
                    self.push(Node::Int(number.into()))?;
                }
                op::BININT1 => {
                    let [number] = self.array()?;
                    self.push(Node::Int(number.into()))?;
                }
                op::BININT2 => {
                    let number = u16::from_le_bytes(self.array()?);
                    self.push(Node::Int(number.into()))?;
                }
                op::LONG1 => {
                    let [length] = self.array()?;
                    let bytes = self.take(length.into())?;
                    let number = integer(bytes);
                    let number = number.ok_or_else(|| self.wrong(format!("an integer of {length} bytes")))?;
                    self.push(Node::Int(number))?;
                }
                op::BINFLOAT => {
                    let number = f64::from_be_bytes(self.array()?);
                    self.push(Node::Float(number))?;
                }
                op::BINUNICODE => {
                    let length = u32::from_le_bytes(self.array()?);
                    let text = std::str::from_utf8(self.take(length as usize)?).map(Arc::from);
                    let text = text.map_err(|_| self.wrong("a string is not UTF-8"))?;
                    self.push(Node::Str(text))?;
                }
                op::EMPTY_LIST => self.push(Node::List(Vec::new()))?,
                op::EMPTY_TUPLE => self.push(Node::Tuple(Vec::new()))?,
                op::EMPTY_DICT => self.push(Node::Dict(Vec::new()))?,
                op::APPEND => {
                    let item = self.pop()?;
                    self.append(&[item])?;
                }
                op::APPENDS => {
                    let items = self.since_mark()?;
                    self.append(&items)?;
                }
                op::TUPLE => {
                    let items = self.since_mark()?;
                    self.push(Node::Tuple(items))?;
                }
                op::TUPLE1 => self.tuple(1)?,
                op::TUPLE2 => self.tuple(2)?,
                op::TUPLE3 => self.tuple(3)?,
                op::SETITEM => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.set_items(&[key, value])?;
                }
                op::SETITEMS => {
                    let items = self.since_mark()?;
                    self.set_items(&items)?;
                }
                op::BINPUT => {
                    let [key] = self.array()?;
                    self.put(key.into())?;
                }
                op::LONG_BINPUT => {
                    let key = u32::from_le_bytes(self.array()?);
                    self.put(key)?;
                }
                op::BINGET => {
                    let [key] = self.array()?;
                    self.recall(key.into())?;
                }
                op::LONG_BINGET => {
                    let key = u32::from_le_bytes(self.array()?);
                    self.recall(key)?;
                }
                op::GLOBAL => self.global()?,
                op::REDUCE => self.reduce()?,
                op::BUILD => self.build()?,
                op::BINPERSID => self.storage()?,
                other if self.dialect == Dialect::Metadata => self.of_metadata(other)?,
                other => return Err(self.refused(format!("the opcode {}", op::name(other)))),
            }
        }
    }

    /// Executes an opcode that occurs only in metadata pickles.
    fn of_metadata(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            // Skips the length of the frame, which is not needed.
            op::FRAME => self.array::<8>().map(drop),
            op::SHORT_BINUNICODE => {
                let [length] = self.array()?;
                let text = std::str::from_utf8(self.take(length.into())?).map(Arc::from);
                let text = text.map_err(|_| self.wrong("a string is not UTF-8"))?;
                self.push(Node::Str(text))
            }
            op::MEMOIZE => self.put(self.memo.len() as u32),
            op::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.nodes.get(module), self.nodes.get(name)) {
                    (Node::Str(module), Node::Str(name)) => {
                        let (module, name) = (module.clone(), name.clone());
                        self.named(&module, &name)
                    }
                    _ => Err(self.wrong("the name of a class is not a string")),
                }
            }
            op::NEWOBJ => {
                let (arguments, class) = (self.pop()?, self.pop()?);
                match *self.nodes.get(class) {
                    Node::Global(Global::Class(name)) => self.push(Node::Object(name, arguments)),
                    _ => Err(self.refused("an object of an unknown class".to_owned())),
                }
            }
            other => Err(self.refused(format!("the opcode {}", op::name(other)))),
        }
    }

    fn take(&mut self, length: usize) -> Result<&[u8]> {
        let Some(bytes) = self.container.pickle.get(self.at..).and_then(|rest| rest.get(..length)) else {
            return Err(self.wrong("unexpected end"));
        };
        self.at += length;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Reads an argument that is a line of text, and returns it without the line break.
    fn line(&mut self) -> Result<String> {
        let rest = self.container.pickle.get(self.at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(self.wrong("a name has no terminating newline"));
        };
        let line = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length + 1;
        Ok(line)
    }

    fn push(&mut self, node: Node) -> Result<()> {
        if self.nodes.count() >= MOST_OBJECTS {
            return Err(self.wrong(format!("the pickle has more than {MOST_OBJECTS} objects")));
        }
        self.stack.push(self.nodes.count() as Id);
        self.nodes.0.push(node);
        Ok(())
    }

    /// Pops the top object above the last mark.
    fn pop(&mut self) -> Result<Id> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.pop().filter(|_| self.stack.len() >= floor) {
            Some(id) => Ok(id),
            None => Err(self.wrong("the stack is empty")),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Id>> {
        let Some(mark) = self.marks.pop() else { return Err(self.wrong("there is no mark")) };
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    /// Returns the object on top of the stack, without popping it.
    fn top(&mut self) -> Result<Id> {
        let id = self.pop()?;
        self.stack.push(id);
        Ok(id)
    }

    fn top_node(&mut self) -> Result<&mut Node> {
        let id = self.top()?;
        let error = self.wrong("the stack is empty");
        self.nodes.0.get_mut(id as usize).ok_or(error)
    }

    fn tuple(&mut self, count: usize) -> Result<()> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<Id>>>()?;
        items.reverse();
        self.push(Node::Tuple(items))
    }

    fn append(&mut self, items: &[Id]) -> Result<()> {
        match self.top_node()? {
            Node::List(list) => {
                list.extend(items);
                Ok(())
            }
            _ => Err(self.wrong("append to an object that is not a list")),
        }
    }

    fn set_items(&mut self, items: &[Id]) -> Result<()> {
        if !items.len().is_multiple_of(2) {
            return Err(self.wrong("a dict has a key without a value"));
        }
        match self.top_node()? {
            Node::Dict(dict) => {
                dict.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
                Ok(())
            }
            _ => Err(self.wrong("item assignment to an object that is not a dict")),
        }
    }

    fn put(&mut self, key: u32) -> Result<()> {
        let top = self.top()?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<()> {
        match self.memo.get(&key) {
            Some(&id) => {
                self.stack.push(id);
                Ok(())
            }
            None => Err(self.wrong(format!("the memo has no entry {key}"))),
        }
    }

    fn global(&mut self) -> Result<()> {
        let (module, name) = (self.line()?, self.line()?);
        self.named(&module, &name)
    }

    fn named(&mut self, module: &str, name: &str) -> Result<()> {
        match Global::find(module, name, self.dialect) {
            Some(global) => self.push(Node::Global(global)),
            None => {
                Err(self.refused(format!("the global `{}.{}`", module.escape_debug(), name.escape_debug())))
            }
        }
    }

    /// Executes `REDUCE`: emulates the call of an allowed function.
    fn reduce(&mut self) -> Result<()> {
        let (arguments, callable) = (self.pop()?, self.pop()?);
        let Node::Global(callable) = *self.nodes.get(callable) else {
            return Err(self.refused("a call of an object that is not a function".to_owned()));
        };
        if let Global::Class(name) = callable {
            return self.push(Node::Object(name, arguments));
        }
        let Node::Tuple(arguments) = self.nodes.get(arguments) else {
            return Err(self.wrong("the arguments of a call are not a tuple"));
        };
        let arguments: Vec<&Node> = arguments.iter().map(|&id| self.nodes.get(id)).collect();
        let made = match callable {
            Global::OrderedDict if arguments.is_empty() => Node::Dict(Vec::new()),
            Global::Size => match arguments.as_slice() {
                [Node::Tuple(sizes) | Node::List(sizes)] => Node::Tuple(sizes.clone()),
                _ => return Err(self.wrong("the argument of torch.Size is not a tuple")),
            },
            Global::Tensor => {
                Node::Tensor(rebuild::tensor(&self.container.file, &self.nodes, &arguments, None)?)
            }
            Global::TypedTensor => match arguments.split_at_checked(6) {
                Some((first, [Node::Global(Global::DType(dtype)), rest @ ..])) => {
                    let arguments: Vec<&Node> = first.iter().chain(rest).copied().collect();
                    Node::Tensor(rebuild::tensor(
                        &self.container.file,
                        &self.nodes,
                        &arguments,
                        Some(*dtype),
                    )?)
                }
                _ => return Err(self.wrong("a tensor has no element type")),
            },
            Global::Parameter => match arguments.as_slice() {
                [tensor @ Node::Tensor(_), Node::Bool(_), Node::Dict(hooks)] if hooks.is_empty() => {
                    (*tensor).clone()
                }
                _ => return Err(self.wrong("a parameter has no tensor, or has hooks")),
            },
            Global::OrderedDict
            | Global::Storage(_)
            | Global::UntypedStorage
            | Global::DType(_)
            | Global::Class(_) => {
                return Err(self.refused(format!("a call of {callable:?}")));
            }
        };
        self.push(made)
    }

    /// Executes `BUILD`, which sets attributes. The only attribute of a module's `OrderedDict` is the version of its layout, which is
    /// ignored.
    fn build(&mut self) -> Result<()> {
        let attributes = self.pop()?;
        if let Node::Object(_, of_object) = self.top_node()? {
            *of_object = attributes;
            return Ok(());
        }
        if !matches!(self.nodes.get(attributes), Node::Dict(_)) {
            return Err(self.wrong("the attributes of an object are not a dict"));
        }
        match self.top_node()? {
            Node::Dict(_) => Ok(()),
            _ => Err(self.refused("attributes of an object that is not an OrderedDict".to_owned())),
        }
    }

    /// Pops a persistent id, ("storage", class, key, device, elements), and pushes the storage that it names.
    fn storage(&mut self) -> Result<()> {
        let id = self.pop()?;
        let Node::Tuple(items) = self.nodes.get(id) else {
            return Err(self.wrong("a persistent id is not a tuple"));
        };
        let items: Vec<&Node> = items.iter().map(|&id| self.nodes.get(id)).collect();
        let [Node::Str(word), Node::Global(class), Node::Str(key), Node::Str(_), Node::Int(elements)] =
            items.as_slice()
        else {
            return Err(self.wrong("a persistent id is not that of a storage"));
        };
        let dtype = match class {
            Global::Storage(dtype) => Some(*dtype),
            Global::UntypedStorage => None,
            _ => return Err(self.wrong("a storage has an unknown class")),
        };
        if &**word != "storage" {
            return Err(self.wrong(format!("an unknown persistent id {word:?}")));
        }
        let Some(&(start, have)) = self.container.storages.get(&**key) else {
            return Err(self.wrong(format!("the storage {key:?} is missing")));
        };
        let size = dtype.map_or(1, |dtype| dtype.bytes() as u64);
        let len = u64::try_from(*elements).ok().and_then(|n| n.checked_mul(size));
        let Some(len) = len.filter(|&len| len <= have) else {
            return Err(
                self.wrong(format!("the storage {key:?} of {elements} elements has only {have} bytes"))
            );
        };
        self.push(Node::Storage(Storage { dtype, start, len }))
    }
}

/// Decodes a little-endian integer in two's complement; `None` if it is longer than 64 bits.
fn integer(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > INTEGER {
        return None;
    }
    let is_negative = bytes.last().is_some_and(|&last| last >= 0x80);
    let mut all = [if is_negative { 0xff } else { 0 }; INTEGER];
    all[..bytes.len()].copy_from_slice(bytes);
    Some(i64::from_le_bytes(all))
}
