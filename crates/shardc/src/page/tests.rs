//! Tests of the page as text. Its scripts are tested in a browser.

use super::{SCRIPT, STYLE, fill, render};
use crate::explain::{Question, Report, SourcePlace, ValueReport};
use crate::plan::PlanReport;
use crate::{Compiler, Error};

/// A program whose names are markup.
const HOSTILE: &[u8] = br#"
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(
      %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>,
        jax.arg_info = "</script><script>alert(1)</script>"},
      %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
    return %0 : tensor<32x16xf32>
  }
"#;

#[test]
fn names_cannot_add_markup() -> Result<(), Error> {
    let report = Compiler::new().explain(HOSTILE, "a/<img src=x>&{{data}}.mlir", &Question::Summary)?;
    let page = report.to_html();
    assert_eq!(page.matches("</script").count(), 2, "the data and the scripts");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;img src=x&gt;&amp;{{data}}.mlir"));
    Ok(())
}

#[test]
fn the_page_refers_to_nothing() {
    let page = render(&Report::default(), Some(&PlanReport::default()));
    for reference in ["http:", "https:", "src=", "@import", "<link", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count(), "only parts of the page");
    assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    assert!(!SCRIPT.contains("innerHTML"), "data is inserted as text only");
}

#[test]
fn marks_are_replaced_once() {
    assert_eq!(fill("a {{x}} b {{y}}", &[("{{x}}", "{{y}}"), ("{{y}}", "2")]), "a {{y}} b 2");
}

/// The propagation paths of the arguments share their steps, so the page grows with the number of distinct steps.
#[test]
fn equal_paths_are_stored_once() {
    let text = "x".repeat(90);
    let place = SourcePlace { line: Some(7), text: Some(text.clone()), ..SourcePlace::default() };
    let value =
        |i: usize| ValueReport { name: format!("%arg{i}"), place: place.clone(), ..ValueReport::default() };
    let report = Report { arguments: (0..1000).map(value).collect(), ..Report::default() };
    assert_eq!(report.to_html().matches(&text).count(), 1);
}
