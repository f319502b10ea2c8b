// Open documents: what they hold, what reads show of it, and what the server has of it.

import { config, latency, lasting, loaded, quirks, report, service, win } from './channel.js';
import { resolve } from './nets.js';

// The project that is open.
export const project = { uuid: '', name: '', boards: [] };
// Whether this window may write, as the server says.
export const lease = { mine: false, holder: null, foreign: false, writes: 'undefined', banner: true };

const open = new Map();
let active = null;
let leaseSocket = null;
let changed = () => {};

// Calls back whenever something is to be drawn again.
export function onChange(action) {
  changed = action;
}
export const activeDoc = () => active;
export const openDocs = () => [...open.values()];
export const tabId = (doc) => `${doc.uuid}@${project.uuid}`;

class Doc {
  constructor(uuid, kind, revision, body) {
    this.uuid = uuid;
    this.kind = kind;
    this.revision = revision;
    this.next = body.next ?? 1;
    this.mem = new Map(body.primitives.map((record) => [record.id, record]));
    this.dirty = false;
    this.timers = {};
    this.settleReads();
    this.settleNets();
  }

  id() {
    return `e${this.next++}`;
  }

  // Takes a record in or over; `context.fault` may make it a lie.
  put(record, context) {
    if (context.fault?.variant === 'dropped') return;
    this.mem.set(record.id, record);
    this.touched();
  }

  remove(ids) {
    for (const id of ids) this.mem.delete(id);
    this.touched();
  }

  // Starts the waits after which reads and nets are right again.
  touched() {
    this.dirty = true;
    const settle = lasting('EDA-14', 'slow_reads')?.settle_ms ?? latency.settle;
    const held = loaded('EDA-14', 'until_load') || lasting('EDA-14', 'next_call');
    if (!quirks.stale_reads && !held) this.settleReads();
    else if (!held) this.after('reads', settle, () => this.settleReads());
    const wait = lasting('EDA-13', 'slow_nets')?.net_settle_ms ?? latency.net_settle;
    if (loaded('EDA-13', 'never')) return changed();
    if (!quirks.late_nets) this.settleNets();
    else this.after('nets', wait, () => this.settleNets());
    changed();
  }

  after(name, ms, action) {
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(action, ms);
  }

  settleReads() {
    this.snap = new Map([...this.mem].map(([id, record]) => [id, structuredClone(record)]));
  }

  settleNets() {
    this.nets = resolve([...this.mem.values()]);
    changed();
  }

  // Records as reads show them.
  shown(kinds) {
    return [...this.snap.values()].filter((record) => kinds.includes(record.kind));
  }

  body() {
    return { next: this.next, primitives: [...this.mem.values()] };
  }
}

// Loads a project's tree. The status tells why there is none.
export async function loadProject(uuid) {
  const { status, result } = await service('GET', `/api/projects/${uuid}`);
  if (!result) return status;
  const boards = loaded('EDA-8', 'no_boards') ? [] : result.boards;
  Object.assign(project, { uuid: result.uuid, name: result.name, boards });
  document.title = `${result.name} | ${config.words.product} - V${version()} (stand-in)`;
  return status;
}

export const version = () => loaded('EDA-11', 'version')?.version ?? config.settings.version;

// Forgets all open documents, saved or not.
export function closeAll() {
  open.clear();
  active = null;
  changed();
}

// Asks for the edit lease of the project; the answer comes when the server gives it.
export function askForLease(show) {
  leaseSocket?.close();
  lease.mine = false;
  leaseSocket = new WebSocket(`ws://${location.host}/lease?win=${win}&project=${project.uuid}`);
  return new Promise((resolve) => {
    leaseSocket.onmessage = (message) => {
      Object.assign(lease, JSON.parse(message.data));
      show();
      resolve();
    };
    leaseSocket.onerror = resolve;
  });
}

// Puts a document in front, and its name into the address.
function front(doc) {
  active = doc;
  history.replaceState(null, '', `#id=${project.uuid},tab=*${tabId(doc)}`);
  changed();
}

// Opens a document of the project and puts it in front.
export async function openDocument(uuid) {
  if (!open.has(uuid)) {
    const { result } = await service('GET', `/api/projects/${project.uuid}/docs/${uuid}`);
    if (!result?.body) return undefined;
    open.set(uuid, new Doc(uuid, result.kind, result.revision, result.body));
    report('document_opened', { page: uuid, revision: result.revision });
  }
  front(open.get(uuid));
  return tabId(active);
}

export function activate(id) {
  const doc = open.get(id.split('@')[0]);
  if (!doc) return false;
  front(doc);
  return true;
}

export function closeDocument(id) {
  const doc = open.get(id.split('@')[0]);
  if (!doc) return false;
  open.delete(doc.uuid);
  if (active === doc) active = openDocs()[0] ?? null;
  changed();
  return true;
}

// Saves a document; true only when the server says that it has it.
export async function save(doc) {
  const path = `/api/projects/${project.uuid}/docs/${doc.uuid}`;
  const { result } = await service('PUT', path, doc.body());
  if (!result?.revision) return false;
  doc.revision = result.revision;
  doc.dirty = false;
  changed();
  return true;
}

// Body of a document of the project as it is in this window, or as it was saved.
export async function bodyOf(uuid) {
  const doc = open.get(uuid);
  if (doc) return doc.body();
  const { result } = await service('GET', `/api/projects/${project.uuid}/docs/${uuid}`);
  return result?.body;
}
