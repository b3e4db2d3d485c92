// Builds the handbook: node docs/build.mjs target/handbook target/playground. The pages in docs/ link to each other and
// to files of the repository, so that you can read them there. In the handbook, README.md is the first page, the pages of
// the rules are in rules/, and links to other files go to the repository.

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [out, playground] = process.argv.slice(2).map((path) => resolve(path));
const source = `${out}-src`;
const RULES = "crates/engine/src/rules/";
const DOCS = ["docs/", "docs/developers/"];
const mistakes = [];

const read = (path) => readFileSync(join(root, path), "utf8");
const markdown = (directory) =>
  readdirSync(join(root, directory))
    .filter((name) => name.endsWith(".md"))
    .map((name) => directory + name);

const pages = [...DOCS, RULES].flatMap(markdown);

const cargo = read("Cargo.toml");
const setting = (key) => new RegExp(`^${key} = "(.*)"`, "m").exec(cargo)[1];
const [repository, tag] = [setting("repository"), `v${setting("version")}`];

/** The path of a repository file in the handbook; undefined if the handbook does not contain it. */
function place(path) {
  if (path === "README.md") return "overview.md";
  if (path.startsWith(RULES)) return `rules/${path.slice(RULES.length)}`;
  return path.startsWith("docs/") ? path.slice("docs/".length) : undefined;
}

/** The target of a link, rewritten for the handbook. */
function link(page, target) {
  if (/^(https?:|mailto:)/.test(target)) return target;
  const [file, anchor] = target.split("#");
  const path =
    file === "" ? page : relative(root, resolve(root, dirname(page), file));
  if (!existsSync(join(root, path))) {
    mistakes.push(`${page}: ${target}: no such file`);
    return target;
  }
  if (anchor !== undefined && !anchors(path).has(anchor))
    mistakes.push(`${page}: ${target}: no such heading`);
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  const inBook = place(path);
  if (inBook !== undefined)
    return relative(dirname(place(page) ?? ""), inBook) + suffix;
  const kind = statSync(join(root, path)).isDirectory() ? "tree" : "blob";
  return `${repository}/${kind}/${tag}/${path}${suffix}`;
}

/** The headings of a page, as GitHub and mdBook name them in links. */
function anchors(path) {
  const headings = outsideOfCode(read(path)).filter((line) =>
    /^#+ /.test(line),
  );
  const name = (line) =>
    line
      .replace(/^#+ /, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
  return new Set(headings.map(name));
}

function outsideOfCode(text) {
  let isCode = false;
  return text.split("\n").filter((line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    return !isCode;
  });
}

/** A page, with its links rewritten for the handbook. */
function page(path) {
  let isCode = false;
  const lines = read(path)
    .split("\n")
    .map((line) => {
      if (/^\s*```/.test(line)) {
        isCode = !isCode;
        // The words after the language are for tests.
        return line.replace(/(```\w+) .*/, "$1");
      }
      return isCode
        ? line
        : line.replace(
            /\]\(([^)\s]+)\)/g,
            (_, target) => `](${link(path, target)})`,
          );
    });
  return lines.join("\n");
}

/** Finds links to missing files and headings in the pages that were built. */
function checkBuilt() {
  const files = readdirSync(out, { recursive: true }).filter((name) =>
    name.endsWith(".html"),
  );
  const ids = new Map();
  const idsOf = (file) => {
    if (!ids.has(file)) {
      const html = readFileSync(file, "utf8");
      ids.set(
        file,
        new Set([...html.matchAll(/\sid="([^"]*)"/g)].map((it) => it[1])),
      );
    }
    return ids.get(file);
  };
  for (const name of files.filter(
    (name) => !name.startsWith("playground/") && name !== "404.html",
  )) {
    const html = readFileSync(join(out, name), "utf8");
    for (const [, target] of html.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (/^(https?:|mailto:|data:)/.test(target) || target === "") continue;
      const [path, anchor] = target.split("#");
      const file =
        path === "" ? join(out, name) : resolve(out, dirname(name), path);
      if (!existsSync(file))
        mistakes.push(`${name}: ${target}: no such file in the book`);
      else if (
        anchor &&
        file.endsWith(".html") &&
        !file.includes("/playground/") &&
        !idsOf(file).has(anchor)
      )
        mistakes.push(`${name}: ${target}: no such heading in the book`);
    }
  }
}

function stopAtMistakes() {
  if (mistakes.length === 0) return;
  console.error(mistakes.join("\n"));
  process.exit(1);
}

rmSync(source, { recursive: true, force: true });
for (const name of ["rules", "developers"])
  mkdirSync(join(source, name), { recursive: true });
for (const name of readdirSync(join(root, "docs"))) {
  if (/\.(png|svg|json|css)$/.test(name))
    cpSync(join(root, "docs", name), join(source, name));
}
for (const path of ["README.md", ...pages])
  writeFileSync(join(source, place(path)), page(path));
const book = read("docs/book.toml");
writeFileSync(
  join(source, "book.toml"),
  book.replace(/^(title = ".*)"$/m, `$1 ${tag}"`),
);
// These pages are not in the handbook; only their links are checked.
for (const path of ["CONTRIBUTING.md", "SECURITY.md"]) page(path);

const rules = [
  ...read("docs/settings.md").matchAll(/^\| \[`([\w-]+)`\]/gm),
].map(([, id]) => `  - [${id}](rules/${id}.md)\n`);
const summary = readFileSync(join(source, "SUMMARY.md"), "utf8");
writeFileSync(
  join(source, "SUMMARY.md"),
  summary.replace("(settings.md)\n", `(settings.md)\n${rules.join("")}`),
);
for (const path of pages) {
  const inBook = place(path);
  if (
    inBook !== "SUMMARY.md" &&
    !readFileSync(join(source, "SUMMARY.md"), "utf8").includes(`(${inBook})`)
  )
    mistakes.push(`${path} is not in docs/SUMMARY.md`);
}
stopAtMistakes();

rmSync(out, { recursive: true, force: true });
execFileSync("mdbook", ["build", source, "--dest-dir", out], {
  stdio: ["ignore", "ignore", "inherit"],
});
const page404 = join(out, "404.html");
if (existsSync(page404)) rmSync(page404);
cpSync(playground, join(out, "playground"), { recursive: true });
checkBuilt();
stopAtMistakes();
console.log(`${join(out, "index.html")}: ${pages.length} pages`);
