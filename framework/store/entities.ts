import { defineEntity } from '@mikro-orm/core'

/**
 * One image URL: when and where it was found, and what came of it. The table `image`.
 *
 *     pending ──▶ downloaded ──▶ duplicate (a larger picture took its place)
 *        │ └────▶ duplicate
 *        └──────▶ dropped | failed ──▶ downloaded | duplicate (tried again)
 */
export const ImageSchema = defineEntity({
  name: 'Image',
  tableName: 'image',
  // Together, for thousands of URLs may have the bytes of one kept image.
  indexes: [{ properties: ['sha256', 'status'] }],
  properties: (p) => ({
    id: p.bigint('number').primary(),
    /** As it was found: what is asked of the server. */
    url: p.text(),
    /** First half of the SHA-256 of the canonical URL: all spellings have one row, and an index takes no text of any length. */
    urlKey: p.string().length(32).unique(),
    /** Where the file is, relative to the folder of images. Null for everything that isn't kept. */
    path: p.text().nullable(),
    aHash: p.string().length(16).nullable(),
    dHash: p.string().length(16).nullable().index(),
    pHash: p.string().length(16).nullable(),
    /** True for a picture of which the hashes say nothing: only equal bytes are its duplicates. */
    flat: p.boolean().nullable(),
    /** Of the bytes that came, in 64 hexadecimal digits. */
    sha256: p.string().length(64).nullable(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    /** Bytes. */
    fileSize: p.bigint('number').nullable(),
    contentType: p.text().nullable(),
    format: p.text().nullable(),
    frames: p.integer().nullable(),
    foundAt: p.datetime(3),
    downloadedAt: p.datetime(3).nullable().index(),
    /** The spider that found it first. */
    sourceSite: p.text().index(),
    pageUrl: p.text(),
    altText: p.text().nullable(),
    /** What the spider added. */
    data: p.json<object>(),
    status: p.enum(['pending', 'downloaded', 'duplicate', 'dropped', 'failed']).index(),
    /** The kept image that this is a copy of. */
    duplicateOf: p.bigint('number').nullable().index(),
    /** Bits of the hash that differ from the image that it was compared with: 0 for equal bytes. */
    distance: p.integer().nullable(),
    /** A kept image that looks much the same: for a person to decide. */
    reviewOf: p.bigint('number').nullable().index(),
    reviewDistance: p.integer().nullable(),
    /** Why it isn't kept, in a few words; for duplicates `exact` or `near`. */
    reason: p.text().nullable(),
    message: p.text().nullable(),
    attempts: p.integer().default(0),
    /** True when no run needs to download it again. */
    settled: p.boolean().default(false),
  }),
})

/** Which version of the tables a database has. */
export const SchemaVersionSchema = defineEntity({
  name: 'SchemaVersion',
  tableName: 'schema_version',
  properties: (p) => ({
    /** `store`. */
    part: p.string().length(32).primary(),
    version: p.integer(),
  }),
})
