import type pg from 'pg'
import { leavingTraces, NotPermitted } from './service-roles.js'

export interface Holder {
  readonly role: string
  readonly schemas: readonly string[]
  readonly reads: readonly string[]
  readonly functions: readonly string[]
}

interface Difference {
  readonly what: 'GRANT' | 'REVOKE'
  readonly role: string
  readonly kind: 'DATABASE' | 'SCHEMA' | 'TABLE' | 'SEQUENCE' | 'ROUTINE' | 'DEFAULT'
  readonly object: string
  readonly privileges: string
}

/**
 * Who may do what, as rows: what the roles should hold (`wanted`) against what they hold and what everybody holds that
 * should be theirs alone (`held`). Each is kind, object, privilege; `DEFAULT` is what a later migration's objects get.
 *
 * Everybody's rights to connect and to call what leaves traces end only on a server that serves nothing else: one
 * without any other account that can log in, whose superuser we are.
 */
const DIFFERENCES = `
  WITH holder AS (SELECT * FROM jsonb_to_recordset($1) AS h
    (role name, schemas name[], reads text[], functions text[])),
  ours AS (SELECT oid, quote_ident(rolname) AS role FROM pg_roles WHERE rolname IN (SELECT role FROM holder)
           UNION ALL SELECT 0, 'PUBLIC'),
  me AS (SELECT r.oid, r.rolsuper, pg_has_role(r.oid, d.datdba, 'USAGE') AS owns,
           r.rolsuper AND NOT EXISTS (SELECT FROM pg_roles o WHERE o.rolcanlogin AND NOT o.rolsuper
             AND o.rolname NOT IN (SELECT role FROM holder)) AS alone
           FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()),
  own_schema AS (SELECT n.oid, n.nspname, quote_ident(h.role) AS role
    FROM holder h JOIN pg_namespace n ON n.nspname = ANY (h.schemas)),
  others_table AS (SELECT c.oid, c.relnamespace, quote_ident(h.role) AS role
    FROM holder h, unnest(h.reads) AS t (name), pg_class c WHERE c.oid = to_regclass(t.name)),
  tables (privilege) AS (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')),
  sequences (privilege) AS (VALUES ('SELECT'), ('USAGE')),
  wanted (role, kind, object, privilege) AS (
    SELECT quote_ident(role), 'DATABASE', quote_ident(current_database()), 'CONNECT' FROM holder, me WHERE owns
    UNION ALL SELECT role, 'SCHEMA', quote_ident(nspname), 'USAGE' FROM own_schema
    UNION SELECT t.role, 'SCHEMA', quote_ident(n.nspname), 'USAGE'
      FROM others_table t JOIN pg_namespace n ON n.oid = t.relnamespace
    UNION ALL SELECT role, 'TABLE', oid::regclass::text, 'SELECT' FROM others_table
    UNION ALL SELECT s.role, 'TABLE', c.oid::regclass::text, p.privilege
      FROM own_schema s JOIN pg_class c ON c.relnamespace = s.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f'), tables p
    UNION ALL SELECT s.role, 'SEQUENCE', c.oid::regclass::text, p.privilege
      FROM own_schema s JOIN pg_class c ON c.relnamespace = s.oid AND c.relkind = 'S', sequences p
    UNION ALL SELECT s.role, 'ROUTINE', p.oid::regprocedure::text, 'EXECUTE'
      FROM own_schema s JOIN pg_proc p ON p.pronamespace = s.oid
    UNION ALL SELECT quote_ident(h.role), 'ROUTINE', f.name::regprocedure::text, 'EXECUTE'
      FROM me, holder h, unnest(h.functions) AS f (name) WHERE me.rolsuper
    UNION ALL SELECT s.role, 'DEFAULT', quote_ident(s.nspname), p.privilege || ' ON TABLES'
      FROM own_schema s, tables p
    UNION ALL SELECT s.role, 'DEFAULT', quote_ident(s.nspname), p.privilege || ' ON SEQUENCES'
      FROM own_schema s, sequences p
    UNION ALL SELECT s.role, 'DEFAULT', quote_ident(s.nspname), 'EXECUTE ON ROUTINES' FROM own_schema s),
  -- space: the schema that an object is in, or itself
  listed (kind, object, space, acl, suffix) AS (
    SELECT 'DATABASE', quote_ident(datname), NULL::oid, coalesce(datacl, acldefault('d', datdba)), ''
      FROM pg_database, me WHERE datname = current_database() OR me.alone AND datname IN ('postgres', 'template1')
    UNION ALL SELECT 'SCHEMA', quote_ident(nspname), oid, nspacl, '' FROM pg_namespace
    UNION ALL SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass::text, relnamespace, relacl, ''
      FROM pg_class WHERE relacl IS NOT NULL
    UNION ALL SELECT 'TABLE', c.oid::regclass::text, c.relnamespace, a.attacl, format(' (%I)', a.attname)
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE a.attacl IS NOT NULL AND NOT a.attisdropped
    UNION ALL SELECT 'ROUTINE', p.oid::regprocedure::text, p.pronamespace,
        CASE WHEN p.pronamespace = 'pg_catalog'::regnamespace
          THEN coalesce(proacl, acldefault('f', proowner)) ELSE proacl END, ''
      FROM pg_proc p, me WHERE p.pronamespace <> 'pg_catalog'::regnamespace OR me.rolsuper AND (${leavingTraces})
    UNION ALL SELECT 'DEFAULT', quote_ident(n.nspname), n.oid, d.defaclacl,
        CASE d.defaclobjtype WHEN 'r' THEN ' ON TABLES' WHEN 'S' THEN ' ON SEQUENCES'
          WHEN 'f' THEN ' ON ROUTINES' ELSE ' ON TYPES' END
      FROM me JOIN pg_default_acl d ON d.defaclrole = me.oid JOIN pg_namespace n ON n.oid = d.defaclnamespace),
  held (role, kind, object, privilege) AS (
    SELECT o.role, l.kind, l.object, a.privilege_type || l.suffix
      FROM me, listed l, aclexplode(l.acl) a JOIN ours o ON o.oid = a.grantee
     WHERE o.oid <> 0
        OR l.kind IN ('SCHEMA', 'TABLE', 'SEQUENCE') AND l.space IN (SELECT oid FROM own_schema)
        OR l.kind = 'SCHEMA' AND l.object = 'public' AND a.privilege_type = 'CREATE'
        OR me.alone AND (l.kind = 'DATABASE' OR l.kind = 'ROUTINE' AND l.space = 'pg_catalog'::regnamespace)),
  difference AS (
    SELECT 'REVOKE' AS what, * FROM (SELECT * FROM held EXCEPT SELECT * FROM wanted) AS extra
    UNION ALL SELECT 'GRANT', * FROM (SELECT * FROM wanted EXCEPT SELECT * FROM held) AS missing)
  SELECT what, role, kind, object, string_agg(privilege, ', ' ORDER BY privilege) AS privileges
    FROM difference GROUP BY what, role, kind, object, CASE WHEN kind = 'DEFAULT' THEN privilege END
   ORDER BY what, kind, object, role`

const statementOf = ({ what, role, kind, object, privileges }: Difference): string => {
  const end = what === 'GRANT' ? `TO ${role}` : `FROM ${role}`
  return kind === 'DEFAULT'
    ? `ALTER DEFAULT PRIVILEGES IN SCHEMA ${object} ${what} ${privileges} ${end}`
    : `${what} ${privileges} ON ${kind} ${object} ${end}`
}

/** What is missing in, or goes beyond, the rights that the roles should have. */
const differences = async (client: pg.Client, holders: readonly Holder[]): Promise<Difference[]> =>
  (await client.query<Difference>(DIFFERENCES, [JSON.stringify(holders)])).rows

/**
 * Gives each role the rights on its own schemas, also for what later migrations make there, and takes all others; in a
 * transaction of the caller's. Answers how many lines were changed, and those that this account may not take away.
 *
 * @throws NotPermitted when a right could not be given
 */
export const settleRights = async (
  client: pg.Client,
  holders: readonly Holder[],
): Promise<{ changed: number; left: readonly string[] }> => {
  await client.query('SET LOCAL search_path TO pg_catalog')
  const found = await differences(client, holders)
  if (found.length === 0) return { changed: 0, left: [] }
  await client.query(found.map(statementOf).join(';\n'))
  const remaining = await differences(client, holders)
  const missing = remaining.find(({ what }) => what === 'GRANT')
  if (missing) throw new NotPermitted(`this account may not ${statementOf(missing)}`)
  return { changed: found.length - remaining.length, left: remaining.map(statementOf) }
}
