//go:build hub_v1

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubevirt/hyperconverged-cluster-operator/controllers/handlers"
	goldenimages "github.com/kubevirt/hyperconverged-cluster-operator/controllers/handlers/golden-images"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/nodeinfo"
)

// handedOver is a row about the object that HCO passes to the Scheduling, Scale and Performance operator (SSP).
// chain/ssp and chain/cdi complete it.
type handedOver struct {
	ID          string   `json:"id"`
	Tags        []string `json:"tags"`
	HCO         object   `json:"hco"`
	Nodes       []object `json:"nodes"`
	SchemaError *string  `json:"schemaError"`
	Expected    object   `json:"expected"`
	SSP         object   `json:"ssp,omitempty"`
}

func init() {
	chain = func(o *oracle, g *generator, i int) any {
		row := g.handedOver(i)
		o.handOver(row)
		return row
	}
}

// handOver handles a created object as HCO does, and stops at the first error.
func (o *oracle) handOver(row *handedOver) {
	row.Expected = object{
		"error": nil, "multiArch": nil, "workloadArchitectures": nil, "controlPlaneArchitectures": nil, "defaultArchitecture": "",
		"sspArchitectures": []string{}, "notDeployed": []string{}, "crons": []object{}, "lost": []string{}, "lostCrons": []object{},
		"sameName": []string{}, "stopped": nil, "dataSources": []object{}, "dataSourcesTotal": 0, "vmTemplates": object{},
	}
	refuse := func(at, message string) { row.Expected["error"] = object{"stage": "hco", "at": at, "message": message} }

	sent := o.schemas[version(row.HCO)].admitted(row.HCO)
	mutated, panicked := o.ask(o.mutator(sent), admissionv1.Create, sent, nil)
	if message := denied(mutated, panicked); message != nil {
		refuse("mutating-webhook", *message)
		return
	}
	if len(mutated.Patches) > 0 {
		patch, err := jsonpatch.DecodePatch(encode(mutated.Patches))
		if err != nil {
			panic(err)
		}
		text, err := patch.Apply(encode(sent))
		if err != nil {
			refuse("mutating-webhook-patch", err.Error())
			return
		}
		sent = convert[object](text)
	}
	if message := o.refusal(o.validator(sent, true), sent); message != nil {
		refuse("validating-webhook", *message)
		return
	}
	hub, err := o.hub(sent)
	if err != nil {
		refuse("conversion", err.Error())
		return
	}

	o.cluster.hub = hub
	o.cluster.nodes = nil
	for _, node := range row.Nodes {
		o.cluster.nodes = append(o.cluster.nodes, convert[corev1.Node](node))
	}
	if panicked := catch(func() {
		if _, err := nodeinfo.HandleNodeChanges(context.Background(), o.cluster, hub, logr.Discard()); err != nil {
			panic(err)
		}
		ssp, templates, err := handlers.NewSSP(hub, false)
		if err != nil {
			panic(err)
		}
		passed := map[string]bool{}
		for _, template := range ssp.Spec.CommonTemplates.DataImportCronTemplates {
			passed[template.Name] = true
		}
		notDeployed := []string{}
		for _, template := range templates {
			if !passed[template.Name] {
				notDeployed = append(notDeployed, template.Name)
			}
		}
		row.Expected["multiArch"] = goldenimages.IsMultiArchEnabled(hub)
		row.Expected["workloadArchitectures"] = list(nodeinfo.GetWorkloadsArchitectures())
		row.Expected["controlPlaneArchitectures"] = list(nodeinfo.GetControlPlaneArchitectures())
		row.Expected["defaultArchitecture"] = nodeinfo.GetDefaultArchitecture()
		row.Expected["notDeployed"] = notDeployed
		row.SSP = convert[object](encode(ssp))
	}); panicked != nil {
		refuse("reconcile", *panicked)
	}
}

// handedOver generates an object that HCO mostly accepts, biased to fields that affect SSP and CDI. It does not use
// values that the API server would not store.
func (g *generator) handedOver(i int) *handedOver {
	g.start(i, 3)
	version := pick(g, "v1", "v1beta1")
	g.tag(version)
	spec, sources := object{}, object{}
	if version == "v1" {
		spec["workloadSources"] = sources
	} else {
		sources = spec
	}
	switch enabled := g.kind("import", "absent", "off", "on", "on", "on"); {
	case enabled == "absent":
	case version == "v1" && g.one(2):
		sources[gate] = enabled == "on"
	case version == "v1":
		spec["featureGates"] = []any{object{"name": gate, "state": map[string]string{"on": "Enabled", "off": "Disabled"}[enabled]}}
	default:
		spec["featureGates"] = object{gate: enabled == "on"}
	}
	if g.one(6) {
		g.tag("common-import:false")
		sources["enableCommonBootImageImport"] = false
	}
	if g.one(10) {
		g.tag("common-boot-namespace")
		sources["commonBootImageNamespace"] = pick(g, "kubevirt-os-images", "own-images")
	}
	if g.one(4) {
		if placement := g.placement(); placement != nil && version == "v1" {
			spec["deployment"] = object{"nodePlacements": object{"workload": placement}}
		} else if placement != nil {
			spec["workloads"] = object{"nodePlacement": placement}
		}
	}
	templates, names := []any{}, map[string]bool{}
	for range g.random.IntN(6) {
		template := g.imported()
		name, _ := template["metadata"].(object)["name"].(string)
		if !names[name] {
			templates = append(templates, template)
		}
		names[name] = true
	}
	sources["dataImportCronTemplates"] = templates
	nodes := g.nodes()
	if !g.one(8) {
		// SSP rejects everything because of one node with an unknown architecture.
		for _, node := range nodes {
			g.knownArchitecture(node)
		}
	}
	hco := object{"apiVersion": group + "/" + version, "kind": "HyperConverged",
		"metadata": object{"name": name, "namespace": namespace}, "spec": spec}
	return &handedOver{ID: fmt.Sprintf("o%d-%05d", g.seed, i), Tags: g.tagged(), HCO: hco, Nodes: nodes}
}

func (g *generator) knownArchitecture(node object) {
	info, _ := node["status"].(object)["nodeInfo"].(object)
	if architecture, _ := info["architecture"].(string); architecture == "" || !slices.Contains(known, architecture) {
		node["status"] = object{"nodeInfo": object{"architecture": pick(g, known...)}}
	}
	if labels, _ := node["metadata"].(object)["labels"].(object); labels["kubernetes.io/arch"] != nil && !g.one(8) {
		labels["kubernetes.io/arch"] = node["status"].(object)["nodeInfo"].(object)["architecture"]
	}
}

// imported generates a template: mostly an importable one, with one field that may prevent the import.
func (g *generator) imported() object {
	name, managed := g.names()
	annotations := object{}
	if kind := g.kind("ann", append([]string{"absent", "absent", "absent"}, annotationKinds...)...); kind != "absent" {
		annotations[architectures] = g.annotation(kind)
	}
	if g.one(20) {
		annotations[enable] = "false"
	}
	metadata := object{"annotations": annotations}
	if name != "" {
		metadata["name"] = name
	}
	if g.one(10) {
		g.tag("template-namespace")
		metadata["namespace"] = pick(g, "kubevirt-os-images", "own-images")
	}
	url := "docker://quay.io/custom/" + pick(g, "a", "b") + ":latest"
	volume := object{
		"source":  object{"registry": object{"url": url}},
		"storage": object{"resources": object{"requests": object{"storage": "10Gi"}}},
	}
	spec := object{"managedDataSource": managed, "schedule": "0 */12 * * *", "template": object{"spec": volume}}
	if g.one(2) {
		spec["retentionPolicy"] = pick(g, "None", "All", "Forever")
	}
	// An empty name on a pointer stops the fake API server before the columns are known.
	if managed == "" {
		delete(annotations, architectures)
	}
	if g.one(3) {
		g.oddity(url, spec, volume)
	}
	return object{"metadata": metadata, "spec": spec}
}

// names generates a name and a managedDataSource. Suffixes and names close to the length limits are frequent.
func (g *generator) names() (name, managed string) {
	managed = pick(g, "centos-stream9", "centos-stream10", "fedora", "rhel8", "rhel9", "ubuntu", "win11", "custom-a", "custom-b")
	name = managed + "-image-cron"
	switch g.kind("name", "plain", "plain", "plain", "plain", "plain", "other-managed", "long", "long-managed", "suffixed", "suffixed-managed", "odd", "odd-managed") {
	case "other-managed":
		name = pick(g, "a", "z") + "-" + name
	case "long":
		name = padded(managed, pick(g, 36, 37, 38, 42, 43, 44, 57, 58, 63, 64, 70, 253, 254))
	case "long-managed":
		managed = padded(managed, pick(g, 56, 57, 58, 62, 63, 64, 70))
	case "suffixed":
		name += "-" + pick(g, known...)
	case "suffixed-managed":
		name = "custom-" + name
		managed += "-" + pick(g, known...)
	case "odd":
		name = pick(g, "", "a.b", "Upper-Image", "under_score", "with space", "sl/ash", "-leading", "ünicode")
	case "odd-managed":
		managed = pick(g, "", "a.b", "RHEL9", "under_score", "with space", "sl/ash")
	}
	return name, managed
}

func padded(name string, length int) string {
	return name + strings.Repeat("x", max(0, length-len(name)))
}

// oddity changes one field of a template.
func (g *generator) oddity(url string, spec, volume object) {
	registry := func(of object) { volume["source"] = object{"registry": of} }
	storage := func(size any) { volume["storage"] = object{"resources": object{"requests": object{"storage": size}}} }
	claim := func(modes ...any) object {
		return object{"accessModes": append([]any{}, modes...), "resources": object{"requests": object{"storage": "10Gi"}}}
	}
	switch g.kind("odd", "schedule", "schedule", "url", "registry", "source", "storage", "claim", "volume", "number") {
	case "schedule":
		spec["schedule"] = pick(g, "", "@daily", "@every 1h", "TZ=UTC 0 4 * * *", "CRON_TZ=Europe/Prague 0 3 * * *", "TZ=Nowhere/City 0 4 * * *",
			"* * * *", "0 0 0 * * *", "61 * * * *", "0 12 ? * MON-FRI", "H 4 * * *", " 0  4 * * * ", "often", "*/0 * * * *", "5-1 * * * *")
	case "url":
		registry(object{"url": pick(g, "", "quay.io/custom/x", "//quay.io/custom/x", "http://quay.io/x", "DOCKER://quay.io/x", "oci-archive://x",
			"docker://quay.io:port/x", "docker://a b/c", "docker://%zz", "docker://[::1", "docker://")})
	case "registry":
		registry(pick(g, object{}, object{"url": url, "pullMethod": "node"}, object{"url": url, "pullMethod": "pod"},
			object{"url": url, "pullMethod": ""}, object{"url": url, "pullMethod": "Node"}, object{"imageStream": "x"},
			object{"imageStream": "x", "pullMethod": "node"}, object{"imageStream": "x", "pullMethod": "pod"},
			object{"imageStream": "", "pullMethod": "node"}, object{"imageStream": "x", "url": url, "pullMethod": "node"},
			object{"url": url, "platform": object{"architecture": "amd64"}}))
	case "source":
		volume["source"] = pick(g, object{}, object{"http": object{"url": "https://example.com/disk"}}, object{"blank": object{}},
			object{"pvc": object{"name": "golden", "namespace": "vm-images"}}, object{"pvc": object{"name": "", "namespace": "vm-images"}},
			object{"pvc": object{"name": "golden", "namespace": "vm-images"}, "registry": object{"url": url}})
		if g.one(4) {
			delete(volume, "source")
		}
	case "storage":
		storage(pick(g, "0", "-1Gi", "1023Ki", "1Mi", "1Gi"))
		switch {
		case g.one(4):
			delete(volume, "storage")
		case g.one(4):
			volume["storage"] = object{}
		case g.one(4):
			volume["storage"].(object)["storageClassName"] = padded("class", pick(g, 253, 254))
		case g.one(4):
			volume["storage"].(object)["accessModes"] = []any{pick(g, "ReadWriteMany", "RWX")}
		}
	case "claim":
		volume["pvc"] = pick(g, claim("ReadWriteOnce"), claim(), claim("ReadWriteOnce", "ReadWriteMany"), claim("RWX"),
			object{"accessModes": []any{"ReadWriteOnce"}})
		if !g.one(5) {
			delete(volume, "storage")
		}
	case "volume":
		switch key := pick(g, "sourceRef", "contentType", "checkpoints", "finalCheckpoint", "preallocation"); key {
		case "sourceRef":
			volume[key] = object{"kind": "DataSource", "name": "x"}
		case "contentType":
			volume[key] = "kubevirt"
		case "checkpoints":
			volume[key] = []any{object{"current": "a", "previous": "b"}}
		default:
			volume[key] = true
		}
	case "number":
		if g.one(2) {
			spec["importsToKeep"] = pick(g, -1, 0, 1, 3)
		} else {
			spec["garbageCollect"] = pick(g, "Never", "Outdated", "never", "")
		}
	}
}
