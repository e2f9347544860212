/** Draws the plots of the report as SVG in the width that they have, each with its numbers in a table. */

import { formatCount, formatDay, formatDuration, make, makeScroll, makeTable } from "./report_tables.js";

const HEIGHT = 220;
const MARGIN = { top: 12, right: 8, bottom: 26, left: 56 };
const LABEL_WIDTH = 56;
const TICKS = 4;
const SHORT_DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

function draw(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Every day of the period; those before the first question and after the last have no counts yet. */
export function fillDays(report) {
  const known = new Map(report.by_day.map((day) => [day.day, day]));
  const empty = { asked: 0, answered: 0, unsure: 0, refused: 0, errors: 0, up: 0, down: 0, p50: null, p95: null };
  const days = [];
  const last = report.until.slice(0, 10);
  for (let at = new Date(`${report.since.slice(0, 10)}T00:00:00Z`); ; at.setUTCDate(at.getUTCDate() + 1)) {
    const day = at.toISOString().slice(0, 10);
    days.push(known.get(day) ?? { day, ...empty });
    if (day >= last) return days;
  }
}

/** The round whole number that divides an axis into a few steps. */
function chooseStep(most) {
  const least = most / TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= least * 0.999);
  return Math.max(1, step);
}

function drawFrame(days, width, most, format) {
  const inner = width - MARGIN.left - MARGIN.right;
  const band = inner / days.length;
  const step = chooseStep(most);
  const top = Math.ceil(most / step) * step;
  const y = (value) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const x = (at) => MARGIN.left + (at + 0.5) * band;
  const shapes = [];
  for (let value = 0; value <= top; value += step) {
    shapes.push(draw("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }));
    shapes.push(draw("text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)));
  }
  const every = Math.ceil(days.length / Math.max(1, Math.floor(inner / LABEL_WIDTH)));
  for (let at = days.length - 1; at >= 0; at -= every) {
    const anchor = x(at) + LABEL_WIDTH / 2 > width ? "end" : "middle";
    const label = SHORT_DAY.format(new Date(`${days[at].day}T00:00:00Z`));
    shapes.push(draw("text", { x: anchor === "end" ? width : x(at), y: HEIGHT - 6, "text-anchor": anchor }, label));
  }
  return { x, y, band, shapes };
}

function drawBars(days, width, series) {
  const most = Math.max(TICKS, ...days.map((day) => series.reduce((sum, { name }) => sum + day[name], 0)));
  const { x, y, band, shapes } = drawFrame(days, width, most, formatCount);
  const size = Math.min(36, Math.max(1, band * 0.72));
  days.forEach((day, at) => {
    const parts = series.filter(({ name }) => day[name]);
    if (!parts.length) return;
    const group = draw("g", { class: "day" });
    let bottom = 0;
    for (const { name } of parts) {
      const height = y(bottom) - y(bottom + day[name]);
      group.append(
        draw("rect", { class: `fill-${name}`, x: x(at) - size / 2, y: y(bottom + day[name]), width: size, height: Math.max(1, height - 1) }),
      );
      bottom += day[name];
    }
    const counts = series.map(({ name, label }) => `${formatCount(day[name])} ${label.toLowerCase()}`).join(", ");
    group.append(draw("title", {}, `${formatDay(day.day)}: ${counts}`));
    shapes.push(group);
  });
  return shapes;
}

function drawLines(days, width, series) {
  const values = days.flatMap((day) => series.map(({ name }) => day[name] ?? 0));
  const { x, y, shapes } = drawFrame(days, width, Math.max(100, ...values), formatDuration);
  for (const { name, label } of series) {
    let points = [];
    const finish = () => {
      if (points.length > 1) shapes.push(draw("polyline", { class: `line-${name}`, points: points.join(" ") }));
      points = [];
    };
    days.forEach((day, at) => {
      if (day[name] === null) return finish();
      points.push(`${x(at)},${y(day[name])}`);
      const text = `${formatDay(day.day)}: ${label.toLowerCase()} ${formatDuration(day[name])}`;
      shapes.push(draw("circle", { class: `dot-${name}`, cx: x(at), cy: y(day[name]), r: 3 }, draw("title", {}, text)));
    });
    finish();
  }
  return shapes;
}

/** A plot with its legend and table; it is drawn again when its width changes. */
function makePlot(title, label, days, series, drawShapes, format) {
  const svg = draw("svg", { role: "img", "aria-label": label, height: HEIGHT });
  const frame = make("div", { class: "plot" }, svg);
  new ResizeObserver(() => {
    const width = Math.round(frame.clientWidth);
    if (!width) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.replaceChildren(...drawShapes(days, width, series));
  }).observe(frame);
  const legend = series.map((each) => make("li", { class: `key-${each.name}` }, each.label));
  const rows = days.map((day) => [formatDay(day.day), ...series.map(({ name }) => format(day[name]))]).reverse();
  const table = makeTable(title, ["Day", ...series.map((each) => each.label)], rows);
  return make(
    "section",
    { class: "block", "data-plot": title },
    make("div", { class: "plot-head" }, make("h2", {}, title), make("ul", { class: "legend" }, ...legend)),
    frame,
    make("details", { class: "numbers" }, make("summary", {}, "Show the numbers"), makeScroll(`${title}, table`, table)),
  );
}

export function makeQuestionsPlot(report, days) {
  const series = [
    { name: "answered", label: "Answered" },
    { name: "unsure", label: "Unsure" },
    { name: "refused", label: "Refused" },
  ];
  if (report.questions.errors) series.push({ name: "errors", label: "Errors" });
  const busiest = days.reduce((one, other) => (other.asked > one.asked ? other : one));
  const peak = busiest.asked ? ` Most were asked on ${formatDay(busiest.day)}: ${formatCount(busiest.asked)}.` : "";
  const label = `Questions by day: ${formatCount(report.questions.asked)} in ${days.length} days.${peak}`;
  return makePlot("Questions by day", label, days, series, drawBars, formatCount);
}

export function makeTimePlot(report, days) {
  const series = [
    { name: "p50", label: "Median" },
    { name: "p95", label: "95 % within" },
  ];
  const { p50, p95 } = report.latency_ms;
  const label = `Time of a reply by day: ${formatDuration(p50)} at the median, 95 % within ${formatDuration(p95)}.`;
  return makePlot("Time of a reply", label, days, series, drawLines, formatDuration);
}

export function makeVotesPlot(report, days) {
  const { up, down } = report.votes;
  if (!up && !down) return null;
  const series = [
    { name: "up", label: "Helpful" },
    { name: "down", label: "Not helpful" },
  ];
  const label = `Votes by day of the question: ${formatCount(up)} helpful, ${formatCount(down)} not helpful.`;
  return makePlot("Votes by day", label, days, series, drawBars, formatCount);
}
