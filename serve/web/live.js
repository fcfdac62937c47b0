// The engine view: follows /api/live, or asks /api/stats again and again where streams do not come through.
import {drawKvMap, drawTimeline, stepsThatFit} from "./charts.js";
import {events, request} from "./client.js";
import {count, duration, perSecond, share} from "./format.js";

const $ = (id) => document.getElementById(id);

const rateWindow = 5; // Seconds.
const keptSteps = 400;
const pollEvery = 1000, retryAfter = 10; // Milliseconds; polls before the stream is tried again.
const readAloudEvery = 10_000; // Milliseconds between new descriptions of the drawings.

//===----------------------------------------------------------------------===//
// Tables of what is shown
//===----------------------------------------------------------------------===//

// Each from the newest figures `s` and the window's beginning `w` (counters and time).
const rate = (name) => (s, w) =>
    s.now > w.now ? perSecond((s.counters[name] - w.counters[name]) / (s.now - w.now)) : "\u2013";
const figureRows = [
  ["output tokens/s", rate("generation_tokens_total")],
  ["prompt tokens/s", rate("prompt_tokens_total")],
  ["steps/s", rate("engine_steps_total")],
  ["running", (s) => count(s.running)],
  ["waiting", (s) => count(s.waiting + s.queued)],
  ["prefix hits", (s) => share(s.counters.prefix_cache_hits, s.counters.prefix_cache_queries)],
  ["preemptions", (s) => count(s.counters.num_preemptions_total)],
  ["KV in use", (s) => share(s.pool.live, s.pool.total - s.pool.sink)],
  ["KV waste", (s) => share(s.pool.tail_tokens + s.pool.reserved_tokens, s.pool.live * s.pool.page_tokens)],
  ["outside kernels", (s) => share(s.overhead, 1)],
];

const latencyRows = [
  ["waiting in the queue", "request_queue_time_seconds"],
  ["to the first token", "time_to_first_token_seconds"],
  ["between tokens", "inter_token_latency_seconds"],
  ["whole request", "e2e_request_latency_seconds"],
];

// Name, colour, pages, tokens; rows without pages are parts of the live pages.
const kvRows = [
  ["live", "live", (p) => p.live, (p) => p.live * p.page_tokens],
  ["holding tokens", "held", null, (p) => p.held_tokens],
  ["tail waste", "tail", null, (p) => p.tail_tokens],
  ["reserved", "reserved", null, (p) => p.reserved_tokens],
  ["cached", "cached", (p) => p.cached, (p) => p.cached * p.page_tokens],
  ["parked", "parked", (p) => p.parked, (p) => p.parked * p.page_tokens],
  ["free", "free", (p) => p.free, (p) => p.free * p.page_tokens],
  ["sink", "sink", (p) => p.sink, (p) => p.sink * p.page_tokens],
];

//===----------------------------------------------------------------------===//
// The page's elements, made once and then only given new text
//===----------------------------------------------------------------------===//

function cell(tag, text = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

// A row of `columns` values behind a heading; returns the values' elements.
function addRow(body, name, columns, mark) {
  const row = document.createElement("tr"), heading = cell("th", name);
  heading.scope = "row";
  if (mark) {
    const square = document.createElement("i");
    square.className = mark;
    heading.prepend(square);
  }
  const values = Array.from({length: columns}, () => cell("td"));
  row.append(heading, ...values);
  body.append(row);
  return values;
}

function setText(node, text) {
  if (node.textContent !== text)
    node.textContent = text;
}

export class LiveView {
  constructor() {
    this.figures = figureRows.map(([name]) => {
      const box = document.createElement("div"), value = cell("dd");
      box.append(cell("dt", name), value);
      $("figures").append(box);
      return value;
    });
    this.kv = kvRows.map(([name, mark]) => addRow($("kv-rows"), name, 2, mark === "live" ? null : mark));
    kvRows.forEach(([, , pages], i) => $("kv-rows").rows[i].cells[0].classList.toggle("part", !pages));
    this.kvSum = addRow($("kv-sum"), "sum", 2);
    this.latency = latencyRows.map(([name]) => addRow($("latency-rows"), name, 4));
    this.forget();
    const redraw = () => this.newest && this.draw(this.newest);
    addEventListener("resize", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  //===--------------------------------------------------------------------===//
  // Following the engine
  //===--------------------------------------------------------------------===//

  start() {
    if (this.stopping)
      return;
    this.stopping = new AbortController();
    this.follow(this.stopping.signal);
  }

  stop() {
    this.stopping?.abort();
    this.stopping = null;
  }

  async follow(signal) {
    while (!signal.aborted) {
      try {
        const response = await request("api/live", {signal});
        this.tell("live");
        for await (const data of events(response))
          this.take(JSON.parse(data));
      } catch (error) {
        if (signal.aborted)
          return;
        this.tell(`no stream: ${error.message}`);
        if (error.status === 401)
          return; // Whoever declined to give a key is not asked every second; the next visit of the view asks again.
      }
      for (let i = 0; i < retryAfter && !signal.aborted; ++i)
        await this.poll(signal);
    }
  }

  async poll(signal) {
    await new Promise((resolve) => setTimeout(resolve, pollEvery));
    if (signal.aborted)
      return;
    try {
      this.take(await (await request("api/stats", {signal})).json());
      this.tell("asking once a second: the live stream does not come through");
    } catch (error) {
      this.tell(`no connection: ${error.message}`);
    }
  }

  tell(state) {
    setText($("live-state"), state);
  }

  forget() {
    this.steps = [];
    this.window = [];
    this.newest = null;
  }

  take(stats) {
    if (this.newest && stats.now < this.newest.now)
      this.forget(); // The server has been started anew.
    const last = this.steps.at(-1)?.number ?? 0;
    this.steps.push(...stats.steps.filter((step) => step.number > last));
    this.steps.splice(0, this.steps.length - keptSteps);
    this.window.push({now: stats.now, counters: stats.counters});
    while (this.window.length > 2 && this.window[1].now <= stats.now - rateWindow)
      this.window.shift();
    this.newest = stats;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.show(stats));
  }

  //===--------------------------------------------------------------------===//
  // Showing
  //===--------------------------------------------------------------------===//

  show(stats) {
    for (const [i, [, value]] of figureRows.entries())
      setText(this.figures[i], String(value(stats, this.window[0])));
    this.showPool(stats.pool);
    for (const [i, [, name]] of latencyRows.entries()) {
      const {mean, p50_below: half, p99_below: most, count: observed} = stats.histograms[name];
      const texts = [duration(mean), duration(half), duration(most), count(observed)];
      texts.forEach((text, column) => setText(this.latency[i][column], text));
    }
    this.draw(stats);
    this.describe(stats);
  }

  showPool(pool) {
    for (const [i, [, , pages, tokens]] of kvRows.entries()) {
      setText(this.kv[i][0], pages ? count(pages(pool)) : "");
      setText(this.kv[i][1], count(tokens(pool)));
    }
    const sum = kvRows.reduce((total, [, , pages]) => total + (pages ? pages(pool) : 0), 0);
    const balanced = sum === pool.total &&
                     pool.held_tokens + pool.tail_tokens + pool.reserved_tokens === pool.live * pool.page_tokens;
    setText(this.kvSum[0], `${count(sum)} of ${count(pool.total)}`);
    setText(this.kvSum[1], count(sum * pool.page_tokens));
    $("kv-sum").classList.toggle("error", !balanced);
  }

  draw(stats) {
    drawTimeline($("timeline"), this.steps.slice(-stepsThatFit($("timeline"))));
    const perSquare = drawKvMap($("kv-map"), stats.pool);
    const pages = perSquare === 1 ? "one page" : `${perSquare} pages`;
    setText($("kv-scale"), `A square is ${pages} of ${stats.pool.page_tokens} tokens; sorted by use.`);
  }

  // In words, for those who do not see the drawings; rarely, so that it can be listened to.
  describe({pool}) {
    const step = this.steps.at(-1);
    if (step) {
      const rows = step.tokens - step.prefill_tokens;
      setText($("last-step"), `Step ${count(step.number)}: decode rows ${rows}, prompt tokens ${step.prefill_tokens}, ` +
                                  `sequences ${step.sequences}, ${duration(step.seconds)}`);
    }
    if (performance.now() - (this.described ?? -readAloudEvery) < readAloudEvery)
      return;
    this.described = performance.now();
    $("timeline").setAttribute("aria-label", `Steps. The last: ${$("last-step").textContent || "none yet"}`);
    $("kv-map").setAttribute("aria-label", `KV pages: ${pool.live} live, ${pool.cached} cached, ${pool.free} free, ` +
                                               `of ${pool.total}`);
  }
}
