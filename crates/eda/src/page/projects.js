// Ids and names of the projects of all teams. Changes nothing.
const root = window._EXTAPI_ROOT_;
const teams = await root.dmt_Team.getAllTeamsInfo() ?? [];
const found = new Map();
for (const team of teams) {
  for (const uuid of await root.dmt_Project.getAllProjectsUuid(team.uuid) ?? []) {
    const info = await root.dmt_Project.getProjectInfo(uuid);
    if (info) found.set(uuid, { uuid, name: info.friendlyName ?? info.name ?? '' });
  }
}
return [...found.values()];
