// What a status means, in words: as `penstock status` says it.

import { bytes, number, time } from "./shown.js";

// Something lacks of a series that has ended; a live view that somebody stopped lacks nothing.
function lacks({ series, counts }) {
  if (!series || series.complete !== false) return false;
  return Boolean(series.filename) || counts.delivered + counts.not_triggered !== counts.planned;
}

// Live and Continuous of a detector device plan so many frames, without a file, and end with Stop.
const ENDLESS = 1_000_000;

function endless({ series, counts }) {
  return !series.filename && counts.planned === ENDLESS;
}

export function shownCounts(status) {
  const counts = status.counts;
  if (!endless(status)) return counts;
  return { ...counts, planned: "until stopped", not_triggered: 0, pending: 0 };
}

export function sentence(status, origin) {
  if (status.state === "error") return `${status.error}\nIt takes no series until it is reset: penstock reset ${origin}`;
  if (status.refused) return `The last series was NOT taken: ${status.refused}`;
  if (status.waits_for) return status.waits_for;
  if (status.ending === "drained") return "It takes no series until it is restarted: it was drained (penstock drain).";
  const series = status.series;
  if (!series) return "No series yet.";
  if (series.active) return series.reason || "A series is being taken.";
  if (!series.taken) return `The last series was ${series.reason}`;
  if (endless(status) && !lacks(status)) return "The live view was stopped.";
  const ended = series.complete ? "complete" : lacks(status) ? "NOT complete" : "ended";
  return `The last series is ${ended}${series.reason ? `: ${series.reason}` : "."}`;
}

export function seriesFacts(status) {
  const series = status.series;
  const facts = [
    { name: "File", text: series.filename ?? (series.taken ? "none: live view and consumers only" : "none: the series was not taken") },
    { name: "Series", text: series.id },
    { name: "Started", text: time(new Date(series.started * 1000)) },
  ];
  if (series.active) facts.unshift({ name: "Rate", text: `${number(status.frame_rate)} frames/s, ${bytes(status.byte_rate)}/s` });
  if (series.restarts) facts.push({ name: "Restarts", text: `${series.restarts}: the receiver was killed, or ended, and went on`, bad: true });
  return facts;
}

export function receiverFacts(status) {
  const { series } = status;
  const isWell = series && series.taken && !series.active && status.state !== "error" && !status.refused && !lacks(status);
  const nobody = (endpoint) => isWell // a streamer may leave after a series
    ? { name: "Streamer", text: `not connected to ${endpoint}: it has left after the last series, and the next one begins once it is back` }
    : { name: "Streamer", text: `NOT connected to ${endpoint}: is that its address, and does it run?`, bad: true };
  const facts = status.connections.map(({ endpoint, connections, silent_seconds }) => connections
    ? silent_seconds
      ? { name: "Streamer", text: `connected to ${endpoint}, whose host has not answered for ${silent_seconds} s: is the network interrupted?`, bad: true }
      : { name: "Streamer", text: `connected to ${endpoint}` }
    : nobody(endpoint));
  for (const { name, sent, dropped, connected, stalls, shared, holder, page } of status.consumers) {
    const held_by = holder && `process ${holder.pid} of ${holder.user} on ${holder.host}`;
    const there = held_by || (connected ? "connected" : shared ? "no pipeline" : "not connected");
    const held = stalls ? "; the series waits for it" : "";
    facts.push({ name: `Consumer ${name}`, text: `${there}, ${number(sent)} sent, ${number(dropped)} dropped${held}`, bad: stalls, link: page && { href: page, text: "its page" } });
  }
  if (status.unguarded) facts.push({ name: "No lock", text: status.unguarded });
  if (status.stalled) facts.push({ name: "Stalled", text: `silent for ${number(status.stalled)} s; does its file system hang?`, bad: true });
  const errors = Object.entries(status.errors);
  if (errors.length) facts.push({ name: "Errors since it was started", text: errors.map(([kind, count]) => `${number(count)} ${kind}`).join(", "), bad: true });
  if (status.last_error) facts.push({ name: "The last bad message", text: status.last_error });
  if (status.drained) facts.push({ name: "Dropped", text: `${number(status.drained)} messages that belonged to no series` });
  return facts;
}
