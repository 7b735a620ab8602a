// The page of a pipeline: states, counts, workers, and the latest values of its results.

import {
  ask, awaySentence, bytes, element, followStatus, number, setText, showCounts, showList, showState, sleep, tableRow,
  visible, wideRow,
} from "./shown.js";
import { plot } from "./plot.js";

const COLUMNS = 5; // of the table of workers
const PICTURE = 1_000; // ms between two looks at the results at least
const MOST = 24; // results that are shown
const HISTORY = 500; // frames in the curve of a number
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
  element("workers").tBodies[0].replaceChildren(...(workers.length ? workers.flatMap(workerRows) : [wideRow("none", COLUMNS)]));
}

function sentence() {
  const { state, error, series, ending, waits_for: waits } = status;
  if (state === "error") return error;
  if (waits) return waits;
  if (ending === "drained") return "It takes no series until it is restarted: it was drained (penstock drain).";
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
  const missing = Object.entries(series.unmatched).filter(([, frames]) => frames);
  if (missing.length) facts.push({ name: "Unmatched", text: missing.map(([name, frames]) => `${number(frames)} frames without a value of ${name}`).join(", ") });
  showList(element("series"), facts);
}

// A file's text, such as a calibration, by its length: it would fill the page.
function valueText(value) {
  const lines = typeof value === "string" ? value.trimEnd().split("\n").length : 1;
  return lines > 1 ? `text of ${number(lines)} lines` : JSON.stringify(value);
}

function pipelineFacts() {
  const { parameters, listen, deaths, stray, duplicates, queue_bytes: queue, refused_connections: refused } = status;
  const values = Object.entries(parameters.values).map(([name, value]) => `${name} = ${valueText(value)}`).join(", ");
  const facts = [{ name: "Parameters", text: `${values || "the classes' defaults"} (version ${number(parameters.version)}, from frame ${number(parameters.from_frame)})` }];
  if (listen) facts.push({ name: "Other machines", text: `penstock worker ${listen}` });
  if (deaths) facts.push({ name: "Dead workers", text: `${number(deaths)} since it was started`, bad: true });
  if (refused) facts.push({ name: "Refused", text: `${number(refused)} workers without the right key`, bad: true });
  for (const { name, attribute, how, problem, values } of status.channels) {
    facts.push({ name: `Channel ${name}`, text: problem || `${number(values)} values of ${attribute}${how ? `, ${how}` : ""}`, bad: !!problem });
  }
  if (stray) facts.push({ name: "Stray", text: `${number(stray)} frames in results that came too late` });
  if (duplicates) facts.push({ name: "Twice", text: `${number(duplicates)} frames` });
  if (queue) facts.push({ name: "Queue", text: bytes(queue) });
  return facts;
}

// A worker, and below it the last error, which may be long.
function workerRows({ name, host, state, doing, frames, seconds_per_frame: seconds, last_error: error }) {
  const time = seconds === null ? "" : `${number(seconds * 1000)} ms`;
  const row = tableRow([[name, ""], [host, ""], [doing || state, ""], [number(frames), "number"], [time, "number"]]);
  return error ? [row, wideRow(error, COLUMNS)] : [row];
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
    const all = await json("results");
    const results = all.filter(({ kind }) => kind !== "axis").slice(0, MOST);
    const axes = {}; // by name: several results may have one
    for (const result of results) shown.push(await article(result, all, axes));
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

async function article(result, all, axes) {
  const node = document.createElement("article"), head = document.createElement("h3");
  head.textContent = result.name;
  node.append(head);
  try {
    node.append(...await parts(result, all, axes));
  } catch (error) {
    node.append(line(refused(error), "bad"));
  }
  return node;
}

async function parts(result, all, axes) {
  const { name, kind, shape, dtype, label, unit } = result;
  const path = `results/${encodeURIComponent(name)}`;
  const size = shape.reduce((product, length) => product * length, 1);
  if (kind !== "events" && size > 100_000) return [line(`${shape.join(" × ")} ${dtype}`, "")];
  const { value, frame, n } = await json(`${path}/latest`);
  const whose = n !== null ? `of ${number(n)} frames` : frame !== null ? `frame ${number(frame)}` : kind === "whole" ? "of the series" : "";
  if (value === null) return [line("no value yet", "")];
  if (kind === "events") return [line(number(value.length), "value"), line(`events, ${whose}`, "")];
  if (shape.length === 1 && shape[0] > 1) {
    const title = unit || (label && label !== name) ? label || name : "";
    const [drawn, spread] = [await axisOf(result, all, axes), await spreadOf(result, all, frame)];
    return [plot({ values: value, label: title, unit, spread, ...drawn }), line(`${shape[0]} points, ${whose}`, "")];
  }
  if (shape.length) return [line(`${shape.join(" × ")} ${dtype}, ${whose}`, "")];
  const newest = line(`${typeof value === "number" ? number(value) : value}${unit ? ` ${unit}` : ""}`, "value");
  if (kind !== "value") return [newest, line(whose, "")];
  const { values, first } = await json(`${path}?frames=-${HISTORY}:`);
  const at = values.map((_, index) => first + index);
  const history = plot({ values, at, label: label === name ? "" : label, axis: "frame" });
  return [newest, history, line(`frames ${number(first)} to ${number(first + values.length - 1)}; the value is that of ${whose}`, "")];
}

// What a curve is drawn over: the axis that its class has given it, or the number of the point.
async function axisOf({ name, shape, axes: own }, all, axes) {
  const names = own.length ? own : all.find(({ errors }) => errors === name)?.axes ?? [];
  const axis = all.find((each) => each.name === names[0] && each.shape[0] === shape[0]);
  if (!axis) return { at: Array.from({ length: shape[0] }, (_, index) => index), axis: "point" };
  axes[axis.name] ??= (await json(`results/${encodeURIComponent(axis.name)}/latest`)).value;
  return { at: axes[axis.name], axis: axis.label || axis.name, axisUnit: axis.unit };
}

// The standard deviations of a frame's curve; null if there are none, or those of another frame by now.
async function spreadOf({ errors, shape }, all, frame) {
  const found = errors && frame !== null && all.find((each) => each.name === errors && each.shape[0] === shape[0]);
  if (!found) return null;
  const latest = await json(`results/${encodeURIComponent(errors)}/latest`);
  return latest.frame === frame ? latest.value : null;
}

function line(text, kind) {
  const node = document.createElement("p");
  node.textContent = text;
  node.className = kind;
  return node;
}

followStatus(show, showAway);
followResults();
