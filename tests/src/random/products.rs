//! Matmuls and other operations on matrices.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list, ty};

/// Pairs of corresponding dimensions of two tensors.
struct Pairs {
    batch: Vec<(usize, usize)>,
    contract: Vec<(usize, usize)>,
}

impl Pairs {
    /// The dimensions of the tensor `side` that are not in a pair.
    fn free(&self, side: &Tensor, own: fn(&(usize, usize)) -> usize) -> Vec<usize> {
        let taken: Vec<usize> = self.batch.iter().chain(&self.contract).map(own).collect();
        (0..side.rank()).filter(|d| !taken.contains(d)).collect()
    }
}

impl Emitter {
    /// Chooses two tensors to multiply, and their batch and contracting dimensions.
    fn factors(&mut self, c: &mut Choices<'_>) -> Option<(Tensor, Tensor, Pairs)> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem != Elem::I1)?;
        let y = self.pick(c, |t| {
            t.elem == x.elem && t.shape.iter().any(|n| x.shape.contains(n)) && t.rank() + x.rank() <= 7
        })?;
        let equal: Vec<(usize, usize)> = (0..x.rank())
            .flat_map(|i| (0..y.rank()).map(move |j| (i, j)))
            .filter(|&(i, j)| x.shape[i] == y.shape[j])
            .collect();
        let mut pairs = Pairs { batch: Vec::new(), contract: Vec::new() };
        for _ in 0..3 {
            let pair = c.of(&equal);
            let taken = |p: &&(usize, usize)| p.0 == pair.0 || p.1 == pair.1;
            if pairs.batch.iter().chain(&pairs.contract).any(|p| taken(&p)) {
                continue;
            }
            if c.below(5) < 3 { pairs.contract.push(pair) } else { pairs.batch.push(pair) }
        }
        Some((x, y, pairs))
    }

    pub(super) fn dot(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (x, y, pairs) = self.factors(c)?;
        let mut shape: Vec<i64> = pairs.batch.iter().map(|p| x.shape[p.0]).collect();
        shape.extend(pairs.free(&x, |p| p.0).iter().map(|&d| x.shape[d]));
        shape.extend(pairs.free(&y, |p| p.1).iter().map(|&d| y.shape[d]));
        Self::fits(&shape).then_some(())?;
        let mut attributes = String::new();
        for (name, pairs) in [("batching_dims", &pairs.batch), ("contracting_dims", &pairs.contract)] {
            if !pairs.is_empty() || name == "contracting_dims" {
                let (l, r) = (list(pairs.iter().map(|p| p.0)), list(pairs.iter().map(|p| p.1)));
                attributes += &format!(", {name} = [{l}] x [{r}]");
            }
        }
        let exact = x.exact && y.exact;
        if x.elem == Elem::F32 && exact && !self.floats && c.one_in(4) {
            let [a, b] = [&x, &y].map(|t| self.narrow(t));
            let text = format!("stablehlo.dot_general {}, {}{attributes} : ({}, {})", a.0, b.0, a.1, b.1);
            self.push(&text, " -> ", &shape, Elem::F32, false);
            return Some(());
        }
        let elem = if x.elem == Elem::I8 { c.of(&[Elem::I8, Elem::I32]) } else { x.elem };
        self.apply(
            "stablehlo.dot_general",
            &[&x, &y],
            &attributes,
            &shape,
            elem,
            exact && !x.elem.is_rounded(),
        );
        Some(())
    }

    /// Converts a tensor to 16-bit floats: name and type.
    fn narrow(&mut self, x: &Tensor) -> (String, String) {
        self.use_all(&[x]);
        let name = format!("%{}", self.fresh());
        let narrow = x.ty().replace("f32", "bf16");
        self.line(&format!("{name} = stablehlo.convert {} : ({}) -> {narrow}", x.name, x.ty()));
        (name, narrow)
    }

    /// Emits an `einsum` with its dimensions in any order.
    pub(super) fn einsum(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (x, y, pairs) = self.factors(c)?;
        let letter = |d: usize| char::from(b'a' + d as u8);
        let of_x: String = (0..x.rank()).map(letter).collect();
        let of_y: String = (0..y.rank())
            .map(|d| {
                let pair = pairs.batch.iter().chain(&pairs.contract).find(|p| p.1 == d);
                pair.map_or(letter(x.rank() + d), |p| letter(p.0))
            })
            .collect();
        let mut left: Vec<(char, i64)> = pairs.batch.iter().map(|p| (letter(p.0), x.shape[p.0])).collect();
        left.extend(pairs.free(&x, |p| p.0).iter().map(|&d| (letter(d), x.shape[d])));
        left.extend(pairs.free(&y, |p| p.1).iter().map(|&d| (letter(x.rank() + d), y.shape[d])));
        let result: Vec<(char, i64)> = (0..left.len()).map(|_| left.remove(c.below(left.len()))).collect();
        let shape: Vec<i64> = result.iter().map(|r| r.1).collect();
        Self::fits(&shape).then_some(())?;
        let letters: String = result.iter().map(|r| r.0).collect();
        let attributes = format!(", config = \"{of_x},{of_y}->{letters}\"");
        let exact = x.exact && y.exact && !x.elem.is_rounded();
        self.apply("stablehlo.einsum", &[&x, &y], &attributes, &shape, x.elem, exact);
        Some(())
    }

    /// Emits square matrices that are far from singular, and chooses a tensor of matrices with as many rows.
    fn definite(&mut self, c: &mut Choices<'_>) -> Option<(Tensor, Tensor)> {
        let x = self.pick(c, |t| t.rank() > 1 && t.elem == Elem::F32)?;
        let (batch, n) = (x.rank() - 2, x.shape[x.rank() - 2]);
        self.use_all(&[&x]);
        let small = self.push(&format!("stablehlo.tanh {}", x.name), " : ", &x.shape, x.elem, false);
        let mut shape = x.shape[..batch].to_vec();
        shape.extend([n, n]);
        Self::fits(&shape).then_some(())?;
        let dims = list(0..batch);
        let attributes = format!(
            ", batching_dims = [{dims}] x [{dims}], contracting_dims = [{}] x [{}]",
            batch + 1,
            batch + 1
        );
        let square =
            self.apply("stablehlo.dot_general", &[&small, &small], &attributes, &shape, Elem::F32, false);
        let [row, column] = [batch, batch + 1]
            .map(|d| self.push(&format!("stablehlo.iota dim = {d}"), " : ", &shape, Elem::I32, true));
        let equal = self.apply("stablehlo.compare EQ,", &[&row, &column], ", SIGNED", &shape, Elem::I1, true);
        let one = self.apply("stablehlo.convert", &[&equal], "", &shape, Elem::F32, true);
        self.use_all(&[&one, &square]);
        let text = format!("stablehlo.add {}, {}", one.name, square.name);
        let matrix = self.push(&text, " : ", &shape, Elem::F32, false);
        // Later operations may use the matrices, but not the intermediate values.
        let made = self.scope.len() - 5;
        self.scope.drain(made - 1..self.scope.len() - 1);
        Some((matrix, small))
    }

    pub(super) fn cholesky(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (matrix, _) = self.definite(c)?;
        self.use_all(&[&matrix]);
        let text = format!("stablehlo.cholesky {}, lower = {}", matrix.name, c.of(&["true", "false"]));
        self.push(&text, " : ", &matrix.shape, Elem::F32, false);
        Some(())
    }

    pub(super) fn triangular_solve(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (matrix, sides) = self.definite(c)?;
        let attributes = format!(
            "left_side = true, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}",
            c.of(&["true", "false"]),
            c.of(&["NO_TRANSPOSE", "TRANSPOSE"]),
            c.of(&["false", "false", "true"])
        );
        self.use_all(&[&matrix, &sides]);
        let text = format!(
            "\"stablehlo.triangular_solve\"({}, {}) <{{{attributes}}}> : ({}, {})",
            matrix.name,
            sides.name,
            matrix.ty(),
            sides.ty()
        );
        self.push(&text, " -> ", &sides.shape, Elem::F32, false);
        Some(())
    }

    /// Makes complex numbers from two float tensors, or takes their real or imaginary part.
    pub(super) fn complex(&mut self, c: &mut Choices<'_>) -> Option<()> {
        if let Some(x) = self.pick(c, |t| t.elem == Elem::C64).filter(|_| c.one_in(2)) {
            let part = c.of(&["real", "imag"]);
            self.apply(&format!("stablehlo.{part}"), &[&x], "", &x.shape, Elem::F32, false);
            return Some(());
        }
        let x = self.pick(c, |t| t.elem == Elem::F32)?;
        let y = self.pick(c, |t| t.elem == Elem::F32 && t.shape == x.shape)?;
        self.use_all(&[&x, &y]);
        let text = format!("stablehlo.complex {}, {}", x.name, y.name);
        self.push(&text, " : ", &x.shape, Elem::C64, x.exact && y.exact);
        Some(())
    }

    /// Emits an FFT over the last one or two dimensions.
    pub(super) fn fft(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && t.elem.is_rounded())?;
        let dims = 1 + c.below(x.rank().min(2));
        let mut length = x.shape[x.rank() - dims..].to_vec();
        let (kind, elem, last) = if x.elem == Elem::F32 {
            ("RFFT", Elem::C64, length[dims - 1] / 2 + 1)
        } else {
            let last = length[dims - 1];
            c.of(&[("FFT", Elem::C64, last), ("IFFT", Elem::C64, last), ("IRFFT", Elem::F32, 2 * last - 1)])
        };
        let mut shape = x.shape.clone();
        shape[x.rank() - 1] = last;
        if kind == "IRFFT" {
            length[dims - 1] = last;
        }
        Self::fits(&shape).then_some(())?;
        let attributes = format!(", type = {kind}, length = [{}]", list(&length));
        self.apply("stablehlo.fft", &[&x], &attributes, &shape, elem, false);
        Some(())
    }

    /// Emits a batch normalization for training or inference, or its gradient.
    pub(super) fn batch_norm(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 1 && t.elem == Elem::F32)?;
        let feature = c.below(x.rank());
        let n = x.shape[feature];
        let vector = self.pick(c, |t| t.elem == Elem::F32 && t.shape == [n]);
        let scale =
            vector.unwrap_or_else(|| self.push("stablehlo.iota dim = 0", " : ", &[n], Elem::F32, true));
        let positive = self.constant("2.5", &[n], Elem::F32);
        let (name, operands, results) = match c.below(3) {
            0 => ("training", vec![&x, &scale, &positive], 3),
            1 => {
                let dy = self.pick(c, |t| t.elem == Elem::F32 && t.shape == x.shape)?;
                self.use_all(&[&dy]);
                return self.batch_norm_as("grad", &[&x, &positive, &scale, &positive, &dy], feature, 3);
            }
            _ => ("inference", vec![&x, &scale, &positive, &scale, &positive], 1),
        };
        self.batch_norm_as(name, &operands, feature, results)
    }

    fn batch_norm_as(
        &mut self,
        name: &str,
        operands: &[&Tensor],
        feature: usize,
        results: usize,
    ) -> Option<()> {
        self.use_all(operands);
        let x = operands[0];
        let whole = x.ty();
        let vector = ty(&[x.shape[feature]], Elem::F32);
        let types = list([&whole, &vector, &vector].into_iter().take(results));
        let n = self.fresh();
        self.line(&format!(
            "%{n}:{results} = \"stablehlo.batch_norm_{name}\"({}) <{{epsilon = 5.0e-01 : f32, feature_index = {feature} : i64}}> : ({}) -> ({types})",
            list(operands.iter().map(|t| &t.name)),
            list(operands.iter().map(|t| t.ty()))
        ));
        for i in 0..results {
            let shape = if i == 0 { x.shape.clone() } else { vec![x.shape[feature]] };
            self.scope.push(Tensor { name: format!("%{n}#{i}"), shape, elem: Elem::F32, exact: false });
        }
        Some(())
    }
}
