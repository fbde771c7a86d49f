import type { Lease } from '../frontier/frontier.ts'
import type { Visit } from '../slots.ts'

/** A leased request whose slot has a free place: what a worker takes. */
export interface Job {
  readonly lease: Lease
  readonly visit: Visit
}
