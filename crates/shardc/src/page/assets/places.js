// Source positions: links to the lines of the program, and positions in the user's program that can be copied.

// The lines of the program that the report mentions, by number.
const lines = new Map();
for (const value of values) {
  if (value && value.line !== undefined && value.text !== undefined && !lines.has(value.line)) {
    lines.set(value.line, value);
  }
}

const fileName = report.source.replace(/^.*[/\\]/, "");

function copyButton(text) {
  return h("button", {
    type: "button", class: "copy", "aria-label": "Copy " + text,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        status("Copied " + text);
      } catch {
        // Without access to the clipboard, the text is selected for the user.
        const range = document.createRange();
        range.selectNodeContents(document.activeElement.previousSibling);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        status("Selected " + text);
      }
    },
  }, "copy");
}

function lineLink(line) {
  const text = fileName + ":" + line;
  return lines.has(line) ? h("a", { href: "#line-" + line }, text) : text;
}

// A source position: the line of the program, the calls, and the position in the user's program.
function place(at) {
  if (!at) return [];
  const out = [];
  if (at.line !== undefined) out.push(lineLink(at.line));
  for (const call of at.calls || []) out.push(", called at line ", lineLink(call));
  const user = at.user || at.name;
  if (user) out.push(out.length ? " " : "", h("span", { class: "user" }, code(user), copyButton(user)));
  return h("span", { class: "place" }, out);
}

// The column of the source positions of rows. It is left out if no row has one.
const positionColumn = {
  title: "Position",
  optional: true,
  value: (row) => (row.place && (row.place.line || row.place.user || row.place.name)) || "",
  cell: (row) => place(row.place),
};

const placeText = (at) => (at ? [at.line, at.text, at.user, at.name].filter(Boolean).join(" ") : "");

// The line of the program at a position.
function snippet(at) {
  if (!at || at.text === undefined) return null;
  return h("pre", { class: "snippet" }, h("span", { class: "line-number" }, at.line + " "), at.text);
}

function linesSection() {
  if (!lines.size) return;
  const rows = [...lines.values()].sort((a, b) => a.line - b.line);
  const element = section("lines", "Lines of the program");
  element.append(h("p", null, "The lines that this page mentions, truncated if they are long."));
  const table = dataTable({
    caption: "Lines of " + report.source,
    rows,
    columns: [
      { title: "Line", numeric: true, value: (row) => row.line },
      { title: "Text", value: (row) => row.text, cell: (row) => code(row.text) },
      { title: "Position in the user's program", value: (row) => row.user || row.name || "",
        cell: (row) => (row.user || row.name ? [code(row.user || row.name), copyButton(row.user || row.name)] : "") },
    ],
  });
  element.append(table.element);
  targets.set("line", (line) => table.show(lines.get(line)));
}
