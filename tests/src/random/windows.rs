//! Windowed operations.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list, ty};

impl Emitter {
    /// Emits a convolution over one spatial dimension, as in a forward pass or as in the gradient of its kernel.
    pub(super) fn convolution(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let gradient = c.one_in(3);
        // The dimensions of input and kernel: batch and output feature (free), spatial, contracting.
        let (labels, input, kernel) = if gradient {
            ("[f, 0, b]x[i, 0, o]->[0, b, f]", [2, 1, 0], [2, 1, 0])
        } else {
            ("[b, 0, f]x[0, i, o]->[b, 0, f]", [0, 1, 2], [2, 0, 1])
        };
        let float = |t: &Tensor| t.rank() == 3 && t.elem == Elem::F32;
        let x = self.pick(c, float)?;
        let features = x.shape[input[2]];
        let k = self.pick(c, |t| float(t) && features % t.shape[kernel[2]] == 0)?;
        let groups = features / k.shape[kernel[2]];
        (k.shape[kernel[0]] % groups == 0).then_some(())?;
        let batches = if groups == 1 && c.one_in(4) { 2 } else { 1 };
        (x.shape[input[0]] % batches == 0 && k.shape[kernel[0]] % batches == 0).then_some(())?;
        let (low, high, stride) = (c.of(&[0, 1, 2, -1]), c.of(&[0, 1, -1, -2]), c.of(&[1, 1, 2, 3]));
        let (spread_x, spread_k) = (c.of(&[1, 1, 2, 3]), c.of(&[1, 1, 2, 3]));
        let reverse = c.one_in(3);
        let spread = |n: i64, by: i64| (n - 1) * by + 1;
        let room = spread(x.shape[input[1]], spread_x) + low + high - spread(k.shape[kernel[1]], spread_k);
        (room >= 0).then_some(())?;
        let (batch, windows, out) = (x.shape[input[0]] / batches, room / stride + 1, k.shape[kernel[0]]);
        let shape = if gradient { [windows, batch, out] } else { [batch, windows, out] };
        Self::fits(&shape).then_some(())?;
        self.use_all(&[&x, &k]);
        let text = format!(
            "stablehlo.convolution({}, {}) dim_numbers = {labels}, window = {{stride = [{stride}], pad = [[{low}, {high}]], lhs_dilate = [{spread_x}], rhs_dilate = [{spread_k}], reverse = [{reverse}]}} {{batch_group_count = {batches} : i64, feature_group_count = {groups} : i64}} : ({}, {})",
            x.name,
            k.name,
            x.ty(),
            k.ty()
        );
        self.push(&text, " -> ", &shape, Elem::F32, false);
        Some(())
    }

    /// Emits cumulative sums or maxima, as a window over all preceding elements.
    pub(super) fn cumulative(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x =
            self.pick(c, |t| t.rank() > 0 && (t.elem == Elem::I32 || self.floats && t.elem == Elem::F32))?;
        let dim = c.below(x.rank());
        let (name, init) = c.of(&[("add", "0"), ("maximum", "-2147483648"), ("maximum", "1"), ("add", "1")]);
        let (name, init) = match x.elem {
            Elem::F32 => c.of(&[
                ("add", "0.0"),
                ("maximum", x.elem.extremes()[0]),
                ("multiply", "1.0"),
                ("minimum", "0.5"),
            ]),
            _ => (name, init),
        };
        let scalar = format!("tensor<{}>", x.elem.text());
        let init = self.scalar(x.elem, init);
        let n = self.fresh();
        let window = list((0..x.rank()).map(|d| if d == dim { x.shape[d] } else { 1 }));
        let padding: Vec<String> =
            (0..x.rank()).map(|d| format!("[{}, 0]", if d == dim { x.shape[d] - 1 } else { 0 })).collect();
        self.use_all(&[&x]);
        let text = format!(
            "\"stablehlo.reduce_window\"({}, {}) <{{padding = dense<[{}]> : tensor<{}x2xi64>, window_dimensions = array<i64: {window}>}}> ({{\n^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n  %c{n} = stablehlo.{name} %a{n}, %b{n} : {scalar}\n  stablehlo.return %c{n} : {scalar}\n}}) : ({}, {scalar})",
            x.name,
            init.name,
            padding.join(", "),
            x.rank(),
            x.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, x.exact);
        Some(())
    }

    /// Emits the maximum or the sum of each window; windows may overlap.
    pub(super) fn pool(&mut self, c: &mut Choices<'_>) -> Option<()> {
        self.pool_of(c, |_| true)
    }

    /// Draws a pooling operation on a tensor that satisfies `fits`.
    pub(super) fn pool_of(&mut self, c: &mut Choices<'_>, fits: impl Fn(&Tensor) -> bool) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && (t.elem.is_int() || t.elem == Elem::F32) && fits(t))?;
        let dim = c.below(x.rank());
        let zero = if x.elem == Elem::F32 { "0.0" } else { "0" };
        let (name, init, exact) =
            c.of(&[("maximum", x.elem.extremes()[0], true), ("add", zero, x.elem != Elem::F32)]);
        let (name, init, exact) = match self.floats && x.elem == Elem::F32 && c.one_in(3) {
            true => ("multiply", "1.0", false),
            false => (name, init, exact),
        };
        // In one of four cases, the initial value is not the identity of the reduction.
        let one = if x.elem == Elem::F32 { "1.0" } else { "1" };
        let init = if c.one_in(4) { one } else { init };
        let (window, stride, low, high) =
            (c.of(&[2, 3]), c.of(&[2, 1, 3]), c.of(&[0, 1, -1]), c.of(&[0, 1, -1]));
        let (spread_x, spread) = (c.of(&[1, 1, 2, 3]), c.of(&[1, 1, 2]));
        let room = (x.shape[dim] - 1) * spread_x + 1 + low + high - ((window - 1) * spread + 1);
        (room >= 0).then_some(())?;
        let mut shape = x.shape.clone();
        shape[dim] = room / stride + 1;
        let init = self.scalar(x.elem, init);
        let n = self.fresh();
        let only = |v: i64| list((0..x.rank()).map(|d| if d == dim { v } else { 1 }));
        let padding: Vec<String> = (0..x.rank())
            .map(|d| if d == dim { format!("[{low}, {high}]") } else { "[0, 0]".to_owned() })
            .collect();
        let scalar = init.ty();
        self.use_all(&[&x]);
        let text = format!(
            "\"stablehlo.reduce_window\"({}, {}) <{{base_dilations = array<i64: {}>, padding = dense<[{}]> : tensor<{}x2xi64>, window_dilations = array<i64: {}>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{\n^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n  %c{n} = stablehlo.{name} %a{n}, %b{n} : {scalar}\n  stablehlo.return %c{n} : {scalar}\n}}) : ({}, {scalar})",
            x.name,
            init.name,
            only(spread_x),
            padding.join(", "),
            x.rank(),
            only(spread),
            only(window),
            only(stride),
            x.ty()
        );
        Self::fits(&shape).then_some(())?;
        self.push(&text, " -> ", &shape, x.elem, exact && x.exact);
        Some(())
    }

    /// Emits a `select_and_scatter`: the gradient of the maximum or minimum of each window. It is generated for integers, so that equal
    /// elements cannot be distinguished.
    pub(super) fn pool_gradient(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && self.compares(t))?;
        let dim = c.below(x.rank());
        let (window, stride) = (c.of(&[2, 3, 1]), c.of(&[2, 1, 3]));
        let room = x.shape[dim] - window;
        (room >= 0).then_some(())?;
        let mut shape = x.shape.clone();
        shape[dim] = room / stride + 1;
        let known = self.pick(c, |t| t.shape == shape && t.elem == x.elem);
        let source = known.unwrap_or_else(|| {
            let limits: Vec<String> = shape.iter().map(|n| format!("0:{n}")).collect();
            let text = format!("stablehlo.slice {} [{}] : ({})", x.name, limits.join(", "), x.ty());
            self.push(&text, " -> ", &shape, x.elem, true)
        });
        let init = self.scalar(x.elem, if x.elem == Elem::F32 { "1.0" } else { "1" });
        let (how, order) = (c.of(&["GE", "LE"]), x.elem.order());
        let only = |v: i64| list((0..x.rank()).map(|d| if d == dim { v } else { 1 }));
        let n = self.fresh();
        let scalar = init.ty();
        self.use_all(&[&x, &source]);
        let text = format!(
            "\"stablehlo.select_and_scatter\"({}, {}, {}) <{{window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{\n^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n  %c{n} = stablehlo.compare {how}, %a{n}, %b{n}, {order} : ({scalar}, {scalar}) -> tensor<i1>\n  stablehlo.return %c{n} : tensor<i1>\n}}, {{\n^bb0(%d{n}: {scalar}, %e{n}: {scalar}):\n  %f{n} = stablehlo.add %d{n}, %e{n} : {scalar}\n  stablehlo.return %f{n} : {scalar}\n}}) : ({}, {}, {scalar})",
            x.name,
            source.name,
            init.name,
            only(window),
            only(stride),
            x.ty(),
            source.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, x.exact);
        Some(())
    }

    /// Emits an operation whose windows cross shard borders, with a sharded operand and a sharded result.
    pub(super) fn windowed(&mut self, c: &mut Choices<'_>) -> Option<()> {
        self.constraint(c)?;
        let before = self.scope.len();
        match c.below(8) {
            0 => self.slice(c),
            1 => self.pad(c),
            2 => self.concatenate(c),
            3 => self.reverse(c),
            4 => self.pool(c),
            5 => self.pool_gradient(c),
            _ => self.convolution(c),
        };
        if self.scope.len() > before { self.constraint(c) } else { None }
    }

    /// Emits a variadic `reduce_window`: sums of one tensor and maxima of another.
    pub(super) fn pool_two(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && self.compares(t))?;
        let y = self.pick(c, |t| t.shape == x.shape && (t.elem.is_int() || t.elem == Elem::F32))?;
        let dim = c.below(x.rank());
        let (window, stride, low, spread) = (c.of(&[2, 3]), c.of(&[1, 2]), c.of(&[0, 1]), c.of(&[1, 2]));
        let room = x.shape[dim] + low - ((window - 1) * spread + 1);
        (room >= 0).then_some(())?;
        let mut shape = x.shape.clone();
        shape[dim] = room / stride + 1;
        let (zero, least) = (self.scalar(x.elem, x.elem.zero()), self.scalar(y.elem, y.elem.extremes()[0]));
        let n = self.fresh();
        let only = |v: i64| list((0..x.rank()).map(|d| if d == dim { v } else { 1 }));
        let padding: Vec<String> =
            (0..x.rank()).map(|d| format!("[{}, 0]", if d == dim { low } else { 0 })).collect();
        let (a, b) = (zero.ty(), least.ty());
        self.use_all(&[&x, &y]);
        self.line(&format!(
            "%{n}:2 = \"stablehlo.reduce_window\"({}, {}, {}, {}) <{{padding = dense<[{}]> : tensor<{}x2xi64>, window_dilations = array<i64: {}>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{\n^bb0(%a{n}: {a}, %b{n}: {b}, %c{n}: {a}, %d{n}: {b}):\n  %e{n} = stablehlo.add %a{n}, %c{n} : {a}\n  %f{n} = stablehlo.maximum %b{n}, %d{n} : {b}\n  stablehlo.return %e{n}, %f{n} : {a}, {b}\n}}) : ({}, {}, {a}, {b}) -> ({}, {})",
            x.name,
            y.name,
            zero.name,
            least.name,
            padding.join(", "),
            x.rank(),
            only(spread),
            only(window),
            only(stride),
            x.ty(),
            y.ty(),
            ty(&shape, x.elem),
            ty(&shape, y.elem)
        ));
        self.scope.push(Tensor { name: format!("%{n}#0"), shape: shape.clone(), ..x });
        self.scope.push(Tensor { name: format!("%{n}#1"), shape, ..y });
        Some(())
    }
}
