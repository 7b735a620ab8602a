// The page of a bridge to EPICS clients: what it serves, and to whom.

import { awaySentence, element, followStatus, number, showList, showState, tableRow, wideRow } from "./shown.js";

const COLUMNS = 4; // of the table of records
const MOST = 5; // records of a client that are named

function show(status) {
  showState(status.state, status.bridge, sentence(status));
  showList(element("bridge"), facts(status));
  const rows = [...status.images.flatMap(imageRows), ...status.results.flatMap(resultRows)];
  element("records").tBodies[0].replaceChildren(...(rows.length ? rows : [wideRow("none yet", COLUMNS, "")]));
  showList(element("clients"), clientFacts(status));
}

function sentence({ waits_for: waits, state, consumer, series, active, gateway }) {
  if (waits) return waits;
  if (gateway && !consumer) return gateway.series === null ? "It waits for the next acquisition." : "An acquisition is taken.";
  if (!consumer) return state === "running" ? "Results of a series are posted." : "It waits for the next series.";
  if (active) return "Frames of a series are posted.";
  return series === null ? "No series yet." : "The last series has ended.";
}

function facts({ gateway, prefix, addresses, server, receiver, consumer, pipeline, series, file, frames, bad_messages: bad, command, commands, refused_commands: refused }) {
  const list = [
    { name: "Records", text: `${prefix}:… at ${addresses.join(", ")}` },
    { name: "Images", text: server === "pvapy" ? "served by PvaPy" : "served by p4p" },
  ];
  if (gateway) {
    list.push({ name: "IOC", text: `${gateway.driver} is ${gateway.state}`, bad: gateway.state === "away" });
    list.push({ name: "Its frames", text: `at ${gateway.endpoint}, ${number(gateway.receivers)} receiver${gateway.receivers === 1 ? "" : "s"}`, bad: !gateway.receivers });
    if (gateway.series !== null) list.push({ name: "Series", text: gateway.series }, { name: "Frames", text: number(gateway.frames) });
    list.push({ name: "File", text: gateway.file || "none" });
    list.push({ name: "Acquisitions", text: `${number(gateway.taken)} taken, ${number(gateway.not_taken)} not taken` });
    if (gateway.problem) list.push({ name: "Problem", text: gateway.problem, bad: true });
  }
  for (const [name, source] of [["Receiver", receiver], ["Pipeline", pipeline]]) {
    if (source) list.push({ name, text: source.url, bad: !source.answers, link: { href: `${source.url}/`, text: "its page" } });
  }
  if (consumer) list.push({ name: "Forward entry", text: consumer });
  if (series !== null) list.push({ name: "Series", text: series }, { name: "File", text: file || "none" }, { name: "Frames", text: number(frames) });
  if (bad) list.push({ name: "Unreadable", text: `${number(bad)} messages`, bad: true });
  if (command) list.push({ name: "Commands", text: `${command}: ${number(commands)} carried out, ${number(refused)} refused` });
  return list;
}

function imageRows({ record, frame, posted, skipped, limited, refused, problem }) {
  const left = [[skipped, "every"], [limited, "rate"], [refused, "refused"]].filter(([count]) => count);
  return [row(record, frame, posted, left.map(([count, why]) => `${number(count)} (${why})`).join(", ")), ...problems(problem)];
}

function resultRows({ name, record, frame, posted, problem }) {
  return [row(record || name, frame, posted, ""), ...problems(problem)];
}

function problems(problem) {
  return problem ? [wideRow(problem, COLUMNS)] : [];
}

function row(record, frame, posted, left) {
  return tableRow([[record, ""], [frame === null ? "" : number(frame), "number"], [number(posted), "number"], [left, "number"]]);
}

function clientFacts({ clients }) {
  if (!clients.length) return [{ name: "None", text: "is connected" }];
  return clients.map(({ address, records }) => ({ name: address, text: records.length > MOST ? `${number(records.length)} records` : records.join(", ") }));
}

followStatus(show, (away, last) => showState("away", last ? last.bridge : "Bridge", awaySentence("Bridge", away, last)));
