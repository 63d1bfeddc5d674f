// SPDX-License-Identifier: Apache-2.0
// Everything ends up in one file, dist/index.html: the program carries it, and it works without a network.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
    plugins: [viteSingleFile({ removeViteModuleLoader: true })],
    build: { target: "es2022", assetsInlineLimit: 1 << 20, chunkSizeWarningLimit: 2000, reportCompressedSize: false },
});
