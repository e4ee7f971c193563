// Automerge as a list of texts that two replicas append to, merge and delete from. Prints figures as JSON.
import { readFileSync } from "node:fs";
import * as A from "@automerge/automerge";

const task = JSON.parse(readFileSync(process.argv[2], "utf8"));
const seconds = () => process.cpuUsage().user / 1e6;
const figures = { append: 0, merge: 0, exchanged: 0, stored: {}, found: {} };

let docs = [A.from({ posts: [] }), undefined];
docs[1] = A.clone(docs[0]);
const give = (from, to) => {
  const changes = A.getChangesSince(docs[from], A.getHeads(docs[to]));
  figures.exchanged += changes.reduce((sum, one) => sum + one.length, 0);
  [docs[to]] = A.applyChanges(docs[to], changes);
};
for (let start = 0; start < task.texts.length; start += task.round) {
  const one = (start / task.round) % 2;
  const began = seconds();
  for (const text of task.texts.slice(start, start + task.round))
    docs[one] = A.change(docs[one], (doc) => void doc.posts.push(new A.ImmutableString(text)));
  const appended = seconds();
  give(one, 1 - one);
  figures.append += appended - began;
  figures.merge += seconds() - appended;
}
const full = A.getHeads(docs[0]);
let left = task.texts.map((_, at) => at);
for (const share of Object.keys(task.deleted)) {
  const gone = new Set(task.deleted[share]);
  docs[0] = A.change(docs[0], (doc) => {
    for (let at = left.length - 1; at >= 0; at--) if (gone.has(left[at])) doc.posts.splice(at, 1);
  });
  left = left.filter((at) => !gone.has(at));
  const kept = A.save(docs[0]);
  figures.stored[share] = kept.length / task.alive[share];
  // The bytes are packed: what is in them is asked of the document that they make.
  const old = new Set(A.view(A.load(kept), full).posts.map(String));
  const found = task.searched[share].filter((text) => old.has(text)).length;
  figures.found[share] = `${found} of ${task.searched[share].length}`;
}
const texts = task.texts.slice(0, task.awayAmong);
let here = A.from({ posts: texts.map((text) => new A.ImmutableString(text)) });
let away = A.clone(here);
const wanted = Array.from({ length: task.away }, (_, number) => `written while away ${number}`);
for (const text of wanted) away = A.change(away, (doc) => void doc.posts.push(new A.ImmutableString(text)));
here = A.change(here, (doc) => {
  for (let at = texts.length - 1; at >= 0; at--) if (at % 2 === 0) doc.posts.splice(at, 1);
});
here = A.merge(A.load(A.save(here)), away);
const now = new Set(here.posts.map(String));
figures.away = `${wanted.filter((text) => now.has(text)).length} of its ${wanted.length} posts arrive`;
console.log(JSON.stringify(figures));
