package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	corev1 "k8s.io/api/core/v1"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
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

// option is the beginning of a line that is an option: a # without a space behind it.
var option = regexp.MustCompile(`(?m)^( *)#([^ \n])`)

// withOptions returns a copy of the manifests with all options.
func withOptions(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(manifests)); err != nil {
		t.Fatal(err)
	}
	changed := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !option.Match(text) {
			return err
		}
		changed++
		return os.WriteFile(path, option.ReplaceAll(text, []byte("$1$2")), 0o600)
	})
	if err != nil || changed < 8 {
		t.Fatalf("%d files have options, %v", changed, err)
	}
	return dir
}

// podOf returns the pod of a workload, or a pod itself; ok is false for other resources.
func podOf(t *testing.T, r *resource.Resource) (pod corev1.PodTemplateSpec, ok bool) {
	t.Helper()
	data, err := r.AsYAML()
	if err != nil {
		t.Fatal(err)
	}
	var workload struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	switch r.GetKind() {
	case "Deployment", "StatefulSet":
		err = yaml.Unmarshal(data, &workload)
	case "Pod":
		err = yaml.Unmarshal(data, &workload.Spec.Template)
	default:
		return pod, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return workload.Spec.Template, true
}

// fillPod returns the pod that fills a volume, which is applied by itself.
func fillPod(t *testing.T) *resource.Resource {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(manifests + "/fill.yaml")
	if err == nil {
		err = errors.Join(os.WriteFile(dir+"/fill.yaml", text, 0o600), os.WriteFile(dir+"/kustomization.yaml", []byte("resources: [fill.yaml]\n"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return build(t, dir).Resources()[0]
}

// TestFetchComesFirst checks the order of the init containers, and that every container has the mounts of the options.
func TestFetchComesFirst(t *testing.T) {
	for _, dir := range []string{manifests, withOptions(t)} {
		for _, r := range build(t, dir).Resources() {
			pod, ok := podOf(t, r)
			if !ok {
				continue
			}
			if c := pod.Spec.InitContainers; len(c) != 2 || c[0].Name != "fetch" || c[1].Name != "compile" || len(pod.Spec.Containers) != 1 {
				t.Errorf("%s: the init containers are not fetch and compile, in this order", r.GetName())
			}
			for _, v := range pod.Spec.Volumes {
				used := func(c corev1.Container) bool {
					return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
				}
				if !slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), used) {
					t.Errorf("%s: no container mounts %s", r.GetName(), v.Name)
				}
			}
		}
	}
}

// newValidator returns a function that validates resources by the schemas of Kubernetes.
func newValidator(t *testing.T) func(data []byte) (problems []string, resources int) {
	t.Helper()
	check, err := validator.New([]string{writeSchemas(t)}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(data []byte) (problems []string, resources int) {
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
}

// TestManifestsFitSchemas validates all resources by the schemas of Kubernetes.
func TestManifestsFitSchemas(t *testing.T) {
	validate := newValidator(t)
	fill, err := fillPod(t).AsYAML()
	if err != nil {
		t.Fatal(err)
	}
	if problems, n := validate(fill); len(problems) > 0 || n != 1 {
		t.Errorf("fill.yaml: %d resources:\n%s", n, strings.Join(problems, "\n"))
	}
	for dir, least := range map[string]int{manifests: 20, manifests + "/nodes": 3, withOptions(t): 21} {
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
		pod, ok := podOf(t, r)
		if !ok {
			continue
		}
		for _, v := range pod.Spec.Volumes {
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
	for _, r := range slices.Concat(build(t, manifests).Resources(), build(t, withOptions(t)).Resources(), []*resource.Resource{fillPod(t)}) {
		if r.GetKind() == "Namespace" {
			if namespaces++; r.GetLabels()["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("the labels of the namespace are %v", r.GetLabels())
			}
		}
		template, ok := podOf(t, r)
		if !ok {
			continue
		}
		pods++
		level := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
		for _, result := range evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", r.GetName(), result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		privileged := true
		template.Spec.Containers[0].SecurityContext.Privileged = &privileged
		if policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)).Allowed {
			t.Error("a privileged container is allowed")
		}
	}
	if pods != 7 || namespaces != 2 {
		t.Errorf("%d pods in %d namespaces", pods, namespaces)
	}
}
