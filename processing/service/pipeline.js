// The page of a pipeline: states, counts, workers, and the latest values of its results.

import {
  ask, awaySentence, bytes, element, followStatus, number, setText, showCounts, showList, showState, sleep, visible,
} from "./shown.js";

const PICTURE = 1_000; // ms between two looks at the results at least
const MOST = 24; // results that are shown
const HISTORY = 500; // frames in the curve of a number
const POINTS = 1_000; // of a curve: more than there are columns of pixels
const FINAL = ["done", "failed", "lost", "dropped", "absent"];
const FATES = [...FINAL, "held", "in_work", "queued", "pending"];
const ALWAYS = ["frames", "done"];

let status = null; // the newest; null while the pipeline does not answer

function show(news) {
  status = news;
  const { state, pipeline, series } = status;
  const workers = [...status.workers].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const said = sentence();
  showState(state, pipeline, said[0].toUpperCase() + said.slice(1));
  element("series-part").hidden = !series;
  if (series) showSeries(series);
  showList(element("pipeline"), pipelineFacts());
  element("workers").tBodies[0].replaceChildren(...(workers.length ? workers.flatMap(workerRows) : [errorRow("none")]));
}

function sentence() {
  const { state, error, series, waits_for: waits } = status;
  if (state === "error") return error;
  if (waits) return waits;
  if (!series) return "No series yet.";
  if (series.active) return series.reason || "A series is being processed.";
  const { done, absent, frames } = series.counts;
  if (series.whole_error && done + absent === frames) return `Every frame of the last series is done, but NOT the series as a whole: ${series.reason}`;
  const ended = done + absent === frames ? "Every frame of the last series is done" : "NOT every frame of the last series is done";
  return `${ended}${series.reason ? `: ${series.reason}` : "."}`;
}

function showSeries(series) {
  setText(element("series-title"), series.active ? "Running series" : "Last series");
  const { frames, ...rest } = series.counts;
  showCounts({ frames, ...Object.fromEntries(FATES.map((name) => [name, rest[name]])) }, FATES, ALWAYS);
  const facts = [
    { name: "Results", text: series.result_file ?? "not stored", bad: !series.result_file },
    { name: "Raw file", text: series.file ?? "none, or not known yet" },
    { name: "Series", text: series.id },
  ];
  if (series.active && series.planned === null) facts.push({ name: "Planned", text: "nobody knows how many will come: so far these" });
  if (series.from_file) facts.push({ name: "From the file", text: `${number(series.from_file)} frames, which were not taken live` });
  showList(element("series"), facts);
}

function pipelineFacts() {
  const { parameters, listen, deaths, stray, duplicates, queue_bytes: queue, refused_connections: refused } = status;
  const values = Object.entries(parameters.values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ");
  const facts = [{ name: "Parameters", text: `${values || "the classes' defaults"} (version ${number(parameters.version)}, from frame ${number(parameters.from_frame)})` }];
  if (listen) facts.push({ name: "Other machines", text: `penstock worker ${listen}` });
  if (deaths) facts.push({ name: "Dead workers", text: `${number(deaths)} since it was started`, bad: true });
  if (refused) facts.push({ name: "Refused", text: `${number(refused)} workers without the right key`, bad: true });
  if (stray) facts.push({ name: "Stray", text: `${number(stray)} frames in results that came too late` });
  if (duplicates) facts.push({ name: "Twice", text: `${number(duplicates)} frames` });
  if (queue) facts.push({ name: "Queue", text: bytes(queue) });
  return facts;
}

// A worker, and below it the last error, which may be long.
function workerRows({ name, host, state, doing, frames, seconds_per_frame: seconds, last_error: error }) {
  const row = document.createElement("tr");
  const time = seconds === null ? "" : `${number(seconds * 1000)} ms`;
  for (const [text, kind] of [[name, ""], [host, ""], [doing || state, ""], [number(frames), "number"], [time, "number"]]) {
    const cell = document.createElement("td");
    cell.textContent = text;
    cell.className = kind;
    row.append(cell);
  }
  return error ? [row, errorRow(error)] : [row];
}

function errorRow(text) {
  const row = document.createElement("tr"), said = document.createElement("td");
  said.colSpan = 5;
  said.textContent = text;
  said.className = "bad";
  row.append(said);
  return row;
}

function showAway(away, last) {
  status = null;
  showState("away", last ? last.pipeline : "Pipeline", awaySentence("Pipeline", away, last));
}

async function followResults() {
  let before = "";
  for (;;) {
    await visible();
    const series = status?.series;
    const news = series?.result_file ? `${series.id} ${series.active} ${FINAL.map((name) => series.counts[name])}` : "";
    if (news && news !== before) {
      try {
        await showResults();
        before = news;
      } catch (error) {
        console.info("no results:", error); // the status says whether the pipeline is away
      }
    }
    await sleep(PICTURE);
  }
}

// The pipeline has answered, but not with what was asked for; the message is a sentence of its own.
class Refusal extends Error {}

async function json(path) {
  const answer = await ask(path);
  if (answer.ok) return answer.json();
  const { message } = await answer.json().catch(() => ({}));
  throw new Refusal(message ?? `${path}: HTTP ${answer.status}`);
}

async function showResults() {
  const shown = [];
  try {
    const results = (await json("results")).filter(({ kind }) => kind !== "axis").slice(0, MOST);
    for (const result of results) shown.push(await article(result));
  } catch (error) {
    shown.push(line(refused(error), "bad"));
  }
  element("results-part").hidden = !shown.length;
  element("results").replaceChildren(...shown);
}

// Why one value cannot be shown, beside the others; other errors mean that the pipeline is away.
function refused(error) {
  if (error instanceof Refusal) return error.message;
  if (error.name === "TimeoutError") return "The pipeline has not answered with it in time.";
  throw error;
}

async function article(result) {
  const node = document.createElement("article"), head = document.createElement("h3");
  head.textContent = result.name;
  node.append(head);
  try {
    node.append(...await parts(result));
  } catch (error) {
    node.append(line(refused(error), "bad"));
  }
  return node;
}

async function parts({ name, kind, shape, dtype }) {
  const path = `results/${encodeURIComponent(name)}`;
  const size = shape.reduce((product, length) => product * length, 1);
  if (kind !== "events" && size > 100_000) return [line(`${shape.join(" × ")} ${dtype}`, "")];
  const { value, frame, n } = await json(`${path}/latest`);
  const whose = n !== null ? `of ${number(n)} frames` : frame !== null ? `frame ${number(frame)}` : kind === "whole" ? "of the series" : "";
  if (value === null) return [line("no value yet", "")];
  if (kind === "events") return [line(number(value.length), "value"), line(`events, ${whose}`, "")];
  if (shape.length === 1 && shape[0] > 1) return [curve(value), line(`${shape[0]} points, ${whose}`, "")];
  if (shape.length) return [line(`${shape.join(" × ")} ${dtype}, ${whose}`, "")];
  const newest = line(typeof value === "number" ? number(value) : String(value), "value");
  if (kind !== "value") return [newest, line(whose, "")];
  const { values, first } = await json(`${path}?frames=-${HISTORY}:`);
  return [newest, curve(values), line(`frames ${number(first)} to ${number(first + values.length - 1)}; the value is that of ${whose}`, "")];
}

function line(text, kind) {
  const node = document.createElement("p");
  node.textContent = text;
  node.className = kind;
  return node;
}

// A curve, with the range of its values; a value that is null leaves a gap.
function curve(values) {
  const known = values.filter((value) => typeof value === "number");
  const node = document.createElement("div");
  if (!known.length) return node;
  const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `-1 -5 ${Math.max(values.length, 2) + 1} 110`);
  svg.setAttribute("preserveAspectRatio", "none");
  const step = Math.ceil(values.length / POINTS);
  let points = [];
  const end = () => {
    const drawn = document.createElementNS(svg.namespaceURI, "polyline");
    if (points.length === 1) points.push(points[0]);
    drawn.setAttribute("points", points.join(" "));
    if (points.length) svg.append(drawn);
    points = [];
  };
  for (let at = 0; at < values.length; at += step) {
    const value = values[at];
    if (typeof value !== "number") end();
    else points.push(`${at},${high > low ? 100 - (100 * (value - low)) / (high - low) : 50}`);
  }
  end();
  node.append(svg, line(`${number(low)} to ${number(high)}`, ""));
  return node;
}

followStatus(show, showAway);
followResults();
