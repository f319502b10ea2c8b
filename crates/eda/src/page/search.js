// Looks up parts: by the supplier's numbers, or by words. Changes nothing.
const root = window._EXTAPI_ROOT_;
const list = (answer) => (Array.isArray(answer) ? answer : answer?.result ?? (answer ? [answer] : []));
let thrown = null;
let found = [];
try {
  found = list(INPUT.numbers.length > 0
    ? await root.lib_Device.getByLcscIds(INPUT.numbers)
    : await root.lib_Device.search(INPUT.words));
} catch (error) {
  // A refused search may throw; the status on the wire says why.
  thrown = String(error?.message ?? error).slice(0, 300);
}
return {
  thrown,
  parts: found.slice(0, 50).map((item) => ({
    uuid: item.uuid ?? null, libraryUuid: item.libraryUuid ?? null, name: item.name ?? '',
    description: item.description ?? '', manufacturer: item.manufacturer ?? '',
    manufacturerId: item.manufacturerId ?? '', supplierId: item.supplierId ?? '',
    footprint: item.footprint?.name ?? item.footprintName ?? '', symbol: item.symbol?.uuid ?? item.symbol ?? null,
  })),
};
