/** Talks to the server: questions as a stream of events, the book, and votes. */

import { isSendable, type Options } from "./options";
import type { Problem, ProblemKind, Reply, Sentence, Step, Turn, Vote } from "./types";

const SILENCE_MILLISECONDS = 60_000;
const MAX_TURNS = 5;
const MAX_ANSWER_CHARS = 10_000;

export interface Book {
  title: string;
  chapters: { title: string; chunks: number }[];
}

export type StreamEvent =
  | { name: "question"; data: { completed_question: string } }
  | { name: "retrieval" | "judgement"; data: unknown }
  | { name: "progress"; data: { step: Step } }
  | { name: "sentence"; data: Sentence }
  | { name: "reply"; data: Reply }
  | { name: "error"; data: ErrorBody };

interface ErrorBody {
  error?: { type?: string; retry_after?: number | null };
}

/** A question got no reply. */
export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.kind);
  }
}

const STATUS_PROBLEMS: Record<number, ProblemKind> = {
  401: "denied",
  403: "denied",
  404: "missing",
  408: "timeout",
  413: "invalid",
  422: "invalid",
  429: "limit",
  503: "busy",
  504: "timeout",
};
const EVENT_PROBLEMS: Record<string, ProblemKind> = {
  timed_out: "timeout",
  limit_reached: "limit",
  busy: "busy",
  unreachable: "busy",
  index_unavailable: "busy",
};

export class Client {
  constructor(private readonly options: Options) {}

  /** The events of one question; the last one is the reply, or a `ProblemError` says why there is none. */
  async *ask(turn: Turn, earlier: readonly Turn[], signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const conversation = turn.selection ? [] : earlier.filter((each) => each.reply).slice(-MAX_TURNS).map(toConversationTurn);
    const body = {
      question: turn.question,
      ...(turn.selection && { selection: turn.selection, scope: "selection_then_book" }),
    };
    try {
      yield* this.stream({ ...body, ...(conversation.length && { conversation }) }, signal);
    } catch (error) {
      // A server of an older version does not know conversations and rejects the field before it reads the book.
      if (!conversation.length || !(error instanceof ProblemError) || error.problem.kind !== "invalid") throw error;
      yield* this.stream(body, signal);
    }
  }

  async book(): Promise<Book> {
    const response = await fetch(this.url("v1/book"), { headers: this.headers(), credentials: "omit" });
    if (!response.ok) throw new ProblemError({ kind: "server" });
    return (await response.json()) as Book;
  }

  async vote(requestId: string, vote: Vote): Promise<void> {
    const response = await this.post("v1/votes", { request_id: requestId, vote });
    if (!response.ok) throw new ProblemError(await readProblem(response));
  }

  private async *stream(body: object, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
    const stopped = AbortSignal.any([signal, silence.signal]);
    let isStarted = false;
    try {
      const response = await this.post("v1/answers", body, "text/event-stream", stopped);
      if (!response.ok) throw new ProblemError(await readProblem(response));
      isStarted = true;
      for await (const event of readEvents(response)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
        if (event.name === "error") throw new ProblemError(problemFromBody(event.data));
        yield event;
        if (event.name === "reply") return;
      }
      throw new ProblemError({ kind: "interrupted" });
    } catch (error) {
      if (error instanceof ProblemError || signal.aborted) throw error;
      if (silence.signal.aborted) throw new ProblemError({ kind: "timeout" });
      if (!navigator.onLine) throw new ProblemError({ kind: "offline" });
      throw new ProblemError({ kind: isStarted ? "interrupted" : "unreachable" });
    } finally {
      clearTimeout(timer);
    }
  }

  private post(path: string, body: object, accept = "application/json", signal?: AbortSignal): Promise<Response> {
    return fetch(this.url(path), {
      method: "POST",
      headers: { ...this.headers(), "Content-Type": "application/json", Accept: accept },
      body: JSON.stringify(body),
      credentials: "omit",
      signal: signal ?? null,
    });
  }

  private url(path: string): string {
    const { server, book } = this.options;
    return server + (book ? `books/${encodeURIComponent(book)}/` : "") + path;
  }

  private headers(): Record<string, string> {
    const { key } = this.options;
    if (!isSendable(key)) throw new ProblemError({ kind: "denied" });
    return key ? { "X-API-Key": key } : {};
  }
}

function toConversationTurn(turn: Turn): { question: string; answer?: string } {
  const answer = turn.reply?.answer;
  return { question: turn.question, ...(answer && { answer: answer.slice(0, MAX_ANSWER_CHARS) }) };
}

async function* readEvents(response: Response): AsyncGenerator<StreamEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split(/\r?\n\r?\n/);
    text = parts.pop() ?? "";
    for (const part of parts) {
      const event = parseEvent(part);
      if (event) yield event;
    }
  }
}

function parseEvent(part: string): StreamEvent | null {
  let name = "";
  let data = "";
  for (const line of part.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5);
  }
  return name && data ? ({ name, data: JSON.parse(data) } as StreamEvent) : null;
}

async function readProblem(response: Response): Promise<Problem> {
  const kind = STATUS_PROBLEMS[response.status] ?? "server";
  const header = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  if (Number.isFinite(header)) return { kind, retryAfter: header };
  const body: unknown = await response.json().catch(() => ({}));
  const wait = (body as ErrorBody).error?.retry_after;
  return typeof wait === "number" ? { kind, retryAfter: wait } : { kind };
}

function problemFromBody(body: ErrorBody): Problem {
  const kind = EVENT_PROBLEMS[body.error?.type ?? ""] ?? "server";
  const wait = body.error?.retry_after;
  return typeof wait === "number" ? { kind, retryAfter: wait } : { kind };
}
