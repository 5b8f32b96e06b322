import type { NodesReportsListResponse, Report } from '#sdk/generated/types.js'
import type { DaemonClient } from '../daemon/daemon.client.js'

/** All reports of the node, oldest first. */
export async function* reportsOf(daemon: DaemonClient): AsyncGenerator<Report> {
  for (let after = ''; ; ) {
    const cursor = after && `&after=${encodeURIComponent(after)}`
    const page = await daemon.get<NodesReportsListResponse>(`reports?limit=200${cursor}`)
    yield* page.data
    if (!page.next_cursor) return
    after = page.next_cursor
  }
}

/** Whether the node has published a report like this. */
export const hasReport = async (daemon: DaemonClient, fits: (report: Report) => boolean): Promise<boolean> => {
  for await (const report of reportsOf(daemon)) if (fits(report)) return true
  return false
}
