package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// object is decoded JSON.
type object = map[string]any

// schema is the part of an OpenAPI schema that determines which fields the API server stores: it drops unknown fields
// and nulls, and sets defaults, before any admission webhook gets the object.
type schema struct {
	Properties           map[string]*schema `json:"properties"`
	Items                *schema            `json:"items"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Default              any                `json:"default"`
	Nullable             bool               `json:"nullable"`
	PreserveUnknown      bool               `json:"x-kubernetes-preserve-unknown-fields"`
}

// readSchemas returns the schema of each served version of HyperConverged, by version.
func readSchemas(checkout string) (map[string]*schema, error) {
	text, err := os.ReadFile(filepath.Join(checkout, "deploy", "crds", "hco00.crd.yaml"))
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	schemas := map[string]*schema{}
	for i := range crd.Spec.Versions {
		if version := &crd.Spec.Versions[i]; version.Served {
			schemas[version.Name] = &version.Schema.OpenAPIV3Schema
		}
	}
	if len(schemas) == 0 {
		return nil, fmt.Errorf("the CRD serves no version")
	}
	return schemas, nil
}

// admitted returns a copy of an object as admission webhooks get it.
func (s *schema) admitted(sent object) object {
	result := clone(sent)
	delete(result, "metadata")
	s.complete(result)
	result["metadata"] = clone(sent["metadata"])
	result["apiVersion"] = sent["apiVersion"]
	result["kind"] = sent["kind"]
	return result
}

func (s *schema) complete(value any) {
	switch value := value.(type) {
	case object:
		for key, field := range value {
			child := s.child(key)
			known := child != nil || s.PreserveUnknown
			if !known || (field == nil && child != nil && !child.Nullable) {
				delete(value, key)
			}
		}
		for key, child := range s.Properties {
			if _, found := value[key]; !found && child.Default != nil {
				value[key] = clone(child.Default)
			}
		}
		for key, field := range value {
			if child := s.child(key); child != nil {
				child.complete(field)
			}
		}
	case []any:
		if s.Items != nil {
			for _, item := range value {
				s.Items.complete(item)
			}
		}
	}
}

func (s *schema) child(key string) *schema {
	if child, found := s.Properties[key]; found {
		return child
	}
	return s.AdditionalProperties
}

func clone[T any](value T) T {
	var copied T
	if err := json.Unmarshal(encode(value), &copied); err != nil {
		panic(err)
	}
	return copied
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
