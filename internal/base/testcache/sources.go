package testcache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// sources is the content that an entry is built from.
type sources struct {
	root string // directory of the repository
	text strings.Builder
	seen map[string]bool
}

// newSources returns sources with what every build depends on.
func newSources() (*sources, error) {
	root, err := testenv.Root()
	if err != nil {
		return nil, err
	}
	s := &sources{root: root, seen: map[string]bool{}}
	fmt.Fprintf(&s.text, "1 %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"GOFLAGS", "CGO_ENABLED", "CC", "GOEXPERIMENT", "GOWASM", "GOAMD64", "GOARM64"} {
		fmt.Fprintf(&s.text, "%s=%s\n", name, os.Getenv(name))
	}
	return s, s.addFiles(filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum"))
}

// key returns the digest of everything added.
func (s *sources) key() string {
	sum := sha256.Sum256([]byte(s.text.String()))
	return hex.EncodeToString(sum[:12])
}

// addPackage adds the files that a build of the package in dir reads, and those of the packages of this repository that it imports.
func (s *sources) addPackage(context *build.Context, dir string) error {
	if s.seen[context.GOOS+dir] {
		return nil
	}
	s.seen[context.GOOS+dir] = true
	p, err := context.ImportDir(dir, 0)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.HFiles, p.SFiles) {
		if err := s.addFiles(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, pattern := range p.EmbedPatterns {
		matches, err := filepath.Glob(filepath.Join(dir, strings.TrimPrefix(pattern, "all:")))
		if err != nil {
			return err
		}
		for _, match := range matches {
			if err := s.addTree(match); err != nil {
				return err
			}
		}
	}
	for _, path := range p.Imports {
		if path == testenv.Repository || strings.HasPrefix(path, testenv.Repository+"/") {
			if err := s.addPackage(context, filepath.Join(s.root, strings.TrimPrefix(path, testenv.Repository))); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTree adds a file, or all files below a directory but those of tests and build output.
func (s *sources) addTree(path string) error {
	return filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"dist", "target", "node_modules", "testdata"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return s.addFiles(path)
	})
}

// addFiles adds the names and contents of files. go test notes that they are opened, and runs the test again when one has changed.
func (s *sources) addFiles(paths ...string) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		file.Close()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&s.text, "%s %x\n", filepath.ToSlash(name), sum.Sum(nil))
	}
	return nil
}
