// Runs a block of an engineer's script with the global `eda` bound to a guarded root.
//
// Every call of the API goes through here: held against the table of signatures first, timed, and, when it
// makes an object, answered with the object that is there already instead of a second one. `INPUT` is bound by
// the caller: { block, code, table, creates, start, journal, quietMs, callMs }.
const root = window._EXTAPI_ROOT_;
const store = (window.__pcbflow ??= { blocks: {} });
const began = Date.now();
const claimed = new Set();
const planned = [];
const faults = [];
const inFlight = new Map();
const live = { api: null, over: false, lastCall: began, number: 0 };
Object.defineProperty(live, 'pending', { get: () => inFlight.size });
store.live = live;
// What this window itself remembers of an earlier try outranks what the file says: it is younger.
const journal = [...(store.blocks[INPUT.block] ?? []), ...INPUT.journal];
const mine = [];
store.blocks[INPUT.block] = mine;
const onSheet = new Map(INPUT.start.map((record) => [record.id, record]));

const near = (a, b) => typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= 2;
const sameLine = (a, b) => Array.isArray(a) && Array.isArray(b) && a.length === b.length
  && a.every((value, at) => near(value, b[at]));
const turned = (line) => {
  const points = [];
  for (let at = 0; at + 1 < line.length; at += 2) points.unshift(line[at], line[at + 1]);
  // Points are turned round, each with x before y.
  return points;
};
const identity = (name, args) => {
  const shape = INPUT.creates[name];
  const part = { method: name, kind: shape.kind };
  for (const [key, at] of Object.entries(shape.args)) part[key] = args[at];
  if (shape.kind === 'part') {
    part.supplier = args[0]?.supplierId ?? null;
    part.library = args[0]?.libraryUuid ?? null;
    part.device = args[0]?.uuid ?? null;
  }
  return JSON.parse(JSON.stringify(part));
};
const samePlace = (plan, record) => (plan.kind === 'wire'
  ? sameLine(plan.line, record.line) || sameLine(turned(plan.line), record.line)
  : near(plan.x, record.x) && near(plan.y, record.y));
const fits = (plan, record) => {
  if (plan.kind !== record.kind) return false;
  if (plan.kind === 'part') {
    const same = plan.device === record.device || (plan.supplier && plan.supplier === record.supplier);
    return same && samePlace(plan, record);
  }
  return (!plan.net || plan.net === record.net) && samePlace(plan, record);
};
// The object that an earlier try made for this call, or that is there for another reason.
const there = (plan, key) => {
  const known = journal.find((entry) => entry.key === key && entry.id && onSheet.has(entry.id) && !claimed.has(entry.id)
    && onSheet.get(entry.id).kind === plan.kind);
  if (known) return known.id;
  return [...onSheet.values()].find((record) => !claimed.has(record.id) && fits(plan, record))?.id ?? null;
};

class Refused extends Error {}
const wrong = (name, why) => {
  faults.push({ api: name, why });
  return new Refused(`${name}: ${why}`);
};
const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);
const shapes = {
  any: () => true,
  number: (v) => typeof v === 'number' && Number.isFinite(v),
  text: (v) => typeof v === 'string',
  bool: (v) => typeof v === 'boolean',
  object: (v) => typeof v === 'object' && v !== null && !Array.isArray(v),
  device: (v) => typeof v === 'object' && v !== null && typeof v.uuid === 'string' && typeof v.libraryUuid === 'string',
  flat: (v) => Array.isArray(v) && v.length >= 4 && v.length % 2 === 0 && v.every((n) => typeof n === 'number' && Number.isFinite(n)),
  list: (v) => Array.isArray(v),
  ids: (v) => v !== undefined && v !== null,
  texts: (v) => typeof v === 'string' || (Array.isArray(v) && v.every((t) => typeof t === 'string')),
};
const wants = {
  number: 'a number', text: 'a text', bool: 'true or false', object: 'an object', list: 'a list',
  device: 'an object with uuid and libraryUuid, such as a search gives, not a bare uuid',
  flat: 'a flat list of numbers [x1, y1, x2, y2, ...], not pairs', ids: 'an id or an object', texts: 'a text or a list of texts',
};
const held = (name, args) => {
  const signature = INPUT.table[name];
  if (!signature) throw wrong(name, 'pcbflow does not know this method');
  if (args.length < signature.min) throw wrong(name, `wants at least ${signature.min} arguments, got ${args.length}`);
  if (args.length > signature.args.length) throw wrong(name, `takes at most ${signature.args.length} arguments, got ${args.length}`);
  args.forEach((value, at) => {
    const wanted = signature.args[at];
    if (at >= signature.min && (value === undefined || value === null)) return;
    if (wanted.one) {
      if (!wanted.one.includes(value)) throw wrong(name, `argument ${at + 1} is one of ${wanted.one.join(', ')}, got ${String(value).slice(0, 40)}`);
    } else if (!shapes[wanted.is](value)) {
      throw wrong(name, `argument ${at + 1} (${wanted.name}) is ${wants[wanted.is]}, got ${typeOf(value)}`);
    }
  });
};
const timed = async (name, work) => {
  if (live.over) throw new Refused(`${name}: the block has ended`);
  const number = ++live.number;
  inFlight.set(number, name);
  live.api = name;
  live.lastCall = Date.now();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => { live.stuck ??= name; reject(new Refused(`${name} did not answer`)); }, INPUT.callMs);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
    inFlight.delete(number);
    live.lastCall = Date.now();
    if (inFlight.size === 0) live.api = null;
  }
};
// Objects that come back change the sheet through `done` alone: that call is timed too.
const watched = (value) => {
  for (const object of Array.isArray(value) ? value : [value]) {
    if (object && typeof object === 'object' && typeof object.done === 'function' && !Object.hasOwn(object, 'done')) {
      const done = object.done;
      Object.defineProperty(object, 'done', { value: () => timed('done', () => done.call(object)) });
    }
  }
  return value;
};
const making = async (name, args, call) => {
  const plan = identity(name, args);
  const key = `${JSON.stringify(plan)}#${mine.filter((e) => e.base === JSON.stringify(plan)).length}`;
  const entry = { key, base: JSON.stringify(plan), id: null };
  mine.push(entry);
  const item = { ...plan, key, id: null, kept: false };
  planned.push(item);
  const old = there(plan, key);
  if (old) {
    claimed.add(old);
    entry.id = old;
    Object.assign(item, { id: old, kept: true });
    const namespace = root[name.split('.')[0]];
    const object = typeof namespace.get === 'function' ? await timed(`${name.split('.')[0]}.get`, () => namespace.get(old)) : null;
    return watched(object ?? { primitiveId: old });
  }
  const value = await timed(name, call);
  if (value === undefined || value === null || value === false) {
    (live.refused ??= []).push(name);
    return value;
  }
  entry.id = String(value.primitiveId ?? '') || null;
  item.id = entry.id;
  if (entry.id) claimed.add(entry.id);
  return watched(value);
};
const guarded = new Proxy(root, {
  get(target, namespace) {
    const space = target[namespace];
    if (typeof namespace !== 'string' || typeof space !== 'object' || space === null) return space;
    return new Proxy(space, {
      get(inner, method) {
        const f = inner[method];
        const name = `${namespace}.${String(method)}`;
        if (typeof f !== 'function') {
          if (INPUT.table[name]) (live.missing ??= []).push(name);
          return f;
        }
        return (...args) => {
          while (args.length > 0 && args.at(-1) === undefined) args.pop();
          const call = () => f.apply(inner, args);
          if (INPUT.table[name]?.sync) {
            held(name, args);
            return call();
          }
          const work = async () => {
            held(name, args);
            if (INPUT.creates[name]) return making(name, args, call);
            return watched(await timed(name, call));
          };
          return work();
        };
      },
    });
  },
});
// What the script began and nobody waits for may fail as well. The page's own failures are not its.
const SOURCE = 'pcbflow-block.js';
const rejected = [];
const onRejection = (event) => {
  if (!String(event.reason?.stack ?? '').includes(SOURCE)) return;
  rejected.push(String(event.reason?.message ?? event.reason).slice(0, 300));
  event.preventDefault();
};
window.addEventListener('unhandledrejection', onRejection);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const started = { script: false };
const AsyncFunction = (async () => {}).constructor;
const perform = async () => {
  let value;
  try {
    // Its last expression is its result: a script that ends in `(async () => { ... })();` is waited for.
    value = (function scope(eda, _EXTAPI_ROOT_, __began) { return eval(`__began();${INPUT.code}\n//# sourceURL=${SOURCE}`); })(guarded, guarded, () => { started.script = true; });
  } catch (error) {
    if (!(error instanceof SyntaxError) || started.script) throw error;
    // `return` or `await` at its top: the body of a function.
    value = new AsyncFunction('eda', '_EXTAPI_ROOT_', `${INPUT.code}\n//# sourceURL=${SOURCE}`)(guarded, guarded);
  }
  const result = await value;
  // What was begun and not waited for.
  while (inFlight.size > 0 || Date.now() - live.lastCall < INPUT.quietMs) await pause(20);
  return result;
};
const answer = { ok: true, v: null, err: null, planned, faults, kept: 0 };
try {
  const result = await perform();
  answer.v = result === undefined ? null : JSON.parse(JSON.stringify(result) ?? 'null');
  if (answer.v && answer.v.ok === false) Object.assign(answer, { ok: false, err: String(answer.v.err ?? answer.v.error ?? 'the script says that it failed') });
} catch (error) {
  Object.assign(answer, { ok: false, err: String(error?.message ?? error).slice(0, 2000), kind: String(error?.name ?? '') });
} finally {
  live.over = true;
  window.removeEventListener('unhandledrejection', onRejection);
}
if (answer.ok && rejected.length > 0) Object.assign(answer, { ok: false, err: rejected[0] });
answer.stuck = live.stuck ?? null;
answer.missing = [...new Set(live.missing ?? [])];
answer.refused = live.refused ?? [];
answer.kept = planned.filter((item) => item.kept).length;
return answer;
