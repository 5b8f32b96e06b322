import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** Under which name the inbox keeps who took the place of a node, as long as it keeps what else lifecycle said. */
const heirs = (of: string): string => `heir of ${of}`

/** Who took the place of which root. */
export class HeirRepository {
  /** Is known from now on. */
  note(tx: Tx, of: string, heir: string): void {
    tx.send('INSERT INTO objects.inbox (source, source_event) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      heirs(of),
      heir,
    ])
  }

  /** The last in the line of those who took the place of a node, as far as is known: the node itself of most. */
  async lastOf(reader: Reader, nodeId: string): Promise<string> {
    const [row] = await reader.query<{ id: string }>(
      'SELECT source_event AS id FROM objects.inbox WHERE source = $1 ORDER BY source_event LIMIT 1',
      [heirs(nodeId)],
    )
    return row ? this.lastOf(reader, row.id) : nodeId
  }
}
