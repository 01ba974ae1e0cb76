//! Operations with a shape operand, and deprecated operations.

use super::Choices;
use super::emit::{Emitter, list};

impl Emitter {
    /// Emits a dynamic operation, in which an operand replaces an attribute such as a shape.
    pub(super) fn shaped(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let (name, text, exact) = (x.name.clone(), x.ty(), x.exact);
        let zeros = vec![0; x.rank()];
        let dim = c.below(x.rank());
        let mut shape = x.shape.clone();
        let line = match c.below(5) {
            0 => {
                shape.insert(0, 1 + c.below(5) as i64);
                let (sizes, list_ty) = self.numbers(&shape);
                let dims = list(1..shape.len());
                format!(
                    "stablehlo.dynamic_broadcast_in_dim {name}, {sizes}, dims = [{dims}] : ({text}, {list_ty})"
                )
            }
            1 => {
                shape = vec![x.elements()];
                let (sizes, list_ty) = self.numbers(&shape);
                format!("stablehlo.dynamic_reshape {name}, {sizes} : ({text}, {list_ty})")
            }
            2 => {
                let (low, high) = (c.of(&[0, 1, 3, -1]), c.of(&[0, 2, -1, 5]));
                shape[dim] += low + high;
                (shape[dim] > 0).then_some(())?;
                let only = |v: i64| -> Vec<i64> {
                    zeros.iter().enumerate().map(|(d, _)| if d == dim { v } else { 0 }).collect()
                };
                let fill = self.constant(x.elem.zero(), &[], x.elem);
                let (low, list_ty) = self.numbers(&only(low));
                let ((high, _), (interior, _)) = (self.numbers(&only(high)), self.numbers(&zeros));
                format!(
                    "stablehlo.dynamic_pad {name}, {}, {low}, {high}, {interior} : ({text}, {}, {list_ty}, {list_ty}, {list_ty})",
                    fill.name,
                    fill.ty()
                )
            }
            3 => {
                let (n, step) = (x.shape[dim], c.of(&[1, 2]));
                let start = c.below(n as usize) as i64;
                let mut starts = zeros;
                starts[dim] = start;
                let mut strides = vec![1; x.rank()];
                strides[dim] = step;
                shape[dim] = (n - start + step - 1) / step;
                let (start, list_ty) = self.numbers(&starts);
                let ((limit, _), (step, _)) = (self.numbers(&x.shape), self.numbers(&strides));
                format!(
                    "stablehlo.real_dynamic_slice {name}, {start}, {limit}, {step} : ({text}, {list_ty}, {list_ty}, {list_ty})"
                )
            }
            _ => {
                let (sizes, list_ty) = self.numbers(&shape);
                let text = format!("stablehlo.dynamic_iota {sizes}, dim = {dim} : ({list_ty})");
                self.push(&text, " -> ", &shape, super::emit::Elem::I32, true);
                return Some(());
            }
        };
        Self::fits(&shape).then_some(())?;
        self.use_all(&[&x]);
        self.push(&line, " -> ", &shape, x.elem, exact);
        Some(())
    }

    /// Emits a deprecated operation.
    pub(super) fn old(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let (mut shape, rank) = (x.shape.clone(), x.rank());
        let (text, exact) = match c.below(3) {
            0 => {
                let size = 1 + c.below(6) as i64;
                shape.insert(0, size);
                (
                    format!("\"stablehlo.broadcast\"({}) <{{broadcast_sizes = array<i64: {size}>}}>", x.name),
                    true,
                )
            }
            1 => {
                let letters: Vec<char> = (0..rank).map(|d| char::from(b'a' + d as u8)).collect();
                let drop = c.below(rank + 1);
                let kept: Vec<usize> = (0..rank).rev().filter(|&d| d != drop).collect();
                shape = kept.iter().map(|&d| x.shape[d]).collect();
                let to: String = kept.iter().map(|&d| letters[d]).collect();
                let from: String = letters.into_iter().collect();
                let text =
                    format!("\"stablehlo.unary_einsum\"({}) <{{einsum_config = \"{from}->{to}\"}}>", x.name);
                (x.elem.is_int() || x.elem.is_rounded()).then_some(())?;
                (text, !x.elem.is_rounded())
            }
            _ => {
                let at = self.indices(c, |_| true)?;
                let dim = c.below(rank);
                let batch = usize::from(dim > 0 && at.rank() > 0 && at.shape[0] == x.shape[0] && c.one_in(2));
                shape.splice(dim..=dim, at.shape[batch..].iter().copied());
                Self::fits(&shape).then_some(())?;
                self.use_all(&[&x, &at]);
                let text = format!(
                    "\"stablehlo.torch_index_select\"({}, {}) <{{batch_dims = {batch} : i64, dim = {dim} : i64}}> : ({}, {})",
                    x.name,
                    at.name,
                    x.ty(),
                    at.ty()
                );
                self.push(&text, " -> ", &shape, x.elem, x.exact);
                return Some(());
            }
        };
        Self::fits(&shape).then_some(())?;
        self.use_all(&[&x]);
        self.push(&format!("{text} : ({})", x.ty()), " -> ", &shape, x.elem, x.exact && exact);
        Some(())
    }
}
