// Every API method goes through here: reported, delayed, struck by faults, refused without the lease.

import { allLoaded, ask, askNow, config, latency, lasting, loaded, quirks, report, sleep } from './channel.js';
import { activeDoc, lease, openDocs } from './documents.js';
import { hangs, strike } from './harm.js';

// A pause between calls after which a new evaluate is assumed.
const NEW_EVALUATE_MS = 50;
let lastCall = 0;

// Describes a method. `run(context, ...args)`; `context.fault` is what struck and did not hang.
//   delay: name of its latency; write: needs the lease; doc: kind of document that must be active;
//   empty: answer when it is not; primitives: reads what EDA-8 keeps back; sync: no promise.
export function method(run, spec = {}) {
  return { run, delay: 'read', ...spec };
}

// Makes the API root from tables of methods by namespace.
export function makeRoot(tables) {
  const root = {};
  for (const [namespace, methods] of Object.entries(tables)) {
    root[namespace] = {};
    for (const [name, spec] of Object.entries(methods)) {
      root[namespace][name] = wrap(`${namespace}.${name}`, spec);
    }
  }
  for (const { api, to } of allLoaded('EDA-11', 'renamed')) move(root, api, to);
  for (const { api } of allLoaded('EDA-11', 'removed')) move(root, api);
  return root;
}

function move(root, api, to) {
  const [namespace, name] = api.split('.');
  const found = root[namespace]?.[name];
  if (to && found) root[namespace][to.split('.').pop()] = found;
  if (root[namespace]) delete root[namespace][name];
}

function wrap(api, spec) {
  const reordered = allLoaded('EDA-11', 'order').some((p) => p.api === api);
  const reshaped = allLoaded('EDA-11', 'shape').some((p) => p.api === api);
  if (spec.sync) {
    return (...args) => {
      report('call', { api, args });
      return spec.run({ fault: null }, ...args);
    };
  }
  return (...args) => {
    if (askNow(api)) strike('loop');
    const given = reordered ? [args[1], args[0], ...args.slice(2)] : args;
    const answer = perform(api, spec, given, args);
    return reshaped ? answer.then((value) => ({ result: value })) : answer;
  };
}

// Carries out a call of the API or of a primitive's `done`.
export async function perform(api, spec, args, reported = args) {
  if (lasting('EDA-14', 'next_call') && Date.now() - lastCall > NEW_EVALUATE_MS) {
    activeDoc()?.settleReads();
  }
  lastCall = Date.now();
  const fault = await ask(api, reported);
  await sleep(delayOf(spec));
  let value;
  try {
    if (hangs(fault) && !fault.params?.landed) {
      await strike(fault.variant);
      // What comes back from a window or an alert has not been done.
      value = spec.empty;
    } else {
      value = await checked(spec, fault, args);
      if (hangs(fault)) await strike(fault.variant);
    }
  } catch (error) {
    report('settled', { api, how: 'throw', text: String(error?.message ?? error) });
    throw error;
  } finally {
    lastCall = Date.now();
  }
  report('settled', { api, how: value === undefined ? 'undefined' : value === false ? 'false' : 'value' });
  return value;
}

function delayOf(spec) {
  const jitter = spec.delay === 'create' ? Math.random() * latency.jitter : 0;
  return latency[spec.delay] + jitter;
}

async function checked(spec, fault, args) {
  if (spec.primitives && loaded('EDA-8', 'rejects')) throw new Error(config.errors.fetch);
  const doc = docFor(spec.doc);
  if (spec.doc && !doc) return spec.empty;
  if (spec.write && !lease.mine) {
    if (lease.writes === 'throw') throw new Error(config.errors.create);
    return lease.writes === 'false' ? false : undefined;
  }
  return spec.run({ fault, doc }, ...args);
}

// The document that a method works on: the active one, or nothing if that is of the other kind.
function docFor(kind) {
  const active = activeDoc();
  if (!kind || active?.kind === kind) return active;
  return quirks.needs_active_document ? null : openDocs().find((doc) => doc.kind === kind) ?? null;
}
