/** Signs in with an admin key, which stays in this tab, and shows the report and the index of a book. */

import { IndexSection } from "./report_index.js";
import { fillDays, makeQuestionsPlot, makeTimePlot, makeVotesPlot } from "./report_plots.js";
import {
  formatDay,
  make,
  makeBooks,
  makeChapters,
  makeFigures,
  makeReasons,
  makeSection,
  makeUnanswered,
  makeUnhelpful,
  plural,
} from "./report_tables.js";

const { root } = document.body.dataset;
const KEY_NAME = `bookbound-admin-key ${new URL(`${root}/`, location)}`; // a host can have several servers, each at its path
const UNREACHABLE = "The server cannot be reached. Try again in a moment.";
const INVALID_KEY = "This key is not valid. Check that you copied all of it.";
const phrases = JSON.parse(document.body.dataset.phrases);
const hasLog = "log" in document.body.dataset;

const find = (id) => document.getElementById(`bb-${id}`);
const signIn = find("sign-in");
const TITLE = document.title;
const HEADING = find("title").textContent;
let key = useStorage((storage) => storage.getItem(KEY_NAME)) ?? "";
let section = null;
let loading = new AbortController();

class RefusedError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Reads or writes the storage of this tab; a browser may block it, and then the key stays on this page only. */
function useStorage(action) {
  try {
    return action(sessionStorage);
  } catch {
    return null;
  }
}

async function send(method, path, body, signal) {
  const headers = { "X-API-Key": key, ...(body ? { "Content-Type": "application/json" } : {}) };
  const response = await fetch(root + path, { method, headers, signal, body: body && JSON.stringify(body) }).catch(() => {
    throw new Error(UNREACHABLE);
  });
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => null);
  const message = problem?.error?.message ?? UNREACHABLE;
  throw new RefusedError(response.status === 401 ? INVALID_KEY : message, response.status);
}

/** A request about the chosen book; if the key is no longer valid, the reader signs in again. */
async function call(method, path, body, signal) {
  const book = find("book").value;
  try {
    return await send(method, book ? `/books/${encodeURIComponent(book)}${path}` : path, body, signal);
  } catch (error) {
    if (error.status === 401) signOut(error.message);
    throw error;
  }
}

/** Forgets the key and everything that was shown with it. */
function signOut(problem = "") {
  useStorage((storage) => storage.removeItem(KEY_NAME));
  key = "";
  section?.close();
  loading.abort();
  find("signed-in").hidden = find("sign-out").hidden = true;
  for (const id of ["data", "generations", "book"]) find(id).replaceChildren();
  for (const id of ["period", "status", "problem", "index-text", "source", "index-status", "index-problem"])
    find(id).textContent = "";
  find("data").removeAttribute("aria-busy");
  find("confirm").close();
  document.title = TITLE;
  find("title").textContent = HEADING;
  if (!signIn) return;
  signIn.hidden = false;
  find("key-problem").textContent = problem;
  find("key").focus();
}

/** Lists the books if there are several; the address keeps the chosen one. */
function listBooks(books) {
  const options = books.flatMap((book) => {
    const name = book.default ? "" : book.book;
    if (!name && !book.default) return [];
    const title = book.title || book.book || "Untitled";
    const editions = book.editions.length > 1 ? book.editions.filter((each) => each.edition) : [];
    return [
      new Option(title, name),
      ...editions.map((each) => new Option(`${title}, edition ${each.edition}`, `${book.book}@${each.edition}`)),
    ];
  });
  if (books.length > 1) options.push(new Option("All books", "all"));
  options.sort((one, other) => (one.value !== "") - (other.value !== ""));
  find("book").replaceChildren(...options);
  find("book-label").hidden = options.length < 2;
  const hash = location.hash.slice(1);
  const wanted = options.find(({ value }) => value === hash || encodeURIComponent(value) === hash);
  if (wanted) find("book").value = wanted.value;
}

async function enter() {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new RefusedError(INVALID_KEY, 401);
  await send("GET", "/v1/index/reindex").catch((error) => {
    if (error.status !== 404) throw error; // an admin key goes on without a book, and no other key does
  });
  const { books } = await send("GET", "/v1/books").catch(() => ({ books: [] }));
  listBooks(books);
  useStorage((storage) => storage.setItem(KEY_NAME, key));
  if (signIn) signIn.hidden = true;
  find("signed-in").hidden = find("sign-out").hidden = false;
  await show();
}

async function show() {
  section?.close();
  const isEveryBook = find("book").value === "all";
  section = isEveryBook ? null : new IndexSection(call);
  find("index").hidden = true;
  await Promise.all([hasLog ? showReport() : null, section?.open()]);
}

async function showReport() {
  loading.abort();
  const { signal } = (loading = new AbortController());
  find("status").textContent = "Reading the log…";
  find("data").setAttribute("aria-busy", "true");
  find("problem").hidden = true;
  try {
    const report = await call("GET", `/v1/report?days=${find("days").value}`, null, signal);
    if (!signal.aborted) fill(report);
  } catch (error) {
    if (signal.aborted) return;
    find("data").replaceChildren();
    find("problem").textContent = error.message;
    find("problem").hidden = false;
  } finally {
    if (!signal.aborted) {
      find("status").textContent = "";
      find("data").removeAttribute("aria-busy");
    }
  }
}

function fill(report) {
  const title = report.book_ref === "all" ? "all books" : (report.book?.title ?? report.book_ref);
  const edition = report.book_ref.includes("@") ? `, edition ${report.book_ref.split("@")[1]}` : "";
  const { questions } = report;
  document.title = find("title").textContent = `What readers ask ${title}${edition}`.trim();
  const others = questions.of_other_books ? ` Other books got ${plural(questions.of_other_books, "question")}.` : "";
  const lost = questions.lost ? ` ${plural(questions.lost, "question")} could not be logged.` : "";
  find("period").textContent =
    `${formatDay(report.since.slice(0, 10))} to ${formatDay(report.until.slice(0, 10))}, days in UTC.${others}${lost}`;
  if (!questions.asked) {
    const text = "Nobody has asked a question in this period. Choose a longer one, or come back later.";
    find("data").replaceChildren(makeSection("No questions yet", make("p", { class: "soft" }, text)));
    return;
  }
  const days = fillDays(report);
  const small = [makeVotesPlot(report, days), makeUnhelpful(report)].filter(Boolean);
  const parts = [
    makeFigures(report),
    makeQuestionsPlot(report, days),
    makeUnanswered(report, phrases),
    makeChapters(report),
    makeReasons(report, phrases),
    small.length ? make("div", { class: "columns" }, ...small) : null,
    makeTimePlot(report, days),
    makeBooks(report),
  ];
  find("data").replaceChildren(...parts.filter(Boolean));
}

signIn?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = signIn.querySelector("button");
  key = find("key").value.trim();
  find("key-problem").textContent = "";
  button.disabled = true;
  try {
    await enter();
    find("key").value = "";
    find("report").focus();
  } catch (error) {
    signOut(error.message);
  } finally {
    button.disabled = false;
  }
});

find("sign-out").addEventListener("click", () => signOut());
find("days")?.addEventListener("change", showReport);
find("book").addEventListener("change", () => {
  history.replaceState(null, "", find("book").value ? `#${encodeURIComponent(find("book").value)}` : location.pathname);
  show();
});
find("controls").addEventListener("submit", (event) => event.preventDefault());

if (!key) signOut();
else enter().catch((error) => signOut(error.message));
