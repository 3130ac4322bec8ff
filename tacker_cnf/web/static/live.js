// Keeps a page up to date: an event of the service makes it fetch itself, and
// the parts marked data-live are replaced by what differs.

const main = document.getElementById("main");
const MIN_INTERVAL_MS = 250;
// a page that takes long is fetched less often
const INTERVAL_FACTOR = 4;
let isFetching = false;
let isStale = false;

async function refresh() {
  if (isFetching) {
    isStale = true;
    return;
  }
  isFetching = true;
  do {
    isStale = false;
    const start = performance.now();
    const response = await fetch(location.href, { redirect: "manual" }).catch(() => null);
    if (response && response.type === "opaqueredirect") {
      location.reload(); // the session has ended: log in
      return;
    }
    if (response && response.ok) {
      const text = await response.text();
      update(new DOMParser().parseFromString(text, "text/html"));
    }
    const interval = Math.max(MIN_INTERVAL_MS, INTERVAL_FACTOR * (performance.now() - start));
    await new Promise((resolve) => setTimeout(resolve, interval));
  } while (isStale);
  isFetching = false;
}

function update(page) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(part.id);
    if (fresh) merge(part, fresh);
  }
}

// Makes a node equal to another one; what is equal stays, with its focus.
function merge(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  mergeAttributes(old, fresh);
  const wanted = [...fresh.childNodes];
  wanted.forEach((child, index) => {
    const here = old.childNodes[index];
    const same = child.id && [...old.children].find((e) => e.id === child.id);
    if (same) {
      if (same !== here) old.insertBefore(same, here);
      merge(same, child);
    } else if (here && matches(here, child)) {
      if (here.nodeType === Node.ELEMENT_NODE) merge(here, child);
      else if (here.nodeValue !== child.nodeValue) here.nodeValue = child.nodeValue;
    } else {
      old.insertBefore(document.importNode(child, true), here || null);
    }
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

function matches(here, child) {
  return here.nodeType === child.nodeType && here.nodeName === child.nodeName && !here.id && !child.id;
}

function mergeAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
}

// Returns the name of a constant as words.
function words(name) {
  return name.charAt(0) + name.slice(1).replaceAll("_", " ").toLowerCase();
}

function report(event) {
  const list = document.getElementById("events");
  if (!list || event.type === "OperationProgress") return;
  const content = JSON.parse(event.data);
  const entry = document.createElement("li");
  const time = new Date(content.timeStamp || Date.now()).toISOString().slice(11, 19);
  const { operation, operationState } = content;
  const text = operationState ? `${words(operation)}: ${words(operationState)}` : event.type;
  entry.textContent = `${time} ${text}`;
  list.querySelector(".quiet")?.remove();
  list.append(entry);
}

const TYPES = [
  "EventsMissed",
  "OperationProgress",
  "VnfLcmOperationOccurrenceNotification",
  "VnfIdentifierCreationNotification",
  "VnfIdentifierDeletionNotification",
  "VnfPackageOnboardingNotification",
  "VnfPackageChangeNotification",
];
const RECONNECT_INTERVAL_MS = 5000;
const GROWTH_INTERVAL_MS = 2000;

let source = null;
let lastEventId = "";

function connect() {
  if (source || document.hidden) return;
  const url = new URL(main.dataset.events, location);
  if (lastEventId) url.searchParams.set("last_event_id", lastEventId);
  source = new EventSource(url);
  for (const type of TYPES) {
    source.addEventListener(type, (event) => {
      lastEventId = event.lastEventId;
      report(event);
      refresh();
    });
  }
  source.addEventListener("open", () => {
    main.classList.remove("offline");
    refresh(); // what happened before
  });
  source.addEventListener("error", () => {
    main.classList.add("offline");
    // the browser gives up after a response that is not a stream
    if (source.readyState === EventSource.CLOSED) {
      disconnect();
      refresh(); // the session may have ended
      setTimeout(connect, RECONNECT_INTERVAL_MS);
    }
  });
}

function disconnect() {
  source?.close();
  source = null;
}

connect();
// a hidden page has no stream: browsers open six connections to a server
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
addEventListener("pagehide", disconnect);
addEventListener("pageshow", connect);
// the bars of what runs grow without an event, too
setInterval(() => {
  if (!document.hidden && document.querySelector("[data-active]")) refresh();
}, GROWTH_INTERVAL_MS);
