// The drawing of the graph: nodes from top to bottom in program order, values as curves at the right, collectives as text on the edges.

const ROW = 38, LINE = 17, BOX = 400, LEFT = 330, INDENT = 22, RIGHT = 430;

// Text that fits into a width in pixels.
const clip = (text, width, each = 7.2) => (text.length * each <= width ? text : text.slice(0, Math.max(1, Math.floor(width / each) - 1)) + "\u2026");

// Positions of visible nodes, and the lines of text at each: at the left for arguments, in the box, and at the right.
function graphLayout(model) {
  const shown = model.visible();
  const edges = model.visibleEdges();
  const order = new Map(shown.map((item, row) => [item.i, row]));
  for (const item of shown) Object.assign(item, { left: [], inner: [], right: [], above: [] });
  const item = (i) => shown[order.get(i)];
  for (const edge of edges) {
    const to = item(edge.to);
    const adjacent = order.get(edge.to) === order.get(edge.from) + 1 && !item(edge.from).expanded;
    if (edge.from === edge.to) to.inner.push(...edge.groups.map((group) => ({ group })));
    else if (edge.from === ARGUMENTS) {
      if (edge.values) to.left.push({ text: times(edge.values, "argument use") + ", " + bytes(edge.bytes) + " \u2192" });
      to.left.push(...edge.groups.map((group) => ({ group })));
    } else if (adjacent && !edge.next) to.above.push(...edge.groups.map((group) => ({ group })));
    else to.right.push(...edge.groups.map((group) => ({ group, from: edge.from, next: edge.next })));
  }
  let y = 14;
  const ends = [];
  for (const one of shown) {
    while (ends.length && ends[ends.length - 1].depth >= one.depth) { ends.pop().bottom = y; y += 8; }
    for (const list of ["left", "inner", "right", "above"]) {
      if (one[list].length > 5) one[list].splice(4, one[list].length, { text: "and " + (one[list].length - 4) + " more kinds" });
    }
    y += 14 + one.above.length * LINE;
    one.y = y;
    one.x = LEFT + one.depth * INDENT;
    one.width = BOX - 2 * one.depth * INDENT * 0.5;
    one.height = ROW + Math.max(one.inner.length, one.left.length - 1, one.right.length - 1, 0) * LINE;
    if (one.expanded) { one.height = ROW; ends.push(one); }
    y += one.height + 8;
  }
  while (ends.length) { ends.pop().bottom = y; y += 8; }
  return { shown, edges, item, height: y + 10, width: LEFT + BOX + RIGHT };
}

function drawEdges(layout, all) {
  const { edges, item } = layout;
  const curves = edges.filter((edge) => edge.from !== edge.to && edge.from !== ARGUMENTS);
  const most = Math.max(1, ...curves.map((edge) => edge.bytes));
  const order = new Map(layout.shown.map((one, row) => [one.i, row]));
  const kept = [...curves].sort((a, b) => b.bytes - a.bytes)
    .filter((edge, i) => all || edge.groups.length || (edge.to !== RESULTS && i < 60));
  return kept.map((edge) => {
    const from = item(edge.from), to = item(edge.to);
    const width = 1 + 4 * Math.sqrt(edge.bytes / most);
    const name = "edge" + (edge.groups.length ? " with-collectives" : "") + (edge.next ? " next" : "");
    const rows = order.get(edge.to) - order.get(edge.from);
    const title = s("title", null, times(edge.values, "value") + ", " + bytes(edge.bytes) + " on each device before fusion, from "
      + nodeName(edge.from) + " to " + nodeName(edge.to) + (edge.next ? " of the next copy" : "")
      + edge.groups.map((group) => "; " + groupText(group)).join(""));
    if (rows === 1 && !from.expanded) {
      const x = to.x + 24;
      return s("g", { class: name }, title, s("path", { d: "M" + x + " " + (from.y + from.height) + "V" + (to.y - 1), "stroke-width": width, "marker-end": "url(#arrow)" }));
    }
    const startX = from.x + from.width, endX = to.x + to.width + 2;
    const startY = from.y + Math.min(from.height, ROW) * 0.65, endY = to.y + ROW * 0.35;
    const bulge = Math.max(startX, endX) + 26 + 16 * Math.sqrt(Math.abs(rows) * 3);
    return s("g", { class: name }, title, s("path", {
      d: "M" + startX + " " + startY + "C" + bulge + " " + startY + " " + bulge + " " + endY + " " + endX + " " + endY,
      "stroke-width": width, "marker-end": "url(#arrow)",
    }));
  });
}

function collectiveText(line, x, y, anchor, width) {
  const { group } = line;
  if (!group) return s("text", { x, y, class: "stub", "text-anchor": anchor, "aria-hidden": "true" }, clip(line.text, width, 6.3));
  const from = line.from === undefined ? "" : line.next ? "to the next copy: " : "from " + clip(nodeName(line.from), 130) + ": ";
  // Hidden from screen readers: the label of the node lists the collectives, and the details beside the graph link to them.
  return s("text", { x, y, class: "collective-name " + color(group.kind), "text-anchor": anchor, "aria-hidden": "true",
    onclick: () => { location.hash = "#collective-" + group.largest.number; } },
  s("title", null, from + groupText(group) + ". Opens the largest of them in the table."), "\u25cf ", clip(from + groupText(group), width, 6.3));
}

function drawNode(model, one, handlers) {
  const node = model.nodes[one.i];
  const parent = node.parent === undefined ? null : model.nodes[node.parent];
  const expandable = model.children[one.i].length > 0;
  const label = node.name + copiesText(node, parent);
  const lines = [...one.left, ...one.above, ...one.inner, ...one.right].filter((line) => line.group).map((line) => groupText(line.group));
  const element = s("g", {
    role: "treeitem", tabindex: "-1", id: "graph-node-" + one.i, "aria-level": one.depth + 1, "data-node": one.i,
    "aria-expanded": expandable ? String(one.expanded) : undefined,
    "aria-label": label + (lines.length ? "; collectives: " + lines.join("; ") : ""),
    class: "node " + node.kind + (one.expanded ? " expanded" : ""),
  });
  if (one.expanded) {
    element.append(s("rect", { x: one.x - 8, y: one.y - 6, width: one.width + 16, height: one.bottom - one.y + 6, rx: 8, class: "frame" }));
  } else if (node.copies > (parent ? parent.copies : 1)) {
    for (const offset of [8, 4]) element.append(s("rect", { x: one.x + offset, y: one.y + offset, width: one.width, height: one.height, rx: 6, class: "copy-of" }));
  }
  element.append(s("rect", { x: one.x, y: one.y, width: one.width, height: one.height, rx: 6, class: "box" }));
  const sign = expandable ? (one.expanded ? "\u25be " : "\u25b8 ") : "";
  element.append(s("text", { x: one.x + 12, y: one.y + 24, class: "name" }, s("title", null, label), sign + clip(label, one.width - 40)));
  element.addEventListener("click", () => handlers.select(one.i));
  element.addEventListener("dblclick", () => handlers.toggle(one.i));
  element.querySelector(".name").addEventListener("click", () => expandable && handlers.toggle(one.i));
  const texts = [
    ...one.inner.map((line, i) => collectiveText(line, one.x + 14, one.y + ROW + 2 + i * LINE, "start", one.width - 20)),
    ...one.left.map((line, i) => collectiveText(line, LEFT - 16, one.y + 22 + i * LINE, "end", LEFT - 20)),
    ...one.above.map((line, i) => collectiveText(line, one.x + 36, one.y - 8 - (one.above.length - 1 - i) * LINE, "start", one.width)),
    ...one.right.map((line, i) => collectiveText(line, one.x + one.width + 22, one.y + 16 + i * LINE, "start", RIGHT - 30)),
  ];
  return [element, ...texts];
}

// What is known about a node, beside the graph.
function nodeDetails(model, i) {
  const node = model.nodes[i];
  const row = (name, ...value) => h("div", null, h("dt", null, name), h("dd", null, value));
  const related = model.visibleEdges().filter((edge) => edge.from === i || edge.to === i);
  const edge = (one, other, word) => h("li", null, word, h("a", { href: "#node-" + other }, nodeName(other)), 
    one.values ? ": " + times(one.values, "value") + ", " + bytes(one.bytes) + " on each device before fusion" : "",
    one.groups.length ? h("ul", null, one.groups.map((group) => h("li", null, swatch(group.kind),
      h("a", { href: "#collective-" + group.largest.number }, groupText(group))))) : "");
  const edges = related.map((one) => (one.from === one.to ? edge(one, i, "within or to the next copy of ")
    : one.to === i ? edge(one, one.from, "from ") : edge(one, one.to, "to ")));
  return [h("h3", null, node.name), h("dl", null,
    node.type && row("Type", code(node.type)), node.sharding && row("Sharding", code(node.sharding)),
    row(i === ARGUMENTS || i === RESULTS ? "Values" : "Operations", count(model.operations[i])),
    node.copies > 1 && row("Copies", count(node.copies)), node.trips && row("Iterations", count(node.trips)),
    node.place.line !== undefined && row("First operation", place(node.place), snippet(node.place))),
  h("h4", null, "Edges"), edges.length ? h("ul", { class: "edges" }, edges.slice(0, 40)) : h("p", null, "None.")];
}

function graphTable(model) {
  const rows = model.visibleEdges();
  return dataTable({
    caption: "Edges between the visible nodes",
    rows,
    sort: [4, true],
    columns: [
      { title: "From", value: (edge) => nodeName(edge.from) },
      { title: "To", value: (edge) => nodeName(edge.to) + (edge.next ? " (next copy)" : "") },
      { title: "Values", numeric: true, value: (edge) => edge.values },
      { title: "Bytes per device before fusion", numeric: true, value: (edge) => edge.bytes, cell: (edge) => bytes(edge.bytes) },
      { title: "Bytes of collectives", numeric: true, value: (edge) => edge.groups.reduce((sum, group) => sum + group.bytes, 0),
        cell: (edge) => bytes(edge.groups.reduce((sum, group) => sum + group.bytes, 0)) },
      { title: "Collectives", value: (edge) => edge.groups.map(groupText).join("; ") },
    ],
  }).element;
}

function graphSection() {
  if (!report.graph || report.graph.nodes.length < 3) return;
  const element = section("graph", "Layers and their collectives");
  const model = graphModel();
  const layer = s("g");
  const arrow = s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    s("path", { d: "M0 0L8 4L0 8z" }));
  const picture = s("svg", { class: "graph", role: "tree", "aria-label": "Layers of the program, in program order", "aria-describedby": "graph-help" }, s("defs", null, arrow), layer);
  const details = h("aside", { class: "details", "aria-label": "Selected node", "aria-live": "polite" });
  const alternative = h("details", { ontoggle: () => alternative.open && alternative.replaceChildren(alternative.firstChild, graphTable(model)) },
    h("summary", null, "The edges as a table"));
  let layout = null, selected = ARGUMENTS, all = false;
  const view = panZoom(picture, layer, () => layout);

  function draw() {
    layout = graphLayout(model);
    layer.replaceChildren(...drawEdges(layout, all), ...layout.shown.flatMap((one) => drawNode(model, one, { select, toggle })));
    if (alternative.open) alternative.replaceChildren(alternative.firstChild, graphTable(model));
    mark();
  }

  function mark() {
    for (const node of layer.querySelectorAll(".node")) {
      const is = Number(node.dataset.node) === selected;
      node.classList.toggle("selected", is);
      node.setAttribute("aria-selected", String(is));
      node.setAttribute("tabindex", is ? "0" : "-1");
    }
  }

  function select(i, focus) {
    selected = i;
    mark();
    details.replaceChildren(...nodeDetails(model, i));
    if (focus) {
      view.show(layout.item(i));
      layer.querySelector("#graph-node-" + i).focus({ preventScroll: true });
    }
  }

  function toggle(i) {
    if (!model.children[i].length) return;
    if (model.open.has(i)) model.open.delete(i); else model.open.add(i);
    draw();
    select(i, true);
  }

  function key(event) {
    const shown = layout.shown.map((one) => one.i), row = shown.indexOf(selected);
    const { parent } = model.nodes[selected];
    const isOpen = model.open.has(selected);
    const actions = {
      ArrowDown: () => select(shown[Math.min(row + 1, shown.length - 1)], true),
      ArrowUp: () => select(shown[Math.max(row - 1, 0)], true),
      Home: () => select(shown[0], true), End: () => select(shown[shown.length - 1], true),
      ArrowRight: () => (isOpen ? select(model.children[selected][0], true) : toggle(selected)),
      ArrowLeft: () => (isOpen ? toggle(selected) : parent !== undefined && select(parent, true)),
      Enter: () => toggle(selected), " ": () => toggle(selected),
      "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), 0: () => view.reset(),
    };
    const moves = { ArrowDown: [0, -80], ArrowUp: [0, 80], ArrowLeft: [80, 0], ArrowRight: [-80, 0] };
    if (event.shiftKey && moves[event.key]) view.move(...moves[event.key]);
    else if (!event.ctrlKey && !event.metaKey && !event.altKey && actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }

  // Shows the next node with a text in its name, type or position, after the selected node.
  function find(event) {
    if (event.key !== "Enter") return;
    const words = event.target.value.toLowerCase();
    const matches = model.nodes.map((node, i) => i).filter((i) => {
      const node = model.nodes[i];
      return [node.name, node.type, placeText(node.place)].join(" ").toLowerCase().includes(words);
    });
    const next = matches.find((i) => i > selected);
    const match = next === undefined ? matches[0] : next;
    status(times(matches.length, "node") + " found");
    if (match === undefined || !words) return;
    model.reveal(match);
    draw();
    select(match);
    view.show(layout.item(match));
  }

  const button = (text, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, text);
  const everything = (list) => { model.open.clear(); list.forEach((i) => model.open.add(i)); selected = ARGUMENTS; draw(); view.reset(); };
  element.append(h("p", { id: "graph-help" }, "Nodes are in program order; a stack stands for equal layers. Enter or a click on a name opens a node. Arrow keys move ",
    "between nodes, + and - zoom, Shift with arrows moves the picture, 0 resets it. The wheel zooms after a click in the picture."),
  h("div", { class: "controls" }, button("+", "Zoom in", () => view.zoom(1.25)), button("\u2212", "Zoom out", () => view.zoom(0.8)),
    button("Reset view", "Reset view", () => view.reset()), button("Whole graph", "Fit the whole graph", () => view.fit()),
    button("Open all", "Open all nodes", () => everything(model.nodes.map((_, i) => i))),
    button("Close all", "Close all nodes", () => everything([])),
    h("label", null, "Find ", h("input", { type: "search", placeholder: "name, type or line; Enter", onkeydown: find })),
    h("label", null, h("input", { type: "checkbox", onchange: (event) => { all = event.target.checked; draw(); } }), " all values")),
  h("div", { class: "graph-row" }, picture, details), alternative);
  picture.addEventListener("keydown", key);
  const heavy = model.roots.filter((i) => model.nodes[i].copies > 1);
  if (model.roots.length === 1) model.open.add(model.roots[0]);
  draw();
  select(heavy[0] === undefined ? ARGUMENTS : heavy[0]);
  view.reset();
  targets.set("node", (i) => {
    if (!model.nodes[i]) return;
    model.reveal(i);
    draw();
    element.scrollIntoView();
    select(i, true);
  });
}

// Pan and zoom of a drawing: drag, wheel, and buttons. The wheel zooms only while the drawing has the focus, so that it does not trap the
// scrolling of the page.
function panZoom(picture, layer, layout) {
  const at = { x: 0, y: 0, scale: 1 };
  let drag = null;
  const apply = () => layer.setAttribute("transform", "translate(" + at.x + " " + at.y + ") scale(" + at.scale + ")");
  const size = () => picture.getBoundingClientRect();

  function zoom(factor, x = size().width / 2, y = size().height / 2) {
    const scale = Math.min(4, Math.max(0.02, at.scale * factor));
    at.x = x - (x - at.x) * (scale / at.scale);
    at.y = y - (y - at.y) * (scale / at.scale);
    at.scale = scale;
    apply();
  }
  function move(x, y) { at.x += x; at.y += y; apply(); }
  function reset() {
    at.scale = Math.min(1.2, size().width / layout().width) || 1;
    at.x = 0;
    at.y = 0;
    apply();
  }
  function fit() {
    at.scale = Math.min(size().width / layout().width, size().height / layout().height);
    at.x = (size().width - layout().width * at.scale) / 2;
    at.y = 0;
    apply();
  }
  // Moves a node into the view.
  function show(one) {
    const top = one.y * at.scale + at.y, bottom = (one.y + one.height) * at.scale + at.y;
    if (top < 10) at.y += 40 - top;
    else if (bottom > size().height - 10) at.y -= bottom - size().height + 40;
    apply();
  }
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !picture.contains(document.activeElement)) return;
    event.preventDefault();
    const box = size();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => { drag = [event.clientX, event.clientY, false]; });
  picture.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = [event.clientX - drag[0], event.clientY - drag[1]];
    if (!drag[2] && Math.abs(x) + Math.abs(y) < 4) return;
    if (!drag[2]) picture.setPointerCapture(event.pointerId);
    drag = [event.clientX, event.clientY, true];
    move(x, y);
  });
  picture.addEventListener("pointerup", () => { drag = null; });
  picture.addEventListener("pointercancel", () => { drag = null; });
  return { zoom, move, reset, fit, show };
}
