//! Tests of models, values, partitions and documents, in one test binary, because linking a binary takes seconds.

mod adapters;
mod dependencies;
mod engines;
mod generation_values;
mod graph_derivatives;
mod graph_values;
mod guide;
mod jax_conformance;
mod layer_values;
mod lora;
mod memory;
mod model_losses;
mod nn_values;
mod optim_values;
mod peft;
mod policies;
mod pretrained;
mod random_values;
mod roles;
mod sent;
mod shard_map;
mod shard_map_values;
mod shardy;
mod stable;
mod statedict_python;
mod units;
