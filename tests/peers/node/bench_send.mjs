// Receives the first HISTORY packets of a file, then sends COUNT messages, encoded as a transport would need them,
// and prints how long the sending took as one JSON line.
import { decode, newChannel, parameters, readPackets, receive, sendOwn, timed } from "./packets.mjs";

const [file, history, count] = parameters("bench_send.mjs FILE HISTORY COUNT", 3);
const packets = readPackets(file).slice(0, history);
if (packets.length < history) throw new Error(`${packets.length} packets are too few for a history of ${history}`);
const { channel, counts } = newChannel(packets.length ? decode(packets[0]).channelId : "bench");
await receive(channel, packets.map(decode));

let bytes = 0;
const seconds = await timed(async () => {
  bytes = await sendOwn(channel, count);
});
console.log(JSON.stringify({ history, preloaded: counts.delivered, sent: counts.sent, errors: counts.errors, bytes, seconds }));
