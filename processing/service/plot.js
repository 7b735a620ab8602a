// A curve with its axes, as SVG: what there is to see of a result without a window of `penstock view`.

import { number } from "./shown.js";

const COLUMNS = 600; // of a curve: more than there are columns of pixels; each has its least and greatest value
const TICKS = 5; // of each axis, or a few more or less
const SVG = "http://www.w3.org/2000/svg";
const STEPS = [1, 2, 5, 10];

// Values over their places on the axis. A value that is no number leaves a gap; nor is a point drawn where `at` has no
// number. `spread` is drawn as a band around them: standard deviations, say.
export function plot({ values, at, label = "", unit = "", axis = "", axisUnit = "", spread = null }) {
  const node = document.createElement("figure");
  node.className = "plot";
  const known = values.map((value, index) => isNumber(value) && isNumber(at[index]));
  const x = range(at.filter((_, index) => known[index]));
  const around = spread ?? values.map(() => 0);
  const y = range(values.flatMap((value, index) => known[index] ? [value - (around[index] ?? 0), value + (around[index] ?? 0)] : []));
  if (!x || !y) return node;
  widen(x);
  widen(y);
  const svg = element("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none" });
  const place = (value, { low, high }) => ((value - low) / (high - low)) * 1000;
  const area = document.createElement("div");
  area.className = "area";
  area.append(svg);
  for (const tick of ticks(x)) {
    svg.append(element("line", { x1: place(tick, x), x2: place(tick, x), y1: 0, y2: 1000 }));
    area.append(text(tickText(tick, x), "x", place(tick, x) / 10));
  }
  for (const tick of ticks(y)) {
    svg.append(element("line", { x1: 0, x2: 1000, y1: 1000 - place(tick, y), y2: 1000 - place(tick, y) }));
    area.append(text(tickText(tick, y), "y", place(tick, y) / 10));
  }
  for (const piece of pieces(values, at, known)) {
    if (spread) {
      const upper = piece.map((index) => `${place(at[index], x)},${1000 - place(values[index] + (around[index] ?? 0), y)}`);
      const lower = piece.map((index) => `${place(at[index], x)},${1000 - place(values[index] - (around[index] ?? 0), y)}`);
      svg.append(element("polygon", { points: [...upper, ...lower.reverse()].join(" ") }));
    }
    const points = piece.map((index) => `${place(at[index], x)},${1000 - place(values[index], y)}`);
    if (points.length === 1) points.push(points[0]); // a dot, since lines have round ends
    svg.append(element("polyline", { points: points.join(" ") }));
  }
  const title = document.createElement("p"), below = document.createElement("p");
  title.textContent = named(label, unit);
  below.textContent = named(axis, axisUnit);
  below.className = "axis";
  node.append(...(title.textContent ? [title] : []), area, below);
  return node;
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function range(values) {
  if (!values.length) return null;
  return { low: values.reduce((a, b) => Math.min(a, b)), high: values.reduce((a, b) => Math.max(a, b)) };
}

// Room for a curve that is flat, or one point.
function widen(one) {
  if (one.high > one.low) return;
  const by = Math.abs(one.low) / 10 || 1;
  one.low -= by;
  one.high += by;
}

// Indices of the points that are drawn, in pieces between gaps; of many, the least and greatest of each column.
function pieces(values, at, known) {
  const step = Math.max(1, Math.ceil(values.length / COLUMNS));
  const found = [];
  let piece = [];
  const end = () => {
    if (piece.length) found.push(piece);
    piece = [];
  };
  for (let first = 0; first < values.length; first += step) {
    let least = -1, greatest = -1, gap = false;
    for (let index = first; index < Math.min(first + step, values.length); index += 1) {
      if (!known[index]) {
        gap = true;
        continue;
      }
      if (least < 0 || values[index] < values[least]) least = index;
      if (greatest < 0 || values[index] > values[greatest]) greatest = index;
    }
    if (least >= 0) piece.push(...[...new Set([least, greatest])].sort((a, b) => a - b));
    if (gap) end();
  }
  end();
  return found;
}

function ticks({ low, high }) {
  const raw = (high - low) / TICKS, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * STEPS.find((each) => each * power >= raw * 0.999);
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + step * 1e-9; tick += 1) found.push(tick * step);
  return found;
}

// As many digits as two ticks need to differ.
function tickText(value, { low, high }) {
  if (Math.abs(value) < (high - low) * 1e-9) return "0";
  const greatest = Math.max(Math.abs(low), Math.abs(high));
  const digitsOfBoth = 2 + Math.max(0, Math.ceil(Math.log10(greatest / (high - low))));
  if (greatest >= 1e6 || greatest < 1e-3) return Number(value.toPrecision(Math.min(15, Math.max(4, digitsOfBoth)))).toExponential().replace("e+", "e");
  const digits = Math.max(0, 2 - Math.floor(Math.log10(high - low)));
  return number(Number(value.toFixed(digits)));
}

function text(shown, side, percent) {
  const node = document.createElement("span");
  node.textContent = shown;
  node.className = `tick ${side}`;
  node.style[side === "x" ? "left" : "bottom"] = `${percent}%`;
  return node;
}

function named(name, unit) {
  return unit ? `${name} (${unit})` : name;
}

function element(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}
