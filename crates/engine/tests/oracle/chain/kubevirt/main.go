// Writes chain-vms.jsonl.gz: the architectures that KubeVirt sets on generated VirtualMachines. chain-kubevirt FROM TO
// uses only the seeds in the ids of the rows in FROM.
package main

import (
	"context"
	"hash/fnv"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/containerizeddataimporter"
	cdifake "kubevirt.io/client-go/containerizeddataimporter/fake"
	"kubevirt.io/client-go/kubecli"
	kubevirtlog "kubevirt.io/client-go/log"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"kubevirt.io/kubevirt/pkg/defaults"
	"kubevirt.io/kubevirt/pkg/testutils"
	"kubevirt.io/kubevirt/pkg/virt-api/webhooks/validating-webhook/admitters"
	"kubevirt.io/kubevirt/pkg/virt-controller/services"
	operatorutil "kubevirt.io/kubevirt/pkg/virt-operator/util"
)

const architectureLabel = "template.kubevirt.io/architecture"

func main() {
	log.SetFlags(0)
	log.SetPrefix("kubevirt: ")
	kubevirtlog.Log.SetIOWriter(io.Discard)
	complete(os.Args[1], os.Args[2], func(row object) {
		id := row["id"].(string)
		seed := fnv.New64a()
		seed.Write([]byte(id))
		clear(row)
		row["id"] = strings.Replace(id, "o", "ov", 1)
		generate(rand.New(rand.NewPCG(seed.Sum64(), 4)), row)
		row["expected"] = expect(row)
	})
}

func generate(random *rand.Rand, row object) {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	tags := []string{}
	kind := func(prefix string, of ...string) string {
		kind := one(of...)
		tags = append(tags, prefix+":"+kind)
		return kind
	}
	sources := []object{}
	source := func(namespace, name, label string, to object) {
		labels := object{}
		if label != "absent" {
			labels[architectureLabel] = label
		}
		if to == nil {
			to = object{"pvc": object{"namespace": namespace, "name": name + "-0a1b2c"}}
		}
		sources = append(sources, object{
			"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
			"metadata": object{"namespace": namespace, "name": name, "labels": labels}, "spec": object{"source": to},
		})
	}
	pointer := func(name string) object {
		return object{"dataSource": object{"namespace": "images", "name": name}}
	}
	source("images", "labelled", one("amd64", "arm64", "s390x", "ppc64le", "ARM64", ""), nil)
	source("images", "unlabelled", "absent", nil)
	source("images", "pointer", one("absent", "absent", "amd64"), pointer("labelled"))
	source("images", "chain", "absent", pointer("pointer"))
	source("images", "dangling", one("absent", "arm64"), pointer("gone"))
	source("vms", "labelled", one("amd64", "arm64"), nil)

	disks := []any{}
	for range random.IntN(3) {
		disk := object{"metadata": object{"name": one("a", "b")}, "spec": object{"storage": object{"resources": object{"requests": object{"storage": "30Gi"}}}}}
		spec := disk["spec"].(object)
		switch name := kind("source", "labelled", "unlabelled", "pointer", "pointer", "chain", "dangling", "gone", "registry"); name {
		case "registry":
			spec["source"] = object{"registry": object{"url": "docker://x", "platform": object{"architecture": "arm64"}}}
		default:
			spec["sourceRef"] = object{"kind": one("DataSource", "DataSource", "DataSource", "datasource", "Other"), "name": name}
			switch kind("ref", "namespace", "namespace", "namespace", "empty", "absent") {
			case "namespace":
				spec["sourceRef"].(object)["namespace"] = one("images", "images", "vms")
			case "empty":
				spec["sourceRef"].(object)["namespace"] = ""
			}
		}
		disks = append(disks, disk)
	}
	machine := object{"domain": object{"devices": object{}}}
	switch architecture := kind("architecture", "absent", "absent", "absent", "", "amd64", "arm64", "s390x", "ppc64le", "AMD64"); architecture {
	case "absent":
	default:
		machine["architecture"] = architecture
	}
	switch kind("nodeSelector", "absent", "absent", "arch", "other") {
	case "arch":
		machine["nodeSelector"] = object{"kubernetes.io/arch": one("amd64", "arm64", "x")}
	case "other":
		machine["nodeSelector"] = object{"zone": "b"}
	}
	row["vm"] = object{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": object{"name": "vm", "namespace": "vms"},
		"spec": object{"runStrategy": "Always", "dataVolumeTemplates": disks, "template": object{"metadata": object{}, "spec": machine}},
	}
	row["dataSources"] = sources
	row["defaultArchitecture"] = kind("default", "", "amd64", "arm64", "s390x")
	row["statusDefaultArchitecture"] = kind("status", "", "amd64", "arm64")
	row["featureGates"] = []string{}
	row["tags"] = tags
}

func expect(row object) object {
	machine := convert[*v1.VirtualMachine](row["vm"])
	kubevirt := &v1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Name: "kubevirt", Namespace: "kubevirt"}}
	kubevirt.Spec.Configuration.ArchitectureConfiguration = &v1.ArchConfiguration{DefaultArchitecture: row["defaultArchitecture"].(string)}
	kubevirt.Status.DefaultArchitecture = row["statusDefaultArchitecture"].(string)
	operatorutil.SetDefaultArchitecture(kubevirt)
	config, _, _ := testutils.NewFakeClusterConfigUsingKV(kubevirt)

	cdi := cdifake.NewSimpleClientset()
	for _, source := range convert[[]*cdiv1beta1.DataSource](row["dataSources"]) {
		_, err := cdi.CdiV1beta1().DataSources(source.Namespace).Create(context.Background(), source, metav1.CreateOptions{})
		check(err)
	}
	explicit := machine.Spec.Template.Spec.Architecture
	defaults.SetVirtualMachineDefaults(machine, config, cluster{cdi: cdi})
	spec := &machine.Spec.Template.Spec
	reason := "default"
	// A default that no DataSource can have shows where an architecture comes from.
	odd := convert[*v1.VirtualMachine](row["vm"])
	kubevirt.Status.DefaultArchitecture = "none"
	config, _, _ = testutils.NewFakeClusterConfigUsingKV(kubevirt)
	defaults.SetVirtualMachineDefaults(odd, config, cluster{cdi: cdi})
	switch {
	case explicit != "":
		reason = "explicit"
	case odd.Spec.Template.Spec.Architecture != "none":
		reason = "datasource"
	}
	var refused any
	if causes := admitters.ValidateVirtualMachineInstancePerArch(field.NewPath("spec"), spec); len(causes) > 0 {
		refused = causes[0].Message
	}
	return object{
		"architecture": spec.Architecture, "reason": reason, "preferredArchitectures": nil, "vmiRefused": refused,
		"nodeSelector": services.NewNodeSelectorRenderer(spec.NodeSelector, config.GetNodeSelectors(), spec.Architecture).Render(),
	}
}

// cluster contains only DataSources.
type cluster struct {
	kubecli.KubevirtClient
	cdi containerizeddataimporter.Interface
}

func (c cluster) CdiClient() containerizeddataimporter.Interface { return c.cdi }
