import { type Canvas, type Colour, createRamp, mix } from './canvas.ts'
import { createSky, dawn, dim, evening, type Hour, noon, overcast } from './hours.ts'
import {
  drawSkyline, type Ground, paintConifer, paintConifers, paintGlints, paintGround, paintMirror, paintSky, type Sky,
} from './nature.ts'
import { between, pick, type Random } from './random.ts'
import { noiseAt } from './texture.ts'

/** Ranges of hills, the farthest first; answers the upper edge of the nearest. */
function paintRanges(canvas: Canvas, random: Random, hour: Hour, horizon: number, base: number, ranges: number): Float32Array {
  const { height } = canvas
  const lines = Array.from({ length: ranges }, (_, index) => {
    const near = index / (ranges - 1)
    return drawSkyline(canvas, random, {
      base: horizon + (base - horizon) * near,
      rise: height * between(random, 0.3, 0.44) * (1 - near * 0.62),
      hills: between(random, 1.6, 3.2),
      jagged: between(random, 0.35, 0.8),
    })
  })
  lines.forEach((line, index) => {
    const near = index / (ranges - 1)
    const ground: Ground = {
      lit: dim(mix([150, 140, 132], [112, 124, 70], near), hour.brightness),
      shade: dim(mix([58, 60, 78], [26, 40, 32], near), hour.brightness),
      haze: hour.bottom,
      distance: 0.46 * (1 - near) ** 1.2,
      mist: 0.4 * (1 - near),
      bumps: 4 + near * 4,
      contrast: 7,
    }
    const snowLine = horizon - height * between(random, 0, 0.14)
    paintGround(canvas, random, line, near < 0.7 ? { ...ground, snowLine } : ground, lines[index + 1])
  })
  return lines.at(-1) ?? new Float32Array(canvas.width)
}

export function mountains(canvas: Canvas, random: Random): void {
  const hour = pick(random, [dawn, noon, evening, overcast])
  const horizon = canvas.height * between(random, 0.52, 0.68)
  paintSky(canvas, random, createSky(canvas, random, hour, horizon))
  const line = paintRanges(canvas, random, hour, horizon, canvas.height * 0.92, 4)
  paintConifers(canvas, random, line, {
    size: canvas.height * between(random, 0.1, 0.2), gap: canvas.width * 0.016, cover: between(random, 0.3, 0.8),
    colour: dim([28, 52, 38], hour.brightness),
  })
}

export function lakes(canvas: Canvas, random: Random): void {
  const hour = pick(random, [dawn, noon, evening])
  const shore = canvas.height * between(random, 0.5, 0.66)
  paintSky(canvas, random, createSky(canvas, random, hour, shore))
  const line = paintRanges(canvas, random, hour, shore - canvas.height * 0.1, shore + canvas.height * 0.04, 3)
  paintConifers(canvas, random, line, {
    size: canvas.height * between(random, 0.07, 0.13), gap: canvas.width * 0.012, cover: between(random, 0.4, 0.9),
    colour: dim([24, 50, 40], hour.brightness),
  })
  paintMirror(canvas, random, { shore, tint: dim([30, 66, 84], hour.brightness), depth: 0.12, waves: canvas.height * 0.014 })
}

export function coast(canvas: Canvas, random: Random): void {
  const hour = pick(random, [dawn, noon, evening, overcast])
  const shore = canvas.height * between(random, 0.4, 0.62)
  const sky = createSky(canvas, random, hour, shore)
  paintSky(canvas, random, sky)
  const islands = 1 + Math.floor(random() * 3)
  for (let index = 0; index < islands; index++) paintIsland(canvas, random, hour, shore)
  paintMirror(canvas, random, { shore, tint: dim([16, 92, 120], hour.brightness), depth: 0.4, waves: canvas.height * 0.02 })
  paintGlints(canvas, random, shore, sky.light)
  const beach = drawSkyline(canvas, random, {
    base: canvas.height * between(random, 0.94, 1.1), rise: canvas.height * 0.22, hills: 1.1, jagged: 0,
  })
  paintGround(canvas, random, beach, {
    lit: dim([236, 212, 168], hour.brightness), shade: dim([150, 118, 84], hour.brightness), haze: hour.bottom,
    distance: 0, mist: 0, bumps: 9, contrast: 4,
  })
}

function paintIsland(canvas: Canvas, random: Random, hour: Hour, shore: number): void {
  const middle = canvas.width * random()
  const half = canvas.width * between(random, 0.12, 0.3)
  const rise = canvas.height * between(random, 0.08, 0.26)
  const line = drawSkyline(canvas, random, { base: shore, rise, hills: 4, jagged: 0.5 })
  for (let x = 0; x < line.length; x++) {
    const aside = Math.abs(x - middle) / half
    line[x] = aside < 1 ? Math.min(shore, shore - (shore - line[x]! + rise * 0.3) * (1 - aside ** 2)) : canvas.height
  }
  paintGround(canvas, random, line, {
    lit: dim([150, 148, 110], hour.brightness), shade: dim([40, 52, 58], hour.brightness), haze: hour.bottom,
    distance: between(random, 0.05, 0.4), mist: 0, bumps: 7, contrast: 7,
  })
}

export function desert(canvas: Canvas, random: Random): void {
  const hour = pick(random, [dawn, noon, evening])
  const horizon = canvas.height * between(random, 0.36, 0.55)
  paintSky(canvas, random, { ...createSky(canvas, random, hour, horizon), clouds: between(random, 0.5, 0.95) })
  const sand = pick<Colour>(random, [[232, 168, 98], [240, 190, 130], [214, 120, 74]])
  const dunes = 4 + Math.floor(random() * 2)
  for (let index = 0; index < dunes; index++) {
    const near = index / (dunes - 1)
    const line = drawSkyline(canvas, random, {
      base: horizon + canvas.height * (0.08 + 0.42 * near), rise: canvas.height * (0.14 + 0.24 * near),
      hills: between(random, 0.9, 2), jagged: 0.15,
    })
    paintDune(canvas, random, line, dim(sand, 0.35 + hour.brightness * 0.65), hour.bottom, 0.5 * (1 - near))
  }
}

/** A dune is lit on one side of a crest that winds down from its top. */
function paintDune(canvas: Canvas, random: Random, line: Float32Array, sand: Colour, haze: Colour, distance: number): void {
  const { width, height } = canvas
  const u0 = 8 + random() * 8
  const crest = width * random()
  const winding = width * between(random, 0.2, 0.5)
  const lit = mix(mix(sand, [255, 236, 200], 0.35), haze, distance)
  const dark = mix(mix(sand, [60, 30, 40], 0.62), haze, distance)
  const shade = random() < 0.5 ? createRamp(dark, lit) : createRamp(lit, dark)
  for (let x = 0; x < width; x++) {
    const top = line[x]!
    const bend = noiseAt(u0 + (x / width) * 2, u0)
    for (let y = Math.max(0, Math.ceil(top)); y < height; y++) {
      const below = (y - top) / height
      const edge = crest + (noiseAt(u0 + below * 3, u0) - 0.5) * winding * 2 + below * winding * 1.5
      const side = Math.min(1, Math.max(0, (edge - x) / (width * 0.02) + 0.5))
      const ripple = noiseAt(u0 + (x / width) * 1.5, u0 + below * 30 + bend * 3) - 0.5
      canvas.dab(x, y, shade(side * 0.85 + 0.08 + ripple * 0.35), 1)
    }
  }
}

export function forest(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const mist = pick<Colour>(random, [[214, 224, 196], [236, 212, 160], [180, 200, 210]])
  const wood = pick<Colour>(random, [[34, 44, 34], [48, 38, 30], [26, 40, 48]])
  const floors = Array.from({ length: 4 }, (_, layer) =>
    drawSkyline(canvas, random, { base: height * (0.74 + 0.08 * layer), rise: height * 0.12, hills: 2.5, jagged: 0.1 }))
  const sky: Sky = {
    top: mix(mist, wood, 0.35), bottom: mist, horizon: height * 0.8, clouds: 0.8, cloudColour: mist,
    cloudShade: mix(mist, wood, 0.3),
    light: { x: width * random(), y: height * between(random, 0.1, 0.5), radius: 0, colour: [255, 248, 214], reach: 0.22 },
  }
  paintSky(canvas, random, sky)
  floors.forEach((floor, layer) => {
    const near = layer / 3
    const colour = mix(mix(mist, wood, 0.35), wood, near)
    paintGround(canvas, random, floor, {
      lit: mix(colour, [140, 160, 70], 0.3), shade: colour, haze: mist, distance: 0.4 * (1 - near), mist: 0,
      bumps: 10, contrast: 6,
    }, floors[layer + 1])
    for (let trunk = 9 - layer * 2; trunk > 0; trunk--) {
      const x = width * random()
      const foot = (floor[Math.floor(x)] ?? height) + height * 0.03
      if (random() < 0.35) paintConifer(canvas, random, x, foot, height * between(random, 0.25, 0.5) * (0.6 + near), colour)
      else paintTrunk(canvas, random, x, foot, width * (0.006 + 0.022 * near) * between(random, 0.7, 1.4), colour)
    }
  })
}

function paintTrunk(canvas: Canvas, random: Random, x: number, foot: number, thickness: number, colour: Colour): void {
  const u0 = 8 + random() * 8
  const lean = between(random, -0.06, 0.06)
  const bark = createRamp(mix(colour, [236, 220, 180], 0.3), colour)
  for (let row = 0; row < foot; row++) {
    const half = (thickness / 2) * (1 + 0.5 * (row / foot) ** 8)
    const middle = x + lean * (foot - row)
    for (let column = Math.ceil(middle - half); column <= middle + half; column++) {
      const aside = (column - middle) / half
      canvas.dab(column, row, bark(0.55 + aside * 0.5 + (noiseAt(u0 + aside * 0.4, u0 + row * 0.02) - 0.5) * 2), 1)
    }
  }
}

export function meadow(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const hour = pick(random, [dawn, noon, noon, overcast])
  const horizon = height * between(random, 0.4, 0.55)
  paintSky(canvas, random, createSky(canvas, random, hour, horizon))
  const line = paintFields(canvas, random, hour, horizon)
  const petals = pick<Colour>(random, [[224, 60, 52], [250, 206, 60], [160, 96, 214], [250, 250, 250]])
  const patch = random() * 8
  for (let flower = 0; flower < 900; flower++) {
    const x = width * random()
    const near = random() ** 0.7
    const top = line[Math.floor(x)]!
    const y = top + (height - top) * near
    if (noiseAt(patch + (x / width) * 2, patch + near * 2) < 0.47) continue
    const size = height * (0.003 + 0.011 * near) * between(random, 0.7, 1.2)
    canvas.disc(x, y, size, mix(dim(petals, hour.brightness), [20, 60, 20], random() * 0.3))
    canvas.disc(x, y, size * 0.35, [90, 60, 30], 0.8)
  }
  const trees = 1 + Math.floor(random() * 3)
  for (let tree = 0; tree < trees; tree++) {
    const x = width * random()
    const foot = line[Math.floor(x)]! + height * 0.02
    paintTree(canvas, random, x, foot, height * between(random, 0.14, 0.4), dim([58, 104, 40], hour.brightness))
  }
}

/** Rolling fields, each of its own green; answers the edge of the nearest. */
function paintFields(canvas: Canvas, random: Random, hour: Hour, horizon: number): Float32Array {
  const { height } = canvas
  const lines = Array.from({ length: 4 }, (_, index) =>
    drawSkyline(canvas, random, {
      base: horizon + height * 0.1 * index, rise: height * (0.16 - 0.02 * index), hills: between(random, 1, 2.4), jagged: 0,
    }))
  lines.forEach((line, index) => {
    const near = index / 3
    const green = pick<Colour>(random, [[120, 160, 62], [164, 176, 80], [86, 140, 66], [206, 186, 96]])
    paintGround(canvas, random, line, {
      lit: dim(mix(green, [255, 250, 170], 0.2), hour.brightness), shade: dim(mix(green, [10, 50, 30], 0.45), hour.brightness),
      haze: hour.bottom, distance: 0.4 * (1 - near), mist: 0, bumps: 5 + near * 9, contrast: 5,
    }, lines[index + 1])
  })
  return lines.at(-1) ?? new Float32Array(canvas.width)
}

/** A tree with leaves: many discs, dark ones first, lit ones to the upper left. */
function paintTree(canvas: Canvas, random: Random, x: number, foot: number, size: number, leaves: Colour): void {
  canvas.rectangle(x - size * 0.03, foot - size * 0.5, x + size * 0.03, foot, mix(leaves, [40, 24, 16], 0.7))
  const green = createRamp(mix(leaves, [6, 20, 16], 0.6), mix(leaves, [240, 240, 130], 0.4))
  for (let blob = 0; blob < 70; blob++) {
    const angle = random() * Math.PI * 2
    const away = Math.sqrt(random())
    const lift = blob / 70
    const blobX = x + Math.cos(angle) * away * size * 0.3 - lift * size * 0.03
    const blobY = foot - size * 0.68 + Math.sin(angle) * away * size * 0.3 - lift * size * 0.03
    const lit = 0.1 + lift * 0.5 - (blobY - foot + size * 0.68) / size
    canvas.disc(blobX, blobY, size * between(random, 0.03, 0.09), green(lit), 0.9)
  }
}

export function balloons(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const hour = pick(random, [dawn, noon, evening])
  const horizon = height * between(random, 0.72, 0.86)
  paintSky(canvas, random, createSky(canvas, random, hour, horizon))
  paintFields(canvas, random, hour, horizon - height * 0.02)
  const count = 3 + Math.floor(random() * 5)
  for (let index = 0; index < count; index++) {
    const near = (index + 0.5) / count
    paintBalloon(canvas, random, width * between(random, 0.05, 0.95), horizon * between(random, 0.1, 0.8),
      width * (0.02 + 0.085 * near ** 1.6) * between(random, 0.8, 1.2), 0.6 + 0.4 * hour.brightness)
  }
}

function paintBalloon(canvas: Canvas, random: Random, x: number, y: number, radius: number, brightness: number): void {
  const stripes = pick<readonly [Colour, Colour]>(random, [
    [[222, 62, 48], [250, 226, 120]], [[44, 92, 170], [244, 244, 240]], [[238, 150, 40], [150, 40, 90]],
    [[40, 150, 120], [250, 214, 90]], [[110, 60, 150], [250, 170, 190]],
  ])
  const ramps = stripes.map((colour) => createRamp(dim(colour, 0.35 * brightness), dim(colour, brightness)))
  const turn = random() * 2
  canvas.within(x - radius, y - radius, x + radius, y + radius * 1.5, (column, row) => {
    const down = (row - y) / radius
    const half = down < 0 ? Math.sqrt(Math.max(0, 1 - down ** 2)) : Math.max(0.14, Math.cos(down * 1.12))
    const aside = (column - x) / (radius * half)
    if (Math.abs(aside) >= 1 || down > 1.3) return
    const gore = Math.floor(Math.asin(aside) * 3 + turn + 8)
    canvas.dab(column, row, ramps[gore % 2]!(0.75 - aside * 0.5 - down * 0.25), 1)
  })
  canvas.rectangle(x - radius * 0.13, y + radius * 1.5, x + radius * 0.13, y + radius * 1.72, dim([110, 74, 44], brightness))
}
