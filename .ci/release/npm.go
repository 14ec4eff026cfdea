package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// npmName is the name of the npm package that users name. It starts the program of npmScope's package for the platform.
const (
	npmName  = "bulkhead-mcp"
	npmScope = "@bulkhead-mcp"
)

//go:embed npm_launcher.js
var npmLauncher []byte

// npmSystems and npmProcessors are Node's names.
var (
	npmSystems    = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmProcessors = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// npmPackage is a package.json.
type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage,omitempty"`
	Bin          map[string]string `json:"bin"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Dependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// makeNPM packs a package for each platform, which carries the program, and one that depends on the package of the user's platform.
func (r *release) makeNPM(context.Context) error {
	launcher := r.npmPackage(npmName, "bulkhead.js")
	launcher.Engines, launcher.Dependencies = map[string]string{"node": ">=18"}, map[string]string{}
	for _, p := range r.platforms {
		progress("packing the npm package for %s", p)
		system, processor := npmSystems[p.os], npmProcessors[p.arch]
		carrier := r.npmPackage(npmScope+"/"+system+"-"+processor, p.exe())
		carrier.OS, carrier.CPU = []string{system}, []string{processor}
		dir := filepath.Join(r.stage, p.os+"_"+p.arch, "npm")
		if err := r.copyProgram(p, dir); err != nil {
			return err
		}
		if err := r.packNPM(carrier, dir, r.base(p)+".npm.tgz"); err != nil {
			return err
		}
		launcher.Dependencies[carrier.Name] = r.number()
	}
	dir := filepath.Join(r.stage, "npm")
	if err := copyFileTo(filepath.Join(r.root, "LICENSE"), filepath.Join(dir, "LICENSE")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "bulkhead.js"), npmLauncher, 0o755); err != nil {
		return err
	}
	return r.packNPM(launcher, dir, "bulkhead_"+r.number()+".npm.tgz")
}

// npmPackage describes a package whose command is a file in it.
func (r *release) npmPackage(name, command string) npmPackage {
	return npmPackage{Name: name, Version: r.number(), Description: summary, License: "Apache-2.0", Homepage: r.homepage, Bin: map[string]string{"bulkhead": command}}
}

// packNPM completes the content of dir, and packs it as `npm pack` does.
func (r *release) packNPM(p npmPackage, dir, file string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), r.packageReadme(), 0o644); err != nil {
		return err
	}
	if err := normalize(dir, r.date); err != nil {
		return err
	}
	return createFile(filepath.Join(r.files, file), func(w io.Writer) error { return writeTarGz(w, dir, "package", r.date) })
}
