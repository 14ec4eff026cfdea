package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Part and Entry are parts of a Report.
type (
	Part  = modinfo.Part
	Entry = modinfo.Entry
)

// Report describes the file of a module. Its strings are untrusted.
type Report struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	What   string `json:"what"`          // the kind of the file in words
	ABI    int    `json:"abi,omitempty"` // version of the ABI that the module implements; 0: none
	// Problem is the reason why the file is not a plugin that answers, and Remedy is what its author can do; empty: it is one.
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	modinfo.Info
	Handlers *abi.Description `json:"handlers,omitempty"` // nil: the module has not described them
	Start    *Start           `json:"start,omitempty"`    // nil: the module was not started
	Manifest *Summary         `json:"manifest,omitempty"` // nil: the directory of the file has no manifest that names the file
}

// Start is what it costs to start a plugin.
type Start struct {
	Compile   int64 `json:"compile_ns"` // 0: the compiled code was in the cache
	Load      int64 `json:"load_ns"`    // from the start of a process to the end of its first call, which a command does not have
	StartFuel int64 `json:"start_fuel"` // instructions of the start function and of _initialize
	CallFuel  int64 `json:"call_fuel"`  // instructions of the first call
	Memory    int64 `json:"memory"`     // size in bytes of the linear memory after the first call
}

// Inspect describes the file of a module. A file that is a plugin runs once, without access to anything, and is asked for its
// handlers. A program whose manifest has kind = "command" is loaded, but does not run. The error is tomlfile.Problems if the file cannot be
// read.
func Inspect(ctx context.Context, file string, o Options) (Report, error) {
	b, err := newBuilder(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	r := Report{File: file}
	r.Info, r.SHA256, err = code.ReadInfo(ctx, reexec.Command(reexec.Info), file)
	if failure := (*code.Error)(nil); errors.As(err, &failure) {
		return Report{}, tomlfile.Problems{{File: file, What: failure.Text}}
	}
	if err != nil {
		return Report{}, err
	}
	r.What = kinds[r.Kind].what
	s, ps := manifestOf(file)
	m := subject{plugin: filepath.Base(file), kind: manifest.KindABI1, file: file, sum: r.SHA256}
	if s != nil {
		m.limits, m.tools = s.m.Limits, s.m.Tools
	}
	switch version := extismVersion(r.Info); {
	case r.Kind == modinfo.Plugin:
		r.ABI = 1
		r.start(ctx, b, m)
	case version > 0:
		r.What = fmt.Sprintf("a plugin of hyper-mcp, whose interface it uses in version %d", version)
		if s == nil {
			r.Remedy = importable
		}
		m.kind = manifest.KindExtism
		r.start(ctx, b, m)
	case r.Kind == modinfo.Command && s != nil && s.m.Module.Kind == manifest.KindCommand:
		m.kind = manifest.KindCommand
		r.start(ctx, b, m)
	default:
		r.Problem, r.Remedy = "it is "+r.What, kindRemedy(r.Info)
	}
	if s != nil {
		r.Manifest = s.summary(ps, r.Handlers)
	}
	return r, context.Cause(ctx)
}

// start runs the plugin and sets Handlers, Start, Problem and Remedy.
func (r *Report) start(ctx context.Context, b *builder, m subject) {
	response, took, err := b.describe(ctx, m, nil)
	var rpcError *abi.Error
	if err != nil && !errors.As(err, &rpcError) {
		r.Problem, r.Remedy = r.failure(err, m.kind)
		return
	}
	r.Start = &Start{int64(took.compile), int64(took.start), response.StartFuel, response.Fuel, response.Memory}
	has, fault := decode(json.RawMessage(response.Body), rpcError)
	if fault != "" {
		r.Problem, r.Remedy = fmt.Sprintf("it answers %s with %s", abi.MethodDescribe, fault), "answer as docs/abi.md describes"
		return
	}
	r.Handlers = &has.Description
}

// extismVersion returns the version of the interface that a plugin of hyper-mcp uses; 0 if the module is not such a plugin.
func extismVersion(info modinfo.Info) extism.Version {
	if info.Kind != modinfo.Extism {
		return 0
	}
	version, _ := extism.Detect(func(name string) bool {
		return slices.ContainsFunc(info.Exports, func(e Entry) bool { return e.Name == name && e.Kind == "function" })
	})
	return version
}

// failure returns why the plugin cannot be asked for its handlers, and what its author can do.
func (r *Report) failure(err error, kind string) (problem, remedy string) {
	failed := (*engine.Error)(nil)
	if !errors.As(err, &failed) {
		return err.Error(), ""
	}
	problem = asked(kind) + failed.Message
	if failed.Detail != "" {
		problem += "\n" + indent(failed.Detail[:min(len(failed.Detail), maxDetail)])
	}
	switch failed.Code {
	case engine.CodeInvalidModule:
		return problem, invalidRemedy(problem, []string{compilers[r.Language]})
	case engine.CodeDigest, engine.CodeModuleMissing, engine.CodeCanceled, engine.CodeInternal:
		return problem, ""
	}
	return problem, noAccess
}
