// sys_*: environment, messages, log, files of the whole project.

import { method } from './call.js';
import { activeDoc, bodyOf, project, version } from './documents.js';
import { openModal, toast, user } from './desk.js';
import { file, zip } from './exports.js';

const log = [];
const constant = (value) => method(() => value, { sync: true });

export const system = {
  sys_Environment: {
    getUserInfo: method(() => ({ ...user }), { sync: true }),
    isWeb: constant(true),
    isClient: constant(false),
    isOnlineMode: constant(true),
    isHalfOfflineMode: constant(false),
    isOfflineMode: constant(false),
    isEasyEDAProEdition: constant(true),
    isJLCEDAProEdition: constant(false),
    isProPrivateEdition: constant(false),
    getEditorCurrentVersion: method(() => version(), { sync: true }),
    getEditorCompliedDate: constant('2026-01-01'),
  },
  sys_Message: {
    showToastMessage: method((_, text) => toast(text), { sync: true }),
  },
  sys_MessageBox: {
    showInformationMessage: method((_, text, title) => { openModal(title ?? 'notice', ['ok'], text); }, { sync: true }),
  },
  sys_Log: {
    add: method((_, text, type = 'info') => { log.push({ text, type }); }, { sync: true }),
    sort: method((_, types) => log.filter((entry) => !types || [types].flat().includes(entry.type)), { sync: true }),
  },
  sys_LoadingAndProgressBar: {
    showLoading: constant(undefined),
    destroyLoading: constant(undefined),
    showProgressBar: constant(undefined),
    destroyProgressBar: constant(undefined),
  },
  sys_FileManager: {
    getDocumentSource: method(() => {
      const doc = activeDoc();
      return doc ? JSON.stringify(doc.body()) : undefined;
    }),
    getProjectFile: method(async (_, name = project.name, password, kind = 'epro2') => {
      if (!project.uuid) return undefined;
      const documents = { 'project.json': JSON.stringify({ uuid: project.uuid, name: project.name, boards: project.boards }) };
      for (const board of project.boards) {
        const uuids = board.schematic.page.map((page) => page.uuid).concat(board.pcb?.uuid ?? []);
        for (const uuid of uuids) documents[`${uuid}.json`] = JSON.stringify(await bodyOf(uuid));
      }
      return file(`${name}.${kind}`, zip(documents), 'application/zip');
    }),
  },
};
