// What a window of the editor shows of itself: one look, no change. `INPUT` is bound by the caller.
const root = window._EXTAPI_ROOT_;
const seen = (element) => Boolean(element && element.getClientRects().length > 0
  && getComputedStyle(element).visibility !== 'hidden');
const mark = (selector) => document.querySelector(selector);
const found = {
  state: document.readyState,
  address: location.href,
  root: typeof root === 'object' && root !== null,
  login: seen(mark(INPUT.marks.login)),
  banner: seen(mark(INPUT.marks.banner)) ? mark(INPUT.marks.banner).textContent.slice(0, 200) : null,
  window: seen(mark(INPUT.marks.window)) ? mark(INPUT.marks.window).textContent.slice(0, 200) : null,
  loading: seen(mark(INPUT.marks.loading)) ? Number(mark(INPUT.marks.loading).dataset.progress ?? 0) : null,
  remembered: localStorage.getItem('isLogin') !== null,
  hidden: document.hidden,
};
if (found.root) {
  const call = async (namespace, method, ...args) => {
    const f = root[namespace]?.[method];
    return typeof f === 'function' ? f.apply(root[namespace], args) : undefined;
  };
  const user = await call('sys_Environment', 'getUserInfo');
  found.user = user?.uuid ?? null;
  found.version = String(await call('sys_Environment', 'getEditorCurrentVersion') ?? '');
  const project = await call('dmt_Project', 'getCurrentProjectInfo');
  found.project = project?.uuid ?? null;
  found.documents = (project?.data ?? []).flatMap((board) => [
    ...(board.schematic?.page ?? []).map((page) => ({ uuid: page.uuid, name: page.name, kind: 'page' })),
    ...(board.pcb ? [{ uuid: board.pcb.uuid, name: board.pcb.name, kind: 'pcb' }] : []),
  ]);
  const current = await call('dmt_SelectControl', 'getCurrentDocumentInfo');
  found.document = current?.uuid ?? null;
  found.tab = current?.tabId ?? null;
  found.missing = INPUT.methods.filter((name) => {
    const [namespace, method] = name.split('.');
    return typeof root[namespace]?.[method] !== 'function';
  });
}
return found;
