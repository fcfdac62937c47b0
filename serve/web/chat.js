// The chat: a conversation (or texts to continue), streamed. What a model writes enters the page as text, never as HTML.
import {events, request} from "./client.js";
import {count, duration} from "./format.js";

const $ = (id) => document.getElementById(id);

let model = "";
let turns = []; // {role, content, element}; of a completion, role is "prompt" or "assistant".
let running = null; // AbortController of the answer that is being written.

//===----------------------------------------------------------------------===//
// Turns on the page
//===----------------------------------------------------------------------===//

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

const speakers = {user: "You", prompt: "Text", assistant: "Model"};

function addTurn(role, content) {
  $("empty").hidden = true;
  const box = element("article", `turn ${role}`);
  const text = element("p", "text", content);
  box.append(element("h3", "", speakers[role]), text);
  $("log").append(box);
  box.scrollIntoView({block: "end"});
  const turn = {role, content, box, text};
  turns.push(turn);
  return turn;
}

function removeLast() {
  turns.pop().box.remove();
}

function append(turn, delta) {
  const log = $("log");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  turn.content += delta;
  turn.text.append(delta); // A string: becomes a text node.
  if (atEnd)
    log.scrollTop = log.scrollHeight;
}

//===----------------------------------------------------------------------===//
// What is said of an answer
//===----------------------------------------------------------------------===//

const milliseconds = (value) => duration(value / 1000);
const explained = [
  ["queue_ms", "waited", milliseconds], ["prefill_ms", "prompt", milliseconds],
  ["ttft_ms", "first token after", milliseconds], ["decode_ms", "further tokens", milliseconds],
  ["total_ms", "in all", milliseconds], ["prompt_tokens", "prompt tokens", count],
  ["cached_tokens", "of these cached", count], ["computed_tokens", "computed", count],
  ["recomputed_tokens", "computed again", count], ["generated_tokens", "generated", count],
  ["preemptions", "preemptions", count], ["steps", "steps", count],
];

function explanation(why) {
  const details = element("details", "");
  details.append(element("summary", "", "Where the time went"));
  const list = element("dl", "pairs");
  const add = (name, value) => list.append(element("dt", "", name), element("dd", "", value));
  for (const [key, name, shown] of explained)
    if (key in why)
      add(name, shown(why[key]));
  if (why.batch)
    add("sequences in its steps", `${why.batch.min} to ${why.batch.max}, mean ${why.batch.mean.toFixed(1)}`);
  details.append(list);
  return details;
}

// Of the first token only the time to it is known, so the rate is that of the others.
function rateOf(why) {
  const later = why.generated_tokens - 1;
  return later > 0 && why.decode_ms > 0 ? `${(later / why.decode_ms * 1000).toFixed(1)} tokens/s` : null;
}

function describe(turn, {finish, usage, why}) {
  const parts = [finish ?? "ended early"];
  if (usage)
    parts.push(`${usage.completion_tokens} tokens`);
  if (why && rateOf(why))
    parts.push(rateOf(why));
  if (usage)
    parts.push(`${usage.prompt_tokens_details.cached_tokens} of ${usage.prompt_tokens} prompt tokens cached`);
  turn.box.append(element("p", "quiet facts", parts.join(" \u00b7 ")));
  if (why)
    turn.box.append(explanation(why));
}

//===----------------------------------------------------------------------===//
// Asking
//===----------------------------------------------------------------------===//

function numberOf(id) {
  const text = $(id).value.trim();
  return text === "" ? undefined : Number(text); // JSON leaves out what is undefined.
}

function bodyFor(completion) {
  const body = {
    model, stream: true, stream_options: {include_usage: true}, explain: true,
    temperature: numberOf("temperature"), max_tokens: numberOf("max-tokens"), seed: numberOf("seed"),
  };
  if (completion)
    return {...body, prompt: turns.at(-1).content};
  const messages = turns.filter((turn) => turn.role !== "prompt").map(({role, content}) => ({role, content}));
  const system = $("system").value.trim();
  return {...body, messages: system ? [{role: "system", content: system}, ...messages] : messages};
}

// Reads a stream into `turn`. What is known of it so far stays in `facts` when it breaks off.
async function read(response, turn, facts) {
  for await (const data of events(response)) {
    if (data === "[DONE]")
      return;
    const chunk = JSON.parse(data);
    if (chunk.error)
      throw new Error(chunk.error.message);
    facts.usage = chunk.usage ?? facts.usage;
    facts.why = chunk.fusec?.requests[0] ?? facts.why;
    for (const choice of chunk.choices ?? []) {
      append(turn, choice.delta?.content ?? choice.text ?? "");
      facts.finish = choice.finish_reason ?? facts.finish;
    }
  }
}

function setBusy(busy) {
  $("send").hidden = busy;
  $("stop").hidden = !busy;
  $("again").disabled = busy || turns.length === 0;
  $("clear").disabled = busy || turns.length === 0;
  $("log").setAttribute("aria-busy", String(busy)); // A screen reader reads the answer when it is whole.
  $("busy").textContent = busy ? "writing\u2026" : "";
}

function showError(error) {
  $("chat-error").textContent = error?.message ?? "";
  $("chat-error").hidden = !error;
}

async function answer() {
  const completion = turns.at(-1).role === "prompt";
  const body = bodyFor(completion);
  const facts = {};
  running = new AbortController();
  showError(null);
  const turn = addTurn("assistant", "");
  setBusy(true);
  try {
    const path = completion ? "v1/completions" : "v1/chat/completions";
    await read(await request(path, {body, signal: running.signal}), turn, facts);
  } catch (error) {
    if (running.signal.aborted)
      facts.finish = "stopped by you";
    else
      showError(error);
  }
  running = null;
  if (turn.content === "" && !facts.finish)
    removeLast(); // Nothing came: only the error is worth showing.
  else
    describe(turn, facts);
  setBusy(false);
  $("log").scrollTop = $("log").scrollHeight;
}

//===----------------------------------------------------------------------===//
// Buttons
//===----------------------------------------------------------------------===//

function send() {
  const text = $("prompt").value;
  if (running || text.trim() === "")
    return;
  $("prompt").value = "";
  addTurn($("mode").value === "chat" ? "user" : "prompt", text);
  answer();
}

function again() {
  if (running || turns.length === 0)
    return;
  if (turns.at(-1).role === "assistant") // Else the last attempt failed.
    removeLast();
  answer();
}

function clear() {
  while (turns.length > 0)
    removeLast();
  $("empty").hidden = false;
  showError(null);
  setBusy(false);
  $("prompt").focus();
}

// A conversation and texts to continue do not mix.
function changeMode() {
  const completion = $("mode").value === "completion";
  if (turns.length > 0)
    clear();
  $("system").disabled = completion;
  $("prompt").placeholder = completion ? "Text to continue" : "Message";
  $("send").textContent = completion ? "Continue" : "Send";
}

// `info`: what /version says.
export function startChat(info) {
  model = info.model;
  if (!info.chat_template) {
    $("mode").value = "completion";
    $("mode").querySelector("[value=chat]").disabled = true;
    $("empty").textContent = "This model has no chat template: write the beginning of a text, and it continues it.";
  }
  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  $("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  });
  $("stop").addEventListener("click", () => running?.abort());
  $("again").addEventListener("click", again);
  $("clear").addEventListener("click", clear);
  $("mode").addEventListener("change", changeMode);
  changeMode();
  $("prompt").focus();
}
