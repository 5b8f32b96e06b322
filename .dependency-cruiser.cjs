/** Boundaries as tests (style.md, point 13 of the house style): what may import what. */
const anyTest = '[.]((int-|e2e-)?spec|fixture)[.]ts$'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle means that two files are one idea, or that one of them knows too much.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-app-imports-another',
      comment: 'Services speak over the bus. Only the composition root puts them into one process.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: `^apps/daemon/|${anyTest}` },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'contract-only-zod',
      comment: 'The contract is data: it must load anywhere and quickly.',
      severity: 'error',
      from: { path: '^libs/common/src/contract/', pathNot: anyTest },
      to: { pathNot: '^libs/common/src/contract/|^node_modules/zod/' },
    },
    {
      name: 'sdk-only-contract-types',
      comment: "The SDK carries no schema library and nothing of Node's own.",
      severity: 'error',
      from: { path: '^libs/sdk/', pathNot: anyTest },
      to: { pathNot: '^libs/sdk/|^libs/common/src/contract/|^node_modules/zod/' },
    },
    {
      name: 'sdk-contract-as-types',
      comment: 'From the contract and from zod the SDK takes types, which leave no trace at run time.',
      severity: 'error',
      from: { path: '^libs/sdk/', pathNot: anyTest },
      to: { path: '^libs/common/|^node_modules/zod/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'clients-only-sdk',
      comment: 'Command and console know the daemon through its public API alone.',
      severity: 'error',
      from: { path: '^apps/(cli|console)/', pathNot: anyTest },
      to: { path: '^libs/', pathNot: '^libs/sdk/' },
    },
    {
      name: 'broker-only-sdk-and-machine',
      comment: 'A broker knows the daemon through its public API, and the machine that it works on.',
      severity: 'error',
      from: { path: '^apps/broker/', pathNot: anyTest },
      to: { path: '^libs/', pathNot: '^libs/(sdk|machine)/' },
    },
    {
      name: 'machine-knows-only-the-machine',
      comment: 'Processes, sandbox and files are shared by host and broker: nothing of the daemon, no package.',
      severity: 'error',
      from: { path: '^libs/machine/', pathNot: anyTest },
      to: { path: '^(libs|apps|node_modules)/', pathNot: '^libs/machine/|^node_modules/@types/node/' },
    },
    {
      name: 'machine-is-for-host-and-broker',
      comment: 'Only they touch the machine for a node.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: `^apps/(host|broker)/|^libs/machine/|${anyTest}` },
      to: { path: '^libs/machine/' },
    },
    {
      name: 'clients-few-packages',
      comment: 'What starts in milliseconds stays small: commander for the command, nothing else.',
      severity: 'error',
      from: { path: '^apps/(cli|broker|console)/', pathNot: anyTest },
      to: { path: '^node_modules/', pathNot: '^node_modules/(commander|@types/node)/' },
    },
    {
      name: 'broker-no-commander',
      severity: 'error',
      from: { path: '^apps/(broker|console)/', pathNot: anyTest },
      to: { path: '^node_modules/commander/' },
    },
    {
      name: 'kernel-knows-no-app',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^apps/' },
    },
    {
      name: 'kernel-knows-no-testing',
      comment: 'Test code never runs in production.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: `^libs/common/src/testing/|${anyTest}` },
      to: { path: '^libs/common/src/testing/' },
    },
    {
      name: 'prisma-only-in-repositories',
      comment: 'A repository is the only file that knows the database.',
      severity: 'error',
      from: {
        path: '^(apps|libs)/',
        pathNot: `[.]repository[.]ts$|^libs/common/src/kernel/(database|servers)/|^libs/common/src/testing/|${anyTest}`,
      },
      to: { path: '^node_modules/(pg|@prisma)/|^libs/common/src/kernel/database/generated/' },
    },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|/database/generated/' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
    webpackConfig: { fileName: '.dependency-cruiser.resolve.cjs' },
  },
}
