package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rhobs/operator-observability-toolkit/pkg/operatormetrics"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	goldenimages "github.com/kubevirt/hyperconverged-cluster-operator/controllers/handlers/golden-images"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/monitoring/hyperconverged/collectors"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/monitoring/hyperconverged/metrics"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/nodeinfo"
)

const (
	group     = "hco.kubevirt.io"
	name      = "kubevirt-hyperconverged"
	namespace = "kubevirt-hyperconverged"
)

// oracle calls HCO's code. The type hyperConverged, which HCO's controllers use, and the functions that differ between
// HCO's versions are in hub_*.go.
type oracle struct {
	schemas map[string]*schema
	decoder admission.Decoder
	cluster *cluster
	metrics *prometheus.Registry
}

func newOracle(checkout string) (*oracle, error) {
	schemas, err := readSchemas(checkout)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	operatormetrics.Register = registry.Register
	cluster := &cluster{}
	if err := metrics.SetupMetrics(); err != nil {
		return nil, err
	}
	if err := collectors.SetupCollectors(cluster, namespace); err != nil {
		return nil, err
	}
	return &oracle{
		schemas: schemas,
		decoder: admission.NewDecoder(scheme),
		cluster: cluster,
		metrics: registry,
	}, nil
}

func (o *oracle) serves(hco object) bool {
	_, found := o.schemas[version(hco)]
	return found
}

func version(hco object) string {
	return strings.TrimPrefix(hco["apiVersion"].(string), group+"/")
}

// expected contains the columns for a created object. An error that hides later columns leaves them null.
type expected struct {
	WorkloadsArchitectures    []string `json:"workloadsArchitectures"`
	ControlPlaneArchitectures []string `json:"controlPlaneArchitectures"`
	DefaultArchitecture       *string  `json:"defaultArchitecture"`
	MultiArchEnabled          *bool    `json:"multiArchEnabled"`
	DictError                 *string  `json:"dictError"`
	Dicts                     []dict   `json:"dicts"`
	Alerts                    alerts   `json:"alerts"`
	WebhookError              *string  `json:"webhookError"`
	WebhookDictError          *string  `json:"webhookDictError"`
	WebhookAffinityError      *string  `json:"webhookAffinityError"`
	ConversionError           *string  `json:"conversionError"`
	Panic                     *string  `json:"panic"`
	CreateDenied              *string  `json:"createDenied"`
	MutatorDenied             *string  `json:"mutatorDenied"`
}

// dict is a template after HCO has processed it.
type dict struct {
	Name          string  `json:"name"`
	Common        bool    `json:"common"`
	Modified      bool    `json:"modified"`
	Annotation    *string `json:"annotation"`
	SSPAnnotation *string `json:"sspAnnotation"`
	Original      string  `json:"originalSupportedArchitectures"`
	DeployedFalse bool    `json:"deployedFalse"`
	PassedToSSP   bool    `json:"passedToSSP"`
}

type alerts struct {
	Disabled     bool     `json:"HCOMultiArchGoldenImagesDisabled"`
	NoAnnotation []string `json:"HCOGoldenImageWithNoArchitectureAnnotation"`
	NotSupported []string `json:"HCOGoldenImageWithNoSupportedArchitecture"`
}

func (o *oracle) create(row *created) *expected {
	result := &expected{Alerts: alerts{NoAnnotation: []string{}, NotSupported: []string{}}}
	admitted := o.schemas[version(row.HCO)].admitted(row.HCO)

	result.MutatorDenied = denied(o.ask(o.mutator(admitted), admissionv1.Create, admitted, nil))
	validator := o.validator(admitted, true)
	answer, panicked := o.ask(validator, admissionv1.Create, admitted, nil)
	result.CreateDenied = denied(answer, panicked)
	result.Panic = panicked
	// HCO's validator stops at its first error. To get the errors about templates and about affinity independently of each
	// other, call it for the object without the other field.
	result.WebhookDictError = only(aboutTemplates, o.refusal(validator, without(admitted, placements)))
	result.WebhookAffinityError = only(aboutAffinity, o.refusal(validator, without(admitted, templates)))
	for _, message := range []*string{result.WebhookDictError, result.WebhookAffinityError} {
		if result.WebhookError == nil {
			result.WebhookError = message
		}
	}

	hub, err := o.hub(admitted)
	if err != nil {
		result.ConversionError = ptr.To(err.Error())
		return result
	}
	result.MultiArchEnabled = ptr.To(isImportEnabled(hub))
	if panicked := o.reconcile(hub, row.Nodes, result); panicked != nil {
		result.Panic = panicked
	}
	return result
}

// reconcile runs the parts of HCO's reconcile that affect architectures.
func (o *oracle) reconcile(hub *hyperConverged, nodes []object, result *expected) *string {
	o.cluster.hub = hub
	o.cluster.nodes = nil
	for _, node := range nodes {
		o.cluster.nodes = append(o.cluster.nodes, convert[corev1.Node](node))
	}
	return catch(func() {
		if _, err := nodeinfo.HandleNodeChanges(context.Background(), o.cluster, hub, logr.Discard()); err != nil {
			panic(err)
		}
		result.WorkloadsArchitectures = list(nodeinfo.GetWorkloadsArchitectures())
		result.ControlPlaneArchitectures = list(nodeinfo.GetControlPlaneArchitectures())
		result.DefaultArchitecture = defaultArchitecture()

		images, err := goldenimages.GetDataImportCronTemplates(hub)
		if err != nil {
			result.DictError = ptr.To(err.Error())
			return
		}
		hub.Status.DataImportCronTemplates = images
		result.Dicts = dicts(hub, images)

		// HCO never resets these metrics, but each row is a separate cluster.
		metrics.ResetDICTWithArchitectureAnnotation()
		metrics.ResetDICTWithSupportedArchitectures()
		goldenimages.CheckDataImportCronTemplates(hub)
		result.Alerts = o.alerts(images)
	})
}

func dicts(hub *hyperConverged, images []goldenImage) []dict {
	result := []dict{}
	passed := goldenimages.HCODictSliceToSSP(hub, images)
	for _, image := range images {
		it := dict{
			Name:          image.Name,
			Common:        image.Status.CommonTemplate,
			Modified:      image.Status.Modified,
			Annotation:    annotation(image.Annotations),
			Original:      image.Status.OriginalSupportedArchitectures,
			DeployedFalse: meta.IsStatusConditionFalse(image.Status.Conditions, goldenimages.DictConditionDeployedType),
		}
		for _, ssp := range passed {
			if ssp.Name == image.Name {
				it.PassedToSSP = true
				it.SSPAnnotation = annotation(ssp.Annotations)
			}
		}
		result = append(result, it)
	}
	return result
}

func annotation(annotations map[string]string) *string {
	value, found := annotations[goldenimages.MultiArchDICTAnnotation]
	if !found {
		return nil
	}
	return &value
}

// alerts evaluates HCO's alert expressions, each of which compares one metric with 0. The labels of the metrics hold
// the names in lower case.
func (o *oracle) alerts(images []goldenImage) alerts {
	result := alerts{NoAnnotation: []string{}, NotSupported: []string{}}
	families, err := o.metrics.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetGauge().GetValue() != 0 {
				continue
			}
			var names []string
			for _, label := range metric.GetLabel() {
				if label.GetName() == "data_import_cron_name" {
					names = named(images, label.GetValue())
				}
			}
			switch family.GetName() {
			case "kubevirt_hco_multi_arch_boot_images_enabled":
				result.Disabled = true
			case "kubevirt_hco_dataimportcrontemplate_with_architecture_annotation":
				result.NoAnnotation = append(result.NoAnnotation, names...)
			case "kubevirt_hco_dataimportcrontemplate_with_supported_architectures":
				result.NotSupported = append(result.NotSupported, names...)
			}
		}
	}
	slices.Sort(result.NoAnnotation)
	slices.Sort(result.NotSupported)
	return result
}

func named(images []goldenImage, label string) []string {
	var names []string
	for _, image := range images {
		if strings.ToLower(image.Name) == label {
			names = append(names, image.Name)
		}
	}
	return names
}

// asked contains the columns for an update: the answers of HCO's webhooks to the request.
type asked struct {
	Mutator         *answer `json:"mutator,omitempty"`
	MutatorPanic    *string `json:"mutatorPanic,omitempty"`
	PatchError      *string `json:"patchError,omitempty"`
	Validator       *answer `json:"validator,omitempty"`
	ValidatorPanic  *string `json:"validatorPanic,omitempty"`
	Import          *bool   `json:"import"`
	ImportBefore    *bool   `json:"importBefore,omitempty"`
	ConversionError *string `json:"conversionError,omitempty"`
	DictError       *string `json:"dictError,omitempty"`
	RefusedBefore   *string `json:"refusedBefore,omitempty"`
}

type answer struct {
	Allowed bool   `json:"allowed"`
	Code    int32  `json:"code"`
	Message string `json:"message,omitempty"`
}

func (o *oracle) update(row *updated) {
	request := row.Request
	operation := admissionv1.Operation(request["operation"].(string))
	sent := o.schemas[version(request["object"].(object))].admitted(request["object"].(object))
	request["object"] = sent
	var old object
	if operation == admissionv1.Update {
		old = request["oldObject"].(object)
		old = o.schemas[version(old)].admitted(old)
		request["oldObject"] = old
		if hub, err := o.hub(old); err == nil {
			row.HCO.ImportBefore = ptr.To(isImportEnabled(hub))
		}
		row.HCO.RefusedBefore = o.refusal(o.validator(old, row.OpenShift), old)
	}

	mutated, panicked := o.ask(o.mutator(sent), operation, sent, old)
	row.HCO.MutatorPanic = panicked
	if panicked != nil {
		return
	}
	row.HCO.Mutator = answerOf(mutated)
	patched := sent
	if len(mutated.Patches) > 0 && mutated.Allowed {
		patch, err := jsonpatch.DecodePatch(encode(mutated.Patches))
		if err != nil {
			panic(err)
		}
		text, err := patch.Apply(encode(sent))
		if err != nil {
			row.HCO.PatchError = ptr.To(err.Error())
		} else {
			patched = convert[object](text)
			row.Patched = patched
		}
	}

	// On an update, HCO's validator uses goroutines, where a panic ends the whole process. On OpenShift, it makes the same
	// checks as on a create, so run these first.
	validator := o.validator(patched, row.OpenShift)
	validated, panicked := o.ask(validator, admissionv1.Create, patched, nil)
	if operation == admissionv1.Update && (panicked == nil || !row.OpenShift) {
		validated, panicked = o.ask(validator, admissionv1.Update, patched, old)
	}
	row.HCO.ValidatorPanic = panicked
	if panicked == nil {
		row.HCO.Validator = answerOf(validated)
	}
	hub, err := o.hub(patched)
	if err != nil {
		row.HCO.ConversionError = ptr.To(err.Error())
		return
	}
	row.HCO.Import = ptr.To(isImportEnabled(hub))
	catch(func() {
		if _, err := goldenimages.GetDataImportCronTemplates(hub); err != nil {
			row.HCO.DictError = ptr.To(err.Error())
		}
	})
}

func answerOf(response admission.Response) *answer {
	result := &answer{Allowed: response.Allowed}
	if response.Result != nil {
		result.Code = response.Result.Code
		result.Message = response.Result.Message
	}
	return result
}

// ask returns the answer of one of HCO's webhooks to a request.
func (o *oracle) ask(webhook admission.Handler, operation admissionv1.Operation, sent, old object) (response admission.Response, panicked *string) {
	kind := metav1.GroupVersionKind{Group: group, Version: version(sent), Kind: "HyperConverged"}
	resource := metav1.GroupVersionResource{Group: group, Version: version(sent), Resource: "hyperconvergeds"}
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID:             types.UID("oracle"),
		Kind:            kind,
		RequestKind:     &kind,
		Resource:        resource,
		RequestResource: &resource,
		Name:            name,
		Namespace:       namespace,
		Operation:       operation,
		UserInfo:        authenticationv1.UserInfo{Username: "kubernetes-admin"},
		Object:          runtime.RawExtension{Raw: encode(sent)},
		DryRun:          ptr.To(false),
	}}
	if old != nil {
		request.OldObject = runtime.RawExtension{Raw: encode(old)}
	}
	panicked = catch(func() { response = webhook.Handle(context.Background(), request) })
	return response, panicked
}

// refusal returns the reason why the validator denies the creation of an object.
func (o *oracle) refusal(validator admission.Handler, hco object) *string {
	return denied(o.ask(validator, admissionv1.Create, hco, nil))
}

func denied(response admission.Response, panicked *string) *string {
	switch {
	case panicked != nil:
		return ptr.To("panic: " + *panicked)
	case response.Allowed:
		return nil
	case response.Result == nil:
		return ptr.To("denied")
	default:
		return &response.Result.Message
	}
}

// aboutTemplates and aboutAffinity recognise the errors of HCO's validateDataImportCronTemplates and validateAffinity.
var (
	aboutTemplates = []string{"annotation of a dataImportCronTemplate must be", "spec is empty for an enabled"}
	aboutAffinity  = []string{"node placement affinity"}
)

func only(about []string, message *string) *string {
	if message != nil && slices.ContainsFunc(about, func(part string) bool { return strings.Contains(*message, part) }) {
		return message
	}
	return nil
}

var (
	placements = [][]string{{"spec", "deployment", "nodePlacements"}, {"spec", "workloads"}, {"spec", "infra"}}
	templates  = [][]string{{"spec", "workloadSources", "dataImportCronTemplates"}, {"spec", "dataImportCronTemplates"}}
)

func without(hco object, paths [][]string) object {
	result := clone(hco)
	for _, path := range paths {
		parent := result
		for _, key := range path[:len(path)-1] {
			parent, _ = parent[key].(object)
		}
		delete(parent, path[len(path)-1])
	}
	return result
}

// hub returns an object as HCO's operator reads it. The error comes from the conversion.
func (o *oracle) hub(hco object) (*hyperConverged, error) {
	var (
		hub *hyperConverged
		err error
	)
	if panicked := catch(func() { hub, err = o.toHub(version(hco), runtime.RawExtension{Raw: encode(hco)}) }); panicked != nil {
		return nil, errors.New("panic: " + *panicked)
	}
	return hub, err
}

func catch(run func()) (panicked *string) {
	defer func() {
		if reason := recover(); reason != nil {
			panicked = ptr.To(fmt.Sprint(reason))
		}
	}()
	run()
	return nil
}

func convert[T any](value any) T {
	text, raw := value.([]byte)
	if !raw {
		text = encode(value)
	}
	var result T
	if err := json.Unmarshal(text, &result); err != nil {
		panic(err)
	}
	return result
}

func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

// cluster is the API server for HCO: the nodes, HCO's own object, and operands that accept every change. A call that
// HCO does not make today panics, and the row contains the panic.
type cluster struct {
	client.Client
	hub   *hyperConverged
	nodes []corev1.Node
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	nodes, ok := list.(*corev1.NodeList)
	if !ok {
		return fmt.Errorf("the oracle has no list of %T", list)
	}
	nodes.Items = c.nodes
	return nil
}

func (c *cluster) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if hub, ok := object.(*hyperConverged); ok {
		c.hub.DeepCopyInto(hub)
	}
	return nil
}

func (c *cluster) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return nil
}
