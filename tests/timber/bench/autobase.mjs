// Autobase: two writers, both indexers, and a view of the posts by key. Prints figures as JSON.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import Autobase from "autobase";
import Corestore from "corestore";
import Hyperbee from "hyperbee";

const [task, folder] = [JSON.parse(readFileSync(process.argv[2], "utf8")), process.argv[3]];
const seconds = () => process.cpuUsage().user / 1e6;
const figures = { append: 0, merge: 0, exchanged: 0, stored: {}, found: {} };
const open = (store) => new Hyperbee(store.get("posts"), { keyEncoding: "utf-8", valueEncoding: "utf-8", extension: false });
async function apply(nodes, view, host) {
  for (const { value } of nodes) {
    if (value.add) await host.addWriter(Buffer.from(value.add, "hex"), { indexer: true });
    else if (value.text === undefined) await view.del(value.key);
    else await view.put(value.key, value.text);
  }
}
const make = (name, key) =>
  new Autobase(new Corestore(join(folder, name)), key, { open, apply, valueEncoding: "json" });
function connect(one, other) {
  const [left, right] = [one.store.replicate(true), other.store.replicate(false)];
  for (const stream of [left, right]) {
    stream.on("error", () => {});
    stream.on("data", (raw) => (figures.exchanged += raw.length));
  }
  left.pipe(right).pipe(left);
  return () => Promise.all([left, right].map((one) => new Promise((done) => one.once("close", done).destroy())));
}
const held = async (base) => {
  const found = [];
  for await (const { key, value } of base.view.createReadStream()) found.push([key, value]);
  return found;
};
const until = async (bases, rule, rounds = 4000) => {
  for (let round = 0; round < rounds; round++) {
    for (const base of bases) await base.update();
    if (await rule()) return true;
    await new Promise((done) => setTimeout(done, 5));
  }
  return false;
};
const bytesOf = (path) =>
  readdirSync(path, { withFileTypes: true }).flatMap((one) =>
    one.isDirectory() ? bytesOf(join(path, one.name)) : [join(path, one.name)]);
const pair = async (name) => {
  const one = make(`${name}1`);
  await one.ready();
  const other = make(`${name}2`, one.key);
  await other.ready();
  const cut = connect(one, other);
  await one.append({ add: other.local.key.toString("hex") });
  await until([one, other], () => other.writable);
  return { one, other, cut };
};
const same = (one, other) => () => one.system.core.length >= 0 && one.view.version === other.view.version;

const { one, other } = await pair("main");
for (let start = 0; start < task.texts.length; start += task.round) {
  const [writer, reader] = (start / task.round) % 2 ? [other, one] : [one, other];
  const began = seconds();
  const texts = task.texts.slice(start, start + task.round);
  await writer.append(texts.map((text, at) => ({ key: String(start + at).padStart(7, "0"), text })));
  const appended = seconds();
  await until([writer, reader], same(writer, reader));
  figures.append += appended - began;
  figures.merge += seconds() - appended;
}
const done = new Set();
for (const share of Object.keys(task.deleted)) {
  const gone = task.deleted[share].filter((at) => !done.has(at));
  for (const at of gone) done.add(at);
  await one.append(gone.map((at) => ({ key: String(at).padStart(7, "0") })));
  await until([one, other], same(one, other));
  await one.store.storage.db.flush();
  const paths = bytesOf(join(folder, "main1"));
  figures.stored[share] = paths.reduce((sum, path) => sum + statSync(path).size, 0) / task.alive[share];
  const raw = Buffer.concat(paths.map((path) => readFileSync(path)));
  const found = task.searched[share].filter((text) => raw.includes(text)).length;
  figures.found[share] = `${found} of ${task.searched[share].length}`;
}
const exchanged = figures.exchanged;
const away = await pair("away");
const texts = task.texts.slice(0, task.awayAmong);
await away.one.append(texts.map((text, at) => ({ key: String(at).padStart(7, "0"), text })));
await until([away.one, away.other], same(away.one, away.other));
await away.cut();
await away.other.append(Array.from({ length: task.away }, (_, at) => ({ key: `away ${at}`, text: `away ${at}` })));
await away.one.append(texts.flatMap((_, at) => (at % 2 ? [] : [{ key: String(at).padStart(7, "0") }])));
connect(away.one, away.other);
const arrived = async () => (await held(away.one)).filter(([key]) => key.startsWith("away")).length;
await until([away.one, away.other], async () => (await arrived()) === task.away, 400);
const back = (await held(away.one)).length - texts.length / 2 - (await arrived());
figures.away = `${await arrived()} of its ${task.away} posts arrive` + (back > 0 ? `; ${back} deleted ones are back` : "");
figures.exchanged = exchanged;
console.log(JSON.stringify(figures));
process.exit(0);
