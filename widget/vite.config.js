import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** The hash of everything that the built file is made from; tests/widget/test_built_file.py computes the same. */
function hashSources() {
  const names = readdirSync(`${folder}src`).map((name) => `src/${name}`);
  const hash = createHash("sha256");
  for (const name of [...names, "package-lock.json", "vite.config.js"].sort()) {
    hash.update(`${name}\0`).update(readFileSync(folder + name)).update("\0");
  }
  return hash.digest("hex");
}

export default defineConfig({
  build: {
    target: "es2022",
    outDir: "../src/bookbound/server/page",
    emptyOutDir: false,
    copyPublicDir: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "BookboundWidget", fileName: () => "widget.js" },
  },
  plugins: [
    {
      name: "banner",
      generateBundle(_options, bundle) {
        const banner = `/* Bookbound widget, Apache-2.0. Sources: sha256 ${hashSources()} */\n`;
        for (const part of Object.values(bundle)) if (part.type === "chunk") part.code = banner + part.code;
      },
    },
  ],
});
