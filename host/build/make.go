package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// make makes the module in the way that the manifest says and opens it. One module is made at a time: two
// go tools with an empty cache would each compile the standard library, on processors that one can use up.
func (b *builder) make(ctx context.Context, s *source, st *stage) (*os.File, error) {
	b.making.Lock()
	defer b.making.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.m.Build.Go != "" {
		return b.compile(ctx, s, st)
	}
	if command := s.m.Build.Command; len(command) > 0 {
		b.say(s.m.Name, "running %s in %s", tomlfile.Quote(commandLine(command)), s.dir)
		if err := run(ctx, s.m.Dir, st.file("output"), nil, command); err != nil {
			return nil, tomlfile.Problems{s.failed("command", tomlfile.Quote(commandLine(command)), err)}
		}
	}
	module, err := s.openModule()
	if err != nil {
		return nil, tomlfile.Problems{s.unopened(err)}
	}
	return module, nil
}

// compile runs the go tool. The module keeps its name section, by which a crash says where it happened:
// the linker's -s would save two percent. It keeps no trace of the repository or of folders, so the same
// sources make the same module.
func (b *builder) compile(ctx context.Context, s *source, st *stage) (*os.File, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, tomlfile.Problems{s.problem("build", "go", fmt.Sprintf("needs the go tool: %v", err),
			"install Go (https://go.dev/dl) and see that `go version` answers")}
	}
	pkg := "./" + path.Clean(s.m.Build.Go) // without ./ it would name a package of the standard library
	b.say(s.m.Name, "compiling %s", filepath.Join(s.dir, pkg))
	made, temporary := st.file("made.wasm"), st.file("tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return nil, err
	}
	command := []string{"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", made, pkg}
	// A go tool that is ended leaves its temporary folder behind: here it goes with the staging folder.
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOTMPDIR=" + temporary}
	if err := run(ctx, s.m.Dir, st.file("output"), env, command); err != nil {
		return nil, tomlfile.Problems{s.failed("go", "go build "+pkg, err)}
	}
	module, err := code.OpenModule(made)
	if errors.Is(err, os.ErrNotExist) {
		return nil, tomlfile.Problems{s.problem("build", "go", fmt.Sprintf("go build %s made no module", pkg), "name a package main")}
	}
	return module, err
}

// failed is the problem of a program that did not make the module.
func (s *source) failed(key, program string, err error) tomlfile.Problem {
	remedy := ""
	if errors.Is(err, exec.ErrNotFound) {
		remedy = "install the program, or name the one that makes the module"
	}
	return s.problem("build", key, fmt.Sprintf("%s: %v", program, err), remedy)
}
