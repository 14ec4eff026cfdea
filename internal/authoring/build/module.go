package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// makeModule builds the module if the manifest has [build], and opens it.
func (b *builder) makeModule(ctx context.Context, s *source, st *stage, task *progress.Task) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.m.Build.Go != "" {
		return b.compile(ctx, s, st, task)
	}
	if command := s.m.Build.Command; len(command) > 0 {
		task.Step("running %s in %s", tomlfile.Quote(commandLine(command)), s.dir)
		if err := b.run(ctx, s, st, nil, command); err != nil {
			ps := tomlfile.Problems{s.commandProblem("command", tomlfile.Quote(commandLine(command)), err)}
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == exitUnavailable {
				return nil, &UnavailableError{s.m.Name, s.dir, printed(err), ps}
			}
			return nil, ps
		}
	}
	module, err := s.openModule()
	if err != nil {
		return nil, tomlfile.Problems{s.openProblem(err)}
	}
	return module, nil
}

// compile runs the go tool. The module keeps its name section for stack traces; removing it with the linker's -s
// would save two percent. The module contains neither paths nor VCS data, so the build is reproducible.
func (b *builder) compile(ctx context.Context, s *source, st *stage, task *progress.Task) (*os.File, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, tomlfile.Problems{s.problem("build", "go", fmt.Sprintf("needs the go tool: %v", err),
			"install Go (https://go.dev/dl) and see that `go version` answers")}
	}
	pkg := "./" + path.Clean(s.m.Build.Go) // without ./ it would name a package of the standard library
	task.Step("compiling %s", filepath.Join(s.dir, pkg))
	made, temporary := st.file("made.wasm"), st.file("tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return nil, err
	}
	mode := "-buildmode=c-shared"
	if s.m.Module.Kind == manifest.KindCommand {
		mode = "-buildmode=exe"
	}
	command := []string{"go", "build", "-trimpath", "-buildvcs=false", mode, "-o", made, pkg}
	// A killed go tool leaves its temporary directory behind, so it is placed in the staging directory.
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOTMPDIR=" + temporary}
	if err := b.run(ctx, s, st, env, command); err != nil {
		return nil, tomlfile.Problems{s.commandProblem("go", "go build "+pkg, err)}
	}
	module, err := code.OpenModule(made)
	if errors.Is(err, os.ErrNotExist) {
		return nil, tomlfile.Problems{s.problem("build", "go", fmt.Sprintf("go build %s produced no module", pkg), "name a package main")}
	}
	return module, err
}

// exitUnavailable is the exit code by which a build command says that it lacks a tool: EX_UNAVAILABLE of sysexits.h.
const exitUnavailable = 69

// UnavailableError is the error of a plugin whose build command lacks a tool. It wraps the problem that other failures of the command
// are.
type UnavailableError struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Reason string `json:"reason"` // what the command printed

	problems tomlfile.Problems
}

func (e *UnavailableError) Error() string { return e.problems.Error() }

func (e *UnavailableError) Unwrap() error { return e.problems }

// tooLongError is the error of a build command that was ended because it exceeded its time limit.
type tooLongError struct{ limit time.Duration }

func (e tooLongError) Error() string {
	return fmt.Sprintf("ran for more than %s and was ended", e.limit)
}

// run runs a build command in the directory of the source. It limits the command's time, so that a command that hangs does not
// block the builds of other plugins forever.
func (b *builder) run(ctx context.Context, s *source, st *stage, env, command []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.command, tooLongError{b.command})
	defer cancel()
	err := run(ctx, s.m.Dir, st.file("output"), env, command, b.grace)
	if tooLong := (tooLongError{}); err != nil && errors.As(context.Cause(ctx), &tooLong) {
		return fmt.Errorf("%w: %w", tooLong, err)
	}
	return err
}

// commandProblem converts the error of a build command into a problem.
func (s *source) commandProblem(key, program string, err error) tomlfile.Problem {
	remedy := ""
	tooLong := tooLongError{}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		remedy = missingRemedy(s.m.Build.Command)
	case key == "command" && lacksPackages(s.m.Build.Command, err.Error()):
		remedy = npmInstall
	case errors.As(err, &tooLong):
		remedy = "run it in " + s.dir + " to see what it waits for; it has no input"
	}
	return s.problem("build", key, fmt.Sprintf("%s: %v", program, err), remedy)
}
