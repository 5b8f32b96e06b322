import type { NodesReportsListResponse, Report } from '#sdk/generated/types.js'
import type { DaemonClient } from '../daemon/daemon.client.js'

/** Whether the node has published a report like this. */
export const hasReport = async (daemon: DaemonClient, fits: (report: Report) => boolean): Promise<boolean> => {
  for (let after = ''; ; ) {
    const cursor = after && `&after=${encodeURIComponent(after)}`
    const page = await daemon.get<NodesReportsListResponse>(`reports?limit=200${cursor}`)
    if (page.data.some(fits)) return true
    if (!page.next_cursor) return false
    after = page.next_cursor
  }
}
