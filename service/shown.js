// What the pages of services share: they ask for a status, which waits for a change, and show what it says. Whatever
// comes from a service may quote anybody, so it is set as text, never as HTML.

const WAIT = 10; // seconds that a question for news may wait at the service
const PATIENCE = 15_000; // ms until a question counts as unanswered
const PAUSE = 250; // ms between two answers at least: frames come faster than anybody reads
const RETRY = 1_000; // ms
const UNITS = ["B", "kB", "MB", "GB", "TB"];

export const element = (id) => document.getElementById(id);
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export function number(value) {
  const digits = Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 };
  return value.toLocaleString("en-US", digits);
}

export function time(date) {
  return date.toLocaleString("sv-SE"); // year-month-day: read alike everywhere
}

export function bytes(value) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${number(value / 1000 ** power)} ${UNITS[power]}`;
}

export async function ask(path, patience = PATIENCE) {
  return fetch(path, { cache: "no-store", signal: AbortSignal.timeout(patience) });
}

export async function visible() {
  // A page that nobody sees asks nothing: browsers have six connections for all pages of one service.
  while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

// Call `show(status)` with every new status, and `gone(since, last status)` while there is no answer.
export async function followStatus(show, gone) {
  let status = null, away = null;
  for (;;) {
    await visible();
    try {
      const answer = await ask(status && !away ? `status?seen=${status.version}&wait=${WAIT}` : "status");
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      status = await answer.json();
      away = null;
      element("facts").classList.remove("old");
      show(status);
      await sleep(PAUSE);
    } catch (error) {
      away ??= new Date();
      element("facts").classList.add("old");
      gone(away, status);
      console.info("no answer:", error);
      await sleep(RETRY);
    }
  }
}

// "Receiver away since …": of a service that is called so.
export function awaySentence(what, away, status) {
  const last = status ? "\nWhat stands below is what it said last." : "";
  return `${what} away since ${time(away)}: ${location.origin} does not answer; is it running? `
    + `This page goes on asking.${last}`;
}

export function showState(state, name, sentence) {
  setText(element("name"), name);
  setText(element("state"), state);
  element("state").className = state;
  document.title = `${state}: ${name}`;
  setText(element("sentence"), sentence);
}

export function setText(node, text) {
  // Untouched where nothing has changed: screen readers say what does, and a selection stays.
  if (node.textContent !== text) node.textContent = text;
}

// A bar with a part for each fate, and a table of the counts that are not 0, or that are always shown. In the bar the
// frames of `lost`, ranges with their fates in order, are at their index.
export function showCounts(counts, fates, always, lost = []) {
  const rows = [];
  for (const [name, count] of Object.entries(counts)) {
    if (count || always.includes(name)) rows.push(countRow(name, count, fates.includes(name)));
  }
  showBar(counts, fates, lost);
  element("counts").tBodies[0].replaceChildren(...rows);
}

const THINNEST = 2; // px: one frame of a million is seen
const APART = 1_000; // of the bar: ranges that are closer are one
let drawn = "";

function showBar(counts, fates, lost) {
  const total = fates.reduce((sum, fate) => sum + (counts[fate] || 0), 0);
  const parts = barParts(counts, fates, lost, total);
  const news = JSON.stringify([total, parts]);
  if (drawn === news) return;
  drawn = news;
  element("bar").replaceChildren(...parts.map(({ first, last, fate, frames }) => {
    const part = document.createElement("span"), percent = (count) => `${100 * count / total}%`;
    if (frames) part.title = `${fate.replace("_", " ")}: ${frames === 1 ? `frame ${number(first)}` : `${number(frames)} frames, ${number(first)} to ${number(last)}`}`;
    part.style.cssText = `--fate: var(--${fate}); left: min(${percent(first)}, 100% - ${THINNEST}px); width: max(${THINNEST}px, ${percent(last - first + 1)})`;
    return part;
  }));
}

// Lost frames at their index, above the others, which stand in a row around them. No more are placed than are counted:
// the list and the counts may be of two moments.
function barParts(counts, fates, lost, total) {
  const left = { ...counts }, placed = [], parts = [];
  for (const { first, last, fate } of lost) {
    const count = Math.min(last - first + 1, left[fate] || 0, total - first);
    if (count <= 0) continue;
    left[fate] -= count;
    placed.push({ first, last: first + count - 1, fate });
  }
  let index = 0, next = 0;
  for (const fate of fates) {
    let rest = left[fate] || 0, first = null;
    while (rest > 0) {
      while (next < placed.length && placed[next].first <= index) index = Math.max(index, placed[next++].last + 1);
      first ??= index;
      const step = next < placed.length ? Math.min(rest, placed[next].first - index) : rest;
      index += step;
      rest -= step;
    }
    if (first !== null) parts.push({ first, last: index - 1, fate });
  }
  for (const one of placed) {
    const before = parts.at(-1);
    const frames = one.last - one.first + 1;
    if (before?.frames && before.fate === one.fate && one.first - before.last <= total / APART) {
      before.last = one.last;
      before.frames += frames;
    } else parts.push({ ...one, frames });
  }
  return parts;
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

// A row of a table: texts, each with the class of its cell.
export function tableRow(cells) {
  const row = document.createElement("tr");
  for (const [text, kind] of cells) {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.className = kind;
  }
  return row;
}

// A row with one text, such as an error, as wide as the table.
export function wideRow(text, columns, kind = "bad") {
  const row = tableRow([[text, kind]]);
  row.firstChild.colSpan = columns;
  return row;
}

export function showList(list, facts) {
  const items = facts.flatMap(({ name, text, bad, link }) => {
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = name;
    // A path breaks behind a slash, if it has to; what is copied stays the path.
    for (const part of text.split(/(?<=\/)/)) value.append(part, document.createElement("wbr"));
    if (bad) value.className = "bad";
    if (link) value.append(", ", anchor(link));
    return [term, value];
  });
  list.replaceChildren(...items);
}

// A link to another service's page, in a tab of its own; `href` was checked by the service that names it.
function anchor({ href, text }) {
  const node = document.createElement("a");
  node.href = href;
  node.textContent = text;
  node.target = "_blank";
  node.rel = "noreferrer";
  return node;
}
