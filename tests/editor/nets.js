// Which pins belong together: wires that share a corner, and flags, ports and labels that lie on one.

const key = (x, y) => `${x},${y}`;

// Where a symbol's point lies on the sheet.
export function placed(record, dx, dy) {
  const x = record.mirror ? -dx : dx;
  const angle = ((record.rotation ?? 0) * Math.PI) / 180;
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const round = (value) => Math.round(value * 1000) / 1000;
  return [round(record.x + x * cos - dy * sin), round(record.y + x * sin + dy * cos)];
}

// Corners of a wire as points.
export function corners(line) {
  const points = [];
  for (let at = 0; at + 1 < line.length; at += 2) points.push([line[at], line[at + 1]]);
  return points;
}

// Pins of a part, in the sheet's coordinates.
export function pinsOf(record) {
  return (record.pins ?? []).map(([number, name, dx, dy, rotation]) => {
    const [x, y] = placed(record, dx, dy);
    return { id: `${record.id}_${number}`, number, name, x, y, rotation };
  });
}

// Nets of a sheet: the name at each point, and wires and pins of each name.
export function resolve(records) {
  const parent = new Map();
  const find = (point) => {
    if (!parent.has(point)) parent.set(point, point);
    let top = point;
    while (parent.get(top) !== top) top = parent.get(top);
    return top;
  };
  const wires = records.filter((record) => record.kind === 'wire');
  for (const wire of wires) {
    const points = corners(wire.line).map(([x, y]) => key(x, y));
    for (const point of points) parent.set(find(point), find(points[0]));
  }
  const names = new Map();
  const give = (point, net) => { if (net && !names.has(find(point))) names.set(find(point), net); };
  for (const wire of wires) give(key(wire.line[0], wire.line[1]), wire.net);
  for (const record of records) {
    if (['netflag', 'netport', 'netlabel'].includes(record.kind)) give(key(record.x, record.y), record.net);
  }
  let unnamed = 0;
  const nets = new Map();
  const netAt = (x, y) => {
    const point = key(x, y);
    if (!parent.has(point)) return '';
    if (!names.has(find(point))) names.set(find(point), `$1N${++unnamed}`);
    return names.get(find(point));
  };
  const entry = (net) => {
    if (!nets.has(net)) nets.set(net, { net, wires: [], pins: [] });
    return nets.get(net);
  };
  for (const wire of wires) entry(netAt(wire.line[0], wire.line[1])).wires.push(wire.id);
  for (const record of records.filter((r) => r.kind === 'part')) {
    for (const pin of pinsOf(record)) {
      const net = netAt(pin.x, pin.y);
      if (net) entry(net).pins.push({ designator: record.designator, pin: pin.number, part: record.id });
    }
  }
  return { nets, netAt };
}

// Names that a wire along these points would join; more than one is a short.
export function namesTouched(records, line, net) {
  const { netAt } = resolve(records);
  const touched = corners(line).map(([x, y]) => netAt(x, y)).filter((name) => name && !name.startsWith('$'));
  return [...new Set(net ? [...touched, net] : touched)];
}
