// A participant of a channel that lives on standard input and output: live.py connects them to a broker.
// Commands, one a line: send TEXT, ephemeral TEXT, sync, sweep, packet BASE64 (something came from the network).
// Output, one JSON object a line: {"event": "packet", "data": BASE64} is for the network, the rest is what happened.
// Nothing here runs by a timer except to say that a repair is due: the commands are what an application would do.
import { createInterface } from "node:readline";
import { isEphemeralMessage, Message, MessageChannel, MessageChannelEvent as Events } from "@waku/sds";

const [channelId, senderId, tMin, tMax] = process.argv.slice(2);
if (!Number(tMax)) {
  console.error("usage: node live_peer.mjs CHANNEL SENDER T_MIN T_MAX");
  process.exit(2);
}
const channel = new MessageChannel(channelId, senderId, {
  causalHistorySize: 2,
  enableRepair: true,
  repairConfig: { tMin: Number(tMin), tMax: Number(tMax) },
});

const tell = (event, fields = {}) => process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
const on = (event, act) => channel.addEventListener(event, ({ detail }) => act(detail));
const ids = (entries) => entries.map(({ messageId }) => messageId);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const tellWhen = (time, event, fields) => setTimeout(() => tell(event, fields), Math.max(0, time - Date.now()) + 1);

on(Events.OutMessageSent, (message) => tell("sent", { id: message.messageId, history: ids(message.causalHistory) }));
on(Events.InMessageReceived, (message) => tell("received", { id: message.messageId, content: hex(message.content) }));
on(Events.InMessageDelivered, (id) => tell("delivered", { id }));
on(Events.InMessageMissing, (entries) => entries.length && tell("missing", { ids: ids(entries) }));
on(Events.OutMessagePossiblyAcknowledged, ({ messageId, count }) => tell("possibly", { id: messageId, count }));
on(Events.OutMessageAcknowledged, (id) => tell("acknowledged", { id }));
on(Events.OutSyncSent, (message) => tell("sync_sent", { id: message.messageId }));
on(Events.InSyncReceived, (message) => tell("sync_received", { id: message.messageId, sender: message.senderId }));
on(Events.RepairRequestSent, ({ messageIds }) => tell("requested", { ids: messageIds }));
on(Events.RepairRequestReceived, ({ messageIds: ids, fromSenderId: sender }) => tell("asked", { ids, sender }));
on(Events.RepairResponseSent, ({ messageId }) => tell("answered", { id: messageId }));
on(Events.ErrorTask, ({ command, error }) => tell("error", { command, error: String(error) }));
// The package emits these two under other names than those of its MessageChannelEvent.
on("RepairRequestQueued", ({ messageId, tReq }) => tellWhen(tReq, "request_due", { id: messageId }));
on("RepairResponseQueued", ({ messageId, tResp }) => tellWhen(tResp, "answer_due", { id: messageId }));

async function publish(message) {
  tell("packet", { data: Buffer.from(message.encode()).toString("base64") });
  return { success: true };
}

function take(packet) {
  const message = Message.decode(packet);
  if (message === undefined) return tell("error", { command: "decode", error: "a packet cannot be decoded" });
  // The package recognises these and has no event for them.
  if (isEphemeralMessage(message)) tell("ephemeral", { id: message.messageId, content: hex(message.content) });
  channel.pushIncomingMessage(message);
}

const commands = {
  send: (text) => channel.pushOutgoingMessage(new TextEncoder().encode(text), publish),
  ephemeral: (text) => channel.pushOutgoingEphemeralMessage(new TextEncoder().encode(text), publish),
  sync: () => channel.pushOutgoingSyncMessage(publish),
  packet: (data) => take(new Uint8Array(Buffer.from(data, "base64"))),
  sweep: () => {
    channel.sweepIncomingBuffer();
    return channel.sweepRepairIncomingBuffer(publish);
  },
};

tell("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const space = line.indexOf(" ");
  const [name, rest] = space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
  if (!Object.hasOwn(commands, name)) {
    tell("error", { command: name, error: `there is no such command; there are ${Object.keys(commands).join(", ")}` });
    continue;
  }
  await commands[name](rest);
  await channel.processTasks();
}
process.exit(0);
