//! Operations other than gather and scatter.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list, ty};

/// Bounds on what a random loop body holds.
const DEEPEST: usize = 1;

impl Emitter {
    /// Adds the operation that the numbers ask for, if it can be.
    pub(crate) fn op(&mut self, c: &mut Choices<'_>) {
        self.op_at(c, 0);
    }

    fn op_at(&mut self, c: &mut Choices<'_>, depth: usize) -> Option<()> {
        match c.below(46) {
            0 => self.unary(c),
            1 | 2 => self.binary(c),
            3 | 4 => self.broadcast(c),
            5 => self.transpose(c),
            6..=8 => self.reshape(c),
            9..=11 => self.dot(c),
            12..=14 => self.reduce(c),
            15 => self.slice(c),
            16 => self.pad(c),
            17 => self.concatenate(c),
            18 => self.reverse(c),
            19 => self.iota(c),
            20 => self.gather(c),
            21 => self.gather_batched(c),
            22 => self.gather_pairs(c),
            23 | 24 => self.scatter(c),
            25 => self.dynamic_slice(c),
            26 => self.dynamic_update_slice(c),
            27 => self.select(c),
            28 => self.convert(c),
            29 => self.convolution(c),
            30 => self.sort(c),
            31 => self.cumulative(c),
            32 | 33 => self.constraint(c),
            34 => self.arg_reduce(c),
            35 | 36 => self.pool(c),
            37 => self.case(c),
            38 => self.sort_pairs(c),
            39 => self.scatter_pairs(c),
            40 => self.convolution(c),
            41 | 42 => self.pool_gradient(c),
            43 => self.windowed(c),
            _ if depth < DEEPEST => self.while_loop(c, depth),
            _ => self.constraint(c),
        }
    }

    fn unary(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |_| true)?;
        let (name, exact) = match x.elem {
            Elem::F32 => c.of(&[
                ("negate", true),
                ("abs", true),
                ("tanh", false),
                ("cosine", false),
                ("logistic", false),
            ]),
            Elem::I32 | Elem::I8 => c.of(&[("negate", true), ("abs", true), ("not", true)]),
            Elem::UI32 => c.of(&[("negate", true), ("not", true)]),
            Elem::I1 => ("not", true),
        };
        self.use_all(&[&x]);
        self.push(&format!("stablehlo.{name} {}", x.name), " : ", &x.shape, x.elem, x.exact && exact);
        Some(())
    }

    fn binary(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |_| true)?;
        let y = self.pick(c, |t| t.shape == x.shape && t.elem == x.elem)?;
        self.combine(c, &x, &y);
        Some(())
    }

    /// An elementwise operation on two tensors of one type.
    fn combine(&mut self, c: &mut Choices<'_>, x: &Tensor, y: &Tensor) -> Tensor {
        let (name, exact) = match x.elem {
            Elem::F32 => c.of(&[
                ("add", false),
                ("multiply", false),
                ("subtract", false),
                ("maximum", true),
                ("minimum", true),
            ]),
            Elem::I32 | Elem::I8 | Elem::UI32 => c.of(&[
                ("add", true),
                ("multiply", true),
                ("subtract", true),
                ("maximum", true),
                ("minimum", true),
                ("xor", true),
            ]),
            Elem::I1 => c.of(&[("and", true), ("or", true), ("xor", true)]),
        };
        self.use_all(&[x, y]);
        let text = format!("stablehlo.{name} {}, {}", x.name, y.name);
        self.push(&text, " : ", &x.shape, x.elem, exact && x.exact && y.exact)
    }

    fn broadcast(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() < 3)?;
        let mut shape = x.shape.clone();
        let mut dims: Vec<usize> = (0..x.rank()).collect();
        for _ in 0..=c.below(2) {
            let at = c.below(shape.len() + 1);
            let size = self.pick(c, |t| t.rank() > 0).map_or(3, |t| t.shape[0]);
            shape.insert(at, size);
            for d in dims.iter_mut().filter(|d| **d >= at) {
                *d += 1;
            }
        }
        // A dimension of size one repeats.
        if let Some(one) = (0..x.rank()).find(|&d| x.shape[d] == 1) {
            shape[dims[one]] = 6;
        }
        Self::fits(&shape).then_some(())?;
        let attributes = format!(", dims = [{}]", list(&dims));
        self.apply("stablehlo.broadcast_in_dim", &[&x], &attributes, &shape, x.elem, x.exact);
        Some(())
    }

    fn transpose(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 1)?;
        let mut left: Vec<usize> = (0..x.rank()).rev().collect();
        let order: Vec<usize> = (0..x.rank()).map(|_| left.remove(c.below(left.len()))).collect();
        let shape: Vec<i64> = order.iter().map(|&d| x.shape[d]).collect();
        let attributes = format!(", dims = [{}]", list(&order));
        self.apply("stablehlo.transpose", &[&x], &attributes, &shape, x.elem, x.exact);
        Some(())
    }

    /// Merges dimensions, splits one, or both at once.
    fn reshape(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let mut shape = x.shape.clone();
        let how = c.below(4);
        if how != 1 && shape.len() > 1 {
            let at = c.below(shape.len() - 1);
            let n = shape.remove(at + 1);
            shape[at] *= n;
        }
        if how != 0 {
            let at = c.below(shape.len());
            let n = shape[at];
            let divisors: Vec<i64> = (1..=n).filter(|d| n % d == 0 && (*d > 1 || how == 3)).collect();
            if !divisors.is_empty() {
                let d = c.of(&divisors);
                shape[at] = n / d;
                shape.insert(at + 1, d);
            }
        }
        Self::fits(&shape).then_some(())?;
        self.apply("stablehlo.reshape", &[&x], "", &shape, x.elem, x.exact);
        Some(())
    }

    fn dot(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem != Elem::I1)?;
        let y = self.pick(c, |t| {
            t.elem == x.elem && t.shape.iter().any(|n| x.shape.contains(n)) && t.rank() + x.rank() <= 7
        })?;
        let pairs: Vec<(usize, usize)> = (0..x.rank())
            .flat_map(|i| (0..y.rank()).map(move |j| (i, j)))
            .filter(|&(i, j)| x.shape[i] == y.shape[j])
            .collect();
        let mut batch: Vec<(usize, usize)> = Vec::new();
        let mut contract: Vec<(usize, usize)> = Vec::new();
        for _ in 0..3 {
            let pair = c.of(&pairs);
            let taken = |p: &&(usize, usize)| p.0 == pair.0 || p.1 == pair.1;
            if batch.iter().chain(&contract).any(|p| taken(&p)) {
                continue;
            }
            if c.below(5) < 3 { contract.push(pair) } else { batch.push(pair) }
        }
        let free = |side: &Tensor, own: fn(&(usize, usize)) -> usize| -> Vec<i64> {
            let taken: Vec<usize> = batch.iter().chain(&contract).map(own).collect();
            (0..side.rank()).filter(|d| !taken.contains(d)).map(|d| side.shape[d]).collect()
        };
        let mut shape: Vec<i64> = batch.iter().map(|p| x.shape[p.0]).collect();
        shape.extend(free(&x, |p| p.0));
        shape.extend(free(&y, |p| p.1));
        Self::fits(&shape).then_some(())?;
        let mut attributes = String::new();
        for (name, pairs) in [("batching_dims", &batch), ("contracting_dims", &contract)] {
            if !pairs.is_empty() || name == "contracting_dims" {
                let (l, r) = (list(pairs.iter().map(|p| p.0)), list(pairs.iter().map(|p| p.1)));
                attributes += &format!(", {name} = [{l}] x [{r}]");
            }
        }
        let exact = x.elem.is_int() && x.exact && y.exact;
        self.apply("stablehlo.dot_general", &[&x, &y], &attributes, &shape, x.elem, exact);
        Some(())
    }

    fn reduce(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let mask = 1 + c.below((1 << x.rank()) - 1);
        let dims: Vec<usize> = (0..x.rank()).filter(|d| mask >> d & 1 == 1).collect();
        let shape: Vec<i64> = (0..x.rank()).filter(|d| !dims.contains(d)).map(|d| x.shape[d]).collect();
        // StableHLO asks for an identity; XLA may leave out an initial value, or count it more than once.
        let [least, most] = x.elem.extremes();
        let (name, init, exact) = match x.elem {
            Elem::F32 => c.of(&[
                ("add", "0.0", false),
                ("maximum", least, true),
                ("minimum", most, true),
                ("multiply", "1.0", false),
            ]),
            Elem::I32 | Elem::I8 | Elem::UI32 => c.of(&[
                ("add", "0", true),
                ("maximum", least, true),
                ("minimum", most, true),
                ("multiply", "1", true),
                ("and", if x.elem == Elem::UI32 { most } else { "-1" }, true),
                ("or", "0", true),
                ("xor", "0", true),
            ]),
            Elem::I1 => c.of(&[("and", "true", true), ("or", "false", true), ("xor", "false", true)]),
        };
        let init = self.scalar(x.elem, init);
        self.use_all(&[&x]);
        let text = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{name} across dimensions = [{}] : ({}, {})",
            x.name,
            init.name,
            list(&dims),
            x.ty(),
            init.ty()
        );
        self.push(&text, " -> ", &shape, x.elem, exact && x.exact);
        Some(())
    }

    /// The largest element and its place, as a reduction of two tensors.
    fn arg_reduce(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem == Elem::I32 && t.exact)?;
        let dim = c.below(x.rank());
        let mut shape = x.shape.clone();
        shape.remove(dim);
        let places = self.push(&format!("stablehlo.iota dim = {dim}"), " : ", &x.shape, Elem::I32, true);
        let least = self.scalar(Elem::I32, "-2147483648");
        let zero = self.scalar(Elem::I32, "0");
        let n = self.fresh();
        self.use_all(&[&x, &places]);
        self.line(&format!(
            "%{n}:2 = stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{dim}] : ({}, {}, tensor<i32>, tensor<i32>) -> ({}, {})\n reducer(%a{n}: tensor<i32>, %b{n}: tensor<i32>) (%c{n}: tensor<i32>, %d{n}: tensor<i32>) {{\n  %e{n} = stablehlo.compare GT, %a{n}, %b{n}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  %f{n} = stablehlo.compare EQ, %a{n}, %b{n}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  %g{n} = stablehlo.compare LT, %c{n}, %d{n}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  %h{n} = stablehlo.and %f{n}, %g{n} : tensor<i1>\n  %i{n} = stablehlo.or %e{n}, %h{n} : tensor<i1>\n  %j{n} = stablehlo.select %e{n}, %a{n}, %b{n} : tensor<i1>, tensor<i32>\n  %k{n} = stablehlo.select %i{n}, %c{n}, %d{n} : tensor<i1>, tensor<i32>\n  stablehlo.return %j{n}, %k{n} : tensor<i32>, tensor<i32>\n }}",
            x.name, least.name, places.name, zero.name, x.ty(), x.ty(), ty(&shape, Elem::I32), ty(&shape, Elem::I32)
        ));
        for i in 0..2 {
            let name = format!("%{n}#{i}");
            self.scope.push(Tensor { name, shape: shape.clone(), elem: Elem::I32, exact: true });
        }
        Some(())
    }

    fn slice(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let cut = c.below(x.rank() + 1);
        let mut bounds = Vec::new();
        let mut shape = Vec::new();
        for (d, &n) in x.shape.iter().enumerate() {
            let (start, stop, step) = if d == cut || cut == x.rank() {
                let start = c.below(n as usize) as i64;
                (start, start + 1 + c.below((n - start) as usize) as i64, c.of(&[1, 1, 2, 3]))
            } else {
                (0, n, 1)
            };
            bounds.push(if step == 1 { format!("{start}:{stop}") } else { format!("{start}:{stop}:{step}") });
            shape.push((stop - start + step - 1) / step);
        }
        self.use_all(&[&x]);
        let text = format!("stablehlo.slice {} [{}] : ({})", x.name, bounds.join(", "), x.ty());
        self.push(&text, " -> ", &shape, x.elem, x.exact);
        Some(())
    }

    fn pad(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let at = c.below(x.rank());
        let value = match x.elem {
            Elem::F32 => "1.5",
            Elem::I32 | Elem::I8 | Elem::UI32 => "7",
            Elem::I1 => "true",
        };
        let value = self.scalar(x.elem, value);
        let (low, high, interior) = (c.of(&[0, 1, 2, -1, -4]), c.of(&[0, 1, 3, -1, -4]), c.of(&[0, 0, 1, 2]));
        let mut shape = x.shape.clone();
        shape[at] = low + high + shape[at] + (shape[at] - 1) * interior;
        (shape[at] > 0 && Self::fits(&shape)).then_some(())?;
        let only = |v: i64| list((0..x.rank()).map(|d| if d == at { v } else { 0 }));
        let attributes =
            format!(", low = [{}], high = [{}], interior = [{}]", only(low), only(high), only(interior));
        self.apply("stablehlo.pad", &[&x, &value], &attributes, &shape, x.elem, x.exact);
        Some(())
    }

    fn concatenate(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let dim = c.below(x.rank());
        let others = |t: &Tensor| {
            t.elem == x.elem
                && t.rank() == x.rank()
                && (0..x.rank()).all(|d| d == dim || t.shape[d] == x.shape[d])
        };
        let mut parts = vec![x.clone()];
        for _ in 0..=c.below(2) {
            parts.push(self.pick(c, others)?);
        }
        let mut shape = x.shape.clone();
        shape[dim] = parts.iter().map(|t| t.shape[dim]).sum();
        (shape[dim] <= 48 && Self::fits(&shape)).then_some(())?;
        let exact = parts.iter().all(|t| t.exact);
        let parts: Vec<&Tensor> = parts.iter().collect();
        self.apply("stablehlo.concatenate", &parts, &format!(", dim = {dim}"), &shape, x.elem, exact);
        Some(())
    }

    fn reverse(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let dim = c.below(x.rank());
        self.use_all(&[&x]);
        let text = format!("stablehlo.reverse {}, dims = [{dim}]", x.name);
        self.push(&text, " : ", &x.shape, x.elem, x.exact);
        Some(())
    }

    fn iota(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let (dim, elem) = (c.below(x.rank()), c.of(&[Elem::I32, Elem::F32]));
        self.push(&format!("stablehlo.iota dim = {dim}"), " : ", &x.shape, elem, true);
        Some(())
    }

    fn select(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.elem != Elem::I1)?;
        let y = self.pick(c, |t| t.shape == x.shape && t.elem == x.elem)?;
        let a = self.pick(c, |t| t.shape == x.shape && t.exact && t.elem.is_int());
        let pred = match a {
            Some(a) => {
                let b = self.pick(c, |t| t.shape == a.shape && t.exact && t.elem == a.elem)?;
                let how = c.of(&["LT", "GE", "EQ", "NE"]);
                self.apply(
                    &format!("stablehlo.compare {how},"),
                    &[&a, &b],
                    &format!(", {}", a.elem.order()),
                    &a.shape,
                    Elem::I1,
                    true,
                )
            }
            None => self.pick(c, |t| t.elem == Elem::I1 && (t.shape == x.shape || t.rank() == 0))?,
        };
        self.use_all(&[&pred, &x, &y]);
        let text = format!("stablehlo.select {}, {}, {} : {}", pred.name, x.name, y.name, pred.ty());
        self.push(&text, ", ", &x.shape, x.elem, x.exact && y.exact);
        Some(())
    }

    fn convert(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.exact)?;
        let to = match x.elem {
            Elem::F32 => Elem::I32,
            Elem::I32 => c.of(&[Elem::F32, Elem::I1, Elem::I8, Elem::UI32]),
            Elem::I8 | Elem::UI32 => c.of(&[Elem::I32, Elem::I1]),
            Elem::I1 => c.of(&[Elem::I32, Elem::F32]),
        };
        // Large integers are no floats, but they round alike everywhere.
        self.apply("stablehlo.convert", &[&x], "", &x.shape, to, true);
        Some(())
    }

    /// A convolution over one spatial dimension, as in a layer or as in the gradient of its kernel.
    fn convolution(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let gradient = c.one_in(3);
        // Of input and kernel: batch and output feature (free), the spatial dimension, the contracted one.
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
        let (low, high, stride) = (c.of(&[0, 1, 2]), c.of(&[0, 1]), c.of(&[1, 1, 2]));
        let (spread_x, spread_k) = (c.of(&[1, 1, 2]), c.of(&[1, 1, 2]));
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

    /// Sorts a tensor by another; equal keys keep their order.
    fn sort_pairs(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let keys = self.pick(c, |t| t.rank() > 0 && t.elem == Elem::I32 && t.exact)?;
        let values = self.pick(c, |t| t.shape == keys.shape)?;
        let dim = c.below(keys.rank());
        let n = self.fresh();
        self.use_all(&[&keys, &values]);
        let v = values.elem.text();
        let types = format!("{}, {}", keys.ty(), values.ty());
        self.line(&format!(
            "%{n}:2 = \"stablehlo.sort\"({}, {}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n^bb0(%a{n}: tensor<i32>, %b{n}: tensor<i32>, %c{n}: tensor<{v}>, %d{n}: tensor<{v}>):\n  %e{n} = stablehlo.compare LT, %a{n}, %b{n}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  stablehlo.return %e{n} : tensor<i1>\n}}) : ({types}) -> ({types})",
            keys.name, values.name
        ));
        self.scope.push(Tensor { name: format!("%{n}#0"), ..keys });
        self.scope.push(Tensor { name: format!("%{n}#1"), ..values });
        Some(())
    }

    /// Sorts integers, so that equal elements are the same.
    fn sort(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem == Elem::I32 && t.exact)?;
        let dim = c.below(x.rank());
        let n = self.fresh();
        self.use_all(&[&x]);
        let text = format!(
            "\"stablehlo.sort\"({}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n^bb0(%a{n}: tensor<i32>, %b{n}: tensor<i32>):\n  %c{n} = stablehlo.compare LT, %a{n}, %b{n}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  stablehlo.return %c{n} : tensor<i1>\n}}) : ({})",
            x.name,
            x.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, true);
        Some(())
    }

    /// Running sums or maxima, as a window over all that came before.
    fn cumulative(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem == Elem::I32)?;
        let dim = c.below(x.rank());
        let (name, init) = c.of(&[("add", "0"), ("maximum", "-2147483648")]);
        let init = self.scalar(Elem::I32, init);
        let n = self.fresh();
        let window = list((0..x.rank()).map(|d| if d == dim { x.shape[d] } else { 1 }));
        let padding: Vec<String> =
            (0..x.rank()).map(|d| format!("[{}, 0]", if d == dim { x.shape[d] - 1 } else { 0 })).collect();
        self.use_all(&[&x]);
        let text = format!(
            "\"stablehlo.reduce_window\"({}, {}) <{{padding = dense<[{}]> : tensor<{}x2xi64>, window_dimensions = array<i64: {window}>}}> ({{\n^bb0(%a{n}: tensor<i32>, %b{n}: tensor<i32>):\n  %c{n} = stablehlo.{name} %a{n}, %b{n} : tensor<i32>\n  stablehlo.return %c{n} : tensor<i32>\n}}) : ({}, tensor<i32>)",
            x.name,
            init.name,
            padding.join(", "),
            x.rank(),
            x.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, x.exact);
        Some(())
    }

    /// The largest element or the sum of each window, windows apart or over one another.
    fn pool(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && (t.elem.is_int() || t.elem == Elem::F32))?;
        let dim = c.below(x.rank());
        let zero = if x.elem == Elem::F32 { "0.0" } else { "0" };
        let (name, init, exact) =
            c.of(&[("maximum", x.elem.extremes()[0], true), ("add", zero, x.elem != Elem::F32)]);
        let (window, stride, low, high) = (c.of(&[2, 3]), c.of(&[2, 1, 3]), c.of(&[0, 1]), c.of(&[0, 1]));
        let room = x.shape[dim] + low + high - window;
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
            "\"stablehlo.reduce_window\"({}, {}) <{{padding = dense<[{}]> : tensor<{}x2xi64>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{\n^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n  %c{n} = stablehlo.{name} %a{n}, %b{n} : {scalar}\n  stablehlo.return %c{n} : {scalar}\n}}) : ({}, {scalar})",
            x.name,
            init.name,
            padding.join(", "),
            x.rank(),
            only(window),
            only(stride),
            x.ty()
        );
        self.push(&text, " -> ", &shape, x.elem, exact && x.exact);
        Some(())
    }

    /// The gradient of taking each window's largest or smallest element. Of integers, so that equal elements are not taken
    /// for different ones.
    fn pool_gradient(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem.is_int() && t.exact)?;
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
        let init = self.scalar(x.elem, "1");
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
        self.push(&text, " -> ", &x.shape, x.elem, true);
        Some(())
    }

    /// An operation whose windows cross the borders of blocks, on a tensor and with a result that are split for certain.
    fn windowed(&mut self, c: &mut Choices<'_>) -> Option<()> {
        self.constraint(c)?;
        let before = self.scope.len();
        match c.below(6) {
            0 => self.slice(c),
            1 => self.pad(c),
            2 => self.concatenate(c),
            3 => self.reverse(c),
            4 => self.pool(c),
            _ => self.pool_gradient(c),
        };
        if self.scope.len() > before { self.constraint(c) } else { None }
    }

    /// One of two branches over the same tensors, by a scalar that every device knows.
    fn case(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.elem == Elem::I32)?;
        let y = self.pick(c, |t| t.elem == x.elem && t.shape == x.shape)?;
        let which = self.pick(c, |t| t.rank() == 0 && t.elem == Elem::I32 && t.exact)?;
        let n = self.fresh();
        self.use_all(&[&x, &y, &which]);
        let ty = x.ty();
        let text = format!(
            "\"stablehlo.case\"({}) ({{\n  %a{n} = stablehlo.add {}, {} : {ty}\n  stablehlo.return %a{n} : {ty}\n}}, {{\n  %b{n} = stablehlo.negate {} : {ty}\n  stablehlo.return %b{n} : {ty}\n}}) : (tensor<i32>)",
            which.name, x.name, y.name, x.name
        );
        self.push(&text, " -> ", &x.shape, x.elem, x.exact && y.exact);
        Some(())
    }

    fn constraint(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let sharding = self.mesh.sharding(c, x.rank());
        self.use_all(&[&x]);
        let text = format!("sdy.sharding_constraint {} {sharding}", x.name);
        self.push(&text, " : ", &x.shape, x.elem, x.exact);
        Some(())
    }

    /// A loop of one to three rounds over a counter and one or two tensors.
    fn while_loop(&mut self, c: &mut Choices<'_>, depth: usize) -> Option<()> {
        let mut carried = vec![self.pick(c, |_| true)?];
        if c.one_in(2) {
            carried.push(self.pick(c, |_| true)?);
        }
        let rounds = 1 + c.below(3);
        let zero = self.scalar(Elem::I32, "0");
        let n = self.fresh();
        self.use_all(&carried.iter().collect::<Vec<_>>());
        let mut inits = vec![zero];
        inits.append(&mut carried);
        let arg = |i: usize| format!("%w{n}_{i}");
        let binds = list(inits.iter().enumerate().map(|(i, t)| format!("{} = {}", arg(i), t.name)));
        let types = list(inits.iter().map(Tensor::ty));
        self.line(&format!("%{n}:{} = stablehlo.while({binds}) : {types}", inits.len()));
        self.line(&format!(
            "cond {{\n  %l{n} = stablehlo.constant dense<{rounds}> : tensor<i32>\n  %p{n} = stablehlo.compare LT, {}, %l{n}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  stablehlo.return %p{n} : tensor<i1>\n}} do {{",
            arg(0)
        ));
        self.nest();
        let outside = self.scope.len();
        for (i, init) in inits.iter().enumerate() {
            // What a round makes of a float is not exact.
            let exact = init.elem != Elem::F32;
            self.scope.push(Tensor { name: arg(i), exact, ..init.clone() });
        }
        self.line(&format!("%o{n} = stablehlo.constant dense<1> : tensor<i32>"));
        let counter = format!("%i{n}");
        self.line(&format!("{counter} = stablehlo.add {}, %o{n} : tensor<i32>", arg(0)));
        for _ in 0..2 {
            let _ = self.op_at(c, depth + 1);
        }
        let mut returned = vec![counter];
        for (i, init) in inits.iter().enumerate().skip(1) {
            let new = self
                .scope
                .iter()
                .rev()
                .take_while(|t| t.name != arg(inits.len() - 1))
                .find(|t| t.shape == init.shape && t.elem == init.elem && (t.exact || t.elem == Elem::F32))
                .cloned();
            let new = match new {
                Some(new) => new,
                None => {
                    let own = Tensor { name: arg(i), ..init.clone() };
                    self.combine(c, &own, &own)
                }
            };
            returned.push(new.name);
        }
        self.line(&format!("stablehlo.return {} : {types}", returned.join(", ")));
        self.outdent();
        self.line("}");
        self.scope.truncate(outside);
        for (i, init) in inits.iter().enumerate().skip(1) {
            let exact = init.elem != Elem::F32 && init.exact;
            self.scope.push(Tensor { name: format!("%{n}#{i}"), exact, ..init.clone() });
        }
        Some(())
    }

    fn starts(&mut self, c: &mut Choices<'_>, rank: usize) -> Vec<Tensor> {
        (0..rank)
            .map(|_| match c.below(3) {
                0 => self
                    .pick(c, |t| t.rank() == 0 && t.elem == Elem::I32 && t.exact)
                    .unwrap_or_else(|| self.scalar(Elem::I32, "1")),
                k => self.scalar(Elem::I32, ["0", "0", "2"][k]),
            })
            .collect()
    }

    fn dynamic_slice(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let sizes: Vec<i64> =
            x.shape.iter().map(|&n| if c.one_in(2) { 1 + c.below(n as usize) as i64 } else { n }).collect();
        let starts = self.starts(c, x.rank());
        let mut operands = vec![&x];
        operands.extend(&starts);
        let attributes = format!(", sizes = [{}]", list(&sizes));
        self.apply("stablehlo.dynamic_slice", &operands, &attributes, &sizes, x.elem, x.exact);
        Some(())
    }

    fn dynamic_update_slice(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let update = self.pick(c, |t| {
            t.elem == x.elem && t.rank() == x.rank() && t.shape.iter().zip(&x.shape).all(|(a, b)| a <= b)
        })?;
        let starts = self.starts(c, x.rank());
        let mut operands = vec![&x, &update];
        operands.extend(&starts);
        let exact = x.exact && update.exact;
        self.apply("stablehlo.dynamic_update_slice", &operands, "", &x.shape, x.elem, exact);
        Some(())
    }
}
