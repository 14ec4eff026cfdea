package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// edit replaces all matches of a pattern in a file, of which there must be some.
func edit(t *testing.T, file, pattern, replacement string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := regexp.MustCompile(pattern).ReplaceAll(text, []byte(replacement))
	if bytes.Equal(edited, text) {
		t.Fatalf("%s has no %s", file, pattern)
	}
	if err := os.WriteFile(file, edited, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProjectsMoveByTheDocumentedEdits removes each project in turn from its shard, the last one too, by the edits of docs/cluster.md.
func TestProjectsMoveByTheDocumentedEdits(t *testing.T) {
	dir, validate := t.TempDir(), newValidator(t)
	if err := os.CopyFS(dir, os.DirFS(manifests)); err != nil {
		t.Fatal(err)
	}
	for _, move := range []struct {
		project, shard string
		last           bool
	}{{"site", "a", false}, {"docs", "a", true}, {"wiki", "b", true}} {
		shard := filepath.Join(dir, "shards", move.shard)
		edit(t, shard+"/bulkhead.toml", `\[\[projects\]\]\nname = "`+move.project+`"\n(.+\n)+`, "")
		edit(t, shard+"/volumes.yaml", `.*`+move.project+`.*\n`, "")
		if move.last {
			edit(t, shard+"/kustomization.yaml", ` *- ingress.yaml\n`, "")
		} else {
			edit(t, shard+"/ingress.yaml", `.*/mcp/`+move.project+`,.*\n`, "")
		}
		resources := build(t, dir)
		data, err := resources.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		if problems, _ := validate(data); len(problems) > 0 {
			t.Errorf("without %s:\n%s", move.project, strings.Join(problems, "\n"))
		}
		for _, r := range resources.Resources() {
			if r.GetName() != "shard-"+move.shard {
				continue
			}
			switch r.GetKind() {
			case "StatefulSet":
				pod, _ := podOf(t, r)
				checkShard(t, pod, move.project, move.last)
			case "Ingress":
				var ingress networkingv1.Ingress
				if err := yaml.Unmarshal([]byte(r.MustYaml()), &ingress); err != nil {
					t.Fatal(err)
				}
				if paths := ingress.Spec.Rules[0].HTTP.Paths; move.last || len(paths) != 2 || slices.ContainsFunc(paths, func(p networkingv1.HTTPIngressPath) bool {
					return strings.HasSuffix(p.Path, "/"+move.project)
				}) {
					t.Errorf("without %s, the paths are %+v", move.project, paths)
				}
			}
		}
	}
}

// checkShard checks that the pod of a shard has what every pod needs, and does not mount the volume of a project that was removed.
func checkShard(t *testing.T, pod corev1.PodTemplateSpec, removed string, empty bool) {
	t.Helper()
	want := []string{"config", "run", "token"}
	var volumes []string
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.Projected == nil && v.EmptyDir == nil && v.Secret == nil && v.PersistentVolumeClaim == nil {
			t.Errorf("without %s, the volume %s has no source", removed, v.Name)
		}
	}
	mounts := map[string][]string{"volumes": volumes}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			mounts[c.Name] = append(mounts[c.Name], m.Name)
		}
	}
	for _, of := range []string{"volumes", "fetch", "compile", "server"} {
		has := slices.Sorted(slices.Values(mounts[of]))
		lacks := slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(has, name) })
		if lacks || slices.Contains(has, removed) || empty && !slices.Equal(has, want) {
			t.Errorf("without %s, %s has %v, want %v", removed, of, has, want)
		}
	}
}
