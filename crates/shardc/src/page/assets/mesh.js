// Drawings of the mesh, and of the blocks of a tensor on its devices.

const meshAxes = report.mesh ? report.mesh.axes : plan ? plan.mesh : [];
const devices = meshAxes.reduce((product, axis) => product * axis.size, 1);

// The device at a position of the mesh.
const deviceAt = (position) => (report.mesh && report.mesh.devices ? report.mesh.devices[position] : position);

// The distance between neighbors along each axis.
const strides = meshAxes.map((_, i) => meshAxes.slice(i + 1).reduce((product, axis) => product * axis.size, 1));

// The coordinate of a position along an axis or sub-axis { name, pre, size }.
function coordinate(position, axis) {
  const at = meshAxes.findIndex((known) => known.name === axis.name);
  if (at < 0) return 0;
  const full = meshAxes[at].size;
  const along = Math.floor(position / strides[at]) % full;
  if (axis.size === undefined) return along;
  return Math.floor(along / (full / (axis.pre * axis.size))) % axis.size;
}

function axisSize(axis) {
  if (axis.size !== undefined) return axis.size;
  const known = meshAxes.find((other) => other.name === axis.name);
  return known ? known.size : 1;
}

// The axes of each dimension in a sharding such as `[{"data", "model":(2)4}, {?}]`.
function shardedDims(sharding) {
  const close = sharding.lastIndexOf("]");
  const groups = sharding.slice(0, close + 1).match(/\{[^{}]*\}/g) || [];
  return groups.map((group) => [...group.matchAll(/"([^"]*)"(?::\((\d+)\)(\d+))?/g)].map((match) =>
    ({ name: match[1], pre: match[2] && Number(match[2]), size: match[3] && Number(match[3]) })));
}

const axisText = (axis) => (axis.size === undefined ? axis.name : axis.name + ":(" + axis.pre + ")" + axis.size);

// Device numbers with ranges: `0-7`, `0, 8, 16, 24`.
function ranges(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), out = [];
  for (let i = 0; i < sorted.length;) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end] + 1) end++;
    out.push(end - i > 1 ? sorted[i] + "-" + sorted[end] : sorted.slice(i, end + 1).join(", "));
    i = end + 1;
  }
  return out.join(", ");
}

// The mesh: the last axis in columns, the one before it in rows, and further axes as separate grids.
function meshDrawing() {
  const shown = meshAxes.filter((axis) => axis.size > 1);
  if (!shown.length || devices > 2 ** 24) return null;
  const column = shown[shown.length - 1], row = shown[shown.length - 2];
  const outer = shown.slice(0, -2);
  const [columns, rows] = [column.size, row ? row.size : 1];
  const drawn = [Math.min(columns, 16), Math.min(rows, 16)];
  const grids = outer.reduce((product, axis) => product * axis.size, 1);
  const drawnGrids = Math.min(grids, 6);
  const cell = [36, 24], gap = 34, left = 74, top = 38;
  const gridWidth = drawn[0] * cell[0] + (columns > drawn[0] ? 24 : 0);
  const perLine = Math.max(1, Math.min(drawnGrids, Math.floor(1000 / (gridWidth + gap))));
  const gridHeight = drawn[1] * cell[1] + (rows > drawn[1] ? 20 : 0);
  const picture = s("svg", { class: "mesh", role: "img", "aria-labelledby": "mesh-title mesh-desc" },
    s("title", { id: "mesh-title" }, "The mesh"),
    s("desc", { id: "mesh-desc" }, shown.map((axis) => axis.name + " with " + times(axis.size, "device")).join(", ")
      + ". Device numbers are in the cells."));
  for (let grid = 0; grid < drawnGrids; grid++) {
    const x = left + (grid % perLine) * (gridWidth + gap + (outer.length ? 10 : 0));
    const y = top + Math.floor(grid / perLine) * (gridHeight + 46);
    picture.append(s("text", { x, y: y - 8, class: "axis-name" }, column.name + " (" + columns + ") \u2192"));
    if (row && grid % perLine === 0) {
      picture.append(s("text", { x: x - 8, y: y + 16, class: "axis-name", "text-anchor": "end" }, row.name),
        s("text", { x: x - 8, y: y + 32, class: "axis-name", "text-anchor": "end" }, "(" + rows + ") \u2193"));
    }
    if (outer.length) {
      let rest = grid;
      const at = [...outer].reverse().map((axis) => {
        const coord = rest % axis.size;
        rest = Math.floor(rest / axis.size);
        return axis.name + " " + coord;
      }).reverse().join(", ");
      picture.append(s("text", { x, y: y - 23, class: "axis-name" }, at));
    }
    for (let i = 0; i < drawn[1]; i++) {
      for (let j = 0; j < drawn[0]; j++) {
        const position = (grid * rows + i) * columns + j;
        picture.append(s("rect", { x: x + j * cell[0], y: y + i * cell[1], width: cell[0] - 2, height: cell[1] - 2, rx: 3, class: "device" }),
          s("text", { x: x + j * cell[0] + cell[0] / 2 - 1, y: y + i * cell[1] + 15, "text-anchor": "middle", class: "device-number" },
            deviceAt(position)));
      }
    }
    if (columns > drawn[0]) picture.append(s("text", { x: x + drawn[0] * cell[0] + 4, y: y + 16 }, "\u2026"));
    if (rows > drawn[1]) picture.append(s("text", { x: x + 8, y: y + drawn[1] * cell[1] + 12 }, "\u22ee"));
  }
  const lines = Math.ceil(drawnGrids / perLine);
  const width = left + perLine * (gridWidth + gap + (outer.length ? 10 : 0)), height = top + lines * (gridHeight + 46);
  picture.setAttribute("viewBox", "0 0 " + width + " " + height);
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  const hidden = grids > drawnGrids ? h("p", { class: "dim" }, times(grids - drawnGrids, "further grid") + " not drawn.") : null;
  return h("figure", null, picture, hidden);
}

// The first two sharded dimensions of a value, as { dim, axes, blocks, elements }. If only the last of several dimensions is sharded, the first is
// one with a single block, so that the blocks are columns.
function blockDims(value) {
  const shape = (/<([\dx?]*)/.exec(value.type) || ["", ""])[1].split("x");
  const dims = shardedDims(value.sharding).map((axes, dim) =>
    ({ dim, axes, blocks: axes.reduce((product, axis) => product * axisSize(axis), 1), elements: Number(shape[dim]) }));
  const found = dims.filter((dim) => dim.blocks > 1);
  const isLast = found.length === 1 && dims.length > 1 && found[0].dim === dims.length - 1;
  return isLast ? [dims[dims.length - 2], found[0]] : found;
}

// A small picture of a value: one line between blocks.
function thumbnail(value) {
  const dims = blockDims(value);
  const [rows, columns] = [dims[0] ? dims[0].blocks : 1, dims[1] ? dims[1].blocks : 1];
  const size = 34;
  const picture = s("svg", { class: "thumbnail", width: size, height: size, viewBox: "0 0 34 34", "aria-hidden": "true" },
    s("rect", { x: 1, y: 1, width: 32, height: 32, class: dims.length ? "shard" : "shard replicated" }));
  const cut = (n, line) => {
    const drawn = Math.min(n, 8);
    for (let i = 1; i < drawn; i++) picture.append(line(1 + (32 * i) / drawn));
  };
  cut(rows, (at) => s("line", { x1: 1, x2: 33, y1: at, y2: at }));
  cut(columns, (at) => s("line", { y1: 1, y2: 33, x1: at, x2: at }));
  return picture;
}

// The blocks of a value with the devices that store each: the first two sharded dimensions, at most 8 x 8 blocks.
function blocksDrawing(value) {
  const known = (axis) => meshAxes.some((other) => other.name === axis.name);
  if (!shardedDims(value.sharding).flat().every(known)) return h("p", null, "The value is on another mesh than the one that is drawn.");
  const dims = blockDims(value);
  if (!dims.length) return h("p", null, "Every device stores the whole value.");
  const [first, second] = dims;
  const drawn = [Math.min(first.blocks, 8), second ? Math.min(second.blocks, 8) : 1];
  const holders = Array.from({ length: drawn[0] * drawn[1] }, () => []);
  const index = (dim, position) => dim.axes.reduce((at, axis) => at * axisSize(axis) + coordinate(position, axis), 0);
  for (let position = 0; position < Math.min(devices, 2 ** 16); position++) {
    const [i, j] = [index(first, position), second ? index(second, position) : 0];
    if (i < drawn[0] && j < drawn[1]) holders[i * drawn[1] + j].push(deviceAt(position));
  }
  const names = holders.map((list) => ranges(list));
  const long = Math.max(...names.map((name) => name.length));
  const cell = [Math.min(132, Math.max(44, 12 + long * 7)), 28], left = 30, top = 26;
  const along = (dim) => "dimension " + dim.dim + " along " + dim.axes.map(axisText).join(", ") + ": " + times(dim.blocks, "block")
    + (Number.isFinite(dim.elements) ? " of " + count(Math.ceil(dim.elements / dim.blocks)) : "");
  const width = left + drawn[1] * cell[0] + 30, height = top + drawn[0] * cell[1] + (first.blocks > drawn[0] ? 24 : 6);
  const picture = s("svg", { role: "img", width, height, viewBox: "0 0 " + width + " " + height, class: "blocks" },
    s("title", null, "Blocks of " + value.name),
    s("desc", null, dims.map(along).join("; ")));
  picture.append(s("text", { x: 4, y: top + 18, class: "axis-name" }, "d" + first.dim + "\u2193"));
  if (second) picture.append(s("text", { x: left, y: 14, class: "axis-name" }, "d" + second.dim + " \u2192"));
  names.forEach((name, at) => {
    const [i, j] = [Math.floor(at / drawn[1]), at % drawn[1]];
    const fits = name.length <= 18 ? name : name.slice(0, 16) + "\u2026";
    picture.append(s("g", null, s("title", null, "Block " + i + (second ? ", " + j : "") + ": device " + name),
      s("rect", { x: left + j * cell[0], y: top + i * cell[1], width: cell[0] - 3, height: cell[1] - 3, rx: 3,
        class: "shard " + COLORS[(i + j) % 2 ? 5 : 0] }),
      s("text", { x: left + j * cell[0] + cell[0] / 2 - 1, y: top + i * cell[1] + 17, "text-anchor": "middle", class: "device-number" }, fits)));
  });
  if (first.blocks > drawn[0]) picture.append(s("text", { x: left + 6, y: height - 8 }, "\u22ee"));
  if (second && second.blocks > drawn[1]) picture.append(s("text", { x: width - 26, y: top + 18 }, "\u2026"));
  return h("figure", { class: "blocks" }, picture,
    h("figcaption", null, dims.map(along).join("; "), ". The numbers are the devices that store each block."));
}
