"use strict";
// Plays the events of the page. Texts of others only ever become text nodes.
const byId = (id) => document.getElementById(id);
const source = byId("lines").textContent.trim();
const [head, ...events] = source.split("\n").map((line) => JSON.parse(line));
const SHOWN = 300, LONGEST_PAUSE = 2000;
const start = events.length ? events[0].ts_ms : 0;
const moments = [];  // of each event, since the start; never back
for (const event of events) moments.push(Math.max(event.ts_ms - start, moments.length ? moments[moments.length - 1] : 0));
const end = moments.length ? moments[moments.length - 1] : 0;
const NICKS = ["#7aa2f7", "#9ece6a", "#e0af68", "#bb9af7", "#7dcfff", "#f7768e", "#73daca", "#ff9e64"];

const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
const day = (at) => new Date(at).toLocaleDateString("sv");  // year-month-day, in the time zone of the reader
const two = (number) => String(Math.floor(number)).padStart(2, "0");
const span = (ms) => ms < 3600000 ? `${Math.floor(ms / 60000)}:${two((ms / 1000) % 60)}`
  : `${Math.floor(ms / 3600000)}:${two((ms / 60000) % 60)}:${two((ms / 1000) % 60)}`;
function zone(at) {  // of the reader, at that moment
  const ahead = -new Date(at).getTimezoneOffset();
  return ahead ? `UTC${ahead < 0 ? "-" : "+"}${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}` : "UTC";
}
const short = (id) => (id || "").slice(0, 6);
const keysOf = new Map();  // by nick
for (const [id, nick] of [...Object.entries(head.nicks), ...events.map((event) => [event.sender, event.nick])])
  if (id && nick) keysOf.set(nick, (keysOf.get(nick) || new Set()).add(id));
// Where two keys go by one nick, the id tells which of them it is.
const called = (id, nick) => keysOf.get(nick)?.size > 1 ? `${nick} ${id.slice(0, 4)}` : nick;
const named = (id, nick = head.nicks[id]) => nick ? called(id, nick) : id ? `<${short(id)}>` : "";
// Who wrote what is missing is known if it came later.
const authors = new Map(events.filter((event) => event.event === "delivered").map((event) => [event.message_id, event.sender]));
const order = (one, other) => one.lamport - other.lamport || (one.message_id < other.message_id ? -1 : 1);

function kind(event) {
  const name = event.event;
  if (name === "delivered") return "said";
  if (["sent", "received", "published", "sync_received", "duplicate", "ephemeral"].includes(name)) return "packets";
  if (["acked", "possibly_acked", "unproven", "left_outgoing"].includes(name)) return "states";
  if (/^(missing|lost|gap_closed|repair_|push|range_|store_|parked|rejected|kept_as_id)/.test(name)) return "repair";
  return "other";
}

const hasPresences = events.some((event) => event.event === "here");
let state;
let asked = "";  // id of the message whose evidence is listed
function restart() {
  state = {at: -1, log: [], fates: new Map(), sent: new Set(), holes: new Map(), here: new Set(), print: null,
    ids: 0, earlier: 0, others: new Set()};
}

// What is known of one participant and a message: the best of it counts.
const RANKS = {known: 3, perhaps: 2, unproven: 1};
function witness(fate, event) {
  if (!fate || !event.peer) return;
  const how = event.event === "unproven" ? "unproven" : event.cause === "filter" ? "perhaps" : "known";
  const before = fate.by.get(event.peer);
  if (!before || RANKS[how] > RANKS[before.how]) fate.by.set(event.peer, {how, cause: event.cause, at: event.ts_ms});
}

function stateOfLog(event) {
  state.print = event;
  state.earlier = Math.max(0, event.messages - state.log.length - state.ids);
}

function take(event) {
  const id = event.message_id, fate = state.fates.get(id);
  for (const other of [event.sender, event.peer]) if (other && other !== head.node) state.others.add(other);
  if (["acked", "possibly_acked", "unproven"].includes(event.event)) witness(fate, event);
  switch (event.event) {
    case "delivered":
      event.late = state.log.length > 0 && order(event, state.log[state.log.length - 1]) < 0;
      state.log.push(event);
      if (event.late) state.log.sort(order);
      state.holes.delete(id);
      // The journal has the packets of a step before its events.
      if (event.sender === head.node)
        state.fates.set(id, {word: state.sent.has(id) ? "unacked" : "queued", by: new Map(), meant: [...state.here]});
      if (event.fingerprint) stateOfLog(event);
      break;
    case "sent": case "published": state.sent.add(id); if (fate?.word === "queued") fate.word = "unacked"; break;
    case "possibly_acked": if (fate && fate.word !== "acked") fate.word = "perhaps"; break;
    case "acked": if (fate) fate.word = "acked"; break;
    case "missing":
      state.holes.delete(id);  // it is here, and waits for these
      for (const dep of event.deps || []) state.holes.set(dep, event.event); break;
    case "lost": for (const dep of event.deps || []) state.holes.set(dep, "lost"); break;
    case "gap_closed": state.holes.delete(id); break;
    case "here":
      if (event.sender === head.node) state.here.clear();  // another run, in which nobody is here yet
      state.here.add(event.sender);
      break;
    case "left":
      if (event.sender === head.node) state.here.clear();  // nobody is known to be here any more
      state.here.delete(event.sender);
      break;
    case "kept_as_id": state.ids += event.attempt || 1; break;
    case "checkpoint": if (event.fingerprint) stateOfLog(event); break;
  }
}

function goTo(at) {
  at = Math.max(-1, Math.min(events.length - 1, at));
  if (at < state.at) restart();
  while (state.at < at) take(events[++state.at]);
  draw();
}

function cell(name, text, ...more) {
  const made = document.createElement(name);
  made.textContent = text;
  if (more.length) made.className = more.join(" ");
  return made;
}

function timeOf(event) {
  const made = cell("time", clock(event.ts_ms));
  made.title = `${day(event.ts_ms)} ${clock(event.ts_ms)} ${zone(event.ts_ms)}`;
  made.dateTime = new Date(event.ts_ms).toISOString();
  return made;
}
// Rows with a line for each day above its first ones, where there are several.
const severalDays = events.length > 0 && day(start) !== day(start + end);
function byDay(shown, rowsOf) {
  let before = "";
  return shown.flatMap((event) => {
    const today = day(event.ts_ms), begins = severalDays && today !== before;
    before = today;
    return [...(begins ? [cell("li", today, "day", "quiet")] : []), ...rowsOf(event)];
  });
}

const colour = new Map();
function nickOf(event) {
  const made = cell("span", named(event.sender, event.nick || undefined), "nick");
  if (!colour.has(event.sender)) colour.set(event.sender, NICKS[colour.size % NICKS.length]);
  if (!matchMedia("(prefers-color-scheme: light)").matches) made.style.color = colour.get(event.sender);
  return made;
}

const SIGNS = {queued: ["⋯", "quiet"], unacked: ["⇡", "warn"], perhaps: ["◐", "warn"], acked: ["✓", "good"]};
const CELLS = {known: ["●", "good"], perhaps: ["◐", "warn"], unproven: ["◌", "warn"], "nothing yet": ["○", "quiet"]};
const MOST_CELLS = 8;
const HOW = {mention: "named it", filter: "in their filter, which may be chance", range: "has an equal log"};
// Those who are here, were here when it was written, or showed to have it; all who were heard, if no presence is told.
function evidenceOf(fate) {
  const meant = hasPresences ? new Set([...fate.meant, ...fate.by.keys(), ...state.here]) : new Set(state.others);
  meant.delete(head.node);
  return [...meant].map((id) => ({id, how: "nothing yet", ...fate.by.get(id)}));
}
function counted(fate) {
  const how = fate.word === "acked" ? "known" : fate.word === "perhaps" ? "perhaps" : "";
  const number = [...fate.by.values()].filter((each) => each.how === how).length;
  return number ? `${fate.word} ${number}` : fate.word;
}

// A cell for each of the others who were heard, as in the chat; above eight of them the numbers alone.
function cellsOf(fate) {
  const made = document.createElement("span");
  const all = evidenceOf(fate);
  if (all.length <= MOST_CELLS) for (const each of all) {
    const sign = cell("span", CELLS[each.how][0], CELLS[each.how][1]);
    sign.title = `${named(each.id)}: ${each.how}`;
    made.append(sign);
  }
  if (all.length) made.append(` ${all.filter((each) => each.how === "known").length}/${all.length} `);
  return made;
}

function evidenceRow(event, fate) {
  const told = evidenceOf(fate).map((each) => `${named(each.id)}: ${each.how}`
    + (each.cause ? `, ${HOW[each.cause] || each.cause.replaceAll("_", " ")}` : "") + (each.at ? `, ${clock(each.at)}` : ""));
  return cell("li", told.length ? told.join(" · ") : "Nobody else was heard yet.", "evidence", "quiet");
}

function fateOf(event) {
  const fate = state.fates.get(event.message_id);
  if (!fate) return cell("span", event.late ? "late" : event.cause === "live" ? "" : event.cause || "", "quiet");
  const [sign, look] = SIGNS[fate.word];
  const tick = cell("button", "", "tick");
  tick.title = "who has it, and how that is known";
  tick.ariaExpanded = String(asked === event.message_id);
  tick.onclick = () => { asked = asked === event.message_id ? "" : event.message_id; draw(); };
  tick.append(cellsOf(fate), cell("span", `${sign} ${counted(fate)}`, look));
  return tick;
}

// What a message answers: author and first line, as far as they are listed here.
function quoteOf(event) {
  const answered = state.log.find((other) => other.message_id === event.reply_to);
  if (!answered) return cell("span", `↳ answers ${short(event.reply_to)}`, "quote", "quiet");
  const line = answered.text === undefined ? "" : `: ${answered.text.split("\n")[0]}`;
  return cell("span", `↳ ${named(answered.sender, answered.nick || undefined)}${line}`, "quote", "quiet");
}

const lengthOf = (event) => `${event.text_length} character${event.text_length === 1 ? "" : "s"}`;
function messageRow(event, isNew) {
  const row = document.createElement("li");
  if (isNew) row.className = "new";
  const text = event.text !== undefined ? cell("span", event.text, "text")
    : cell("span", event.text_length !== undefined ? lengthOf(event) : "no text", "text", "left-out");
  if (event.reply_to) text.prepend(quoteOf(event));
  row.append(timeOf(event), nickOf(event), text, fateOf(event));
  row.title = `${event.message_id}\nfrom ${event.sender}`;
  return row;
}

// What an event is called, and its peer. Its name in the journal is the title of its row.
const WORDS = {
  received: ["packet received"], published: ["taken by the broker"], delivered: ["in the log"], here: ["came"], left: ["left"],
  acked: ["acked", "by"], possibly_acked: ["perhaps acked", "by"], unproven: ["acked without proof", "by"],
  left_outgoing: ["not sent again from now on"], duplicate: ["packet of a known message"],
  sync_received: ["sync packet received", "from"], ephemeral: ["not for the log"], gap_closed: ["no longer lost"],
  missing: ["missing what it builds on"], lost: ["given up, nobody had it"], parked: ["kept for later"],
  repair_wanted: ["missing, to be asked for"], repair_requested: ["asked for what is missing"],
  repair_scheduled: ["answer planned", "for"], repair_responded: ["answered"],
  repair_cancelled: ["no need to ask or answer"], push_scheduled: ["to be sent unasked", "to"],
  pushed: ["sent unasked"], push_cancelled: ["not sent unasked"], range_differed: ["history differs", "from that of"],
  filter_ignored: ["filter ignored", "of"], filter_rolled: ["new filter"], kept_as_id: ["kept as an id alone"],
  clock_ahead: ["clock far ahead"], checkpoint: ["state of the log"], rejected: ["refused"],
};
const CAUSES = {
  heard_again: "somebody else sent it", peer_has_it: "they have it", no_body: "its text is not here",
  resent: "sent again", answered: "answered already", requested_by_other: "somebody else asked",
  resend: "message, again", mention: "named it", filter: "in their filter", range: "same history",
};

function eventRow(event) {
  const row = document.createElement("li");
  const look = {missing: "gap", lost: "bad", rejected: "bad", acked: "good", delivered: "good", possibly_acked: "warn"};
  const [word, link] = WORDS[event.event] || [event.event.replaceAll("_", " "), "by"];
  const isSync = event.event === "sent" && event.cause === "sync";
  const parts = [isSync ? "sync packet sent" : event.event === "sent" ? "packet sent" : word];
  if (event.sender) parts.push(named(event.sender, event.nick || undefined));
  if (event.message_id && !isSync) parts.push(short(event.message_id));
  if (event.deps && event.event !== "delivered") parts.push(event.deps.map(short).join(" "));
  if (event.peer) parts.push(`${link || "by"} ${named(event.peer)}`);
  if (event.cause && !isSync) parts.push(CAUSES[event.cause] || event.cause.replaceAll("_", " "));
  if (event.bytes) parts.push(`${event.bytes} B`);
  row.title = event.event + (event.message_id ? `\n${event.message_id}` : "");
  row.append(timeOf(event), " ", cell("span", parts.join(" · "), look[event.event] || ""));
  return row;
}

function draw() {
  const now = state.at < 0 ? 0 : moments[state.at], current = events[state.at];
  const shown = state.log.slice(-SHOWN);
  const rows = byDay(shown, (event) => [messageRow(event, event === current),
    ...(asked === event.message_id ? [evidenceRow(event, state.fates.get(asked))] : [])]);
  const above = state.earlier + state.log.length - shown.length, is = above === 1 ? " is" : "s are";
  if (above) rows.unshift(cell("li", `${above} earlier message${is} in the log, and not listed here`, "quiet"));
  for (const [id, word] of state.holes) {
    const what = authors.has(id) ? `${short(id)} by ${named(authors.get(id))}` : short(id);
    const hole = word === "lost" ? cell("li", `∅ ${what} was given up: nobody had it`, "hole", "lost")
      : cell("li", `⇣ ${what} is missing: others named it`, "hole");
    rows.push(hole);
  }
  const first = playing() ? "Nothing was said yet." : "Nothing yet: press play.";
  const empty = state.at + 1 < events.length ? first : "Nothing was said in this time.";
  byId("messages").replaceChildren(...(rows.length ? rows : [cell("li", empty, "hole", "quiet")]));
  const feed = events.slice(0, state.at + 1).filter((event) => byId(kind(event))?.checked ?? true).slice(-SHOWN);
  byId("events").replaceChildren(...byDay(feed, (event) => [eventRow(event)]));
  byId("slider").value = String(now);
  byId("time").textContent = `${span(now)} of ${span(end)} · event ${state.at + 1} of ${events.length}`;
  const known = state.print, words = byId("log");
  words.replaceChildren(known ? `${known.messages} in the log · fingerprint ` : "log: not known yet");
  if (known) words.append(cell("b", known.fingerprint.slice(0, 8)));
  words.dataset.fingerprint = known ? known.fingerprint : "";
  const gone = current?.event === "left" && current.sender === head.node ? `${named(head.node)} left the channel` : "";
  byId("people").textContent = state.here.size ? `here: ${[...state.here].map((id) => named(id)).join(", ")}` : gone;
  // Last, since what stands above and below the lists takes its room first.
  for (const list of ["messages", "events"]) byId(list).scrollTop = byId(list).scrollHeight;
}

// Playing: time goes on from event to event, and long silences are cut.
let timer = 0;
const playing = () => timer !== 0;
function pause() { clearTimeout(timer); timer = 0; byId("play").textContent = "play"; }
function play() {
  if (state.at >= events.length - 1) goTo(-1);
  byId("play").textContent = "pause";
  tick();
  draw();  // it plays now
}
function tick() {
  const next = state.at + 1;
  if (next >= events.length) { pause(); return; }
  const wait = Math.min(LONGEST_PAUSE, next ? moments[next] - moments[next - 1] : 0) / Number(byId("speed").value);
  timer = setTimeout(() => {
    let at = next;  // several that happened at one moment are one frame
    while (at + 1 < events.length && moments[at + 1] - moments[at] < 5) at++;
    goTo(at); tick();
  }, wait);
}
function step(by) { pause(); goTo(state.at + by); }

byId("play").onclick = () => { if (!playing()) { play(); return; } pause(); draw(); };
byId("back").onclick = () => step(-1);
byId("next").onclick = () => step(1);
byId("slider").max = String(end);
byId("slider").oninput = (given) => {
  pause();
  const wanted = Number(given.target.value);
  let at = moments.findIndex((moment) => moment > wanted);
  goTo(at < 0 ? events.length - 1 : at - 1);
};
for (const id of ["packets", "repair", "states"]) byId(id).onchange = draw;
document.onkeydown = (key) => {
  if (["INPUT", "SELECT", "BUTTON"].includes(key.target.tagName)) return;
  if (key.key === " ") { key.preventDefault(); byId("play").click(); }
  if (key.key === "ArrowLeft") step(-1);
  if (key.key === "ArrowRight") step(1);
};
byId("save").onclick = () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([source + "\n"], {type: "application/x-ndjson"}));
  link.download = `${head.channel.replace(/[^\w.-]+/g, "-")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const LOOKS = {said: "var(--accent)", repair: "var(--gap)", states: "var(--good)"};
for (const [at, event] of events.entries()) {
  if (!LOOKS[kind(event)]) continue;
  const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const said = kind(event) === "said";
  const values = {x: end ? (moments[at] / end) * 998 : 0, y: said ? 2 : 14, width: 2, height: said ? 20 : 8};
  for (const [name, value] of Object.entries(values)) mark.setAttribute(name, value);
  mark.style.fill = LOOKS[kind(event)];
  byId("marks").append(mark);
}
const until = events.length ? ` · ${day(start)} ${clock(start)} ${zone(start)}, ${span(end)} long` : " · nothing happened";
byId("about").textContent = `as ${named(head.node)} saw it${until} · ${events.length} events`
  + (head.texts ? "" : " · texts left out");
restart();
goTo(events.length - 1);  // the whole picture first; play begins at the start
