// Objects that the API hands out: copies of a record with getters, chained setters and `done`.

import { perform, method } from './call.js';
import { activeDoc } from './documents.js';
import { pinsOf } from './nets.js';

const STATES = {
  sch_PrimitiveComponent: ['X', 'Y', 'Rotation', 'Mirror', 'Designator', 'Name', 'UniqueId', 'Component', 'Symbol',
    'Footprint', 'Net', 'Manufacturer', 'ManufacturerId', 'Supplier', 'SupplierId', 'OtherProperty', 'SubPartName',
    'AddIntoBom', 'AddIntoPcb', 'ComponentType'],
  sch_PrimitiveWire: ['Line', 'Net', 'Color', 'LineWidth', 'LineType'],
  sch_PrimitiveAttribute: ['X', 'Y', 'Net', 'Key', 'Value'],
  sch_PrimitivePin: ['PinNumber', 'PinName', 'X', 'Y', 'Rotation', 'pinType', 'NoConnected', 'Net'],
  pcb_PrimitiveComponent: ['X', 'Y', 'Rotation', 'Layer', 'PrimitiveLock', 'Designator', 'Name', 'UniqueId',
    'Component', 'Footprint', 'Pads', 'Supplier', 'SupplierId', 'AddIntoBom'],
  pcb_PrimitiveLine: ['Net', 'Layer', 'StartX', 'StartY', 'EndX', 'EndY', 'LineWidth'],
  pcb_PrimitiveVia: ['Net', 'X', 'Y', 'HoleDiameter', 'Diameter'],
  pcb_PrimitiveArc: ['Net', 'Layer', 'StartX', 'StartY', 'EndX', 'EndY', 'ArcAngle', 'LineWidth'],
  pcb_PrimitivePour: ['Net', 'Layer', 'ComplexPolygon'],
};
const FIELDS_OF_RECORD = { ComponentType: 'kind' };
const fieldOf = (state) => state[0].toLowerCase() + state.slice(1);

class Primitive {
  #changes = {};
  #async = false;

  constructor(type, record) {
    this.primitiveType = type;
    this.primitiveId = record.id;
    for (const state of STATES[type]) this[fieldOf(state)] = record[FIELDS_OF_RECORD[state] ?? fieldOf(state)];
  }

  getState_PrimitiveId() { return this.primitiveId; }
  getState_PrimitiveType() { return this.primitiveType; }
  toAsync() { this.#async = true; return this; }
  toSync() { this.#async = false; return this; }
  isAsync() { return this.#async; }

  reset() {
    this.#changes = {};
    return this;
  }

  // Notes a change; nothing happens on the sheet before `done`.
  change(field, value) {
    this.#changes[field] = value;
    this[field] = value;
    return this;
  }

  // Brings the changes to the sheet.
  done() {
    const changes = this.#changes;
    this.#changes = {};
    const spec = method((context) => {
      const doc = activeDoc();
      const record = doc?.mem.get(this.primitiveId);
      if (record && context.fault?.variant !== 'done_dropped') {
        doc.put({ ...record, ...structuredClone(changes) }, context);
      }
      return this;
    }, { delay: 'create', write: true });
    return perform(`${this.primitiveType}.done`, spec, [this.primitiveId, changes]);
  }
}

const classes = {};
for (const [type, states] of Object.entries(STATES)) {
  classes[type] = class extends Primitive {};
  for (const state of states) {
    const field = fieldOf(state);
    classes[type].prototype[`getState_${state}`] = function get() { return this[field]; };
    classes[type].prototype[`setState_${state}`] = function set(value) { return this.change(field, value); };
  }
}
classes.sch_PrimitiveComponent.prototype.getAllPins = function getAllPins() {
  const spec = method(() => pinPrimitives(activeDoc()?.snap.get(this.primitiveId)), { primitives: true });
  return perform('sch_PrimitiveComponent.getAllPins', spec, [this.primitiveId]);
};

// The object for a record.
export function primitive(type, record) {
  return record && new classes[type](type, structuredClone(record));
}

// Pins of a part as objects, with the nets that are settled by now.
export function pinPrimitives(record) {
  const doc = activeDoc();
  return record && pinsOf(record).map((pin) => primitive('sch_PrimitivePin', {
    id: pin.id, pinNumber: pin.number, pinName: pin.name, x: pin.x, y: pin.y, rotation: pin.rotation,
    pinType: 'Undefined', noConnected: false, net: doc.nets.netAt(pin.x, pin.y),
  }));
}

// Ids in any of the forms that calls take: an id, an object, or a list of either.
export function idsOf(wanted) {
  const list = Array.isArray(wanted) ? wanted : [wanted];
  return list.map((one) => (typeof one === 'string' ? one : one?.primitiveId)).filter(Boolean);
}
