// The page's start: line to the server, login, project and document of the address, API root.

import { allLoaded, config, connect, loaded, on, report, service, sleep } from './channel.js';
import { makeRoot } from './call.js';
import { activate, activeDoc, onChange, openDocs, openDocument, project, save, tabId } from './documents.js';
import { refreshLogin, toast, wireLogin } from './desk.js';
import { draw, wireMouse } from './draw.js';
import { system } from './api_system.js';
import { openProject, projects } from './api_project.js';
import { libraries } from './api_library.js';
import { schematic } from './api_schematic.js';
import { layout } from './api_layout.js';

const ENUMS = { EPCB_LayerId: { TOP: 1, BOTTOM: 2 }, ESCH_PrimitiveComponentType: { COMPONENT: 'part' } };
const element = (selector) => document.querySelector(selector);

// Puts the API where scripts find it, as far as the faults of this load let it.
async function expose() {
  if (loaded('EDA-9', 'absent')) return;
  const late = loaded('EDA-9', 'late');
  if (late) await sleep(late.delay_ms ?? 1000);
  const root = makeRoot({ ...system, ...projects, ...libraries, ...schematic, ...layout });
  if (loaded('EDA-9', 'iframe')) {
    const frame = document.createElement('iframe');
    frame.hidden = true;
    document.body.append(frame);
    frame.contentWindow._EXTAPI_ROOT_ = root;
    return;
  }
  if (config.settings.inject_enums) Object.assign(window, ENUMS);
  window._EXTAPI_ROOT_ = root;
}

// `#id=<project>,tab=*<page>@<project>`; read at the load and never again.
function wantedOf(fragment) {
  const parts = fragment.replace(/^#/, '').split(',').map((part) => part.split('='));
  const { id = '', tab = '' } = Object.fromEntries(parts);
  return { id, page: tab.replace(/^\*/, '').split('@')[0] };
}

async function showHome() {
  const home = element('#home');
  home.replaceChildren();
  if (project.uuid) return;
  const { result } = await service('GET', '/api/projects?page=1&pageSize=100');
  for (const item of result?.lists ?? []) {
    const link = document.createElement('a');
    link.textContent = item.name;
    link.href = `/editor#id=${item.uuid}`;
    // The address alone opens nothing while the page stands.
    link.addEventListener('click', () => setTimeout(() => location.reload()));
    const line = document.createElement('li');
    line.append(link);
    home.append(line);
  }
}

// Everything around the sheet that depends on what is open.
function show() {
  element('#project-name').textContent = project.name;
  const doc = activeDoc();
  element('#revision').textContent = doc ? `revision ${doc.revision}${doc.dirty ? ' *' : ''}` : '';
  const names = new Map();
  for (const board of project.boards) {
    for (const page of board.schematic.page) names.set(page.uuid, `${board.schematic.name} ${page.name}`);
    if (board.pcb) names.set(board.pcb.uuid, board.pcb.name);
  }
  const tabs = [...names].map(([uuid, name]) => {
    const tab = document.createElement('button');
    tab.textContent = name;
    if (doc?.uuid === uuid) tab.setAttribute('aria-current', 'true');
    tab.addEventListener('click', () => {
      const open = openDocs().find((one) => one.uuid === uuid);
      if (open) activate(tabId(open));
      else openDocument(uuid);
    });
    return tab;
  });
  element('#tabs').replaceChildren(...tabs);
  draw();
}

// Opens what the address names, as far as the login allows.
async function openWanted(wanted) {
  if (!(await refreshLogin())) return;
  if (wanted.id && (await openProject(wanted.id)) && wanted.page) await openDocument(wanted.page);
  await showHome();
  show();
}

async function boot() {
  connect();
  onChange(show);
  wireMouse();
  const wanted = wantedOf(location.hash);
  const again = () => (project.uuid ? refreshLogin() : openWanted(wanted));
  wireLogin(again);
  // What a person does elsewhere in this window: logs in at the form, or loads the page anew.
  on('login', () => service('POST', '/login', {}).then(again));
  on('reload', () => location.reload());
  element('#save-btn').addEventListener('click', async () => {
    if (activeDoc() && !(await save(activeDoc()))) toast(config.words.save_failed);
  });
  window.addEventListener('beforeunload', (event) => {
    if (openDocs().some((doc) => doc.dirty)) event.preventDefault();
  });
  // The root may come late, or never; the page is there without it.
  expose();
  await openWanted(wanted);
  report('page_ready', { project: project.uuid, faults: allLoaded('EDA-8', 'stuck').length });
  const test = new URLSearchParams(location.search).get('selftest');
  if (test) (await import('./selftest.js')).run(test);
}

boot();
