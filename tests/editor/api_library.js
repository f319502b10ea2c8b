// lib_*: libraries and the search for parts.

import { lasting, service } from './channel.js';
import { method } from './call.js';
import { project } from './documents.js';

// Uuids that never change; the page learns the first from any part it sees.
const PERSONAL = 'personal'.padEnd(32, '0');
const FAVORITE = 'favorite'.padEnd(32, '0');
export const projectLibrary = () => (project.uuid ? `lib${project.uuid.slice(3)}` : undefined);

const devices = new Map();

// A device with symbol and pads, or undefined.
export async function device(uuid) {
  if (!devices.has(uuid)) {
    const { result } = await service('GET', `/api/libraries/devices/${encodeURIComponent(uuid)}`);
    if (!result) return undefined;
    devices.set(uuid, result);
  }
  return devices.get(uuid);
}

// A failed search is an empty list, or throws while a fault says so.
function listOf({ status, result }) {
  if (!result && lasting('EDA-5', 'search_throws')) throw new Error(`Request failed with status code ${status}`);
  return result?.lists ?? [];
}

async function byNumbers(ids, several) {
  const numbers = [ids].flat().join(',');
  const list = listOf(await service('GET', `/api/v2/devices?lcsc=${encodeURIComponent(numbers)}`));
  return several ? list : list.filter((item, at) => list.findIndex((i) => i.supplierId === item.supplierId) === at);
}

const library = (uuid) => method(() => uuid());

export const libraries = {
  lib_LibrariesList: {
    getSystemLibraryUuid: method(async () => (await service('GET', '/api/libraries/system')).result?.uuid),
    getPersonalLibraryUuid: library(() => PERSONAL),
    getProjectLibraryUuid: library(projectLibrary),
    getFavoriteLibraryUuid: library(() => FAVORITE),
    getAllLibrariesList: method(async () => {
      const system = (await service('GET', '/api/libraries/system')).result?.uuid;
      return [{ name: 'System', uuid: system }, { name: 'Personal', uuid: PERSONAL }];
    }),
  },
  lib_Device: {
    search: method(async (_, key, libraryUuid, classification, symbolType, itemsOfPage = 20, page = 1) => {
      const wanted = { keyword: String(key), pageSize: itemsOfPage, page };
      return listOf(await service('POST', '/api/v2/eda/product/search', wanted));
    }, { delay: 'search', empty: [] }),
    getByLcscIds: method((_, ids, libraryUuid, several = false) => byNumbers(ids, several), {
      delay: 'search', empty: [],
    }),
    get: method(async (_, uuid) => {
      return listOf(await service('GET', `/api/v2/devices?uuid=${encodeURIComponent(uuid)}`))[0];
    }, { delay: 'search' }),
  },
};
