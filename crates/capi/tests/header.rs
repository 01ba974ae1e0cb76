//! Checks that `include/shardc.h` is what cbindgen generates. With `SHARDC_BLESS=1` the file is written.

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_generated_from_the_functions() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(package).with_config(config).generate().unwrap();
    let mut generated = Vec::new();
    bindings.write(&mut generated);
    let generated = String::from_utf8(generated).unwrap();
    let header = package.join("include/shardc.h");
    if std::env::var_os("SHARDC_BLESS").is_some() {
        fs::write(&header, &generated).unwrap();
    }
    let stored = fs::read_to_string(&header).unwrap_or_default();
    assert!(stored == generated, "run this test with SHARDC_BLESS=1 to update include/shardc.h");
}
