// The graph as it is shown: a tree of nodes in program order, of which only those in expanded nodes are visible.

const ARGUMENTS = 0, RESULTS = 1;

function graphModel() {
  const { nodes, edges } = report.graph;
  const children = nodes.map(() => []);
  const roots = [];
  nodes.forEach((node, i) => {
    if (i === ARGUMENTS || i === RESULTS) return;
    if (node.parent === undefined) roots.push(i); else children[node.parent].push(i);
  });
  const open = new Set();
  // Operations of each node with those of contained nodes, which follow it.
  const operations = nodes.map((node) => node.ops);
  for (let i = nodes.length - 1; i > RESULTS; i--) if (nodes[i].parent !== undefined) operations[nodes[i].parent] += operations[i];

  // Visible nodes in program order, each with its depth and whether it is expanded.
  function visible() {
    const out = [];
    const add = (i, depth) => {
      const expanded = open.has(i) && children[i].length > 0;
      out.push({ i, depth, expanded });
      if (expanded) for (const child of children[i]) add(child, depth + 1);
    };
    add(ARGUMENTS, 0);
    for (const i of roots) add(i, 0);
    add(RESULTS, 0);
    return out;
  }

  // The visible node for each node: the outermost node around it that is not expanded.
  function shownAs() {
    const out = new Array(nodes.length);
    nodes.forEach((node, i) => {
      const outer = node.parent;
      out[i] = outer === undefined || (out[outer] === outer && open.has(outer)) ? i : out[outer];
    });
    return out;
  }

  // Edges between visible nodes. `groups` are the collectives on an edge, by kind and axes.
  function visibleEdges() {
    const at = shownAs();
    const out = new Map();
    const edge = (from, to, next) => {
      const key = from + " " + to + (from === to || next ? " next" : "");
      if (!out.has(key)) out.set(key, { from, to, next: from !== to && next, values: 0, bytes: 0, groups: new Map() });
      return out.get(key);
    };
    for (const { from, to, next, values, bytes } of edges) {
      if (at[from] === at[to] && !next) continue;
      const shown = edge(at[from], at[to], next);
      shown.values += values;
      shown.bytes += bytes;
    }
    for (const collective of collectives) {
      if (!collective.edge) continue;
      const [from, to] = collective.edge.map((i) => at[i]);
      const back = from !== to && from !== ARGUMENTS && to !== RESULTS && to < from;
      const { groups } = edge(from, to, back);
      const name = collective.kind + (collective.axes.length ? " along " + collective.axes.join(", ") : "");
      if (!groups.has(name)) groups.set(name, { name, kind: collective.kind, runs: 0, bytes: 0, largest: collective });
      const group = groups.get(name);
      group.runs += collective.runs || 1;
      group.bytes += sent(collective);
      if (sent(collective) > sent(group.largest)) group.largest = collective;
    }
    return [...out.values()].map((one) => ({ ...one, groups: [...one.groups.values()].sort((a, b) => b.bytes - a.bytes) }));
  }

  // Expands the nodes around a node, so that it is visible.
  function reveal(i) {
    for (let outer = nodes[i].parent; outer !== undefined; outer = nodes[outer].parent) open.add(outer);
  }

  return { nodes, operations, children, roots, open, visible, visibleEdges, reveal };
}

const groupText = (group) => group.name + (group.runs > 1 ? " \u00d7" + count(group.runs) : "") + ", " + bytes(group.bytes);

function copiesText(node, parent) {
  const own = parent ? node.copies / parent.copies : node.copies;
  return (own > 1 ? " \u00d7" + count(own) : "") + (node.trips ? ", " + times(node.trips, "iteration") : "");
}
