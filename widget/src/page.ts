/** Finds quoted words on the page that carries the widget, scrolls to them and highlights them. */

import { isVisible, unfold } from "./folded";

const HIGHLIGHT = "bookbound-quote";
const EDGE_CHARS = 30;
const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TEXTAREA"]);
const LIST_NUMBER = /^\s*\d+[.)]\s/gm;

/** The letters and digits of the page, each with its place; everything else may be rendered differently. */
interface PageText {
  text: string;
  nodes: Text[];
  offsets: number[];
}

/** A link that is safe to follow, or null. */
export function safeUrl(link: string): URL | null {
  if (!link) return null;
  try {
    const url = new URL(link, location.href);
    return url.protocol === "https:" || url.protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

/** The same page on the copy of the site that the reader is on: a preview or another version, which names the main one as canonical. */
export function onThisSite(url: URL): URL {
  const canonical = safeUrl(document.querySelector<HTMLLinkElement>("link[rel=canonical]")?.href ?? "");
  if (!canonical) return url;
  const there = normalizePath(canonical.pathname).split("/");
  const here = normalizePath(location.pathname).split("/");
  const isHome = here.length === 1 && canonical.origin !== location.origin;
  if (there.at(-1) !== here.at(-1) && !isHome) return url;
  while (here.length > 1 && there.length > 1 && there.at(-1) === here.at(-1)) {
    there.pop();
    here.pop();
  }
  const base = there.join("/");
  // The rest of the path stays encoded: a `?`, `#` or `%` in a name would mean something else.
  const rest = url.pathname.split("/").slice(there.length).map((part) => `/${part}`).join("");
  const isBelow = url.origin === canonical.origin && `${decodePart(url.pathname)}/`.startsWith(`${base}/`);
  return isBelow ? new URL(location.origin + here.join("/") + rest + url.search + url.hash) : url;
}

export function isThisPage(url: URL): boolean {
  return url.origin === location.origin && normalizePath(url.pathname) === normalizePath(location.pathname);
}

function normalizePath(path: string): string {
  return decodePart(path).replace(/\/index\.html?$|\.html?$|\/+$/, "");
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Scroll to the place of a link on this page and highlight the quotes there. */
export function showPlace(url: URL, quotes: readonly string[], host: Element): void {
  const anchor = decodePart(url.hash.slice(1).split(":~:")[0] ?? "");
  const heading = anchor ? document.getElementById(anchor) : null;
  // Not by `location.hash`: sites that load pages themselves would take it for a visit and render the page anew.
  if (heading && decodePart(location.hash.slice(1)) !== anchor) history.pushState(history.state, "", `#${encodeURIComponent(anchor)}`);
  const page = readPage(host);
  const start = heading ? Math.max(0, page.nodes.findIndex((node) => isAfter(heading, node))) : 0;
  const ranges = quotes.map((quote) => findQuote(page, quote, start)).filter((range) => range !== null);
  highlight(ranges);
  const words = ranges[0]?.startContainer.parentElement;
  if (words) unfold(words);
  // In the next frame, when the site has shown what was folded.
  requestAnimationFrame(() => {
    if (words && isVisible(words)) scrollTo(words, "center");
    else if (heading) scrollTo(heading, "start");
    else if (!anchor) scrollTo(document.body, "start");
  });
}

function scrollTo(target: Element, block: ScrollLogicalPosition): void {
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ block, behavior: isCalm ? "auto" : "smooth" });
}

/** Keep the widget on pages whose scripts replace the body: when they start, or when the reader goes to another page. */
export function stayOnPage(host: Element, onReturn: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(() => {
    // Not at once: a script that removes whatever is added would keep the browser busy forever.
    if (!host.isConnected) setTimeout(restore);
  });
  const follow = (): void => [document.documentElement, document.body].forEach((each) => observer.observe(each, { childList: true }));
  const restore = (): void => {
    if (host.isConnected || signal.aborted || !document.body) return;
    document.body.append(host);
    follow();
    onReturn();
  };
  signal.addEventListener("abort", () => observer.disconnect());
  follow();
}

/** Free the widget from what the site does to its whole body: transforms and filters would move it, and zoom would make it too large. */
export function raiseAbovePage(host: HTMLElement, root: HTMLElement): void {
  if (host.isConnected && host.showPopover && !host.matches(":popover-open")) host.showPopover();
  root.style.setProperty("zoom", String(1 / (host.currentCSSZoom || 1)));
}

export function clearHighlight(): void {
  if ("highlights" in CSS) CSS.highlights.delete(HIGHLIGHT);
}

let hasHighlightStyle = false;

/** The page's own elements stay as they are; a browser without this interface only scrolls. */
function highlight(ranges: Range[]): void {
  if (!("highlights" in CSS)) return;
  if (!hasHighlightStyle) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`::highlight(${HIGHLIGHT}) { background-color: #ffe08a; color: #1b1b1d; }`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    hasHighlightStyle = true;
  }
  CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
}

function isAfter(heading: Element, node: Node): boolean {
  return Boolean(heading.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
}

function readPage(host: Element): PageText {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node instanceof Element) {
      const isSkipped = node === host || SKIPPED.has(node.tagName) || node.classList.contains("katex-mathml");
      return isSkipped ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    }
    return NodeFilter.FILTER_ACCEPT;
  });
  const page: PageText = { text: "", nodes: [], offsets: [] };
  const letters: string[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    eachLetter(node.data, (letter, offset) => {
      letters.push(letter);
      page.nodes.push(node);
      page.offsets.push(offset);
    });
  }
  page.text = letters.join("");
  return page;
}

function eachLetter(text: string, visit: (letter: string, offset: number) => void): void {
  for (let offset = 0; offset < text.length; offset++) {
    const letter = text[offset] ?? "";
    // One unit at a time, so that each letter has one place: a lower-case form of two units keeps only the first.
    if (/[\p{L}\p{N}]/u.test(letter)) visit(letter.toLowerCase()[0] ?? letter, offset);
  }
}

/** The letters and digits of a text, without the numbers of a list. */
export function lettersOf(text: string): string {
  let letters = "";
  eachLetter(text.replace(LIST_NUMBER, ""), (letter) => (letters += letter));
  return letters;
}

function findQuote(page: PageText, quote: string, start: number): Range | null {
  const wanted = lettersOf(quote);
  if (!wanted) return null;
  const first = wanted.slice(0, EDGE_CHARS);
  const last = wanted.slice(-EDGE_CHARS);
  for (const from of start ? [start, 0] : [0]) {
    const whole = page.text.indexOf(wanted, from);
    if (whole >= 0) return makeRange(page, whole, whole + wanted.length - 1);
    const begin = page.text.indexOf(first, from);
    const end = begin < 0 ? -1 : page.text.indexOf(last, begin);
    if (end >= 0 && end - begin < 2 * wanted.length) return makeRange(page, begin, end + last.length - 1);
  }
  return null;
}

function makeRange(page: PageText, first: number, last: number): Range | null {
  const startNode = page.nodes[first];
  const endNode = page.nodes[last];
  if (!startNode || !endNode) return null;
  const range = document.createRange();
  range.setStart(startNode, page.offsets[first] ?? 0);
  const end = (page.offsets[last] ?? 0) + 1;
  const closing = /^[^\p{L}\p{N}\s]*/u.exec(endNode.data.slice(end))?.[0] ?? "";
  range.setEnd(endNode, end + closing.length);
  return range;
}
