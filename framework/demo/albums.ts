import type { Edition, Picture, SceneName } from './pictures.ts'
import { createRandom, pick, shuffle } from './painting/random.ts'

export interface Album {
  readonly slug: string
  readonly title: string
  readonly scene: SceneName
  readonly about: string
  /** Whether its pages show small files of their own instead of the photographs themselves. */
  readonly thumbnails: boolean
  readonly photos: readonly Photo[]
}

export interface Photo {
  /** Such as `lakes-07`: the same picture whatever the seed of the site. */
  readonly id: string
  readonly album: string
  readonly number: number
  readonly title: string
  readonly picture: Picture
  readonly edition: Edition
}

const photosPerAlbum = 20

const themes: readonly { scene: SceneName; slug: string; title: string; about: string; things: readonly string[] }[] = [
  { scene: 'mountains', slug: 'mountains', title: 'Mountains', about: 'Four ranges deep, with snow where it may lie.',
    things: ['Ridge', 'Pass', 'Summit', 'North face', 'High valley'] },
  { scene: 'lakes', slug: 'lakes', title: 'Lakes', about: 'Everything twice, the second time upside down.',
    things: ['Tarn', 'Still water', 'Reflection', 'Lake shore', 'Fjord'] },
  { scene: 'coast', slug: 'coast', title: 'Coast', about: 'Islands, and the way the sun takes across the water.',
    things: ['Island', 'Bay', 'Headland', 'Skerry', 'Open sea'] },
  { scene: 'desert', slug: 'desert', title: 'Desert', about: 'One side of a dune is always in the shade.',
    things: ['Dune', 'Crest', 'Sand sea', 'Dry valley', 'Ripples'] },
  { scene: 'forest', slug: 'forest', title: 'Forest', about: 'Trunks and mist.',
    things: ['Clearing', 'Old pines', 'Forest path', 'Undergrowth', 'Spruces'] },
  { scene: 'meadow', slug: 'meadows', title: 'Meadows', about: 'Fields in flower, with a tree or three.',
    things: ['Pasture', 'Field', 'Flowers', 'Hillside', 'Lone tree'] },
  { scene: 'balloons', slug: 'balloons', title: 'Balloons', about: 'Slow traffic.',
    things: ['Ascent', 'Balloons', 'Basket ride', 'Drift', 'Landing'] },
  { scene: 'city', slug: 'city', title: 'City lights', about: 'Who is still at work?',
    things: ['Skyline', 'Towers', 'Waterfront', 'Windows', 'Downtown'] },
  { scene: 'nightSky', slug: 'night', title: 'Night sky', about: 'Auroras and the Milky Way.',
    things: ['Aurora', 'Stars', 'Milky Way', 'Polar night', 'Clear night'] },
  { scene: 'bokeh', slug: 'bokeh', title: 'Out of focus', about: 'Lights, on purpose.',
    things: ['Lights', 'Street lamps', 'Fairground', 'Rain on glass', 'Lanterns'] },
  { scene: 'agate', slug: 'agates', title: 'Agates', about: 'Cut and polished.',
    things: ['Agate', 'Banded stone', 'Chalcedony', 'Geode', 'Onyx'] },
  { scene: 'leaves', slug: 'leaves', title: 'Leaves', about: 'What is on the ground in autumn.',
    things: ['Beech leaves', 'Leaf litter', 'Fallen leaves', 'Forest floor', 'Foliage'] },
]

const moods = [
  'in the morning', 'at noon', 'after the rain', 'before the storm', 'without a sound', 'from afar', 'once more', 'in March',
  'at the end of the day', 'seen from the train', 'on the way home', 'in passing',
]

const shapes: readonly [number, number][] = [[720, 3 / 2], [680, 4 / 3], [760, 16 / 10], [540, 3 / 4], [720, 3 / 2]]

const albumsWithThumbnails: ReadonlySet<string> = new Set(['lakes', 'city', 'leaves'])

/** Seeds whose picture looks too much like another one's, and the seeds taken instead. */
const lookAlikes: ReadonlyMap<number, number> = new Map([
  [313, 344], [314, 345], [403, 433], [412, 442], [414, 444], [423, 453], [604, 634], [609, 640], [616, 646], [621, 652],
  [714, 744], [723, 753], [803, 833], [903, 933],
])

/**
 * The albums with their photographs; `seed` decides the order of both and the titles, and not what the pictures show.
 * Photographs beyond the album's twenty are for other pages: see `createPhoto`.
 */
export function createAlbums(seed: number): Album[] {
  const random = createRandom(seed)
  const albums = themes.map(({ scene, slug, title, about }) => ({
    scene, slug, title, about,
    thumbnails: albumsWithThumbnails.has(slug),
    photos: shuffle(random, Array.from({ length: photosPerAlbum }, (_, index) => createPhoto(slug, index + 1, seed))),
  }))
  return shuffle(random, albums)
}

/** Any photograph of an album's kind: numbers up to 20 are in the album, higher ones on no page by themselves. */
export function createPhoto(album: string, number: number, seed: number): Photo {
  const index = themes.findIndex(({ slug }) => slug === album)
  const theme = themes[index]
  if (theme === undefined) throw new Error(`The demo site has no album "${album}".`)
  const pictureSeed = (index + 1) * 100 + number
  const random = createRandom(pictureSeed + seed * 10_000)
  const [width, aspect] = pick(createRandom(pictureSeed), shapes)
  return {
    id: `${album}-${String(number).padStart(2, '0')}`,
    album,
    number,
    title: `${pick(random, theme.things)} ${pick(random, moods)}`,
    picture: { scene: theme.scene, seed: lookAlikes.get(pictureSeed) ?? pictureSeed, aspect },
    edition: { width, format: 'jpeg' },
  }
}
