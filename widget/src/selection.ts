/** Shows a button next to selected text of the page. */

import { el, icon } from "./dom";
import type { Strings } from "./strings";

/** The strings name this limit of the server, too. */
const MAX_SELECTION_CHARS = 10_000;
const MIN_SELECTION_CHARS = 2;
const SETTLE_MILLISECONDS = 250;
const GAP = 8;
const TOUCH_GAP = 28;

/** As much of a selection as the server accepts; it counts characters, of which an emoji is one and not two units. */
export function cutSelection(text: string): string {
  return text.length <= MAX_SELECTION_CHARS ? text : [...text].slice(0, MAX_SELECTION_CHARS).join("");
}

export class SelectionButton {
  readonly button: HTMLButtonElement;
  private timer = 0;
  private isPressed = false;
  private isTouch = false;
  private hasHinted = false;

  constructor(
    private readonly host: Element,
    private readonly strings: Strings,
    private readonly onAsk: (selection: string) => void,
    private readonly announce: (text: string) => void,
    private readonly panel: HTMLElement,
    signal: AbortSignal,
  ) {
    this.button = el(
      "button",
      { type: "button", class: "ask-selection", hidden: true, title: strings.askSelectionHint, "aria-keyshortcuts": "Alt+A" },
      icon("ask"),
      strings.askSelection,
    );
    // The press would clear the selection before the click.
    this.button.addEventListener("pointerdown", (event) => event.preventDefault());
    this.button.addEventListener("mousedown", (event) => event.preventDefault());
    this.button.addEventListener("click", () => this.ask());
    this.listen(signal);
  }

  /** The text that is selected on the page, if it can be asked about. */
  static read(host: Element): string {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed || !selection.anchorNode || host.contains(selection.anchorNode)) return "";
    const active = document.activeElement;
    if (active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement) return "";
    const text = selection.toString().trim();
    return text.length < MIN_SELECTION_CHARS ? "" : text;
  }

  hide(): void {
    this.button.hidden = true;
  }

  private listen(signal: AbortSignal): void {
    document.addEventListener("selectionchange", () => this.schedule(), { signal });
    document.addEventListener("pointerdown", (event) => {
      this.isTouch = event.pointerType === "touch";
      this.isPressed = event.pointerType === "mouse" && event.target !== this.host;
    }, { capture: true, signal });
    document.addEventListener("pointerup", () => {
      this.isPressed = false;
      this.schedule();
    }, { capture: true, signal });
    addEventListener("scroll", () => !this.button.hidden && this.place(), { passive: true, capture: true, signal });
    addEventListener("resize", () => !this.button.hidden && this.place(), { signal });
    document.addEventListener("keydown", (event) => {
      if (event.altKey && event.code === "KeyA" && !event.ctrlKey && !event.metaKey && SelectionButton.read(this.host)) {
        event.preventDefault();
        this.ask();
      } else if (event.key === "Escape") {
        this.hide();
      }
    }, { signal });
  }

  private schedule(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), SETTLE_MILLISECONDS);
  }

  private update(): void {
    const isShown = !this.isPressed && SelectionButton.read(this.host) !== "";
    this.button.hidden = !isShown;
    if (!isShown) return;
    this.place();
    if (!this.hasHinted) this.announce(this.strings.askSelectionHint);
    this.hasHinted = true;
  }

  private place(): void {
    const selection = document.getSelection();
    if (!selection?.rangeCount) return this.hide();
    const rects = [...selection.getRangeAt(0).getClientRects()];
    const last = rects.filter((rect) => rect.width > 0 && rect.bottom > 0 && rect.top < innerHeight).at(-1);
    if (!last) return this.hide();
    const { offsetWidth: width, offsetHeight: height } = this.button;
    const gap = this.isTouch ? TOUCH_GAP : GAP;
    const top = last.bottom + gap + height < innerHeight ? last.bottom + gap : last.top - gap - height;
    const [from, to] = this.freeSpan();
    const left = Math.min(Math.max(from + GAP, last.right - width / 2), to - width - GAP);
    this.button.style.top = `${Math.max(GAP, top)}px`;
    this.button.style.left = `${left}px`;
  }

  /** From where to where the page is not under the panel. */
  private freeSpan(): [number, number] {
    const end = document.documentElement.clientWidth;
    const panel = this.panel.getBoundingClientRect();
    if (panel.width === 0) return [0, end];
    return panel.left < end - panel.right ? [panel.right, end] : [0, panel.left];
  }

  private ask(): void {
    const text = SelectionButton.read(this.host);
    this.hide();
    if (text) this.onAsk(text);
  }
}
