// Package conform tests whether a module conforms to the ABI: Run has a host call a module that implements the tools of the
// conformance kit, and compares the responses with those of the kit's scenario files. docs/conformance.md describes the tools.
package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// ABI is the version of the ABI that the kit tests.
const ABI = 1

// Result is the outcome of one scenario.
type Result struct {
	File   string `json:"file"` // the scenario file
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail,omitempty"` // how the response differs from the expected one
}

// Run runs all scenarios with the module in a file. It returns tomlfile.Problems if the module cannot be called, or lacks
// tools of the kit. compiled is the host's directory for the cache of compiled code; empty: a temporary one.
func Run(ctx context.Context, module, compiled string) ([]Result, error) {
	w, err := newWorld(module, compiled)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	// This compiles the module, so that no call waits for that.
	if ps := build.Check(ctx, w.plugin(), build.Options{CacheDir: w.Compiled()}).Errors(); len(ps) > 0 {
		return nil, w.explain(ps, module)
	}
	all, err := files(w.Project())
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, f := range all {
		of, err := w.run(ctx, f)
		if err != nil {
			return nil, err
		}
		results = append(results, of...)
	}
	return results, nil
}

// world is a temporary directory with the module as a plugin, and with the project that it is granted.
type world struct{ *scratch.Dir }

func newWorld(module, compiled string) (w world, err error) {
	source, err := code.OpenModule(module)
	if err != nil {
		return w, &host.UsageError{Err: err}
	}
	defer source.Close()
	if w.Dir, err = scratch.New(compiled); err != nil {
		return w, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	for _, d := range []string{w.plugin(), filepath.Join(w.Project(), "shared")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return w, err
		}
	}
	manifest, err := kit.ReadFile(kitDir + "/" + manifestName)
	if err != nil {
		return w, err
	}
	for name, content := range map[string]string{
		filepath.Join(w.plugin(), manifestName): string(manifest),
		filepath.Join(w.Project(), "note.txt"):  "a note: ü\n",
		filepath.Join(w.Project(), "large.txt"): strings.Repeat("0123456789abcdef", 4<<20/16),
		w.Path("outside.txt"):                   "not granted",
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return w, err
		}
		if err := os.Chmod(name, 0o644); err != nil { // the umask does not matter
			return w, err
		}
	}
	copied, err := os.Create(filepath.Join(w.plugin(), "module.wasm"))
	if err != nil {
		return w, err
	}
	_, err = copied.ReadFrom(source)
	return w, errors.Join(err, copied.Close())
}

func (w world) plugin() string { return w.Path("plugins", "conform") }

// explain makes the problems of the plugin those of the module.
func (w world) explain(ps tomlfile.Problems, module string) error {
	explained := make(tomlfile.Problems, len(ps))
	for i, p := range ps {
		explained[i] = tomlfile.Problem{File: module, What: p.What, Remedy: p.Remedy}
		if p.Key != "module.file" { // the module's handlers differ from the kit's manifest
			explained[i].Remedy = "docs/conformance.md lists what the module must have"
		}
	}
	return explained
}

// run runs the scenarios of a file.
func (w world) run(ctx context.Context, f file) (results []Result, err error) {
	grants := `fs = [{ path = "${project}", access = "r" }, { path = "${project}/shared", access = "rw" }]
ask = ["elicitation"]
http = ["https://granted.invalid"]
`
	if f.time != "" {
		grants += fmt.Sprintf("limits = { time = %s }\n", tomlfile.Text(f.time))
	}
	session, err := w.Open(scratch.Table(w.plugin(), grants))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	for i := range f.scenarios {
		s := &f.scenarios[i]
		difference, err := s.run(ctx, session)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.name, s.name, err)
		}
		results = append(results, Result{File: f.name, Name: s.name, Passed: difference == "", Detail: difference})
	}
	return results, nil
}

// run makes the requests of a scenario, and returns how a response differs from the expected one; "" if none does.
func (s *scenario) run(ctx context.Context, session *scratch.Session) (string, error) {
	session.Logged()
	request := scratch.Request{Method: s.method, Params: s.params}
	if s.asked != nil {
		request.Answer = func(host.Question) (json.RawMessage, error) { return s.answer, nil }
	}
	responses, failures := make([]scratch.Response, s.times), make([]error, s.times)
	var requests sync.WaitGroup
	for i := range s.times {
		requests.Go(func() { responses[i], failures[i] = session.Exchange(ctx, request) })
		if !s.parallel {
			requests.Wait()
		}
	}
	requests.Wait()
	if err := errors.Join(failures...); err != nil {
		return "", err
	}
	for i, response := range responses {
		difference := s.check(response)
		if difference != "" && s.times > 1 {
			return fmt.Sprintf("call %d: %s", i+1, difference), nil
		}
		if difference != "" {
			return difference, nil
		}
	}
	return s.checkLog(session.Logged()), nil
}
