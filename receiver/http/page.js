// The page of a receiver.

import { ask, awaySentence, element, followStatus, number, setText, showCounts, showList, showState, sleep, visible } from "./shown.js";
import { receiverFacts, sentence, seriesFacts, shownCounts } from "./words.js";

const PICTURE = 1_000; // ms between two pictures, or two lists of lost frames, at least
const CHANCES = 3; // questions after a change: between series, the first has the newest frame handed over; and one
// more where the size of the frames was not known
const PIXELS = 1_024; // of the longer edge; larger frames come down-sampled

const FATES = ["stored", "partial", "delivered", "discarded", "corrupt", "missing", "not_triggered", "pending"];
const ALWAYS = ["planned", "received", "stored"];

const LOSSES = ["partial", "discarded", "corrupt", "missing", "not_triggered"];
const RANGES = 10_000; // of lost frames that are asked for, at most

let status = null; // the newest; null while the receiver does not answer
let lost = { series: null, ranges: [], next: null };

function show(news) {
  status = news;
  const { state, detector, series } = status;
  showState(state, detector, sentence(status, location.origin));
  element("series-part").hidden = !series;
  if (series) showSeries(series);
  showList(element("receiver"), receiverFacts(status));
}

function showSeries(series) {
  setText(element("series-title"), series.active ? "Running series" : "Last series");
  showCounts(shownCounts(status), FATES, ALWAYS, lost.series === status.series.id ? lost.ranges : []);
  showList(element("series"), seriesFacts(status));
}

function showAway(away, last) {
  status = null;
  showState("away", last ? last.detector : "Receiver", awaySentence("Receiver", away, last));
}

function listed({ ranges, next }) {
  return next === null ? ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0) : Infinity;
}

function counted(counts) {
  return LOSSES.reduce((sum, fate) => sum + counts[fate], 0);
}

async function followLost() {
  for (let before = ""; ;) {
    await visible();
    const series = status?.series, counts = status?.counts;
    const news = series ? JSON.stringify([series.id, series.active, ...LOSSES.map((fate) => counts[fate])]) : "";
    if (news !== before && series && counted(counts)) {
      try {
        const answer = await ask(`series/lost?limit=${RANGES}&series=${encodeURIComponent(series.id)}`);
        if (answer.ok) {
          lost = await answer.json();
          if (status?.series) showSeries(status.series);
        }
        // Frames that are still waited for are counted, and in the list a little later.
        before = series.active && listed(lost) < counted(counts) ? "" : news;
      } catch (error) {
        console.info("no list of lost frames:", error); // the status says whether the receiver is away
      }
    }
    await sleep(PICTURE);
  }
}

async function followPicture() {
  let step = 8, before = "", chances = 0;
  for (;;) {
    await visible();
    const news = status ? `${status.series?.id} ${status.series?.active} ${status.latest_frame}` : "";
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

followStatus(show, showAway);
followPicture();
followLost();
