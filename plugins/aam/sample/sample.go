// Package sample generates projects with a registry of any size, for benchmarks:
//
//	err := sample.Write(folder, 1000)
package sample

import (
	"bytes"
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

// Write generates a project in the directory folder. The project's configuration names one registry, the subdirectory
// registry, which has at least one package and as many as the argument packages says. Write publishes the first
// package, derives the files of the other packages from it, and publishes a second version of the first package, so
// that the index is rebuilt.
func Write(folder string, packages int) error {
	root := filepath.Join(folder, "registry")
	config := "registries:\n- name: team\n  url: file://" + root + "\n"
	if err := write(filepath.Join(folder, ".aam", "config.yaml"), config); err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	w := writer{registry.Registry{Files: files.Disk{}, Name: "team", Root: root}, filepath.Join(folder, "source")}
	first, err := w.publish("1.0.0")
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(root, "packages", name(0), "metadata.yaml"))
	if err != nil {
		return err
	}
	for i := 1; i < packages; i++ {
		if err := w.add(i, string(metadata), first.Checksum); err != nil {
			return err
		}
	}
	_, err = w.publish("1.1.0")
	return err
}

// writer writes the packages of the generated registry.
type writer struct {
	registry registry.Registry
	source   string // the directory of the package that is being written
}

// add adds a package to the registry. It derives the metadata of the package from the metadata of the first package.
func (w writer) add(i int, metadata, checksum string) error {
	m, err := w.manifest(i, "1.0.0")
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	listing, err := archive.Pack(w.registry.Files, w.source, m, &packed, archive.DefaultLimits())
	if err != nil {
		return err
	}
	folder := filepath.Join(w.registry.Root, "packages", name(i))
	if err := write(filepath.Join(folder, "versions", "1.0.0.aam"), packed.String()); err != nil {
		return err
	}
	text := strings.NewReplacer(name(0), name(i), description(0), description(i), checksum, listing.Checksum).Replace(metadata)
	return write(filepath.Join(folder, "metadata.yaml"), text)
}

// publish publishes a version of the first package.
func (w writer) publish(version string) (registry.Published, error) {
	m, err := w.manifest(0, version)
	if err != nil {
		return registry.Published{}, err
	}
	now := registry.Timestamp(time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC))
	return w.registry.Publish(registry.Publication{Dir: w.source, Manifest: m, Tag: "latest", Now: now, Limits: archive.DefaultLimits()})
}

// manifest writes a package with one prompt, and returns the manifest of the package.
func (w writer) manifest(i int, version string) (*manifest.Manifest, error) {
	text := "name: " + name(i) + "\nversion: " + version + "\ndescription: " + description(i) + "\nauthor: Example\nkeywords: [review, checks]\n" +
		"artifacts:\n  prompts:\n    - name: p\n      path: p.md\n      description: A prompt\n"
	if err := write(filepath.Join(w.source, manifest.FileName), text); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(w.source, "p.md"), "Look at it.\n"); err != nil {
		return nil, err
	}
	return manifest.Load(w.registry.Files, w.source)
}

// name returns the name of the package with the number i. One in a hundred names contains "audit".
func name(i int) string {
	if i%100 == 0 {
		return fmt.Sprintf("audit-kit-%05d", i)
	}
	return fmt.Sprintf("package-%05d", i)
}

func description(i int) string {
	return fmt.Sprintf("Package number %05d for benchmarks of searches", i)
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
