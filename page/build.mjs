// Builds the page into the Python package: node build.mjs FOLDER
import { build } from "esbuild";
import { cpSync, mkdirSync } from "node:fs";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: ["src/main.ts"],
  outfile: `${folder}/salon.js`,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome100", "firefox100", "safari15.4"], // what three needs of each for WebGL2
  legalComments: "eof",
  logLevel: "warning",
});
for (const name of ["index.html", "salon.css", "icon.svg"]) cpSync(`src/${name}`, `${folder}/${name}`);
