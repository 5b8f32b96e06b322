// Ends with 0 when the service of this container serves (SVC_HEALTH_LISTEN), else with 1 and the reason.
const listen = process.env.SVC_HEALTH_LISTEN
try {
  if (!listen) throw new Error('SVC_HEALTH_LISTEN is not set')
  const answer = await fetch(`http://${listen}/healthz`, { signal: AbortSignal.timeout(3000) })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
