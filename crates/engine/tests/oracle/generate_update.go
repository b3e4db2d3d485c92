package main

import (
	"fmt"
	"slices"
)

// The states of the gate and of the field that matter to HCO's mutating webhook.
var (
	gateStates = []struct {
		kind    string
		entries []any
	}{
		{"absent", nil},
		{"on", []any{object{"name": gate, "state": "Enabled"}}},
		{"off", []any{object{"name": gate, "state": "Disabled"}}},
		{"no-state", []any{object{"name": gate}}},
		{"twice-on-off", []any{object{"name": gate, "state": "Enabled"}, object{"name": gate, "state": "Disabled"}}},
		{"twice-off-on", []any{object{"name": gate, "state": "Disabled"}, object{"name": gate, "state": "Enabled"}}},
		{"case-on", []any{object{"name": "ENABLEMULTIARCHBOOTIMAGEIMPORT", "state": "Enabled"}}},
		{"case-off", []any{object{"name": "EnableMultiArchBootImageImport", "state": "Disabled"}}},
		{"among-on", []any{object{"name": "alignCPUs"}, object{"name": gate, "state": "Enabled"}}},
		{"among-off", []any{object{"name": gate, "state": "Disabled"}, object{"name": "alignCPUs"}}},
		{"near", []any{object{"name": gate + "s", "state": "Enabled"}}},
		{"dotted-i", []any{object{"name": "enableMultiArchBootİmageImport", "state": "Enabled"}}},
		{"long-s", []any{object{"name": gate + "ſ", "state": "Enabled"}}},
		{"empty-list", []any{}},
	}
	fieldStates = []string{"absent", "true", "false"}
)

// plain is the number of gateStates for which all combinations are generated.
const plain = 6

func (g *generator) update(i int) *updated {
	g.start(i, 2)
	row := &updated{ID: fmt.Sprintf("u%d-%05d", g.seed, i), OpenShift: !g.one(5), SchemaErrors: []string{}}
	pairs := plain * len(fieldStates)
	switch {
	case i < pairs*pairs:
		g.gateUpdate(row, i/pairs, i%pairs)
	case i%4 == 0:
		g.oddGateUpdate(row)
	case i%4 == 1:
		g.v1beta1Update(row)
	default:
		g.randomUpdate(row)
	}
	row.Tags = g.tagged()
	return row
}

// gateUpdate is an update of a v1 object that changes only the gate and the field.
func (g *generator) gateUpdate(row *updated, old, new int) {
	before, after := g.v1State(old), g.v1State(new)
	g.tag("v1:" + stateName(old) + "->" + stateName(new))
	row.Request = request("UPDATE", before, after)
}

func stateName(state int) string {
	return gateStates[state/len(fieldStates)].kind + "/" + fieldStates[state%len(fieldStates)]
}

func (g *generator) v1State(state int) object {
	spec := object{"workloadSources": object{}}
	if g.one(20) {
		g.tag("v1:no-sources")
		delete(spec, "workloadSources")
	}
	if gates := gateStates[state/len(fieldStates)].entries; gates != nil {
		spec["featureGates"] = clone(gates)
	}
	if field := fieldStates[state%len(fieldStates)]; field != "absent" {
		spec["workloadSources"] = object{gate: field == "true"}
	}
	return object{
		"apiVersion": group + "/v1", "kind": "HyperConverged",
		"metadata": object{"name": name, "namespace": namespace}, "spec": spec,
	}
}

func (g *generator) oddGateUpdate(row *updated) {
	states := len(gateStates) * len(fieldStates)
	old, new := g.random.IntN(states), g.random.IntN(states)
	before, after := g.v1State(old), g.v1State(new)
	switch pick(g, "update", "update", "update", "create", "empty-object") {
	case "create":
		g.tag("v1:create " + stateName(new))
		row.Request = request("CREATE", nil, after)
		return
	case "empty-object":
		// An upgrade from HCO 1.18 can leave this in etcd.
		g.tag("v1:empty-object->" + stateName(new))
		before["spec"].(object)["featureGates"] = object{}
	default:
		g.tag("v1:odd " + stateName(old) + "->" + stateName(new))
	}
	row.Request = request("UPDATE", before, after)
}

// v1beta1Update is an update of a v1beta1 object in which the gate or the annotation with the fields of v1 changes.
func (g *generator) v1beta1Update(row *updated) {
	state := func() object {
		spec, metadata := object{}, object{"name": name, "namespace": namespace}
		if kind := g.kind("gate", "absent", "true", "false"); kind != "absent" {
			spec["featureGates"] = object{gate: kind == "true"}
		}
		if !g.one(3) {
			metadata["annotations"] = object{v1Only: g.v1OnlyFields()}
		}
		return object{"apiVersion": group + "/v1beta1", "kind": "HyperConverged", "metadata": metadata, "spec": spec}
	}
	g.tag("v1beta1")
	if g.one(5) {
		g.tag("create")
		row.Request = request("CREATE", nil, state())
		return
	}
	row.Request = request("UPDATE", state(), state())
}

// randomUpdate changes a random object in one to three places.
func (g *generator) randomUpdate(row *updated) {
	version := pick(g, "v1", "v1beta1")
	g.tag("random")
	g.tag(version)
	before := g.hyperConverged(version)
	if g.one(6) {
		g.tag("create")
		row.Request = request("CREATE", nil, before)
		return
	}
	after := clone(before)
	for range 1 + g.random.IntN(3) {
		g.change(version, after)
	}
	row.Request = request("UPDATE", before, after)
}

func (g *generator) change(version string, hco object) {
	spec := hco["spec"].(object)
	sources := spec
	if version == "v1" {
		sources = child(spec, "workloadSources")
	}
	templates, _ := sources["dataImportCronTemplates"].([]any)
	at := func(then func(object)) {
		if len(templates) > 0 {
			then(templates[g.random.IntN(len(templates))].(object))
		}
	}
	switch g.kind("change", "nothing", "label", "gate", "field", "placement", "infra", "common-import", "add", "remove", "duplicate",
		"reorder", "architectures", "enable", "source", "no-templates", "annotation", "deletion") {
	case "label":
		child(child(hco, "metadata"), "labels")["example.com/changed"] = "true"
	case "gate":
		if version == "v1" {
			spec["featureGates"] = g.gateList()
		} else {
			child(spec, "featureGates")[gate] = g.one(2)
		}
	case "field":
		if version == "v1" {
			sources[gate] = g.one(2)
		}
	case "placement":
		if version == "v1" {
			child(child(spec, "deployment"), "nodePlacements")["workload"] = g.placementOrEmpty()
		} else {
			child(spec, "workloads")["nodePlacement"] = g.placementOrEmpty()
		}
	case "infra":
		if version == "v1" {
			child(child(spec, "deployment"), "nodePlacements")["infra"] = g.infra()
		} else {
			child(spec, "infra")["nodePlacement"] = g.infra()
		}
	case "common-import":
		sources["enableCommonBootImageImport"] = g.one(2)
	case "add":
		sources["dataImportCronTemplates"] = append(templates, g.template(pick(g, "custom-a", "custom-new", g.common[0].Metadata.Name), "added"))
	case "remove":
		if len(templates) > 0 {
			sources["dataImportCronTemplates"] = templates[1:]
		}
	case "duplicate":
		at(func(template object) { sources["dataImportCronTemplates"] = append(templates, clone(template)) })
	case "reorder":
		slices.Reverse(templates)
	case "architectures":
		at(func(template object) {
			child(child(template, "metadata"), "annotations")[architectures] = g.annotation(g.kind("changed-ann", annotationKinds...))
		})
	case "enable":
		at(func(template object) {
			child(child(template, "metadata"), "annotations")[enable] = pick(g, "true", "false", "TRUE", "no", "")
		})
	case "source":
		at(func(template object) {
			if spec, found := template["spec"].(object); found {
				name, _ := template["metadata"].(object)["name"].(string)
				spec["template"] = object{"spec": g.dataVolume(name, "changed")}
			}
		})
	case "no-templates":
		delete(sources, "dataImportCronTemplates")
	case "annotation":
		child(child(hco, "metadata"), "annotations")[v1Only] = g.v1OnlyFields()
	case "deletion":
		metadata := child(hco, "metadata")
		metadata["deletionTimestamp"] = "2026-08-21T00:00:00Z"
		metadata["finalizers"] = []any{"kubevirt.io/hyperconverged"}
	}
}

func (g *generator) placementOrEmpty() object {
	if placement := g.placement(); placement != nil {
		return placement
	}
	return object{}
}

// child returns the object in a field, and adds it if there is none.
func child(parent object, key string) object {
	if found, ok := parent[key].(object); ok {
		return found
	}
	added := object{}
	parent[key] = added
	return added
}

func request(operation string, before, after object) object {
	kind := object{"group": group, "version": version(after), "kind": "HyperConverged"}
	resource := object{"group": group, "version": version(after), "resource": "hyperconvergeds"}
	result := object{
		"uid":  "oracle",
		"kind": kind, "requestKind": kind,
		"resource": resource, "requestResource": resource,
		"name": name, "namespace": namespace,
		"operation": operation,
		"userInfo":  object{"username": "kubernetes-admin", "groups": []any{"system:masters", "system:authenticated"}},
		"object":    after,
	}
	if before != nil {
		result["oldObject"] = before
	}
	return result
}
