"use strict";
// Everything from the model is put in as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") node.style.cssText = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat())
    if (child !== null && child !== undefined) node.append(child);
  return node;
}
function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  for (const child of children.flat()) node.append(child);
  return node;
}

function bytes(n) {
  if (!isFinite(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (Math.abs(n) >= 1024 && i < units.length - 1) { n /= 1024; ++i; }
  return (i === 0 ? Math.round(n).toString() : n.toFixed(Math.abs(n) >= 100 ? 0 : 1)) + " " + units[i];
}
const count = (n) => Math.round(n).toLocaleString("en-US");
function micro(seconds) {
  return Math.abs(seconds) >= 1e-3 ? (seconds * 1e3).toFixed(2) + " ms" : (seconds * 1e6).toFixed(Math.abs(seconds) < 1e-5 ? 2 : 1) + " µs";
}
function rate(n) {
  const units = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  while (Math.abs(n) >= 1000 && i < units.length - 1) { n /= 1000; ++i; }
  return n.toFixed(n >= 100 ? 0 : 1) + " " + units[i];
}
const moved = (k) => k.read_bytes + k.written_bytes;
const timed = data.kernels.some((k) => k.seconds);

//------------------------------------------------------------------ overview
function overview() {
  const t = data.totals, m = data.memory;
  document.title = "fusec explain: " + (data.model || "graph");
  $("title").textContent = data.model || "Graph";
  const tokens = data.step.T === 1 ? "1 token" : count(data.step.T) + " tokens";
  $("lede").textContent = [data.architecture, "level " + data.level, data.layers + " layers",
    "figures for one step of " + tokens + " with " + count(data.step.C) + " positions in the cache"]
    .filter((s) => s).join(" · ");
  const figures = [
    [count(t.launches), "launches a step, instead of " + count(t.unfused_launches)],
    [count(t.launches_per_layer), "launches a layer"],
    [bytes(t.moved_bytes), "moved a step"],
    ["× " + (t.moved_bytes / t.minimum_bytes).toFixed(3), "of the least possible, " + bytes(t.minimum_bytes)],
    [bytes(t.unfused_bytes - t.moved_bytes), "saved against one kernel per op"],
    [bytes(m.activation_bytes), m.cache_bytes_per_position > 0 ? "activations; attention memory is " +
      (m.attention_memory === "linear" ? "linear in the length" : m.attention_memory) : "activations"],
  ];
  if (m.cache_bytes_per_position > 0)
    figures.push([bytes(m.cache_bytes_per_position), "keys and values a position"]);
  if (timed) {
    const seconds = data.kernels.reduce((sum, k) => sum + (k.seconds || 0), 0);
    figures.push([micro(seconds), "in kernels a step, " + rate(t.moved_bytes / seconds) + "B/s"]);
  }
  $("figures").append(...figures.map(([value, label]) => el("div", { class: "figure" }, el("b", {}, value), el("span", {}, label))));
}

//------------------------------------------------------------------ graph
const rowHeight = 24, top0 = 40;
let view = null; // { items: [{op, side, y, node}], ... }

function sectionTitle(section) {
  const layers = section.layers;
  if (layers.length === 0) return "Outside of layers";
  const runs = [];
  for (const layer of layers) {
    const last = runs[runs.length - 1];
    if (last && last[1] === layer - 1) last[1] = layer;
    else runs.push([layer, layer]);
  }
  const text = runs.map(([a, b]) => (a === b ? String(a) : a + "–" + b)).join(", ");
  return (layers.length === 1 ? "Layer " : layers.length + " equal layers: ") + text;
}

const shortName = (name) => name.replace(/:[a-z_]+(#\d+)?$/, (_, n) => (n ? " " + n : ""));

/// The right side: kernels in order. An op computed in several kernels is shown in each of them.
function kernelGroups(after) {
  const byName = new Map(after.map((op) => [op.name, op]));
  const groups = new Map();
  for (const op of after) {
    if (op.recomputed || op.group === undefined) continue;
    if (!groups.has(op.group)) groups.set(op.group, { number: op.group, kernel: op.kernel, ops: [], again: [] });
    groups.get(op.group).ops.push(op);
  }
  for (const group of groups.values()) addRecomputed(group, byName);
  return [...groups.values()].sort((a, b) => a.number - b.number);
}

function addRecomputed(group, byName) {
  const pending = [...group.ops];
  while (pending.length)
    for (const name of pending.pop().inputs) {
      const op = byName.get(name);
      if (op && op.recomputed && !group.again.includes(op)) { group.again.push(op); pending.push(op); }
    }
}

/// Positions of the two columns; everything else follows from row numbers.
function layoutFor(width) {
  const arcs = 56, middle = 70, column = (width - 2 * arcs - middle) / 2;
  return { width, arcs, middle, column, left: arcs, right: arcs + column + middle };
}

/// One row: a button for an op. Returns the item that the rest of the page knows it by.
function opRow(op, side, y, layout, extra) {
  const left = side === "before" ? layout.left : layout.right + 4;
  const width = layout.column - (side === "after" ? 12 : 0);
  const node = el("button", { class: "op" + (extra.again ? " again" : ""), type: "button", tabindex: "-1", title: op.name,
    style: `left:${left}px;top:${y}px;width:${width}px` },
    el("span", { class: "kind" }, op.cascade !== undefined ? op.kind + " ∿" : op.kind),
    el("span", { class: "name" }, shortName(op.name)));
  const item = { op, side, y: y + 11, node, again: extra.again, group: extra.group };
  node.addEventListener("click", () => choose(item));
  node.addEventListener("mouseenter", () => light(item));
  node.addEventListener("mouseleave", () => light(view.chosen));
  node.addEventListener("focus", () => light(item));
  node.addEventListener("keydown", (event) => moveFocus(event, item));
  return item;
}

function kernelBox(group, y, rows, layout) {
  const kernel = data.kernels.find((k) => k.kernel === group.kernel);
  const label = (group.kernel || "kernel " + group.number) + (kernel && kernel.kind === "cascade" ? " derived" : "");
  return el("div", { class: "kernel " + (kernel ? kernel.kind : "rows"),
    style: `left:${layout.right}px;top:${y - 2}px;width:${layout.column}px;height:${rows * rowHeight + 2}px` },
    el("span", { class: "label" }, label));
}

/// Rows of both sides, and the boxes of the kernels. Returns the items and where they end.
function placeRows(section, groups, layout, inner) {
  const items = [], order = section.after;
  function add(op, side, y, extra) {
    const item = opRow(op, side, y, layout, extra);
    items.push(item);
    inner.append(item.node);
  }
  section.before.forEach((op, i) => add(op, "before", top0 + i * rowHeight, {}));
  let y = top0;
  for (const group of groups) {
    const members = [...group.again, ...group.ops].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    inner.append(kernelBox(group, y, members.length, layout));
    for (const op of members) { add(op, "after", y, { again: op.recomputed, group }); y += rowHeight; }
    y += 8;
  }
  const placed = new Set(groups.flatMap((g) => [...g.ops, ...g.again]));
  for (const op of order.filter((o) => !placed.has(o))) { add(op, "after", y, { again: op.recomputed }); y += rowHeight; }
  return { items, bottom: Math.max(top0 + section.before.length * rowHeight, y) + 14 };
}

/// Where an op of the left went on the right.
function drawLinks(items, layout, lines) {
  const links = [], x1 = layout.left + layout.column, x2 = layout.right;
  for (const from of items.filter((i) => i.side === "before"))
    for (const to of items.filter((i) => i.side === "after" && i.op.name === from.op.name)) {
      const node = svg("path", { class: "link", d: `M${x1},${from.y}C${x1 + 30},${from.y} ${x2 - 30},${to.y} ${x2},${to.y}` });
      lines.append(node);
      links.push({ name: from.op.name, node });
    }
  return links;
}

/// From writer to reader, on the outer edge of each side.
function drawArcs(items, layout, lines) {
  const arcs = [];
  for (const to of items)
    for (const from of items) {
      if (from.side !== to.side || !to.op.inputs.includes(from.op.name)) continue;
      if (to.side === "after" && from.again && from.group !== to.group) continue;
      const outward = to.side === "before" ? -1 : 1, x = to.side === "before" ? layout.left : layout.width - layout.arcs;
      const bow = x + outward * 1.3 * Math.min(44, 8 + Math.abs(to.y - from.y) / 9);
      const node = svg("path", { class: "arc", d: `M${x},${from.y}C${bow},${from.y} ${bow},${to.y} ${x},${to.y}` });
      lines.append(node);
      arcs.push({ from, to, node });
    }
  return arcs;
}

function drawSection(section) {
  const canvas = $("canvas"), groups = kernelGroups(section.after);
  canvas.replaceChildren();
  const layout = layoutFor(Math.max(760, canvas.clientWidth - 2));
  const inner = el("div", { class: "graph-inner" }), lines = svg("svg", { "aria-hidden": "true" });
  const heading = (x, text) => el("div", { class: "head", style: `left:${x + 8}px` }, text);
  inner.append(lines, heading(layout.left, section.before.length + (section.before.length === 1 ? " op" : " ops")),
    heading(layout.right, groups.length + (groups.length === 1 ? " kernel" : " kernels")));
  const { items, bottom } = placeRows(section, groups, layout, inner);
  inner.style.height = bottom + "px";
  lines.setAttribute("width", layout.width);
  lines.setAttribute("height", bottom);
  view = { section, items, links: drawLinks(items, layout, lines), arcs: drawArcs(items, layout, lines), chosen: null };
  canvas.append(inner);
  const after = items.filter((i) => i.side === "after");
  const first = after.find((i) => i.op.proof) || after.find((i) => i.op.kind === "contract") || items[0];
  if (first) choose(first);
}

function light(item) {
  const name = item && item.op.name;
  const near = new Set();
  for (const arc of view.arcs) {
    const lit = item && (arc.from.op.name === name || arc.to.op.name === name);
    arc.node.classList.toggle("lit", !!lit);
    if (lit) { near.add(arc.from.op.name); near.add(arc.to.op.name); }
  }
  for (const link of view.links) link.node.classList.toggle("lit", link.name === name);
  for (const other of view.items) other.node.classList.toggle("same", !!item && other !== view.chosen && near.has(other.op.name));
}

function choose(item) {
  for (const other of view.items) {
    other.node.classList.toggle("chosen", other === item);
    other.node.setAttribute("tabindex", other === item ? "0" : "-1");
  }
  view.chosen = item;
  light(item);
  showDetails(item);
}

function moveFocus(event, item) {
  const side = view.items.filter((i) => i.side === item.side);
  const at = side.indexOf(item);
  let target = null;
  if (event.key === "ArrowDown") target = side[at + 1];
  else if (event.key === "ArrowUp") target = side[at - 1];
  else if (event.key === "Home") target = side[0];
  else if (event.key === "End") target = side[side.length - 1];
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    const other = view.items.filter((i) => i.side !== item.side);
    target = other.find((i) => i.op.name === item.op.name) ||
      other.reduce((best, i) => (!best || Math.abs(i.y - item.y) < Math.abs(best.y - item.y) ? i : best), null);
  }
  if (!target) return;
  event.preventDefault();
  choose(target);
  target.node.focus();
}

/// "blk.7.x:map" as decisions write it.
function withoutLayer(name) { return name.replace(/\.\d+(?=[.:]|$)/, ".*"); }

function pairs(list) {
  return el("dl", {}, list.filter((p) => p[1] !== undefined && p[1] !== "").flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
}
function proofList(proof) {
  return el("ul", { class: "proof" }, Object.entries(proof).map(([name, how]) => el("li", {}, el("b", {}, name), " " + how)));
}

function showDetails(item) {
  const op = item.op, box = $("details");
  const became = view.section.after.find((other) => other.name === op.name) || {};
  const kernel = data.kernels.find((k) => k.kernel === became.kernel);
  const readers = view.items.filter((i) => i.side === item.side && i.op.inputs.includes(op.name)).map((i) => i.op.name);
  box.replaceChildren(el("p", { class: "big" }, op.name), pairs([
    ["result", op.type], ["hands over", bytes(op.result_bytes)], ["moves alone", bytes(op.unfused_bytes)],
    ["operations", rate(op.operations)],
    ["kernel", became.recomputed ? "computed again in every reader" :
      kernel ? kernel.kernel + ", " + kernel.kind + ", " + count(kernel.launches) + (kernel.launches === 1 ? " launch" : " launches") : ""],
    ["loop", op.cascade === undefined ? "" : "derived, number " + op.cascade],
  ]));
  if (op.proof) box.append(el("h3", {}, "Why the loops may be one"), proofList(op.proof));
  const list = (title, names) => names.length && box.append(el("h3", {}, title), el("ul", {}, [...new Set(names)].map((n) => el("li", { class: "mono" }, n))));
  list("Reads", op.inputs);
  list("Read by", readers);
  const own = withoutLayer(op.name);
  const related = data.decisions.filter((d) => d.producer === own || d.consumer === own);
  if (related.length) {
    box.append(el("h3", {}, "Decisions"), el("ul", {}, related.map((d) => el("li", {},
      el("span", { class: "tag " + (d.fused ? "yes" : "no") }, d.fused ? "fused " : "refused "), d.kind + " ",
      el("span", { class: "mono" }, d.producer === own ? "→ " + d.consumer : "← " + d.producer), ": " + d.reason))));
  }
}

function graph() {
  const select = $("section");
  data.sections.forEach((section, i) => select.append(el("option", { value: i }, sectionTitle(section))));
  let most = 0;
  data.sections.forEach((section, i) => { if (section.layers.length > (data.sections[most].layers.length || 0)) most = i; });
  select.value = String(most);
  select.addEventListener("change", () => drawSection(data.sections[Number(select.value)]));
  if (!data.sections.length) return;
  drawSection(data.sections[most]);
  let pending = 0;
  addEventListener("resize", () => { clearTimeout(pending); pending = setTimeout(() => drawSection(view.section), 150); });
}

//------------------------------------------------------------------ tables
function sortableTable(table, columns, rows, footer) {
  let by = null, down = false;
  const head = el("tr"), body = el("tbody");
  function fill() {
    const sorted = by === null ? rows : [...rows].sort((a, b) => {
      const x = columns[by].value(a), y = columns[by].value(b);
      const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -order : order;
    });
    body.replaceChildren(...sorted.map((row) => el("tr", {}, columns.map((c) => el("td", { class: c.class }, c.cell(row))))));
    [...head.children].forEach((th, i) => {
      if (i === by) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
  }
  columns.forEach((c, i) => head.append(el("th", { class: c.class, scope: "col" }, el("button", { type: "button", onclick: () => {
    down = by === i ? !down : c.class === "number";
    by = i;
    fill();
  } }, c.title))));
  table.append(el("thead", {}, head), body);
  if (footer) table.append(el("tfoot", {}, footer));
  fill();
  return { show(list) { rows = list; fill(); } };
}

function bar(k, scale) {
  const least = Math.min(k.minimum_bytes, moved(k));
  const parts = [["minimum", least], ["extra", moved(k) - least], ["saved", Math.max(0, k.saved_bytes)]];
  const text = `${bytes(least)} least possible, ${bytes(moved(k) - least)} beyond, ${bytes(Math.max(0, k.saved_bytes))} saved`;
  return el("div", { class: "track", role: "img", "aria-label": text, title: text },
    parts.map(([name, n]) => el("i", { class: name, style: "width:" + (100 * n / scale).toFixed(2) + "%" })));
}

function roof(k) {
  const m = data.machine;
  if (!m || !k.seconds) return undefined;
  const byBytes = m.bytes_per_second > 0 ? moved(k) / m.bytes_per_second : 0;
  const byWork = m.flops_per_second > 0 ? k.operations / m.flops_per_second : 0;
  return Math.max(byBytes, byWork) / k.seconds;
}

function kernels() {
  $("kernel-table").classList.toggle("timed", timed);
  const scale = Math.max(1, ...data.kernels.map((k) => Math.max(k.unfused_bytes, moved(k))));
  const number = (title, value, show) => ({ title, value, cell: (k) => show(value(k)), class: "number" });
  const columns = [
    { title: "Kernel", value: (k) => Number(k.kernel.slice(1)), cell: (k) => el("span", { class: "mono", title: k.schedule }, k.kernel) },
    { title: "Kind", value: (k) => k.kind, cell: (k) => el("span", { class: "tag " + k.kind }, k.kind) },
    number("Launches", (k) => k.launches, count),
    number("A layer", (k) => k.launches_per_layer, (n) => (n ? count(n) : "")),
    number("Read", (k) => k.read_bytes, bytes),
    number("Written", (k) => k.written_bytes, bytes),
    number("Least", (k) => k.minimum_bytes, bytes),
    number("Saved", (k) => k.saved_bytes, bytes),
    { title: "Bytes", value: (k) => moved(k), cell: (k) => bar(k, scale) },
  ];
  if (timed) {
    columns.push(number("Time", (k) => k.seconds || 0, (s) => (s ? micro(s) : "–")));
    columns.push({ title: "Bytes/s", class: "number", value: (k) => (k.seconds ? moved(k) / k.seconds : 0), cell: (k) => (k.seconds ? rate(moved(k) / k.seconds) + "B/s" : "–") });
    if (data.machine)
      columns.push(number("Of roof", (k) => roof(k) || 0, (x) => (x ? (100 * x).toFixed(0) + " %" : "–")));
  }
  columns.push({ title: "Ops", value: (k) => k.ops.join(), class: "members", cell: (k) => [
    el("div", {}, k.merges_partial_results_of ? "merges the partial results of " + k.merges_partial_results_of : k.ops.join(", ")),
    k.recomputed.length && !k.merges_partial_results_of ? el("div", { class: "again" }, "recomputing " + k.recomputed.join(", ")) : null] });
  const t = data.totals;
  const cells = ["Total", "", count(t.launches), count(t.launches_per_layer), bytes(t.read_bytes), bytes(t.written_bytes),
    bytes(t.minimum_bytes), bytes(t.unfused_bytes - t.moved_bytes)];
  const footer = el("tr", {}, cells.map((c, i) => el("td", { class: i > 1 ? "number" : "" }, c)),
    el("td", { colspan: columns.length - cells.length }, "moved / least = " + (t.moved_bytes / t.minimum_bytes).toFixed(3)));
  sortableTable($("kernel-table"), columns, data.kernels, footer);
}

function decisions() {
  const estimated = data.decisions.some((d) => d.seconds_saved_per_token !== undefined);
  const table = sortableTable($("decision-table"), [
    { title: "", value: (d) => (d.fused ? 0 : 1), cell: (d) => el("span", { class: "tag " + (d.fused ? "yes" : "no") }, d.fused ? "fused" : "refused") },
    { title: "Times", value: (d) => d.count, class: "number", cell: (d) => count(d.count) },
    { title: "Kind", value: (d) => d.kind, cell: (d) => el("span", { class: "tag" }, d.kind) },
    { title: "From", value: (d) => d.producer, class: "members", cell: (d) => d.producer },
    { title: "Into", value: (d) => d.consumer, class: "members", cell: (d) => d.consumer },
    ...(estimated ? [{ title: "Saves a token", value: (d) => d.seconds_saved_per_token ?? 0, class: "number",
      cell: (d) => (d.seconds_saved_per_token === undefined ? "" : micro(d.seconds_saved_per_token)) }] : []),
    { title: "Bytes", value: (d) => d.bytes, class: "number", cell: (d) => bytes(d.bytes) },
    { title: "Why", value: (d) => d.reason, class: "reason", cell: (d) => [
      el("div", {}, (d.obligation ? d.obligation + ": " : "") + d.reason +
        (["cost", "legality"].includes(d.decided_by) ? "" : " (decided by the " + d.decided_by + ")")),
      d.proof ? proofList(d.proof) : null] },
  ], data.decisions);
  const state = { outcome: "refused", kind: "", why: "", text: "" };
  // Figures differ from edge to edge; the reason without them is what one filters by.
  const reasonOf = (d) => d.obligation ? "obligation: " + d.obligation : d.reason.replace(/-?\d+(\.\d+)?/g, "…");
  function apply() {
    const needle = state.text.toLowerCase();
    const rows = data.decisions.filter((d) =>
      (!state.outcome || (state.outcome === "fused") === d.fused) && (!state.kind || d.kind === state.kind) &&
      (!state.why || reasonOf(d) === state.why) &&
      (!needle || (d.producer + " " + d.consumer + " " + d.reason).toLowerCase().includes(needle)));
    table.show(rows);
    const edges = rows.reduce((sum, d) => sum + d.count, 0);
    $("decision-count").textContent = rows.length + (rows.length === 1 ? " row, " : " rows, ") + count(edges) + " edges";
  }
  function chooser(label, key, options) {
    const select = el("select", { onchange: (event) => { state[key] = event.target.value; if (key !== "why") fillReasons(); apply(); } },
      options.map(([value, text]) => el("option", { value }, text)));
    select.value = state[key];
    $("filters").append(el("label", {}, label, select));
    return select;
  }
  chooser("Outcome", "outcome", [["", "all"], ["refused", "refused"], ["fused", "fused"]]);
  chooser("Kind", "kind", [["", "all"], ...[...new Set(data.decisions.map((d) => d.kind))].sort().map((k) => [k, k])]);
  const reasons = chooser("Reason or obligation", "why", [["", "all"]]);
  function fillReasons() {
    const counts = new Map();
    for (const d of data.decisions)
      if ((!state.outcome || (state.outcome === "fused") === d.fused) && (!state.kind || d.kind === state.kind))
        counts.set(reasonOf(d), (counts.get(reasonOf(d)) || 0) + d.count);
    if (!counts.has(state.why)) state.why = "";
    reasons.replaceChildren(el("option", { value: "" }, "all"),
      ...[...counts].sort((a, b) => b[1] - a[1]).map(([why, n]) => el("option", { value: why }, why + " (" + n + ")")));
    reasons.value = state.why;
  }
  $("filters").append(el("label", {}, "Search", el("input", { type: "search", oninput: (event) => { state.text = event.target.value; apply(); } })));
  fillReasons();
  apply();
}

//------------------------------------------------------------------ roofline
function roofline() {
  const box = $("roofline-plot");
  const points = data.kernels.filter((k) => k.seconds && k.operations > 0 && moved(k) > 0)
    .map((k) => ({ k, x: k.operations / moved(k), y: k.operations / k.seconds }));
  if (!points.length) {
    box.append(el("p", { class: "note" }, "No timings were given. Measure them with `fusec bench MODEL --kernel-times FILE` and give the file to `fusec explain MODEL --timings FILE --html`."));
    return;
  }
  const m = data.machine || {};
  const width = 920, height = 420, left = 76, right = 24, top = 16, bottom = 46;
  const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
  if (m.flops_per_second) ys.push(m.flops_per_second);
  if (m.bytes_per_second && m.flops_per_second) xs.push(m.flops_per_second / m.bytes_per_second);
  const low = (list) => Math.floor(Math.log10(Math.min(...list)) - 0.1), high = (list) => Math.ceil(Math.log10(Math.max(...list)) + 0.1);
  const x0 = low(xs), x1 = high(xs), y0 = low(ys), y1 = high(ys);
  const px = (v) => left + (Math.log10(v) - x0) / (x1 - x0) * (width - left - right);
  const py = (v) => height - bottom - (Math.log10(v) - y0) / (y1 - y0) * (height - top - bottom);
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", width: "100%", style: "max-width:" + width + "px",
    "aria-label": "Operations per second against operations per byte, one point per kernel" });
  for (let e = x0; e <= x1; ++e) {
    plot.append(svg("line", { class: "axis", x1: px(10 ** e), x2: px(10 ** e), y1: top, y2: height - bottom }));
    plot.append(svg("text", { x: px(10 ** e), y: height - bottom + 18, "text-anchor": "middle" }, e < 0 ? (10 ** e).toPrecision(1) : rate(10 ** e).replace(".0", "").trim()));
  }
  for (let e = y0; e <= y1; ++e) {
    plot.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: py(10 ** e), y2: py(10 ** e) }));
    plot.append(svg("text", { x: left - 8, y: py(10 ** e) + 4, "text-anchor": "end" }, rate(10 ** e).replace(".0", "")));
  }
  plot.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "operations per byte moved"));
  plot.append(svg("text", { x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(top + height - bottom) / 2})` }, "operations per second"));
  if (m.bytes_per_second) {
    const path = [];
    for (let i = 0; i <= 120; ++i) {
      const x = 10 ** (x0 + (x1 - x0) * i / 120);
      const y = Math.min(x * m.bytes_per_second, m.flops_per_second || Infinity);
      if (Math.log10(y) >= y0) path.push((path.length ? "L" : "M") + px(x).toFixed(1) + "," + py(y).toFixed(1));
    }
    plot.append(svg("path", { class: "roof", d: path.join("") }));
  }
  // Labels that would lie on one another go below.
  const taken = [];
  for (const { k, x, y } of points.sort((a, b) => b.y - a.y)) {
    const cx = px(x), cy = py(y), share = roof(k);
    const radius = 3.5 + 9 * Math.sqrt(k.seconds / Math.max(...points.map((p) => p.k.seconds)));
    const title = svg("title", {}, `${k.kernel}: ${micro(k.seconds)} a step` + (share ? `, ${(100 * share).toFixed(0)} % of the roof` : ""));
    plot.append(svg("circle", { class: k.kind, cx, cy, r: radius.toFixed(1), "fill-opacity": .75 }, title));
    let ty = cy + 4;
    while (taken.some(([tx, t]) => Math.abs(tx - cx) < 40 && Math.abs(t - ty) < 12)) ty += 12;
    taken.push([cx, ty]);
    plot.append(svg("text", { class: "label", x: cx + radius + 4, y: ty }, k.kernel));
  }
  box.append(el("p", { class: "note" }, "One point per kernel, its area the time it takes in a step. The line is what the machine allows."), plot);
}

//------------------------------------------------------------------ memory
function memory() {
  const m = data.memory, box = $("memory-body");
  box.append(el("p", { class: "note" },
    `Activations share slots; the largest grows with ${m.largest_activation_grows_with}. ` +
    (m.cache_bytes_per_position > 0 ? (m.attention_memory === "linear" ? "Attention takes memory linear in the length. "
      : "Attention keeps tokens × context scores in memory. ") + `Keys and values take ${bytes(m.cache_bytes_per_position)} a position. ` : "") +
    `Weights take ${bytes(m.weight_bytes)}.`));
  const table = el("table");
  sortableTable(table, [
    { title: "Slot", value: (s) => s.slot, class: "number", cell: (s) => count(s.slot) },
    { title: "Bytes", value: (s) => s.bytes, class: "number", cell: (s) => bytes(s.bytes) },
    { title: "Buffers", value: (s) => s.buffers, class: "number", cell: (s) => count(s.buffers) },
    { title: "Shape", value: (s) => s.type, cell: (s) => el("code", {}, s.type) },
    { title: "First holds", value: (s) => s.first, cell: (s) => el("code", {}, s.first) },
  ], m.slots);
  box.append(el("div", { class: "scroll" }, table));
  if (data.compile_seconds) {
    box.append(el("h3", {}, "Compile time"), pairs(Object.entries(data.compile_seconds).map(([name, s]) => [name, s.toFixed(3) + " s"])));
  }
}

overview();
graph();
kernels();
decisions();
roofline();
memory();
