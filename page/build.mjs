// Builds the page into the Python package: node build.mjs FOLDER
import { build } from "esbuild";
import { cpSync, mkdirSync } from "node:fs";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
await build({
  // WebGPU is a file of its own, which pages that draw with WebGL2 do not load; it needs nothing of three's but types.
  entryPoints: { salon: "src/main.ts", webgpu: "src/webgpu/open.ts" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome100", "firefox100", "safari15.4"], // what three needs of each for WebGL2
  legalComments: "eof",
  logLevel: "warning",
});
for (const name of ["index.html", "salon.css", "icon.svg"]) cpSync(`src/${name}`, `${folder}/${name}`);
