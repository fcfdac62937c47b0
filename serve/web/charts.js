// The drawings of the engine view, on canvases. Colours come from the style sheet (--c-NAME).

const barWidth = 6, barGap = 1, labelHeight = 14;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--c-${name}`).trim();
}

// A context whose unit is a CSS pixel, cleared. Null while the canvas has no size (hidden).
function prepare(canvas, height) {
  const width = canvas.parentElement.clientWidth, scale = window.devicePixelRatio || 1;
  if (width === 0)
    return null;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "11px system-ui, sans-serif";
  return {context, width, height};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

// Steps that the timeline of this width can show.
export function stepsThatFit(canvas) {
  return Math.max(1, Math.floor(canvas.parentElement.clientWidth / (barWidth + barGap)));
}

// Stacked bars from `top` down to `top + height`; `parts` are [colour, value of a step].
function drawBars({context, width}, steps, top, height, parts, label) {
  const sum = (step) => parts.reduce((total, [, value]) => total + value(step), 0);
  const most = Math.max(...steps.map(sum), 1e-9);
  const bars = height - labelHeight, base = top + height;
  context.fillStyle = colour("text");
  context.fillText(label(most), 0, top + labelHeight - 4);
  context.fillStyle = colour("grid");
  context.fillRect(0, base, width, 1);
  const heights = steps.map(() => 0);
  for (const [name, value] of parts) {
    context.fillStyle = colour(name);
    for (const [i, step] of steps.entries()) {
      const size = value(step) / most * bars;
      heights[i] += size;
      context.fillRect(xOf(i, steps, width), base - heights[i], barWidth, size);
    }
  }
}

// The newest step is at the right.
function xOf(i, steps, width) {
  return width - (steps.length - i) * (barWidth + barGap);
}

function markPreemptions({context, width}, steps, top) {
  context.fillStyle = colour("preempted");
  for (const [i, step] of steps.entries())
    if (step.preempted > 0)
      context.fillRect(xOf(i, steps, width), top, barWidth, 3);
}

// Above: rows of each step, those of running sequences below those of prompts. Below: its time.
export function drawTimeline(canvas, steps) {
  const area = prepare(canvas, 190);
  if (!area || steps.length === 0)
    return;
  drawBars(area, steps, 0, 110,
           [["decode", (step) => step.tokens - step.prefill_tokens], ["prefill", (step) => step.prefill_tokens]],
           (most) => `tokens per step, up to ${most}`);
  markPreemptions(area, steps, 112);
  drawBars(area, steps, 118, 70,
           [["kernels", (step) => step.executor_seconds],
            ["host", (step) => Math.max(0, step.seconds - step.executor_seconds)]],
           (most) => `milliseconds per step, up to ${(most * 1000).toFixed(most < 0.1 ? 1 : 0)}`);
}

//===----------------------------------------------------------------------===//
// KV pages
//===----------------------------------------------------------------------===//

// What page-sized parts of the pool are, in the order they are drawn: live pages by what their positions hold.
function partsOf(pool) {
  const pages = (tokens) => pool.page_tokens > 0 ? tokens / pool.page_tokens : 0;
  return [
    ["held", pages(pool.held_tokens)], ["tail", pages(pool.tail_tokens)], ["reserved", pages(pool.reserved_tokens)],
    ["cached", pool.cached], ["parked", pool.parked], ["free", pool.free], ["sink", pool.sink],
  ];
}

// One square per `pagesPerSquare` pages, sorted by use. Returns that number.
export function drawKvMap(canvas, pool) {
  const gap = 2, mostSquares = 1200, wantedHeight = 200, width = canvas.parentElement.clientWidth;
  const perSquare = Math.max(1, Math.ceil(pool.total / mostSquares));
  const squares = Math.max(1, Math.ceil(pool.total / perSquare));
  const size = Math.min(22, Math.max(7, Math.floor(Math.sqrt(width * wantedHeight / squares)) - gap));
  const columns = Math.max(1, Math.floor((width + gap) / (size + gap)));
  const area = prepare(canvas, Math.ceil(squares / columns) * (size + gap));
  if (!area)
    return perSquare;
  // A square shows its parts side by side, so that a page's waste is seen within the page.
  let at = 0;
  for (const [name, pages] of partsOf(pool)) {
    area.context.fillStyle = colour(name);
    const end = at + pages / perSquare;
    for (let square = Math.floor(at); square < end - 1e-9; ++square) {
      const from = Math.max(at, square), to = Math.min(end, square + 1);
      const x = square % columns * (size + gap), y = Math.floor(square / columns) * (size + gap);
      area.context.fillRect(x + (from - square) * size, y, (to - from) * size, size);
    }
    at = end;
  }
  return perSquare;
}
