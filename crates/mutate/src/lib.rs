//! # shardc-mutate: mutations of partitioned programs, to test the prover
//!
//! Internal, and not published. A [`Damage`] changes one operation of a partition so that it may compute something else; a
//! [`Rewrite`] keeps the results in exact arithmetic. [`Subject`] applies them to a program, and a [`Trial`] is the answer of
//! [`prove`](shardc_prove::prove): a damage that changes a result must be refuted at its place, and a rewrite must not be refuted.
//! Whether a result changes is decided by running both programs in exact arithmetic. [`Tally`] counts trials by class.
//!
//! Mutations change the IR, not the text, and the mutated program must satisfy the verifier. All choices depend on the seed of
//! [`Random`] alone.
//!
//! ## Rooms
//!
//! `damage` and `rewrite` have the mutations, which use `edit`. `trial` runs the prover, `tally` counts, and `random` is the generator.

mod damage;
mod edit;
mod random;
mod rewrite;
mod tally;
mod trial;

pub use damage::{Damage, Damaged, apply as apply_damage, sites as damage_sites};
pub use random::Random;
pub use rewrite::{Rewrite, apply as apply_rewrite};
pub use tally::{Counts, Tally};
pub use trial::{Class, Found, SHOWN, Subject, Trial};
