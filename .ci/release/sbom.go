package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// makeSBOMs writes a bill of materials for each platform, in the JSON format of CycloneDX: the program and the plugins,
// and the modules that the build information of each names.
func (r *release) makeSBOMs(context.Context) error {
	for _, p := range r.platforms {
		bom, err := r.sbom(p)
		if err != nil {
			return err
		}
		err = createFile(filepath.Join(r.files, r.base(p)+".cdx.json"), func(w io.Writer) error {
			return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *release) sbom(p platform) (*cdx.BOM, error) {
	l, err := r.linkedIn(p)
	if err != nil {
		return nil, err
	}
	program, err := r.compiled(l.program, filepath.Join(r.tree(p), p.exe()))
	if err != nil {
		return nil, err
	}
	components, dependencies := []cdx.Component{}, []cdx.Dependency{r.dependency(program, l.program)}
	for _, name := range r.plugins {
		plugin, err := r.compiled(l.plugins[name], filepath.Join(r.tree(p), "plugins", name, name+".wasm"))
		if err != nil {
			return nil, err
		}
		components = append(components, plugin)
		dependencies = append(dependencies, r.dependency(plugin, l.plugins[name]))
		*dependencies[0].Dependencies = append(*dependencies[0].Dependencies, plugin.BOMRef)
	}
	slices.Sort(*dependencies[0].Dependencies)
	for _, m := range append(l.modules(r.root), module{standardLibrary(r.goVersion), r.root}) {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl(m.Module), PackageURL: purl(m.Module), Name: m.Path, Version: m.Version}
		if m.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.Sum}}
		}
		components = append(components, c)
		dependencies = append(dependencies, cdx.Dependency{Ref: c.BOMRef})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &program}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom, nil
}

// compiled describes a compiled file.
func (r *release) compiled(info *debug.BuildInfo, file string) (cdx.Component, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return cdx.Component{}, err
	}
	sum := sha256.Sum256(data)
	ref := "pkg:golang/" + strings.ToLower(info.Main.Path) + "@" + r.version
	if path, ok := strings.CutPrefix(info.Path, info.Main.Path+"/"); ok {
		ref += "#" + path
	}
	return cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: ref, PackageURL: ref, Name: filepath.Base(info.Path), Version: r.version,
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}, nil
}

// dependency lists the modules of a compiled file.
func (r *release) dependency(c cdx.Component, info *debug.BuildInfo) cdx.Dependency {
	refs := []string{}
	if info.GoVersion != "" {
		refs = append(refs, purl(standardLibrary(r.goVersion)))
	}
	for _, m := range info.Deps {
		refs = append(refs, purl(cmp.Or(m.Replace, m)))
	}
	slices.Sort(refs)
	return cdx.Dependency{Ref: c.BOMRef, Dependencies: &refs}
}

// standardLibrary returns the library of Go as a module.
func standardLibrary(goVersion string) *debug.Module {
	return &debug.Module{Path: "std", Version: strings.TrimPrefix(goVersion, "go")}
}

// purl returns the package URL of a module.
func purl(m *debug.Module) string { return "pkg:golang/" + strings.ToLower(m.Path) + "@" + m.Version }
