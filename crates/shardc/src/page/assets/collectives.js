// The collectives, most expensive first.

const collectives = report.collectives || [];
const sent = (collective) => collective.bytes * (collective.runs || 1);
const totalSent = collectives.reduce((sum, collective) => sum + sent(collective), 0);

const servedText = (served) => [served.op, placeText(served.place), ...served.because].join(" ");

function servedDetail(served) {
  return h("li", null, served.op ? code(served.op) : "an operation without a source position", " ", place(served.place),
    snippet(served.place), served.because.map((text) => h("p", null, text)));
}

function collectiveDetail(collective) {
  const out = [];
  if (collective.edge && report.graph) {
    const [from, to] = collective.edge;
    out.push(h("p", null, from === to ? "Within " : "From ", h("a", { href: "#node-" + from }, nodeName(from)),
      from === to ? "" : [" to ", h("a", { href: "#node-" + to }, nodeName(to))], " in the graph."));
  }
  out.push(h("p", null, "Reasons:"), h("ul", null, collective.serves.map(servedDetail)));
  for (const side of collective.sides || []) out.push(h("h3", null, code(side.name)), paths(side));
  return out;
}

const nodeName = (node) => report.graph.nodes[node].name;

function collectivesSection() {
  if (!collectives.length) return;
  const element = section("collectives", "Collectives");
  const runsKnown = collectives.some((collective) => collective.runs > 1);
  element.append(h("p", null, times(collectives.length, "collective") + "; each device sends " + bytes(totalSent)
    + " in one execution of the program" + (runsKnown ? ", with the iterations of loops." : ".")));
  const first = (collective) => collective.serves[0];
  const table = dataTable({
    caption: "Collectives by bytes sent in all runs",
    rows: collectives,
    sort: [1, true],
    size: 20,
    filters: [
      { title: "Kind", values: (row) => [row.kind] },
      { title: "Axis", values: (row) => row.axes },
      { title: "Class", values: (row) => (row.class ? [row.class] : []) },
    ],
    text: (row) => row.serves.map(servedText).join(" ") + (row.function ? " " + row.function.name : ""),
    detail: collectiveDetail,
    expand: collectives.length === 1,
    columns: [
      { title: "#", numeric: true, value: (row) => row.number },
      { title: runsKnown ? "Bytes x runs" : "Bytes", numeric: true, value: sent,
        cell: (row) => barred(sent(row), sent(largest), row.kind, bytes(sent(row))) },
      { title: "Share", numeric: true, value: (row) => sent(row) / (totalSent || 1), cell: (row) => percent(sent(row), totalSent) },
      // Without loops, each collective runs once.
      ...(runsKnown ? [{ title: "Bytes", numeric: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
        { title: "Runs", numeric: true, value: (row) => row.runs || 1, cell: (row) => count(row.runs || 1) }] : []),
      { title: "Kind", value: (row) => row.kind, cell: (row) => h("span", { class: "together" }, swatch(row.kind), code(row.kind)) },
      { title: "Class", value: (row) => row.class || "", optional: true },
      { title: "Axes", value: (row) => row.axes.join(", "), cell: (row) => word(row.axes.join(", ")) },
      { title: "Type", wide: true, value: (row) => row.type, cell: (row) => code(row.type) },
      { title: "For", value: (row) => (first(row) ? first(row).op : ""),
        cell: (row) => (first(row) ? [code(first(row).op), " ", place(first(row).place),
          row.serves.length > 1 ? " and " + (row.serves.length - 1) + " more" : "",
          row.function ? [" in ", code("@" + row.function.name)] : ""] : "") },
    ],
  });
  element.append(table.element);
  targets.set("collective", (number) => table.show(collectives.find((row) => row.number === number)));
}

const largest = collectives.reduce((best, row) => (sent(row) > sent(best) ? row : best), collectives[0]);
