/** Builds the figures, lists and tables of the report. Everything from the server becomes text, never markup. */

const NUMBER = new Intl.NumberFormat("en");
const DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const TIME = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const LISTED = 10;
const NO_VALUE = "–";
const SPACE = "\u00a0"; // keeps a number and its unit on one line

export const KINDS = ["answered", "unsure", "refused", "errors"];

export function make(name, options = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const formatCount = (count) => NUMBER.format(count);
export const formatDay = (day) => DAY.format(new Date(`${day}T00:00:00Z`));
export const formatTime = (time) => TIME.format(new Date(time));
export const plural = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

export function formatDuration(milliseconds) {
  if (milliseconds === null) return NO_VALUE;
  if (milliseconds < 1000) return `${Math.round(milliseconds)}${SPACE}ms`;
  return `${(milliseconds / 1000).toFixed(milliseconds < 10000 ? 1 : 0)}${SPACE}s`;
}

function formatShare(count, total) {
  return total ? `${Math.round((100 * count) / total)}${SPACE}%` : NO_VALUE;
}

/** A table whose columns after the first are numbers. */
export function makeTable(caption, columns, rows) {
  const kind = (at) => (at ? "number" : "");
  const head = columns.map((name, at) => make("th", { scope: "col", class: kind(at) }, name));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell, at) => make(at ? "td" : "th", { class: kind(at), ...(at ? {} : { scope: "row" }) }, cell))),
  );
  return make(
    "table",
    {},
    make("caption", { class: "hidden-text" }, caption),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
}

export function makeScroll(label, ...children) {
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, ...children);
}

export function makeSection(title, ...children) {
  return make("section", { class: "block" }, make("h2", {}, title), ...children);
}

const makeText = (text) => make("span", { dir: "auto" }, text);
const makeSoft = (text) => make("p", { class: "soft" }, text);

function makeFigure(name, value, details, kind = "") {
  return make(
    "div",
    { class: `figure ${kind}`, "data-figure": name },
    make("dt", {}, name),
    make("dd", {}, make("strong", {}, value), make("span", {}, details)),
  );
}

export function makeFigures(report) {
  const { questions, votes, latency_ms: latency } = report;
  const voted = votes.up + votes.down;
  const selections = questions.of_a_selection ? `, ${formatCount(questions.of_a_selection)} about selected text` : "";
  const kinds = KINDS.filter((kind) => kind !== "errors" || questions.errors).map((kind) =>
    makeFigure(
      kind[0].toUpperCase() + kind.slice(1),
      formatCount(questions[kind]),
      `${formatShare(questions[kind], questions.asked)} of questions`,
      kind,
    ),
  );
  return make(
    "dl",
    { class: "figures" },
    makeFigure("Questions", formatCount(questions.asked), `${questions.sessions ? plural(questions.sessions, "session") : "in this period"}${selections}`),
    ...kinds,
    makeFigure("Helpful", voted ? formatShare(votes.up, voted) : NO_VALUE, `${formatCount(votes.up)} of ${plural(voted, "vote")}`),
    makeFigure("Typical time", formatDuration(latency.p50), `95${SPACE}% within ${formatDuration(latency.p95)}`),
  );
}

/** A list of rows, of which only the first are shown until the reader asks for all. */
function makeList(rows, makeRow, { tag = "ol", name = "" } = {}) {
  const list = make(tag, { class: `list ${name}` }, ...rows.slice(0, LISTED).map(makeRow));
  if (rows.length <= LISTED) return [list];
  const show = () => {
    list.append(...rows.slice(LISTED).map(makeRow));
    list.children[LISTED].tabIndex = -1;
    list.children[LISTED].focus();
    button.remove();
  };
  const button = make("button", { class: "more", type: "button", onclick: show }, `Show all ${formatCount(rows.length)}`);
  return [list, button];
}

function makeGroup(group, phrases) {
  const others = group.wordings.filter((wording) => wording !== group.typical);
  const reason = Object.keys(group.kinds)[0];
  const where = group.mode === "selected_text_only" ? "About selected text. " : "";
  const why = phrases[reason] ?? reason;
  return make(
    "li",
    {},
    make("span", { class: "count" }, `${formatCount(group.asked)}×`),
    make(
      "div",
      {},
      make("p", { class: "question", dir: "auto" }, group.typical),
      make("p", { class: "soft" }, `${where}${why[0].toUpperCase()}${why.slice(1)}. Last asked ${formatDay(group.last)}.`),
      others.length
        ? make(
            "details",
            {},
            make("summary", {}, plural(others.length, "other wording")),
            make("ul", {}, ...others.map((wording) => make("li", { dir: "auto" }, wording))),
          )
        : null,
    ),
  );
}

export function makeUnanswered(report, phrases) {
  const { groups, questions, compared } = report.unanswered;
  if (!groups.length) return makeSection("Questions without an answer", makeSoft("Every question in this period was answered."));
  const more = questions - compared;
  return makeSection(
    "Questions without an answer",
    makeSoft("Questions that ask for the same thing are together. What is asked most may deserve a paragraph in the book."),
    ...makeList(groups, (group) => makeGroup(group, phrases), { name: "groups" }),
    more ? makeSoft(`${plural(more, "more question")} with rarer wordings were not compared.`) : null,
  );
}

/** A row with a name, a number, and a bar that compares it with the greatest one. */
function makeBar(text, count, most, { details = "", kind = "" } = {}) {
  const bar = make("span", { class: `bar ${kind}`, "aria-hidden": "true" });
  bar.style.inlineSize = `${(100 * count) / most}%`;
  const soft = details ? make("span", { class: "soft" }, ` ${details}`) : null;
  return make("li", {}, makeText(text), make("span", {}, make("strong", {}, formatCount(count)), soft), bar);
}

export function makeReasons(report, phrases) {
  const { refused, unsure } = report.questions;
  const rows = Object.entries({ ...report.refused_by_kind, unsure })
    .filter(([, count]) => count)
    .sort(([, one], [, other]) => other - one);
  if (!rows.length) return null;
  const makeRow = ([reason, count]) => {
    const kind = reason === "unsure" ? "unsure" : "refused";
    const text = `${kind === "unsure" ? "Unsure" : "Refused"}: ${phrases[reason] ?? reason}`;
    return makeBar(text, count, rows[0][1], { details: formatShare(count, refused + unsure), kind });
  };
  return makeSection("Why there was no answer", ...makeList(rows, makeRow, { tag: "ul", name: "bars reasons" }));
}

export function makeUnhelpful(report) {
  const { unhelpful } = report.votes;
  if (!unhelpful.length) return null;
  const makeRow = (each) =>
    make("li", {}, make("span", { class: "count" }, `${formatCount(each.votes)}×`), make("p", { class: "question", dir: "auto" }, each.question));
  return makeSection("Replies that did not help", ...makeList(unhelpful, makeRow, { name: "unhelpful" }));
}

export function makeChapters(report) {
  const { answered, uncited, removed } = report.chapters;
  const most = Math.max(1, ...answered.map((each) => each.answers));
  const isEveryBook = report.book_ref === "all";
  const makeRow = (each) => {
    const book = isEveryBook && each.book ? `${each.book}: ` : "";
    const note = removed?.includes(each.chapter) ? " (no longer in the index)" : "";
    return makeBar(`${book}${each.chapter || "(no chapter)"}${note}`, each.answers, most);
  };
  const cited = answered.length
    ? makeList(answered, makeRow, { name: "bars chapters-most" })
    : [makeSoft("No chapter has answered a question in this period.")];
  const never = !uncited
    ? null
    : makeSection(
        "Chapters that never answered",
        ...(uncited.length
          ? makeList(uncited, (title) => make("li", { dir: "auto" }, title || "(no chapter)"), { tag: "ul", name: "never" })
          : [makeSoft("Every chapter has answered a question.")]),
      );
  const best = makeSection("Chapters that answer most", ...cited);
  return never ? make("div", { class: "columns" }, best, never) : best;
}

export function makeBooks(report) {
  if (report.by_book.length < 2) return null;
  const names = { "": "(without a name)", all: "All books together" };
  const rows = report.by_book.map((each) => [
    makeText(each.title ? `${each.title}${each.book_ref ? ` (${each.book_ref})` : ""}` : (names[each.book_ref] ?? each.book_ref)),
    formatCount(each.asked),
    ...KINDS.map((kind) => formatCount(each[kind])),
  ]);
  return makeSection("Books", makeScroll("Books", makeTable("Books", ["Book", "Questions", "Answered", "Unsure", "Refused", "Errors"], rows)));
}
