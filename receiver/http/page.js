// The page of a receiver: asks for its status, which waits for a change, and shows what it says. Whatever comes from the
// receiver may quote anybody, so it is set as text, never as HTML.

import { number, receiverFacts, sentence, seriesFacts, shownCounts, time } from "./words.js";

const WAIT = 10; // seconds that a question for news may wait at the receiver
const PATIENCE = 15_000; // ms until a question counts as unanswered
const PAUSE = 250; // ms between two answers at least: frames come faster than anybody reads
const RETRY = 1_000; // ms
const PICTURE = 1_000; // ms between two pictures at least
const CHANCES = 3; // questions after a change: between series, the first has the newest frame handed over; and one
// more where the size of the frames was not known
const PIXELS = 1_024; // of the longer edge; larger frames come down-sampled

const FATES = ["stored", "partial", "delivered", "discarded", "corrupt", "missing", "not_triggered", "pending"];
const ALWAYS = ["planned", "received", "stored"];

const element = (id) => document.getElementById(id);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let status = null; // the newest
let away = null; // when the receiver ceased to answer

async function ask(path, patience = PATIENCE) {
  return fetch(path, { cache: "no-store", signal: AbortSignal.timeout(patience) });
}

async function visible() {
  // A page that nobody sees asks nothing: browsers have six connections for all pages of one receiver.
  while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

async function followStatus() {
  for (;;) {
    await visible();
    try {
      const answer = await ask(status && !away ? `status?seen=${status.version}&wait=${WAIT}` : "status");
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      status = await answer.json();
      away = null;
      show();
      await sleep(PAUSE);
    } catch (error) {
      away ??= new Date();
      showAway(error);
      await sleep(RETRY);
    }
  }
}

function show() {
  const { state, detector, series } = status;
  setState(state, detector);
  setText(element("sentence"), sentence(status, location.origin));
  element("facts").classList.remove("old");
  element("series-part").hidden = !series;
  if (series) showSeries(series);
  showList(element("receiver"), receiverFacts(status));
}

function showSeries(series) {
  setText(element("series-title"), series.active ? "Running series" : "Last series");
  showCounts(shownCounts(status));
  showList(element("series"), seriesFacts(status));
}

function showAway(error) {
  const last = status ? "\nWhat stands below is what it said last." : "";
  setState("away", status ? status.detector : "Receiver");
  setText(element("sentence"), `Receiver away since ${time(away)}: ${location.origin} does not answer; is it running? `
    + `This page goes on asking.${last}`);
  element("facts").classList.add("old");
  console.info("no answer:", error);
}

function setState(state, detector) {
  setText(element("detector"), detector);
  setText(element("state"), state);
  element("state").className = state;
  document.title = `${state}: ${detector}`;
}

function setText(node, text) {
  // Untouched where nothing has changed: screen readers say what does, and a selection stays.
  if (node.textContent !== text) node.textContent = text;
}

function showCounts(counts) {
  const bar = [], rows = [];
  for (const [name, count] of Object.entries(counts)) {
    const fate = FATES.includes(name);
    if (fate && count) {
      const part = document.createElement("span");
      part.style.cssText = `--fate: var(--${name}); flex: ${count} 0 2px`;
      bar.push(part);
    }
    if (count || ALWAYS.includes(name)) rows.push(countRow(name, count, fate));
  }
  element("bar").replaceChildren(...bar);
  element("counts").tBodies[0].replaceChildren(...rows);
}

function countRow(name, count, fate) {
  const row = document.createElement("tr"), head = document.createElement("th"), value = document.createElement("td");
  head.scope = "row";
  const swatch = document.createElement("span");
  if (fate) swatch.className = "swatch";
  swatch.style.cssText = `--fate: var(--${name})`;
  head.append(swatch, name.replace("_", " "));
  value.textContent = count === null ? "unknown" : typeof count === "string" ? count : number(count);
  row.append(head, value);
  return row;
}

function showList(list, facts) {
  const items = facts.flatMap(({ name, text, bad }) => {
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = name;
    // A path breaks behind a slash, if it has to; what is copied stays the path.
    for (const part of text.split(/(?<=\/)/)) value.append(part, document.createElement("wbr"));
    if (bad) value.className = "bad";
    return [term, value];
  });
  list.replaceChildren(...items);
}

async function followPicture() {
  let step = 8, before = "", chances = 0;
  for (;;) {
    await visible();
    const news = status && !away ? `${status.series?.id} ${status.series?.active} ${status.latest_frame}` : "";
    if (news !== before) [before, chances] = [news, CHANCES];
    if (news && chances > 0) {
      chances -= 1;
      try {
        const suits = await showPicture(step);
        if (suits !== step) {
          step = suits;
          continue;
        }
      } catch (error) {
        console.info("no picture:", error); // the status says whether the receiver is away
      }
    }
    await sleep(PICTURE);
  }
}

function extent({ shape, interpretation }) {
  if (interpretation === "spectrum") return [1, shape[0]];
  return interpretation === "rgba-image" ? shape.slice(0, 2) : shape.slice(-2);
}

function legend({ interpretation, low, high, downsample: step }) {
  const smaller = step > 1 ? `; ${step} × ${step} pixels shown as their greatest count` : "";
  if (interpretation === "rgba-image") return `Colours${smaller}`;
  const edges = interpretation === "spectrum" ? ["lower edge", "upper edge"] : ["dark", "bright"];
  return `Logarithmic, ${number(low)} (${edges[0]}) to ${number(high)} (${edges[1]})${smaller}`;
}

async function showPicture(step) {
  // `max_valid`: a spot of one pixel stays, and no gap covers it. Returns the step that suits the frame's size.
  const answer = await ask(`last_frame?format=png&scale=log&colormap=viridis&method=max_valid&downsample=${step}`);
  if (!answer.ok) {
    element("picture").hidden = answer.status === 404; // none yet
    return step;
  }
  const frame = JSON.parse(answer.headers.get("X-Penstock-Frame"));
  const image = element("image"), old = image.src;
  image.src = URL.createObjectURL(await answer.blob());
  if (old) URL.revokeObjectURL(old);
  const [rows, cols] = extent(frame);
  image.alt = `Frame ${frame.frame} of series ${frame.series}`;
  image.classList.toggle("small", Math.max(rows, cols) < 600);
  setText(element("caption"), `Frame ${number(frame.frame)} of series ${frame.series}. ${legend(frame)}`);
  element("picture").hidden = false;
  if (frame.interpretation === "spectrum") return 1; // the receiver draws all of it
  const images = frame.interpretation === "image" && frame.shape.length > 2 ? frame.shape[0] : 1;
  return Math.min(64, Math.max(1, Math.round(Math.max(rows * images, cols) * step / PIXELS)));
}

followStatus();
followPicture();
