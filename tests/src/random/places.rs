//! Operations at static positions: rolls, mirrored or repeated borders, updates, and slices and rows at constant indices.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list, ty};

impl Emitter {
    pub(super) fn at_known_places(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let dim = c.below(x.rank());
        match c.below(6) {
            0 | 1 => self.rolled(c, &x, dim),
            2 => self.with_borders(c, &x, dim),
            3 => self.window_set(c, &x),
            4 => self.rows_combined(c, &x),
            _ => self.constant_slice(c, &x),
        }
    }

    /// Slices the elements from `start` to `limit` along `dim`.
    fn range(&mut self, x: &Tensor, dim: usize, start: i64, limit: i64) -> Tensor {
        let bound = |(d, &n): (usize, &i64)| {
            if d == dim { format!("{start}:{limit}") } else { format!("0:{n}") }
        };
        let bounds = list(x.shape.iter().enumerate().map(bound));
        let mut shape = x.shape.clone();
        shape[dim] = limit - start;
        self.use_all(&[x]);
        let text = format!("stablehlo.slice {} [{bounds}] : ({})", x.name, x.ty());
        self.push(&text, " -> ", &shape, x.elem, x.exact)
    }

    fn joined(&mut self, parts: &[&Tensor], dim: usize) -> Option<()> {
        let first = parts.first()?;
        let mut shape = first.shape.clone();
        shape[dim] = parts.iter().map(|t| t.shape[dim]).sum();
        Self::fits(&shape).then_some(())?;
        let attributes = format!(", dim = {dim}");
        self.apply("stablehlo.concatenate", parts, &attributes, &shape, first.elem, first.exact);
        Some(())
    }

    /// Shifts elements along a dimension; elements that are shifted out reenter at the other end, or are replaced by zeros.
    fn rolled(&mut self, c: &mut Choices<'_>, x: &Tensor, dim: usize) -> Option<()> {
        let n = x.shape[dim];
        (n > 1).then_some(())?;
        let by = 1 + c.below(n as usize - 1) as i64;
        let rest = self.range(x, dim, by, n);
        let mut first = self.range(x, dim, 0, by);
        if c.one_in(3) {
            first = self.constant(x.elem.zero(), &first.shape, x.elem);
        }
        self.joined(&[&rest, &first], dim)
    }

    /// Pads a dimension with mirrored or repeated border elements, or with elements of the opposite end.
    fn with_borders(&mut self, c: &mut Choices<'_>, x: &Tensor, dim: usize) -> Option<()> {
        let n = x.shape[dim];
        let width = 1 + c.below((n as usize).min(4)) as i64;
        let how = c.below(3);
        let mut borders = Vec::new();
        for at_end in [false, true] {
            let start = if at_end == (how == 2) { 0 } else { n - width };
            let border = match how {
                0 | 2 => self.range(x, dim, start, start + width),
                _ => {
                    let at = if at_end { n - 1 } else { 0 };
                    let row = self.range(x, dim, at, at + 1);
                    let mut shape = x.shape.clone();
                    shape[dim] = width;
                    let attributes = format!(", dims = [{}]", list(0..x.rank()));
                    self.apply("stablehlo.broadcast_in_dim", &[&row], &attributes, &shape, x.elem, x.exact)
                }
            };
            borders.push(if how == 0 {
                self.use_all(&[&border]);
                let text = format!("stablehlo.reverse {}, dims = [{dim}]", border.name);
                self.push(&text, " : ", &border.shape, x.elem, x.exact)
            } else {
                border
            });
        }
        self.joined(&[&borders[0], x, &borders[1]], dim)
    }

    /// Overwrites a window at constant positions with elements of another tensor or of the same tensor, by `dynamic_update_slice` or by
    /// scatter.
    fn window_set(&mut self, c: &mut Choices<'_>, x: &Tensor) -> Option<()> {
        let is_part = |t: &Tensor| {
            t.elem == x.elem && t.rank() == x.rank() && t.shape.iter().zip(&x.shape).all(|(a, b)| a <= b)
        };
        let part = self.pick(c, is_part)?;
        let starts: Vec<i64> =
            (x.shape.iter().zip(&part.shape)).map(|(n, m)| c.below((n - m) as usize + 1) as i64).collect();
        if c.one_in(2) {
            let starts: Vec<Tensor> =
                starts.iter().map(|n| self.constant(&n.to_string(), &[], Elem::I32)).collect();
            let operands: Vec<&Tensor> = [x, &part].into_iter().chain(&starts).collect();
            let exact = x.exact && part.exact;
            self.apply("stablehlo.dynamic_update_slice", &operands, "", &x.shape, x.elem, exact);
            return Some(());
        }
        let dims = list(0..x.rank());
        let at = self.constant(&format!("[{}]", list(&starts)), &[x.rank() as i64], Elem::I32);
        let numbers = format!("update_window_dims = [{dims}], scatter_dims_to_operand_dims = [{dims}]");
        let name = if self.compares(x) { c.of(&["", "add", "subtract", "maximum"]) } else { "" };
        self.scattered(x, &at, part, &numbers, name)
    }

    /// Replaces rows at equal distances by other rows, or combines them.
    fn rows_combined(&mut self, c: &mut Choices<'_>, x: &Tensor) -> Option<()> {
        let is_rows = |t: &Tensor| {
            t.elem == x.elem
                && t.rank() == x.rank()
                && t.shape[1..] == x.shape[1..]
                && (t.shape[0] - 1) * 2 < x.shape[0]
        };
        let rows = self.pick(c, is_rows)?;
        let at: Vec<String> = (0..rows.shape[0]).map(|i| format!("[{}]", 2 * i)).collect();
        let at = self.constant(&format!("[{}]", at.join(", ")), &[rows.shape[0], 1], Elem::I32);
        let windows = list(1..x.rank());
        let numbers = format!(
            "update_window_dims = [{windows}], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
        );
        let name = if self.compares(x) { c.of(&["", "add", "multiply"]) } else { "" };
        self.scattered(x, &at, rows, &numbers, name)
    }

    /// Sets elements of `x`, or combines them with the operation `name`.
    fn scattered(
        &mut self,
        x: &Tensor,
        at: &Tensor,
        update: Tensor,
        numbers: &str,
        name: &str,
    ) -> Option<()> {
        // XLA's CPU back end reads updates while it scatters, even from the output buffer.
        let update = self.apart(update);
        let (n, scalar) = (self.fresh(), ty(&[], x.elem));
        let region = match name {
            "" => format!("  stablehlo.return %b{n} : {scalar}"),
            _ => format!(
                "  %c{n} = stablehlo.{name} %a{n}, %b{n} : {scalar}\n  stablehlo.return %c{n} : {scalar}"
            ),
        };
        self.use_all(&[x, &update]);
        let text = format!(
            "\"stablehlo.scatter\"({}, {}, {}) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, unique_indices = true}}> ({{\n^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n{region}\n}}) : ({}, {}, {})",
            x.name,
            at.name,
            update.name,
            x.ty(),
            at.ty(),
            update.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, x.exact && update.exact);
        Some(())
    }

    /// Emits a `dynamic_slice` at constant positions, or a gather of rows at equal distances.
    fn constant_slice(&mut self, c: &mut Choices<'_>, x: &Tensor) -> Option<()> {
        if c.one_in(2) {
            let sizes: Vec<i64> = x.shape.iter().map(|&n| 1 + c.below(n as usize) as i64).collect();
            let mut starts = Vec::new();
            for &n in &x.shape {
                let start = c.below(n as usize + 1);
                starts.push(self.constant(&start.to_string(), &[], Elem::I32));
            }
            let operands: Vec<&Tensor> = [x].into_iter().chain(&starts).collect();
            let attributes = format!(", sizes = [{}]", list(&sizes));
            self.apply("stablehlo.dynamic_slice", &operands, &attributes, &sizes, x.elem, x.exact);
            return Some(());
        }
        let n = x.shape[0];
        let (start, step) = (c.below(n as usize) as i64, c.of(&[1, 1, 2]));
        let len = 1 + c.below(((n - 1 - start) / step) as usize + 1) as i64;
        let at: Vec<String> = (0..len).map(|i| format!("[{}]", start + step * i)).collect();
        let at = self.constant(&format!("[{}]", at.join(", ")), &[len, 1], Elem::I32);
        let mut shape = x.shape.clone();
        shape[0] = len;
        self.use_all(&[x]);
        let text = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: {}>}}> : ({}, {})",
            x.name,
            at.name,
            list(1..x.rank()),
            list([1].iter().chain(&x.shape[1..])),
            x.ty(),
            at.ty()
        );
        self.push(&text, " -> ", &shape, x.elem, x.exact);
        Some(())
    }
}
