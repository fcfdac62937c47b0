// The way to the server: the key, requests, errors, server-sent events. Knows nothing of the page but the key's dialog.

const keyName = "fusec-api-key"; // In sessionStorage: gone with the tab, never sent by the browser on its own.
let asking = null;

function askForKey(why) {
  // Requests that are refused at the same time share one dialog.
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key-dialog");
    const input = document.getElementById("key");
    document.getElementById("key-why").textContent = why;
    input.value = "";
    dialog.returnValue = "";
    document.getElementById("key-cancel").onclick = () => dialog.close();
    dialog.onclose = () => {
      asking = null;
      const given = dialog.returnValue === "ok" && input.value.trim() !== "";
      if (given)
        sessionStorage.setItem(keyName, input.value.trim());
      input.value = "";
      resolve(given);
    };
    dialog.showModal();
  });
  return asking;
}

// What went wrong, in the server's own words, with its status.
async function problemOf(response) {
  const text = await response.text();
  let message = `HTTP ${response.status} ${response.statusText}`;
  try {
    message = JSON.parse(text).error.message;
  } catch {
    // Not from this server: a proxy's page, perhaps.
  }
  return Object.assign(new Error(message), {status: response.status});
}

function send(path, key, body, signal) {
  const headers = {};
  if (key)
    headers.Authorization = `Bearer ${key}`;
  if (body)
    headers["Content-Type"] = "application/json";
  const options = {headers, signal, cache: "no-store"};
  return fetch(path, body ? {...options, method: "POST", body: JSON.stringify(body)} : options);
}

// GET, or POST of a JSON body. Asks for a key when one is needed. Throws an Error with a message to show.
export async function request(path, {body, signal} = {}) {
  for (;;) {
    const key = sessionStorage.getItem(keyName);
    const response = await send(path, key, body, signal);
    if (response.ok)
      return response;
    const problem = await problemOf(response);
    const keyIsOld = sessionStorage.getItem(keyName) !== key;
    if (response.status !== 401 || !(keyIsOld || await askForKey(problem.message)))
      throw problem;
  }
}

// The data of each server-sent event of an answer.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done)
        return;
      text += value;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2))
        if (text.startsWith("data: "))
          yield text.slice(6, end);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
