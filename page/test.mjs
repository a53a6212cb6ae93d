// Bundles the tests of the page's modules and runs them: node test.mjs
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "mane-page-"));
try {
  const entryPoints = readdirSync("test").map((name) => join("test", name));
  await build({ entryPoints, outdir: folder, bundle: true, format: "esm", platform: "node", outExtension: { ".js": ".mjs" } });
  const files = readdirSync(folder).map((name) => join(folder, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
