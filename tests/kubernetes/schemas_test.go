package kubernetes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// release is the version of Kubernetes whose schemas are used.
const release = "v1.37.2"

// definitions returns the definitions of Kubernetes' OpenAPI specification. It is in the module of Kubernetes, which is fetched through the Go
// module proxy and not built.
func definitions(t *testing.T) map[string]map[string]any {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+release)
	cmd.Dir = t.TempDir() // in no module: the requirements of Kubernetes are not wanted
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(module.Dir, "api/openapi-spec/swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct{ Definitions map[string]map[string]any }
	if err := json.Unmarshal(data, &spec); err != nil || len(spec.Definitions) == 0 {
		t.Fatalf("%d definitions, %v", len(spec.Definitions), err)
	}
	for _, d := range spec.Definitions {
		makeStrict(d)
	}
	return spec.Definitions
}

// makeStrict turns a definition of OpenAPI 2 into a JSON Schema that accepts no unknown keys.
func makeStrict(schema map[string]any) {
	if schema["format"] == "int-or-string" {
		delete(schema, "type")
		schema["anyOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
	}
	delete(schema, "format")
	if properties, ok := schema["properties"].(map[string]any); ok {
		schema["additionalProperties"] = false
		for _, property := range properties {
			makeStrict(property.(map[string]any))
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(map[string]any); ok {
			makeStrict(inner)
		}
	}
}

// writeSchemas writes a schema for each kind, with all definitions that it reaches, under the name by which kubeconform looks for it.
func writeSchemas(t *testing.T) (pattern string) {
	t.Helper()
	dir, all := t.TempDir(), definitions(t)
	for name, definition := range all {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind := k.(map[string]any)
			group, version := kind["group"].(string), kind["version"].(string)
			file := strings.ToLower(kind["kind"].(string)) + "-" + version + ".json"
			if group != "" {
				file = strings.ToLower(kind["kind"].(string)) + "-" + strings.Split(group, ".")[0] + "-" + version + ".json"
			}
			reached := map[string]any{}
			reach(all, name, reached)
			data, err := json.Marshal(map[string]any{"$ref": "#/definitions/" + name, "definitions": reached})
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return filepath.Join(dir, "{{.ResourceKind}}{{.KindSuffix}}.json")
}

// reach adds a definition, and those that it refers to, to reached.
func reach(all map[string]map[string]any, name string, reached map[string]any) {
	if _, done := reached[name]; done {
		return
	}
	reached[name] = all[name]
	var follow func(any)
	follow = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				reach(all, strings.TrimPrefix(ref, "#/definitions/"), reached)
			}
			for _, inner := range v {
				follow(inner)
			}
		case []any:
			for _, inner := range v {
				follow(inner)
			}
		}
	}
	follow(any(all[name]))
}
