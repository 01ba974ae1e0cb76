//! Stand-ins for the error types of disabled Cargo features.
//!
//! The stand-ins are uninhabited types. With them, [`Error`](crate::Error) has the same variants in every build, so a `match` on an error
//! does not depend on the enabled features.

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

    /// The uninhabited type that replaces the graph error if the feature `graph` is disabled.
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

    /// The uninhabited type that replaces the runtime error if the feature `runtime` is disabled.
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
