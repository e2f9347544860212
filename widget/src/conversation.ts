/** Asks questions one after the other and keeps what came of them. */

import { Client, ProblemError } from "./client";
import type { Reply, Turn, Vote } from "./types";

export type Events = {
  open: undefined;
  close: undefined;
  ask: { question: string; selection: string };
  reply: Reply;
  error: { kind: string; retryAfter?: number };
  vote: { request_id: string; vote: Vote };
};

export const EVENT_NAMES = ["open", "close", "ask", "reply", "error", "vote"] as const satisfies (keyof Events)[];

export interface ConversationListener {
  added: (turn: Turn) => void;
  changed: (turn: Turn) => void;
  busy: (isBusy: boolean) => void;
  emit: <Name extends keyof Events>(name: Name, data: Events[Name]) => void;
}

export class Conversation {
  private running: AbortController | null = null;

  constructor(
    private readonly client: Client,
    readonly turns: Turn[],
    private readonly listener: ConversationListener,
  ) {}

  async ask(question: string, selection: string): Promise<Turn> {
    const turn: Turn = { question, selection, sentences: [] };
    this.stop();
    this.turns.push(turn);
    this.listener.added(turn);
    this.listener.emit("ask", { question, selection });
    await this.run(turn);
    return turn;
  }

  async retry(turn: Turn): Promise<void> {
    this.stop();
    Object.assign(turn, { sentences: [], understood: undefined, step: undefined, reply: undefined, vote: undefined, problem: undefined, isStopped: false });
    this.listener.changed(turn);
    await this.run(turn);
  }

  stop(): void {
    this.running?.abort();
    this.running = null;
  }

  clear(): void {
    this.stop();
    this.turns.length = 0;
  }

  async vote(turn: Turn, vote: Vote): Promise<void> {
    const id = turn.reply?.request_id;
    if (!id) return;
    await this.client.vote(id, vote);
    turn.vote = vote;
    this.listener.emit("vote", { request_id: id, vote });
  }

  private async run(turn: Turn): Promise<void> {
    const running = new AbortController();
    this.running = running;
    this.listener.busy(true);
    try {
      const earlier = this.turns.slice(0, this.turns.indexOf(turn));
      for await (const event of this.client.ask(turn, earlier, running.signal)) {
        if (event.name === "question") turn.understood = event.data.completed_question;
        else if (event.name === "progress") turn.step = event.data.step;
        else if (event.name === "sentence") turn.sentences.push(event.data);
        else if (event.name === "reply") Object.assign(turn, { reply: event.data, sentences: [] });
        this.listener.changed(turn);
      }
      if (turn.reply) this.listener.emit("reply", turn.reply);
    } catch (error) {
      if (running.signal.aborted) turn.isStopped = true;
      else turn.problem = error instanceof ProblemError ? error.problem : { kind: "server" };
      this.listener.changed(turn);
      if (turn.problem) this.listener.emit("error", turn.problem);
    } finally {
      if (this.running === running || this.running === null) {
        this.running = null;
        this.listener.busy(false);
      }
    }
  }
}
