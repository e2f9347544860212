/** Copies an answer with its citations as Markdown. */

import { pathText } from "./citations";
import { describeVerification, type Strings } from "./strings";
import type { Reply } from "./types";

export function replyAsMarkdown(question: string, reply: Reply, strings: Strings): string {
  const lines = [`**${question}**`];
  if (reply.status === "answered") {
    if (reply.note) lines.push(reply.note);
    for (const block of reply.blocks) {
      const numbers = block.sources.map((number) => `[${number}]`).join("");
      const isInline = block.kind === "paragraph" || block.kind === "heading";
      lines.push(block.markdown + (numbers && (isInline ? ` ${numbers}` : `\n\n${numbers}`)));
    }
    lines.push(reply.reservation ?? "", describeVerification(strings, reply));
    lines.push(reply.sources.map((each) => `[${each.number}] ${pathText(each)}${each.url && `: ${each.url}`}`).join("\n"));
  } else {
    lines.push(reply.note ?? reply.unsure?.message ?? reply.refusal?.message ?? "");
    lines.push(...reply.closest.map((each) => `> ${each.quote.replaceAll("\n", "\n> ")}\n\n${pathText(each)}${each.url && `: ${each.url}`}`));
  }
  return `${lines.filter(Boolean).join("\n\n")}\n`;
}
