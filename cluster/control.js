// The page of a control: the programs of a detector on Kubernetes.

import { awaySentence, element, followStatus, number, showList, showState, tableRow } from "./shown.js";

const BAD = ["away", "error", "unknown"];
const MOVES = ["starting", "ending"];

function show(status) {
  const [state, sentence] = whole(status);
  showState(state, status.control, sentence);
  element("parts").tBodies[0].replaceChildren(...status.parts.map(row));
  showList(element("control"), [
    { name: "Namespace", text: status.namespace },
    { name: "Workers", text: status.idle ? `taken away after ${status.idle} without a series` : "stay" },
    { name: "Penstock", text: status.penstock },
  ]);
}

function whole({ problem, parts }) {
  if (problem) return ["error", problem];
  const bad = parts.find(({ state }) => BAD.includes(state)), moves = parts.find(({ state }) => MOVES.includes(state));
  if (bad) return ["waiting", `${bad.name}: ${bad.sentence || bad.state}`];
  if (moves) return ["waiting", `${moves.name} is ${moves.state}.`];
  return ["running", "Every program that is wanted is there."];
}

function row({ name, state, wanted, running, connected, says, sentence }) {
  const pods = wanted === null ? "unknown" : `${number(running)} of ${number(wanted)}`;
  const words = [says, connected === null ? "" : `${number(connected)} connected`, sentence].filter(Boolean).join(": ");
  return tableRow([[name, ""], [state, BAD.includes(state) ? "bad" : ""], [pods, "number"], [words, ""]]);
}

followStatus(show, (away, last) => showState("away", last ? last.control : "Control", awaySentence("Control", away, last)));
