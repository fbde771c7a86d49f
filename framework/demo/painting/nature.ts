import { type Canvas, type Colour, coverage, createRamp, mix } from './canvas.ts'
import { between, type Random } from './random.ts'
import { noiseAt } from './texture.ts'

export interface Light {
  readonly x: number
  readonly y: number
  /** Pixels. */
  readonly radius: number
  readonly colour: Colour
  /** How far it shines, as a share of the canvas' width. */
  readonly reach: number
}

export interface Sky {
  readonly top: Colour
  readonly bottom: Colour
  /** Where it ends, in pixels from the top. */
  readonly horizon: number
  readonly light: Light
  /** 0: none; 1: overcast. */
  readonly clouds: number
  readonly cloudColour: Colour
  readonly cloudShade: Colour
}

/** A sky with a sun or moon, and clouds that grow smaller towards the horizon. */
export function paintSky(canvas: Canvas, random: Random, sky: Sky): void {
  const { width } = canvas
  const { light } = sky
  const air = createRamp(sky.bottom, sky.top)
  const cloud = createRamp(sky.cloudShade, sky.cloudColour)
  const driftX = 16 + random() * 8
  const driftY = random() * 8
  const least = 0.66 - sky.clouds * 0.34
  const reach = (light.reach * width) ** 2
  const lastY = Math.min(canvas.height, Math.ceil(sky.horizon * 1.2))
  canvas.rectangle(0, 0, width, lastY, sky.bottom)
  for (let y = 0; y < lastY; y++) {
    const rise = Math.max(0, 1 - y / sky.horizon)
    const far = 1 / (0.35 + rise)
    const v = driftY + far * 2.2
    const thickness = 0.55 + 0.35 * rise
    for (let x = 0; x < width; x++) {
      const glow = 1 / (1 + ((x - light.x) ** 2 + (y - light.y) ** 2) / reach)
      canvas.dab(x, y, air(rise), 1)
      canvas.dab(x, y, light.colour, glow * 0.6)
      const u = driftX + (x / width - 0.5) * 2.3 * far
      const density = noiseAt(u, v)
      if (density <= least) continue
      const towards = Math.max(-0.05, Math.min(0.05, ((light.x - x) / width) * 0.3))
      const lit = 0.55 + (density - noiseAt(u + towards, v - 0.06)) * 4 + glow * 0.3
      canvas.dab(x, y, cloud(lit), Math.min(1, (density - least) * 7) * thickness)
    }
  }
  canvas.disc(light.x, light.y, light.radius, [255, 253, 240], 0.9)
}

export interface Skyline {
  /** Where valleys lie, in pixels from the top. */
  readonly base: number
  /** From valley to peak, in pixels. */
  readonly rise: number
  /** Hills in the width of the canvas. */
  readonly hills: number
  /** 0: soft hills; 1: jagged peaks. */
  readonly jagged: number
}

/** The upper edge of a range of hills: y for each x. */
export function drawSkyline(canvas: Canvas, random: Random, skyline: Skyline): Float32Array {
  const start = random() * 8
  const row = random() * 8
  const line = new Float32Array(canvas.width)
  for (let x = 0; x < canvas.width; x++) {
    const u = start + (x / canvas.width) * skyline.hills
    const fine = noiseAt(u, row)
    const soft = noiseAt(u * 0.35, row + 3) * 0.7 + fine * 0.3
    const peak = 1 - Math.abs(fine * 2 - 1) * 2.2
    line[x] = skyline.base - skyline.rise * (0.5 + (soft - 0.5) * 2.2 * (1 - skyline.jagged) + (peak - 0.5) * skyline.jagged)
  }
  return line
}

export interface Ground {
  readonly lit: Colour
  readonly shade: Colour
  /** The air before it. */
  readonly haze: Colour
  /** 0: clear air; 1: lost in mist. */
  readonly distance: number
  /** How much thicker the mist is at the foot of the range. */
  readonly mist: number
  /** Bumps in the width of the canvas. */
  readonly bumps: number
  readonly contrast: number
  /** Above this y there is snow. Default: none. */
  readonly snowLine?: number
}

const snow = createRamp([176, 190, 214], [252, 252, 255])

/** Fills what is below a skyline, down to `foot`, with sloping ground that is lit from the left. */
export function paintGround(canvas: Canvas, random: Random, line: Float32Array, ground: Ground, foot?: Float32Array): void {
  const { width, height } = canvas
  const earth = createRamp(ground.shade, ground.lit)
  const u0 = random() * 8
  const v0 = random() * 8
  const scale = ground.bumps / width
  const depth = height * 0.3
  for (let x = 0; x < width; x++) {
    const top = line[x]!
    const first = Math.max(0, Math.floor(top))
    const end = Math.min(height, Math.ceil((foot?.[x] ?? height) + 2))
    for (let y = first; y < end; y++) {
      const below = y - top
      const u = u0 + (x + below * 0.35) * scale
      const v = v0 + below * scale * 0.8
      const here = noiseAt(u, v)
      const lit = 0.5 + (here - noiseAt(u + 0.03, v + 0.015)) * ground.contrast
      const opacity = y === first ? coverage(top - y - 0.5) : 1
      canvas.dab(x, y, earth(lit), opacity)
      if (ground.snowLine !== undefined) {
        const lying = (ground.snowLine - y) / (height * 0.06) + (here - 0.5) * 6
        if (lying > 0) canvas.dab(x, y, snow(lit), Math.min(0.95, lying) * opacity)
      }
      const haze = Math.min(0.97, ground.distance + ground.mist * Math.min(1, below / depth))
      if (haze > 0) canvas.dab(x, y, ground.haze, haze * opacity)
    }
  }
}

/** A conifer that stands on (x, foot), lit from the left. */
export function paintConifer(canvas: Canvas, random: Random, x: number, foot: number, size: number, colour: Colour): void {
  const lean = between(random, -0.03, 0.03)
  const needles = createRamp(mix(colour, [0, 0, 0], 0.25), mix(colour, [255, 236, 190], 0.22))
  const tiers = 5 + Math.floor(random() * 3)
  canvas.within(x - size * 0.3, foot - size, x + size * 0.3, foot, (column, row) => {
    const down = (row - foot + size) / size
    const tier = (down * tiers) % 1
    const half = size * 0.24 * down * (0.6 + 0.4 * tier)
    const aside = column - x - lean * (foot - row)
    const cover = coverage(Math.abs(aside) - half)
    if (cover > 0) canvas.dab(column, row, needles(0.25 + 0.4 * tier - (0.35 * aside) / (half + 1)), cover)
  })
}

/** Conifers along a skyline; `size` in pixels, `gap` between trunks in pixels, some of the line left free. */
export function paintConifers(
  canvas: Canvas,
  random: Random,
  line: Float32Array,
  trees: { readonly size: number; readonly gap: number; readonly cover: number; readonly colour: Colour },
): void {
  const group = random() * 8
  for (let x = 0; x < canvas.width; x += trees.gap * between(random, 0.5, 1.5)) {
    const size = trees.size * between(random, 0.5, 1.15)
    if (noiseAt(group + (x / canvas.width) * 3, group) > 0.3 + trees.cover * 0.4) continue
    paintConifer(canvas, random, x, (line[Math.floor(x)] ?? 0) + size * 0.12, size, trees.colour)
  }
}

export interface Water {
  readonly shore: number
  readonly tint: Colour
  /** 0: a mirror; 1: all tint. */
  readonly depth: number
  /** How far reflections are pulled about, in pixels. */
  readonly waves: number
}

/** Water that mirrors what is above its shore. */
export function paintMirror(canvas: Canvas, random: Random, water: Water): void {
  const { width, height, data } = canvas
  const u0 = 32 + random() * 8
  const v0 = 16 + random() * 8
  const shore = Math.round(water.shore)
  for (let y = shore; y < height; y++) {
    const near = (y - shore) / (height - shore)
    const v = v0 + Math.log(0.04 + near) * 7.8
    const spread = 2.2 / (0.12 + near)
    const mirrorY = shore - 1 - (y - shore) * 1.08
    for (let x = 0; x < width; x++) {
      const wave = noiseAt(u0 + (x / width - 0.5) * spread, v) - 0.5
      const fromY = Math.max(0, Math.min(shore - 1, Math.round(mirrorY + wave * water.waves * (1 + near * 5))))
      const fromX = Math.max(0, Math.min(width - 1, Math.round(x + wave * water.waves)))
      data.copyWithin((y * width + x) * 3, (fromY * width + fromX) * 3, (fromY * width + fromX) * 3 + 3)
      canvas.dab(x, y, water.tint, Math.min(0.95, Math.max(0, water.depth + near * 0.25 + wave * 0.5)))
    }
  }
}

/** A path of glints from the light to the foot of the picture. */
export function paintGlints(canvas: Canvas, random: Random, shore: number, light: Light): void {
  const { width, height } = canvas
  const u0 = random() * 8
  const v0 = 40 + random() * 8
  const glint = mix(light.colour, [255, 255, 245], 0.4)
  for (let y = Math.ceil(shore); y < height; y++) {
    const near = (y - shore) / (height - shore)
    const spread = width * (0.03 + near * 0.16)
    const first = Math.max(0, Math.floor(light.x - spread * 2))
    const last = Math.min(width - 1, Math.ceil(light.x + spread * 2))
    for (let x = first; x <= last; x++) {
      const wave = noiseAt(u0 + x / width / (0.05 + near * 0.35), v0 + Math.log(0.02 + near) * 9) - 0.5
      if (wave > 0) canvas.dab(x, y, glint, Math.min(0.9, wave * 8) * Math.exp(-(((x - light.x) / spread) ** 2)))
    }
  }
}
