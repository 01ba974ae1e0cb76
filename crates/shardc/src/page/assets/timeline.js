// The time line of a step: one lane for each resource.

function loopsTable() {
  const { loops } = plan.time;
  if (!loops.length) return "";
  return dataTable({
    caption: "Loops",
    rows: loops,
    columns: [
      positionColumn,
      { title: "Iterations", numeric: true, value: (loop) => loop.trips, cell: (loop) => count(loop.trips) },
      { title: "Time of all iterations", numeric: true, value: (loop) => loop.seconds, cell: (loop) => seconds(loop.seconds) },
    ],
  }).element;
}

// The rows of the time line: one for each lane, and more where spans of a lane overlap, as those of loops and of the program around them may.
function timelineRows(spans) {
  const rows = [];
  for (const lane of new Set(spans.map((span) => span.lane))) {
    const own = [];
    for (const span of spans.filter((one) => one.lane === lane).sort((a, b) => a.start - b.start)) {
      // Neighbors may overlap by rounding.
      let row = own.find((one) => one.end <= span.start + span.seconds * 1e-6);
      if (!row) {
        row = { lane, spans: [], end: 0 };
        own.push(row);
      }
      row.spans.push(span);
      row.end = span.start + span.seconds;
    }
    rows.push(...own);
  }
  return rows;
}

function timelineSection() {
  if (!plan || !plan.time.spans.length) return;
  const { spans } = plan.time;
  const element = section("time", "Time line of a step");
  const rows = timelineRows(spans);
  const rowOf = new Map(rows.flatMap((row, i) => row.spans.map((span) => [span, i])));
  const end = spans.reduce((last, span) => Math.max(last, span.start + span.seconds), 0) || 1;
  const W = 1000, L = 190, LANE = 46, T = 26, H = T + rows.length * LANE + 8;
  const layer = s("g");
  const picture = s("svg", { viewBox: "0 0 " + W + " " + H, class: "chart timeline", role: "application", tabindex: "0",
    "aria-label": "Time line with " + times(spans.length, "span") + " in " + times(rows.length, "lane"), "aria-describedby": "time-help" },
  s("title", null, "Time line of a step"), layer);
  const details = h("div", { class: "span-details", "aria-live": "polite" }, "No span is selected.");
  let from = 0, to = end, selected = null;
  const x = (time) => L + (W - L - 10) * (time - from) / (to - from);
  const name = (span) => (span.scope ? span.scope + ": " : "") + span.name;

  function select(span) {
    selected = span;
    const row = (title, ...value) => h("div", null, h("dt", null, title), h("dd", null, value));
    details.replaceChildren(h("h3", null, name(span)), h("dl", null, row("Lane", span.lane), row("Start", seconds(span.start)), row("Duration", seconds(span.seconds)),
      span.operations > 1 ? row("Busy", percent(span.busy, span.seconds)) : "",
      row("Runs", count(span.runs)), span.bytes ? row("Bytes", bytes(span.bytes)) : "",
      span.place.line !== undefined ? row("Position", place(span.place), snippet(span.place)) : ""));
    draw();
  }

  // Several operations as one rectangle; its filled part is the share of the time in which one of them runs.
  function many(left, y, width, share, text) {
    const height = LANE - 12, filled = Math.max(1, height * share);
    return s("g", { class: "span many" }, s("title", null, text + ", busy " + percent(share, 1) + " of the time"),
      s("rect", { x: left, y: y + 6, width, height, class: "idle" }),
      s("rect", { x: left, y: y + 6 + height - filled, width, height: filled }));
  }

  // Spans of less than a pixel are merged into one rectangle.
  function laneShapes(list, lane) {
    const y = T + lane * LANE, out = [];
    let small = null;
    const flush = () => {
      if (!small) return;
      const width = Math.max(1, small.end - small.x), share = Math.min(1, small.busy / width);
      out.push(many(small.x, y, width, share, times(small.count, "short operation")));
      small = null;
    };
    for (const span of list) {
      if (span.start + span.seconds < from || span.start > to) continue;
      const left = Math.max(L, x(span.start)), right = Math.min(W - 10, x(span.start + span.seconds));
      if (right - left < 1.2 && span !== selected) {
        if (small && left - small.end > 1) flush();
        small = small || { x: left, end: right, count: 0, busy: 0 };
        small.end = Math.max(small.end, right);
        small.count += span.operations;
        small.busy += (right - left) * span.busy / span.seconds;
        continue;
      }
      flush();
      if (span.operations > 1) {
        const group = many(left, y, Math.max(1, right - left - 0.5), span.busy / span.seconds, name(span));
        if (span === selected) group.classList.add("selected");
        group.addEventListener("click", () => select(span));
        out.push(group);
        continue;
      }
      const group = s("g", { class: "span " + color(span.name) + (span === selected ? " selected" : "") },
        s("title", null, name(span) + ", " + seconds(span.seconds)),
        s("rect", { x: left, y: y + 6, width: Math.max(1, right - left - 0.5), height: LANE - 12, rx: 2 }));
      if (right - left > 40) group.append(s("text", { x: left + 5, y: y + LANE / 2 + 4 }, clip(span.name, right - left - 6)));
      group.addEventListener("click", () => select(span));
      out.push(group);
    }
    flush();
    return out;
  }

  function draw() {
    const shapes = [];
    for (let i = 0; i <= 5; i++) {
      const time = from + (to - from) * i / 5;
      shapes.push(s("line", { x1: x(time), x2: x(time), y1: T - 6, y2: H, class: "grid" }),
        s("text", { x: x(time), y: 14, "text-anchor": i === 5 ? "end" : i ? "middle" : "start" }, seconds(time)));
    }
    rows.forEach((row, i) => {
      // A lane with several rows has one name.
      const named = i === 0 || rows[i - 1].lane !== row.lane;
      if (named) shapes.push(s("text", { x: L - 8, y: T + i * LANE + LANE / 2 + 4, "text-anchor": "end", class: "axis-name" }, s("title", null, row.lane), clip(row.lane, L - 10)));
      shapes.push(...laneShapes(row.spans, i));
    });
    layer.replaceChildren(...shapes);
  }

  function range(start, length) {
    const size = Math.min(end, Math.max(end / 1e6, length));
    from = Math.max(0, Math.min(end - size, start));
    to = from + size;
    draw();
  }
  const zoom = (factor, around = (from + to) / 2) => range(around - (around - from) * factor, (to - from) * factor);
  const pan = (share) => range(from + (to - from) * share, to - from);
  function step(by, row = selected ? rowOf.get(selected) : 0) {
    const list = rows[row].spans, at = list.indexOf(selected);
    const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + by))];
    if (next.start < from || next.start + next.seconds > to) range(next.start + next.seconds / 2 - (to - from) / 2, to - from);
    select(next);
  }
  function otherLane(by) {
    const { spans: list } = rows[Math.max(0, Math.min(rows.length - 1, (selected ? rowOf.get(selected) : 0) + by))];
    const time = selected ? selected.start : from;
    const near = list.findIndex((span) => span.start + span.seconds > time);
    selected = list[near < 0 ? list.length - 1 : near];
    step(0);
  }
  picture.addEventListener("keydown", (event) => {
    const actions = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => otherLane(1), ArrowUp: () => otherLane(-1),
      "+": () => zoom(0.7, selected ? selected.start : undefined), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: () => range(0, end),
      w: () => zoom(0.7), s: () => zoom(1.4), a: () => pan(-0.2), d: () => pan(0.2), PageDown: () => pan(0.8), PageUp: () => pan(-0.8) };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  });
  const timeAt = (event) => {
    const box = picture.getBoundingClientRect();
    return from + (to - from) * ((event.clientX - box.left) * W / box.width - L) / (W - L - 10);
  };
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== picture) return;
    event.preventDefault();
    if (event.shiftKey) pan(event.deltaY > 0 ? 0.1 : -0.1); else zoom(event.deltaY < 0 ? 0.8 : 1.25, timeAt(event));
  }, { passive: false });
  let drag = null;
  picture.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, from, moved: false }; });
  picture.addEventListener("pointermove", (event) => {
    if (!drag || Math.abs(event.clientX - drag.x) < 4 && !drag.moved) return;
    drag.moved = true;
    const width = picture.getBoundingClientRect().width * (W - L - 10) / W;
    range(drag.from - (event.clientX - drag.x) / width * (to - from), to - from);
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel"]) picture.addEventListener(name, () => { drag = null; });
  const button = (text, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, text);
  element.append(h("p", { id: "time-help" }, "The body of a loop appears once, with the time of all iterations. Left and right arrows select a span, up and down a lane; + and - or w and s zoom, ",
    "a and d move, 0 shows all. The wheel zooms after a click in the picture."),
  h("div", { class: "controls" }, button("+", "Zoom in", () => zoom(0.7)), button("\u2212", "Zoom out", () => zoom(1.4)), button("Show all", "Show all", () => range(0, end)),
    h("button", { type: "button", id: "download-trace", onclick: () => download(fileName.replace(/[^\w.-]+/g, "_") + ".trace.json", "application/json", JSON.stringify(traceOf(plan))) },
      "Download trace"), h("span", { class: "dim" }, " for ui.perfetto.dev")),
  h("ul", { class: "legend" }, h("li", null, h("span", { class: "swatch many", "aria-hidden": "true" }),
    "several short operations: the filled part of the height is the share of time in which one runs")), picture, details, loopsTable(), h("details", null, h("summary", null, "The spans as a table"), dataTable({
    caption: "Spans",
    rows: spans,
    size: 25,
    sort: [3, true],
    filters: [{ title: "Lane", values: (span) => [span.lane] }],
    text: (span) => placeText(span.place),
    columns: [
      { title: "Span", value: name },
      { title: "Lane", value: (span) => span.lane },
      { title: "Start", numeric: true, value: (span) => span.start, cell: (span) => seconds(span.start) },
      { title: "Duration", numeric: true, value: (span) => span.seconds, cell: (span) => seconds(span.seconds) },
      { title: "Runs", numeric: true, value: (span) => span.runs, cell: (span) => count(span.runs) },
      positionColumn,
    ],
  }).element));
  draw();
}
