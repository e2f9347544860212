/** Reads what the site wants from its call of `mount` or from its script tag. */

import { safeUrl } from "./page";
import { chooseLanguage, type Language } from "./strings";

export type Position = "right" | "left" | "none";

/** What a site can set; only the server is required. */
export interface WidgetOptions {
  /** The address of the server, such as `https://ask.book.example`. */
  server: string;
  /** The book to ask, such as `robots` or `robots@1.9`; the default book of the server if there is none. */
  book?: string | undefined;
  /** A publishable key. */
  key?: string | undefined;
  /** The accent colour, as in CSS; that of the site if there is none. */
  color?: string | undefined;
  /** The side of the button and the panel, or `none` for no button. */
  position?: Position | undefined;
  /** `en`, `de`, `es` or `ur`; that of the page if there is none. */
  language?: string | undefined;
  /** The text of the empty field. */
  placeholder?: string | undefined;
  /** Suggested questions; from the largest chapters of the book if there are none. */
  questions?: readonly string[] | undefined;
  /** The path of the pages that the server itself shows; citations lead there instead of to the book's site. */
  pages?: string | undefined;
  /** A media query for screens on which the panel is open from the start. */
  open?: string | undefined;
}

/** The same with a value for everything. */
export interface Options extends Required<Omit<WidgetOptions, "language">> {
  position: Position;
  language: Language;
}

const QUESTION_SEPARATOR = "|";

export function completeOptions(given: WidgetOptions): Options {
  checkTypes(given);
  const wanted = given.language ? [given.language] : [document.documentElement.lang, ...navigator.languages];
  const language = chooseLanguage(wanted);
  return {
    server: readServer(given.server),
    book: given.book?.trim() ?? "",
    key: readKey(given.key?.trim() ?? ""),
    color: given.color?.trim() ?? "",
    position: given.position ?? "right",
    language,
    placeholder: given.placeholder?.trim() || language.strings.placeholder,
    questions: (given.questions ?? []).map((each) => each.trim()).filter(Boolean),
    pages: safeUrl(given.pages?.trim() ?? "")?.href ?? "",
    open: given.open?.trim() ?? "",
  };
}

/** The options of a script tag: its attributes, or what follows the `#` of its address if a generator writes no attributes. */
export function readScriptOptions(script: HTMLScriptElement): WidgetOptions {
  const address = new URL(script.src || location.href);
  const data: DOMStringMap = { ...(script.src && Object.fromEntries(new URLSearchParams(address.hash.slice(1)))), ...script.dataset };
  return {
    server: data.server || new URL(".", address).href,
    book: data.book,
    key: data.key,
    color: data.color,
    position: readPosition(data.position ?? ""),
    language: data.language,
    placeholder: data.placeholder,
    questions: data.questions?.split(QUESTION_SEPARATOR),
    pages: data.pages,
    open: data.open,
  };
}

/** A call of `mount` in plain JavaScript can pass anything. */
function checkTypes({ questions, ...texts }: WidgetOptions): void {
  for (const [name, value] of Object.entries(texts)) {
    if (typeof (value ?? "") !== "string") throw new TypeError(`Bookbound: set \`${name}\` to text.`);
  }
  const isList = Array.isArray(questions ?? []) && (questions ?? []).every((each) => typeof each === "string");
  if (!isList) throw new TypeError("Bookbound: set `questions` to a list of texts.");
}

function readServer(address: string): string {
  const url = safeUrl(address?.trim());
  if (url) return url.href.replace(/\/*$/, "/");
  throw new TypeError("Bookbound needs the address of its server: set `server` (in a script tag `data-server`) to an https:// address.");
}

/** The key; browsers cannot send one with other characters, so that asking with it is denied. */
function readKey(key: string): string {
  if (key && !isSendable(key)) {
    console.error("Bookbound: `key` (in a script tag `data-key`) is not valid: keys have only letters, digits and signs of ASCII. Copy it again.");
  }
  return key;
}

export function isSendable(key: string): boolean {
  return /^[\x21-\x7e]*$/.test(key);
}

function readPosition(value: string): Position {
  if (value.includes("none")) return "none";
  return value.includes("left") ? "left" : "right";
}
