import type { Pipeline } from 'orbweaver'

/** Commits the row, together with those of other workers, and answers the receipt. The innermost: it calls no `next`. */
export const persist: Pipeline = ({ store }) =>
  async function persist(item) {
    return store.save(item)
  }
