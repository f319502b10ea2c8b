// Scripts that try the page from inside, in the main world, as a script over CDP would. Started by
// `?selftest=NAME&report=ADDRESS`; each tells what it saw, and the tests judge it.

import { report, sleep } from './channel.js';
import { project } from './documents.js';

const HANG_MS = 1200;
const SETTLED_MS = 300;
const NETS_MS = 600;
const ROOT_LIMIT_MS = 5000;
const POLL_MS = 20;
const EVENTUALLY_MS = 8000;

// The answer of a call in words: its value, `throw: ...`, or `silent` when none came in time.
async function outcome(call, limit = HANG_MS) {
  const silent = sleep(limit).then(() => 'silent');
  try {
    const value = await Promise.race([call(), silent]);
    return value === undefined ? 'undefined' : value;
  } catch (error) {
    return `throw: ${error.message}`;
  }
}

// Reads until what comes is good, at most for a while; what came last.
async function eventually(read, good) {
  let value = await read();
  for (const end = Date.now() + EVENTUALLY_MS; !good(value) && Date.now() < end; value = await read()) await sleep(POLL_MS);
  return value;
}

async function root(limit = ROOT_LIMIT_MS) {
  for (let waited = 0; waited < limit && !window._EXTAPI_ROOT_; waited += POLL_MS) await sleep(POLL_MS);
  return window._EXTAPI_ROOT_;
}

const visible = (selector) => {
  const found = document.querySelector(selector);
  return Boolean(found && !found.hidden);
};
const board = () => project.boards[0];
const place = async (api, number, x, y) => {
  const [item] = await api.lib_Device.getByLcscIds([number]);
  return api.sch_PrimitiveComponent.create(item, x, y, '', 0, false, true, true);
};

const base64 = async (blob) => btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (b) => String.fromCharCode(b)).join(''));
const pictured = async (api) => base64(await api.dmt_EditorControl.getCurrentRenderedAreaImage());

// A small circuit.
async function drawn(api) {
  await place(api, 'C25804', 0, 0);
  await place(api, 'C72043', 100, 0);
  await place(api, 'C14663', 100, 60);
  await api.sch_PrimitiveWire.create([20, 0, 80, 0], 'LED_K');
  await api.sch_PrimitiveWire.create([120, 0, 140, 0, 140, 60, 120, 60]);
  await api.sch_PrimitiveComponent.createNetFlag('Power', 'VCC', -20, 0);
  await api.sch_PrimitiveWire.create([-20, 0, -20, 60, 80, 60], 'VCC');
  await api.sch_PrimitiveComponent.createNetFlag('Ground', 'GND', 140, 0);
}

const reportTo = () => new URLSearchParams(location.search).get('report');

// Ends all logins and loads the page anew; then logs in as a person would.
async function signedInAgain(saw, silent) {
  if (!sessionStorage.getItem('stage')) {
    sessionStorage.setItem('stage', 1);
    const fault = { id: 'EDA-1', variant: 'expired', params: { silent_restore: silent } };
    await fetch(`${reportTo()}/fault`, { method: 'POST', body: JSON.stringify(fault) });
    location.reload();
    return false;
  }
  const form = document.querySelector('form[data-standin=login]');
  saw.before = [visible('#login-btn'), project.name];
  document.getElementById('login-btn').click();
  if (!silent) {
    saw.form = await eventually(() => !form.hidden, Boolean);
    form.requestSubmit();
  }
  saw.button = await eventually(() => visible('#login-btn'), (value) => !value);
  saw.formAfter = !form.hidden;
  saw.project = await eventually(() => project.name, Boolean);
  return true;
}

const tests = {
  async draw(api, saw) {
    const part = await place(api, 'C25804', 0, 0);
    saw.keys = [part.primitiveId, part.getState_Designator(), part.getState_X(), JSON.parse(JSON.stringify(part)).designator];
    saw.stale = (await api.sch_PrimitiveComponent.getAll()).length;
    saw.settled = await eventually(async () => (await api.sch_PrimitiveComponent.getAll()).length, (count) => count === 1);
    await api.sch_PrimitiveComponent.delete(part);
    await drawn(api);
    saw.wireNetAtOnce = (await api.sch_PrimitiveWire.create([-20, 60, -60, 60], '')).getState_Net();
    const parts = await eventually(() => api.sch_PrimitiveComponent.getAll('part'), (all) => all.length === 3);
    const first = parts.find((one) => one.name === '10k 0603');
    const nets = async () => (await first.getAllPins()).map((pin) => pin.net);
    saw.pinsEarly = await nets();
    saw.pinsLate = await eventually(nets, (all) => all.every(Boolean));
    saw.nets = (await api.sch_Net.getAllNetsName()).sort();
    saw.short = await outcome(() => api.sch_PrimitiveWire.create([20, 0, 20, 90, -20, 60], ''));
    await first.setState_Designator('R77').done();
    const name = async () => (await api.sch_PrimitiveComponent.get(first.primitiveId)).designator;
    saw.renamed = await eventually(name, (value) => value === 'R77');
    saw.drc = await api.sch_Drc.check(true, false, true);
    saw.saved = await api.sch_Document.save();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    saw.picture = await pictured(api);
    const canvas = document.getElementById('sheet');
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    saw.inked = pixels.some((value) => value > 0);
    saw.title = document.title;
  },

  async lies(api, saw) {
    const { sch_PrimitiveComponent: part, sch_PrimitiveWire: wire } = api;
    const [item] = await api.lib_Device.search('10k 0603');
    saw.bareUuid = await outcome(() => part.create(item.uuid, 0, 0));
    saw.pairs = await outcome(() => wire.create([[0, 0], [10, 0]]));
    saw.noDevice = await outcome(() => part.create({ uuid: '0'.repeat(32), libraryUuid: item.libraryUuid }, 0, 0));
    const local = await api.lib_LibrariesList.getProjectLibraryUuid();
    saw.local = await outcome(() => part.create({ ...item, libraryUuid: local }, 0, 0));
    await sleep(SETTLED_MS);
    const [landed] = await part.getAll();
    saw.landed = landed.designator;
    await part.modify(landed, { nonsense: 1 });
    await sleep(SETTLED_MS);
    saw.properties = Object.keys((await part.get(landed.primitiveId)).otherProperty).length;
    saw.deleteMany = await part.delete(Array.from({ length: 61 }, (_, at) => `e${at + 1}`));
    await sleep(SETTLED_MS);
    saw.left = (await part.getAllPrimitiveId()).length;
    saw.netlist = await outcome(() => api.sch_Netlist.getNetlist());
    saw.wrongDocument = [await outcome(() => api.pcb_PrimitiveComponent.getAll()), await outcome(() => api.pcb_Document.save())];
    saw.global = [typeof window.eda, typeof window.EPCB_LayerId];
    saw.noMethod = await outcome(async () => api.sch_PrimitiveComponent.place());
  },

  async writes(api, saw) {
    const { sch_PrimitiveComponent: part } = api;
    const [item] = await api.lib_Device.search('10k 0603');
    const create = () => part.create(item, 0, 0, '', 0, false, true, true);
    const name = async (call) => {
      const value = await outcome(call);
      return typeof value === 'object' ? 'object' : value;
    };
    // The tests have armed these, each once and in this order.
    saw.never = await name(create);
    saw.landed = await name(create);
    saw.dropped = await name(create);
    await sleep(SETTLED_MS);
    saw.count = (await part.getAll()).length;
    const [only] = await part.getAll();
    saw.doneDropped = await name(() => only.setState_X(500).done());
    await sleep(SETTLED_MS);
    saw.x = (await part.get(only.primitiveId)).x;
    saw.doneNever = await name(() => only.setState_X(600).done());
    await sleep(SETTLED_MS);
    saw.xAfter = (await part.get(only.primitiveId)).x;
    saw.saves = [];
    for (let turn = 0; turn < 5; turn += 1) saw.saves.push(await outcome(() => api.sch_Document.save()));
  },

  async reload(api, saw) {
    const stage = Number(sessionStorage.getItem('stage') ?? 0);
    sessionStorage.setItem('stage', stage + 1);
    if (stage === 0) {
      await place(api, 'C25804', 0, 0);
      await api.sch_Document.save();
      await place(api, 'C25804', 0, 100);
      location.reload();
      return false;
    }
    saw.parts = (await api.sch_PrimitiveComponent.getAll()).length;
    return true;
  },

  // A login that has ended and comes back with a click, or with the form behind it.
  async restore(api, saw) {
    return signedInAgain(saw, true);
  },

  async form(api, saw) {
    return signedInAgain(saw, false);
  },

  async look(api, saw) {
    saw.root = typeof api;
    saw.user = api?.sys_Environment.getUserInfo().username ?? 'nobody';
    saw.loginButton = visible('#login-btn');
    saw.banner = document.querySelector('.lock-banner').hidden ? '' : document.querySelector('.lock-banner').textContent;
    saw.isLogin = localStorage.getItem('isLogin') !== null;
    saw.progress = document.getElementById('loading').dataset.progress;
    saw.frame = document.querySelector('iframe') !== null;
    if (!api) return;
    saw.version = api.sys_Environment.getEditorCurrentVersion();
    saw.boards = (await outcome(() => api.dmt_Schematic.getAllSchematicPagesInfo())).length;
    saw.search = await outcome(async () => {
      const found = await api.lib_Device.search('10k 0603');
      return (found.result ?? found).length;
    });
    saw.shape = await outcome(async () => (Array.isArray(await api.lib_Device.search('x')) ? 'list' : 'object'));
    saw.methods = Object.keys(api.sch_PrimitiveComponent);
    saw.create = await outcome(async () => typeof (await place(api, 'C25804', 0, 0)));
    saw.wire = await outcome(async () => typeof (await api.sch_PrimitiveWire.create([20, 0, 60, 0], 'A')));
    const read = () => outcome(async () => (await api.sch_PrimitiveComponent.getAll()).length);
    for (const end = Date.now() + HANG_MS; saw.readInOneGo !== 1 && Date.now() < end;) saw.readInOneGo = await read();
    await sleep(SETTLED_MS);
    saw.read = await read();
    await sleep(NETS_MS);
    saw.nets = await outcome(() => api.sch_Net.getAllNetsName());
  },

  async layout(api, saw) {
    await drawn(api);
    await api.sch_Document.save();
    await api.dmt_EditorControl.openDocument(board().pcb.uuid);
    saw.import = await api.pcb_Document.importChanges();
    saw.before = (await api.pcb_PrimitiveComponent.getAll()).length;
    const buttons = [...document.querySelectorAll('.arco-modal button')].map((button) => button.textContent);
    saw.buttons = buttons;
    [...document.querySelectorAll('.arco-modal button')][buttons.indexOf('Apply Changes')].click();
    const parts = await eventually(() => api.pcb_PrimitiveComponent.getAll(), (all) => all.length === 3);
    saw.after = parts.length;
    await api.pcb_PrimitiveComponent.modify(parts[0], { x: 4321 });
    await sleep(SETTLED_MS);
    saw.modified = (await api.pcb_PrimitiveComponent.get(parts[0].primitiveId)).x;
    await parts[0].setState_X(1234).done();
    await sleep(SETTLED_MS);
    saw.moved = (await api.pcb_PrimitiveComponent.get(parts[0].primitiveId)).x;
    saw.nets = await api.pcb_Net.getAllNetsName();
    await api.pcb_PrimitiveLine.create('VCC', 1, 0, 0, 100, 0, 10);
    const files = api.pcb_ManufactureData;
    saw.files = {};
    for (const get of ['getGerberFile', 'getPickAndPlaceFile', 'getBomFile', 'getPadsFile', 'getDsnFile']) {
      const made = await files[get]();
      saw.files[get] = { name: made.name, size: made.size, head: (await made.slice(0, 12).text()).replace(/\W/g, '') };
    }
    saw.projectFile = (await (await api.sys_FileManager.getProjectFile()).slice(0, 4).text()).slice(0, 2);
    saw.bom = (await (await files.getBomFile()).text()).split('\r\n').length;
    saw.pads = await (await files.getPadsFile()).text();
    saw.gerber = await base64(await files.getGerberFile());
    saw.picture = await pictured(api);
    saw.saved = await api.pcb_Document.save(board().pcb.uuid);
  },

  // A call that does not come back, with a pulse beside it.
  async hang(api, saw) {
    setInterval(() => report('pulse', {}), POLL_MS);
    await sleep(HANG_MS);
    await place(api, 'C25804', 0, 0);
    saw.never = 'came back';
  },

  async arc(api, saw) {
    setInterval(() => report('pulse', {}), POLL_MS);
    await api.dmt_EditorControl.openDocument(board().pcb.uuid);
    await api.pcb_PrimitiveArc.create(1, 'VCC', 0, 0, 10, 10, 90);
    saw.never = 'came back';
  },
};

export async function run(name) {
  const saw = {};
  let error = null;
  try {
    const finished = await tests[name](await root(name === 'look' ? HANG_MS : ROOT_LIMIT_MS), saw);
    if (finished === false) return;
  } catch (thrown) {
    error = String(thrown?.stack ?? thrown);
  }
  await fetch(`${reportTo()}/selftest`, { method: 'POST', body: JSON.stringify({ name, error, saw }) });
}
