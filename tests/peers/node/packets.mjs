// Shared by the benchmarks: packets from a file, and a channel that has received some of them.
import { readFileSync } from "node:fs";
import { Message, MessageChannel, MessageChannelEvent } from "@waku/sds";

/** Packets from a file in which each has its length before it, in four bytes, most significant first. */
export function readPackets(file) {
  const data = readFileSync(file);
  const packets = [];
  for (let at = 0; at < data.length; ) {
    const end = at + 4 + data.readUInt32BE(at);
    if (end > data.length) throw new Error(`${file} ends in the middle of packet ${packets.length}`);
    packets.push(new Uint8Array(data.subarray(at + 4, end)));
    at = end;
  }
  return packets;
}

export function decode(packet) {
  const message = Message.decode(packet);
  if (message === undefined) throw new Error("a packet cannot be decoded");
  return message;
}

/** A participant of its own, with what it did counted, so that a rate never stands for messages that were dropped. */
export function newChannel(channelId) {
  const channel = new MessageChannel(channelId, "js-peer", { causalHistorySize: 2 });
  const counts = { delivered: 0, missing: 0, errors: 0, sent: 0 };
  const count = (event, name) => channel.addEventListener(event, () => (counts[name] += 1));
  count(MessageChannelEvent.InMessageDelivered, "delivered");
  count(MessageChannelEvent.InMessageMissing, "missing");
  count(MessageChannelEvent.ErrorTask, "errors");
  count(MessageChannelEvent.OutMessageSent, "sent");
  return { channel, counts };
}

export async function receive(channel, messages) {
  for (const message of messages) {
    channel.pushIncomingMessage(message);
    await channel.processTasks();
  }
}

/** Sends messages of its own, encoded as a transport would need them. Gives how many bytes that came to. */
export async function sendOwn(channel, count) {
  let bytes = 0;
  for (let number = 0; number < count; number += 1) {
    channel.pushOutgoingMessage(new TextEncoder().encode(`message ${number}`.padEnd(32, ".")), async (message) => {
      bytes += message.encode().length;
      return { success: true };
    });
    await channel.processTasks();
  }
  return bytes;
}

/** Seconds that an action takes. */
export async function timed(action) {
  const start = process.hrtime.bigint();
  await action();
  return Number(process.hrtime.bigint() - start) / 1e9;
}

/** The arguments, with how to call the script when they do not fit. */
export function parameters(usage, least) {
  const given = process.argv.slice(2);
  const numbers = given.slice(1).map(Number);
  if (given.length < least || numbers.some((number) => !Number.isInteger(number) || number < 0)) {
    console.error(`usage: node ${usage}`);
    process.exit(2);
  }
  return [given[0], ...numbers];
}
