// The room table of docs/architecture.md as rules. A new arrow between rooms is a decision, not an accident.
const room = (name) => `^src/${name}/`;
const sisters = ['upstream', 'catalog', 'access', 'changes', 'vetting', 'state', 'observe'];
const settingsTypes = '^src/config/settings\\.ts$';

const only = (name, ...may) => ({
  name: `${name}-may-import`,
  severity: 'error',
  from: { path: room(name) },
  to: { path: '^src/', pathNot: [room(name), ...may] },
});
const typesOnly = (name, from, to) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: to, dependencyTypesNot: ['type-only'] },
});
const sisterRooms = `^src/(${sisters.join('|')})/`;

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: '^src/main\\.ts$' }, to: {} },
    only('base'),
    only('config', room('base')),
    only('hosts', room('base'), room('config')),
    only('protocol', room('base')),
    ...sisters.map((name) => only(name, room('base'), room('protocol'), settingsTypes, sisterRooms)),
    ...sisters.map((name) =>
      typesOnly(`${name}-knows-its-sisters-as-types`, room(name), `^src/(${sisters.filter((s) => s !== name).join('|')})/`),
    ),
    only('relay', room('base'), room('protocol'), settingsTypes, sisterRooms),
    only('front', room('base'), room('protocol'), settingsTypes, room('relay'), sisterRooms),
    // A program of its own, in a browser: it shares words with the gateway, and shapes of answers as types.
    only('ui', room('base'), room('protocol'), '^src/(observe|relay)/'),
    typesOnly('ui-knows-answers-as-types', room('ui'), '^src/(observe|relay)/'),
    {
      name: 'ui-stays-in-the-browser',
      severity: 'error',
      from: { path: '^src/', pathNot: room('ui') },
      to: { path: '(^|node_modules/)preact(/|$)|^src/ui/' },
    },
    only('cli', room('base'), room('protocol'), room('config'), room('hosts'), room('relay'), sisterRooms, '^src/gateway\\.ts$'),
    typesOnly('settings-as-types-only', '^src/(upstream|catalog|access|changes|vetting|state|observe|relay|front)/', settingsTypes),
    typesOnly('relay-gets-handles-injected', room('relay'), '^src/(upstream|changes|state|observe)/'),
    typesOnly('front-gets-handles-injected', room('front'), '^src/(relay|upstream|catalog|changes|state|observe)/'),
    {
      name: 'fastify-stays-in-front',
      severity: 'error',
      from: { path: '^src/', pathNot: room('front') },
      to: { path: '(^|node_modules/)(@fastify/|fastify(/|$))' },
    },
    {
      name: 'undici-and-processes-stay-in-upstream',
      severity: 'error',
      from: { path: '^src/', pathNot: room('upstream') },
      to: { path: '^(node:)?child_process$|(^|node_modules/)undici(/|$)' },
    },
    {
      name: 'io-stays-at-the-edge',
      severity: 'error',
      from: { path: '^src/(protocol|catalog|changes|vetting|hosts)/' },
      to: { path: '^(node:)?(child_process|net|fs|fs/promises|http|https)$|(^|node_modules/)undici(/|$)' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.json'] },
  },
};
