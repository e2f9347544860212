/** The parts of a reply of `POST /v1/answers` that the widget shows. */

export interface Place {
  path: string[];
  section: string;
  url: string;
  file?: string;
  anchor?: string;
  page: number | null;
  label: string;
}

export interface ListItem {
  text: string;
  number: string;
  level: number;
  unverified?: Unverified | null;
}

/** What a language model says and the book does not prove, with the words of the book that are closest. */
export interface Unverified {
  closest: string;
}

export interface Block {
  kind: "paragraph" | "heading" | "list" | "table" | "code" | "formula";
  text: string;
  items: ListItem[];
  header: string[] | null;
  rows: string[][];
  cut: boolean;
  sources: number[];
  marks: [number, number][];
  unverified?: Unverified | null;
  unverified_rows?: (Unverified & { row: number })[];
  markdown: string;
}

export interface Source extends Place {
  number: number;
  link: string;
  quotes: string[];
}

export interface ClosePassage extends Place {
  quote: string;
  link: string;
  blocks: Block[];
}

export interface Reply {
  status: "answered" | "unsure" | "refused";
  answer: string | null;
  partial: boolean;
  reservation: string | null;
  degraded: boolean;
  verification?: { dropped: number; withheld: boolean };
  completed_question?: string | null;
  note?: string | null;
  unsure: { message: string } | null;
  closest: ClosePassage[];
  refusal: { message: string; sections: Place[] } | null;
  blocks: Block[];
  sources: Source[];
  trace: { selection: Place | null };
  request_id: string;
}

/** A sentence of an answer that is not complete yet. */
export interface Sentence {
  text: string;
  label?: "supported" | "unverified";
}

/** What a language model is doing for an answer. */
export type Step = "understanding" | "writing" | "revising" | "translating";

export type Vote = "up" | "down";

/** One question and what came of it. */
export interface Turn {
  question: string;
  selection: string;
  understood?: string;
  step?: Step;
  sentences: Sentence[];
  reply?: Reply;
  vote?: Vote;
  problem?: Problem;
  isStopped?: boolean;
}

export type ProblemKind =
  | "offline"
  | "unreachable"
  | "interrupted"
  | "timeout"
  | "limit"
  | "busy"
  | "denied"
  | "missing"
  | "invalid"
  | "server";

/** Why a question got no reply, and after how many seconds it may be asked again. */
export interface Problem {
  kind: ProblemKind;
  retryAfter?: number;
}
