//! Compiler options for the entry function, inlining, custom sharding rules, cancellation and time limits.

use std::time::Duration;

use shardc_ir::{CancelToken, Module};
use shardc_passes::annotations::dims::DimSize;
use shardc_passes::driver::entry::select_entry;
use shardc_passes::rules::registry::Callee;

use crate::rules::RuleFile;
use crate::{Compiler, Error};

impl Compiler {
    /// Adds the sharding rules of a file: rules of custom calls, and of functions and composites that are not inlined. A rule for a name
    /// that the program does not contain causes a warning (SH0363).
    ///
    /// ```
    /// use shardc::{Compiler, rules::RuleFile};
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=4]>
    ///   func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x16xf32> {
    ///     %0 = stablehlo.custom_call @mark(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ///     return %0 : tensor<8x16xf32>
    ///   }
    /// "#;
    /// let rules = RuleFile::parse("[custom_call.mark]\nrule = \"pointwise\"")?;
    /// let output = Compiler::new().rules(&rules).partition(source)?;
    /// assert!(output.text().contains("@mark(%arg0) : (tensor<2x16xf32>) -> tensor<2x16xf32>"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn rules(mut self, file: &RuleFile) -> Self {
        for (callee, name, notations) in &file.rules {
            self.options.import.rules.write(*callee, name, notations.clone());
        }
        self
    }

    /// Keeps composites of this name instead of replacing them by their decomposition. Each becomes a composite on local shapes, with a
    /// localized decomposition. Without a [rule](Compiler::rules), the sharding rule is derived from the decomposition. If the localized
    /// decomposition contains collectives, the composite becomes a call (SH0361).
    ///
    /// ```
    /// use shardc::Compiler;
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=4]>
    ///   func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
    ///     %0 = stablehlo.composite "my.gelu" %x {decomposition = @gelu} : (tensor<8xf32>) -> tensor<8xf32>
    ///     return %0 : tensor<8xf32>
    ///   }
    ///   func.func private @gelu(%x: tensor<8xf32>) -> tensor<8xf32> {
    ///     %0 = stablehlo.tanh %x : tensor<8xf32>
    ///     return %0 : tensor<8xf32>
    ///   }
    /// "#;
    /// let text = Compiler::new().keep_composite("my.gelu").partition(source)?.text();
    /// assert!(text.contains(r#"stablehlo.composite "my.gelu" %arg0"#), "{text}");
    /// assert!(text.contains("(tensor<2xf32>) -> tensor<2xf32>"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn keep_composite(mut self, name: &str) -> Self {
        self.options.import.rules.keep(Callee::Composite, name);
        self
    }

    /// Compiles the function of this name instead of `main` or the only public function. Functions that the selected function does not
    /// call are removed.
    ///
    /// ```
    /// use shardc::Compiler;
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   func.func @train(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
    ///   func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
    /// "#;
    /// let compiler = Compiler::new().mesh("data=2")?.spec("arg0", "data")?;
    /// assert!(compiler.partition(source).is_err(), "it does not know which");
    /// let output = compiler.clone().entry("predict").partition(source)?;
    /// assert_eq!(output.manifest().inputs[0].global_shape, [4]);
    /// let error = compiler.entry("predcit").partition(source).unwrap_err();
    /// assert!(error.to_string().contains("did you mean predict?"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn entry(mut self, name: &str) -> Self {
        self.entry = Some(name.to_owned());
        self
    }

    /// Sets the size of a symbolic dimension: a dimension variable of the program (`"b"`), or a dimension of an argument by its index
    /// (`"arg1.0"`, `"params['w'].0"`). All shapes that depend on the dimension are refined.
    ///
    /// ```
    /// use shardc::Compiler;
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    ///     %0 = stablehlo.tanh %x : tensor<?x4xf32>
    ///     return %0 : tensor<?x4xf32>
    ///   }
    /// "#;
    /// let compiler = Compiler::new().mesh("data=8")?.spec("x", "data,-")?.dim("x.0", 64);
    /// let output = compiler.partition(source)?;
    /// assert_eq!(output.manifest().inputs[0].global_shape, [64, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn dim(mut self, name: &str, size: i64) -> Self {
        self.options.import.dims.push(DimSize::new(name, size));
        self
    }

    /// Sets the token that cancels compilations of this compiler, for example from another thread. The token is checked between passes,
    /// and during propagation and planning. After a cancellation, [`Error::interruption`] returns `Interruption::Cancelled`.
    ///
    /// ```
    /// use shardc::{CancelToken, Compiler, Interruption};
    ///
    /// let token = CancelToken::new();
    /// let compiler = Compiler::new().cancel_token(token.clone());
    /// token.cancel();
    /// let source = b"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }";
    /// let error = compiler.partition(source).unwrap_err();
    /// assert_eq!(error.interruption(), Some(Interruption::Cancelled));
    /// ```
    #[must_use]
    pub fn cancel_token(mut self, token: CancelToken) -> Self {
        self.options.interrupt = self.options.interrupt.with_token(token);
        self
    }

    /// Sets the time limit of one compilation, measured from the start of compilation, after parsing. The limit is checked at the same
    /// points as the [token](Compiler::cancel_token). After a timeout, [`Error::interruption`] reports it.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Returns a copy of this compiler for one compilation. The time limit of the copy starts now.
    pub(crate) fn begun(&self) -> Compiler {
        let mut begun = self.clone();
        if let Some(limit) = begun.time_limit.take() {
            begun.options.interrupt = begun.options.interrupt.with_time_limit(limit);
        }
        begun
    }

    /// Makes the function selected by [`Compiler::entry`] the entry of a module.
    pub(crate) fn select_entry(&self, module: &mut Module) -> Result<(), Error> {
        match &self.entry {
            Some(name) => Ok(select_entry(module, name)?),
            None => Ok(()),
        }
    }
}
