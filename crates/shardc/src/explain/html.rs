//! A report as one self-contained HTML page.

use std::fmt::Write as _;

use super::collectives::{conflict_text, times};
use super::report::{CollectiveReport, ConflictReport, Report, SourcePlace, ValueReport};
use super::text::bytes;

/// The style sheet of the page.
const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#222}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25em .8em .25em 0;\
border-bottom:1px solid #ddd}td.n{text-align:right;white-space:nowrap}code,pre{font:13px/1.4 ui-monospace,monospace}\
pre{margin:.1em 0;white-space:pre-wrap}summary{cursor:pointer}.dim{color:#777}ol{margin:.2em 0 .6em 1.2em;padding:0}";

impl Report {
    /// The report as an HTML page without scripts or external references.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut page = Page { out: String::new(), source: &self.source };
        let title = escaped(&self.source);
        page.raw(&format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
             <style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        ));
        for note in &self.notes {
            page.raw(&format!("<p>{}</p>\n", escaped(note)));
        }
        page.axes(self);
        page.values("Values", &self.values);
        page.values("Arguments", &self.arguments);
        page.values("Results", &self.results);
        page.conflicts(&self.conflicts);
        page.replicated(self);
        page.collectives(&self.collectives);
        page.raw("</body></html>\n");
        page.out
    }
}

struct Page<'a> {
    out: String,
    source: &'a str,
}

impl Page<'_> {
    fn raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    fn place(&self, place: &SourcePlace) -> String {
        let line = place.line.map(|line| format!("{}:{line}", escaped(self.source))).unwrap_or_default();
        format!("<span class=\"dim\">{line} {}</span>", escaped(&place.details()))
    }

    fn axes(&mut self, report: &Report) {
        if report.axes.is_empty() {
            return;
        }
        self.raw("<h2>Axes</h2>\n<table><tr><th>axis<th>devices<th>values<th>from</tr>\n");
        for axis in &report.axes {
            let mut from = String::new();
            for annotation in &axis.annotations {
                let _ = write!(
                    from,
                    "<li>{} values from {} {}",
                    annotation.values,
                    escaped(&annotation.annotation),
                    self.place(&annotation.place)
                );
            }
            self.raw(&format!(
                "<tr><td><code>{}</code><td class=\"n\">{}<td class=\"n\">{}<td><details><summary>{} \
                 annotations</summary><ul>{from}</ul></details></tr>\n",
                escaped(&axis.name),
                axis.size,
                axis.values,
                axis.annotations.len()
            ));
        }
        self.raw("</table>\n");
    }

    fn values(&mut self, heading: &str, values: &[ValueReport]) {
        if values.is_empty() {
            return;
        }
        self.raw(&format!("<h2>{heading}</h2>\n<table><tr><th>name<th>type<th>sharding</tr>\n"));
        for value in values {
            let label = value.label.as_ref().map(|l| format!(" {}", escaped(l))).unwrap_or_default();
            let ways = self.ways(value);
            let sharding = format!("<code>{}</code>", escaped(&value.sharding));
            let sharding = match ways.is_empty() {
                true => sharding,
                false => format!("<details><summary>{sharding}</summary>{ways}</details>"),
            };
            self.raw(&format!(
                "<tr><td><code>{}</code>{label}<td><code>{}</code><td>{sharding}</tr>\n",
                escaped(&value.name),
                escaped(&value.ty)
            ));
        }
        self.raw("</table>\n");
    }

    /// The propagation paths of a value's axes, and its conflicts.
    fn ways(&self, value: &ValueReport) -> String {
        let mut out = String::new();
        for axis in &value.axes {
            let _ = write!(
                out,
                "<div>{}: <code>{}</code> from {}</div><ol>",
                escaped(&axis.place),
                escaped(&axis.axis),
                escaped(&axis.origin)
            );
            for step in &axis.steps {
                let _ = write!(
                    out,
                    "<li><code>{}</code> {}, {} {}",
                    escaped(&step.value),
                    escaped(&step.at),
                    escaped(&step.how),
                    self.place(&step.place)
                );
                if let Some(text) = &step.place.text {
                    let _ = write!(out, "<pre>{}</pre>", escaped(text));
                }
            }
            out.push_str("</ol>");
        }
        for text in value.trimmed.iter().cloned().chain(value.conflicts.iter().map(conflict_text)) {
            let _ = write!(out, "<p>{}</p>", escaped(&text));
        }
        out
    }

    fn conflicts(&mut self, conflicts: &[ConflictReport]) {
        if conflicts.is_empty() {
            return;
        }
        self.raw("<h2>Conflicts</h2>\n<table><tr><th>bytes per device<th>times<th>operation<th>why</tr>\n");
        for conflict in conflicts {
            self.raw(&format!(
                "<tr><td class=\"n\">{}<td class=\"n\">{}<td><code>{}</code> {}<td>{}</tr>\n",
                bytes(conflict.bytes),
                conflict.count,
                escaped(&conflict.op),
                self.place(&conflict.place),
                escaped(&conflict_text(conflict))
            ));
        }
        self.raw("</table>\n");
    }

    fn replicated(&mut self, report: &Report) {
        if report.replicated.is_empty() {
            return;
        }
        self.raw("<h2>Large replicated values</h2>\n<table><tr><th>bytes<th>count<th>value<th>type</tr>\n");
        for value in &report.replicated {
            self.raw(&format!(
                "<tr><td class=\"n\">{}<td class=\"n\">{}<td><code>{}</code> {} {}<td><code>{}</code></tr>\n",
                bytes(value.bytes),
                value.count,
                escaped(&value.name),
                escaped(&value.op),
                self.place(&value.place),
                escaped(&value.ty)
            ));
        }
        self.raw("</table>\n");
    }

    fn collectives(&mut self, collectives: &[CollectiveReport]) {
        if collectives.is_empty() {
            return;
        }
        self.raw("<h2>Collectives</h2>\n<table><tr><th>#<th>bytes sent<th>collective<th>for</tr>\n");
        for collective in collectives {
            let mut because = String::new();
            for (i, served) in collective.serves.iter().enumerate() {
                if i > 0 {
                    let _ = write!(
                        because,
                        "<p><code>{}</code> {}</p>",
                        escaped(&served.op),
                        self.place(&served.place)
                    );
                }
                for text in &served.because {
                    let _ = write!(because, "<p>{}</p>", escaped(text));
                }
            }
            for side in &collective.sides {
                let _ = write!(because, "<p><code>{}</code></p>{}", escaped(&side.name), self.ways(side));
            }
            let first = match collective.serves.as_slice() {
                [] => String::new(),
                [first] => self.place(&first.place),
                [first, rest @ ..] => format!("{} and {} more", self.place(&first.place), rest.len()),
            };
            self.raw(&format!(
                "<tr><td class=\"n\">{}<td class=\"n\">{}{}<td><code>{} {}</code> along {}<td><details><summary>\
                 <code>{}</code> {}</summary>{because}</details></tr>\n",
                collective.number,
                bytes(collective.bytes),
                if collective.in_loop { " in a loop" } else { "" }.to_owned()
                    + &collective.function.as_ref().map_or_else(String::new, |function| {
                        format!(" in <code>@{}</code>, called {}", escaped(&function.name), times(function.runs))
                    }),
                escaped(&collective.kind),
                escaped(&collective.ty),
                escaped(&collective.axes.join(", ")),
                escaped(collective.serves.first().map_or("", |first| &first.op)),
                first
            ));
        }
        self.raw("</table>\n");
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
