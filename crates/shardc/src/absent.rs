//! Stand-ins for the error types of features that are off.
//!
//! They are uninhabited types. With them, [`Error`](crate::Error) has the same variants whatever the features, so no match on it depends on
//! a feature.

#[cfg(not(feature = "graph"))]
pub(crate) use graph::GraphErrors;
#[cfg(not(feature = "runtime"))]
pub(crate) use runtime::RuntimeError;
#[cfg(feature = "graph")]
pub(crate) use shardc_graph::GraphErrors;
#[cfg(feature = "runtime")]
pub(crate) use shardc_runtime::RuntimeError;

#[cfg(not(feature = "graph"))]
mod graph {
    use std::convert::Infallible;

    use shardc_ir::Diagnostic;

    /// The uninhabited error type of graphs, without the feature `graph`.
    #[derive(Clone, Debug, thiserror::Error)]
    #[error(transparent)]
    pub struct GraphErrors(Infallible);

    impl GraphErrors {
        pub(crate) fn to_diagnostics(&self) -> Vec<Diagnostic> {
            match self.0 {}
        }
    }
}

#[cfg(not(feature = "runtime"))]
mod runtime {
    use std::convert::Infallible;

    /// The uninhabited error type of the runtime, without the feature `runtime`.
    #[derive(Clone, Debug, thiserror::Error)]
    #[error(transparent)]
    pub struct RuntimeError(Infallible);

    impl RuntimeError {
        pub(crate) fn code(&self) -> &'static str {
            match self.0 {}
        }

        pub(crate) fn hint(&self) -> Option<String> {
            match self.0 {}
        }

        pub(crate) fn notes(&self) -> Vec<String> {
            match self.0 {}
        }
    }
}
