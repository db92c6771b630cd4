// Reads examples with the types of the programs that they are for, strictly: a field that the program does not know, or one
// that it misses, is an error.
//
//	go run . flux-kustomization|grafana-dashboard FILE
package main

import (
	"fmt"
	"os"

	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"sigs.k8s.io/yaml"
)

func main() {
	readers := map[string]func([]byte) error{"flux-kustomization": fluxKustomization, "grafana-dashboard": grafanaDashboard}
	if len(os.Args) != 3 || readers[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: reader flux-kustomization|grafana-dashboard FILE")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = readers[os.Args[1]](text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fluxKustomization(text []byte) error {
	var object kustomize.Kustomization
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		return err
	}
	if object.GroupVersionKind() != kustomize.GroupVersion.WithKind(kustomize.KustomizationKind) {
		return fmt.Errorf("it is a %s", object.GroupVersionKind())
	}
	if object.Spec.SourceRef.Name == "" {
		return fmt.Errorf("it has no source")
	}
	return nil
}

func grafanaDashboard(text []byte) error {
	var object dashboard.Dashboard
	// It gives an empty list of errors, too, which is none.
	if err := object.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err
	}
	return object.Validate()
}
