package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// summary describes the program in the words of the Debian package.
const summary = "MCP host that runs tools as sandboxed WebAssembly modules"

// carried are the files of a platform's archive that packages of npm and PyPI contain beside the program.
var carried = []string{"plugins", "LICENSE", noticesFile}

// copyProgram copies what packages contain from the tree of a platform to dir.
func (r *release) copyProgram(p platform, dir string) error {
	for _, name := range append([]string{p.exe()}, carried...) {
		from := filepath.Join(r.tree(p), name)
		err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			relative, err := filepath.Rel(r.tree(p), path)
			if err != nil {
				return err
			}
			return copyFileTo(path, filepath.Join(dir, relative))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packageReadme is the page of a package in a registry.
func (r *release) packageReadme() []byte {
	text := "# Bulkhead\n\nAn MCP host that runs tools as sandboxed WebAssembly modules. A plugin reaches what you grant, and nothing else.\n\n" +
		"In a project, `bulkhead init` chooses plugins, and `bulkhead serve` serves them to an MCP client.\n"
	if r.homepage != "" {
		text += fmt.Sprintf("\nDocumentation: <%s>\n", r.homepage)
	}
	return []byte(text)
}

// writeFiles writes files to dir, which it creates.
func writeFiles(dir string, files map[string][]byte) error {
	err := os.MkdirAll(dir, 0o755)
	for name, data := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return err
}
