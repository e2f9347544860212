/** Renders the blocks of a reply as elements. */

import { type Child, el, iconButton } from "./dom";
import type { Strings } from "./strings";
import type { Block, ListItem, Unverified } from "./types";

export interface BlockContext {
  strings: Strings;
  cite: (number: number, block: Block) => Node;
  copy: (text: string, button: HTMLButtonElement) => void;
}

export function renderBlock(block: Block, context: BlockContext): HTMLElement {
  const cites = block.sources.map((number) => context.cite(number, block));
  if (!block.unverified) return renderContent(block, cites, context);
  const element = renderContent(block, [], context);
  element.append(...renderUnverified(block.unverified, context.strings, cites));
  return element;
}

/** The mark of what the book does not prove, and the words of the book that are closest, which alone have a source. */
function renderUnverified({ closest }: Unverified, strings: Strings, cites: Node[] = []): (Node | string)[] {
  const quote = closest && el("q", { dir: "auto" }, closest);
  const words = quote && el("span", { class: "closest-words" }, strings.closestWords, " ", quote, ...spaced(cites));
  return [" ", renderMark(strings), ...(words ? [" ", words] : [])];
}

export function renderMark(strings: Strings): Node {
  return el("span", { class: "unverified" }, strings.unverified);
}

function spaced(cites: Node[]): Child[] {
  return cites.length > 0 ? ["\u00a0", ...cites] : [];
}

function renderContent(block: Block, cites: Node[], context: BlockContext): HTMLElement {
  switch (block.kind) {
    case "heading":
      return el("p", { class: "heading", dir: "auto" }, block.text);
    case "list":
      return el("div", { class: "block", dir: "auto" }, ...renderList(block.items, context.strings), citeLine(cites));
    case "table":
      return el("div", { class: "block" }, renderTable(block, context.strings), citeLine(cites));
    case "code":
      return el("div", { class: "block" }, renderCode(block, context), citeLine(cites));
    case "formula":
      return el("div", { class: "block" }, el("p", { class: "formula", dir: "ltr" }, block.text), citeLine(cites));
    default:
      return el("p", { dir: "auto" }, ...markText(block.text, block.marks), ...spaced(cites));
  }
}

function citeLine(cites: Node[]): Child {
  return cites.length > 0 && el("p", { class: "cites" }, ...cites);
}

/** The text with the spans that answer marked. */
function markText(text: string, marks: Block["marks"]): Child[] {
  // The spans count characters, while a JavaScript string counts units: an emoji is one of the former, two of the latter.
  const characters = [...text];
  const parts: Child[] = [];
  let end = 0;
  for (const [from, to] of [...marks].sort((one, other) => one[0] - other[0])) {
    if (from < end || to <= from) continue;
    parts.push(characters.slice(end, from).join(""), el("mark", {}, characters.slice(from, to).join("")));
    end = to;
  }
  return [...parts, characters.slice(end).join("")];
}

/** Nested lists from items with levels; a change between numbers and bullets starts another list. */
function renderList(items: readonly ListItem[], strings: Strings): HTMLElement[] {
  const top: HTMLElement[] = [];
  const open: { level: number; list: HTMLElement; last: HTMLElement }[] = [];
  for (const item of items) {
    while (open.length && (open.at(-1)?.level ?? 0) > item.level) open.pop();
    const name = item.number ? "ol" : "ul";
    const current = open.at(-1);
    if (current?.level === item.level && current.list.localName !== name) open.pop();
    const row = renderItem(item, strings);
    const same = open.at(-1);
    if (same?.level === item.level) {
      same.list.append(row);
      same.last = row;
    } else {
      const list = el(name, {}, row);
      if (same) same.last.append(list);
      else top.push(list);
      open.push({ level: item.level, list, last: row });
    }
  }
  return top;
}

function renderItem(item: ListItem, strings: Strings): HTMLLIElement {
  const row = el("li", {}, item.text, ...(item.unverified ? renderUnverified(item.unverified, strings) : []));
  const number = Number.parseInt(item.number, 10);
  if (number >= 0) row.value = number;
  return row;
}

function renderTable(block: Block, strings: Strings): HTMLElement {
  const head = block.header && el("thead", {}, el("tr", {}, ...block.header.map((cell) => renderCell("th", cell))));
  const rows = block.rows.map((row) => el("tr", {}, ...row.map((cell) => renderCell("td", cell))));
  for (const each of block.unverified_rows ?? []) rows[each.row]?.lastElementChild?.append(...renderUnverified(each, strings));
  const table = el("table", { dir: "auto" }, head, el("tbody", {}, ...rows));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": strings.table }, table);
}

function renderCell(name: "th" | "td", text: string): HTMLElement {
  // An empty header cell names nothing, so it is an ordinary cell.
  return name === "th" && text.trim() ? el("th", { scope: "col" }, text) : el("td", {}, text);
}

function renderCode(block: Block, context: BlockContext): HTMLElement {
  const { strings } = context;
  const button = iconButton("copy", strings.copyCode, () => context.copy(block.text, button), "icon code-copy");
  const code = el("pre", { tabindex: 0, role: "region", "aria-label": strings.code, dir: "ltr" }, el("code", {}, block.text));
  return el("div", { class: "code" }, code, button, block.cut && el("p", { class: "note" }, strings.cut));
}
