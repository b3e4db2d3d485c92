package data_sources

import (
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"kubevirt.io/ssp-operator/internal/common"
	template_bundle "kubevirt.io/ssp-operator/internal/template-bundle"
)

// OracleWanted contains the objects that SSP creates in an empty cluster.
type OracleWanted struct {
	Crons   []*cdiv1beta1.DataImportCron
	Sources []*cdiv1beta1.DataSource
}

// OracleWant calls SSP's own function, which is private to its package, and labels the DataSources as SSP's reconcile
// does.
func OracleWant(sources template_bundle.DataSourceCollection, request *common.Request) (OracleWanted, error) {
	operand := &dataSources{sourceCollection: sources, runningOnOpenShift: true}
	wanted, err := operand.getDataSourcesAndCrons(request)
	result := OracleWanted{Crons: wanted.dataImportCrons}
	for _, info := range wanted.dataSourceInfos {
		if info.autoUpdateEnabled {
			if info.dataSource.Labels == nil {
				info.dataSource.Labels = map[string]string{}
			}
			info.dataSource.Labels[dataImportCronLabel] = info.dataImportCronName
		}
		result.Sources = append(result.Sources, info.dataSource)
	}
	return result, err
}
