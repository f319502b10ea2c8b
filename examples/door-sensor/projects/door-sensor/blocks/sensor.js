// The reed switch, and the resistor that holds its line while the door is open.
(async () => {
  await place([
    { number: 'C98732', at: [500, 200], nets: { 1: 'VBAT', 2: 'DOOR' } },
    { number: 'C22548', at: [500, 300], nets: { 1: 'DOOR', 2: 'GND' } },
  ]);
})();
