// Completes the rows of SSP's program with the results of the Containerized Data Importer (CDI) for the
// DataImportCrons: chain-cdi FROM TO.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"sort"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8sfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	"kubevirt.io/containerized-data-importer/pkg/apiserver/webhooks"
	cdifake "kubevirt.io/containerized-data-importer/pkg/client/clientset/versioned/fake"
	"kubevirt.io/containerized-data-importer/pkg/controller"
)

const (
	architectureLabel = "template.kubevirt.io/architecture"
	cronLabel         = "cdi.kubevirt.io/dataImportCron"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("cdi: ")
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	check(flags.Set("logtostderr", "false"))
	check(flags.Set("stderrthreshold", "FATAL"))
	klog.SetOutput(io.Discard)
	complete(os.Args[1], os.Args[2], func(row object) {
		if row["wanted"] == nil {
			return
		}
		wanted := convert[wanted](row["wanted"])
		delete(row, "wanted")
		forecast(row["expected"].(object), &wanted)
	})
}

type wanted struct {
	Crons       []*cdiv1.DataImportCron `json:"crons"`
	DataSources []*cdiv1.DataSource     `json:"dataSources"`
	// The managedDataSources that SSP received.
	Given []string `json:"given"`
}

func forecast(expected object, wanted *wanted) {
	crons := expected["crons"].([]any)
	settles := len(expected["sameName"].([]any)) == 0
	var stopped any
	if !settles {
		stopped = "same-name"
	}

	var accepted []*cdiv1.DataImportCron
	for i, cron := range wanted.Crons {
		column := find(crons, cron)
		cron.UID = types.UID(fmt.Sprintf("%08x-0000", i))
		refused, by := refusedByAPIServer(cron), "api-server"
		if refused == nil {
			refused, by = refusedByWebhook(cron), "cdi-webhook"
		}
		column["refused"], column["refusedBy"] = refused, nil
		column["polling"], column["pollingRefused"], column["firstImportRefused"] = nil, nil, nil
		if refused != nil {
			column["refusedBy"] = by
			stopped = "data-import-cron"
			continue
		}
		accepted = append(accepted, cron)
	}
	refusedSources := map[string]any{}
	var sources []*cdiv1.DataSource
	nameless := false
	for _, source := range wanted.DataSources {
		nameless = nameless || source.Name == ""
		if refused := refusedByAPIServer(source); refused != nil {
			refusedSources[source.Namespace+"/"+source.Name] = refused
			stopped = "data-source"
			continue
		}
		sources = append(sources, source)
	}
	expected["stopped"] = stopped
	if nameless {
		// SSP's client doesn't send an object without a name, so SSP never reaches the crons.
		accepted = nil
	}

	var after []cdiv1.DataSource
	filled := map[string]bool{}
	if settles {
		cluster := controller.OracleReconcile(sources, accepted)
		for i, cron := range accepted {
			column := find(crons, cron)
			column["polling"] = cluster.Polling[i]
			column["pollingRefused"] = orNil(cluster.PollingRefused[i])
			column["firstImportRefused"] = orNil(cluster.FirstImportRefused[i])
		}
		after, filled = cluster.DataSources, cluster.Filled
	}

	// A managedDataSource, with and without the suffix of an architecture.
	related := map[string]bool{}
	for _, name := range wanted.Given {
		for _, suffix := range []string{"", "-amd64", "-arm64", "-s390x"} {
			related[name+suffix] = true
		}
	}
	columns := []object{}
	add := func(source *cdiv1.DataSource, by string) {
		target, pointsTo := source.Name, any(nil)
		if pointer := source.Spec.Source.DataSource; pointer != nil {
			target, pointsTo = pointer.Name, pointer.Name
		}
		if !related[source.Name] && !related[target] {
			return
		}
		column := object{
			"name": source.Name, "namespace": source.Namespace, "by": by, "pointsTo": pointsTo,
			"architectureLabel": source.Labels[architectureLabel], "cron": source.Labels[cronLabel], "refused": refusedSources[source.Namespace+"/"+source.Name],
		}
		if settles {
			column["filled"] = column["refused"] == nil && filled[source.Namespace+"/"+target]
		}
		columns = append(columns, column)
	}
	// CDI adds labels to SSP's DataSources.
	changed := map[string]*cdiv1.DataSource{}
	for i := range after {
		changed[after[i].Namespace+"/"+after[i].Name] = &after[i]
	}
	for _, source := range wanted.DataSources {
		key := source.Namespace + "/" + source.Name
		if changed[key] != nil {
			source = changed[key]
		}
		add(source, "ssp")
		delete(changed, key)
	}
	for _, source := range changed {
		add(source, "cdi")
	}
	sort.Slice(columns, func(a, b int) bool {
		return fmt.Sprint(columns[a]["namespace"], columns[a]["name"]) < fmt.Sprint(columns[b]["namespace"], columns[b]["name"])
	})
	expected["dataSources"] = columns
}

func find(crons []any, cron *cdiv1.DataImportCron) object {
	for _, it := range crons {
		column := it.(object)
		if column["name"] == cron.Name && column["namespace"] == cron.Namespace && column["managedDataSource"] == cron.Spec.ManagedDataSource {
			return column
		}
	}
	panic("no column for " + cron.Name)
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// refusedByWebhook returns the answer of CDI's webhook to the creation of a DataImportCron.
func refusedByWebhook(cron *cdiv1.DataImportCron) any {
	raw, err := json.Marshal(cron)
	check(err)
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "oracle", Operation: admissionv1.Create, Namespace: cron.Namespace, Name: cron.Name,
			Resource: metav1.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "dataimportcrons"},
			Object:   runtime.RawExtension{Raw: raw},
		},
	})
	check(err)
	request := httptest.NewRequest("POST", "/", bytes.NewReader(review))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	webhook.ServeHTTP(answer, request)
	var answered admissionv1.AdmissionReview
	check(json.Unmarshal(answer.Body.Bytes(), &answered))
	if answered.Response.Allowed {
		return nil
	}
	return answered.Response.Result.Message
}

var webhook = webhooks.NewDataImportCronValidatingWebhook(k8sfake.NewSimpleClientset(), cdifake.NewSimpleClientset())
