export default async function teardown() {
  await globalThis.svcTestServers?.stop()
}
