// SPDX-License-Identifier: Apache-2.0
// Everything ends up in one file, dist/index.html: the program carries it, and it works without a network.
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// What the page is made of asks to be passed on with its licence; the page travels alone, so it carries them.
const licences = {
    name: "licences",
    enforce: "post",
    transformIndexHtml(html) {
        const text = ["three", "uplot", "@fontsource-variable/inter"]
            .map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}`)
            .join("\n\n")
            .replaceAll("--", "- -"); // would end the comment
        return html.replace("<body>", () => `<!--\nThis page contains the following.\n\n${text}\n-->\n<body>`);
    },
};

export default defineConfig({
    plugins: [viteSingleFile({ removeViteModuleLoader: true }), licences],
    build: { target: "es2022", assetsInlineLimit: 1 << 20, chunkSizeWarningLimit: 2000, reportCompressedSize: false },
});
