import type { ChangedSetting } from './frontier.ts'

/** Which of the settings that tell requests apart are not what they were when the run began. */
export function compareIdentity(before: string | undefined, now: Readonly<Record<string, unknown>>): ChangedSetting[] {
  if (before === undefined) return []
  const known = JSON.parse(before) as Record<string, unknown>
  return Object.entries(now).flatMap(([path, value]) => {
    const was = JSON.stringify(known[path])
    const is = JSON.stringify(value)
    return was === is || was === undefined ? [] : [{ path, was, is }]
  })
}
