/** Shows the generations of the index, and re-indexes and rolls back after a confirmation. */

import { formatCount, formatTime, make, plural } from "./report_tables.js";

const POLL_MILLISECONDS = 1000;
const STAGES = { read: "Reading the book", split: "Splitting its pages", embed: "Embedding its passages" };
const KEPT = "Readers keep the current index until the new one is complete.";

const find = (id) => document.getElementById(`bb-${id}`);

/** Asks for a confirmation; true if the reader confirms. */
function confirm(title, text, action) {
  const dialog = find("confirm");
  find("confirm-title").textContent = title;
  find("confirm-text").textContent = text;
  find("confirm-button").textContent = action;
  return new Promise((resolve) => {
    let isConfirmed = false;
    find("cancel").onclick = () => dialog.close();
    find("confirm-button").onclick = () => {
      isConfirmed = true;
      dialog.close();
    };
    dialog.onclose = () => resolve(isConfirmed);
    dialog.showModal();
    find("cancel").focus();
  });
}

function showProblem(message) {
  find("index-problem").textContent = message;
  find("index-problem").hidden = !message;
}

function describeChanges(status) {
  const changes = Object.entries(status.changes).filter(([, count]) => count);
  const words = changes.map(([name, count]) => `${plural(count, "page")} ${name}`).join(", ") || "all pages indexed again";
  return `${words}.${status.notices ? ` ${plural(status.notices, "notice")} about its files: see \`bookbound index\`.` : ""}`;
}

/** The part of the page about the index of one book; `call` sends a request about this book. */
export class IndexSection {
  constructor(call) {
    this.call = call;
    this.timer = 0;
    this.isClosed = false;
  }

  async open() {
    find("index-status").textContent = "";
    find("progress").hidden = true;
    showProblem("");
    find("reindex-button").onclick = () => this.run(() => this.reindex());
    await this.run(async () => {
      await this.showGenerations();
      this.showReindex(await this.call("GET", "/v1/index/reindex"), false);
    });
    if (!this.isClosed) find("index").hidden = false;
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  /** Runs an action and shows its error, unless another book is shown meanwhile. */
  async run(action) {
    showProblem("");
    try {
      await action();
    } catch (error) {
      if (!this.isClosed) showProblem(error.message);
    }
  }

  async showGenerations() {
    const { generations } = await this.call("GET", "/v1/index");
    if (this.isClosed) return;
    const rows = generations.map((each) => {
      const size = `${plural(each.pages, "page")}, ${plural(each.chunks, "passage")}`;
      const text = make("div", {}, make("p", {}, formatTime(each.created)), make("p", { class: "soft" }, size));
      return make("li", {}, text, each.current ? make("span", { class: "badge" }, "Answers now") : this.makeRollback(each));
    });
    find("generations").replaceChildren(...rows);
    find("index-text").textContent =
      generations.length > 1
        ? "The last indexes are kept. If a new one is worse, return to an earlier one; the newer ones are then removed."
        : "There is no earlier index to return to.";
  }

  makeRollback(generation) {
    const target = make("span", { class: "hidden-text" }, ` to the index of ${formatTime(generation.created)}`);
    const button = make("button", { type: "button" }, "Roll back…", target);
    button.onclick = () => this.run(() => this.rollBack(generation));
    return button;
  }

  async rollBack(generation) {
    const created = formatTime(generation.created);
    const text = `Answers will come from the index of ${created}, with ${plural(generation.pages, "page")}. Newer indexes are removed; to get them back, index the book again.`;
    if (!(await confirm("Roll back the index?", text, "Roll back"))) return;
    find("index-status").textContent = "Checking the earlier index…";
    try {
      await this.call("POST", "/v1/index/rollback", { to: generation.id });
      find("index-status").textContent = `Answers now come from the index of ${created}.`;
    } catch (error) {
      find("index-status").textContent = "";
      throw error;
    }
    await this.showGenerations();
  }

  async reindex() {
    if (!(await confirm("Index the book again?", `The book is read from its source. ${KEPT}`, "Re-index"))) return;
    this.showReindex(await this.call("POST", "/v1/index/reindex"), true);
  }

  /** Shows how far re-indexing is, and its end if the reader saw it running. */
  showReindex(status, wasRunning) {
    if (this.isClosed) return;
    const isRunning = status.state === "running";
    find("reindex").hidden = false;
    find("source").textContent = status.source
      ? `From ${status.source}. ${KEPT}`
      : "The server does not know where the source of this book is. Start it with --source, or set `source`.";
    find("reindex-button").hidden = !status.source;
    find("reindex-button").disabled = isRunning;
    const progress = find("progress");
    progress.hidden = !isRunning;
    if (status.total) progress.value = status.done / status.total;
    else progress.removeAttribute("value");
    if (isRunning) {
      const count = status.total ? ` (${formatCount(status.done)} of ${formatCount(status.total)})` : "";
      find("index-status").textContent = `${STAGES[status.stage] ?? "Starting"}${count}…`;
      this.timer = setTimeout(() => this.run(() => this.poll()), POLL_MILLISECONDS);
    } else if (wasRunning || status.state === "failed") {
      this.showEnd(status, wasRunning);
    }
  }

  async poll() {
    this.showReindex(await this.call("GET", "/v1/index/reindex"), true);
  }

  showEnd(status, wasRunning) {
    const words = {
      published: `A new index is published: ${describeChanges(status)}`,
      unchanged: "The book has not changed, so the index stays as it is.",
    };
    find("index-status").textContent = words[status.state] ?? "";
    if (status.state === "failed") showProblem(`The last re-indexing failed, and the index stayed as it was. ${status.message}`);
    if (wasRunning && status.state === "published") this.run(() => this.showGenerations());
  }
}
