//! `shardc plugin doctor` of a file that is named.

mod common;

use common::Folder;
use shardc_filetest::skip::{Need, skip};

#[test]
fn a_named_plugin_that_does_not_load_is_told() {
    let folder = Folder::new();
    std::fs::write(folder.path("libtpu.so"), "no plugin").unwrap();
    for (file, kind, why) in
        [("libtpu.so", "tpu", "it is no shared library"), ("missing.so", "cpu", "No such file or directory")]
    {
        let ran = folder.run(&["plugin", "doctor", "--plugin", file]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.out.starts_with(&format!("{kind}: {file} (named explicitly)\n  does not load: ")),
            "{ran:?}"
        );
        assert!(ran.out.contains(why), "{ran:?}");
        // No other is looked at.
        assert_eq!(ran.out.matches("does not load").count(), 1, "{ran:?}");
        assert!(!ran.out.contains("not found;"), "{ran:?}");
        let ran = folder.run(&["plugin", "doctor", "--plugin", file, "--format", "json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.out.contains("\"state\": \"broken\""), "{ran:?}");
    }
}

#[test]
fn a_named_plugin_that_loads_is_looked_at_alone() {
    let folder = Folder::new();
    let listed = folder.run(&["plugin", "list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let plugins = list["plugins"].as_array().unwrap();
    let Some(cpu) = plugins.iter().find(|plugin| plugin["kind"] == "cpu") else {
        return skip(Need::CpuPlugin, "there is no CPU plugin (`shardc plugin install cpu`)");
    };
    let file = cpu["file"].as_str().unwrap();
    let folder_of_plugin = std::path::Path::new(file).parent().unwrap();
    let name = std::path::Path::new(file).file_name().unwrap().to_str().unwrap();
    // A name without a folder is a file here, not one that the loader looks for.
    for (dir, named) in [(folder.root(), file), (folder_of_plugin, name)] {
        let ran = folder.command(&["plugin", "doctor", "--plugin", named]).current_dir(dir).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{out}");
        assert!(out.starts_with(&format!("cpu: {named} (named explicitly)\n  C API ")), "{out}");
        assert_eq!(out.lines().count(), 2, "{out}");
    }
}
