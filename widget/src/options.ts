/** Reads the attributes of the script tag. */

import { chooseLanguage, type Language } from "./strings";

export type Position = "right" | "left" | "none";

export interface Options {
  server: string;
  book: string;
  key: string;
  color: string;
  position: Position;
  language: Language;
  placeholder: string;
  questions: string[];
  /** The path of the pages that the server itself shows; citations lead there instead of to the book's site. */
  pages: string;
  /** A media query for screens on which the panel is open from the start. */
  openOn: string;
}

const QUESTION_SEPARATOR = "|";

export function readOptions(script: HTMLScriptElement): Options {
  const data = script.dataset;
  const wanted = data.language ? [data.language] : [document.documentElement.lang, ...navigator.languages];
  const language = chooseLanguage(wanted);
  return {
    server: new URL(".", script.src || location.href).href,
    book: data.book?.trim() ?? "",
    key: data.key?.trim() ?? "",
    color: data.color?.trim() ?? "",
    position: readPosition(data.position ?? ""),
    language,
    placeholder: data.placeholder?.trim() || language.strings.placeholder,
    questions: (data.questions ?? "").split(QUESTION_SEPARATOR).map((each) => each.trim()).filter(Boolean),
    pages: data.pages?.trim() ?? "",
    openOn: data.open?.trim() ?? "",
  };
}

function readPosition(value: string): Position {
  if (value.includes("none")) return "none";
  return value.includes("left") ? "left" : "right";
}
