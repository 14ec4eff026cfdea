package testcache

import (
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// built has a function for each program and module that this process needed.
var built sync.Map

// Cgo is whether a program is built with cgo.
type Cgo string

// The values of Cgo. Releases are built without cgo. AnyCgo stands for that in the tier of all tests; in the others it is the default
// of the go command, so that what go test has compiled is not compiled again.
const (
	WithoutCgo Cgo = "0"
	WithCgo    Cgo = "1"
	AnyCgo     Cgo = ""
)

// Program builds the program in dir for this system, and returns its path.
func Program(dir string, cgo Cgo) (string, error) {
	if cgo == AnyCgo && testenv.IsAll() {
		cgo = WithoutCgo
	}
	return goBuild(dir, target{Context: build.Default, cgo: cgo})
}

// Module builds the module in dir as plugins are built, and returns its path.
func Module(dir string) (string, error) { return goBuild(dir, wasi("c-shared")) }

// Command builds the program in dir for WASI, and returns its path.
func Command(dir string) (string, error) { return goBuild(dir, wasi("exe")) }

// target is what a build is for.
type target struct {
	build.Context
	cgo  Cgo
	mode string // -buildmode of modules
}

func wasi(mode string) target {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "wasip1", "wasm", false
	return target{context, WithoutCgo, mode}
}

// Must returns the file or directory, or panics, which fails the test that needs it.
func Must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}

// goBuild builds a package. Modules are built with the flags of `bulkhead plugin build`, programs with those of go test, so that
// packages that were compiled for either are not compiled again.
func goBuild(dir string, target target) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	once, _ := built.LoadOrStore(fmt.Sprint(dir, target.cgo, target.mode), sync.OnceValues(func() (string, error) { return target.build(dir) }))
	return once.(func() (string, error))()
}

func (target target) build(dir string) (string, error) {
	s, err := newSources()
	if err != nil {
		return "", err
	}
	if err := s.addPackage(&target.Context, dir); err != nil {
		return "", err
	}
	args, name := []string{"build", "-buildvcs=false"}, filepath.Base(dir)
	if target.mode != "" {
		args, name = append(args, "-trimpath", "-buildmode="+target.mode), name+".wasm"
	}
	variables := []string{"GOOS=" + target.GOOS, "GOARCH=" + target.GOARCH}
	if target.cgo != AnyCgo {
		variables = append(variables, "CGO_ENABLED="+string(target.cgo))
	}
	fmt.Fprintf(&s.text, "%q %q\n", args, variables)
	entry, err := entry(name+"-"+s.key(), func(out string) error {
		command := exec.Command("go", append(args, "-o", filepath.Join(out, name), ".")...)
		command.Dir, command.Env = dir, append(os.Environ(), variables...)
		if text, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%q in %s: %w\n%s", command.Args, dir, err, text)
		}
		return nil
	})
	return filepath.Join(entry, name), err
}

// Plugins builds the plugins in dirs with the program that Program returned, and returns a directory that contains them in
// "plugins", and the compiled code of their modules in "cache", an XDG_CACHE_HOME. The program fills the cache, because the keys
// of its entries depend on the versions of linked libraries, which a test binary does not know.
func Plugins(program string, dirs ...string) (string, error) {
	s, err := newSources()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&s.text, "%s\n", filepath.Base(filepath.Dir(program)))
	modules := wasi("c-shared")
	for _, dir := range dirs {
		if dir, err = filepath.Abs(dir); err == nil {
			err = s.addPackage(&modules.Context, dir)
		}
		if err == nil {
			err = s.addTree(dir)
		}
		if err != nil {
			return "", err
		}
	}
	return entry("plugins-"+s.key(), func(out string) error {
		cache, err := goCache()
		if err != nil {
			return err
		}
		command := exec.Command(program, append([]string{"plugin", "build", "-o", filepath.Join(out, "plugins")}, dirs...)...)
		command.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(out, "cache"), "GOCACHE="+cache)
		if text, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("bulkhead plugin build %s: %w\n%s", strings.Join(dirs, " "), err, text)
		}
		return nil
	})
}

// Compiled returns a directory for compiled code of modules, which is shared among the tests of all packages, for tests that are not
// about the cache. compilers are the directories of the packages that determine what is stored.
func Compiled(compilers ...string) (string, error) {
	s, err := newSources()
	if err != nil {
		return "", err
	}
	for _, dir := range compilers {
		if dir, err = filepath.Abs(dir); err == nil {
			err = s.addPackage(&build.Default, dir)
		}
		if err != nil {
			return "", err
		}
	}
	return entry("compiled-"+s.key(), func(string) error { return nil })
}
