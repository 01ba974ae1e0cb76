//! Words for the codes of warnings.

/// The subject of the warnings of a partition with a code; empty for an unknown code.
pub(super) fn words(code: &str) -> &'static str {
    match code {
        "SH0310" => "all-gathers that no annotation requests",
        "SH0311" => "values for one device that are replicated",
        "SH0316" => "operations with side effects on every device",
        "SH0317" => "donations that have no effect",
        "SH0318" => "values that are replicated to change their sharding",
        "SH0349" => "requests of automatic sharding",
        "SH0361" => "composites that become calls",
        "SH0363" => "rules without effect",
        "SH0470" => "programs that need too much memory",
        "SH0803" => "sharding groups with different shardings",
        "SH0808" => "results that are resharded because a dimension is not divisible",
        "SH0909" => "sharded values that are replicated",
        "SH0913" => "programs of which no operation is partitioned",
        _ => "",
    }
}
