// The page's line to its server: what it was told at the load, what lasts now, and every call it makes.

export const config = JSON.parse(document.getElementById('config').textContent);
export const win = config.window;
export const quirks = config.settings.quirks;
export const latency = config.settings.latency;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// How long a call waits for the line before it goes on without.
const LINE_LIMIT_MS = 3000;

let ambient = config.ambient;
let socket = null;
let opened = null;
let number = 0;
const waiting = new Map();
const listeners = new Map();

// Parameters of a fault of this load, or undefined.
export function loaded(id, variant) {
  const fault = config.faults.find((f) => f.id === id && f.variant === variant);
  return fault && (fault.params ?? {});
}

// All faults of this load with these two words.
export function allLoaded(id, variant) {
  return config.faults.filter((f) => f.id === id && f.variant === variant).map((f) => f.params ?? {});
}

// Parameters of a fault that lasts now, or undefined.
export function lasting(id, variant) {
  const fault = ambient.states.find((f) => f.id === id && f.variant === variant);
  return fault && (fault.params ?? {});
}

// Calls back when the server pushes something.
export function on(push, action) {
  listeners.set(push, action);
}

export function connect() {
  socket = new WebSocket(`ws://${location.host}/channel?win=${win}`);
  opened = new Promise((resolve) => { socket.onopen = resolve; });
  socket.onmessage = (message) => {
    const said = JSON.parse(message.data);
    if (said.ambient) ambient = said.ambient;
    if (said.push) return listeners.get(said.push)?.(said);
    waiting.get(said.n)?.(said);
    waiting.delete(said.n);
  };
  socket.onclose = () => {
    // Nobody answers any more: calls go on without a fault.
    for (const answer of waiting.values()) answer({ fault: null });
    waiting.clear();
  };
}

// Reports a call; the fault that is meant for it, or null. Takes at least one turn of the event loop.
export async function ask(api, args) {
  await Promise.race([opened, sleep(LINE_LIMIT_MS)]);
  if (socket.readyState !== WebSocket.OPEN) return null;
  const n = ++number;
  const answer = new Promise((resolve) => waiting.set(n, resolve));
  socket.send(JSON.stringify({ n, call: api, args: plain(args) }));
  return (await answer).fault;
}

// Writes something into the server's log.
export async function report(event, fields) {
  await Promise.race([opened, sleep(LINE_LIMIT_MS)]);
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ event, fields }));
}

// Asks, without leaving this turn of the event loop, for a fault that must strike at once.
export function askNow(api) {
  const meant = ambient.sync.some((pattern) => {
    const [before, after] = pattern.split('*');
    return after === undefined ? api === pattern : api.startsWith(before) && api.endsWith(after);
  });
  if (!meant) return null;
  const request = new XMLHttpRequest();
  request.open('POST', `/channel/fire?win=${win}&api=${encodeURIComponent(api)}`, false);
  request.send();
  return JSON.parse(request.responseText);
}

// A request to the service: its result, or undefined for any failure. `status` is 0 without a reply.
export async function service(method, path, body) {
  const options = { method, headers: { 'X-Window': win } };
  if (body !== undefined) options.body = JSON.stringify(body);
  try {
    const response = await fetch(path, options);
    if (!response.ok) return { status: response.status };
    const reply = await response.json();
    return { status: response.status, result: reply.success ? reply.result : undefined };
  } catch {
    return { status: 0 };
  }
}

// Arguments without what JSON cannot carry.
function plain(args) {
  try {
    return JSON.parse(JSON.stringify(args));
  } catch {
    return ['(no JSON)'];
  }
}
