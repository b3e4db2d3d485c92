// Command alerts reads PrometheusRules with Prometheus' own parser, as the Prometheus Operator and promtool do. It prints each
// alert with the names of its metrics, and exits with 1 if there is a mistake.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

type prometheusRule struct {
	Kind string    `yaml:"kind"`
	Spec yaml.Node `yaml:"spec"`
}

func main() {
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var rule prometheusRule
	if err := yaml.Unmarshal(text, &rule); err != nil {
		return err
	}
	if rule.Kind != "PrometheusRule" {
		return fmt.Errorf("the kind is %q, not PrometheusRule", rule.Kind)
	}
	spec, err := yaml.Marshal(&rule.Spec)
	if err != nil {
		return err
	}
	parse := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parse, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if len(errs) > 0 {
		return errs[0]
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			expr, err := parse.ParseExpr(rule.Expr)
			if err != nil {
				return err
			}
			metrics := map[string]bool{}
			for _, selectors := range parser.ExtractSelectors(expr) {
				for _, matcher := range selectors {
					if matcher.Name == labels.MetricName {
						metrics[matcher.Value] = true
					}
				}
			}
			names := []string{}
			for name := range metrics {
				names = append(names, name)
			}
			slices.Sort(names)
			fmt.Printf("%s: %s\n", rule.Alert, strings.Join(names, ", "))
		}
	}
	return nil
}
