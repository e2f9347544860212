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

export type Vote = "up" | "down";

/** One question and what came of it. */
export interface Turn {
  question: string;
  selection: string;
  understood?: string;
  sentences: string[];
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
