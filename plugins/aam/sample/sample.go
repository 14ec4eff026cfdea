// Package sample makes projects with a registry of any size, for benchmarks.
//
//	err := sample.Write(folder, 1000)
package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
)

// Write makes a project in a folder whose configuration has one registry, in the folder registry beside the project's
// own files, with so many packages, at least one. The first is published in it, archive and all; of the others there is
// what a registry says of a package, made after the first one's. The last publication makes the index of them all.
func Write(folder string, packages int) error {
	root := filepath.Join(folder, "registry")
	config := "registries:\n- name: team\n  url: file://" + root + "\n"
	if err := write(filepath.Join(folder, ".aam", "config.yaml"), config); err != nil {
		return err
	}
	r := registry.Registry{Files: files.Disk{}, Name: "team", Root: root}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := publish(r, filepath.Join(folder, "source"), name(0), "1.0.0"); err != nil {
		return err
	}
	first, err := os.ReadFile(metadata(root, 0))
	if err != nil {
		return err
	}
	for i := 1; i < packages; i++ {
		text := strings.NewReplacer(name(0), name(i), description(0), description(i)).Replace(string(first))
		if err := write(metadata(root, i), text); err != nil {
			return err
		}
	}
	return publish(r, filepath.Join(folder, "source"), name(0), "1.1.0")
}

// name gives one package in a hundred a name that has audit in it.
func name(i int) string {
	if i%100 == 0 {
		return fmt.Sprintf("audit-kit-%05d", i)
	}
	return fmt.Sprintf("package-%05d", i)
}

func description(i int) string {
	return fmt.Sprintf("Number %05d of the packages that are there to be searched through", i)
}

func metadata(root string, i int) string {
	return filepath.Join(root, "packages", name(i), "metadata.yaml")
}

// publish publishes a package of one prompt, which is written to dir.
func publish(r registry.Registry, dir, name, version string) error {
	text := "name: " + name + "\nversion: " + version + "\ndescription: " + description(0) + "\nauthor: Example\nkeywords: [review, checks]\n" +
		"artifacts: {prompts: [{name: p, path: p.md, description: A prompt}]}\n"
	if err := write(filepath.Join(dir, manifest.FileName), text); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "p.md"), "Look at it.\n"); err != nil {
		return err
	}
	m, err := manifest.Load(r.Files, dir)
	if err != nil {
		return err
	}
	now := registry.Timestamp(time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC))
	_, err = r.Publish(registry.Publication{Dir: dir, Manifest: m, Tag: "latest", Now: now, Limits: archive.DefaultLimits()})
	return err
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
