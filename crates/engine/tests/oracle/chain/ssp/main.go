// Completes the rows of handed-over.jsonl.gz with the results of the Scheduling, Scale and Performance operator (SSP)
// for its object: chain-ssp FROM TO. Run it in the SSP checkout.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	ssp "kubevirt.io/ssp-operator/api/v1beta3"
	"kubevirt.io/ssp-operator/internal/architecture"
	"kubevirt.io/ssp-operator/internal/common"
	common_templates "kubevirt.io/ssp-operator/internal/operands/common-templates"
	data_sources "kubevirt.io/ssp-operator/internal/operands/data-sources"
	template_bundle "kubevirt.io/ssp-operator/internal/template-bundle"
	"kubevirt.io/ssp-operator/webhooks"
)

// A cluster without objects. The code that runs here only reads.
var empty = fake.NewClientBuilder().WithScheme(common.Scheme).Build()

func main() {
	log.SetFlags(0)
	log.SetPrefix("ssp: ")
	ctrl.SetLogger(logr.Discard())
	bundle := filepath.Join("data", "common-templates-bundle", fmt.Sprintf("common-templates-%s.yaml", common_templates.Version))
	templates, err := template_bundle.ReadTemplates(bundle)
	check(err)
	sources, err := template_bundle.CollectDataSources(templates)
	check(err)
	vmTemplates := map[architecture.Arch]int{}
	for i := range templates {
		arch, err := common_templates.GetTemplateArch(&templates[i])
		check(err)
		vmTemplates[arch]++
	}
	complete(os.Args[1], os.Args[2], func(row object) {
		if row["ssp"] == nil {
			return
		}
		instance := convert[*ssp.SSP](row["ssp"])
		delete(row, "ssp")
		expected := row["expected"].(object)
		if err := webhooks.OracleValidate(instance, empty); err != nil {
			expected["error"] = object{"stage": "ssp-webhook", "at": "validating-webhook", "message": err.Error()}
			return
		}
		archs, err := architecture.GetSSPArchs(&instance.Spec)
		check(err)
		expected["sspArchitectures"] = archs
		counts := object{}
		for _, arch := range archs {
			counts[string(arch)] = vmTemplates[arch]
		}
		expected["vmTemplates"] = counts
		want(row, expected, sources, instance)
	})
}

// want adds the columns that follow from SSP's DataImportCrons and DataSources. The next program gets the crons and
// DataSources themselves.
func want(row, expected object, sources template_bundle.DataSourceCollection, instance *ssp.SSP) {
	wanted := wantedOf(sources, instance)
	alone := *instance.DeepCopy()
	crons, lost, lostCrons := []object{}, []string{}, []object{}
	// The template of each cron, and the last template that wants a DataSource, which SSP assigns to it.
	templateOf, last := map[string]string{}, map[string]string{}
	each := func(visit func(template string, cron *cdiv1beta1.DataImportCron)) {
		for _, template := range instance.Spec.CommonTemplates.DataImportCronTemplates {
			alone.Spec.CommonTemplates.DataImportCronTemplates = []ssp.DataImportCronTemplate{template}
			for _, cron := range wantedOf(sources, &alone).Crons {
				visit(template.Name, cron)
			}
		}
	}
	each(func(template string, cron *cdiv1beta1.DataImportCron) {
		templateOf[key(cron)] = template
		last[cron.Namespace+"/"+cron.Spec.ManagedDataSource] = template
	})
	each(func(template string, cron *cdiv1beta1.DataImportCron) {
		isThere := slices.ContainsFunc(wanted.Crons, func(it *cdiv1beta1.DataImportCron) bool { return key(it) == key(cron) })
		if isThere && templateOf[key(cron)] == template {
			return
		}
		it := column(template, cron)
		it["to"] = nil
		if winner := last[cron.Namespace+"/"+cron.Spec.ManagedDataSource]; winner != template {
			it["to"] = winner
		}
		lostCrons = append(lostCrons, it)
		if !slices.Contains(lost, template) {
			lost = append(lost, template)
		}
	})
	names, sameName := map[string]bool{}, []string{}
	for _, cron := range wanted.Crons {
		it := column(templateOf[key(cron)], cron)
		it["platform"] = ""
		if source := cron.Spec.Template.Spec.Source; source != nil && source.Registry != nil && source.Registry.Platform != nil {
			it["platform"] = source.Registry.Platform.Architecture
		}
		crons = append(crons, it)
		name := cron.Namespace + "/" + cron.Name
		if names[name] && !slices.Contains(sameName, name) {
			sameName = append(sameName, name)
		}
		names[name] = true
	}
	slices.SortFunc(crons, func(a, b object) int {
		return slices.Compare([]string{a["name"].(string), a["managedDataSource"].(string)}, []string{b["name"].(string), b["managedDataSource"].(string)})
	})
	slices.Sort(sameName)
	slices.Sort(lost)
	expected["crons"], expected["lost"], expected["lostCrons"], expected["sameName"] = crons, lost, lostCrons, sameName
	expected["dataSourcesTotal"] = len(wanted.Sources)
	given := []string{}
	for _, template := range instance.Spec.CommonTemplates.DataImportCronTemplates {
		given = append(given, template.Spec.ManagedDataSource)
	}
	row["wanted"] = object{"crons": wanted.Crons, "dataSources": wanted.Sources, "given": given}
}

func wantedOf(sources template_bundle.DataSourceCollection, instance *ssp.SSP) data_sources.OracleWanted {
	wanted, err := data_sources.OracleWant(sources, &common.Request{
		Client: empty, UncachedReader: empty, Context: context.Background(), Instance: instance, Logger: logr.Discard(),
	})
	check(err)
	return wanted
}

// key distinguishes crons. Two crons with the same name can differ only in their DataSource.
func key(cron *cdiv1beta1.DataImportCron) string {
	return cron.Namespace + "/" + cron.Name + "/" + cron.Spec.ManagedDataSource
}

func column(template string, cron *cdiv1beta1.DataImportCron) object {
	suffix := ""
	if cron.Name != template {
		suffix = cron.Labels[common_templates.TemplateArchitectureLabel]
	}
	return object{
		"template": template, "name": cron.Name, "namespace": cron.Namespace, "managedDataSource": cron.Spec.ManagedDataSource,
		"architecture": suffix,
	}
}
