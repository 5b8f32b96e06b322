import type { Listener } from '#common/contract/define.js'

/** What the owner permits browsers' pages: on the owner's listener those that were named for it, on the other those of apps. */
export interface PermittedOrigins {
  readonly owner: readonly string[]
  /** By the id of the app that named them. */
  readonly apps: ReadonlyMap<string, readonly string[]>
}

/** Origins whose pages may call. None may, unless somebody named it. */
export class AllowedOrigins {
  #owner: ReadonlySet<string> = new Set()
  #byApp: ReadonlyMap<string, readonly string[]> = new Map()
  #apps: ReadonlySet<string> = new Set()

  /** Takes the place of what was permitted before. */
  permit({ owner, apps }: PermittedOrigins): void {
    this.#owner = new Set(owner)
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
