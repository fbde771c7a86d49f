import type { ShownImage } from './plan.ts'

export const stylesheet = `:root { color-scheme: light dark; --ink: #22262b; --paper: #fbfaf7; --line: #dcd8cf; --link: #8a4b1f }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e2dc; --paper: #191b1e; --line: #34373c; --link: #e0a070 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 68rem; padding: 0 1.25rem 3rem; font: 16px/1.6 Georgia, serif }
body { color: var(--ink); background: var(--paper) }
header { display: flex; align-items: center; gap: 1.25rem; flex-wrap: wrap }
header { padding: 1.25rem 0; border-bottom: 1px solid var(--line) }
header strong { font-size: 1.25rem; margin-right: auto }
header img { display: block; border-radius: 8px }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
h1 { font-weight: 400; font-size: 2rem; margin: 1.5rem 0 .5rem }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 1.25rem; margin: 1.5rem 0 }
figure { margin: 0 }
figcaption { font-size: .85rem; opacity: .75; padding-top: .35rem }
img { max-width: 100%; height: auto; border-radius: 4px }
.grid img { width: 100%; aspect-ratio: 3 / 2; object-fit: cover }
.pager { display: flex; gap: 1rem; margin: 1.5rem 0 }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .85rem; opacity: .8 }
`

/** The same page in other words. Which one a footer has depends on the page that it stands on. */
const spellingsOfAbout = ['/about/', '/albums/../about/', '/about/#contact', '/./about/', '/%61bout/'] as const

export interface PageText {
  readonly title: string
  /** HTML. */
  readonly body: string
  /** Written into the head. Default: none, since the header says UTF-8. */
  readonly charset?: string
}

export function renderPage({ title, body, charset }: PageText): string {
  const about = spellingsOfAbout[title.length % spellingsOfAbout.length]
  return `<!doctype html>
<html lang="en">
<head>
${charset === undefined ? '' : `<meta charset="${charset}">\n`}<title>${escapeHtml(title)} · Painted Light</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header>
<a href="/"><img src="/icon.png" alt="" width="48" height="48"></a>
<strong>Painted Light</strong>
<a href="/">Albums</a> <a href="/wallpapers/">Wallpapers</a> <a href="/prints/">Prints</a> <a href="/journal/">Journal</a>
</header>
<main>
${body}
</main>
<footer>
All pictures on this site are made by code. <a href="${about}">About</a> · <a href="/archive/">Archive</a>
<img src="/pixel.gif" alt="" width="1" height="1">
</footer>
</body>
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** An `img`; `src` is how the URL is written when that isn't the canonical spelling. */
export function renderImage(image: ShownImage, { className, src }: { className?: string; src?: string } = {}): string {
  const classes = className === undefined ? '' : ` class="${className}"`
  const size = `width="${image.width}" height="${image.height}"`
  return `<img${classes} src="${escapeHtml(src ?? image.url)}" alt="${escapeHtml(image.alt)}" ${size}>`
}

export function renderFigure(image: ShownImage, caption: string = image.alt, src?: string): string {
  return `<figure>${renderImage(image, src === undefined ? {} : { src })}<figcaption>${escapeHtml(caption)}</figcaption></figure>`
}

export function renderFigures(images: readonly ShownImage[]): string[] {
  return images.map((image) => renderFigure(image))
}

/** Thumbnails that lead somewhere. */
export function renderGrid(
  className: string,
  cells: readonly { readonly href: string; readonly image: ShownImage; readonly caption: string }[],
): string {
  const figures = cells.map(({ href, image, caption }) => {
    const link = `<a class="${className}" href="${escapeHtml(href)}">${renderImage(image)}</a>`
    return `<figure>${link}<figcaption>${escapeHtml(caption)}</figcaption></figure>`
  })
  return `<div class="grid">\n${figures.join('\n')}\n</div>`
}

/** A page of text with figures beneath. Title: plain text; the others: HTML. */
export function renderArticle(title: string, paragraphs: readonly string[], figures: readonly string[]): string {
  const grid = figures.length === 0 ? '' : `\n<div class="grid">\n${figures.join('\n')}\n</div>`
  const text = paragraphs.map((paragraph) => `<p>${paragraph}</p>`).join('\n')
  return renderPage({ title, body: `<h1>${escapeHtml(title)}</h1>\n${text}${grid}` })
}
