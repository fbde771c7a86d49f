import { messageOf } from './errors.ts'
import type { Response } from './http/response.ts'
import type { FetchedItem, Item, Stored } from './item.ts'
import type { Request } from './http/request.ts'
import type { Log } from './log.ts'

/** Why a crawl ended. `stopped`: by a signal; `limit`: one of `limits`; `blocked`: every host left asks for patience. */
export type EndReason = 'finished' | 'stopped' | 'limit' | 'blocked'

/** Everything a crawl announces, with what its listeners are given. */
export interface SignalMap {
  crawl_opened: []
  response_received: [response: Response]
  item_stored: [item: FetchedItem, stored: Stored]
  item_dropped: [item: Item, reason: string]
  request_failed: [request: Request, reason: string]
  crawl_closed: [reason: EndReason]
}

type Listener<Name extends keyof SignalMap> = (...args: SignalMap[Name]) => void

/** Listeners are told; they can't change the flow, and one that throws is logged. */
export class Signals {
  readonly #listeners = new Map<keyof SignalMap, Set<Listener<any>>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** Answers the function that removes the listener. */
  on<Name extends keyof SignalMap>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  #complain(name: string, error: unknown): void {
    this.#log.error({ signal: name, error }, `a listener of ${name} threw: ${messageOf(error)}`)
  }

  emit<Name extends keyof SignalMap>(name: Name, ...args: SignalMap[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const result: unknown = listener(...args)
        if (result instanceof Promise) result.catch((error: unknown) => this.#complain(name, error))
      } catch (error) {
        this.#complain(name, error)
      }
    }
  }
}
