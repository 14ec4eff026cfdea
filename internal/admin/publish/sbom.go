package publish

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

// The types below are the part of CycloneDX 1.6 that is used. Time and serial number, which would differ each time, are left out.
type bill struct {
	Format       string        `json:"bomFormat"`
	SpecVersion  string        `json:"specVersion"`
	Version      int           `json:"version"`
	Metadata     metadata      `json:"metadata"`
	Components   []component   `json:"components"`
	Compositions []composition `json:"compositions"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
	PURL     string    `json:"purl,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	Expression string `json:"expression"`
}

// composition says whether the list of components is known to be complete.
type composition struct {
	Aggregate  string   `json:"aggregate"`
	Assemblies []string `json:"assemblies"`
}

// billOfMaterials returns the bill of materials of a plugin. The components are those that the go command wrote into the module; of modules in
// other languages they are not known, and the bill says so.
func billOfMaterials(m *manifest.Manifest, module []byte) ([]byte, error) {
	self := component{Type: "application", Ref: "plugin", Name: m.Name, Version: m.Version, Hashes: []hash{{"SHA-256", m.Module.SHA256}}}
	if m.License != "" {
		self.Licenses = []license{{m.License}}
	}
	b := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{self}, Components: []component{}}
	info := buildInfo(module)
	aggregate := "unknown"
	if info != nil {
		aggregate = "complete"
		b.Components = goComponents(info, goVersion(module))
	}
	b.Compositions = []composition{{aggregate, []string{self.Ref}}}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// goComponents returns the modules that are linked into a Go program, and Go's own library if its version is known. A module that was replaced by a directory
// keeps its name, without an address: a path would be that of the author's machine.
func goComponents(info *debug.BuildInfo, goVersion string) []component {
	var out []component
	if goVersion != "" {
		out = append(out, library("std", goVersion, true))
	}
	for _, m := range info.Deps {
		switch {
		case m.Replace == nil:
			out = append(out, library(m.Path, m.Version, true))
		case m.Replace.Version != "":
			out = append(out, library(m.Replace.Path, m.Replace.Version, true))
		default:
			out = append(out, library(m.Path, m.Version, false))
		}
	}
	slices.SortFunc(out, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return out
}

func library(path, version string, published bool) component {
	c := component{Type: "library", Ref: path + "@" + version, Name: path, Version: version}
	if published {
		c.PURL = "pkg:golang/" + strings.ToLower(path) + "@" + version
	}
	return c
}

// goVersion returns the version of Go that compiled a module; empty if it is not known.
func goVersion(module []byte) string {
	for _, p := range modinfo.Read(module).Producers {
		if p.Field == "language" && p.Name == "Go" {
			version, _, _ := strings.Cut(strings.TrimPrefix(p.Version, "go"), " ")
			return version
		}
	}
	return ""
}

// buildInfo returns the build information in a module that the go command has compiled; nil if there is none. It is between markers that
// the command writes around it in the variable runtime.modinfo.
func buildInfo(module []byte) *debug.BuildInfo {
	const start, end = "0w\xaf\f\x92t\b\x02A\xe1\xc1\a\xe6\xd6\x18\xe6", "\xf92C1\x86\x18 r\x00\x82B\x10A\x16\xd8\xf2"
	_, rest, ok := bytes.Cut(module, []byte(start))
	text, _, ended := bytes.Cut(rest, []byte(end))
	if !ok || !ended {
		return nil
	}
	info, err := debug.ParseBuildInfo(string(text))
	if err != nil {
		return nil
	}
	return info
}
