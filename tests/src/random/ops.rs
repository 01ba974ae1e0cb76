//! Operations other than gather and scatter.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list, ty};

/// The maximum nesting depth of random loops.
const DEEPEST: usize = 1;

impl Emitter {
    /// Adds the operation that the numbers select, if it is possible.
    pub(crate) fn op(&mut self, c: &mut Choices<'_>) {
        self.op_at(c, 0);
    }

    pub(super) fn op_at(&mut self, c: &mut Choices<'_>, depth: usize) -> Option<()> {
        match c.below(80) {
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
            23 => self.scatter(c),
            24 => {
                if c.one_in(2) {
                    self.scatter_unique(c)
                } else {
                    self.scatter(c)
                }
            }
            25 => self.dynamic_slice(c),
            26 => self.dynamic_update_slice(c),
            27 => self.select(c),
            28 => self.convert(c),
            29 | 30 => self.convolution(c),
            31 => self.sort(c),
            32 => self.cumulative(c),
            33..=35 => self.constraint(c),
            36 => self.arg_reduce(c),
            37 | 38 => self.pool(c),
            39 => self.case(c),
            40 => self.sort_pairs(c),
            41 => self.scatter_pairs(c),
            42 | 43 => self.pool_gradient(c),
            44 | 45 => self.windowed(c),
            46 => self.clamp(c),
            47 => self.reduce_precision(c),
            48 => self.bitcast(c),
            49..=51 => self.random_bits(c),
            52 => self.einsum(c),
            53 => self.cholesky(c),
            54 => self.triangular_solve(c),
            55 | 56 => self.complex(c),
            57 => self.fft(c),
            58 | 59 => self.batch_norm(c),
            60 => self.top_k(c),
            61 => self.branch(c),
            62 => self.call(c),
            63 => self.barrier(c),
            64 => self.map(c),
            65 => self.reduce_two(c),
            66 => self.pool_two(c),
            67 => self.shaped(c),
            68 => self.old(c),
            69 => self.alone(c),
            70..=72 if depth == 0 => self.manual(c),
            76..=79 => self.at_known_places(c),
            _ if depth < DEEPEST => self.while_loop(c, depth),
            _ => self.constraint(c),
        }
    }

    fn unary(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |_| true)?;
        if self.floats && x.elem.is_rounded() {
            self.smooth_unary(c, x);
            return Some(());
        }
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
            Elem::C64 => c.of(&[("negate", true), ("tanh", false)]),
        };
        self.use_all(&[&x]);
        self.push(&format!("stablehlo.{name} {}", x.name), " : ", &x.shape, x.elem, x.exact && exact);
        Some(())
    }

    fn binary(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |_| true)?;
        let y = self.pick(c, |t| t.shape == x.shape && t.elem == x.elem)?;
        if self.floats && x.elem.is_rounded() && c.one_in(2) {
            self.smooth_binary(c, x, y);
            return Some(());
        }
        self.combine(c, &x, &y);
        Some(())
    }

    /// Emits an elementwise operation on two tensors of one type.
    pub(super) fn combine(&mut self, c: &mut Choices<'_>, x: &Tensor, y: &Tensor) -> Tensor {
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
            Elem::C64 => c.of(&[("add", false), ("multiply", false), ("subtract", false)]),
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
        // Dimensions of size one are broadcast.
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

    /// Emits a reshape that merges dimensions, splits a dimension, or does both.
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

    fn reduce(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let mask = 1 + c.below((1 << x.rank()) - 1);
        let dims: Vec<usize> = (0..x.rank()).filter(|d| mask >> d & 1 == 1).collect();
        let shape: Vec<i64> = (0..x.rank()).filter(|d| !dims.contains(d)).map(|d| x.shape[d]).collect();
        // The initial value must be the identity, because XLA may omit it, or apply it more than once.
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
            Elem::C64 => c.of(&[("add", "(0.0, 0.0)", false), ("multiply", "(1.0, 0.0)", false)]),
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

    /// Emits a variadic reduction to the largest element and its index.
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

    pub(super) fn slice(&mut self, c: &mut Choices<'_>) -> Option<()> {
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

    pub(super) fn pad(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let at = c.below(x.rank());
        let value = match x.elem {
            Elem::F32 => "1.5",
            Elem::I32 | Elem::I8 | Elem::UI32 => "7",
            Elem::I1 => "true",
            Elem::C64 => "(1.5, -1.0)",
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

    pub(super) fn concatenate(&mut self, c: &mut Choices<'_>) -> Option<()> {
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

    pub(super) fn reverse(&mut self, c: &mut Choices<'_>) -> Option<()> {
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
            Elem::F32 => c.of(&[Elem::I32, Elem::C64]),
            Elem::C64 => return None,
            Elem::I32 => c.of(&[Elem::F32, Elem::I1, Elem::I8, Elem::UI32]),
            Elem::I8 | Elem::UI32 => c.of(&[Elem::I32, Elem::I1]),
            Elem::I1 => c.of(&[Elem::I32, Elem::F32]),
        };
        // Large integers are not exact as floats, but rounding is the same everywhere.
        self.apply("stablehlo.convert", &[&x], "", &x.shape, to, true);
        Some(())
    }

    /// Sorts a tensor by the keys of another; the sort is stable.
    fn sort_pairs(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let keys = self.pick(c, |t| t.rank() > 0 && self.sorts(t))?;
        let (k, order) = (keys.elem.text(), keys.elem.order());
        let values = self.pick(c, |t| t.shape == keys.shape)?;
        let dim = c.below(keys.rank());
        let n = self.fresh();
        self.use_all(&[&keys, &values]);
        let v = values.elem.text();
        let types = format!("{}, {}", keys.ty(), values.ty());
        self.line(&format!(
            "%{n}:2 = \"stablehlo.sort\"({}, {}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n^bb0(%a{n}: tensor<{k}>, %b{n}: tensor<{k}>, %c{n}: tensor<{v}>, %d{n}: tensor<{v}>):\n  %e{n} = stablehlo.compare LT, %a{n}, %b{n}, {order} : (tensor<{k}>, tensor<{k}>) -> tensor<i1>\n  stablehlo.return %e{n} : tensor<i1>\n}}) : ({types}) -> ({types})",
            keys.name, values.name
        ));
        self.scope.push(Tensor { name: format!("%{n}#0"), ..keys });
        self.scope.push(Tensor { name: format!("%{n}#1"), ..values });
        Some(())
    }

    /// Sorts integers, so that equal elements cannot be distinguished.
    fn sort(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && self.sorts(t))?;
        let dim = c.below(x.rank());
        let (k, order) = (x.elem.text(), x.elem.order());
        let n = self.fresh();
        self.use_all(&[&x]);
        let text = format!(
            "\"stablehlo.sort\"({}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n^bb0(%a{n}: tensor<{k}>, %b{n}: tensor<{k}>):\n  %c{n} = stablehlo.compare LT, %a{n}, %b{n}, {order} : (tensor<{k}>, tensor<{k}>) -> tensor<i1>\n  stablehlo.return %c{n} : tensor<i1>\n}}) : ({})",
            x.name,
            x.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, x.exact);
        Some(())
    }

    pub(super) fn constraint(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let sharding = self.mesh.sharding(c, x.rank());
        self.use_all(&[&x]);
        let text = format!("sdy.sharding_constraint {} {sharding}", x.name);
        self.push(&text, " : ", &x.shape, x.elem, x.exact);
        Some(())
    }

    pub(super) fn starts(&mut self, c: &mut Choices<'_>, rank: usize) -> Vec<Tensor> {
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
        let slice = self.apply("stablehlo.dynamic_slice", &operands, &attributes, &sizes, x.elem, x.exact);
        // XLA merges two consecutive dynamic slices, and then does not clamp the start of the first slice. A barrier prevents the merge.
        self.scope.pop();
        self.apart(slice);
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

    /// Clamps to two scalars or two tensors.
    fn clamp(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.elem.is_int() || t.elem == Elem::F32)?;
        let bounds = if c.one_in(2) {
            let alike = |t: &Tensor| t.elem == x.elem && t.shape == x.shape;
            [self.pick(c, alike)?, self.pick(c, alike)?]
        } else {
            let [low, high] = if x.elem == Elem::F32 { ["-0.25", "0.5"] } else { ["1", "3"] };
            [self.scalar(x.elem, low), self.scalar(x.elem, high)]
        };
        let exact = x.exact && bounds.iter().all(|t| t.exact);
        self.apply("stablehlo.clamp", &[&bounds[0], &x, &bounds[1]], "", &x.shape, x.elem, exact);
        Some(())
    }

    /// Emits a `top_k`: the largest elements along the last dimension, and their indices.
    fn top_k(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem == Elem::I32 && t.exact)?;
        let mut shape = x.shape.clone();
        let last = shape.last_mut()?;
        let k = 1 + c.below((*last).min(4) as usize) as i64;
        *last = k;
        let n = self.fresh();
        let ty = ty(&shape, Elem::I32);
        self.use_all(&[&x]);
        self.line(&format!("%{n}:2 = chlo.top_k({}, k = {k}) : {} -> ({ty}, {ty})", x.name, x.ty()));
        for i in 0..2 {
            let name = format!("%{n}#{i}");
            self.scope.push(Tensor { name, shape: shape.clone(), elem: Elem::I32, exact: true });
        }
        Some(())
    }

    /// Emits a variadic reduction: the sum of one tensor and the maximum of another.
    fn reduce_two(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem.is_int() && t.exact)?;
        let y = self.pick(c, |t| t.shape == x.shape && (t.elem.is_int() || t.elem == Elem::F32))?;
        let mask = 1 + c.below((1 << x.rank()) - 1);
        let dims: Vec<usize> = (0..x.rank()).filter(|d| mask >> d & 1 == 1).collect();
        let shape: Vec<i64> = (0..x.rank()).filter(|d| !dims.contains(d)).map(|d| x.shape[d]).collect();
        let (zero, least) = (self.scalar(x.elem, "0"), self.scalar(y.elem, y.elem.extremes()[0]));
        let n = self.fresh();
        let (a, b) = (zero.ty(), least.ty());
        self.use_all(&[&x, &y]);
        self.line(&format!(
            "%{n}:2 = stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{}] : ({}, {}, {a}, {b}) -> ({}, {})\n reducer(%a{n}: {a}, %b{n}: {a}) (%c{n}: {b}, %d{n}: {b}) {{\n  %e{n} = stablehlo.add %a{n}, %b{n} : {a}\n  %f{n} = stablehlo.maximum %c{n}, %d{n} : {b}\n  stablehlo.return %e{n}, %f{n} : {a}, {b}\n }}",
            x.name, zero.name, y.name, least.name, list(&dims), x.ty(), y.ty(), ty(&shape, x.elem), ty(&shape, y.elem)
        ));
        self.scope.push(Tensor { name: format!("%{n}#0"), shape: shape.clone(), ..x });
        self.scope.push(Tensor { name: format!("%{n}#1"), shape, ..y });
        Some(())
    }
}
