/** An event of what a node watches, as its mail names it: `build.failed of build-server (evt_…), trace 4bf9…`. */
export const eventMailText = (source: unknown): string | undefined => {
  const { id, name, event } = (source ?? {}) as {
    id?: string
    name?: string
    event?: { id: string; name: string; trace_id: string | null }
  }
  if (!event) return undefined
  const trace = event.trace_id === null ? '' : `, trace ${event.trace_id}`
  return `${event.name} of ${name ?? id} (${event.id})${trace}`
}
