// Files that the editor gives away, made from the records of a document.

import { pinsOf, placed, resolve } from './nets.js';

const CRC_POLYNOMIAL = 0xedb88320;
const MM_PER_MIL = 0.0254;
// Pads have one size here; holes are those of a pin header.
const PAD_SIZE = 40;
const PAD_DRILL = 28;

export function file(name, content, type = 'application/octet-stream') {
  return new File([content], name, { type });
}

const quoted = (value) => `"${String(value ?? '').replaceAll('"', '""')}"`;
const csv = (rows) => `${rows.map((row) => row.map(quoted).join(',')).join('\r\n')}\r\n`;
const partsOf = (records) => records.filter((r) => (r.kind === 'part' || r.kind === 'component') && r.addIntoBom);

// One line for each kind of part.
export function billOfMaterials(records) {
  const kinds = new Map();
  for (const part of partsOf(records)) {
    const key = `${part.supplierId}/${part.name}/${part.footprint?.name}`;
    if (!kinds.has(key)) kinds.set(key, { part, designators: [] });
    kinds.get(key).designators.push(part.designator);
  }
  const rows = [...kinds.values()].map(({ part, designators }, at) => [
    at + 1, designators.length, part.name, designators.sort().join(','), part.footprint?.name, part.supplier, part.supplierId,
  ]);
  return csv([['No.', 'Quantity', 'Comment', 'Designator', 'Footprint', 'Supplier', 'Supplier Part'], ...rows]);
}

// Where each part lies, in millimetres.
export function placements(records) {
  const rows = records.filter((record) => record.kind === 'component').map((part) => [
    part.designator, part.footprint?.name, `${(part.x * MM_PER_MIL).toFixed(3)}mm`, `${(part.y * MM_PER_MIL).toFixed(3)}mm`,
    part.layer === 1 ? 'T' : 'B', part.rotation, part.name,
  ]);
  return csv([['Designator', 'Footprint', 'Mid X', 'Mid Y', 'Layer', 'Rotation', 'Comment'], ...rows]);
}

// Parts with the net of each pin, and nets with their pins.
export function netlist(records) {
  const { nets, netAt } = resolve(records);
  const components = {};
  for (const part of records.filter((record) => record.kind === 'part')) {
    const pins = Object.fromEntries(pinsOf(part).map((pin) => [pin.number, netAt(pin.x, pin.y)]));
    components[part.uniqueId] = {
      props: { Designator: part.designator, 'Supplier Part': part.supplierId, FootprintName: part.footprint?.name }, pins,
    };
  }
  const named = Object.fromEntries([...nets].map(([net, { pins }]) => [net, pins.map((p) => `${p.designator}.${p.pin}`)]));
  return JSON.stringify({ version: '2.0.0', components, nets: named }, null, 1);
}

function padsOf(part) {
  return part.pads.map((pad) => {
    const [x, y] = placed(part, pad.x, pad.y);
    return { ...pad, x, y };
  });
}

// Gerber files with the usual names: pads and tracks of each side, and the outline around everything.
export function gerberFiles(records) {
  const parts = records.filter((record) => record.kind === 'component');
  const tracks = records.filter((record) => record.kind === 'line');
  const spots = parts.flatMap((part) => padsOf(part).map((pad) => ({ ...pad, layer: part.layer, through: part.through })));
  const box = bounds(spots);
  const coordinate = (value) => String(Math.round(value * MM_PER_MIL * 1e6));
  const layer = (title, body) => `G04 Layer: ${title}*\n%FSLAX46Y46*%\n%MOMM*%\n%ADD10C,0.600*%\n%ADD11C,0.254*%\n${body}M02*\n`;
  const flashes = (list) => `D10*\n${list.map((p) => `X${coordinate(p.x)}Y${coordinate(p.y)}D03*\n`).join('')}`;
  const strokes = (list) => `D11*\n${list.map((t) => `X${coordinate(t.startX)}Y${coordinate(t.startY)}D02*\n`
    + `X${coordinate(t.endX)}Y${coordinate(t.endY)}D01*\n`).join('')}`;
  const copper = (side) => flashes(spots.filter((pad) => pad.through || pad.layer === side))
    + strokes(tracks.filter((track) => track.layer === side));
  const outline = [[box[0], box[1]], [box[2], box[1]], [box[2], box[3]], [box[0], box[3]]];
  const edges = outline.map(([x, y], at) => {
    const [endX, endY] = outline[(at + 1) % outline.length];
    return { startX: x, startY: y, endX, endY };
  });
  const holes = spots.filter((pad) => pad.through);
  const drill = `M48\nMETRIC,LZ\nT1C0.900\n%\nT1\n${holes.map((p) => `X${(p.x * MM_PER_MIL).toFixed(3)}Y${(p.y * MM_PER_MIL).toFixed(3)}\n`).join('')}M30\n`;
  return {
    'Gerber_TopLayer.GTL': layer('TopLayer', copper(1)),
    'Gerber_BottomLayer.GBL': layer('BottomLayer', copper(2)),
    'Gerber_TopSolderMaskLayer.GTS': layer('TopSolderMaskLayer', flashes(spots.filter((p) => p.through || p.layer === 1))),
    'Gerber_BottomSolderMaskLayer.GBS': layer('BottomSolderMaskLayer', flashes(spots.filter((p) => p.through || p.layer === 2))),
    'Gerber_TopSilkscreenLayer.GTO': layer('TopSilkscreenLayer', ''),
    'Gerber_BottomSilkscreenLayer.GBO': layer('BottomSilkscreenLayer', ''),
    'Gerber_BoardOutlineLayer.GKO': layer('BoardOutlineLayer', strokes(edges)),
    'Drill_PTH_Through.DRL': drill,
  };
}

// Left, bottom, right, top of some points, with a margin.
function bounds(points, margin = 200) {
  const xs = points.map((point) => point.x).concat(points.length ? [] : [0]);
  const ys = points.map((point) => point.y).concat(points.length ? [] : [0]);
  return [Math.min(...xs) - margin, Math.min(...ys) - margin, Math.max(...xs) + margin, Math.max(...ys) + margin];
}

// The board in the text form of PADS Layout, mils: shapes, parts, connections with their tracks, outline.
export function pads(records) {
  const parts = records.filter((record) => record.kind === 'component');
  const word = (text) => String(text ?? 'X').replaceAll(/[^A-Za-z0-9_.-]/g, '_');
  const shapes = new Map(parts.map((part) => [word(part.footprint?.name), part]));
  const out = ['!PADS-POWERPCB-V9.5-MILS! DESIGN DATABASE ASCII FILE 1.0', '*PCB*        GENERAL PARAMETERS OF THE PCB DESIGN', '',
    'UNITS        0', 'MAXIMUMLAYER 2', '', '*PARTDECAL*  ITEMS', ''];
  for (const [name, part] of shapes) {
    const drill = part.through ? PAD_DRILL : 0;
    out.push(`${name} I 0 0 0 ${part.pads.length} 1 0 0`);
    for (const pad of part.pads) out.push(`T${pad.x} ${pad.y} ${pad.x} ${pad.y} ${pad.number}`);
    out.push('PAD 0 3', `-2 ${PAD_SIZE} R ${drill}`, `-1 ${drill ? PAD_SIZE : 0} R`, `0 ${drill ? PAD_SIZE : 0} R`, '');
  }
  out.push('*PARTTYPE*   ITEMS', '');
  for (const [name] of shapes) out.push(`${name} M UND 0 0 0 0 N`, `G:${name}`, '');
  out.push('*PART*       ITEMS', '');
  for (const part of parts) {
    const name = word(part.footprint?.name);
    out.push(`${part.designator} ${name}@${name} ${part.x} ${part.y} ${part.rotation}.000 U N 0 -1 0 -1 0`);
  }
  out.push('', '*ROUTE*      ROUTES', '', ...padsRoutes(parts, records), ...padsOutline(parts), '*END*     OF ASCII OUTPUT FILE', '');
  return out.join('\r\n');
}

// Nets as pairs of pins; the tracks of a net stand under its first pair.
function padsRoutes(parts, records) {
  const nets = new Map();
  for (const part of parts) {
    for (const pad of part.pads.filter((p) => p.net)) {
      nets.set(pad.net, (nets.get(pad.net) ?? []).concat(`${part.designator}.${pad.number}`));
    }
  }
  const out = [];
  for (const [net, pins] of nets) {
    out.push(`*SIGNAL* ${net}`);
    const pair = (at) => [pins[at - 1], pins[at]].filter(Boolean).join(' ');
    for (const track of records.filter((r) => r.kind === 'line' && r.net === net)) {
      const end = `${track.layer} ${track.lineWidth} 1792`;
      out.push(pair(1), `${track.startX} ${track.startY} ${end}`, `${track.endX} ${track.endY} ${end}`);
    }
    for (let at = 1; at < Math.max(2, pins.length); at += 1) out.push(pair(at));
    out.push('');
  }
  return out;
}

function padsOutline(parts) {
  const box = bounds(parts.flatMap(padsOf));
  const [width, height] = [box[2] - box[0], box[3] - box[1]];
  return ['*LINES*      LINES ITEMS', '', `OUTLINE BOARD ${box[0]} ${box[1]} 1 0`, 'CLOSED 5 10 1',
    '0 0', `${width} 0`, `${width} ${height}`, `0 ${height}`, '0 0', ''];
}

// The board for an autorouter, as far as its parts go.
export function dsn(records) {
  const parts = records.filter((record) => record.kind === 'component');
  const places = parts.map((p) => `    (place ${p.designator} ${p.x} ${p.y} front ${p.rotation})`);
  return `(pcb board\n  (unit mil)\n  (placement\n${places.join('\n')}\n  )\n)\n`;
}

function crc(bytes) {
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? CRC_POLYNOMIAL : 0);
  }
  return ~value >>> 0;
}

// A zip file, its entries as they are.
export function zip(files) {
  const encoder = new TextEncoder();
  const [parts, directory] = [[], []];
  let at = 0;
  const numbers = (list) => {
    const view = new DataView(new ArrayBuffer(list.reduce((sum, [size]) => sum + size, 0)));
    let offset = 0;
    for (const [size, value] of list) {
      if (size === 2) view.setUint16(offset, value, true);
      else view.setUint32(offset, value, true);
      offset += size;
    }
    return new Uint8Array(view.buffer);
  };
  for (const [name, text] of Object.entries(files)) {
    const [title, bytes] = [encoder.encode(name), encoder.encode(text)];
    const about = [[2, 20], [2, 0], [2, 0], [2, 0], [2, 0x21], [4, crc(bytes)], [4, bytes.length], [4, bytes.length], [2, title.length], [2, 0]];
    const local = numbers([[4, 0x04034b50], ...about]);
    directory.push(numbers([[4, 0x02014b50], [2, 20], ...about, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), title);
    parts.push(local, title, bytes);
    at += local.length + title.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const count = Object.keys(files).length;
  const end = numbers([[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, at], [2, 0]]);
  return new Blob([...parts, ...directory, end]);
}
