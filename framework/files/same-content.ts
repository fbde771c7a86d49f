import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'

/** True when two files hold the same bytes. */
export async function sameContent(first: string, second: string): Promise<boolean> {
  const [firstStats, secondStats] = await Promise.all([stat(first), stat(second)])
  if (firstStats.size !== secondStats.size) return false
  const [firstHash, secondHash] = await Promise.all([hashFile(first), hashFile(second)])
  return firstHash === secondHash
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
