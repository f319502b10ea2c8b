// sch_*: parts, flags, wires, labels, nets, checks and files of a schematic page.

import { config, quirks, sleep } from './channel.js';
import { method } from './call.js';
import { bodyOf, save } from './documents.js';
import { idsOf, pinPrimitives, primitive } from './primitives.js';
import { namesTouched, pinsOf, resolve } from './nets.js';
import { device, projectLibrary } from './api_library.js';
import { currentBoard } from './api_project.js';
import { billOfMaterials, file, netlist } from './exports.js';
import { never } from './harm.js';

const COMPONENT = 'sch_PrimitiveComponent';
const WIRE = 'sch_PrimitiveWire';
const PARTS = ['part', 'sheet', 'netflag', 'netport', 'nonElectrical_symbol', 'short_symbol', 'netlabel'];
const POLL_MS = 50;
// More ids than this at once, and nothing is deleted.
const DELETE_IDS_MAX = 60;
const MODIFIABLE = ['x', 'y', 'rotation', 'mirror', 'addIntoBom', 'addIntoPcb', 'designator', 'name', 'uniqueId',
  'manufacturer', 'manufacturerId', 'supplier', 'supplierId', 'otherProperty'];

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const refuseArguments = () => { throw new Error(config.errors.arguments); };

function nextDesignator(doc, prefix) {
  const used = new Set([...doc.mem.values()].map((record) => record.designator));
  let number = 1;
  while (used.has(`${prefix}${number}`)) number += 1;
  return `${prefix}${number}`;
}

// create(component, x, y, subPartName?, rotation?, mirror?, addIntoBom?, addIntoPcb?)
async function createPart(context, component, x, y, subPartName = '', rotation = 0, mirror = false, bom = true, pcb = true) {
  const whole = component && typeof component.uuid === 'string' && typeof component.libraryUuid === 'string';
  const typed = typeof subPartName === 'string' && isNumber(rotation) && typeof mirror === 'boolean'
    && typeof bom === 'boolean' && typeof pcb === 'boolean';
  if (!whole || !isNumber(x) || !isNumber(y) || !typed) refuseArguments();
  const found = await device(component.uuid);
  if (!found) return undefined;
  const { doc } = context;
  const record = {
    id: doc.id(), kind: 'part', x, y, rotation, mirror, subPartName, addIntoBom: bom, addIntoPcb: pcb,
    designator: nextDesignator(doc, found.designator), name: found.name, uniqueId: `gge${doc.next}`,
    component: { uuid: found.uuid, libraryUuid: found.libraryUuid, name: found.name },
    symbol: found.symbol, footprint: found.footprint, manufacturer: found.manufacturer,
    manufacturerId: found.manufacturerId, supplier: found.supplier, supplierId: found.supplierId,
    otherProperty: { ...found.otherProperty }, pins: found.symbolData.pins,
    size: [found.symbolData.w, found.symbolData.h], pads: found.pads, through: found.through,
  };
  doc.put(record, context);
  // A device of the project's own library is placed, and the call does not come back.
  if (component.libraryUuid === projectLibrary()) await never();
  return primitive(COMPONENT, record);
}

function createSign(kind, kinds) {
  return method((context, sign, net, x, y, rotation = 0, mirror = false) => {
    if (!kinds.includes(sign) || typeof net !== 'string' || !isNumber(x) || !isNumber(y)) refuseArguments();
    const record = { id: context.doc.id(), kind, sign, net, x, y, rotation, mirror };
    context.doc.put(record, context);
    return primitive(COMPONENT, record);
  }, { delay: 'create', write: true, doc: 'page' });
}

function modify(type, kinds, keys) {
  return method((context, wanted, changes) => {
    const { doc } = context;
    const record = doc.mem.get(idsOf(wanted)[0]);
    if (!record || !kinds.includes(record.kind) || !changes || typeof changes !== 'object') return undefined;
    const unknown = Object.keys(changes).filter((key) => !keys.includes(key));
    if (unknown.length > 0 && !quirks.modify_ignores_unknown) refuseArguments();
    const known = Object.fromEntries(Object.entries(changes).filter(([key]) => keys.includes(key)));
    const next = { ...record, ...known };
    if (record.otherProperty && !known.otherProperty && quirks.modify_wipes_properties) next.otherProperty = {};
    doc.put(next, context);
    return primitive(type, next);
  }, { delay: 'create', write: true, doc: 'page' });
}

export function remove(doc) {
  return method((context, wanted) => {
    const ids = idsOf(wanted);
    if (ids.length > DELETE_IDS_MAX && quirks.delete_batch_limit) return true;
    if (context.fault?.variant !== 'dropped') context.doc.remove(ids);
    return true;
  }, { delay: 'create', write: true, doc, empty: false });
}

// get(id) or get(ids): one, or those that are there.
export function get(type, doc, kinds) {
  return method((context, wanted) => {
    const found = idsOf(wanted).map((id) => context.doc.snap.get(id)).filter((r) => r && kinds.includes(r.kind));
    const objects = found.map((record) => primitive(type, record));
    return Array.isArray(wanted) ? objects : objects[0];
  }, { doc, primitives: true });
}

export const records = { doc: 'page', primitives: true, empty: [] };

// create(line, net?, color?, lineWidth?, lineType?)
function createWire(context, line, net = '', color = null, lineWidth = null, lineType = null) {
  const flat = Array.isArray(line) && line.every(isNumber) && line.length >= 4 && line.length % 2 === 0;
  if (!flat) throw new Error(config.errors.create);
  const { doc } = context;
  const names = namesTouched([...doc.mem.values()], line, net);
  if (names.length > 1) return undefined;
  const record = { id: doc.id(), kind: 'wire', line: [...line], net: names[0] ?? '', color, lineWidth, lineType };
  doc.put(record, context);
  return primitive(WIRE, record);
}

function label(context, x, y, net) {
  if (!isNumber(x) || !isNumber(y) || typeof net !== 'string') refuseArguments();
  const record = { id: context.doc.id(), kind: 'netlabel', x, y, net, key: 'Name', value: net };
  context.doc.put(record, context);
  return primitive('sch_PrimitiveAttribute', record);
}

// All records of the schematic that the active page belongs to.
export async function schematicRecords() {
  const bodies = [];
  for (const page of currentBoard()?.schematic.page ?? []) bodies.push(await bodyOf(page.uuid));
  return bodies.flatMap((body) => body?.primitives ?? []);
}

const nets = (doc) => [...doc.nets.nets.values()].map((entry) => ({ net: entry.net, wires: entry.wires, pins: entry.pins }));

const floating = (doc) => {
  const { netAt } = resolve([...doc.mem.values()]);
  const parts = [...doc.mem.values()].filter((record) => record.kind === 'part');
  return parts.flatMap((part) => pinsOf(part).filter((pin) => !netAt(pin.x, pin.y)));
};

// The deprecated netlist: does not come back while a pin floats.
async function oldNetlist({ doc }) {
  while (quirks.netlist_hangs && floating(doc).length > 0) await sleep(POLL_MS);
  return netlist(await schematicRecords());
}

// `save` of either document, with the lies that faults make of it.
export function saving(kind) {
  return method(async (context) => {
    if (context.fault?.variant === 'save_false') return false;
    if (context.fault?.variant === 'save_lies') return true;
    return save(context.doc);
  }, { delay: 'save', write: true, doc: kind, empty: false });
}

const ofKind = (kind) => (record) => !kind || record.kind === kind;

export const schematic = {
  sch_PrimitiveComponent: {
    create: method(createPart, { delay: 'create', write: true, doc: 'page' }),
    createNetFlag: createSign('netflag', ['Power', 'Ground', 'AnalogGround', 'ProtectGround']),
    createNetPort: createSign('netport', ['IN', 'OUT', 'BI']),
    modify: modify(COMPONENT, ['part'], MODIFIABLE),
    delete: remove('page'),
    get: get(COMPONENT, 'page', PARTS),
    getAll: method(({ doc }, kind) => doc.shown(PARTS).filter(ofKind(kind)).map((r) => primitive(COMPONENT, r)), records),
    getAllPrimitiveId: method(({ doc }, kind) => doc.shown(PARTS).filter(ofKind(kind)).map((r) => r.id), records),
    getAllPinsByPrimitiveId: method(({ doc }, id) => pinPrimitives(doc.snap.get(id)), { doc: 'page', primitives: true }),
  },
  sch_PrimitiveWire: {
    create: method(createWire, { delay: 'create', write: true, doc: 'page' }),
    modify: modify(WIRE, ['wire'], ['line', 'net', 'color', 'lineWidth', 'lineType']),
    delete: remove('page'),
    get: get(WIRE, 'page', ['wire']),
    getAll: method(({ doc }, net) => {
      return doc.shown(['wire']).filter((r) => !net || [net].flat().includes(r.net)).map((r) => primitive(WIRE, r));
    }, records),
    getAllPrimitiveId: method(({ doc }, net) => {
      return doc.shown(['wire']).filter((r) => !net || [net].flat().includes(r.net)).map((r) => r.id);
    }, records),
  },
  sch_PrimitiveAttribute: {
    createNetLabel: method(label, { delay: 'create', write: true, doc: 'page' }),
  },
  sch_Net: {
    getAllNets: method(({ doc }) => nets(doc), records),
    getAllNetsName: method(({ doc }) => nets(doc).map((entry) => entry.net), records),
    getNet: method(({ doc }, name) => nets(doc).find((entry) => entry.net === name), { doc: 'page' }),
  },
  sch_Netlist: {
    getNetlist: method(oldNetlist, { doc: 'page' }),
  },
  sch_ManufactureData: {
    getNetlistFile: method(async (_, name = 'netlist') => file(`${name}.enet`, netlist(await schematicRecords())), { doc: 'page' }),
    getBomFile: method(async (_, name = 'BOM') => file(`${name}.csv`, billOfMaterials(await schematicRecords())), { doc: 'page' }),
  },
  sch_Document: {
    save: saving('page'),
    importChanges: method(() => false, { doc: 'page', empty: false }),
  },
  sch_Drc: {
    // check(strict, userInterface, includeVerboseError): a boolean, whatever was asked for.
    check: method(({ doc }, strict, userInterface, verbose) => {
      const faults = floating(doc).map((pin) => ({ type: 'floating pin', pin: pin.id }));
      return verbose && config.settings.drc_verbose ? faults : faults.length === 0;
    }, { doc: 'page', empty: false }),
  },
};
