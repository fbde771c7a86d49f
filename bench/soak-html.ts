import { randomFrom } from './page-html.ts'

const links = 20
/** The first links of a page make a tree, so that every page is found, and two thirds of what was found still wait when a third is read. */
const branches = 3

const filler = `<p class="text">${'The harbour wakes before the town, and whoever walks along the quay at that hour meets nets, gulls and tar. '.repeat(22)}</p>`
const head = '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Page</title></head>\n<body>\n<ul>\n'
const foot = `</ul>\n${filler}\n</body>\n</html>\n`

/** Where page `number` of the soak's site is. */
export const soakPath = (number: number): string => (number === 0 ? '/' : `/articles/${number}.html`)

/** The number of the page at `path`; NaN when there is none. */
export function soakNumber(path: string): number {
  return path === '/' ? 0 : Number(/^\/articles\/(\d+)\.html$/.exec(path)?.[1] ?? Number.NaN)
}

/** About 4 kB with 20 links: three to pages that only this one leads to, the others to pages that were found before. */
export function renderSoakPage(number: number, pages: number): string {
  const random = randomFrom(number)
  const known = Math.min(pages, number * branches + 1)
  let list = ''
  for (let link = 0; link < links; link += 1) {
    const child = number * branches + link + 1
    const target = link < branches && child < pages ? child : random() % known
    list += `<li><a class="link" href="${soakPath(target)}">Article ${target}</a></li>\n`
  }
  return `${head}${list}${foot}`
}
