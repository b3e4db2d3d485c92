package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"sigs.k8s.io/yaml"
)

const (
	gate              = "enableMultiArchBootImageImport"
	architectures     = "ssp.kubevirt.io/dict.architectures"
	enable            = "dataimportcrontemplate.kubevirt.io/enable"
	immediate         = "cdi.kubevirt.io/storage.bind.immediate.requested"
	v1Only            = "hco.kubevirt.io/v1-only-fields"
	workerLabel       = "node-role.kubernetes.io/worker"
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// created is a row about the creation of an object.
type created struct {
	ID          string    `json:"id"`
	HCO         object    `json:"hco"`
	Nodes       []object  `json:"nodes"`
	Tags        []string  `json:"tags"`
	SchemaError *string   `json:"schemaError"`
	Expected    *expected `json:"expected"`
}

// updated is a row about a request to create or update an object. Patched is the object after HCO's mutating webhook,
// if the webhook changes it.
type updated struct {
	ID           string   `json:"id"`
	Tags         []string `json:"tags"`
	OpenShift    bool     `json:"openshift"`
	Request      object   `json:"request"`
	Patched      object   `json:"patched,omitempty"`
	SchemaErrors []string `json:"schemaErrors"`
	HCO          asked    `json:"hco"`
}

// generator generates objects that are valid for the API server's schema unless a tag says otherwise, biased to fields
// that affect architectures. Row i depends only on the seed and i, so every version of HCO gets the same objects.
type generator struct {
	seed   uint64
	common []commonTemplate
	random *rand.Rand
	tags   map[string]bool
}

type commonTemplate struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Template struct {
			Spec struct {
				Source struct {
					Registry object `json:"registry"`
				} `json:"source"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// newGenerator reads the names and registries of HCO's common templates, so that a new common template is covered.
func newGenerator(seed uint64, directory string) (*generator, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return nil, err
	}
	g := &generator{seed: seed}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var templates []commonTemplate
		if err := yaml.Unmarshal(text, &templates); err != nil {
			return nil, err
		}
		g.common = append(g.common, templates...)
	}
	if len(g.common) == 0 {
		return nil, fmt.Errorf("no common templates in %s", directory)
	}
	slices.SortFunc(g.common, func(a, b commonTemplate) int {
		if a.Metadata.Name < b.Metadata.Name {
			return -1
		}
		return 1
	})
	return g, nil
}

func (g *generator) start(i int, stream uint64) {
	g.random = rand.New(rand.NewPCG(g.seed<<32|uint64(i), stream))
	g.tags = map[string]bool{}
}

func (g *generator) tag(tag string) { g.tags[tag] = true }

func (g *generator) tagged() []string {
	tags := make([]string, 0, len(g.tags))
	for tag := range g.tags {
		tags = append(tags, tag)
	}
	sort.Strings(tags)
	return tags
}

func (g *generator) one(of int) bool { return g.random.IntN(of) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.random.IntN(len(of))] }

// kind picks a kind and tags the row with it.
func (g *generator) kind(prefix string, of ...string) string {
	kind := pick(g, of...)
	g.tag(prefix + ":" + kind)
	return kind
}

func (g *generator) create(i int) *created {
	g.start(i, 1)
	version := pick(g, "v1", "v1beta1")
	g.tag(version)
	hco := g.hyperConverged(version)
	nodes := g.nodes()
	return &created{ID: fmt.Sprintf("o%d-%05d", g.seed, i), HCO: hco, Nodes: nodes, Tags: g.tagged()}
}

func (g *generator) hyperConverged(version string) object {
	spec := object{}
	annotations := object{}
	if g.one(6) {
		annotations["deployOVS"] = "false"
	}
	placement := g.placement()
	var infra any
	if g.one(7) {
		g.tag("infra-placement")
		infra = g.infra()
	}
	templates := g.templates()
	common := g.kind("common-import", "absent", "absent", "absent", "true", "false", "null")
	sources := object{}
	if version == "v1beta1" {
		sources = spec
	}
	if templates != nil {
		sources["dataImportCronTemplates"] = templates
	}
	switch common {
	case "true", "false":
		sources["enableCommonBootImageImport"] = common == "true"
	case "null":
		sources["enableCommonBootImageImport"] = nil
	}

	if version == "v1" {
		placements := object{}
		if placement != nil {
			placements["workload"] = placement
		}
		if infra != nil {
			placements["infra"] = infra
		}
		if len(placements) > 0 || g.one(12) {
			spec["deployment"] = object{"nodePlacements": placements}
		}
		switch field := g.kind("field", "absent", "absent", "true", "false", "null"); field {
		case "true", "false":
			sources[gate] = field == "true"
		case "null":
			sources[gate] = nil
		}
		if len(sources) > 0 || !g.one(4) {
			spec["workloadSources"] = sources
		}
		if !g.one(3) {
			spec["featureGates"] = g.gateList()
		}
	} else {
		if placement != nil {
			spec["workloads"] = object{"nodePlacement": placement}
		}
		if infra != nil {
			spec["infra"] = object{"nodePlacement": infra}
		}
		if gates := g.gateMap(); gates != nil {
			spec["featureGates"] = gates
		}
	}
	if g.one(4) {
		annotations[v1Only] = g.v1OnlyFields()
	}
	if g.one(16) {
		g.tag("other-version-fields")
		if version == "v1" {
			spec["workloads"] = object{"nodePlacement": object{"nodeSelector": object{"kubernetes.io/arch": "sparc"}}}
			spec["enableCommonBootImageImport"] = false
			spec["dataImportCronTemplates"] = []any{g.template("from-v1beta1", "custom")}
		} else {
			spec["deployment"] = object{"nodePlacements": object{"workload": object{"nodeSelector": object{"kubernetes.io/arch": "sparc"}}}}
			spec["workloadSources"] = object{gate: true, "enableCommonBootImageImport": false}
		}
	}
	if g.one(20) {
		// HCO 1.17 and 1.18 warn about this field, and do not validate the fields after the warning.
		g.tag("tuning-policy:highBurst")
		if version == "v1" {
			spec["virtualization"] = object{"tuningPolicy": "highBurst"}
		} else {
			spec["tuningPolicy"] = "highBurst"
		}
	}
	metadata := object{"name": name, "namespace": namespace}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return object{"apiVersion": group + "/" + version, "kind": "HyperConverged", "metadata": metadata, "spec": spec}
}

var otherGates = []string{"alignCPUs", "decentralizedLiveMigration", "downwardMetrics", "objectGraph", "template", "noSuchGate"}

// gateList is v1's list of feature gates.
func (g *generator) gateList() []any {
	entries := []any{}
	for range g.random.IntN(3) {
		entries = append(entries, g.gateEntry(pick(g, otherGates...)))
	}
	add := func(kind, name string) {
		g.tag("gate:" + kind)
		at := g.random.IntN(len(entries) + 1)
		entries = slices.Insert(entries, at, any(g.gateEntry(name)))
	}
	switch pick(g, "listed", "listed", "listed", "listed", "odd-case", "odd-case", "near-miss", "twice", "absent") {
	case "listed":
		add("listed", gate)
	case "odd-case":
		add("odd-case", g.oddCase())
	case "near-miss":
		add("near-miss", pick(g, gate+"s", "enableMultiArch", " "+gate, gate+"ſ", "enableMultiArchBootİmageImport", ""))
	case "twice":
		add("twice", gate)
		add("twice", pick(g, gate, g.oddCase()))
	}
	return entries
}

func (g *generator) oddCase() string {
	return pick(g, "ENABLEMULTIARCHBOOTIMAGEIMPORT", "enablemultiarchbootimageimport", "EnableMultiArchBootImageImport")
}

func (g *generator) gateEntry(name string) object {
	entry := object{"name": name}
	switch pick(g, "Enabled", "Enabled", "Disabled", "Disabled", "absent", "null") {
	case "Enabled":
		entry["state"] = "Enabled"
	case "Disabled":
		entry["state"] = "Disabled"
	case "null":
		entry["state"] = nil
	}
	return entry
}

// gateMap is v1beta1's object of feature gates.
func (g *generator) gateMap() object {
	gates := object{}
	switch kind := g.kind("gate", "absent", "absent", "true", "true", "false", "null"); kind {
	case "true", "false":
		gates[gate] = kind == "true"
	case "null":
		gates[gate] = nil
	}
	if g.one(12) {
		g.tag("gate:odd-case-key")
		gates[g.oddCase()] = g.one(2)
	}
	if g.one(8) {
		gates["persistentReservation"] = g.one(2)
	}
	if g.one(8) {
		gates["noSuchGate"] = g.one(2)
	}
	if g.one(10) {
		g.tag("gate:deprecated")
		gates["nonRoot"] = true
	}
	if len(gates) == 0 && g.one(2) {
		return nil
	}
	return gates
}

// v1OnlyFields is the annotation in which HCO keeps fields of v1 on a v1beta1 object.
func (g *generator) v1OnlyFields() string {
	switch g.kind("v1only", "field", "gates", "both", "malformed", "empty", "other") {
	case "field":
		return pick(g, `{"multiArchEnabled":true}`, `{"multiArchEnabled":false}`, `{"MULTIARCHENABLED":true}`, `{"multiArchEnabled":null}`)
	case "gates":
		return string(encode(object{"featureGates": g.gateList()}))
	case "both":
		return string(encode(object{"multiArchEnabled": g.one(2), "featureGates": g.gateList()}))
	case "malformed":
		return pick(g, "", "not json", "{", "{} {}", `"x"`, "[]", `{"multiArchEnabled":"yes"}`, `{"featureGates":{}}`, "null1")
	case "empty":
		return pick(g, "{}", "null", " {} ")
	default:
		return pick(g, `{"mdevConfigEnable":true}`, `{"unknown":1}`, `{"deployNetworkResourcesInjector":false}`)
	}
}

func (g *generator) templates() []any {
	if g.one(7) {
		g.tag("dicts:none")
		return nil
	}
	templates := []any{}
	for range g.random.IntN(4) {
		if g.one(2) {
			templates = append(templates, g.template(pick(g, g.common...).Metadata.Name, "common"))
		} else {
			templates = append(templates, g.template(pick(g, "custom-a", "custom-b", "fedora-image-cron-custom", "win11-image-cron"), "custom"))
		}
	}
	// Two templates with one name are an error that hides everything else, so keep most of them out.
	if !g.one(8) {
		seen := map[any]bool{}
		templates = slices.DeleteFunc(templates, func(it any) bool {
			name := it.(object)["metadata"].(object)["name"]
			duplicate := seen[name]
			seen[name] = true
			return duplicate
		})
	} else if len(templates) > 0 && g.one(2) {
		g.tag("dict:duplicate")
		templates = append(templates, clone(pick(g, templates...)))
	}
	if g.one(20) {
		g.tag("dict:uppercase-name")
		templates = append(templates, g.template("Uppercase-Image", "custom"))
	}
	if g.one(25) {
		g.tag("dict:no-name")
		unnamed := g.template("", "custom")
		delete(unnamed["metadata"].(object), "name")
		templates = append(templates, unnamed)
	}
	return templates
}

// known are the architectures of nodes, from which templates mostly choose as well.
var known = []string{"amd64", "arm64", "s390x"}

// annotation is a value of the architectures annotation of a kind.
func (g *generator) annotation(kind string) string {
	first, second := pick(g, known...), pick(g, known...)
	switch kind {
	case "plain-one":
		return first
	case "plain-many":
		return pick(g, "amd64,arm64", "arm64,amd64", "amd64,arm64,s390x", "arm64,s390x")
	case "space":
		return pick(g, first+", "+second, " "+first, first+" ", first+" ,"+second, first+",\t"+second)
	case "unknown":
		return pick(g, "x86_64", "aarch64", "riscv64", "ppc64le", "amd46", "x86_64,aarch64", first+",x86_64", "none")
	case "uppercase":
		return pick(g, "AMD64", "Arm64", "AMD64,arm64", first+",ARM64")
	case "empty":
		return ""
	case "blank":
		return pick(g, " ", "   ", "\t")
	case "stray-comma":
		return pick(g, first+",", ","+first, first+",,"+second, ",", ",,", first+", ,"+second)
	case "duplicates":
		return pick(g, first+","+first, first+","+second+","+first)
	default:
		panic(kind)
	}
}

var annotationKinds = []string{
	"plain-one", "plain-one", "plain-many", "plain-many", "space", "unknown", "uppercase", "empty", "blank", "stray-comma", "duplicates",
}

func (g *generator) template(name, prefix string) object {
	annotations := object{}
	if g.one(4) {
		g.tag(prefix + "-ann:absent")
	} else {
		annotations[architectures] = g.annotation(g.kind(prefix+"-ann", annotationKinds...))
	}
	kinds := []string{"absent", "absent", "absent", "absent", "true", "false", "odd-case"}
	if g.one(6) {
		kinds = append(kinds, "garbage", "garbage")
	}
	enabled := g.kind("enable", kinds...)
	switch enabled {
	case "true", "false":
		annotations[enable] = enabled
	case "odd-case":
		annotations[enable] = pick(g, "TRUE", "True", "FALSE", "False")
	case "garbage":
		annotations[enable] = pick(g, "", "yes", " true", "1", "disabled")
	}
	if g.one(3) {
		annotations[immediate] = "true"
	}
	metadata := object{"name": name}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	template := object{"metadata": metadata}
	if (enabled == "false" && g.one(2)) || g.one(25) {
		g.tag(prefix + "-spec:absent")
		return template
	}
	spec := object{
		"managedDataSource": pick(g, name, "other-source"),
		"schedule":          pick(g, "0 */12 * * *", "13 7/12 * * *", ""),
		"template":          object{"spec": g.dataVolume(name, prefix)},
	}
	if g.one(4) {
		spec["garbageCollect"] = "Outdated"
	}
	if g.one(4) {
		spec["retentionPolicy"] = pick(g, "All", "None")
	}
	if g.one(4) {
		spec["importsToKeep"] = pick(g, 1, 3)
	}
	template["spec"] = spec
	return template
}

// dataVolume is the spec with the image. For a common template it matters whether the registry is HCO's own.
func (g *generator) dataVolume(name, prefix string) object {
	volume := object{}
	if g.one(2) {
		volume["storage"] = object{"resources": object{"requests": object{"storage": "10Gi"}}}
	}
	own := object{"url": "docker://quay.io/custom/" + name + ":latest"}
	for _, common := range g.common {
		if common.Metadata.Name == name {
			own = clone(common.Spec.Template.Spec.Source.Registry)
		}
	}
	source := object{}
	switch g.kind(prefix+"-source", "same", "same", "same", "changed", "changed", "same+pullMethod", "imageStream", "other-source", "empty-source", "no-source", "changed-empty") {
	case "same":
		source["registry"] = own
	case "changed":
		source["registry"] = object{"url": "docker://registry.example.com/" + name + ":v2"}
	case "same+pullMethod":
		own["pullMethod"] = "node"
		source["registry"] = own
	case "imageStream":
		source["registry"] = object{"imageStream": name + "-is", "pullMethod": "node"}
	case "other-source":
		source["http"] = object{"url": "https://example.com/disk.qcow2"}
	case "changed-empty":
		source["registry"] = object{}
	case "no-source":
		return volume
	}
	volume["source"] = source
	return volume
}

func (g *generator) nodes() []object {
	arches := pick(g, []string{"amd64"}, []string{"arm64"}, []string{"amd64", "arm64"}, []string{"amd64", "arm64"},
		[]string{"amd64", "arm64", "s390x"}, []string{"s390x", "amd64"}, []string{"amd64", "ppc64le"}, []string{"riscv64"})
	roles := g.kind("roles", "standard", "standard", "standard", "compact", "hosted", "arbiter", "random", "none")
	if g.one(40) {
		g.tag("nodes:none")
		return []object{}
	}
	var nodes []object
	for i := range 1 + g.random.IntN(6) {
		labels := object{}
		switch roles {
		case "standard":
			if i < 2 {
				labels[controlPlaneLabel] = ""
			} else {
				labels[workerLabel] = ""
			}
		case "compact":
			labels[workerLabel], labels[controlPlaneLabel] = "", ""
			labels["node-role.kubernetes.io/master"] = ""
		case "hosted":
			labels[workerLabel] = ""
			labels["node-role.kubevirt.io/control-plane"] = ""
		case "arbiter":
			labels[pick(g, workerLabel, controlPlaneLabel, "node-role.kubernetes.io/arbiter")] = ""
		case "random":
			for _, role := range []string{workerLabel, controlPlaneLabel, "node-role.kubernetes.io/master", "node-role.kubernetes.io/arbiter"} {
				if g.one(3) {
					labels[role] = pick(g, "", "true", "false", "x")
				}
			}
		}
		architecture := pick(g, arches...)
		switch g.random.IntN(8) {
		case 0:
			g.tag("arch-label-missing")
		case 1:
			g.tag("arch-label-contradicts")
			labels["kubernetes.io/arch"] = pick(g, "amd64", "sparc", "")
		default:
			labels["kubernetes.io/arch"] = architecture
		}
		for _, label := range []struct {
			key    string
			values []string
		}{
			{"kubernetes.io/os", []string{"linux"}},
			{"topology.kubernetes.io/zone", []string{"zone-a", "zone-b"}},
			{"nodeType", []string{"virt", "infra", "gpu", ""}},
			{"cpu-gen", []string{"1", "4", "-1", "+4", "1_000", "9223372036854775807", "9223372036854775808", "abc"}},
		} {
			if g.one(2) {
				labels[label.key] = pick(g, label.values...)
			}
		}
		node := object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": object{"name": fmt.Sprintf("node-%d", i), "labels": labels},
			"status":   object{"nodeInfo": object{"architecture": architecture}},
		}
		if g.one(20) {
			g.tag("node-without-arch")
			node["status"] = pick(g, object{}, object{"nodeInfo": object{"architecture": ""}})
		}
		if g.one(6) {
			g.tag("node-unschedulable")
			node["spec"] = object{"unschedulable": true}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func (g *generator) placement() object {
	placement := object{}
	switch g.kind("placement", "absent", "absent", "empty", "selector", "selector", "affinity", "affinity", "affinity",
		"selector+affinity", "preferred-only", "pod-affinity-only", "tolerations-only", "nulls") {
	case "absent":
		return nil
	case "selector":
		placement["nodeSelector"] = g.selector()
	case "affinity":
		placement["affinity"] = object{"nodeAffinity": g.nodeAffinity()}
	case "selector+affinity":
		placement["nodeSelector"] = g.selector()
		placement["affinity"] = object{"nodeAffinity": g.nodeAffinity()}
	case "preferred-only":
		placement["affinity"] = object{"nodeAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": g.preferred()}}
	case "pod-affinity-only":
		placement["affinity"] = object{"podAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": []any{
			object{"topologyKey": "kubernetes.io/hostname", "labelSelector": object{"matchLabels": object{"a": "b"}}},
		}}}
	case "tolerations-only":
		placement["tolerations"] = []any{object{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}}
	case "nulls":
		return pick(g,
			object{"nodeSelector": nil},
			object{"affinity": nil},
			object{"affinity": object{"nodeAffinity": nil}},
			object{"affinity": object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": nil}}},
		)
	}
	return placement
}

func (g *generator) infra() any {
	if g.one(3) {
		return object{"nodeSelector": g.selector()}
	}
	return object{"affinity": object{"nodeAffinity": g.nodeAffinity()}}
}

func (g *generator) selector() object {
	return pick(g,
		object{"kubernetes.io/arch": pick(g, known...)},
		object{"kubernetes.io/os": "linux"},
		object{workerLabel: ""},
		object{"nodeType": "virt"},
		object{"kubernetes.io/arch": "amd64", "nodeType": pick(g, "virt", "infra")},
		object{"no-such-label": "x"},
		object{"not a label": "x"},
		object{},
	)
}

func (g *generator) preferred() []any {
	return []any{object{"weight": 50, "preference": g.term()}}
}

func (g *generator) nodeAffinity() object {
	terms := []any{}
	for range g.random.IntN(4) {
		terms = append(terms, g.term())
	}
	switch {
	case len(terms) == 0:
		g.tag("terms:empty-list")
	case len(terms) > 1:
		g.tag("terms:ored")
	}
	affinity := object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": terms}}
	if g.one(6) {
		affinity["preferredDuringSchedulingIgnoredDuringExecution"] = g.preferred()
	}
	return affinity
}

func (g *generator) term() object {
	term := object{}
	switch pick(g, "expressions", "expressions", "expressions", "expressions", "fields", "both", "empty") {
	case "expressions":
		term["matchExpressions"] = g.requirements(g.expression)
	case "fields":
		g.tag("term:matchFields")
		term["matchFields"] = g.requirements(g.field)
	case "both":
		g.tag("term:expressions+fields")
		term["matchExpressions"] = g.requirements(g.expression)
		term["matchFields"] = g.requirements(g.field)
	case "empty":
		g.tag("term:empty")
		return pick(g, object{}, object{"matchExpressions": []any{}}, object{"matchExpressions": []any{}, "matchFields": []any{}})
	}
	return term
}

func (g *generator) requirements(one func() object) []any {
	requirements := []any{one()}
	for g.one(3) {
		g.tag("term:anded")
		requirements = append(requirements, one())
	}
	return requirements
}

func (g *generator) expression() object {
	if g.one(14) {
		g.tag("invalid")
		return pick(g,
			object{"key": "nodeType", "operator": "In"},
			object{"key": "nodeType", "operator": "In", "values": []any{}},
			object{"key": "nodeType", "operator": "Exists", "values": []any{"x"}},
			object{"key": "nodeType", "operator": "Equal", "values": []any{"x"}},
			object{"key": "nodeType", "operator": "", "values": []any{"x"}},
			object{"key": "cpu-gen", "operator": "Gt", "values": []any{"x"}},
			object{"key": "cpu-gen", "operator": "Lt", "values": []any{"1", "2"}},
			object{"key": "cpu-gen", "operator": "Gt", "values": []any{"9223372036854775808"}},
			object{"key": "cpu-gen", "operator": "Gt", "values": []any{pick(g, "-1", "+1")}},
			object{"key": "cpu-gen", "operator": "Lt"},
			object{"key": "not a label", "operator": "Exists"},
			object{"key": "", "operator": "Exists"},
			object{"key": "nodeType", "operator": "In", "values": []any{"not a value"}},
		)
	}
	operator := pick(g, "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
	g.tag("op:" + operator)
	switch operator {
	case "Gt", "Lt":
		return object{"key": pick(g, "cpu-gen", "no-such-label"), "operator": operator,
			"values": []any{pick(g, "0", "1", "3", "9223372036854775807", "007")}}
	case "Exists", "DoesNotExist":
		return object{"key": pick(g, workerLabel, controlPlaneLabel, "nodeType", "kubernetes.io/arch", "no-such-label"), "operator": operator}
	default:
		if g.one(2) {
			return object{"key": "kubernetes.io/arch", "operator": operator,
				"values": pick(g, []any{"amd64"}, []any{"arm64"}, []any{"amd64", "arm64"}, []any{"s390x", "s390x"}, []any{""})}
		}
		return object{"key": pick(g, "nodeType", "topology.kubernetes.io/zone", "no-such-label"), "operator": operator,
			"values": pick(g, []any{"virt"}, []any{"zone-a"}, []any{"infra", "gpu"}, []any{""})}
	}
}

func (g *generator) field() object {
	if g.one(5) {
		g.tag("invalid:field")
		return pick(g,
			object{"key": "metadata.name", "operator": "In", "values": []any{"node-0", "node-1"}},
			object{"key": "metadata.name", "operator": "In"},
			object{"key": "metadata.name", "operator": "Exists"},
			object{"key": "metadata.name", "operator": "Gt", "values": []any{"1"}},
		)
	}
	operator := g.kind("field", "In", "NotIn")
	return object{"key": pick(g, "metadata.name", "metadata.name", "metadata.name", "metadata.namespace"), "operator": operator,
		"values": []any{pick(g, "node-0", "node-1", "node-2", "")}}
}
