//! # shardc-stablehlo: reading and writing programs
