// The sheet: what is placed, drawn so that a person can follow it.

import { activeDoc } from './documents.js';
import { corners, pinsOf, placed } from './nets.js';

const canvas = document.getElementById('sheet');
const MARGIN = 40;
const SCALE_MAX = 6;
const SCALE_MIN = 0.02;
const COLORS = { body: '#a03030', pin: '#555', text: '#203070', wire: '#008040', flag: '#a05000', copper: ['#c03030', '#3050c0'] };

let view = null;
let wanted = false;

// Draws at the next frame; a tab in the background has none.
export function draw() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(() => {
    wanted = false;
    paint();
  });
}

// Shows everything again after the view was moved.
export function fit() {
  view = null;
  draw();
}

export function picture() {
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? undefined)));
}

// Moves and scales the view with the mouse.
export function wireMouse() {
  let held = null;
  canvas.addEventListener('pointerdown', (event) => { held = [event.clientX, event.clientY]; });
  window.addEventListener('pointerup', () => { held = null; });
  canvas.addEventListener('pointermove', (event) => {
    if (!held || !view) return;
    view.x += event.clientX - held[0];
    view.y += event.clientY - held[1];
    held = [event.clientX, event.clientY];
    draw();
  });
  canvas.addEventListener('wheel', (event) => {
    if (!view) return;
    event.preventDefault();
    const factor = event.deltaY < 0 ? 1.2 : 1 / 1.2;
    view.x = event.offsetX - (event.offsetX - view.x) * factor;
    view.y = event.offsetY - (event.offsetY - view.y) * factor;
    view.scale *= factor;
    draw();
  }, { passive: false });
  canvas.addEventListener('dblclick', fit);
  window.addEventListener('resize', fit);
}

// Points that a record takes up.
function extent(record) {
  if (record.kind === 'wire') return corners(record.line);
  if (record.kind === 'part') return pinsOf(record).map((pin) => [pin.x, pin.y]);
  if (record.kind === 'component') return record.pads.map((pad) => placed(record, pad.x, pad.y));
  if (record.startX !== undefined) return [[record.startX, record.startY], [record.endX, record.endY]];
  return record.x === undefined ? [] : [[record.x, record.y]];
}

function fitted(records) {
  const points = records.flatMap(extent);
  if (points.length === 0) points.push([-100, -100], [100, 100]);
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = [canvas.width - 2 * MARGIN, canvas.height - 2 * MARGIN];
  const scale = Math.min(room[0] / (right - left || 1), room[1] / (top - bottom || 1), SCALE_MAX);
  const safe = Math.max(scale, SCALE_MIN);
  return { scale: safe, x: canvas.width / 2 - ((left + right) / 2) * safe, y: canvas.height / 2 + ((top + bottom) / 2) * safe };
}

function paint() {
  const doc = activeDoc();
  canvas.width = canvas.clientWidth;
  canvas.height = canvas.clientHeight;
  const pen = canvas.getContext('2d');
  pen.clearRect(0, 0, canvas.width, canvas.height);
  if (!doc) {
    view = null;
    return;
  }
  const records = [...doc.mem.values()];
  if (view?.doc !== doc || view.count !== records.length) view = { ...fitted(records), doc, count: records.length };
  for (const record of records) paintRecord(pen, record);
}

const at = (x, y) => [view.x + x * view.scale, view.y - y * view.scale];

function path(pen, points, color, closed = false) {
  pen.strokeStyle = color;
  pen.beginPath();
  for (const [x, y] of points) pen.lineTo(...at(x, y));
  if (closed) pen.closePath();
  pen.stroke();
}

function text(pen, words, x, y, color) {
  pen.fillStyle = color;
  pen.font = `${Math.max(9, 6 * view.scale ** 0.5)}px sans-serif`;
  const [left, top] = at(x, y);
  pen.fillText(words, left + 2, top - 2);
}

function paintRecord(pen, record) {
  pen.lineWidth = 1;
  switch (record.kind) {
    case 'part': return paintPart(pen, record);
    case 'component': return paintComponent(pen, record);
    case 'wire': return path(pen, corners(record.line), COLORS.wire);
    case 'netflag':
    case 'netport': {
      path(pen, [[record.x - 4, record.y - 4], [record.x + 4, record.y - 4], [record.x, record.y]], COLORS.flag, true);
      return text(pen, record.net, record.x, record.y, COLORS.flag);
    }
    case 'netlabel': return text(pen, record.net, record.x, record.y, COLORS.wire);
    case 'line':
    case 'arc':
      pen.lineWidth = Math.max(1, record.lineWidth * view.scale);
      return path(pen, [[record.startX, record.startY], [record.endX, record.endY]], COLORS.copper[record.layer === 1 ? 0 : 1]);
    case 'via': return path(pen, [[record.x - 10, record.y], [record.x, record.y + 10], [record.x + 10, record.y], [record.x, record.y - 10]], COLORS.pin, true);
    default: return undefined;
  }
}

function paintPart(pen, record) {
  const [width, height] = record.size ?? [20, 20];
  const box = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => placed(record, (x * width) / 2, (y * height) / 2));
  path(pen, box, COLORS.body, true);
  for (const [, name, dx, dy] of record.pins) {
    const inner = placed(record, Math.sign(dx) * Math.min(Math.abs(dx), width / 2), dy);
    const outer = placed(record, dx, dy);
    path(pen, [inner, outer], COLORS.pin);
    if (record.pins.length > 2) text(pen, name, (inner[0] + outer[0]) / 2, outer[1], COLORS.pin);
  }
  text(pen, `${record.designator} ${record.name}`, record.x - width / 2, record.y + height / 2 + 4, COLORS.text);
}

function paintComponent(pen, record) {
  for (const pad of record.pads) {
    const [x, y] = placed(record, pad.x, pad.y);
    const [left, top] = at(x, y);
    pen.fillStyle = COLORS.copper[record.layer === 1 ? 0 : 1];
    const size = Math.max(3, 24 * view.scale);
    pen.fillRect(left - size / 2, top - size / 2, size, size);
  }
  text(pen, record.designator, record.x, record.y, COLORS.text);
}
