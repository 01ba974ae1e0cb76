// Builds the page. Sections without data are left out.

const help = h("dialog", { "aria-labelledby": "help-title" }, h("h2", { id: "help-title" }, "Keyboard"),
  h("table", null, h("tbody", null, [
    ["Tab, Shift+Tab", "next or previous control"],
    ["1 to 9", "go to a section"],
    ["/", "search in the section that has the focus, or in the first table"],
    ["Arrow keys", "in the graph: next node, open, close; in the charts: move the cursor or select"],
    ["+, -, 0", "in the graph and the time line: zoom, reset"],
    ["?", "this help"],
  ].map(([keys, text]) => h("tr", null, h("th", { scope: "row" }, h("kbd", null, keys)), h("td", null, text))))),
  h("form", { method: "dialog" }, h("button", null, "Close")));

function globalKeys(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, dialog, svg")) return;
  const links = document.querySelectorAll("#sections a");
  if (event.key === "?") help.showModal();
  else if (event.key === "/") {
    const around = document.activeElement.closest("section") || document;
    const search = around.querySelector("input[type=search]") || document.querySelector("input[type=search]");
    if (search) search.focus();
  } else if (event.key >= "1" && event.key <= String(Math.min(9, links.length))) {
    const target = document.querySelector(links[event.key - 1].getAttribute("href"));
    target.scrollIntoView();
    target.querySelector("h2").focus({ preventScroll: true });
  } else return;
  event.preventDefault();
}

summarySection();
tensorsSection("values", "Values", report.values);
collectivesSection();
trafficSection();
graphSection();
memorySection();
timelineSection();
tensorsSection("arguments", "Arguments", report.arguments);
tensorsSection("results", "Results", report.results);
conflictsSection();
replicatedSection();
linesSection();
document.body.append(help);
document.querySelector("header").append(h("button", { type: "button", class: "help", onclick: () => help.showModal() }, "Keyboard help (?)"));
document.addEventListener("keydown", globalKeys);
follow();
document.documentElement.dataset.ready = "true";
