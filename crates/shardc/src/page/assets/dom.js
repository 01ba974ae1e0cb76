// Data of the page, and functions that create elements. Text is always inserted as text, never as markup.

const SVG = document.getElementById("svg").namespaceURI;
const main = document.getElementById("main");

// Unpacks the table of distinct values; see `pack.rs`.
function unpacked(text) {
  const { shapes, table } = JSON.parse(text);
  for (let i = 0; i < table.length; i++) {
    const entry = table[i];
    if (!Array.isArray(entry)) continue;
    const shape = entry[0];
    if (shape === 0) {
      const list = new Array(entry.length - 1);
      for (let j = 1; j < entry.length; j++) list[j - 1] = table[entry[j]];
      table[i] = list;
    } else {
      const keys = shapes[shape - 1], object = {};
      for (let j = 0; j < keys.length; j++) object[keys[j]] = table[entry[j + 1]];
      table[i] = object;
    }
  }
  return { root: table[table.length - 1], table };
}

const { root, table: values } = unpacked(document.getElementById("data").textContent);
const { report, plan } = root;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
  return element;
}

// An HTML element: h("td", { class: "number" }, "12").
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// An SVG element.
function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const code = (text) => h("code", null, text);

// A short name that is not wrapped.
const word = (text) => h("span", { class: "together" }, code(text));

function status(text) {
  document.getElementById("status").textContent = text;
}

// A section with a heading and an entry in the navigation. Returns the section.
function section(id, title) {
  const element = h("section", { id, "aria-labelledby": id + "-title" },
    h("h2", { id: id + "-title", tabindex: "-1" }, title));
  main.append(element);
  document.getElementById("sections").append(h("li", null, h("a", { href: "#" + id }, title)));
  return element;
}

// A number with a fixed number of decimals. Ties are rounded to even, as on the terminal.
const fixed = (n, digits) => n.toLocaleString("en-US", {
  minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven", useGrouping: false });

// Bytes with a binary unit: `1.5 MiB`.
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0, value = Math.abs(n);
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  const sign = n < 0 ? "-" : "";
  return sign + (unit === 0 ? String(value) : fixed(value, 1)) + " " + units[unit];
}

// Seconds with a unit: `12.3 ms`.
function seconds(n) {
  if (n === 0) return "0 s";
  const size = Math.abs(n);
  if (size >= 1) return fixed(n, 2) + " s";
  if (size >= 1e-3) return fixed(n * 1e3, 1) + " ms";
  return fixed(n * 1e6, 1) + " us";
}

const count = (n) => (n >= 2 ** 63 ? "2^63 or more" : n.toLocaleString("en-US"));
const times = (n, word, plural) => count(n) + " " + (n === 1 ? word : plural || word + "s");
const percent = (part, whole) => (whole > 0 ? fixed(100 * part / whole, 1) + " %" : "");

// Stable colors: the same name has the same color in every view.
const COLORS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
const colored = new Map();
const KINDS = ["all_gather", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute"];
KINDS.forEach((kind, i) => colored.set(kind, COLORS[i]));
function color(name) {
  if (!colored.has(name)) colored.set(name, COLORS[colored.size % COLORS.length]);
  return colored.get(name);
}

const swatch = (name) => h("span", { class: "swatch " + color(name), "aria-hidden": "true" });

// A horizontal bar that shows a share; the number is beside it.
function bar(part, whole, name) {
  const width = whole > 0 ? Math.max(0, Math.min(100, 100 * part / whole)) : 0;
  const fillClass = "bar-fill " + (name ? color(name) : "c1");
  return h("span", { class: "bar", "aria-hidden": "true" },
    h("span", { class: fillClass, style: "width:" + width.toFixed(1) + "%" }));
}

// A cell with a bar and the number that it shows.
const barred = (part, whole, name, text) => h("span", { class: "barred" }, bar(part, whole, name), text);

// Handlers of links such as `#line-12`: the part before the last `-`, and a function that shows the item.
const targets = new Map();
function follow() {
  const match = /^#([a-z]+)-(\d+)$/.exec(location.hash);
  if (match && targets.has(match[1])) targets.get(match[1])(Number(match[2]));
}
window.addEventListener("hashchange", follow);

// A file that the browser saves.
function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
