package kubernetes

import (
	"bytes"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const manifests = "../../docs/deploy/kubernetes"

// build returns the resources of a directory.
func build(t *testing.T, dir string) resmap.ResMap {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

// TestManifestsFitSchemas validates all resources by the schemas of Kubernetes.
func TestManifestsFitSchemas(t *testing.T) {
	check, err := validator.New([]string{writeSchemas(t)}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	validate := func(data []byte) (problems []string, resources int) {
		for _, r := range check.Validate("manifests", io.NopCloser(bytes.NewReader(data))) {
			if r.Status == validator.Empty {
				continue
			}
			if resources++; r.Status != validator.Valid {
				sig, _ := r.Resource.Signature()
				problems = append(problems, sig.Kind+" "+sig.Name+": "+r.Err.Error())
			}
		}
		return problems, resources
	}
	for dir, least := range map[string]int{manifests: 20, manifests + "/nodes": 3} {
		data, err := build(t, dir).AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		if problems, n := validate(data); len(problems) > 0 || n < least {
			t.Errorf("%s: %d resources:\n%s", dir, n, strings.Join(problems, "\n"))
		}
		// The schemas refuse what Kubernetes does not know.
		for _, edit := range [][2]string{{"readOnlyRootFilesystem", "readOnlyRootFS"}, {"kind: ConfigMap", "kind: ConfigFile"}, {"containers:\n", "containers: x\n"}} {
			if wrong := strings.Replace(string(data), edit[0], edit[1], 1); wrong == string(data) {
				t.Errorf("%s has no %q", dir, edit[0])
			} else if problems, _ := validate([]byte(wrong)); len(problems) == 0 {
				t.Errorf("%s with %q is valid", dir, edit[1])
			}
		}
	}
}

// TestConfigsAreProjected checks that each pod mounts its config, by the name that the built ConfigMap has, as a projected volume: every user may
// change the directory of a volume of the kind configMap.
func TestConfigsAreProjected(t *testing.T) {
	resources := build(t, manifests)
	configs := map[string]bool{}
	for _, r := range resources.Resources() {
		if r.GetKind() == "ConfigMap" {
			configs[r.GetName()] = true
		}
	}
	used := map[string]bool{}
	for _, r := range resources.Resources() {
		if r.GetKind() != "Deployment" && r.GetKind() != "StatefulSet" {
			continue
		}
		data, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var workload struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := yaml.Unmarshal(data, &workload); err != nil {
			t.Fatal(err)
		}
		for _, v := range workload.Spec.Template.Spec.Volumes {
			switch {
			case v.ConfigMap != nil:
				t.Errorf("%s: the volume %s is of the kind configMap", r.GetName(), v.Name)
			case v.Projected != nil:
				for _, s := range v.Projected.Sources {
					used[s.ConfigMap.Name] = true
				}
			case v.Secret != nil && (len(v.Secret.Items) == 1) != (r.GetKind() == "StatefulSet"):
				t.Errorf("%s: the items of the secret are %v; only stateless replicas get the keys of questions", r.GetName(), v.Secret.Items)
			case v.Secret != nil && v.Secret.SecretName == "":
				t.Errorf("%s: the volume %s has no secret", r.GetName(), v.Name)
			}
		}
	}
	if !maps.Equal(configs, used) || len(used) != 3 {
		t.Errorf("the pods use the ConfigMaps %v of %v", used, configs)
	}
}

// TestPodsAreRestricted evaluates the pods by the rules of Pod Security at the level of their namespace, as an API server does.
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pods, namespaces := 0, 0
	for _, r := range build(t, manifests).Resources() {
		data, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if r.GetKind() == "Namespace" {
			if namespaces++; r.GetLabels()["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("the labels of the namespace are %v", r.GetLabels())
			}
		}
		if r.GetKind() != "Deployment" && r.GetKind() != "StatefulSet" {
			continue
		}
		pods++
		var workload struct {
			Spec struct {
				Template struct {
					Metadata metav1.ObjectMeta
					Spec     corev1.PodSpec
				}
			}
		}
		if err := yaml.Unmarshal(data, &workload); err != nil {
			t.Fatal(err)
		}
		template := workload.Spec.Template
		level := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
		for _, result := range evaluator.EvaluatePod(level, &template.Metadata, &template.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", r.GetName(), result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		privileged := true
		template.Spec.Containers[0].SecurityContext.Privileged = &privileged
		if policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.Metadata, &template.Spec)).Allowed {
			t.Error("a privileged container is allowed")
		}
	}
	if pods != 3 || namespaces != 1 {
		t.Errorf("%d pods in %d namespaces", pods, namespaces)
	}
}
