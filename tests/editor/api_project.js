// dmt_*: teams, projects, boards, documents, tabs.

import { latency, service, sleep } from './channel.js';
import { method } from './call.js';
import {
  activate, activeDoc, askForLease, closeAll, closeDocument, loadProject, openDocs, openDocument, project, tabId,
} from './documents.js';
import { modalOpen, showLease, showLoading } from './desk.js';
import { fit, picture } from './draw.js';

const TYPES = { page: 1, pcb: 3 };
const SCREEN = 'screen1';

// Opens a project: drops what is open, loads the tree, asks for the lease. Whether it is there.
export async function openProject(uuid) {
  closeAll();
  const status = await loadProject(uuid);
  if (status !== 200) return false;
  const whole = await showLoading(() => sleep(latency.open_project / 6));
  await askForLease(showLease);
  return whole;
}

function boardItem(board) {
  return {
    type: 'board', name: board.name, parentProjectUuid: project.uuid,
    schematic: schematicItem(board), pcb: layoutItem(board),
  };
}
function schematicItem(board) {
  return {
    itemType: 'Schematic', uuid: board.schematic.uuid, name: board.schematic.name, parentBoardName: board.name,
    parentProjectUuid: project.uuid, page: board.schematic.page.map((page) => pageItem(board, page)),
  };
}
function pageItem(board, page) {
  return {
    itemType: 'Schematic Page', uuid: page.uuid, name: page.name, parentSchematicUuid: board.schematic.uuid,
    parentBoardName: board.name, parentProjectUuid: project.uuid,
  };
}
function layoutItem(board) {
  return board.pcb && {
    itemType: 'PCB', uuid: board.pcb.uuid, name: board.pcb.name, parentBoardName: board.name,
    parentProjectUuid: project.uuid,
  };
}

// The board of the active document, or the first.
export function currentBoard() {
  const uuid = activeDoc()?.uuid;
  const has = (board) => board.pcb?.uuid === uuid || board.schematic.page.some((page) => page.uuid === uuid);
  return project.boards.find(has) ?? project.boards[0];
}

async function addDocument(kind, parent) {
  const { result } = await service('POST', `/api/projects/${project.uuid}/docs`, { kind, parent });
  if (result) await loadProject(project.uuid);
  return result?.uuid;
}

async function lists(path) {
  return (await service('GET', path)).result?.lists ?? [];
}

const pages = () => project.boards.flatMap((board) => board.schematic.page.map((page) => pageItem(board, page)));
const projectItem = () => project.uuid && {
  uuid: project.uuid, friendlyName: project.name, name: project.name, data: project.boards.map(boardItem),
};

export const projects = {
  dmt_Team: {
    getAllTeamsInfo: method(() => lists('/api/teams')),
    getAllInvolvedTeamInfo: method(() => lists('/api/teams')),
    getCurrentTeamInfo: method(async () => (await lists('/api/teams'))[0]),
  },
  dmt_Project: {
    // Without a team or a folder the real one finds nothing.
    getAllProjectsUuid: method(async (_, team, folder) => {
      if (!team && !folder) return [];
      return (await lists('/api/projects?page=1&pageSize=100')).map((item) => item.uuid);
    }),
    getProjectInfo: method(async (_, uuid) => {
      const { result } = await service('GET', `/api/projects/${uuid}`);
      return result && { uuid: result.uuid, friendlyName: result.name, name: result.name };
    }),
    getCurrentProjectInfo: method(() => projectItem() || undefined),
    // Does nothing, and does not say so, while a window is open.
    openProject: method(async (_, uuid) => {
      if (modalOpen()) return true;
      const whole = await openProject(uuid);
      if (whole) history.replaceState(null, '', `#id=${uuid}`);
      return whole;
    }, { empty: false }),
    createProject: method(async (_, friendlyName) => {
      return (await service('POST', '/api/v4/projects/add', { name: friendlyName })).result?.uuid;
    }),
  },
  dmt_Board: {
    getCurrentBoardInfo: method(() => currentBoard() && boardItem(currentBoard())),
    getAllBoardsInfo: method(() => project.boards.map(boardItem)),
    createBoard: method(async () => {
      if (!(await addDocument('board'))) return undefined;
      return project.boards.at(-1)?.name;
    }, { write: true }),
  },
  dmt_Schematic: {
    getAllSchematicsInfo: method(() => project.boards.map(schematicItem)),
    getAllSchematicPagesInfo: method(() => pages()),
    getCurrentSchematicInfo: method(() => currentBoard() && schematicItem(currentBoard()), { doc: 'page' }),
    getCurrentSchematicPageInfo: method(({ doc }) => pages().find((page) => page.uuid === doc.uuid), { doc: 'page' }),
    createSchematic: method((_, board) => addDocument('board', board), { write: true }),
    createSchematicPage: method((_, schematic) => addDocument('page', schematic), { write: true }),
  },
  dmt_Pcb: {
    getAllPcbsInfo: method(() => project.boards.map(layoutItem).filter(Boolean)),
    getCurrentPcbInfo: method(({ doc }) => {
      return project.boards.map(layoutItem).find((item) => item?.uuid === doc.uuid);
    }, { doc: 'pcb' }),
    createPcb: method((_, board) => addDocument('pcb', board), { write: true }),
  },
  dmt_EditorControl: {
    openDocument: method((_, uuid) => openDocument(String(uuid)), { delay: 'open_document' }),
    activateDocument: method((_, id) => activate(String(id)), { empty: false }),
    closeDocument: method((_, id) => closeDocument(String(id)), { empty: false }),
    getSplitScreenTree: method(() => ({ id: SCREEN, tabs: tabItems() })),
    getTabsBySplitScreenId: method((_, id) => (id === SCREEN ? tabItems() : [])),
    getCurrentRenderedAreaImage: method(() => picture()),
    zoomToAllPrimitives: method(() => { fit(); return true; }),
  },
  dmt_SelectControl: {
    getCurrentDocumentInfo: method(() => {
      const doc = activeDoc();
      return doc
        ? { documentType: TYPES[doc.kind], uuid: doc.uuid, tabId: tabId(doc), parentProjectUuid: project.uuid }
        : undefined;
    }),
  },
};

function tabItems() {
  const named = new Map(pages().map((page) => [page.uuid, page.name]));
  for (const board of project.boards) if (board.pcb) named.set(board.pcb.uuid, board.pcb.name);
  return openDocs().map((doc) => ({ title: named.get(doc.uuid), tabId: tabId(doc), documentType: TYPES[doc.kind] }));
}
