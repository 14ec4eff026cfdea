// Package kubernetes checks the manifests of docs/deploy/kubernetes: they build with Kustomize, fit the schemas of Kubernetes, and their pods are
// allowed in a namespace with the Pod Security level that they name. It is a module of its own, so that the libraries of Kubernetes are no
// dependencies of the host. `just kubernetes` applies them to an API server, too.
package kubernetes
