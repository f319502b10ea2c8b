// The objects of the document in front, as a fresh read shows them. Changes nothing.
const root = window._EXTAPI_ROOT_;
const state = (object, name) => {
  const getter = object[`getState_${name}`];
  if (typeof getter === 'function') return getter.call(object);
  return object[name[0].toLowerCase() + name.slice(1)];
};
const all = async (namespace) => {
  const list = await root[namespace]?.getAll?.();
  return Array.isArray(list) ? list : Array.isArray(list?.result) ? list.result : [];
};
const common = (object, kind) => ({
  id: String(object.primitiveId ?? state(object, 'PrimitiveId') ?? ''),
  kind,
  x: state(object, 'X'), y: state(object, 'Y'), rotation: state(object, 'Rotation'),
  net: state(object, 'Net') ?? null,
});
const current = await root.dmt_SelectControl.getCurrentDocumentInfo();
if (!current) return { document: null, records: [] };
const records = [];
if (current.documentType === 1) {
  for (const object of await all('sch_PrimitiveComponent')) {
    const device = state(object, 'Component');
    records.push({
      ...common(object, String(state(object, 'ComponentType') ?? 'part')),
      designator: state(object, 'Designator') ?? null, name: state(object, 'Name') ?? null,
      device: device?.uuid ?? null, library: device?.libraryUuid ?? null,
      supplier: state(object, 'SupplierId') ?? null, maker: state(object, 'ManufacturerId') ?? null,
    });
  }
  for (const object of await all('sch_PrimitiveWire')) {
    records.push({ ...common(object, 'wire'), line: state(object, 'Line') ?? [] });
  }
} else {
  for (const object of await all('pcb_PrimitiveComponent')) {
    const device = state(object, 'Component');
    records.push({
      ...common(object, 'component'), designator: state(object, 'Designator') ?? null,
      device: device?.uuid ?? null, supplier: state(object, 'SupplierId') ?? null,
    });
  }
}
if (INPUT.pins) {
  for (const record of records.filter((r) => r.kind === 'part')) {
    const pins = await root.sch_PrimitiveComponent.getAllPinsByPrimitiveId(record.id);
    record.pins = (pins ?? []).map((pin) => ({
      number: String(state(pin, 'PinNumber') ?? ''), name: String(state(pin, 'PinName') ?? ''),
      x: state(pin, 'X'), y: state(pin, 'Y'), net: state(pin, 'Net') ?? '',
    }));
  }
}
return { document: current.uuid, type: current.documentType, records };
