//! The sources of arguments: `--load`, `--inputs`, and random values.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use shardc::checkpoint::{Checkpoint, Fit, Region, Tree, Wanted, restore_arrays};
use shardc::exec::{Port, Program};
use shardc::ir::DType;
use shardc::runtime::{ArrayType, BlockRequest, Client, HostArray, RuntimeError, ShardedArray};
use shardc::statedict::{self, StateDict, StateDictError, Tensor};
use shardc::{Error, Interface};
use shardc_passes::annotations::names::Names;

use super::files::{self, Parameters};
use super::misfit::Misfit;
use super::names::{Map, path, results};
use crate::args::{RunArgs, StateArgs};
use crate::checkpoints::{failure, open as open_checkpoint, options};
use crate::source::Source as Text;
use crate::state_dict;

/// A source named by `--load`.
pub(super) struct Source {
    place: String,
    content: Content,
}

enum Content {
    Dict(StateDict),
    Checkpoint(Box<Checkpoint>),
}

impl Source {
    /// The names, types and shapes of the arrays in the source.
    fn list(&self) -> Vec<(String, ArrayType)> {
        let of = |name: &str, dtype: DType, shape: &[usize]| {
            (name.to_owned(), ArrayType { dtype, shape: shape.to_vec() })
        };
        match &self.content {
            Content::Dict(dict) => {
                dict.iter().map(|(name, tensor)| of(name, tensor.dtype(), tensor.shape())).collect()
            }
            Content::Checkpoint(checkpoint) => {
                checkpoint.entries().map(|entry| of(&entry.name, entry.dtype, &entry.shape)).collect()
            }
        }
    }
}

/// Opens the sources of `--load`, and reads only their headers.
pub(super) fn open(args: &StateArgs) -> Result<Vec<Source>> {
    let options = options(&args.store.options)?;
    let source = |place: &String| {
        let file = Path::new(place);
        let content = match statedict::is_state_dict(file) {
            true => Content::Dict(statedict::open(file).map_err(state_dict::failure)?),
            false => {
                Content::Checkpoint(Box::new(open_checkpoint(place, &options, None, args.item.as_deref())?))
            }
        };
        Ok(Source { place: place.clone(), content })
    };
    args.load.iter().map(source).collect()
}

/// Arguments on the devices or on the host.
pub(super) struct Loaded<A> {
    pub(super) arrays: Vec<A>,
    /// The step of the first checkpoint that has one.
    pub(super) step: Option<u64>,
    /// The pytree of the first checkpoint that has one.
    pub(super) tree: Option<Tree>,
}

/// An error while arguments are loaded.
pub(super) enum Fault {
    /// An error of the library, which may refer to the text of the program.
    Library(Error),
    Other(anyhow::Error),
}

impl Fault {
    pub(super) fn explained(self, source: &Text) -> anyhow::Error {
        match self {
            Fault::Library(error) => source.explain(&error),
            Fault::Other(error) => error,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Library(error)
    }
}

impl From<RuntimeError> for Fault {
    fn from(error: RuntimeError) -> Fault {
        Fault::Library(error.into())
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Fault {
        Fault::Other(error)
    }
}

/// Creates each argument of a program: from `--inputs`, else from `--load`, else with random values. Each process reads only the blocks of
/// its devices.
pub(super) fn arguments(
    args: &RunArgs,
    sources: &[Source],
    interface: &Interface,
    client: &Client,
    program: &Program,
) -> Result<Loaded<ShardedArray>, Fault> {
    let ports = program.inputs();
    let placement = program.executable().placement();
    let parameters: Vec<_> = ports.iter().map(|port| (port.name.clone(), port.ty.clone())).collect();
    let given = given(args, interface, &parameters)?;
    let found = fitted(&args.state, sources, interface, &parameters, &given)?;
    let mut arrays: Vec<Option<ShardedArray>> = vec![None; ports.len()];
    for (number, source) in sources.iter().enumerate() {
        let wanted: Vec<(usize, String)> = found
            .iter()
            .filter(|(_, (of, _))| *of == number)
            .map(|(&argument, (_, name))| (argument, name.clone()))
            .collect();
        match &source.content {
            Content::Dict(dict) => {
                for (argument, name) in wanted {
                    let tensor = dict.get(&name).map_err(state_dict::failure)?;
                    arrays[argument] = Some(spread(tensor, client, program, &ports[argument])?);
                }
            }
            Content::Checkpoint(checkpoint) => {
                let targets: Vec<(String, &Port)> =
                    wanted.iter().map(|(argument, name)| (name.clone(), &ports[*argument])).collect();
                let read = restore_arrays(checkpoint, client, placement, &targets, &Fit::partial())?;
                for ((argument, _), array) in wanted.into_iter().zip(read) {
                    arrays[argument] = array;
                }
            }
        }
    }
    let mut all = Vec::with_capacity(ports.len());
    for (i, (port, array)) in ports.iter().zip(arrays).enumerate() {
        let (layout, seed) = (port.layout.clone(), args.device.seed.wrapping_add(i as u64));
        all.push(match (given.get(&i), array) {
            (Some(array), _) => ShardedArray::from_host(client, &*port.place(placement)?, layout, array)?,
            (None, Some(array)) => array,
            (None, None) => {
                let array = HostArray::random(seed, port.ty.dtype, &port.ty.shape)?;
                ShardedArray::from_host(client, &*port.place(placement)?, layout, &array)?
            }
        });
    }
    Ok(loaded(all, sources))
}

/// Creates each argument of a program on the host, as [`arguments`] does on devices.
pub(super) fn arguments_on_host(
    args: &RunArgs,
    sources: &[Source],
    interface: &Interface,
    parameters: &Parameters,
) -> Result<Loaded<HostArray>, Fault> {
    let given = given(args, interface, parameters)?;
    let found = fitted(&args.state, sources, interface, parameters, &given)?;
    let mut all = Vec::with_capacity(parameters.len());
    for (i, (_, ty)) in parameters.iter().enumerate() {
        let seed = args.device.seed.wrapping_add(i as u64);
        all.push(match (given.get(&i), found.get(&i)) {
            (Some(array), _) => array.clone(),
            (None, Some((number, name))) => read(&sources[*number], name, ty)?,
            (None, None) => HostArray::random(seed, ty.dtype, &ty.shape)?,
        });
    }
    Ok(loaded(all, sources))
}

/// Reads an array of a source.
fn read(source: &Source, name: &str, ty: &ArrayType) -> Result<HostArray, Fault> {
    let bytes = match &source.content {
        Content::Dict(dict) => dict.get(name).and_then(Tensor::read).map_err(state_dict::failure)?,
        Content::Checkpoint(checkpoint) => {
            let wanted = Wanted {
                name: name.to_owned(),
                dtype: ty.dtype,
                shape: ty.shape.clone(),
                regions: vec![Region::whole(&ty.shape)],
            };
            let mut bytes = Vec::new();
            let mut take = |_: usize, _: usize, elements: &mut Vec<u8>| {
                bytes = std::mem::take(elements);
                Ok(())
            };
            checkpoint.restore(&[wanted], &Fit::partial(), &mut take, None).map_err(failure)?;
            bytes
        }
    };
    Ok(HostArray::new(ty.dtype, &ty.shape, bytes)?)
}

/// The arrays of `--inputs`, by the index of the argument.
fn given(
    args: &RunArgs,
    interface: &Interface,
    parameters: &Parameters,
) -> Result<BTreeMap<usize, HostArray>> {
    match &args.inputs {
        Some(path) => files::load(path, &Names::of_interface(interface), parameters),
        None => Ok(BTreeMap::new()),
    }
}

/// The arguments, with the step and the pytree of their sources.
fn loaded<A>(arrays: Vec<A>, sources: &[Source]) -> Loaded<A> {
    let step = sources.iter().find_map(|source| match &source.content {
        Content::Checkpoint(checkpoint) => checkpoint.info().step,
        Content::Dict(_) => None,
    });
    let tree = sources.iter().find_map(|source| match &source.content {
        Content::Checkpoint(checkpoint) => checkpoint.tree().cloned(),
        Content::Dict(_) => None,
    });
    Loaded { arrays, step, tree }
}

/// Puts a tensor on the devices of an argument; each block is read separately.
fn spread(tensor: &Tensor, client: &Client, program: &Program, port: &Port) -> Result<ShardedArray, Fault> {
    let placement = port.place(program.executable().placement())?;
    let (placement, layout) = (&*placement, port.layout.clone());
    if layout.num_addends() > 1 {
        let bytes = tensor.read().map_err(state_dict::failure)?;
        let array = HostArray::new(port.ty.dtype, &port.ty.shape, bytes)?;
        return Ok(ShardedArray::from_host(client, placement, layout, &array)?);
    }
    let mut failed: Option<StateDictError> = None;
    let made =
        ShardedArray::from_callback(client, placement, layout, port.ty.dtype, |block: &BlockRequest| {
            // A block that contains only padding begins beyond the end of the tensor.
            let bounds: Vec<_> = block
                .offsets
                .iter()
                .zip(&block.extent)
                .zip(&port.ty.shape)
                .map(|((&from, &size), &end)| from.min(end)..from.min(end) + size)
                .collect();
            let bytes = tensor.read_slice(&bounds).map_err(|error| {
                let text = error.to_string();
                failed = Some(error);
                RuntimeError::Argument(text)
            })?;
            HostArray::new(port.ty.dtype, &block.extent, bytes)
        });
    match failed {
        Some(error) => Err(state_dict::failure(error).into()),
        None => Ok(made?),
    }
}

/// Finds the source of each argument, and the argument's name in that source. All mismatches are reported in one error (SH1309).
fn fitted(
    args: &StateArgs,
    sources: &[Source],
    interface: &Interface,
    parameters: &Parameters,
    given: &BTreeMap<usize, HostArray>,
) -> Result<BTreeMap<usize, (usize, String)>> {
    if sources.is_empty() {
        return Ok(BTreeMap::new());
    }
    let map = Map::new(&args.map)?;
    let mut there: BTreeMap<String, Vec<(usize, String, ArrayType)>> = BTreeMap::new();
    for (number, source) in sources.iter().enumerate() {
        for (name, ty) in source.list() {
            there.entry(path(&name)).or_default().push((number, name, ty));
        }
    }
    let place = |number: usize| sources[number].place.as_str();
    let mut found = BTreeMap::new();
    let mut used = BTreeSet::new();
    let mut misfit = Misfit::default();
    for (i, (name, ty)) in parameters.iter().enumerate() {
        let own = name.as_deref().map(path).filter(|name| !name.is_empty());
        let names: Vec<String> = own.into_iter().chain([format!("arg{i}")]).collect();
        let candidates = match names.iter().find_map(|name| map.of(name)) {
            Some(mapped) => vec![mapped],
            None => names.clone(),
        };
        let Some(name) = candidates.iter().find(|name| there.contains_key(*name)) else {
            if !given.contains_key(&i) && !args.random_missing {
                misfit.is_missing(&names[0], &candidates[0], ty);
            }
            continue;
        };
        used.insert(name.clone());
        if given.contains_key(&i) {
            continue;
        }
        match there[name].as_slice() {
            [(number, stored, there)] if there == ty => {
                found.insert(i, (*number, stored.clone()));
            }
            [(number, stored, there)] => {
                misfit.is_misshaped((stored, there, place(*number)), (&names[0], ty));
            }
            several => {
                let places: Vec<&str> = several.iter().map(|(number, ..)| place(*number)).collect();
                misfit.is_there_twice(name, &places);
            }
        }
    }
    for number in 0..sources.len() {
        if !used.iter().any(|name| there[name].iter().any(|(of, ..)| *of == number)) {
            misfit.is_of_no_use(place(number));
        }
    }
    if !args.ignore_unexpected {
        // A checkpoint that was saved by this command also contains results that are not arguments.
        let own: BTreeSet<String> = results(interface).into_iter().collect();
        let more = there.iter().filter(|(name, _)| !used.contains(*name) && !own.contains(*name));
        for (number, name, ty) in more.flat_map(|(_, all)| all) {
            misfit.is_unexpected(name, ty, place(*number));
        }
    }
    misfit.or(found)
}
