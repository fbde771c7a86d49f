import { type Canvas, type Colour, createRamp, mix } from './canvas.ts'
import { createSky, evening, type Hour } from './hours.ts'
import { drawSkyline, paintConifers, paintGround, paintMirror, paintSky } from './nature.ts'
import { between, pick, type Random } from './random.ts'
import { noiseAt } from './texture.ts'

const dusk: Hour = {
  top: [16, 20, 54], bottom: [214, 112, 110], cloudColour: [196, 100, 120], cloudShade: [42, 34, 74],
  sun: [250, 180, 130], brightness: 0.4,
}
const blueHour: Hour = {
  top: [12, 26, 66], bottom: [110, 150, 190], cloudColour: [130, 150, 190], cloudShade: [34, 46, 84],
  sun: [200, 214, 240], brightness: 0.4,
}

export function city(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const hour = pick(random, [dusk, blueHour, evening])
  const shore = height * between(random, 0.66, 0.8)
  paintSky(canvas, random, createSky(canvas, random, hour, shore))
  for (let row = 0; row < 3; row++) {
    const near = row / 2
    const wall = mix(mix(hour.bottom, [20, 24, 44], 0.55), [16, 18, 34], near)
    const district = random() * 8
    let x = -width * 0.05
    while (x < width) {
      const across = width * between(random, 0.03, 0.08)
      const tall = noiseAt(district + (x / width) * 4, district) ** 1.5
      const rise = shore * (0.25 + tall * between(random, 0.6, 1.7)) * (1 - near * 0.45)
      paintTower(canvas, random, x, shore - rise, across, shore, wall, 0.2 + 0.6 * near)
      x += across * between(random, 0.85, 1.3)
    }
  }
  paintMirror(canvas, random, { shore, tint: [14, 22, 44], depth: 0.3, waves: height * 0.03 })
}

function paintTower(
  canvas: Canvas, random: Random, x: number, top: number, across: number, foot: number, wall: Colour, lights: number,
): void {
  canvas.rectangle(x, top, x + across, foot, wall)
  canvas.rectangle(x + across * 0.72, top, x + across, foot, [6, 8, 20], 0.35)
  if (random() < 0.3) canvas.rectangle(x + across * 0.47, top - across * between(random, 0.3, 1), x + across * 0.53, top, wall)
  const glow = pick<Colour>(random, [[255, 214, 130], [255, 236, 190], [190, 220, 255]])
  const storey = Math.max(4, canvas.height * 0.018)
  const columns = Math.max(2, Math.round(across / storey))
  const busy = between(random, 0.2, 0.75)
  for (let y = top + storey; y < foot - storey; y += storey) {
    for (let column = 0; column < columns; column++) {
      if (random() > busy) continue
      const left = x + ((column + 0.25) * across) / columns
      canvas.rectangle(left, y, left + (across * 0.5) / columns, y + storey * 0.5, glow, lights * between(random, 0.4, 1))
    }
  }
}

export function nightSky(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const air = createRamp(pick<Colour>(random, [[40, 54, 84], [62, 50, 80], [24, 66, 80]]), [6, 9, 24])
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) canvas.dab(x, y, air(1 - y / height), 1)
  }
  if (random() < 0.55) paintAurora(canvas, random)
  else paintMilkyWay(canvas, random)
  for (let star = 0; star < 420; star++) {
    const size = 0.35 + random() ** 6 * 1.6
    const light = pick<Colour>(random, [[255, 255, 255], [190, 210, 255], [255, 226, 190]])
    canvas.disc(width * random(), height * random(), size, light, between(random, 0.3, 1))
  }
  const line = drawSkyline(canvas, random, {
    base: height * between(random, 0.86, 1), rise: height * between(random, 0.15, 0.4),
    hills: between(random, 1.5, 3), jagged: 0.5,
  })
  paintGround(canvas, random, line, {
    lit: [34, 40, 56], shade: [8, 10, 20], haze: [0, 0, 0], distance: 0, mist: 0, bumps: 6, contrast: 5,
  })
  paintConifers(canvas, random, line, {
    size: height * between(random, 0.1, 0.24), gap: width * 0.02, cover: between(random, 0.2, 0.9), colour: [8, 12, 20],
  })
}

/** Curtains of light: bright at a winding lower edge, fading upwards. */
function paintAurora(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const low = pick<Colour>(random, [[90, 250, 160], [110, 240, 220]])
  const high = pick<Colour>(random, [[160, 80, 220], [60, 120, 220], [220, 70, 140]])
  const hue = createRamp(low, high)
  for (let curtain = 0; curtain < 3; curtain++) {
    const u0 = random() * 8
    const edgeAt = height * between(random, 0.45, 0.75)
    const reach = height * between(random, 0.3, 0.55)
    for (let x = 0; x < width; x++) {
      const edge = edgeAt + (noiseAt(u0 + (x / width) * 1.5, u0) - 0.5) * height * 0.9
      const folds = 0.7 + noiseAt(u0 + (x / width) * 16, u0 + 2) * 0.7
      const strength = Math.max(0, noiseAt(u0 + (x / width) * 2, u0 + 4) - 0.36) * 3.4 * folds
      for (let y = Math.max(0, Math.floor(edge - reach)); y < Math.min(height, edge + height * 0.03); y++) {
        const up = Math.min(1, (edge - y) / reach)
        const shape = up < 0 ? Math.max(0, 1 + (up * reach) / (height * 0.03)) : (1 - up) ** 1.6
        canvas.dab(x, y, hue(up), Math.min(0.85, strength * shape))
      }
    }
  }
}

function paintMilkyWay(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const angle = between(random, -1.2, 1.2)
  const x0 = width * between(random, 0.25, 0.75)
  const u0 = 16 + random() * 8
  const dust = createRamp([120, 100, 150], [250, 226, 210])
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const aside = ((x - x0) * Math.cos(angle) + (y - height * 0.4) * Math.sin(angle)) / (width * 0.16)
      if (Math.abs(aside) > 2.2) continue
      const band = Math.exp(-(aside ** 2))
      const cloud = noiseAt(u0 + (x / width) * 3, u0 + (y / width) * 3)
      const lane = noiseAt(u0 + 4 + (x / width) * 2, u0 + (y / width) * 2)
      const dark = 1 - 0.6 * Math.min(1, Math.max(0, (lane - 0.46) * 9))
      canvas.dab(x, y, dust(cloud), Math.min(0.9, band * Math.max(0, cloud * 2.4 - 0.5) * dark))
    }
  }
}

/** Lights out of focus. */
export function bokeh(canvas: Canvas, random: Random): void {
  const { width, height } = canvas
  const [dark, bright, ...lights] = pick<readonly [Colour, Colour, ...Colour[]]>(random, [
    [[12, 14, 34], [60, 40, 80], [255, 190, 90], [255, 120, 80], [255, 230, 170], [120, 160, 255]],
    [[6, 26, 30], [20, 80, 84], [120, 250, 210], [250, 250, 190], [80, 180, 250]],
    [[34, 8, 20], [110, 30, 50], [255, 90, 110], [255, 200, 120], [255, 150, 200]],
    [[16, 24, 8], [80, 100, 30], [214, 250, 120], [255, 230, 120], [140, 220, 100]],
  ])
  const ground = createRamp(dark, bright)
  const u0 = random() * 8
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) canvas.dab(x, y, ground((noiseAt(u0 + x / width, u0 + y / width) - 0.3) * 2.4), 1)
  }
  for (let index = 0; index < 46; index++) {
    const radius = width * (0.012 + 0.075 * random() ** 1.8)
    const colour = lights[Math.floor(random() * lights.length)] ?? bright
    const x = width * random()
    const y = height * between(random, 0.05, 0.95)
    const opacity = between(random, 0.16, 0.6)
    canvas.disc(x, y, radius, colour, opacity)
    canvas.disc(x, y, radius * 0.9, mix(colour, dark, 0.25), opacity * 0.5)
  }
}
