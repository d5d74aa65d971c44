import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { arrowsOf, circles, rooms, upward } from './rooms.ts'
import { published, root } from './workspace.ts'

const arrowsIn = (place: string) => arrowsOf(published.find((item) => item.place === place)!.imports('src'))

describe.each(published.map(({ place }) => place))('%s', (place) => {
  const found = [
    ...circles(arrowsIn(place)),
    ...Object.entries(rooms).filter(([folder]) => folder.startsWith(`${place}/`)).flatMap(([folder, order]) => upward(arrowsIn(place), folder.slice(place.length + 1), order)),
  ]
  it('has no circle of files, or of types, over more than two, and no arrow from a room to one above it', () => expect(found).toEqual([]))
})

describe.each(Object.entries(rooms))('the rooms of %s', (folder, order) => {
  it('are the folders there', () => {
    const folders = readdirSync(`${root}${folder}`, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name)
    expect(folders.filter((name) => !order.includes(name))).toEqual([])
  })
})

describe('the rule', () => {
  const line = (text: string): { from: string; to: string }[] => text.split(' ').map((arrow) => {
    const [from = '', to = ''] = arrow.split('>')
    return { from, to }
  })

  it.each(['a>b b>c', 'a>b b>a', 'a>a', 'a>b b>a b>c c>d d>c', 'a>b a>c b>d c>d'])('finds no circle in %s', (text) => expect(circles(line(text))).toEqual([]))

  it.each([
    ['a>b b>c c>a', '3 files import each other in a circle: a → b → c → a'],
    ['a>b b>c c>d d>a', '4 files import each other in a circle: a → b → c → d → a'],
    // Two pairs that share a file: the three hang together as in a circle.
    ['a>b b>a b>c c>b', '3 files import each other in a circle: a → b → c'],
  ])('finds that of %s', (text, found) => expect(circles(line(text))).toEqual([found]))

  it('reads imports from the place of the file', () => {
    expect(arrowsOf([{ file: 'src/turn/loop.ts', specifier: '../seams/seams.ts', typeOnly: true }, { file: 'src/a.ts', specifier: 'cordis', typeOnly: false }]))
      .toEqual([{ from: 'src/turn/loop.ts', to: 'src/seams/seams.ts' }])
  })

  it('lets arrows run down, and names one that runs up', () => {
    const order = ['life', 'turn', 'contract']
    expect(upward(line('src/life/a.ts>src/contract/b.ts src/turn/a.ts>src/turn/b.ts src/index.ts>src/life/a.ts'), 'src', order)).toEqual([])
    expect(upward(line('src/contract/b.ts>src/life/a.ts'), 'src', order)).toEqual(['src/contract/b.ts imports src/life/a.ts: life/ is above contract/'])
  })
})
