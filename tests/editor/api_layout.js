// pcb_*: parts, copper, nets, checks and files of a layout.

import { config, latency, quirks, report, sleep } from './channel.js';
import { method } from './call.js';
import { openModal } from './desk.js';
import { get, remove, saving, schematicRecords } from './api_schematic.js';
import { idsOf, primitive } from './primitives.js';
import { resolve } from './nets.js';
import { billOfMaterials, dsn, file, gerberFiles, pads, placements, zip } from './exports.js';
import { strike } from './harm.js';

const COMPONENT = 'pcb_PrimitiveComponent';
const records = { doc: 'pcb', primitives: true, empty: [] };
const writes = { doc: 'pcb', write: true, delay: 'create' };
const allNumbers = (...values) => values.every((value) => typeof value === 'number' && Number.isFinite(value));
const refuse = () => { throw new Error(config.errors.create); };

let ratline = 'stopped';

// Makes a copper object of a kind from its fields.
function copper(type, kind, fields) {
  return (context, values) => {
    const record = { id: context.doc.id(), kind, ...Object.fromEntries(fields.map((f, at) => [f, values[at]])) };
    context.doc.put(record, context);
    return primitive(type, record);
  };
}
const line = copper('pcb_PrimitiveLine', 'line', ['net', 'layer', 'startX', 'startY', 'endX', 'endY', 'lineWidth']);
const via = copper('pcb_PrimitiveVia', 'via', ['net', 'x', 'y', 'holeDiameter', 'diameter']);
const arc = copper('pcb_PrimitiveArc', 'arc', ['net', 'layer', 'startX', 'startY', 'endX', 'endY', 'arcAngle', 'lineWidth']);
const pour = copper('pcb_PrimitivePour', 'pour', ['net', 'layer', 'complexPolygon']);

function createLine(context, net, layer, startX, startY, endX, endY, lineWidth = 10) {
  if (typeof net !== 'string' || !allNumbers(layer, startX, startY, endX, endY, lineWidth)) refuse();
  return line(context, [net, layer, startX, startY, endX, endY, lineWidth]);
}

function createVia(context, net, x, y, holeDiameter, diameter) {
  if (typeof net !== 'string' || !allNumbers(x, y, holeDiameter, diameter)) refuse();
  return via(context, [net, x, y, holeDiameter, diameter]);
}

// An arc whose net and layer have changed places never ends: the worst of the known wrong calls.
function createArc(context, net, layer, startX, startY, endX, endY, arcAngle, lineWidth = 10) {
  const right = typeof net === 'string' && allNumbers(layer, startX, startY, endX, endY, arcAngle, lineWidth);
  if (!right && quirks.fatal_arc) {
    report('fatal_call', { api: 'pcb_PrimitiveArc.create' });
    strike('loop');
  }
  if (!right) refuse();
  return arc(context, [net, layer, startX, startY, endX, endY, arcAngle, lineWidth]);
}

function createPour(context, net, layer, complexPolygon) {
  if (typeof net !== 'string' || !allNumbers(layer) || !complexPolygon) refuse();
  return pour(context, [net, layer, complexPolygon]);
}

// Moves nothing, as is reported of the real one; setters and `done` do.
function modify(context, wanted, changes) {
  const record = context.doc.mem.get(idsOf(wanted)[0]);
  if (record?.kind !== 'component') return undefined;
  if (quirks.pcb_modify_moves_nothing) return primitive(COMPONENT, record);
  const next = { ...record, ...changes };
  context.doc.put(next, context);
  return primitive(COMPONENT, next);
}

// Parts of the schematic as the layout wants them.
function componentsOf(drawn) {
  const { nets } = resolve(drawn);
  const netOf = new Map([...nets.values()].flatMap((n) => n.pins.map((pin) => [`${pin.part}/${pin.pin}`, n.net])));
  return drawn.filter((record) => record.kind === 'part' && record.addIntoPcb).map((part) => ({
    uniqueId: part.uniqueId, designator: part.designator, name: part.name, component: part.component,
    footprint: part.footprint, supplier: part.supplier, supplierId: part.supplierId, addIntoBom: part.addIntoBom,
    through: part.through,
    pads: part.pads.map(([number, x, y]) => ({ number, x, y, net: netOf.get(`${part.id}/${number}`) ?? '' })),
  }));
}

// Places what is new and renews what is there, one after another.
async function applyChanges(doc, components) {
  const columns = Math.ceil(Math.sqrt(components.length)) || 1;
  for (const [at, component] of components.entries()) {
    const old = [...doc.mem.values()].find((record) => record.uniqueId === component.uniqueId);
    const place = old ?? {
      id: doc.id(), kind: 'component', x: (at % columns) * 800, y: -Math.floor(at / columns) * 800, rotation: 0,
      layer: 1, primitiveLock: false,
    };
    doc.put({ ...place, ...component }, { fault: null });
    await sleep(latency.import_each);
  }
  report('changes_imported', { page: doc.uuid, components: components.length });
}

// Opens the confirmation; it is that window which imports, not this call.
async function importChanges({ doc }) {
  const components = componentsOf(await schematicRecords());
  const answered = openModal('import_title', ['import_report', 'import_apply', 'import_cancel'], `${components.length}`);
  const then = answered.then((word) => (word === 'import_apply' ? applyChanges(doc, components) : undefined));
  if (!quirks.import_needs_click) {
    [...document.querySelectorAll('.arco-modal button')].at(1).click();
    await then;
  }
  return true;
}

const components = (doc) => doc.shown(['component']);
const netNames = (doc) => {
  const named = [...doc.snap.values()].flatMap((r) => [r.net, ...(r.pads ?? []).map((pad) => pad.net)]);
  return [...new Set(named.filter(Boolean))].sort();
};
const all = (doc) => [...doc.mem.values()];
const named = (extension, make) => method(async ({ doc }, name = extension[0]) => {
  const made = await make(doc);
  return file(`${name}.${extension[1]}`, made);
}, { doc: 'pcb' });

export const layout = {
  pcb_Document: {
    save: saving('pcb'),
    importChanges: method(importChanges, { doc: 'pcb', write: true, empty: false }),
    startCalculatingRatline: method(() => { ratline = 'active'; return true; }, { doc: 'pcb', empty: false }),
    getCalculatingRatlineStatus: method(() => ratline, { doc: 'pcb' }),
  },
  pcb_Drc: {
    check: method(({ doc }, strict, userInterface, verbose) => {
      const joined = new Set(all(doc).filter((r) => r.kind === 'line').map((r) => r.net));
      const open = netNames(doc).filter((net) => !joined.has(net)).map((net) => ({ type: 'connection', net }));
      return verbose ? open : open.length === 0;
    }, { doc: 'pcb', empty: false }),
  },
  pcb_Net: {
    getAllNets: method(({ doc }) => netNames(doc).map((net) => ({ net })), records),
    getAllNetsName: method(({ doc }) => netNames(doc), records),
  },
  pcb_PrimitiveComponent: {
    getAll: method(({ doc }) => components(doc).map((record) => primitive(COMPONENT, record)), records),
    getAllPrimitiveId: method(({ doc }) => components(doc).map((record) => record.id), records),
    get: get(COMPONENT, 'pcb', ['component']),
    modify: method(modify, writes),
    delete: remove('pcb'),
  },
  pcb_PrimitiveLine: { create: method(createLine, writes) },
  pcb_PrimitiveVia: { create: method(createVia, writes) },
  pcb_PrimitiveArc: { create: method(createArc, writes) },
  pcb_PrimitivePour: { create: method(createPour, writes) },
  pcb_ManufactureData: {
    getGerberFile: named(['Gerber', 'zip'], (doc) => zip(gerberFiles(all(doc)))),
    getPickAndPlaceFile: named(['PickAndPlace', 'csv'], (doc) => placements(all(doc))),
    getBomFile: named(['BOM', 'csv'], (doc) => billOfMaterials(all(doc))),
    getPadsFile: named(['PADS', 'asc'], (doc) => pads(all(doc))),
    getDsnFile: named(['board', 'dsn'], (doc) => dsn(all(doc))),
  },
};
