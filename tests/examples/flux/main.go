// Reads a Kustomization of Flux's strictly: a field that Flux does not know is an error.
//
//	go run . FILE
package main

import (
	"fmt"
	"os"

	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		var object kustomize.Kustomization
		err = yaml.UnmarshalStrict(text, &object)
		if err == nil && (object.GroupVersionKind() != kustomize.GroupVersion.WithKind(kustomize.KustomizationKind) || object.Spec.SourceRef.Name == "") {
			err = fmt.Errorf("%s is no Kustomization with a source", os.Args[1])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
