#!/usr/bin/env bats

# Requests are in requests/, and recorded host calls in sessions/. `make e2e-tests` builds annotated-policy.wasm.

setup() {
  cd "$BATS_TEST_DIRNAME/.."
}

# evaluate REQUEST SESSION [FLAG]...
evaluate() {
  run kwctl run annotated-policy.wasm --request-path "e2e-tests/requests/$1.json" --allow-context-aware \
    --replay-host-capabilities-interactions "e2e-tests/sessions/$2.yml" "${@:3}"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "accept nodes of one architecture" {
  evaluate import-off amd64
  [[ "$output" == *'"allowed":true'* ]]
}

@test "deny a mixed cluster while the import is off, and print the fix" {
  evaluate import-off mixed
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'"code":403'* ]]
  [[ "$output" == *'[multi-arch-import-disabled] spec.featureGates.enableMultiArchBootImageImport'* ]]
  [[ "$output" == *'fix: '* ]]
}

@test "accept a mixed cluster if every template has its architectures" {
  evaluate import-on mixed
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'"workload-architectures":"amd64,arm64"'* ]]
}

@test "deny a template without the architectures annotation" {
  evaluate annotation-missing mixed
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'architectures-missing/my-rhel=deny'* ]]
}

@test "accept a mixed cluster whose workloads are on one architecture" {
  evaluate one-architecture mixed
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'"workload-architectures":"amd64"'* ]]
}

@test "deny an architecture with an invalid name" {
  evaluate malformed mixed
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'architectures-malformed/my-rhel=deny'* ]]
}

@test "accept an update that keeps an existing problem, and warn" {
  evaluate existing-problem mixed
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'multi-arch-import-disabled=carried'* ]]
  [[ "$output" == *'"warnings":['* ]]
}

@test "warn where the settings ask for a warning" {
  evaluate import-off mixed --settings-json '{"levels": {"multi-arch-import-disabled": "warn"}}'
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'multi-arch-import-disabled=warn'* ]]
}

@test "say which permission is missing if the nodes cannot be read" {
  evaluate import-off forbidden
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'"code":500'* ]]
  [[ "$output" == *'[nodes-unreadable]'* ]]
}

@test "compare the annotation with the image" {
  evaluate import-on image --settings-json '{"images": "verify"}'
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'image-architectures-mismatch/my-rhel=deny'* ]]
}

@test "repair an annotation if the settings ask for it" {
  evaluate untidy mixed --settings-json '{"repair": {"architectures-untidy": "normalise"}}'
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'"patchType":"JSONPatch"'* ]]
}

@test "reject invalid settings, and accept other kinds without reading nodes" {
  run kwctl run annotated-policy.wasm --request-path e2e-tests/requests/pod.json --settings-json '{"level": {}}'
  [ "$status" -ne 0 ]
  [[ "$output" == *'`level`'* ]]
  run kwctl run annotated-policy.wasm --request-path e2e-tests/requests/pod.json
  [[ "$output" == *'"allowed":true'* ]]
}
