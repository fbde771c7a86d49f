import { type Canvas, type Colour, createRamp, mix } from './canvas.ts'
import { between, pick, type Random } from './random.ts'
import { noiseAt } from './texture.ts'

/** The bands of a cut stone. */
export function agate(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const bands = pick<readonly [Colour, Colour, Colour, Colour]>(random, [
    [[30, 60, 110], [220, 230, 240], [90, 140, 190], [16, 24, 60]],
    [[120, 40, 30], [244, 214, 180], [206, 120, 70], [60, 20, 26]],
    [[20, 90, 80], [230, 240, 214], [80, 170, 140], [10, 44, 50]],
    [[90, 50, 110], [240, 220, 236], [170, 110, 180], [40, 20, 60]],
    [[150, 110, 50], [250, 240, 210], [96, 70, 50], [214, 160, 80]],
  ])
  const ramps = bands.map((colour, index) => createRamp(colour, bands[(index + 1) % 4] as Colour))
  const u0 = 16 + random() * 8
  const v0 = 16 + random() * 8
  const rings = between(random, 7, 13)
  const x0 = width * between(random, 0.2, 0.8)
  const y0 = height * between(random, 0.2, 0.8)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const u = u0 + (x / width) * 1.4
      const v = v0 + (y / width) * 1.4
      const bend = noiseAt(u, v)
      const away = Math.sqrt((x - x0) ** 2 + (y - y0) ** 2) / width
      const depth = (bend + noiseAt(u + bend * 0.6, v - bend * 0.6) * 0.7 + away * 0.7) * rings
      const band = Math.floor(depth)
      canvas.dab(x, y, ramps[band & 3]!((depth - band) ** 2), 1)
    }
  }
}

/** Fallen leaves, one over the other. */
export function leaves(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const soil = createRamp([24, 18, 14], [74, 56, 40])
  const u0 = random() * 8
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) canvas.dab(x, y, soil(noiseAt(u0 + (x / width) * 4, u0 + (y / width) * 4)), 1)
  }
  const season = pick<readonly [Colour, ...Colour[]]>(random, [
    [[206, 92, 30], [226, 160, 44], [160, 40, 30], [120, 74, 40]],
    [[110, 140, 50], [180, 176, 60], [70, 110, 50], [214, 190, 80]],
    [[180, 40, 44], [226, 110, 50], [110, 30, 46], [236, 180, 70]],
  ])
  for (let index = 0; index < 60; index++) {
    paintLeaf(canvas, random, width * random(), height * random(), width * between(random, 0.07, 0.17), pick(random, season))
  }
}

function paintLeaf(canvas: Canvas, random: Random, x: number, y: number, length: number, colour: Colour): void {
  const angle = random() * Math.PI * 2
  const cosine = Math.cos(angle)
  const sine = Math.sin(angle)
  const slim = between(random, 0.3, 0.5)
  const curl = between(random, -0.25, 0.25)
  const light = between(random, 0.75, 1.15)
  const blade = createRamp(mix(colour, [30, 14, 8], 0.55), mix(colour, [255, 240, 170], 0.3))
  const u0 = 8 + random() * 8
  canvas.within(x - length, y - length, x + length, y + length, (column, row) => {
    const along = ((column - x) * cosine + (row - y) * sine) / length
    if (Math.abs(along) > 1) return
    const across = ((row - y) * cosine - (column - x) * sine) / length - curl * (1 - along * along)
    const half = slim * (1 - along * along) * (0.8 - along * 0.3)
    const edge = Math.abs(across) - half
    if (edge > 0) {
      if (edge < 0.07) canvas.dab(column, row, [0, 0, 0], 0.3 * (1 - edge / 0.07))
      return
    }
    const vein = Math.abs(across) < 0.012 ? 0.25 : Math.abs(((along * 6 + Math.abs(across) * 5 + 8) % 1) - 0.5) < 0.06 ? 0.12 : 0
    const spot = (noiseAt(u0 + along, u0 + across) - 0.5) * 0.9
    canvas.dab(column, row, blade((0.5 + (across > 0 ? 0.12 : -0.12) + vein + spot) * light), 1)
  })
}
