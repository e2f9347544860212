import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** The hash of everything that the built files are made from; tests/server/page/test_widget_file.py computes the same. */
function hashSources() {
  const names = readdirSync(`${folder}src`).map((name) => `src/${name}`);
  const hash = createHash("sha256");
  for (const name of [...names, "package-lock.json", "vite.config.js"].sort()) {
    hash.update(`${name}\0`).update(readFileSync(folder + name)).update("\0");
  }
  return hash.digest("hex");
}

/** `vite build` makes the script for any page; `vite build --mode module` makes the module for sites with a build of their own. */
const LIBRARIES = {
  production: { entry: "src/main.ts", formats: ["iife"], name: "BookboundWidget", fileName: () => "widget.js" },
  module: { entry: "src/module.ts", formats: ["es"], fileName: () => "widget.mjs" },
};

export default defineConfig(({ mode }) => ({
  build: {
    target: "es2022",
    outDir: "../src/bookbound/server/page",
    emptyOutDir: false,
    copyPublicDir: false,
    lib: LIBRARIES[mode],
    minify: true,
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
}));
