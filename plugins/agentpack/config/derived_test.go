package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDerivedManifestIsTheParsedOne(t *testing.T) {
	for name, text := range map[string]string{
		"everything": `
version: 1
profiles:
  default: {include_tags: [base], include_modules: [a], exclude_modules: [b, c]}
  other: {}
targets:
  codex: {mode: files, scope: both, options: {codex_home: " x ", yes: "yes", on: true, off: false, number: 1, list: [a]}}
  cursor: {mode: files, scope: project}
modules:
  - {id: a, type: prompt, tags: [base], targets: [codex], enabled: false, source: {local_path: {path: ""}}}
  - {id: b, type: skill, source: {git: {url: u, ref: r, subdir: s}}}
  - {id: "ä: b", type: instructions, tags: [], source: {git: {url: u}}}
`,
		"little": "version: 1\nprofiles: {default: {}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := ParseManifest([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			got := manifests.Compute([]byte(text))
			if diff := cmp.Diff(*want, got.Manifest, cmp.AllowUnexported(Options{}, option{})); !got.valid || diff != "" {
				t.Errorf("valid %t (-want +got)\n%s", got.valid, diff)
			}
		})
	}
	for _, text := range []string{"", "version: 2\nprofiles: {default: {}}\n", "a: ["} {
		if got := manifests.Compute([]byte(text)); got.valid {
			t.Errorf("ParseManifest accepts the invalid manifest %q", text)
		}
	}
}
