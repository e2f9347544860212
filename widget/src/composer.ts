/** Takes questions: the text field, the selected text above it, and the button that sends or stops. */

import { el, iconButton, setIcon } from "./dom";
import type { Options } from "./options";
import { cutSelection } from "./selection";

const MAX_QUESTION_CHARS = 2000;
const MAX_HEIGHT = 160;

export interface ComposerActions {
  ask: (question: string, selection: string) => void;
  stop: () => void;
}

export class Composer {
  readonly element: HTMLFormElement;
  readonly input: HTMLTextAreaElement;
  private readonly button: HTMLButtonElement;
  private readonly chip = el("div", { class: "chip", hidden: true });
  private selection = "";
  private isBusy = false;

  constructor(
    private readonly options: Options,
    private readonly actions: ComposerActions,
  ) {
    const { strings } = options.language;
    this.input = el("textarea", { rows: 1, maxlength: MAX_QUESTION_CHARS, "aria-label": options.placeholder, placeholder: options.placeholder, enterkeyhint: "send" });
    this.button = el("button", { type: "submit", class: "send" });
    this.element = el("form", { class: "composer" }, this.chip, el("div", { class: "field" }, this.input, this.button));
    this.setBusy(false);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.input.addEventListener("input", () => this.fit());
    this.fit();
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.isBusy) this.submit();
    });
    setIcon(this.button, "send", strings.send);
  }

  setSelection(text: string): void {
    const { strings } = this.options.language;
    this.selection = cutSelection(text);
    this.chip.hidden = !text;
    const remove = iconButton("close", strings.removeSelection, () => {
      this.setSelection("");
      this.input.focus();
    });
    const label = el("span", { class: "visually-hidden" }, `${strings.selected}: `);
    const words = el("span", { class: "chip-text", dir: "auto" }, this.selection);
    const note = this.selection.length < text.length && el("span", { class: "chip-note" }, strings.selectionCut);
    this.chip.replaceChildren(...(text ? [label, el("span", { class: "chip-words" }, words, note), remove] : []));
    this.input.placeholder = text ? strings.placeholderSelection : this.options.placeholder;
    this.input.setAttribute("aria-label", this.input.placeholder);
  }

  setBusy(isBusy: boolean): void {
    const { strings } = this.options.language;
    this.isBusy = isBusy;
    setIcon(this.button, isBusy ? "stop" : "send", isBusy ? strings.stop : strings.send);
  }

  private submit(): void {
    if (this.isBusy) return this.actions.stop();
    const question = this.input.value.trim();
    if (!question) return this.input.focus();
    const { selection } = this;
    this.input.value = "";
    this.setSelection("");
    this.fit();
    this.actions.ask(question, selection);
  }

  private fit(): void {
    this.input.dir = this.input.value ? "auto" : this.options.language.direction;
    this.input.style.height = "";
    if (this.input.value) this.input.style.height = `${Math.min(this.input.scrollHeight, MAX_HEIGHT)}px`;
  }
}
