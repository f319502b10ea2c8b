// What all blocks share. Each block ends with `place(PARTS)`.
const STUB = 30;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The one part with this number; the first hit of a search is no match.
async function part(number) {
  const found = await eda.lib_Device.getByLcscIds([number]);
  const one = [found].flat().find((item) => item?.supplierId === number);
  if (!one) throw new Error(`no part ${number}`);
  return one;
}

// Pins are there a moment after their part.
async function pinsOf(id) {
  for (let tries = 0; tries < 50; tries += 1) {
    const pins = await eda.sch_PrimitiveComponent.getAllPinsByPrimitiveId(id);
    if (pins?.length > 0) return pins;
    await sleep(100);
  }
  throw new Error(`no pins of ${id}`);
}

// Places the parts and gives each pin a short wire that carries the name of its net.
async function place(parts) {
  for (const { number, at, nets } of parts) {
    const [x, y] = at;
    const placed = await eda.sch_PrimitiveComponent.create(await part(number), x, y);
    for (const pin of await pinsOf(placed.primitiveId)) {
      const net = nets[pin.pinNumber];
      if (!net) throw new Error(`${number} has a pin ${pin.pinNumber} that nobody planned`);
      const end = pin.x + (pin.x < x ? -STUB : STUB);
      await eda.sch_PrimitiveWire.create([pin.x, pin.y, end, pin.y], net);
    }
  }
}
