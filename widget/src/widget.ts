/** Puts the launcher, the panel and the selection button on a page and connects them. */

import { Citations } from "./citations";
import { Client } from "./client";
import { Composer } from "./composer";
import { Conversation, type Events } from "./conversation";
import { el, icon } from "./dom";
import { History } from "./history";
import type { Options } from "./options";
import { clearHighlight, raiseAbovePage, stayOnPage } from "./page";
import { Panel } from "./panel";
import { cutSelection, SelectionButton } from "./selection";
import { translate } from "./strings";
import styles from "./styles.css?inline";
import { followTheme } from "./theme";
import { TurnView } from "./turn_view";
import type { Reply, Turn } from "./types";

const MAX_SUGGESTIONS = 3;

type Handler = (data: never) => void;

export class Widget {
  private readonly host = el("div", { id: "bookbound-widget", popover: "manual" });
  private readonly status = el("div", { class: "visually-hidden", role: "status" });
  private readonly launcher: HTMLButtonElement;
  private readonly panel: Panel;
  private readonly composer: Composer;
  private readonly citations: Citations;
  private readonly selectionButton: SelectionButton;
  private readonly client: Client;
  private readonly history: History;
  private readonly conversation: Conversation;
  private readonly views = new Map<Turn, TurnView>();
  private readonly handlers = new Map<string, Set<Handler>>();
  private readonly removal = new AbortController();
  private focusBefore: HTMLElement | null = null;
  private hasBook = false;

  constructor(private readonly options: Options) {
    const { strings, direction, code } = options.language;
    this.client = new Client(options);
    this.history = new History(options.server, options.book);
    const kept = this.history.load();
    this.citations = new Citations(this.host, strings, options.pages, () => this.panel.isModal && this.close());
    this.composer = new Composer(options, {
      ask: (question, selection) => void this.ask(question, selection),
      stop: () => this.conversation.stop(),
    });
    this.panel = new Panel(
      strings,
      { close: () => this.close(), clear: () => this.clear(), ask: (question) => void this.ask(question), escape: () => this.citations.hide() },
      [this.composer.element, this.citations.popover],
      this.removal.signal,
    );
    this.conversation = new Conversation(this.client, kept.turns, {
      added: (turn) => this.show(turn),
      changed: (turn) => this.update(turn),
      busy: (isBusy) => this.composer.setBusy(isBusy),
      emit: (name, data) => this.emit(name, data),
    });
    this.launcher = el("button", { type: "button", class: "launcher", "aria-haspopup": "dialog", click: () => this.open() }, icon("ask"), el("span", {}, strings.open));
    this.launcher.hidden = options.position === "none";
    this.selectionButton = new SelectionButton(
      this.host, strings, (text) => this.open({ selection: text }), (text) => this.announce(text), this.panel.element, this.removal.signal,
    );
    this.mount(direction, code);
    this.panel.suggest(options.questions);
    for (const turn of kept.turns) this.show(turn);
    const isOpen = kept.isOpen ?? (options.open !== "" && matchMedia(options.open).matches);
    if (isOpen && !this.panel.isModal) this.reveal();
  }

  /** Open the panel, with selected text if there is some. */
  open({ selection = "" }: { selection?: string } = {}): void {
    const text = selection || SelectionButton.read(this.host);
    if (text) this.composer.setSelection(text);
    if (!this.panel.isOpen) {
      const active = document.activeElement;
      this.focusBefore = active instanceof HTMLElement && active !== document.body && active !== this.host ? active : null;
      this.reveal();
      this.emit("open", undefined);
    }
    this.selectionButton.hide();
    this.composer.input.focus();
  }

  close(): void {
    if (!this.panel.isOpen) return;
    this.citations.hide();
    this.panel.element.hidden = true;
    this.launcher.hidden = this.options.position === "none";
    this.save();
    (this.focusBefore?.isConnected ? this.focusBefore : this.launcher).focus({ preventScroll: true });
    this.emit("close", undefined);
  }

  async ask(question: string, selection = ""): Promise<Reply | null> {
    const text = question.trim();
    if (!text) return null;
    this.open({ selection });
    this.composer.setSelection("");
    clearHighlight();
    return (await this.conversation.ask(text, cutSelection(selection))).reply ?? null;
  }

  /** Call a function on each event of a name, until the returned function is called. */
  on(name: string, handler: Handler): () => void {
    const handlers = this.handlers.get(name) ?? new Set();
    this.handlers.set(name, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** Remove the widget with everything that it listens to; the conversation stays in the tab. */
  unmount(): void {
    this.conversation.stop();
    this.removal.abort();
    this.host.remove();
    clearHighlight();
  }

  private mount(direction: string, code: string): void {
    const { position, color } = this.options;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    const shadow = this.host.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    const probe = el("div", { hidden: true });
    const side = position === "none" ? "right" : position;
    const root = el("div", { class: `root ${side}`, dir: direction, lang: code },
      this.selectionButton.button, this.launcher, this.panel.element, this.status, probe);
    shadow.append(root);
    document.body.append(this.host);
    const { signal } = this.removal;
    const follow = followTheme(this.host, probe, color, signal);
    const raise = (): void => raiseAbovePage(this.host, root);
    stayOnPage(this.host, () => [follow, raise].forEach((each) => each()), signal);
    addEventListener("resize", raise, { signal });
    raise();
  }

  private reveal(): void {
    this.panel.element.hidden = false;
    this.launcher.hidden = true;
    const last = this.views.get(this.conversation.turns.at(-1) as Turn);
    if (last) this.panel.scrollTo(last.question); // a hidden panel has no place for it
    this.save();
    void this.describeBook();
  }

  /** Show the book's title, and questions from its chapters if the site suggests none. */
  private async describeBook(): Promise<void> {
    if (this.hasBook) return;
    this.hasBook = true;
    try {
      const book = await this.client.book();
      this.panel.setTitle(book.title || this.options.language.strings.title);
      const chapters = book.chapters.filter((chapter) => chapter.title && chapter.title !== book.title);
      const longest = [...chapters].sort((one, other) => other.chunks - one.chunks).slice(0, MAX_SUGGESTIONS);
      const titles = chapters.filter((chapter) => longest.includes(chapter)).map((chapter) => chapter.title);
      if (!this.options.questions.length) this.panel.suggestChapters(titles);
    } catch {
      this.hasBook = false; // the panel works without; the next opening tries again
    }
  }

  private show(turn: Turn): void {
    const view = new TurnView(turn, this.options.language.strings, this.citations, {
      retry: () => void this.conversation.retry(turn),
      vote: async (vote) => {
        await this.conversation.vote(turn, vote);
        this.save();
      },
      announce: (text) => this.announce(text),
    });
    this.views.set(turn, view);
    this.panel.setEmpty(false);
    this.panel.log.append(view.element);
    this.panel.scrollTo(view.question);
    if (!turn.reply) this.announce(this.options.language.strings.reading);
  }

  private update(turn: Turn): void {
    const view = this.views.get(turn);
    if (!view) return;
    view.render();
    this.save();
    const { strings } = this.options.language;
    const { reply, problem } = turn;
    const message = reply?.unsure?.message ?? reply?.refusal?.message;
    if (reply) this.announce([strings[reply.status], reply.answer, message && translate(strings, message)].filter(Boolean).join(". "));
    else if (problem) this.announce(strings.problems[problem.kind]);
    else if (turn.isStopped) this.announce(strings.stopped);
  }

  private clear(): void {
    this.conversation.clear();
    for (const view of this.views.values()) view.element.remove();
    this.views.clear();
    clearHighlight();
    this.panel.setEmpty(true);
    this.save();
    this.announce(this.options.language.strings.cleared);
    this.composer.input.focus();
  }

  private save(): void {
    this.history.save(this.conversation.turns, this.panel.isOpen);
  }

  private announce(text: string): void {
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  private emit<Name extends keyof Events>(name: Name, data: Events[Name]): void {
    for (const handler of this.handlers.get(name) ?? []) {
      try {
        handler(data as never);
      } catch (error) {
        reportError(error); // a handler of the page must not break the widget
      }
    }
  }
}
