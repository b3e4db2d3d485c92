//go:build hub_v1beta1

package main

import (
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kubevirt/hyperconverged-cluster-operator/api"
	hcov1 "github.com/kubevirt/hyperconverged-cluster-operator/api/v1"
	hcov1beta1 "github.com/kubevirt/hyperconverged-cluster-operator/api/v1beta1"
	"github.com/kubevirt/hyperconverged-cluster-operator/controllers/handlers"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/nodeinfo"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/webhooks/mutator"
	"github.com/kubevirt/hyperconverged-cluster-operator/pkg/webhooks/validator"
)

// HCO 1.18: v1 is served, v1beta1 is stored, and the controllers use v1beta1.
type (
	hyperConverged = hcov1beta1.HyperConverged
	goldenImage    = hcov1.DataImportCronTemplateStatus
)

func addToScheme(scheme *runtime.Scheme) error { return api.AddToScheme(scheme) }

func (o *oracle) toHub(version string, raw runtime.RawExtension) (*hyperConverged, error) {
	hub := &hyperConverged{}
	if version == "v1beta1" {
		return hub, o.decoder.DecodeRaw(raw, hub)
	}
	sent := &hcov1.HyperConverged{}
	if err := o.decoder.DecodeRaw(raw, sent); err != nil {
		return nil, err
	}
	return hub, hub.ConvertFrom(sent)
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

func defaultArchitecture() *string { return ptr.To(nodeinfo.GetDefaultArchitecture()) }

func (o *oracle) mutator(hco object) admission.Handler {
	if version(hco) == "v1" {
		return mutator.NewHyperConvergedMutator(o.cluster, o.decoder)
	}
	return mutator.NewHyperConvergedV1Beta1Mutator(o.cluster, o.decoder)
}

func (o *oracle) validator(hco object, openShift bool) admission.Handler {
	v1beta1 := validator.NewWebhookV1Beta1Handler(logr.Discard(), o.cluster, o.decoder, namespace, openShift)
	if version(hco) == "v1" {
		return validator.NewWebhookHandler(logr.Discard(), o.cluster, o.decoder, namespace, openShift, v1beta1)
	}
	return v1beta1
}
