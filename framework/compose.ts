/** A step around another: works before it, after it or in its place. */
export type Middleware<In, Out> = (input: In, next: (input: In) => Out) => Out

/**
 * Nests `middlewares` around a core that is given with every call, the first outermost. It holds no state, so a
 * middleware may call `next` again, for a redirect, or with another input, for robots.txt.
 */
export function compose<In, Out>(middlewares: readonly Middleware<In, Out>[]): (input: In, core: (input: In) => Out) => Out {
  return (input, core) => {
    const step = (index: number, value: In): Out => {
      const middleware = middlewares[index]
      return middleware === undefined ? core(value) : middleware(value, (next) => step(index + 1, next))
    }
    return step(0, input)
  }
}
