// Draws the pictures of the handbook: node docs/pictures.mjs. Each picture is a list of boxes and arrows, with a title and a
// description for those who do not see it.

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const STYLE = `
    .paper { fill: #f6f8fa } .box { fill: #fff; stroke: #57606a } .ours { fill: #ddf4ff; stroke: #0969da }
    .lost { fill: #fff1f0; stroke: #cf222e } text { fill: #1f2328; text-anchor: middle } .note { font-size: 12px; fill: #57606a }
    .arrow { fill: none; stroke: #57606a; stroke-width: 1.5 } .tip { fill: #57606a } .dashed { stroke-dasharray: 5 4 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #161b22 } .box { fill: #0d1117; stroke: #8b949e } .ours { fill: #0c2d4a; stroke: #58a6ff }
      .lost { fill: #3b1414; stroke: #ff7b72 } text { fill: #e6edf3 } .note { fill: #9da7b3 }
      .arrow { stroke: #8b949e } .tip { fill: #8b949e }
    }`;

const escape = (text) =>
  text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A box of a width around a centre, with a title and a note below it. */
const box = (x, y, width, title, note, kind = "box") => `
  <rect class="${kind}" x="${x - width / 2}" y="${y - 28}" width="${width}" height="56" rx="6"/>
  <text x="${x}" y="${note ? y - 3 : y + 5}">${escape(title)}</text>${
    note
      ? `<text x="${x}" y="${y + 16}" class="note">${escape(note)}</text>`
      : ""
  }`;

const arrow = (path, kind = "") =>
  `\n  <path class="arrow ${kind}" d="${path}" marker-end="url(#tip)"/>`;

const note = (x, y, text) =>
  `\n  <text x="${x}" y="${y}" class="note">${escape(text)}</text>`;

function draw(name, width, height, title, description, parts) {
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="14">
  <title id="title">${escape(title)}</title>
  <desc id="description">${escape(description)}</desc>
  <style>${STYLE}
  </style>
  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>
  <rect class="paper" width="${width}" height="${height}"/>${parts.join("")}
</svg>
`;
  writeFileSync(
    fileURLToPath(new URL(`${name}.svg`, import.meta.url)),
    picture,
  );
}

draw(
  "concepts",
  860,
  370,
  "From the HyperConverged to a VM",
  "A user sends a HyperConverged to the API server, which asks this policy; the policy compares the object with the nodes. " +
    "HCO hands the templates to SSP, SSP creates a DataImportCron for each architecture, and CDI imports a disk for each of them: " +
    "here fedora-amd64 and fedora-arm64. A VM takes its architecture from the disk, and runs on a node of that architecture.",
  [
    box(95, 60, 150, "HyperConverged", "kubectl, GitOps, HCO"),
    box(295, 60, 130, "API server"),
    box(295, 190, 130, "this policy", "in the policy-server", "ours"),
    box(95, 190, 130, "nodes", "architectures"),
    box(480, 60, 110, "HCO", "templates"),
    box(620, 60, 110, "SSP", "imports"),
    box(765, 60, 130, "CDI", "reads the registry"),
    box(620, 190, 150, "fedora-amd64", "a disk and its name"),
    box(775, 190, 140, "fedora-arm64", "a disk and its name"),
    box(620, 310, 150, "VM, amd64", "runs on an amd64 node"),
    box(775, 310, 140, "VM, arm64", "runs on an arm64 node"),
    arrow("M170 60H228"),
    arrow("M360 60H423"),
    arrow("M285 88V160"),
    arrow("M305 162V90"),
    arrow("M160 190H228"),
    arrow("M535 60H563"),
    arrow("M675 60H698"),
    arrow("M745 88C745 125 640 125 625 160"),
    arrow("M770 88V160"),
    arrow("M620 218V280"),
    arrow("M775 218V280"),
    note(247, 128, "request"),
    note(350, 128, "verdict, fix"),
    note(455, 176, "One disk for each"),
    note(455, 194, "architecture, if the"),
    note(455, 212, "import is on"),
    note(455, 300, "The VM takes its"),
    note(455, 318, "architecture from the"),
    note(455, 336, "label of its disk"),
  ],
);

draw(
  "platforms",
  760,
  290,
  "Which overlay",
  "Does HCO deploy SSP? Only on OpenShift and OKD. On OpenShift Virtualization, use the overlay openshift-virtualization; on OKD, " +
    "use okd; on other distributions of Kubernetes, use kubernetes, where no rule about golden images reports anything. Components such as " +
    "v1beta1-only, monitoring, protect, fail-closed, break-glass, images, repair, and virtual-machines are added to any of them.",
  [
    box(380, 45, 240, "Which platform?"),
    box(130, 150, 220, "openshift-virtualization", "openshift-cnv", "ours"),
    box(380, 150, 220, "okd", "kubevirt-hyperconverged", "ours"),
    box(630, 150, 220, "kubernetes", "no golden images", "ours"),
    arrow("M300 73L150 120"),
    arrow("M380 73V120"),
    arrow("M460 73L610 120"),
    note(150, 92, "OpenShift Virtualization"),
    note(412, 100, "OKD"),
    note(608, 92, "other Kubernetes"),
    box(
      380,
      245,
      720,
      "+ components, to any of them",
      "v1beta1-only · monitoring · protect · fail-closed · break-glass · images · repair · virtual-machines",
    ),
    arrow("M130 217V180", "dashed"),
    arrow("M380 217V180", "dashed"),
    arrow("M630 217V180", "dashed"),
  ],
);
