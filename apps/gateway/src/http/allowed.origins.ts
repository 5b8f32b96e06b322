import type { Listener } from '#common/contract/define.js'

/**
 * Origins whose pages may call: on the owner's listener those that the owner named for it, on the other those of apps. None
 * may, unless somebody named it.
 */
export class AllowedOrigins {
  #owner: ReadonlySet<string> = new Set()
  #byApp: ReadonlyMap<string, readonly string[]> = new Map()
  #apps: ReadonlySet<string> = new Set()

  /** Takes the place of what the owner permitted before. */
  permitOwners(origins: readonly string[]): void {
    this.#owner = new Set(origins)
  }

  /** Takes the place of what apps named before, by the id of the app. */
  permitApps(apps: ReadonlyMap<string, readonly string[]>): void {
    this.#byApp = apps
    this.#apps = new Set([...apps.values()].flat())
  }

  allows(listener: Listener, origin: string): boolean {
    return (listener === 'owner' ? this.#owner : this.#apps).has(origin)
  }

  /** Whether this app named this origin. */
  isOf(appId: string, origin: string): boolean {
    return this.#byApp.get(appId)?.includes(origin) ?? false
  }
}
