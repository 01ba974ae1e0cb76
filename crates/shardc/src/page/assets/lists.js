// Further tables: traffic of the plan, conflicts, large replicated values.

function trafficSection() {
  if (!plan || !plan.communication.length) return;
  const rows = plan.communication;
  const most = Math.max(...rows.map((row) => row.seconds));
  section("traffic", "Communication by kind").append(dataTable({
    caption: "Time of communication in one step",
    rows,
    sort: [6, true],
    columns: [
      { title: "Kind", value: (row) => row.kind, cell: (row) => h("span", { class: "together" }, swatch(row.kind), code(row.kind)) },
      { title: "Axes", value: (row) => row.axes.join(", "), cell: (row) => word(row.axes.join(", ")) },
      { title: "Link", value: (row) => row.link },
      { title: "Operations", numeric: true, value: (row) => row.count, cell: (row) => count(row.count) },
      { title: "Runs", numeric: true, value: (row) => row.runs, cell: (row) => count(row.runs) },
      { title: "Bytes", numeric: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
      { title: "Time", numeric: true, value: (row) => row.seconds, cell: (row) => barred(row.seconds, most, row.kind, seconds(row.seconds)) },
      { title: "Exposed", numeric: true, value: (row) => row.exposed, cell: (row) => seconds(row.exposed) },
    ],
  }).element);
}

function conflictsSection() {
  const rows = report.conflicts || [];
  if (!rows.length) return;
  section("conflicts", "Conflicts").append(dataTable({
    caption: "Conflicts between shardings, with the bytes that a device sends because of them",
    rows,
    size: 25,
    sort: [0, true],
    filters: [{ title: "Axis", values: (row) => [row.axis] }, { title: "Operation", values: (row) => [row.op] }],
    text: (row) => placeText(row.place),
    detail: (row) => [h("p", null, conflictText(row)), snippet(row.place)],
    columns: [
      { title: "Bytes sent", numeric: true, value: (row) => row.sent || 0, cell: (row) => (row.sent === undefined ? "" : bytes(row.sent)) },
      { title: "Times", numeric: true, value: (row) => row.count, cell: (row) => count(row.count) },
      { title: "Operation", value: (row) => row.op, cell: (row) => [code(row.op), " ", place(row.place)] },
      { title: "Axis", value: (row) => row.axis, cell: (row) => word(row.axis) },
      { title: "Reason", value: conflictText },
    ],
  }).element);
}

function replicatedSection() {
  const rows = report.replicated || [];
  if (!rows.length) return;
  section("replicated", "Large replicated values").append(dataTable({
    caption: "Values of at least 1 MiB that every device stores, grouped by operation and type",
    rows,
    size: 25,
    sort: [0, true],
    text: (row) => placeText(row.place),
    columns: [
      { title: "Total", numeric: true, value: (row) => row.bytes * row.count, cell: (row) => bytes(row.bytes * row.count) },
      { title: "Bytes", numeric: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
      { title: "Values", numeric: true, value: (row) => row.count, cell: (row) => count(row.count) },
      { title: "First value", value: (row) => row.name, cell: (row) => [code(row.name), " by ", code(row.op), " ", place(row.place)] },
      { title: "Type", wide: true, value: (row) => row.type, cell: (row) => code(row.type) },
    ],
  }).element);
}
