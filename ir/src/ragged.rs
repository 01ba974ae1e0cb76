//! `ragged_all_to_all`: a collective that StableHLO represents as a custom call.
//!
//! The operands are the rows to send, the initial result, and for each slice its input offset, send size, output offset and
//! receive size. The replica groups and the channel are in the call's `backend_config` (JAX's
//! `jax.lax.ragged_all_to_all`).

use std::borrow::Cow;

use crate::{Attr, AttrDict, Channel, CollectiveSpec, Op, OpKind, ReplicaGroups};

/// The target of the custom call.
pub const RAGGED_ALL_TO_ALL: &str = "ragged_all_to_all";

const CONFIGS: [&str; 2] = ["backend_config", "mhlo.backend_config"];
const GROUPS: &str = "replica_groups";
const CHANNEL: &str = "channel_id";

impl OpKind {
    /// Whether this is a call of `ragged_all_to_all`.
    #[must_use]
    pub fn is_ragged_all_to_all(&self) -> bool {
        matches!(self, OpKind::CustomCall(call) if &*call.target == RAGGED_ALL_TO_ALL)
    }
}

impl Op {
    /// Returns the replica groups and channel of a collective, including one that is a custom call; `None` for another
    /// operation, or for a call whose `backend_config` does not contain a matrix of device ids.
    #[must_use]
    pub fn collective_spec(&self) -> Option<Cow<'_, CollectiveSpec>> {
        match self.kind.collective() {
            Some(spec) => Some(Cow::Borrowed(spec)),
            None => self.ragged_all_to_all().map(Cow::Owned),
        }
    }

    /// Returns the name of a collective without its dialect (`all_gather`, `ragged_all_to_all`).
    #[must_use]
    pub fn collective_name(&self) -> &str {
        match &self.kind {
            kind if kind.is_ragged_all_to_all() => RAGGED_ALL_TO_ALL,
            kind => kind.name().trim_start_matches("stablehlo."),
        }
    }

    /// Returns the replica groups and channel of a call of `ragged_all_to_all`.
    #[must_use]
    pub fn ragged_all_to_all(&self) -> Option<CollectiveSpec> {
        let OpKind::CustomCall(call) = &self.kind else { return None };
        if &*call.target != RAGGED_ALL_TO_ALL || self.operands.len() != 6 || self.results.len() != 1 {
            return None;
        }
        let config = CONFIGS.iter().flat_map(|name| [call.props.get(name), self.attrs.get(name)]).flatten();
        let config = config.into_iter().find_map(|config| match config {
            Attr::Dict(config) => Some(config),
            _ => None,
        })?;
        let Attr::Raw(text) = config.get(GROUPS)? else { return None };
        let channel = match config.get(CHANNEL) {
            Some(&Attr::Int(handle, _)) => Some(Channel::between_devices(handle)),
            _ => None,
        };
        Some(CollectiveSpec { groups: matrix(text)?, channel, ..CollectiveSpec::default() })
    }

    /// Writes replica groups and channel into the `backend_config` of a call of `ragged_all_to_all`.
    pub fn set_ragged_all_to_all(&mut self, spec: &CollectiveSpec) {
        let OpKind::CustomCall(call) = &mut self.kind else { return };
        for dict in [&mut call.props, &mut self.attrs] {
            CONFIGS.iter().for_each(|name| write(dict, name, spec));
        }
    }
}

fn write(attrs: &mut AttrDict, name: &str, spec: &CollectiveSpec) {
    let Some(Attr::Dict(config)) = attrs.get(name) else { return };
    let mut config = config.clone();
    match spec.channel {
        Some(channel) => config.set(CHANNEL, Attr::Int(channel.handle, "i64".into())),
        None => {
            config.remove(CHANNEL);
        }
    }
    config.set(GROUPS, Attr::Raw(text(&spec.groups).into()));
    attrs.set(name, Attr::Dict(config));
}

fn text(groups: &ReplicaGroups) -> String {
    let rows: Vec<String> = groups
        .iter()
        .map(|group| {
            let ids: Vec<String> = group.iter().map(|id| id.to_string()).collect();
            format!("[{}]", ids.join(", "))
        })
        .collect();
    let width = groups.group_size().unwrap_or(0);
    format!("dense<[{}]> : tensor<{}x{width}xi64>", rows.join(", "), groups.len())
}

/// Parses `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`. The elements may also be a splat, or little-endian bytes in hexadecimal digits.
/// `None` if the elements do not fill the type.
fn matrix(text: &str) -> Option<ReplicaGroups> {
    let (elements, ty) = text.trim().strip_prefix("dense<")?.split_once("> : tensor<")?;
    let mut sizes = ty.trim_end_matches('>').split('x');
    let (rows, width): (usize, usize) = (sizes.next()?.parse().ok()?, sizes.next()?.parse().ok()?);
    let count = rows.checked_mul(width)?;
    if sizes.next()? != "i64" || count == 0 || count as i64 > crate::limits::MAX_DEVICES {
        return None;
    }
    let ids: Vec<i64> = if let Some(digits) = elements.strip_prefix("\"0x") {
        let digits = digits.strip_suffix('"')?.as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = digits.chunks(2).map(byte).collect::<Option<_>>()?;
        bytes.chunks(8).map(|id| Some(i64::from_le_bytes(id.try_into().ok()?))).collect::<Option<_>>()?
    } else {
        let numbers = elements.split([',', '[', ']']).map(str::trim).filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?
    };
    let ids = if let &[id] = ids.as_slice() { vec![id; count] } else { ids };
    (ids.len() == count).then(|| ReplicaGroups::matrix(ids, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_in_every_spelling_of_a_dense_attribute() {
        let lists = |text: &str| matrix(text).map(|groups| groups.to_lists());
        let two = Some(vec![vec![0, 1], vec![2, 3]]);
        assert_eq!(lists("dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"), two);
        let bytes =
            "dense<\"0x0000000000000000010000000000000002000000000000000300000000000000\"> : tensor<2x2xi64>";
        assert_eq!(lists(bytes), two);
        assert_eq!(lists("dense<0> : tensor<1x1xi64>"), Some(vec![vec![0]]));
        assert_eq!(lists("dense<[[0, 1]]> : tensor<2x2xi64>"), None);
        assert_eq!(lists("dense<[[0, 1]]> : tensor<99999999999x99999999999xi64>"), None);
        assert_eq!(
            text(&ReplicaGroups::matrix(vec![0, 1, 2, 3], 2)),
            "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"
        );
    }
}
