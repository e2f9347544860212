/** Searches the book while the reader types (Ctrl+K goes there), closes the contents of a narrow screen after a choice, and copies code. */
"use strict";

(() => {
  const WAIT_MILLISECONDS = 150;
  const MIN_CHARS = 2;
  const COUNTS = ["No section found. Ask the book instead.", "1 section found"];

  const prefix = document.body.dataset.prefix;
  const contents = document.getElementById("bb-contents");
  const form = contents.querySelector(".search");
  const input = form.querySelector("input");
  const found = form.querySelector(".found");
  const results = form.querySelector(".results");
  const chapters = contents.querySelector(".chapters");
  let timer = 0;
  let running = new AbortController();

  function make(name, className, text) {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text;
    element.dir = "auto";
    return element;
  }

  function makeResult(section) {
    const link = document.createElement("a");
    link.href = prefix + section.href;
    link.append(make("strong", "", section.title));
    if (section.path.length) link.append(make("span", "path", section.path.join(" › ")));
    if (section.excerpt) link.append(make("span", "words", section.excerpt));
    const item = document.createElement("li");
    item.append(link);
    return item;
  }

  function show(sections, message) {
    results.replaceChildren(...sections.map(makeResult));
    found.textContent = message || COUNTS[sections.length] || `${sections.length} sections found`;
    chapters.hidden = true;
  }

  function clear() {
    results.replaceChildren();
    found.textContent = "";
    chapters.hidden = false;
  }

  async function explain(response) {
    const body = await response.json().catch(() => null);
    return body?.error?.message || "The search failed. Try again in a moment.";
  }

  async function search() {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    if (input.value.trim().length < MIN_CHARS) return clear();
    try {
      const response = await fetch(`${prefix}/search`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ words: input.value }),
        signal,
      });
      const [sections, message] = response.ok ? [await response.json(), ""] : [[], await explain(response)];
      if (!signal.aborted) show(sections, message);
    } catch {
      if (!signal.aborted) show([], "The server cannot be reached. Try again in a moment.");
    }
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, WAIT_MILLISECONDS);
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    search();
  });

  form.addEventListener("keydown", (event) => {
    const stops = [input, ...results.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && at >= 0) {
      event.preventDefault();
      stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
    } else if (event.key === "Escape" && input.value) {
      event.preventDefault();
      clearTimeout(timer);
      running.abort();
      input.value = "";
      input.focus();
      clear();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (contents.checkVisibility && !contents.checkVisibility()) contents.showPopover();
    input.select();
    input.focus();
  });

  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
  });

  function addCopyButton(block) {
    const button = make("button", "copy", "Copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      const isCopied = await navigator.clipboard.writeText(block.textContent).then(() => true, () => false);
      button.textContent = isCopied ? "Copied" : "Not copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    block.after(button);
  }

  // Browsers have a clipboard only on secure pages.
  if (navigator.clipboard) document.querySelectorAll(".code > pre").forEach(addCopyButton);
  form.hidden = false;
  input.placeholder += /Mac|iP(hone|ad)/.test(navigator.platform) ? " (⌘K)" : " (Ctrl+K)";
  const current = contents.querySelector("[aria-current]");
  if (current && current.offsetTop > contents.clientHeight - 80) contents.scrollTop = current.offsetTop - contents.clientHeight / 3;
})();
