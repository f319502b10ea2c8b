// The LED that shows a closed door.
(async () => {
  await place([
    { number: 'C21190', at: [800, 200], nets: { 1: 'DOOR', 2: 'LED' } },
    { number: 'C72043', at: [800, 300], nets: { 1: 'GND', 2: 'LED' } },
  ]);
})();
