// Memory over time: the live bytes by class, with a cursor and the buffers that are live there.

// The live bytes at each program point, in all and of each class.
function memorySteps(memory) {
  const steps = memory.timeline.length ? memory.timeline : [[0, memory.expected]];
  const points = Math.max(1, memory.points, steps[steps.length - 1][0] + 1);
  const atEachPoint = (changes) => {
    const line = new Float64Array(points);
    let next = 0, live = 0;
    for (let i = 0; i < points; i++) {
      while (next < changes.length && changes[next][0] <= i) live = changes[next++][1];
      line[i] = live;
    }
    return line;
  };
  const classes = memory.classes_over_time;
  return { points, classes: classes.map((line) => line.class), parts: classes.map((line) => atEachPoint(line.timeline)), total: atEachPoint(steps) };
}

// The columns of the chart: in each, the program point with the most live bytes.
function memoryColumns(steps, width) {
  const columns = Math.min(width, steps.points);
  return Array.from({ length: columns }, (_, column) => {
    const start = Math.floor(column * steps.points / columns), end = Math.max(start + 1, Math.floor((column + 1) * steps.points / columns));
    let best = start;
    for (let i = start; i < end; i++) if (steps.total[i] > steps.total[best]) best = i;
    return { point: best, parts: steps.parts.map((part) => part[best]) };
  });
}

function memorySection() {
  if (!plan || (!plan.memory.timeline.length && !plan.memory.buffers.length)) return;
  const { memory } = plan;
  const element = section("memory", "Memory over time");
  const steps = memorySteps(memory);
  const columns = memoryColumns(steps, 700);
  const names = steps.classes;
  const most = Math.max(memory.high, memory.expected, ...columns.map((column) => column.parts.reduce((sum, part) => sum + part, 0)), 1);
  const top = (memory.limit && memory.limit < 2 * most ? Math.max(most, memory.limit) : most) * 1.06;
  const W = 1000, H = 300, L = 84, B = 28;
  const x = (column) => L + (W - L - 10) * column / columns.length, y = (amount) => 10 + (H - B - 10) * (1 - amount / top);
  const picture = s("svg", { viewBox: "0 0 " + W + " " + H, class: "chart", role: "slider", tabindex: "0",
    "aria-label": "Program point; live bytes on a device", "aria-valuemin": 0, "aria-valuemax": steps.points - 1, "aria-describedby": "memory-help" },
  s("title", null, "Memory over time"));
  for (let i = 0; i <= 4; i++) {
    const amount = top * i / 4;
    picture.append(s("line", { x1: L, x2: W - 10, y1: y(amount), y2: y(amount), class: "grid" }),
      s("text", { x: L - 6, y: y(amount) + 4, "text-anchor": "end" }, bytes(amount)));
  }
  const base = columns.map(() => 0);
  names.forEach((name, k) => {
    let above = "", below = "";
    columns.forEach((column, i) => {
      const low = base[i], high = low + column.parts[k];
      base[i] = high;
      above += (i ? "L" : "M") + x(i).toFixed(1) + " " + y(high).toFixed(1) + "H" + x(i + 1).toFixed(1);
      below = "L" + x(i + 1).toFixed(1) + " " + y(low).toFixed(1) + "H" + x(i).toFixed(1) + below;
    });
    picture.append(s("path", { d: above + below + "z", class: "area " + color(name) }, s("title", null, name)));
  });
  if (memory.limit && memory.limit <= top) {
    picture.append(s("line", { x1: L, x2: W - 10, y1: y(memory.limit), y2: y(memory.limit), class: "limit" }),
      s("text", { x: W - 12, y: y(memory.limit) - 5, "text-anchor": "end", class: "limit-text" }, "limit " + bytes(memory.limit)));
  }
  // The estimate of the peak has bytes that belong to no buffer: gaps between buffers, and copies.
  const gaps = memory.expected - steps.total.reduce((most, amount) => Math.max(most, amount), 0);
  if (gaps > 0) {
    picture.append(s("line", { x1: L, x2: W - 10, y1: y(memory.expected), y2: y(memory.expected), class: "expected" }),
      s("text", { x: L + 6, y: y(memory.expected) - 5 }, "peak with fragmentation and copies " + bytes(memory.expected)));
  }
  // The upper end of the estimate is compared with the limit.
  if (memory.high > memory.expected) {
    picture.append(s("line", { x1: L, x2: W - 10, y1: y(memory.high), y2: y(memory.high), class: "expected" }),
      s("text", { x: (L + W) / 2, y: y(memory.high) - 5, "text-anchor": "middle" }, "upper end of the estimate " + bytes(memory.high)));
  }
  picture.append(s("text", { x: L, y: H - 8 }, "0"), s("text", { x: W - 10, y: H - 8, "text-anchor": "end" }, "program point " + count(steps.points - 1)));
  const line = s("line", { y1: 10, y2: H - B, class: "cursor" });
  picture.append(line);
  const caption = h("p", { class: "cursor-text" }), table = h("div");

  // Without a list of all buffers, those at the peak are known.
  const atPeak = !memory.buffers.length;
  let cursor = 0;
  function show(point) {
    cursor = Math.max(0, Math.min(steps.points - 1, point));
    const at = L + (W - L - 10) * (cursor + 0.5) / steps.points;
    line.setAttribute("x1", at);
    line.setAttribute("x2", at);
    const live = atPeak ? memory.live : memory.buffers.filter((buffer) => buffer.first <= cursor && cursor <= buffer.last);
    const text = "Program point " + count(cursor) + ": " + bytes(steps.total[cursor]) + " live";
    caption.textContent = text + "; " + times(live.length, "temporary", "temporaries")
      + (memory.unlisted ? " of the " + count(memory.buffers.length) + " largest, " + count(memory.unlisted) + " smaller ones are not listed" : "");
    picture.setAttribute("aria-valuenow", cursor);
    picture.setAttribute("aria-valuetext", text + (live.length ? "; largest: " + [...live].sort((a, b) => b.bytes - a.bytes)[0].name : ""));
    table.replaceChildren(dataTable({
      caption: atPeak ? "Buffers that are live at the peak" : "Buffers that are live at program point " + count(cursor),
      rows: live,
      size: 12,
      sort: [2, true],
      text: (buffer) => placeText(buffer.place),
      columns: [
        { title: "Buffer", value: (buffer) => buffer.name, cell: (buffer) => [code(buffer.name), buffer.count > 1 ? " \u00d7" + count(buffer.count) : ""] },
        { title: "Class", value: (buffer) => buffer.class, cell: (buffer) => [swatch(buffer.class), buffer.class] },
        { title: "Bytes", numeric: true, value: (buffer) => buffer.bytes, cell: (buffer) => bytes(buffer.bytes) },
        { title: "Type", wide: true, value: (buffer) => buffer.type, cell: (buffer) => code(buffer.type) },
        { title: "Live", value: (buffer) => buffer.first, numeric: true, cell: (buffer) => count(buffer.first) + " to " + count(buffer.last) },
        positionColumn,
      ],
    }).element);
  }
  const peak = steps.total.reduce((best, amount, i) => (amount > steps.total[best] ? i : best), 0);
  const step = Math.max(1, Math.round(steps.points / 200));
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: cursor - (event.shiftKey ? step : 1), ArrowDown: cursor - 1, ArrowRight: cursor + (event.shiftKey ? step : 1), ArrowUp: cursor + 1,
      PageDown: cursor - 10 * step, PageUp: cursor + 10 * step, Home: 0, End: steps.points - 1, p: peak };
    if (moves[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(moves[event.key]);
  });
  const pointAt = (event) => {
    const box = picture.getBoundingClientRect();
    const inside = ((event.clientX - box.left) * W / box.width - L) / (W - L - 10);
    return Math.floor(inside * steps.points);
  };
  // A click fixes the cursor until the next click.
  let fixed = false, pending = null;
  picture.addEventListener("pointermove", (event) => {
    if (fixed) return;
    // At most one update for each frame.
    if (pending === null) requestAnimationFrame(() => { show(pending); pending = null; });
    pending = pointAt(event);
  });
  picture.addEventListener("click", (event) => { fixed = !fixed; show(pointAt(event)); });
  fill(element, null, [h("p", { id: "memory-help" }, "The cursor follows the pointer; a click fixes it. Arrow keys move it by one point, with Shift by more, Home and End to the ends, p to the peak."),
    h("ul", { class: "legend" }, names.map((name) => h("li", null, swatch(name), name))), picture, caption, table,
    memory.reasons && memory.reasons.length ? [h("p", null, "The peak is between " + bytes(memory.low) + " and " + bytes(memory.high) + ":"),
      h("ul", null, memory.reasons.map((reason) => h("li", null, reason)))] : ""]);
  show(peak);
}
