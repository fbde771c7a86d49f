/**
 * Prints how many tests passed and failed, as the last line.
 * @param {AsyncIterable<{ type: string, data: { skip?: unknown, details?: { type?: string } } }>} events
 */
export default async function* countReporter(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details?.type === 'suite' && type === 'test:pass') continue
    if (data.skip !== undefined && data.skip !== false) counts.skipped++
    else if (type === 'test:pass') counts.passed++
    else counts.failed++
  }
  yield `${counts.passed} passed, ${counts.failed} failed${counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`}\n`
}
