/** Shows one question and its reply, which differ by kind: an answer, an unsure reply, a refusal or a problem. */

import { type BlockContext, renderBlock, renderMark } from "./blocks";
import type { Citations } from "./citations";
import { replyAsMarkdown } from "./clipboard";
import { type Child, el, icon, iconButton, type IconName, setIcon } from "./dom";
import { lettersOf } from "./page";
import { describeVerification, fill, type Strings, translate } from "./strings";
import type { Problem, Reply, Turn, Vote } from "./types";

const COPIED_MILLISECONDS = 2000;

export interface TurnActions {
  retry: () => void;
  vote: (vote: Vote) => Promise<void>;
  announce: (text: string) => void;
}

export class TurnView {
  readonly element: HTMLElement;
  readonly question: HTMLElement;
  private readonly body = el("div", { class: "body" });
  private countdown = 0;

  constructor(
    private readonly turn: Turn,
    private readonly strings: Strings,
    private readonly citations: Citations,
    private readonly actions: TurnActions,
  ) {
    const chip = turn.selection && el("blockquote", { class: "asked-selection", dir: "auto" }, turn.selection);
    this.question = el("div", { class: "question" }, chip, el("p", { dir: "auto" }, turn.question));
    this.element = el("article", { class: "turn", "aria-label": turn.question }, this.question, this.body);
    this.render();
  }

  /** Show the turn as it is now. */
  render(): void {
    clearInterval(this.countdown);
    const { turn } = this;
    this.element.setAttribute("aria-busy", String(!turn.reply && !turn.problem && !turn.isStopped));
    if (turn.reply) this.body.replaceChildren(...this.renderReply(turn.reply));
    else if (turn.problem) this.body.replaceChildren(...this.renderSentences(), this.renderProblem(turn.problem));
    else if (turn.isStopped) this.body.replaceChildren(...this.renderSentences(), this.renderStopped());
    else this.body.replaceChildren(this.renderUnderstood(turn.understood), ...this.renderSentences(), this.renderWaiting());
  }

  private renderUnderstood(question: string | null | undefined): Node | string {
    const isNew = question && question !== this.turn.question;
    return isNew ? el("p", { class: "understood", dir: "auto" }, fill(this.strings.understood, question)) : "";
  }

  private renderSentences(): Node[] {
    return this.turn.sentences.map(({ text, label }) => {
      const mark = label === "unverified" ? [" ", renderMark(this.strings)] : [];
      return el("p", { class: "sentence", dir: "auto" }, text, ...mark);
    });
  }

  private renderWaiting(): Node {
    const { step, sentences } = this.turn;
    const text = (step && this.strings.steps[step]) || (sentences.length ? this.strings.writing : this.strings.reading);
    return el("p", { class: "waiting" }, el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")), text);
  }

  private renderReply(reply: Reply): (Node | string)[] {
    const parts = { answered: () => this.renderAnswer(reply), unsure: () => this.renderUnsure(reply), refused: () => this.renderRefusal(reply) };
    return [
      this.renderUnderstood(reply.completed_question),
      this.turn.selection ? this.renderSelectionPlace(reply) : "",
      el("div", { class: `reply ${reply.status}` }, ...parts[reply.status]()),
      this.renderActions(reply),
    ];
  }

  private renderAnswer(reply: Reply): Child[] {
    const { strings } = this;
    const reservation = reply.reservation ? translate(strings, reply.reservation) : reply.partial && strings.partial;
    const notes = [reservation, reply.degraded && strings.degraded, describeVerification(strings, reply)];
    return [
      label("book", strings.answered),
      reply.note && el("p", { class: "note", dir: "auto" }, reply.note),
      ...reply.blocks.map((block) => renderBlock(block, this.blockContext(reply))),
      ...notes.map((note) => note && el("p", { class: "note", dir: "auto" }, note)),
      reply.sources.length > 0 && el("h3", {}, strings.sources),
      reply.sources.length > 0 &&
        el("ol", { class: "sources" }, ...reply.sources.map((source) =>
          el("li", {}, this.citations.place(source, el("span", { class: "number", "aria-hidden": "true" }, String(source.number)))),
        )),
    ];
  }

  private renderUnsure(reply: Reply): Child[] {
    const passages = reply.closest.map((each) =>
      el("li", {},
        ...each.blocks.map((block) => renderBlock(block, this.blockContext(reply))),
        this.citations.place({ ...each, quotes: [each.quote] }),
      ),
    );
    return [
      label("unsure", this.strings.unsure),
      el("p", { dir: "auto" }, translate(this.strings, reply.unsure?.message ?? "")),
      passages.length > 0 && el("ul", { class: "closest" }, ...passages),
    ];
  }

  private renderRefusal(reply: Reply): Child[] {
    if (reply.note) return [el("p", { dir: "auto" }, reply.note)];
    const sections = reply.refusal?.sections ?? [];
    const links = sections.map((place) => el("li", {}, this.citations.place({ ...place, link: place.url, quotes: [] })));
    return [
      label("refused", this.strings.refused),
      el("p", { dir: "auto" }, translate(this.strings, reply.refusal?.message ?? "")),
      links.length > 0 && el("h3", {}, this.strings.nearby),
      links.length > 0 && el("ul", { class: "sources" }, ...links),
    ];
  }

  private renderSelectionPlace(reply: Reply): Node {
    const place = reply.trace.selection;
    if (!place) return el("p", { class: "selection-place" }, this.strings.selectionUnknown);
    const link = this.citations.place({ ...place, link: place.url, quotes: [this.turn.selection] });
    return el("p", { class: "selection-place" }, `${this.strings.selectionFrom} `, link);
  }

  private renderStopped(): Node {
    return el("div", { class: "stopped" }, el("p", {}, this.strings.stopped), this.retryButton());
  }

  private renderProblem(problem: Problem): Node {
    const { strings } = this;
    const button = this.retryButton();
    if (problem.retryAfter) this.countDown(button, problem.retryAfter);
    return el("div", { class: "reply problem" }, label("problem", strings.problem), el("p", {}, strings.problems[problem.kind]), button);
  }

  private retryButton(): HTMLButtonElement {
    return el("button", { type: "button", class: "retry", click: () => this.actions.retry() }, icon("retry"), el("span", {}, this.strings.retry));
  }

  private countDown(button: HTMLButtonElement, seconds: number): void {
    const end = Date.now() + seconds * 1000;
    const text = button.querySelector("span");
    const update = (): void => {
      const left = Math.ceil((end - Date.now()) / 1000);
      button.disabled = left > 0;
      if (text) text.textContent = left > 0 ? fill(this.strings.retryIn, left) : this.strings.retry;
      if (left <= 0) clearInterval(this.countdown);
    };
    this.countdown = setInterval(update, 500);
    update();
  }

  private renderActions(reply: Reply): Node {
    const { strings } = this;
    const copy = iconButton("copy", strings.copy, () => void this.copy(replyAsMarkdown(this.turn.question, reply, strings), copy, strings.copy));
    const retry = iconButton("retry", strings.retry, () => this.actions.retry());
    return el("div", { class: "actions" }, copy, retry, el("span", { class: "gap" }), ...this.renderVotes());
  }

  private renderVotes(): Node[] {
    const buttons = (["up", "down"] as const).map((vote) => {
      const name = vote === "up" ? this.strings.helpful : this.strings.unhelpful;
      const button = iconButton(vote, name, () => void send(vote));
      button.setAttribute("aria-pressed", String(this.turn.vote === vote));
      return [vote, button] as const;
    });
    const show = (chosen: Vote | undefined): void => {
      for (const [vote, button] of buttons) button.setAttribute("aria-pressed", String(vote === chosen));
    };
    const send = async (vote: Vote): Promise<void> => {
      show(vote);
      try {
        await this.actions.vote(vote);
        this.actions.announce(this.strings.thanks);
      } catch {
        show(this.turn.vote);
        this.actions.announce(this.strings.voteFailed);
      }
    };
    return buttons.map(([, button]) => button);
  }

  private blockContext(reply: Reply): BlockContext {
    const { strings } = this;
    return {
      strings,
      cite: (number, block) => {
        const source = reply.sources.find((each) => each.number === number);
        if (!source) return document.createTextNode("");
        const letters = lettersOf(block.markdown);
        const quotes = source.quotes.filter((quote) => letters.includes(lettersOf(quote)));
        return this.citations.number(number, quotes.length ? { ...source, quotes } : source);
      },
      copy: (text, button) => void this.copy(text, button, strings.copyCode),
    };
  }

  private async copy(text: string, button: HTMLButtonElement, name: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setIcon(button, "done", this.strings.copied);
      this.actions.announce(this.strings.copied);
      setTimeout(() => setIcon(button, "copy", name), COPIED_MILLISECONDS);
    } catch {
      this.actions.announce(this.strings.copyFailed);
    }
  }
}

function label(name: IconName, text: string): Node {
  return el("h3", { class: "label" }, icon(name), text);
}
