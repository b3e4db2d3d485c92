//go:build hub_v1beta1_only

package main

import (
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	hcov1beta1 "github.com/kubevirt/hyperconverged-cluster-operator/api/v1beta1"
	"github.com/kubevirt/hyperconverged-cluster-operator/controllers/handlers"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/webhooks/mutator"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/webhooks/validator"
)

// HCO 1.17 and earlier: there is no v1, and no default architecture.
type (
	hyperConverged = hcov1beta1.HyperConverged
	goldenImage    = hcov1beta1.DataImportCronTemplateStatus
)

func addToScheme(scheme *runtime.Scheme) error { return hcov1beta1.AddToScheme(scheme) }

func (o *oracle) toHub(_ string, raw runtime.RawExtension) (*hyperConverged, error) {
	hub := &hyperConverged{}
	return hub, o.decoder.DecodeRaw(raw, hub)
}

// isImportEnabled returns the value that HCO passes to SSP. This version has no function for it.
func isImportEnabled(hub *hyperConverged) bool {
	plain := hub.DeepCopy()
	plain.Spec.DataImportCronTemplates = nil
	ssp, _, err := handlers.NewSSP(plain)
	if err != nil {
		panic(err)
	}
	return ptr.Deref(ssp.Spec.EnableMultipleArchitectures, false)
}

func defaultArchitecture() *string { return nil }

func (o *oracle) mutator(object) admission.Handler {
	return mutator.NewHyperConvergedMutator(o.cluster, o.decoder)
}

func (o *oracle) validator(_ object, openShift bool) admission.Handler {
	return validator.NewWebhookHandler(logr.Discard(), o.cluster, o.decoder, namespace, openShift, nil)
}
