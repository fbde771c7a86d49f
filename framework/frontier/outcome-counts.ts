import type Database from 'libsql'
import type { Outcome, OutcomeCount } from './frontier.ts'

/** How many requests ended how, as the file will have it. */
export class OutcomeCounts {
  readonly #counts = new Map<string, OutcomeCount & { count: number }>()

  load(database: Database.Database): void {
    for (const outcome of database.prepare('select kind, state, reason, count from outcome').all() as OutcomeCount[]) this.#counts.set(keyOf(outcome), { ...outcome })
  }

  add(kind: OutcomeCount['kind'], outcome: Exclude<Outcome, { state: 'released' }>): void {
    const counted = { kind, state: outcome.state, reason: 'reason' in outcome ? outcome.reason : '' }
    const key = keyOf(counted)
    const known = this.#counts.get(key)
    if (known === undefined) this.#counts.set(key, { ...counted, count: 1 })
    else known.count++
  }

  list(): readonly OutcomeCount[] {
    return structuredClone([...this.#counts.values()])
  }
}

const keyOf = ({ kind, state, reason }: Omit<OutcomeCount, 'count'>): string => `${kind}\n${state}\n${reason}`
