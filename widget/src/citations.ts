/** Links citations to their places and shows the quoted words next to them. */

import { el } from "./dom";
import { isThisPage, onThisSite, safeUrl, showPlace } from "./page";
import { fill, type Strings } from "./strings";
import type { Place } from "./types";

const MAX_QUOTE_CHARS = 320;
const LEAVE_MILLISECONDS = 200;
const EDGE = 8;
const EDGE_WORDS = 6;
const MAX_EDGE_CHARS = 400;
const RENDERED_DIFFERENTLY = /(?:^|\n)\s*(?:[-*+•]|\d+[.)])\s|\s\|\s|\S*(?:['"`]|--|\.\.\.)\S*|\s[-–—](?=\s)/u;

/** Where a link goes, and the words that it is about. */
export interface Citation extends Place {
  link: string;
  quotes: readonly string[];
}

export class Citations {
  readonly popover = el("div", { class: "popover", id: "bb-popover", role: "tooltip", hidden: true });
  private shownFor: HTMLElement | null = null;
  private timer = 0;
  private isTouch = false;

  constructor(
    private readonly host: HTMLElement,
    private readonly strings: Strings,
    private readonly pages: string,
    private readonly onLeave: () => void,
  ) {
    this.popover.addEventListener("pointerenter", () => clearTimeout(this.timer));
    this.popover.addEventListener("pointerleave", () => this.scheduleHide());
  }

  /** The number of a source, which shows its quotes on hover and focus. */
  number(number: number, citation: Citation): HTMLElement {
    const label = `${fill(this.strings.source, number)}: ${pathText(citation)}`;
    return this.describe(this.link(citation, { class: "cite", "aria-label": label }, String(number)), citation);
  }

  /** The path of a place, which goes there. */
  place(citation: Citation, ...before: (Node | string)[]): HTMLElement {
    const link = this.link(citation, { class: "place" }, ...before, this.path(citation));
    return citation.quotes.length ? this.describe(link, citation) : link;
  }

  /** Hide the quotes; false if none were shown. */
  hide(): boolean {
    const isShown = !this.popover.hidden;
    this.popover.hidden = true;
    this.shownFor?.removeAttribute("aria-describedby");
    this.shownFor = null;
    return isShown;
  }

  private link(citation: Citation, attributes: Record<string, string>, ...children: (Node | string)[]): HTMLElement {
    const address = safeUrl(this.address(citation));
    if (!address) return el("span", { ...attributes, tabindex: 0, role: "note" }, ...children);
    const url = onThisSite(address);
    const element = el("a", { ...attributes, href: url.href }, ...children);
    element.addEventListener("click", (event) => {
      if (this.isTouch && citation.quotes.length && this.shownFor !== element) {
        event.preventDefault(); // a finger cannot hover: the first tap shows the quote, the second goes there
        this.show(element, citation);
      } else if (isThisPage(url) && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
        event.preventDefault();
        this.hide();
        this.onLeave();
        showPlace(url, citation.quotes, this.host);
      }
    });
    return element;
  }

  /** Where a citation leads: to the pages of the server if it shows them, else to the book's site. */
  private address({ link, url, file, anchor = "", quotes }: Citation): string {
    if (!this.pages || !file) return link || url;
    const path = file.split("/").map(encodeURIComponent).join("/");
    // The link of a book that is no site, such as a PDF, has no words.
    const words = link.split(":~:")[1] ?? textFragment(quotes[0] ?? "");
    return `${this.pages}${path}#${encodeURIComponent(anchor)}${words ? `:~:${words}` : ""}`;
  }

  private describe(element: HTMLElement, citation: Citation): HTMLElement {
    element.addEventListener("pointerdown", (event) => (this.isTouch = event.pointerType === "touch"));
    element.addEventListener("keydown", () => (this.isTouch = false));
    // A link that scrolls under a resting pointer is entered, but the pointer does not move.
    element.addEventListener("pointermove", (event) => {
      clearTimeout(this.timer);
      if (event.pointerType !== "touch" && this.shownFor !== element) this.show(element, citation);
    });
    element.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.scheduleHide());
    element.addEventListener("focus", () => element.matches(":focus-visible") && this.show(element, citation));
    element.addEventListener("blur", () => this.hide());
    return element;
  }

  private show(element: HTMLElement, citation: Citation): void {
    clearTimeout(this.timer);
    this.hide();
    const quotes = citation.quotes.map((quote) => el("blockquote", { dir: "auto" }, shorten(quote)));
    this.popover.replaceChildren(el("p", { class: "popover-path" }, this.path(citation)), ...quotes.slice(0, 3));
    this.popover.hidden = false;
    this.dropQuotesThatDoNotFit();
    this.shownFor = element;
    element.setAttribute("aria-describedby", this.popover.id);
    const anchor = element.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.popover;
    const left = Math.min(Math.max(EDGE, anchor.left + anchor.width / 2 - width / 2), innerWidth - width - EDGE);
    const top = anchor.top - height - EDGE >= 0 ? anchor.top - height - EDGE : anchor.bottom + EDGE;
    this.popover.style.left = `${left}px`;
    this.popover.style.top = `${top}px`;
  }

  /** Removes the last quotes while there is too little room: who has only a keyboard cannot scroll them. */
  private dropQuotesThatDoNotFit(): void {
    const { popover } = this;
    while (popover.scrollHeight > popover.clientHeight && popover.childElementCount > 2) popover.lastElementChild?.remove();
  }

  private scheduleHide(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.hide(), LEAVE_MILLISECONDS);
  }

  private path(place: Place): HTMLElement {
    const names = place.path.length ? place.path : [place.section];
    const parts = names.flatMap((name, n) => [n > 0 && " › ", el("bdi", n === names.length - 1 ? { class: "last" } : {}, name)]);
    const page = place.label || place.page;
    return el("span", { class: "path" }, ...parts, page ? ` · ${fill(this.strings.page, page)}` : null);
  }
}

function splitPhrases(text: string): string[][] {
  return text.split(RENDERED_DIFFERENTLY).map((each) => each.trim().split(/\s+/)).filter(([word]) => word);
}

/** The end of an address with which a browser highlights words; without marks that a page may render differently. */
function textFragment(quote: string): string {
  const text = quote.replace(/\p{Surrogate}/gu, " ");
  const [start, end] = [splitPhrases(text.slice(0, MAX_EDGE_CHARS)), splitPhrases(text.slice(-MAX_EDGE_CHARS))];
  const [first, last] = [start[0], end.at(-1)];
  if (!first || !last) return "";
  const isShort = text.length <= MAX_EDGE_CHARS && start.length === 1 && first.length <= 2 * EDGE_WORDS;
  const ends = isShort ? [first] : [first.slice(0, EDGE_WORDS), last.slice(-EDGE_WORDS)];
  return `text=${ends.map((words) => encodeURIComponent(words.join(" ")).replaceAll("-", "%2D")).join(",")}`;
}

export function pathText(place: Place): string {
  return (place.path.length ? place.path : [place.section]).join(" › ");
}

function shorten(quote: string): string {
  return quote.length > MAX_QUOTE_CHARS ? `${quote.slice(0, MAX_QUOTE_CHARS).replace(/\s+\S*$/, "")} …` : quote;
}
