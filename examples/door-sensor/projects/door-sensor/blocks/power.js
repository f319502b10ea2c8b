// The coin cell and its capacitor.
(async () => {
  await place([
    { number: 'C70377', at: [200, 200], nets: { 1: 'GND', 2: 'VBAT' } },
    { number: 'C14663', at: [200, 300], nets: { 1: 'VBAT', 2: 'GND' } },
  ]);
})();
