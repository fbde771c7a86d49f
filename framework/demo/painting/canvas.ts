/** Red, green, blue, 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number]

/** The colour `amount` (0 to 1) of the way from one to the other. */
export function mix(from: Colour, to: Colour, amount: number): Colour {
  return [
    from[0] + (to[0] - from[0]) * amount,
    from[1] + (to[1] - from[1]) * amount,
    from[2] + (to[2] - from[2]) * amount,
  ]
}

/** Colours from one to the other in 64 steps, made once where a loop over pixels would mix them again and again. */
export function createRamp(from: Colour, to: Colour): (amount: number) => Colour {
  const steps = Array.from({ length: 64 }, (_, step) => mix(from, to, step / 63))
  return (amount) => steps[amount <= 0 ? 0 : amount >= 1 ? 63 : (amount * 63.99) | 0] as Colour
}

/** How much of a point is covered, 0 to 1: negative distances are inside. */
export const coverage = (distance: number): number => (distance <= -0.5 ? 1 : distance >= 0.5 ? 0 : 0.5 - distance)

/** Pixels that are painted over. Positions are pixels, y downwards; what lies outside is left out. */
export class Canvas {
  readonly width: number
  readonly height: number
  /** Three bytes a pixel, row by row. */
  readonly data: Float32Array

  constructor(width: number, height: number) {
    this.width = width
    this.height = height
    this.data = new Float32Array(width * height * 3)
  }

  /** Lays a colour over one pixel; `opacity` 0 to 1. */
  dab(x: number, y: number, colour: Colour, opacity: number): void {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return
    const data = this.data
    const at = (y * this.width + x) * 3
    data[at] = data[at]! + (colour[0] - data[at]!) * opacity
    data[at + 1] = data[at + 1]! + (colour[1] - data[at + 1]!) * opacity
    data[at + 2] = data[at + 2]! + (colour[2] - data[at + 2]!) * opacity
  }

  /** Calls `paint` for every pixel of a box, cut to the canvas. */
  within(left: number, top: number, right: number, bottom: number, paint: (x: number, y: number) => void): void {
    const lastX = Math.min(this.width - 1, Math.ceil(right))
    const lastY = Math.min(this.height - 1, Math.ceil(bottom))
    for (let y = Math.max(0, Math.floor(top)); y <= lastY; y++) {
      for (let x = Math.max(0, Math.floor(left)); x <= lastX; x++) paint(x, y)
    }
  }

  rectangle(left: number, top: number, right: number, bottom: number, colour: Colour, opacity = 1): void {
    this.within(left, top, right, bottom, (x, y) => {
      const cover = coverage(Math.max(left - x, x - right, top - y, y - bottom))
      this.dab(x, y, colour, cover * opacity)
    })
  }

  disc(centreX: number, centreY: number, radius: number, colour: Colour, opacity = 1): void {
    this.within(centreX - radius - 1, centreY - radius - 1, centreX + radius + 1, centreY + radius + 1, (x, y) => {
      this.dab(x, y, colour, opacity * coverage(Math.sqrt((x - centreX) ** 2 + (y - centreY) ** 2) - radius))
    })
  }
}
