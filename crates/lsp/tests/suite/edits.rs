use serde_json::{Value, json};

use crate::client::{Client, MATMUL, position, range};

#[test]
fn an_edit_breaks_the_program_and_another_repairs_it() {
    let mut client = Client::open(MATMUL);
    assert_eq!(client.diagnostics(), Vec::<Value>::new(), "partitioned");
    assert_eq!(client.hints(3..4), [(3, "8x16".to_owned())]);
    let line = "%0 = stablehlo.dot_general";
    client.did_change(2, &[(range(MATMUL, line), "%0 = stablehlo.dot_gen")]);
    let broken = client.problems();
    assert_eq!(broken[0]["severity"], 1);
    assert_eq!(client.hints(0..99), [], "a program with errors has no shardings");
    let text = MATMUL.replace(line, "%0 = stablehlo.dot_gen");
    let definition = client.at("textDocument/definition", &position(&text, "%0)"));
    assert_eq!(definition["range"], range(&text, "%0"), "names are still known");
    client.did_change(3, &[(range(&text, "%0 = stablehlo.dot_gen"), line)]);
    assert_eq!(client.diagnostics(), Vec::<Value>::new(), "the errors are removed at once");
    client.partitioned();
    assert_eq!(client.hints(3..4), [(3, "8x16".to_owned())]);
    client.shut_down();
}

#[test]
fn full_and_incremental_changes_are_applied_in_order() {
    let mut client = Client::open("");
    let first = MATMUL.replace("@twice", "@thrice");
    let changes = [
        (Value::Null, first.as_str()),
        (range(&first, "@thrice"), "@double"),
        (range(&first, "32x64"), "64x64"),
    ];
    client.did_change(2, &changes);
    let expected = first.replacen("@thrice", "@double", 1).replacen("32x64", "64x64", 1);
    let found = client.problems();
    assert!(found[0]["message"].as_str().unwrap().contains("tensor<64x64xf32>"), "{found:?}");
    let symbol = client.at("textDocument/definition", &position(&expected, "@mesh, "));
    assert_eq!(symbol["range"], range(&expected, "@mesh"));
    let hover = client.hover(&expected, "%x:");
    assert!(hover.contains("%x"), "{hover}");
    client.shut_down();
}

#[test]
fn half_typed_programs_and_odd_texts_do_not_end_the_server() {
    let mut client = Client::start();
    let long = format!("// {}\n", "x".repeat(1 << 20));
    let nested = "(".repeat(100_000);
    let mut texts: Vec<String> =
        ["", "\0", "\u{feff}", "%", "func.func", "\"", "// -----", "\r\r\n", "sdy.mesh @m = <[\"a\"=0]>"]
            .map(str::to_owned)
            .to_vec();
    texts.extend([long, nested, format!("{}\u{1f600}", MATMUL), MATMUL.replace('\n', "\r\n")]);
    // Every prefix of a program, as it is typed.
    texts.extend(MATMUL.char_indices().step_by(7).map(|(at, _)| MATMUL[..at].to_owned()));
    client.did_open(crate::client::URI, "");
    for (version, text) in (2..).zip(&texts) {
        client.did_change(version, &[(Value::Null, text)]);
        client.at("textDocument/hover", &json!({ "line": 0, "character": 1 }));
        client.at("textDocument/definition", &json!({ "line": 3, "character": 30 }));
        client.at("textDocument/documentSymbol", &Value::Null);
        client.hints(0..u32::MAX);
    }
    client.shut_down();
}

#[test]
fn positions_after_other_characters_are_utf16() {
    let comment = "/*";
    let text = MATMUL.replace(
        "  %1 = call",
        &format!("  %s = \"\u{e4}\u{1f600}.op\"(%0) : (tensor<32x16xf32>) -> tensor<32x16xf32> // {comment}\n  %1 = call"),
    );
    let text = text.replace("\"\u{e4}\u{1f600}.op\"(%0)", "stablehlo.custom_call @\"\u{e4}\u{1f600}\"(%0)");
    let mut client = Client::open(&text);
    let used = position(&text, "%0) : (tensor<32x16xf32>) -> tensor<32x16xf32> //");
    let column = used["character"].as_u64().unwrap();
    let line = text.lines().nth(used["line"].as_u64().unwrap() as usize).unwrap();
    assert_eq!(line.find("%0").unwrap() as u64, column + 3, "bytes and code units differ");
    let definition = client.at("textDocument/definition", &used);
    assert_eq!(definition["range"], range(&text, "%0"));
    let references = client.at("textDocument/references", &position(&text, "%0 ="));
    assert_eq!(references.as_array().unwrap()[1]["range"]["start"], used);
    let end = json!({ "line": used["line"], "character": column + 2 });
    client.did_change(2, &[(json!({ "start": used, "end": end }), "%none")]);
    let found = loop {
        let found = client.diagnostics();
        if let Some(error) = found.iter().find(|found| found["severity"] == 1) {
            break error.clone();
        }
    };
    assert_eq!(found["range"]["start"], used);
    assert_eq!(found["range"]["end"]["character"], column + 5);
    client.shut_down();
}

#[test]
fn several_programs_in_a_text_are_separate() {
    let text = format!("{MATMUL}// -----\n{MATMUL}// -----\nfunc.func @main(\n");
    let mut client = Client::open(&text);
    let found = client.diagnostics();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["range"]["start"]["line"].as_u64() >= Some(24), "{found:?}");
    let hints = client.hints(0..99);
    assert_eq!(hints.len(), 12);
    assert_eq!(hints[8], (15, "8x16".to_owned()));
    // The definition of the same name in the second program.
    let used = json!({ "line": 16, "character": 20 });
    let definition = client.at("textDocument/definition", &used);
    assert_eq!(definition["range"]["start"], json!({ "line": 15, "character": 2 }));
    let hover = client.at("textDocument/hover", &json!({ "line": 15, "character": 3 }));
    let hover = hover["contents"]["value"].as_str().unwrap();
    assert!(hover.contains("at line 16, to %0") && hover.contains("all_reduce"), "{hover}");
    client.shut_down();
}
