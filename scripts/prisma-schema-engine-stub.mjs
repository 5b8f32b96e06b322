#!/usr/bin/env node
// Stands in for Prisma's schema engine, which its command line downloads although `generate` never starts it. Fails, so
// that a command that does need an engine says so instead of seeming to work.
console.error(
  'The schema engine is not part of this project; migrations are applied by the daemon itself (docs/adr/0002-prisma-and-raw-sql.md).',
)
process.exit(1)
