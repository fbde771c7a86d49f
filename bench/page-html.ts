const linksPerPage = 60
const imagesPerPage = 20
/** The first links of a page make a tree, so that every page is found from the first one. */
const branches = 10

const sentence =
  'The harbour wakes before the town, and whoever walks along the quay at that hour meets nets, gulls &amp; the smell of tar. '
const paragraph = `<p class="text">${sentence.repeat(8)}<em>${sentence.trim()}</em></p>\n`
const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/style.css">
<style>.card { display: grid; gap: 1rem } .card img { max-width: 100% } nav li { display: inline-block }</style>
<script>window.settings = { theme: "light", lazy: true, columns: 4 }</script>
`

/** Where page `number` of the site is. */
export const pagePath = (number: number): string => (number === 0 ? '/' : `/gallery/page-${number}.html`)
/** Where image `number` of the site is. */
export const imagePath = (number: number): string => `/images/photo-${number}.jpg`

/** About 20 kB: 60 links to pages, the first ten of them the children in a tree, and 20 images. */
export function renderPage(number: number, pages: number, images: number): string {
  const random = randomFrom(number)
  let links = ''
  for (let link = 0; link < linksPerPage; link += 1) {
    const child = number * branches + link + 1
    const target = link < branches && child < pages ? child : random() % pages
    links += `<li class="item"><a class="link" href="${pagePath(target)}" title="Page ${target}">`
    links += `Gallery page number ${target}</a></li>\n`
  }
  let cards = ''
  for (let image = 0; image < imagesPerPage; image += 1) {
    const target = random() % images
    cards += `<div class="card"><figure>`
    cards += `<img src="${imagePath(target)}" width="800" height="600" loading="lazy" alt="Photo ${target}">`
    cards += `<figcaption>Photo ${target}, taken <time datetime="2024-05-01">in May</time></figcaption></figure></div>\n`
    if (image % 3 === 0) cards += paragraph
  }
  const body = `<nav><ul>\n${links}</ul></nav>\n<main>\n${cards}</main>`
  return `${head}<title>Page ${number}</title>\n</head>\n<body>\n${body}\n</body>\n</html>\n`
}

/** One page with all images, for the scenario that harvests a list. */
export function renderImageList(images: number): string {
  let list = ''
  for (let image = 0; image < images; image += 1) list += `<img src="${imagePath(image)}" alt="">\n`
  return `${head}<title>All images</title>\n</head>\n<body>\n${list}</body>\n</html>\n`
}

/** Whole numbers that are the same in every run for one `seed` (xorshift). */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 2_654_435_761) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}
