//! `shardc ops`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::coverage::{OpCoverage, coverage, markdown};
use shardc_ir::suggest::nearest;

use crate::args::{Format, OpsArgs};
use crate::failure::usage;
use crate::ui::Ui;
use crate::ui::table::Table;

pub(crate) fn run(args: &OpsArgs, ui: &Ui) -> Result<ExitCode> {
    let mut rows = coverage();
    if let Some(name) = &args.op {
        let is_named = |op: &str| op == name || op.split_once('.').is_some_and(|(_, short)| short == name);
        rows.retain(|row| is_named(row.op) || row.same.iter().any(|op| is_named(op)));
        if rows.is_empty() {
            let all = coverage();
            let names = all.iter().flat_map(|row| std::iter::once(&row.op).chain(&row.same));
            let names =
                names.flat_map(|op| op.split_once('.').map(|(_, short)| short).into_iter().chain([*op]));
            let hint = match nearest(name, names) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "`shardc ops` lists all operations".to_owned(),
            };
            return Err(usage(format!("no operation is called {name}; {hint}")));
        }
    }
    if args.markdown || ui.format() == Format::Markdown {
        ui.print(markdown(&rows))?;
    } else {
        ui.result(|| ui.table(&text(&rows)), || json(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(rows: &[OpCoverage]) -> Table {
    let mut table =
        Table::new(&["operation", "operands -> results", "derivative", "factor", "role", "even", "uneven"]);
    for row in rows {
        let name = if row.form.is_empty() { row.op.to_owned() } else { format!("{}, {}", row.op, row.form) };
        let mut first = [name, row.dims.clone(), row.derivative()];
        for factor in &row.factors {
            let [name, dims, derivative] = std::mem::take(&mut first);
            let (even, uneven) = (factor.even.to_string(), factor.uneven.to_string());
            table.row(vec![name, dims, derivative, factor.letter.clone(), factor.role.into(), even, uneven]);
        }
        if row.factors.is_empty() {
            let [name, dims, derivative] = first;
            table.row(vec![name, dims, derivative, "-".into()]);
        }
    }
    table
}

fn json(rows: &[OpCoverage]) -> Value {
    let row = |row: &OpCoverage| {
        let factors = row.factors.iter().map(|factor| {
            json!({
                "split": factor.letter,
                "role": factor.role,
                "even": factor.even.to_string(),
                "uneven": factor.uneven.to_string(),
            })
        });
        let derivatives =
            row.derivatives.iter().map(|(name, of)| ((*name).to_owned(), json!(of.to_string())));
        json!({
            "operation": row.op,
            "form": row.form,
            "same": row.same,
            "dimensions": row.dims,
            "factors": factors.collect::<Vec<_>>(),
            "derivatives": derivatives.collect::<serde_json::Map<_, _>>(),
        })
    };
    json!({ "version": 1, "operations": rows.iter().map(row).collect::<Vec<_>>() })
}
