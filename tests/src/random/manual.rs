//! Manual computations. Outside of manual computations, each collective has only one device.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list, ty};
use super::placement::DEVICES;

/// The axis of a manual computation, and the dimension of its operand that the axis shards.
struct Split {
    axis: &'static str,
    /// The size of the axis.
    size: i64,
    dim: usize,
    /// Whether all axes are manual; otherwise only `axis` is manual.
    all: bool,
}

impl Split {
    /// Returns the sharding of a tensor of rank `rank`, whose dimension `dim`, if given, is sharded along the axis.
    fn sharding(&self, rank: usize, dim: Option<usize>) -> String {
        let open = if self.all { "" } else { "?" };
        let dims: Vec<String> = (0..rank)
            .map(|d| match (dim == Some(d), self.all) {
                (true, true) => format!("{{\"{}\"}}", self.axis),
                (true, false) => format!("{{\"{}\", ?}}", self.axis),
                (false, _) => format!("{{{open}}}"),
            })
            .collect();
        format!("<@mesh, [{}]>", dims.join(", "))
    }
}

impl Emitter {
    /// Emits a manual computation along one axis or all axes.
    pub(super) fn manual(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let axes: Vec<(&'static str, u32)> =
            self.mesh.axes().iter().copied().filter(|(_, size)| *size > 1).collect();
        let (axis, size) = c.of(&axes);
        let size = i64::from(size);
        let x = self
            .pick(c, |t| t.shape.iter().any(|n| n % size == 0) && (t.elem.is_int() || t.elem == Elem::F32))?;
        let y = self.pick(c, |t| t.elem == x.elem && t.shape == x.shape)?;
        let dims: Vec<usize> = (0..x.rank()).filter(|&d| x.shape[d] % size == 0).collect();
        let split = Split { axis, size, dim: c.of(&dims), all: c.one_in(2) };
        let n = self.fresh();
        let mut local = x.shape.clone();
        local[split.dim] /= size;
        let mut blocks = [(format!("%a{n}"), &x), (format!("%b{n}"), &y)].map(|(name, t)| Tensor {
            name,
            shape: local.clone(),
            ..t.clone()
        });
        let how = c.below(8);
        // The operand of a reduce-scatter is replicated.
        let whole = how == 5;
        if whole {
            blocks[1].shape.clone_from(&x.shape);
        }
        self.use_all(&[&x, &y]);
        let manual: Vec<String> = if split.all {
            self.mesh.axes().iter().map(|(name, _)| format!("\"{name}\"")).collect()
        } else {
            vec![format!("\"{axis}\"")]
        };
        let of_x = split.sharding(x.rank(), Some(split.dim));
        let of_y = split.sharding(x.rank(), (!whole).then_some(split.dim));
        // The header contains the sharding of the result, which the body determines, so the body is emitted first.
        let (body, result, dim) = self.apart_from_body(|e| e.manual_body(c, how, &split, &blocks))?;
        let mut shape = result.shape.clone();
        if let Some(dim) = dim {
            shape[dim] *= size;
        }
        let out = ty(&shape, result.elem);
        self.line(&format!(
            "%{n} = sdy.manual_computation({}, {}) in_shardings=[{of_x}, {of_y}] out_shardings=[{}] manual_axes={{{}}} ({}: {}, {}: {}) {{",
            x.name,
            y.name,
            split.sharding(shape.len(), dim),
            manual.join(", "),
            blocks[0].name,
            blocks[0].ty(),
            blocks[1].name,
            blocks[1].ty()
        ));
        self.append(&body);
        self.line(&format!(
            "  sdy.return {} : {}\n}} : ({}, {}) -> {out}",
            result.name,
            result.ty(),
            x.ty(),
            y.ty()
        ));
        self.scope.push(Tensor { name: format!("%{n}"), shape, elem: result.elem, exact: result.exact });
        Some(())
    }

    /// Writes the body. Returns its result, and the dimension along which the result is sharded.
    fn manual_body(
        &mut self,
        c: &mut Choices<'_>,
        how: usize,
        split: &Split,
        [a, b]: &[Tensor; 2],
    ) -> Option<(Tensor, Option<usize>)> {
        let groups = self.mesh.groups(split.axis);
        let text = |groups: &[Vec<usize>]| -> String {
            let rows: Vec<String> = groups.iter().map(|g| format!("[{}]", list(g))).collect();
            let width = groups.first().map_or(0, Vec::len);
            format!("dense<[{}]> : tensor<{}x{width}xi64>", rows.join(", "), groups.len())
        };
        let channel =
            format!("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>", self.fresh() + 1);
        let meeting = format!("{channel}, replica_groups = {}", text(&groups));
        let dim = split.dim;
        Some(match how {
            0 => {
                let sum = self.combine(c, a, b);
                (self.combine(c, &sum, a), Some(dim))
            }
            1 => {
                let attributes = format!("{meeting}, use_global_device_ids");
                (self.meet("all_reduce", a, &attributes, &a.shape, true), None)
            }
            2 => {
                let sum = self.combine(c, a, b);
                let mut shape = a.shape.clone();
                shape[dim] *= split.size;
                let attributes = format!("all_gather_dim = {dim} : i64, {meeting}, use_global_device_ids");
                (self.meet("all_gather", &sum, &attributes, &shape, false), None)
            }
            3 => {
                // The collective-permute is a cyclic shift, or a shift in which the first device receives nothing.
                let last = if c.one_in(2) { 1 } else { 0 };
                let pairs: Vec<Vec<usize>> = groups
                    .iter()
                    .flat_map(|g| (0..g.len() - last).map(|i| vec![g[i], g[(i + 1) % g.len()]]))
                    .collect();
                let attributes = format!("{channel}, source_target_pairs = {}", text(&pairs));
                let moved = self.meet("collective_permute", a, &attributes, &a.shape, false);
                (self.combine(c, &moved, b), Some(dim))
            }
            4 => {
                let splits: Vec<usize> = (0..a.rank()).filter(|&d| a.shape[d] % split.size == 0).collect();
                (!splits.is_empty()).then_some(())?;
                let to = c.of(&splits);
                let mut shape = a.shape.clone();
                shape[to] /= split.size;
                shape[dim] *= split.size;
                let attributes = format!(
                    "{channel}, concat_dimension = {dim} : i64, replica_groups = {}, split_count = {} : i64, split_dimension = {to} : i64",
                    text(&groups),
                    split.size
                );
                (self.meet("all_to_all", a, &attributes, &shape, false), Some(to))
            }
            5 => {
                let attributes = format!("{meeting}, scatter_dimension = {dim} : i64, use_global_device_ids");
                let part = self.meet("reduce_scatter", b, &attributes, &a.shape, true);
                (self.combine(c, &part, a), Some(dim))
            }
            6 => {
                let before = self.scope.len();
                self.scope.push(a.clone());
                let own = a.name.clone();
                let done = self.pool_of(c, |t| t.name == own);
                let result = self.scope.last().cloned();
                self.scope.truncate(before);
                done?;
                (result?, Some(dim))
            }
            _ => {
                // Devices with the same block must compute the same result.
                (split.size == DEVICES as i64 && a.elem.is_int()).then_some(())?;
                let number = self.push("stablehlo.partition_id", " : ", &[], Elem::UI32, true);
                let number = self.apply("stablehlo.convert", &[&number], "", &[], a.elem, true);
                let number = self.apply(
                    "stablehlo.broadcast_in_dim",
                    &[&number],
                    ", dims = []",
                    &a.shape,
                    a.elem,
                    true,
                );
                (self.combine(c, &number, a), Some(dim))
            }
        })
    }

    /// Emits a collective. If `adds`, the collective is a reduction with addition.
    fn meet(&mut self, name: &str, x: &Tensor, attributes: &str, shape: &[i64], adds: bool) -> Tensor {
        let n = self.fresh();
        let scalar = format!("tensor<{}>", x.elem.text());
        let region = if adds {
            format!(
                " ({{\n^bb0(%l{n}: {scalar}, %r{n}: {scalar}):\n  %s{n} = stablehlo.add %l{n}, %r{n} : {scalar}\n  stablehlo.return %s{n} : {scalar}\n}})"
            )
        } else {
            String::new()
        };
        self.use_all(&[x]);
        let text = format!("\"stablehlo.{name}\"({}) <{{{attributes}}}>{region} : ({})", x.name, x.ty());
        self.push(&text, " -> ", shape, x.elem, x.exact && (!adds || !x.elem.is_rounded()))
    }

    /// Emits a collective whose only group has one device.
    pub(super) fn alone(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && (t.elem.is_int() || t.elem == Elem::F32))?;
        let dim = c.below(x.rank());
        let groups = "replica_groups = dense<0> : tensor<1x1xi64>";
        let (name, attributes, adds) = match c.below(4) {
            0 => ("all_reduce", groups.to_owned(), true),
            1 => ("all_gather", format!("all_gather_dim = {dim} : i64, {groups}"), false),
            2 => ("reduce_scatter", format!("{groups}, scatter_dimension = {dim} : i64"), true),
            _ => {
                let attributes = format!(
                    "concat_dimension = {dim} : i64, {groups}, split_count = 1 : i64, split_dimension = {} : i64",
                    c.below(x.rank())
                );
                ("all_to_all", attributes, false)
            }
        };
        self.meet(name, &x, &attributes, &x.shape, adds);
        // The collective does not change the value.
        self.scope.last_mut()?.exact = x.exact;
        Some(())
    }
}
