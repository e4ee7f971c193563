// Receives the packets of a file after the first HISTORY of them, and prints how long that took as one JSON line.
// Twice, on two channels: `seconds` with the decoding inside the timed part, `seconds_decoded` with it before.
// OPEN own messages, none unless given, wait for an acknowledgement all the while.
import { decode, newChannel, parameters, readPackets, receive, sendOwn, timed } from "./packets.mjs";

const [file, history, open = 0] = parameters("bench_receive.mjs FILE HISTORY [OPEN]", 2);
const packets = readPackets(file);
if (history >= packets.length) throw new Error(`${packets.length} packets are too few for a history of ${history}`);
const channelId = decode(packets[0]).channelId;

async function preloaded() {
  const made = newChannel(channelId);
  await receive(made.channel, packets.slice(0, history).map(decode));
  await sendOwn(made.channel, open);
  return made;
}

async function withDecoding() {
  const { channel, counts } = await preloaded();
  const before = counts.delivered;
  const seconds = await timed(async () => {
    for (const packet of packets.slice(history)) {
      channel.pushIncomingMessage(decode(packet));
      await channel.processTasks();
    }
  });
  return { ...counts, seconds, preloaded: before, delivered: counts.delivered - before };
}

async function withoutDecoding() {
  const { channel } = await preloaded();
  const messages = packets.slice(history).map(decode);
  return timed(() => receive(channel, messages));
}

const { sent: _, ...result } = await withDecoding();
console.log(
  JSON.stringify({
    history,
    received: packets.length - history,
    ...result,
    seconds_decoded: await withoutDecoding(),
  }),
);
