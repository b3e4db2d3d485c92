// Builds the page into a directory: node build.mjs ../policy.wasm ../target/playground

import { gzipSync } from "node:zlib";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { examples } from "./examples.mjs";

/** The limit for everything that a visitor loads, compressed. */
const BUDGET = 800_000;

const [module = "../policy.wasm", out = "../target/playground"] = process.argv.slice(2);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

await build({
  entryPoints: ["src/page.ts", "src/worker.ts", "src/style.css"],
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
copyFileSync("src/index.html", join(out, "index.html"));
writeFileSync(join(out, "examples.json"), JSON.stringify(examples("../e2e-tests/cases")));
// Compressed here, because not every server compresses binary files.
writeFileSync(join(out, "policy.wasm.gz"), gzipSync(readFileSync(module), { level: 9 }));
writeFileSync(join(out, "licenses.txt"), licenses());

let total = 0;
for (const name of readdirSync(out).sort()) {
  const content = readFileSync(join(out, name));
  const size = name.endsWith(".gz") ? content.length : gzipSync(content, { level: 9 }).length;
  // The page does not load this file.
  if (name !== "licenses.txt") total += size;
  console.log(`${name}: ${size} bytes compressed`);
}
console.log(`playground: ${total} bytes compressed (at most ${BUDGET})`);
if (total > BUDGET) process.exit(1);

/** The licenses of the bundled packages, which must be distributed with the page. */
function licenses() {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const names = new Set(Object.keys(dependencies));
  for (const name of names) {
    for (const below of Object.keys(lock.packages[`node_modules/${name}`].dependencies ?? {})) names.add(below);
  }
  return [...names]
    .sort()
    .map((name) => {
      const directory = join("node_modules", name);
      const { version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
      const files = readdirSync(directory)
        .filter((file) => /^licen[cs]e/i.test(file))
        .sort();
      const texts = files.map((file) => readFileSync(join(directory, file), "utf8").trim());
      return [`${name} ${version}: ${license}`, ...texts].join("\n\n");
    })
    .join(`\n\n${"-".repeat(80)}\n\n`);
}
