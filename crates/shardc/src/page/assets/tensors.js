// Arguments, results and selected values: shardings, the blocks on the mesh, and the propagation paths of axes.

function conflictText(conflict) {
  return conflict.has + " has \"" + conflict.axis + "\"" + (conflict.origin ? " (from " + conflict.origin + ")" : "") + ", but "
    + conflict.lacks + " does not: " + conflict.reason + (conflict.against ? " (from " + conflict.against + ")" : "");
}

// The propagation paths of a value's axes, and its conflicts.
function paths(value) {
  const step = (one) => h("li", null, code(one.value), " " + one.at + ", " + one.how + " ", place(one.place), snippet(one.place));
  const axis = (one) => h("li", null, one.place + ": ", code(one.axis), " from " + one.origin,
    one.steps.length ? h("details", null, h("summary", null, times(one.steps.length, "step")), h("ol", null, one.steps.map(step))) : "");
  const further = [...(value.trimmed || []), ...(value.conflicts || []).map(conflictText)];
  return [value.axes.length ? [h("p", null, "Axes:"), h("ul", null, value.axes.map(axis))] : h("p", null, "No axis shards this value."),
    further.map((text) => h("p", null, text))];
}

function tensorDetail(value) {
  return [blocksDrawing(value), value.op ? h("p", null, "Produced by ", code(value.op), " ", place(value.place)) : h("p", null, place(value.place)),
    snippet(value.place), paths(value)];
}

function tensorsSection(id, title, rows) {
  if (!rows || !rows.length) return;
  const element = section(id, title);
  const axes = (row) => [...new Set(shardedDims(row.sharding).flat().map((axis) => axis.name))];
  const blocks = (row) => blockDims(row).reduce((product, dim) => product * dim.blocks, 1);
  const labelled = rows.some((row) => row.label);
  const table = dataTable({
    caption: title + " with their shardings",
    rows,
    size: 25,
    detail: tensorDetail,
    expand: rows.length === 1,
    filters: [{ title: "Axis", values: (row) => (axes(row).length ? axes(row) : ["(replicated)"]) }],
    text: (row) => placeText(row.place) + (row.axes || []).map((axis) => axis.origin).join(" "),
    columns: [
      { title: "Name", value: (row) => row.name, cell: (row) => code(row.name) },
      ...(labelled ? [{ title: "Front end's name", value: (row) => row.label || "", cell: (row) => code(row.label || "") }] : []),
      { title: "Type", wide: true, value: (row) => row.type, cell: (row) => code(row.type) },
      { title: "Blocks", numeric: true, value: blocks, cell: (row) => h("span", { class: "with-thumbnail" }, count(blocks(row)), thumbnail(row)) },
      { title: "Sharding", value: (row) => row.sharding, cell: (row) => code(row.sharding) },
    ],
  });
  element.append(table.element);
  targets.set(id.replace(/s$/, ""), (index) => table.show(rows[index]));
}
