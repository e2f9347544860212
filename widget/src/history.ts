/** Keeps the conversation for this tab only. */

import type { Reply, Turn } from "./types";

const MAX_KEPT_TURNS = 20;

interface Kept {
  isOpen: boolean;
  turns: Turn[];
}

export class History {
  private readonly name: string;

  constructor(server: string, book: string) {
    this.name = `bookbound:1:${server}:${book}`;
  }

  /** What is kept; `isOpen` is missing until the reader or the page opens the panel. */
  load(): Pick<Kept, "turns"> & Partial<Kept> {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.name) ?? "") as Kept;
      return { isOpen: kept.isOpen, turns: kept.turns.filter((turn) => turn.question && turn.reply?.status) };
    } catch {
      return { turns: [] };
    }
  }

  save(turns: readonly Turn[], isOpen: boolean): void {
    const answered = turns.filter((turn) => turn.reply).slice(-MAX_KEPT_TURNS);
    const kept: Kept = { isOpen, turns: answered.map((turn) => ({ ...turn, reply: turn.reply && shorten(turn.reply) })) };
    try {
      sessionStorage.setItem(this.name, JSON.stringify(kept));
    } catch {
      // A page may forbid storage, or it may be full: then the conversation ends with the page.
    }
  }
}

/** A reply without the parts that the widget does not show. */
function shorten(reply: Reply): Reply {
  const { status, answer, note, partial, reservation, degraded, verification, completed_question } = reply;
  const { unsure, closest, refusal, blocks, sources, request_id, trace } = reply;
  const said = { status, answer, note, partial, reservation, degraded, verification, completed_question };
  const shown = { ...said, unsure, closest, refusal };
  return { ...shown, blocks, sources, request_id, trace: { selection: trace.selection } };
}
