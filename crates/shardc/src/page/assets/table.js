// Tables that filter, sort, and show one page of rows at a time.

let tables = 0;

// Options: `caption`, `columns` ({ title, value, cell, numeric, heading, wide, optional: left out if it is empty }), `rows`, `sort` ([column, descending]), `filters`
// ({ title, values(row) }), `text(row)` (further text that the search finds), `detail(row)` (content of an expanded row), `expand` (expand the first row), `size`.
// Returns { element, show(row) }.
function dataTable(options) {
  const id = "table-" + ++tables;
  const { rows, detail } = options;
  const columns = options.columns.filter((column) => !column.optional || rows.some((row) => column.value(row)));
  const size = options.size || 50;
  const searchable = rows.length > 8;
  let sort = options.sort || null, page = 0, shown = rows, texts = null;
  // Expanded rows.
  const open = new Set(detail && options.expand ? rows.slice(0, 1) : []);
  const chosen = (options.filters || []).map(() => "");

  const body = h("tbody");
  const found = h("span", { class: "found" });
  const pager = h("span", { class: "pager" });
  const heads = columns.map((column, i) => h("th", { scope: "col", class: column.numeric && "number" },
    h("button", { type: "button", class: "sort", onclick: () => order(i) }, column.title,
      h("span", { class: "arrow", "aria-hidden": "true" }))));

  const search = h("input", { type: "search", oninput: () => { page = 0; refresh(); } });
  const filters = (options.filters || []).map((filter, i) => {
    const known = new Set(rows.flatMap((row) => filter.values(row)));
    const choices = [...known].sort().map((value) => h("option", { value }, value));
    if (choices.length < 2) return null;
    return h("label", null, filter.title + " ",
      h("select", { onchange: (event) => { chosen[i] = event.target.value; page = 0; refresh(); } },
        h("option", { value: "" }, "all"), choices));
  });

  function order(column) {
    const first = columns[column].numeric;
    sort = sort && sort[0] === column ? [column, !sort[1]] : [column, Boolean(first)];
    page = 0;
    refresh();
    status("Sorted by " + columns[column].title + (sort[1] ? ", descending" : ", ascending"));
  }

  function select() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !texts) {
      texts = new Map(rows.map((row) => {
        const own = columns.map((column) => column.value(row));
        return [row, [...own, options.text ? options.text(row) : ""].join(" ").toLowerCase()];
      }));
    }
    shown = rows.filter((row) => words.every((word) => texts.get(row).includes(word))
      && chosen.every((value, i) => !value || options.filters[i].values(row).includes(value)));
    if (!sort) return;
    const { value } = columns[sort[0]];
    const sign = sort[1] ? -1 : 1;
    const keys = new Map(shown.map((row) => [row, value(row)]));
    shown.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      const less = typeof x === "number" && typeof y === "number" ? x - y
        : String(x).localeCompare(String(y), "en", { numeric: true });
      return sign * less;
    });
  }

  function rowElements(row, index) {
    const expanded = open.has(row);
    const detailId = id + "-detail-" + index;
    const cells = columns.map((column, i) => {
      const content = column.cell ? column.cell(row) : String(column.value(row));
      const toggle = detail && i === 0 && h("button", {
        type: "button", class: "toggle", "aria-expanded": String(expanded), "aria-controls": detailId,
        "aria-label": "Details of " + columns[0].title + " " + columns[0].value(row),
        onclick: (event) => {
          if (open.has(row)) open.delete(row); else open.add(row);
          const at = [...body.children].indexOf(event.target.closest("tr"));
          refresh();
          body.children[at].querySelector(".toggle").focus();
        },
      }, expanded ? "\u25be" : "\u25b8");
      const attributes = { class: column.numeric ? "number" : column.wide && "wide" };
      return i === 0 ? h("th", { scope: "row", ...attributes }, toggle, content) : h("td", attributes, content);
    });
    const line = h("tr", null, cells);
    if (!detail || !expanded) return [line];
    return [line, h("tr", { id: detailId, class: "detail" }, h("td", { colspan: columns.length }, detail(row)))];
  }

  function refresh() {
    select();
    const pages = Math.max(1, Math.ceil(shown.length / size));
    page = Math.min(page, pages - 1);
    const visible = shown.slice(page * size, (page + 1) * size);
    body.replaceChildren(...visible.flatMap(rowElements));
    heads.forEach((head, i) => {
      const sorted = sort && sort[0] === i;
      if (sorted) head.setAttribute("aria-sort", sort[1] ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = sorted ? (sort[1] ? " \u2193" : " \u2191") : "";
    });
    found.textContent = shown.length === rows.length ? times(rows.length, "row")
      : count(shown.length) + " of " + times(rows.length, "row");
    const go = (to, text, label) => h("button", {
      type: "button", disabled: to < 0 || to >= pages, "aria-label": label,
      onclick: () => { page = to; refresh(); },
    }, text);
    pager.replaceChildren(...(pages < 2 ? [] : [go(page - 1, "\u2039 Previous", "Previous page"),
      h("span", null, " page " + (page + 1) + " of " + pages + " "), go(page + 1, "Next \u203a", "Next page")]));
  }

  // Shows a row, expanded, and moves the focus to it.
  function show(row) {
    if (!rows.includes(row)) return false;
    if (detail) open.add(row);
    select();
    if (!shown.includes(row)) {
      search.value = "";
      chosen.fill("");
      for (const filter of filters) if (filter) filter.querySelector("select").value = "";
      select();
    }
    page = Math.floor(shown.indexOf(row) / size);
    refresh();
    const inPage = shown.slice(page * size, (page + 1) * size).indexOf(row);
    const line = body.querySelectorAll(":scope > tr:not(.detail)")[inPage];
    line.setAttribute("tabindex", "-1");
    line.classList.add("target");
    line.scrollIntoView({ block: "center" });
    line.focus({ preventScroll: true });
    return true;
  }

  const controls = searchable && h("div", { class: "controls" },
    h("label", null, "Search ", search), filters, found);
  const element = h("div", { class: "table" }, controls,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.caption },
      h("table", null, h("caption", null, options.caption), h("thead", null, h("tr", null, heads)), body)),
    pager);
  refresh();
  return { element, show };
}
