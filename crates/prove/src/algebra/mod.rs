//! Operations on terms, with rewrites to a normal form. Each rewrite is an equation of exact arithmetic that holds for all sizes.

mod cases;
mod fold;
mod join;
mod linear;
mod map;
mod masks;
mod padding;
mod parts;
mod pieces;
mod reduce;
mod windows;

pub(crate) use self::fold::Folding;
pub(crate) use self::join::join_of;
pub(crate) use self::linear::Linear;
pub(crate) use self::padding::{substituted, substitution};
pub(crate) use self::pieces::Range;
pub(crate) use self::windows::Windows;
