module github.com/kubectl-mirror/kubectl-mirror/tests/rig/knative

go 1.24.0

// Only its definitions of kinds are used.
require knative.dev/serving v0.51.0
