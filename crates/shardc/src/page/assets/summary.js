// The summary: the mesh, totals, and the most expensive items.

function facts(list) {
  return h("dl", { class: "facts" }, list.filter(Boolean).map(([name, ...value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

// Bars for named amounts, largest first, as a table.
function amounts(caption, list, text) {
  const total = list.reduce((sum, [, amount]) => sum + amount, 0);
  const rows = [...list].sort((a, b) => b[1] - a[1]);
  return h("table", { class: "amounts" }, h("caption", null, caption),
    h("thead", { class: "visually-hidden" }, h("tr", null, ["Name", "Share", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", null, rows.map(([name, amount]) => h("tr", null, h("th", { scope: "row" }, swatch(name), name),
      h("td", null, bar(amount, rows[0][1], name), h("span", { class: "visually-hidden" }, percent(amount, total))),
      h("td", { class: "number" }, text(amount))))));
}

function byKind() {
  const kinds = new Map();
  for (const row of collectives) {
    const name = row.kind + (row.axes.length ? " along " + row.axes.join(", ") : "");
    if (!kinds.has(name)) colored.set(name, color(row.kind));
    kinds.set(name, (kinds.get(name) || 0) + sent(row));
  }
  return [...kinds];
}

function memoryFacts() {
  const { memory, target } = plan;
  const room = memory.limit ? bytes(memory.high) + (memory.fits ? " fits within " : " does not fit into ") + bytes(memory.limit) : "limit unknown";
  return [
    ["Target", target.name + ", " + times(target.devices, "device")],
    ["Peak memory per device", bytes(memory.expected), h("small", null, bytes(memory.low) + " to " + bytes(memory.high) + "; "),
      h("small", { class: memory.limit && !memory.fits ? "bad" : "good" }, room)],
    memory.host && ["Host memory per device", bytes(memory.host)],
    ["Time of a step", seconds(plan.time.seconds), h("small", null, "compute " + seconds(plan.time.compute) + ", exposed communication "
      + seconds(plan.time.exposed))],
    ["Hardware FLOPS utilization", fixed(100 * plan.time.hfu, 1) + " %"],
  ];
}

// The groups of collectives that send the most and differ only in the layer, as in the text of `explain`.
function expensive() {
  const groups = new Map();
  for (const row of collectives) {
    const group = groups.get(row.group) || { first: row, sent: 0, runs: 0 };
    group.sent += sent(row);
    group.runs += row.runs || 1;
    groups.set(row.group, group);
  }
  const items = [...groups.values()].sort((a, b) => b.sent - a.sent).slice(0, 6).map(({ first, sent, runs }) => {
    const node = first.edge && report.graph ? first.edge[1] : null;
    return h("li", null, bytes(sent) + ": ", h("a", { href: "#collective-" + first.number }, code(first.kind)),
      runs > 1 ? " \u00d7" + count(runs) : "", first.axes.length ? [" along ", code(first.axes.join(", "))] : "", " of ", code(first.type),
      first.serves[0] ? [" for ", code(first.serves[0].op)] : "",
      node > 1 ? [" in ", h("a", { href: "#node-" + node }, nodeName(node))] : "");
  });
  return items.length ? h("div", null, h("h3", null, "Collectives that send the most"), h("ol", null, items)) : null;
}

// A change of an amount in words: "1.0 GiB less".
function difference(saved, text, less, more) {
  return saved === 0 ? "the same" : text(Math.abs(saved)) + " " + (saved > 0 ? less : more);
}

function changes() {
  if (!plan || plan.tried === undefined) return null;
  if (!plan.changes.length) {
    return h("p", null, "None of the " + count(plan.tried) + " changes that were tried " + (plan.memory.fits ? "makes the program faster." : "saves memory."));
  }
  const rows = plan.changes.map((change, i) => h("tr", null, h("th", { scope: "row" }, i + 1 + ". " + change.what),
    h("td", null, code(change.how), copyButton(change.how)),
    h("td", { class: "number" }, difference(change.seconds, seconds, "faster", "slower")),
    h("td", { class: "number" }, difference(change.bytes, bytes, "less", "more"))));
  const heads = ["Change", "Option or annotation", "Time", "Memory"];
  const both = plan.together;
  const together = both ? h("p", null, "Changes " + both.changes.join(", ") + " together: " + difference(both.seconds, seconds, "faster", "slower") + ", "
    + difference(both.bytes, bytes, "less", "more") + " memory; " + (both.fits ? "it fits" : "it still does not fit") + ": up to " + bytes(both.high) + ".") : "";
  return h("div", { class: "scroll" }, h("table", null, h("caption", null, "Suggested changes; each is measured alone, and effects do not add up"),
    h("thead", null, h("tr", null, heads.map((title) => h("th", { scope: "col" }, title)))), h("tbody", null, rows)), together);
}

function axesTable() {
  if (!(report.axes || []).length) return null;
  const links = new Map(plan ? plan.mesh.map((axis) => [axis.name, axis]) : []);
  const link = (axis) => links.get(axis.name);
  const columns = [
    { title: "Axis", value: (axis) => axis.name, cell: (axis) => word(axis.name) },
    { title: "Devices", numeric: true, value: (axis) => axis.size },
    { title: "Values that it shards", numeric: true, value: (axis) => axis.values, cell: (axis) => count(axis.values) },
    { title: "Annotations", numeric: true, value: (axis) => axis.annotations.length, cell: (axis) => count(axis.annotations.length) },
  ];
  if (links.size) {
    columns.push({ title: "Link", value: (axis) => (link(axis) ? link(axis).link : "") },
      { title: "Bandwidth", numeric: true, value: (axis) => (link(axis) ? link(axis).bandwidth : 0),
        cell: (axis) => (link(axis) ? fixed(link(axis).bandwidth / 1e9, 1) + " GB/s" : "") });
  }
  return dataTable({
    caption: "Axes of the mesh",
    rows: report.axes,
    columns,
    detail: (axis) => dataTable({
      caption: "Annotations from which " + axis.name + " propagates",
      rows: axis.annotations,
      size: 10,
      sort: [1, true],
      text: (row) => placeText(row.place),
      columns: [
        { title: "Annotation", value: (row) => row.annotation },
        { title: "Values", numeric: true, value: (row) => row.values, cell: (row) => count(row.values) },
        positionColumn,
      ],
    }).element,
  }).element;
}

function summarySection() {
  const element = section("summary", "Summary");
  for (const note of [...(report.notes || []), ...(plan ? plan.notes || [] : [])]) element.append(h("p", { class: "note" }, "Note: " + note));
  const has = (list, word) => list && list.length ? [word, count(list.length)] : null;
  element.append(facts([
    meshAxes.length && ["Mesh", meshAxes.map((axis) => axis.name + " " + axis.size).join(" \u00d7 "), h("small", null, times(devices, "device"))],
    ...(plan ? memoryFacts() : report.target ? [["Target", report.target]] : []),
    collectives.length && ["Bytes sent per device", bytes(totalSent), h("small", null, times(collectives.length, "collective"))],
    has(report.arguments, "Arguments"), has(report.results, "Results"), has(report.conflicts, "Groups of conflicts"),
  ]));
  const kinds = byKind();
  const left = meshDrawing();
  const right = h("div", null,
    kinds.length ? amounts("Bytes sent by kind and axes", kinds, bytes) : null,
    plan && plan.memory.classes.length ? amounts("Memory at the peak, by class",
      plan.memory.classes.map((row) => [row.class, row.bytes]), bytes) : null,
    expensive());
  element.append(h("div", { class: "columns" }, left, right));
  for (const part of [changes(), axesTable()]) if (part) element.append(part);
}
