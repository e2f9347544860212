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
  };
}

function readPosition(value: string): Position {
  if (value.includes("none")) return "none";
  return value.includes("left") ? "left" : "right";
}
