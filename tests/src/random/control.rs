//! Operations with regions or callees: branches, loops, calls.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list};

impl Emitter {
    /// Emits a `case` with two branches over the same tensors; every device has the same index.
    pub(super) fn case(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.elem == Elem::I32 || self.floats && t.elem == Elem::F32)?;
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

    /// Emits a loop of one to three iterations, with a counter and one or two tensors.
    pub(super) fn while_loop(&mut self, c: &mut Choices<'_>, depth: usize) -> Option<()> {
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
            // Floats that an iteration computes are not exact.
            let exact = !init.elem.is_rounded();
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
                .find(|t| t.shape == init.shape && t.elem == init.elem && (t.exact || t.elem.is_rounded()))
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
            let exact = !init.elem.is_rounded() && init.exact;
            self.scope.push(Tensor { name: format!("%{n}#{i}"), exact, ..init.clone() });
        }
        Some(())
    }

    /// Emits an `if` whose predicate is the same on every device.
    pub(super) fn branch(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |_| true)?;
        let y = self.pick(c, |t| t.elem == x.elem && t.shape == x.shape)?;
        let which = self.pick(c, |t| t.rank() == 0 && t.elem == Elem::I32 && t.exact)?;
        let zero = self.scalar(Elem::I32, "0");
        let yes = self.apply("stablehlo.compare GT,", &[&which, &zero], ", SIGNED", &[], Elem::I1, true);
        self.use_all(&[&x, &y, &yes]);
        let n = self.fresh();
        self.line(&format!("%{n} = \"stablehlo.if\"({}) ({{", yes.name));
        self.nest();
        let outside = self.scope.len();
        let new = self.combine(c, &x, &y);
        self.line(&format!("stablehlo.return {} : {}", new.name, x.ty()));
        self.scope.truncate(outside);
        self.outdent();
        self.line(&format!(
            "}}, {{\n  stablehlo.return {} : {}\n}}) : (tensor<i1>) -> {}",
            x.name,
            x.ty(),
            x.ty()
        ));
        self.scope.push(Tensor { name: format!("%{n}"), exact: x.exact && new.exact, ..x });
        Some(())
    }

    /// Emits a call of a function, or a composite with a decomposition function.
    pub(super) fn call(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.elem.is_int() || t.elem == Elem::F32)?;
        let y = self.pick(c, |t| t.elem == x.elem && t.shape == x.shape)?;
        let n = self.fresh();
        let ty = x.ty();
        let name = c.of(&["multiply", "maximum"]);
        self.function(&format!(
            "func.func private @f{n}(%a: {ty}, %b: {ty}) -> {ty} {{\n  %0 = stablehlo.{name} %a, %b : {ty}\n  %1 = stablehlo.subtract %0, %b : {ty}\n  return %1 : {ty}\n}}"
        ));
        self.use_all(&[&x, &y]);
        let text = if c.one_in(2) {
            format!(
                "stablehlo.composite \"random.f{n}\" {}, {} {{decomposition = @f{n}}} : ({ty}, {ty})",
                x.name, y.name
            )
        } else {
            format!("func.call @f{n}({}, {}) : ({ty}, {ty})", x.name, y.name)
        };
        let exact = x.exact && y.exact && !x.elem.is_rounded();
        self.push(&text, " -> ", &x.shape, x.elem, exact);
        Some(())
    }

    /// Emits an `optimization_barrier` on two tensors.
    pub(super) fn barrier(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let both = [self.pick(c, |_| true)?, self.pick(c, |_| true)?];
        let n = self.fresh();
        self.use_all(&[&both[0], &both[1]]);
        let names = list(both.iter().map(|t| &t.name));
        let types = list(both.iter().map(Tensor::ty));
        self.line(&format!("%{n}:2 = stablehlo.optimization_barrier {names} : {types}"));
        for (i, t) in both.into_iter().enumerate() {
            self.scope.push(Tensor { name: format!("%{n}#{i}"), ..t });
        }
        Some(())
    }

    /// Emits a `map` over two tensors, followed by a barrier, because XLA crashes when it reverses a map.
    pub(super) fn map(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0 && (t.elem.is_int() || t.elem == Elem::F32))?;
        let y = self.pick(c, |t| t.elem == x.elem && t.shape == x.shape)?;
        let n = self.fresh();
        let scalar = format!("tensor<{}>", x.elem.text());
        self.use_all(&[&x, &y]);
        let text = format!(
            "\"stablehlo.map\"({}, {}) <{{dimensions = array<i64: {}>}}> ({{\n^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n  %c{n} = stablehlo.maximum %a{n}, %b{n} : {scalar}\n  %d{n} = stablehlo.subtract %c{n}, %a{n} : {scalar}\n  stablehlo.return %d{n} : {scalar}\n}}) : ({}, {})",
            x.name,
            y.name,
            list(0..x.rank()),
            x.ty(),
            y.ty()
        );
        let exact = x.exact && y.exact && !x.elem.is_rounded();
        let result = self.push(&text, " -> ", &x.shape, x.elem, exact);
        self.apart(result);
        Some(())
    }
}
