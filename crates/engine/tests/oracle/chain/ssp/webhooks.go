package webhooks

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sspv1beta3 "kubevirt.io/ssp-operator/api/v1beta3"
)

// OracleValidate calls SSP's validating webhook, which is private to its package, for the creation of an object.
func OracleValidate(instance *sspv1beta3.SSP, cluster client.Client) error {
	_, err := newSspValidator(cluster).ValidateCreate(context.Background(), instance)
	return err
}
