package controller

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	imagev1 "github.com/openshift/api/image/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	"kubevirt.io/containerized-data-importer/pkg/common"
	cc "kubevirt.io/containerized-data-importer/pkg/controller/common"
)

// OracleCluster holds the results of CDI for DataImportCrons in a cluster in which every import succeeds.
type OracleCluster struct {
	// By the index of the DataImportCron.
	Polling, PollingRefused, FirstImportRefused []string
	DataSources                                 []cdiv1.DataSource
	// By namespace and name.
	Filled map[string]bool
}

// OracleReconcile runs CDI's reconciler of DataImportCrons. Instead of the poller, it writes the digest of the URL.
func OracleReconcile(sources []*cdiv1.DataSource, crons []*cdiv1.DataImportCron) OracleCluster {
	count := len(crons)
	result := OracleCluster{
		Polling: make([]string, count), PollingRefused: make([]string, count), FirstImportRefused: make([]string, count),
		Filled: map[string]bool{},
	}
	ctx := context.Background()
	objects := []client.Object{
		cc.MakeEmptyCDIConfigSpec(common.ConfigName), cc.MakeEmptyCDICR(),
		&extv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "dataimportcrons.cdi.kubevirt.io"}},
	}
	for _, source := range sources {
		objects = append(objects, source.DeepCopy())
	}
	for _, cron := range crons {
		objects = append(objects, cron.DeepCopy())
	}
	// A cloned disk exists.
	cloned := map[string]client.Object{}
	for _, cron := range crons {
		if isPvcSource(cron) {
			source := cron.Spec.Template.Spec.Source.PVC
			meta := metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}
			cloned[source.Namespace] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: source.Namespace}}
			cloned[source.Namespace+"/"+source.Name] = &corev1.PersistentVolumeClaim{ObjectMeta: meta}
		}
	}
	objects = slices.AppendSeq(objects, maps.Values(cloned))
	// The reasons why the API server refuses the cron's CronJob and first Job.
	var refusedCronJob, refusedJob string
	cluster := fake.NewClientBuilder().WithScheme(oracleScheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, inner client.WithWatch, created client.Object, options ...client.CreateOption) error {
			switch it := created.(type) {
			case *authorizationv1.SubjectAccessReview:
				it.Status.Allowed = true
				return nil
			case *batchv1.CronJob:
				if refusedCronJob = refuseCronJob(it); refusedCronJob != "" {
					return fmt.Errorf("%s", refusedCronJob)
				}
			case *batchv1.Job:
				if refusedJob = refuseJob(it); refusedJob != "" {
					return fmt.Errorf("%s", refusedJob)
				}
			}
			return inner.Create(ctx, created, options...)
		},
	}).Build()
	reconciler := &DataImportCronReconciler{
		client: cluster, uncachedClient: cluster, scheme: oracleScheme, log: logr.Discard(), recorder: record.NewFakeRecorder(1000),
		image: "poller", pullPolicy: "IfNotPresent", cdiNamespace: "cdi", installerLabels: map[string]string{},
	}
	turn := func(cron *cdiv1.DataImportCron) error {
		_, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cron)})
		return err
	}
	for i, cron := range crons {
		refusedCronJob, refusedJob = "", ""
		stored := &cdiv1.DataImportCron{}
		must(cluster.Get(ctx, client.ObjectKeyFromObject(cron), stored))
		isControllers := isControllerPolledSource(cron)
		if isControllers && cron.Spec.Schedule != "" {
			// The controller has polled, and polls again in a year.
			cc.AddAnnotation(stored, AnnNextCronTime, time.Now().AddDate(1, 0, 0).Format(time.RFC3339))
			must(cluster.Update(ctx, stored))
		}
		err := turn(cron)
		jobs := &batchv1.CronJobList{}
		must(cluster.List(ctx, jobs))
		hasCronJob := false
		for _, job := range jobs.Items {
			hasCronJob = hasCronJob || job.Name == GetCronJobName(cron)
		}
		switch {
		case refusedCronJob != "":
			result.Polling[i], result.PollingRefused[i] = "refused", refusedCronJob
			continue
		case hasCronJob:
			result.Polling[i], result.FirstImportRefused[i] = "cron-job", refusedJob
		case isControllers && cron.Spec.Schedule != "":
			result.Polling[i] = "controller"
		case cron.Spec.Schedule == "":
			result.Polling[i] = "none"
			continue
		default:
			panic(fmt.Sprintf("%s: %v", cron.Name, err))
		}
		must(cluster.Get(ctx, client.ObjectKeyFromObject(cron), stored))
		source := cron.Spec.Template.Spec.Source
		digested := "pvc"
		if source.Registry != nil && source.Registry.URL != nil {
			digested = *source.Registry.URL
		}
		cc.AddAnnotation(stored, AnnSourceDesiredDigest, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(digested))))
		must(cluster.Update(ctx, stored))
		turn(cron)
		// The import.
		imports := &cdiv1.DataVolumeList{}
		must(cluster.List(ctx, imports))
		for j := range imports.Items {
			if it := &imports.Items[j]; it.Status.Phase != cdiv1.Succeeded {
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: it.Namespace, Name: it.Name}}
				claim.Status.Phase = corev1.ClaimBound
				must(cluster.Create(ctx, claim))
				it.Status.Phase = cdiv1.Succeeded
				must(cluster.Update(ctx, it))
			}
		}
		turn(cron)
	}
	list := &cdiv1.DataSourceList{}
	must(cluster.List(ctx, list))
	result.DataSources = list.Items
	for _, source := range list.Items {
		if disk := source.Spec.Source.PVC; disk != nil {
			err := cluster.Get(ctx, client.ObjectKey{Namespace: disk.Namespace, Name: disk.Name}, &corev1.PersistentVolumeClaim{})
			result.Filled[source.Namespace+"/"+source.Name] = err == nil
		}
	}
	return result
}

var oracleScheme = func() *runtime.Scheme {
	it := scheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{cdiv1.AddToScheme, imagev1.Install, extv1.AddToScheme, snapshotv1.AddToScheme} {
		must(add(it))
	}
	return it
}()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// The two checks of kube-apiserver that CDI's objects can fail. The test has no checkout of kube-apiserver: kubernetes
// pkg/apis/batch/validation, ValidateCronJobCreate, validateCronJobSpec, and the labels that the strategy of Jobs sets.
func refuseCronJob(job *batchv1.CronJob) string {
	var reasons []string
	if strings.Contains(job.Spec.Schedule, "TZ") {
		reasons = append(reasons, "spec.schedule: Invalid value: cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
	}
	if len(job.Name) > 52 {
		reasons = append(reasons, "metadata.name: Invalid value: must be no more than 52 characters")
	}
	return strings.Join(reasons, "; ")
}

func refuseJob(job *batchv1.Job) string {
	if len(job.Name) > 63 {
		return "spec.template.labels: Invalid value: must be no more than 63 bytes"
	}
	return ""
}
