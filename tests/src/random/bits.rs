//! Number formats: rounding, bitcasts, random bits. Quantized elements are not generated, because XLA's CPU plugin does not support them.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor};

impl Emitter {
    pub(super) fn reduce_precision(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.elem == Elem::F32 && t.exact && !self.floats)?;
        self.use_all(&[&x]);
        let format = c.of(&["e5m10", "e8m7", "e4m3"]);
        let text = format!("stablehlo.reduce_precision {}, format = {format}", x.name);
        self.push(&text, " : ", &x.shape, x.elem, true);
        Some(())
    }

    /// Emits a bitcast to a different type of the same or a different width.
    pub(super) fn bitcast(&mut self, c: &mut Choices<'_>) -> Option<()> {
        // The bits of an integer may be a NaN as a float.
        let x =
            self.pick(c, |t| t.exact && matches!(t.elem, Elem::F32 | Elem::I32 | Elem::UI32 | Elem::I8))?;
        (x.elem != Elem::F32 || !self.floats).then_some(())?;
        let mut shape = x.shape.clone();
        let to = if x.elem == Elem::I8 {
            (shape.pop() == Some(4)).then_some(c.of(&[Elem::I32, Elem::UI32]))?
        } else {
            c.of(&[Elem::I32, Elem::I8, Elem::UI32])
        };
        if to == Elem::I8 && x.elem != Elem::I8 {
            shape.push(4);
        }
        Self::fits(&shape).then_some(())?;
        self.apply("stablehlo.bitcast_convert", &[&x], "", &shape, to, true);
        Some(())
    }

    /// Emits random bits, which depend on a state. The elements have 32 bits: in partition mode, XLA's CPU plugin fails for other widths.
    pub(super) fn random_bits(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let n = self.fresh();
        let algorithm = c.of(&["THREE_FRY", "PHILOX"]);
        let out = Tensor { name: format!("%{n}#1"), shape: x.shape, elem: Elem::UI32, exact: true };
        let words = if algorithm == "PHILOX" { c.of(&[2, 3]) } else { 2 };
        let state = format!("tensor<{words}xui64>");
        self.line(&format!("%s{n} = stablehlo.constant dense<{}> : {state}", 7 + c.below(100)));
        self.line(&format!(
            "%{n}:2 = stablehlo.rng_bit_generator %s{n}, algorithm = {algorithm} : ({state}) -> ({state}, {})",
            out.ty()
        ));
        self.scope.push(out);
        Some(())
    }
}
