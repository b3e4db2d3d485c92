// The commands that repeat a check on the command line, and the output of kubectl. User input is never run: the
// shell reads each file from a here-document with a quoted delimiter, and a terminal gets only printable characters.

import type { Exchange } from "./cluster";
import type { Verdict } from "./judge";
import { isObject, type State } from "./state";
import { INVISIBLE } from "./text";

interface Files {
  [name: string]: string;
}

/** The check with hco-preflight. */
export function preflightCommand(state: State, verdict: Verdict): string {
  const files: Files = { "hyperconverged.yaml": source(state.object, verdict.request.object) };
  let command = "hco-preflight check -f hyperconverged.yaml";
  if (state.oldObject.trim() !== "") {
    files["old.yaml"] = source(state.oldObject, verdict.request.oldObject);
    command += " --old old.yaml";
  }
  files["nodes.json"] = json(verdict.nodes);
  command += " --nodes nodes.json";
  if (state.settings.trim() !== "") {
    files["settings.yaml"] = source(state.settings, verdict.settings);
    command += " --settings settings.yaml";
  }
  return script(files, command);
}

/** The same evaluation with kwctl. */
export function kwctlCommand(verdict: Verdict): string {
  // A host neither records nor replays a call that it rejects. kwctl rejects this call without the flag.
  const refused = verdict.exchanges.filter((it) => it.operation === "list_resources_all" && isRefusal(it));
  const files: Files = {
    "request.json": json(verdict.request),
    "settings.json": json(verdict.settings),
    "session.yml": session(verdict.exchanges.filter((it) => !refused.includes(it))),
  };
  const flag = refused.length > 0 ? "" : " --allow-context-aware";
  const command =
    `kwctl run "$OLDPWD/annotated-policy.wasm"${flag} --settings-path settings.json \\\n` +
    "  --request-path request.json --replay-host-capabilities-interactions session.yml";
  return script(files, command);
}

/** The prefix that the host adds to an error that occurs while it handles a call. */
const HANDLER_ERROR = "Callback evaluation failure: ";

function isRefusal({ answer }: Exchange): boolean {
  return "error" in answer && !answer.error.startsWith(HANDLER_ERROR);
}

/** Runs in a subshell and an empty directory, so that it does not overwrite any files. */
function script(files: Files, command: string): string {
  const documents = Object.entries(files).map(([name, text]) => {
    const content = text.endsWith("\n") ? text : `${text}\n`;
    const end = delimiter(content);
    return `cat > ${name} <<'${end}'\n${content}${end}\n`;
  });
  return `(\ncd "$(mktemp -d)" || exit\n${documents.join("")}${command}\n)\n`;
}

function delimiter(content: string): string {
  const lines = new Set(content.split("\n"));
  for (let number = 0; ; number++) {
    const end = `END${number || ""}`;
    if (!lines.has(end)) return end;
  }
}

/** The user's text, if a terminal accepts every character of it unchanged; otherwise its value as JSON. */
function source(text: string, value: unknown): string {
  return isPlain(text) ? text : json(value);
}

/** A tab completes words, and some shells expand an exclamation mark even in quotes. */
function isPlain(text: string): boolean {
  return !text.replaceAll("\n", "").match(INVISIBLE) && !text.includes("!");
}

/** JSON in which these characters are escaped. Only strings can contain them. */
function json(value: unknown): string {
  return escaped(JSON.stringify(value, null, 1));
}

function escaped(json: string): string {
  const unit = (it: string) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json
    .split("\n")
    .map((line) => line.replace(INVISIBLE, (it) => [...it.split("")].map(unit).join("")).replaceAll("!", unit))
    .join("\n");
}

/**
 * A session as kwctl records it.
 *
 * MIRRORS: crates/policy-host/src/session.rs and crates/policy-host/src/request.rs, including names, fields, and their order.
 */
function session(exchanges: Exchange[]): string {
  const lines = exchanges.map(({ namespace, operation, payload, answer }) => {
    const [tag, fields] = requestOf(namespace, operation, payload);
    const response =
      "ok" in answer
        ? { type: "Success", payload: answer.ok }
        : { type: "Error", message: answer.error.replace(HANDLER_ERROR, "") };
    // JSON is YAML.
    const request = `!${tag} ${JSON.stringify(fields)}`;
    return `- type: Exchange\n  request: ${string(request)}\n  response: ${escaped(JSON.stringify(response))}\n`;
  });
  return lines.join("") || "[]\n";
}

function string(text: string): string {
  return escaped(JSON.stringify(text));
}

function requestOf(namespace: string, operation: string, payload: unknown): [string, unknown] {
  const fields = isObject(payload) ? payload : {};
  switch (`${namespace}/${operation}`) {
    case "kubernetes/list_resources_all":
      return ["KubernetesListResourceAll", fields];
    case "kubernetes/can_i":
      return ["KubernetesCanI", { request: fields["subject_access_review"], disable_cache: fields["disable_cache"] }];
    case "oci/v1/oci_manifest":
      return ["OciManifest", { image: payload }];
    default:
      return ["OciManifestAndConfig", { image: payload }];
  }
}

/** The webhook of the policy that deploy/ installs. */
const WEBHOOK = "clusterwide-hco-architecture-guard.kubewarden.admission";

/** The output of kubectl when you create or replace the object; e2e-tests/tests/cluster compares it with kubectl. */
export function kubectlOutput({ report, warnings, request }: Verdict): string {
  const isUpdate = request.operation === "UPDATE";
  const lines = [`$ kubectl ${isUpdate ? "replace" : "create"} -f hyperconverged.yaml`];
  lines.push(...warnings.map((warning) => `Warning: ${warning}`));
  if (report.allowed) {
    const kind = `${request.kind.kind.toLowerCase()}.${request.kind.group}`;
    lines.push(`${kind}/${request.name} ${isUpdate ? "replaced" : "created"}`);
  } else {
    const verb = isUpdate ? "replacing" : "creating";
    lines.push(
      `Error from server: error when ${verb} "hyperconverged.yaml": admission webhook "${WEBHOOK}" denied the request: ${report.message ?? ""}`,
    );
  }
  return lines.join("\n");
}
