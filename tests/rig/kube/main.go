// Kubernetes' programs, for tests, in one binary: the name it is called by, or its first argument, picks which.
// All are the real ones, but for the kubelet, whose pods are real processes that somebody else has started.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	programs := map[string]func(){
		"etcd":           func() { etcdmain.Main(os.Args) },
		"kube-apiserver": func() { run(apiserver.NewAPIServerCommand()) },
		"kubectl": func() {
			if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
				kubectlutil.CheckErr(err)
			}
		},
		"kubelet": func() { run(newKubeletCommand()) },
	}
	name := filepath.Base(os.Args[0])
	if _, ok := programs[name]; !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	program, ok := programs[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: kube etcd|kube-apiserver|kubectl|kubelet ...")
		os.Exit(2)
	}
	program()
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}
