// Starts the page: which model is served, and the two views.
import {startChat} from "./chat.js";
import {request} from "./client.js";
import {LiveView} from "./live.js";

const views = ["chat", "live"];
const live = new LiveView();

function show(view) {
  for (const name of views) {
    const tab = document.getElementById(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === view));
    tab.tabIndex = name === view ? 0 : -1;
    document.getElementById(name).hidden = name !== view;
  }
  history.replaceState(null, "", `#${view}`);
  update();
}

// The engine is watched only while somebody can see it.
function update() {
  const seen = !document.getElementById("live").hidden && document.visibilityState === "visible";
  if (seen)
    live.start();
  else
    live.stop();
}

function startTabs() {
  for (const [i, name] of views.entries()) {
    const tab = document.getElementById(`tab-${name}`);
    tab.addEventListener("click", () => show(name));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight")
        return;
      const next = views[(i + 1) % views.length]; // Of two, left and right lead to the same.
      show(next);
      document.getElementById(`tab-${next}`).focus();
    });
  }
  document.addEventListener("visibilitychange", update);
}

async function start() {
  startTabs();
  const line = document.getElementById("model");
  try {
    const info = await (await request("version")).json();
    line.textContent = `${info.model} \u00b7 ${info.context_tokens} tokens of context`;
    line.title = `${info.architecture}, KV ${info.kv_dtype}, fusec ${info.version}`;
    document.title = `${info.model} - fusec`;
    startChat(info);
  } catch (error) {
    line.textContent = `no connection: ${error.message}`;
    line.classList.add("error");
    return;
  }
  show(views.includes(location.hash.slice(1)) ? location.hash.slice(1) : "chat");
}

start();
