/** Texts as agents meet them, in our own words: what the heuristic is fitted to and measured on. */
export const samples = {
  prose: `The weir above the mill was rebuilt in the spring, after the ice had taken half of it away. Nobody remembers who
paid for the stones. What people do remember is that the water ran clear for a week and then, one morning, brown: somebody
upstream had started to dig. "You can't mill with mud," the miller said, and he was right, as he usually was about things
that concerned him. Three letters were written, two of them were answered, and in the end the council sent an engineer who
measured everything twice, drank a great deal of coffee, and recommended a settling basin. It is still there. Children fish
in it, unsuccessfully, and every ten years or so it has to be emptied by hand because no machine fits between the alders.`,
  markdown: `# Deploying the gateway

1. Check that \`main\` is green and that nobody else is deploying (see [the board](https://status.example.org/board)).
2. Run \`make release VERSION=2.14.0\`; it tags, builds and pushes.
3. Watch **error rate** and **p99 latency** for ten minutes.

| stage | owner | time limit |
|---|---|---|
| build | CI | 10 min |
| canary | on call | 30 min |

> If the canary fails, do *not* retry: roll back with \`make rollback\` and open an issue.

- [x] changelog updated
- [ ] migration reviewed
`,
  typescript: `export async function collectGarbage(store: BlobStore, options: GarbageOptions = {}): Promise<GarbageReport> {
  const { olderThan = 86_400_000, dryRun = false, signal } = options
  const referenced = new Set<string>()
  for await (const session of store.sessions({ signal })) {
    for (const event of session.events) {
      if (event.type === 'blob/put') referenced.add(event.data.digest)
    }
  }
  let removed = 0
  for await (const blob of store.blobs()) {
    if (referenced.has(blob.digest) || Date.now() - blob.createdAt < olderThan) continue
    if (!dryRun) await store.removeBlob(blob.digest)
    removed++
  }
  return { removed, kept: referenced.size }
}
`,
  python: `class RateLimiter:
    """Lets at most \`\`limit\`\` calls through in any window of \`\`seconds\`\`."""

    def __init__(self, limit: int, seconds: float = 60.0) -> None:
        self.limit = limit
        self.seconds = seconds
        self._calls: deque[float] = deque(maxlen=limit)

    def acquire(self, now: float | None = None) -> bool:
        now = time.monotonic() if now is None else now
        while self._calls and now - self._calls[0] > self.seconds:
            self._calls.popleft()
        if len(self._calls) >= self.limit:
            return False
        self._calls.append(now)
        return True
`,
  json: JSON.stringify({
    name: 'list_files',
    description: 'Lists the files below a folder, newest first, at most 200 of them.',
    parameters: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Folder, relative to the working directory.' },
        pattern: { type: 'string', description: 'Glob that names must match.', default: '**/*' },
        limit: { type: 'integer', minimum: 1, maximum: 200 },
        includeHidden: { type: 'boolean' },
      },
      required: ['path'],
      additionalProperties: false,
    },
  }),
  prettyJson: JSON.stringify({ id: 48_213, customer: { name: 'Ada Example', city: 'Basel', tags: ['wholesale', 'net-30'] }, lines: [{ sku: 'BX-1009', quantity: 12, price: 4.75 }, { sku: 'QT-77', quantity: 1, price: 129 }], paid: false, shippedAt: null }, null, 2),
  shell: `$ git status --short
 M src/app/router.ts
 M src/app/router.spec.ts
?? notes/2026-03-02.md
$ npm test -- --run src/app
> gateway@2.14.0 test
> vitest "--run" "src/app"

 FAIL  src/app/router.spec.ts > matches the longest prefix
AssertionError: expected '/a/b' to be '/a/b/c' // Object.is equality
    at /srv/gateway/src/app/router.spec.ts:41:23
    at processTicksAndRejections (node:internal/process/task_queues:95:5)

 Test Files  1 failed | 3 passed (4)
      Tests  1 failed | 57 passed (58)
   Duration  1.42s
`,
  diff: `diff --git a/src/app/router.ts b/src/app/router.ts
index 3f2a91c..b7e04d8 100644
--- a/src/app/router.ts
+++ b/src/app/router.ts
@@ -18,9 +18,9 @@ export class Router {
   match(path: string): Route | undefined {
-    return this.routes.find((route) => path.startsWith(route.prefix))
+    return this.routes
+      .filter((route) => path.startsWith(route.prefix))
+      .reduce((best, route) => (route.prefix.length > (best?.prefix.length ?? -1) ? route : best), undefined)
   }
`,
  numbers: `timestamp,requests,errors,p50,p99
2026-03-02T10:00:00Z,18342,12,41.20,380.55
2026-03-02T10:01:00Z,17990,9,40.87,371.02
2026-03-02T10:02:00Z,19411,31,44.10,512.98
2026-03-02T10:03:00Z,20007,204,97.63,2048.11
2026-03-02T10:04:00Z,18855,15,42.09,390.40
`,
  hex: 'c2f1a09be47d5538016fcb72e9a4d3f80b1c6e5a7798f2043dd1b86ea5c9407f5e23b18ad06c94f7e2a3518bcd7604f9 8d0e7fa1 b4c93d62 01fe58a7',
  base64: 'U2l4dHkgYnVzaGVscyBvZiByeWUgYW5kIG5vYm9keSB0byBncmluZCB0aGVtOyB0aGUgd2hlZWwgdHVybnMsIHRoZSBzdG9uZSBpcyBjb2xkLCBhbmQgdGhlIGNhdCBzbGVlcHMgb24gdGhlIHNhY2tzLiBRdjdYejlLcExtMlJ0WWJON2dIalc0',
  german: `Das Wehr oberhalb der Mühle wurde im Frühling neu gebaut, nachdem das Eis die Hälfte davon mitgenommen hatte. Niemand
weiss mehr, wer die Steine bezahlt hat. Der Gemeinderat schickte schliesslich einen Ingenieur, der alles zweimal vermass,
sehr viel Kaffee trank und ein Absetzbecken empfahl. Es steht noch heute, und die Kinder fischen darin, wenn auch erfolglos.`,
  french: `Le barrage au-dessus du moulin a été reconstruit au printemps, après que la glace en eut emporté la moitié. Personne
ne se rappelle qui a payé les pierres. Le conseil finit par envoyer un ingénieur, qui mesura tout deux fois, but énormément
de café et recommanda un bassin de décantation. Il existe toujours, et les enfants y pêchent, sans succès.`,
  russian: `Плотину выше мельницы построили заново весной, после того как лёд унёс её половину. Никто уже не помнит, кто платил за
камни. В конце концов совет прислал инженера, который всё измерил дважды, выпил очень много кофе и посоветовал сделать
отстойник. Он стоит до сих пор, и дети ловят в нём рыбу, правда безуспешно.`,
  greek: `Το φράγμα πάνω από τον μύλο ξαναχτίστηκε την άνοιξη, αφού ο πάγος είχε πάρει το μισό. Κανείς δεν θυμάται ποιος πλήρωσε τις
πέτρες. Στο τέλος ήρθε ένας μηχανικός που μέτρησε τα πάντα δύο φορές και ήπιε πάρα πολύ καφέ.`,
  arabic: `أعيد بناء السد فوق الطاحونة في الربيع بعد أن أخذ الجليد نصفه. لا أحد يتذكر من دفع ثمن الحجارة. في النهاية أرسل المجلس
مهندسا قاس كل شيء مرتين وشرب الكثير من القهوة وأوصى ببناء حوض للترسيب، وما زال الحوض قائما حتى اليوم.`,
  hebrew: `הסכר שמעל הטחנה נבנה מחדש באביב, אחרי שהקרח לקח את חציו. איש אינו זוכר מי שילם על האבנים. בסוף שלחה המועצה מהנדס שמדד
הכול פעמיים ושתה הרבה מאוד קפה.`,
  hindi: `चक्की के ऊपर का बाँध वसंत में फिर से बनाया गया, क्योंकि बर्फ उसका आधा हिस्सा ले गई थी। किसी को याद नहीं कि पत्थरों के पैसे किसने दिए।
अंत में परिषद ने एक इंजीनियर भेजा, जिसने सब कुछ दो बार नापा और बहुत कॉफी पी।`,
  thai: `เขื่อนเหนือโรงสีถูกสร้างใหม่ในฤดูใบไม้ผลิ หลังจากน้ำแข็งพัดพาไปครึ่งหนึ่ง ไม่มีใครจำได้ว่าใครจ่ายค่าหิน ในที่สุดสภาก็ส่งวิศวกรมา เขาวัดทุกอย่างสองครั้งและดื่มกาแฟมากมาย`,
  chinese: `磨坊上游的水坝在春天重新修建，因为冰已经带走了它的一半。没有人记得石头的钱是谁付的。最后，议会派来了一位工程师，他把所有东西都量了两遍，
喝了很多咖啡，并建议修一个沉淀池。这个池子至今还在，孩子们在里面钓鱼，虽然什么也钓不到。请先读取配置文件，然后运行测试并报告失败的用例。`,
  traditional: `磨坊上游的水壩在春天重新修建，因為冰已經帶走了它的一半。沒有人記得石頭的錢是誰付的。最後，議會派來了一位工程師，他把所有東西都量了兩遍，
喝了很多咖啡，並建議修一個沉澱池。`,
  japanese: `水車小屋の上流の堰は、氷に半分を持っていかれたあと、春に作り直された。石の代金を誰が払ったのか、もう誰も覚えていない。最後に議会は技師を
派遣し、彼はすべてを二度測り、コーヒーをたくさん飲んで、沈殿池を作るように勧めた。テストを実行して、失敗したケースを報告してください。`,
  korean: `방앗간 위의 둑은 얼음이 절반을 가져간 뒤 봄에 다시 지어졌다. 돌값을 누가 냈는지 아무도 기억하지 못한다. 결국 의회는 기술자를 보냈고,
그는 모든 것을 두 번 재고 커피를 아주 많이 마신 다음 침전지를 만들라고 권했다.`,
  emoji: 'Shipped 🚀🚀 thanks all 🙏 — tests ✅✅✅, docs ✅, demo ❌ (tomorrow 🤞). Party at 18:00 🎉🎂🍕 👩‍💻👨‍👩‍👧‍👦🇨🇭',
}
