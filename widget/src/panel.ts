/** The panel with the conversation: a card next to the page on wide screens, the whole screen on narrow ones. */

import { el, iconButton } from "./dom";
import { isLatin, type Strings } from "./strings";

const NARROW = "(max-width: 640px)";
const QUESTION_GAP = 16;
const FOCUSABLE = "a[href], button:not([disabled]), textarea, [tabindex]";

export interface PanelActions {
  close: () => void;
  clear: () => void;
  ask: (question: string) => void;
  /** Hide what is in front of the panel; false if nothing is. */
  escape: () => boolean;
}

export class Panel {
  readonly element: HTMLElement;
  readonly log: HTMLElement;
  private readonly heading: HTMLElement;
  private readonly clearButton: HTMLButtonElement;
  private readonly suggestions = el("div", { class: "suggestions", hidden: true });
  private readonly welcome: HTMLElement;
  private readonly narrow = matchMedia(NARROW);

  constructor(
    private readonly strings: Strings,
    private readonly actions: PanelActions,
    parts: readonly HTMLElement[],
    signal: AbortSignal,
  ) {
    this.heading = el("h2", { id: "bb-title", dir: "auto" }, strings.title);
    this.clearButton = iconButton("clear", strings.clear, actions.clear);
    const header = el("header", { role: "none" }, this.heading, this.clearButton, iconButton("close", strings.close, actions.close));
    this.welcome = el("div", { class: "welcome" }, el("p", { class: "greeting" }, strings.welcome), el("p", { class: "about" }, strings.about), this.suggestions);
    this.log = el("div", { class: "log", role: "log", "aria-live": "off", "aria-label": strings.conversation, tabindex: 0 }, this.welcome);
    this.element = el("section", { class: "panel", role: "dialog", "aria-labelledby": "bb-title", hidden: true }, header, this.log, ...parts);
    // After a jump to a citation the focus is on the page.
    document.addEventListener("keydown", (event) => this.isOpen && event.key === "Escape" && this.onKey(event), { signal });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    for (const name of ["keydown", "keypress", "keyup"] as const) this.element.addEventListener(name, keepFromPage);
    this.log.addEventListener("scroll", () => actions.escape(), { passive: true });
    this.narrow.addEventListener("change", () => this.setModal(), { signal });
    visualViewport?.addEventListener("resize", () => this.fitViewport(), { signal });
    visualViewport?.addEventListener("scroll", () => this.fitViewport(), { signal });
    this.setModal();
    this.setEmpty(true);
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  get isModal(): boolean {
    return this.narrow.matches;
  }

  setTitle(title: string): void {
    this.heading.textContent = title;
  }

  setEmpty(isEmpty: boolean): void {
    this.welcome.hidden = !isEmpty;
    this.clearButton.hidden = isEmpty;
  }

  suggest(questions: readonly string[]): void {
    const buttons = questions.map((question) =>
      el("button", { type: "button", class: "suggestion", dir: "auto", click: () => this.actions.ask(question) }, question),
    );
    this.suggestions.replaceChildren(el("h3", {}, this.strings.tryAsking), ...buttons);
    this.suggestions.hidden = buttons.length === 0;
  }

  /** Suggest to ask about chapters; one in another script is asked for by its title, because a book answers in its language. */
  suggestChapters(titles: readonly string[]): void {
    const ask = (title: string) => (isLatin(title) === isLatin(this.strings.suggestion) ? this.strings.suggestion.replace("{0}", () => title) : title);
    this.suggest(titles.map(ask));
  }

  /** Scroll so that a question is on top. */
  scrollTo(question: HTMLElement): void {
    this.log.scrollTop = question.offsetTop - this.log.offsetTop - QUESTION_GAP;
  }

  private setModal(): void {
    this.element.setAttribute("aria-modal", String(this.narrow.matches));
  }

  /** Keep the whole panel above the keyboard of a phone, which covers a part of the page. */
  private fitViewport(): void {
    if (!visualViewport || visualViewport.scale > 1) return; // the reader has zoomed into the panel
    this.element.style.setProperty("--bb-top", `${visualViewport.offsetTop}px`);
    this.element.style.setProperty("--bb-height", `${visualViewport.height}px`);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      if (!this.actions.escape()) this.actions.close();
    } else if (event.key === "Tab" && this.isModal) {
      this.keepFocus(event);
    }
  }

  private keepFocus(event: KeyboardEvent): void {
    const stops = [...this.element.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((each) => each.offsetParent);
    const active = (this.element.getRootNode() as ShadowRoot).activeElement;
    const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
    if (active !== from) return;
    event.preventDefault();
    to?.focus();
  }
}

/** Sites have shortcuts of one letter, and to them typing in the panel does not look like typing. */
function keepFromPage(event: KeyboardEvent): void {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
}
