package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	// maxDescription bounds a description in bytes. A manifest cannot name more tools than fit into it.
	maxDescription = tomlfile.MaxSize
	// maxUnlisted bounds how many handlers without a [[tools]] table a problem names.
	maxUnlisted = 20
	// maxDetail bounds the quoted output of a module in bytes.
	maxDetail = 2 << 10
)

// inspect runs the module in file in a worker process without grants, and reports differences between the module's
// handlers and the manifest. If sum is not empty, the module must have this digest.
func (b *builder) inspect(ctx context.Context, s *source, file, sum string) tomlfile.Problems {
	has, ps := b.describeSource(ctx, s, file, sum)
	if ps != nil {
		return ps
	}
	return append(append(s.compareTools(has.Description), s.compareOffers(has.Description)...), s.compareSchemas(has.Schemas)...)
}

// describeSource asks the module in file for its handlers and their schemas.
func (b *builder) describeSource(ctx context.Context, s *source, file, sum string) (abi.SchemaDescription, tomlfile.Problems) {
	m := subject{s.m.Name, s.m.Module.Kind, file, sum, s.m.Limits, s.m.Tools}
	response, _, err := b.describe(ctx, m, withSchemas)
	var rpcError *abi.Error
	if errors.As(err, &rpcError) { // the module expects no parameters
		rpcError = nil
		response, _, err = b.describe(ctx, m, nil)
	}
	if err != nil && !errors.As(err, &rpcError) {
		return abi.SchemaDescription{}, tomlfile.Problems{s.callProblem(err, file)}
	}
	has, fault := decode(response.Body, rpcError)
	if fault != "" {
		return abi.SchemaDescription{}, tomlfile.Problems{s.problem("module", "file", fmt.Sprintf("the module answers %s with %s", abi.MethodDescribe, fault),
			`answer {"result": {"tools": ["name"], "prompts": false, "resources": false, "completions": false}}, as the SDK does`)}
	}
	return has, nil
}

// withSchemas are the parameters of bulkhead/describe that ask for the schemas of the handlers.
var withSchemas = []byte(`{"schemas":true}`)

// noBudget is a memory budget, in bytes, that exceeds the memory of any machine, so only the limits of the module apply.
const noBudget = 1 << 50

// subject is a module that describe runs.
type subject struct {
	plugin string // name of the plugin
	kind   string // module.kind of the manifest
	file   string // path of the module
	sum    string // expected digest; empty: any
	limits manifest.Limits
	tools  []manifest.Tool // tools of the manifest, because a command cannot describe its tools
}

// commands returns the tools of a command.
func (m subject) commands() command.Tools {
	if m.kind != manifest.KindCommand {
		return nil
	}
	all := command.Tools{}
	for _, t := range m.tools {
		all[t.Name] = t.Command
	}
	return all
}

// durations are how long the steps of describe took.
type durations struct {
	compile time.Duration // 0: the compiled code was in the cache
	start   time.Duration // to start a process, load the module and call it once
}

// describe asks the module for its handlers, with the parameters params.
func (b *builder) describe(ctx context.Context, m subject, params []byte) (call.Result, durations, error) {
	var prepared, compiling atomic.Int64 // nanoseconds
	w := b.start(m, &prepared, &compiling)
	defer w.Close()
	began := time.Now()
	response, err := w.Call(ctx, worker.Hooked{Request: &call.Request{Method: abi.MethodDescribe, Params: params}})
	took := durations{compile: time.Duration(compiling.Load()), start: time.Since(began) - time.Duration(prepared.Load())}
	return response, took, err
}

// start returns the supervisor of a worker process without grants for the module; the first call starts the process. It adds the times of
// preparing and compiling the module, in nanoseconds, to prepared and compiling.
func (b *builder) start(m subject, prepared, compiling *atomic.Int64) *worker.Supervisor {
	log := b.log.Named(m.plugin)
	limits := wire.Limits{
		Memory: cmp.Or(b.memory, m.limits.Memory, 64<<20), Time: cmp.Or(b.time, m.limits.Time, 30*time.Second),
		Input: 1 << 10, Output: maxDescription, OperationBytes: 1 << 10, Operations: 1, LogSize: 1 << 20, Concurrency: 1,
	}
	prepare := func(ctx context.Context) (*worker.Launch, error) {
		began := time.Now()
		compiled, err := b.store.Ensure(ctx, code.Module{Name: m.plugin, File: m.file, SHA256: m.sum}, code.Foreground)
		if err != nil {
			return nil, worker.CodeError(m.plugin, m.file, err)
		}
		spent := int64(time.Since(began))
		prepared.Add(spent)
		if compiled.Fresh {
			compiling.Add(spent)
		}
		l := &worker.Launch{Release: func() { _ = compiled.Close() }, Discard: func() error { return b.store.Discard(compiled) }}
		l.Setup = wire.Setup{Plugin: m.plugin, Kind: m.kind, Commands: m.commands(), Limits: limits, Reused: true, Code: wire.Code{File: m.file, Dir: compiled.Dir, Root: l.Inherit(compiled.Handle())}}
		l.Bound(compiled.Size, noBudget)
		return l, nil
	}
	return worker.New(worker.Config{
		Plugin: m.plugin, Command: reexec.Command(reexec.Worker), Limits: limits, Queue: time.Minute, Prepare: prepare, Pool: worker.NewPool(noBudget), Log: log,
	})
}

// decode decodes a response to bulkhead/describe; fault describes an invalid response or the error rpcError. It
// ignores unknown members, which later versions of the SDK may send.
func decode(body json.RawMessage, rpcError *abi.Error) (has abi.SchemaDescription, fault string) {
	if rpcError != nil {
		return has, "the error " + tomlfile.Quote(rpcError.Message)
	}
	if err := json.Unmarshal(body, &has); err != nil || has.Tools == nil {
		return has, "an invalid description: " + tomlfile.Quote(string(body))
	}
	return has, ""
}

// callProblem converts the error of a call to the module in file into a problem.
func (s *source) callProblem(err error, file string) tomlfile.Problem {
	failed := (*engine.Error)(nil)
	if !errors.As(err, &failed) {
		return s.problem("module", "file", err.Error(), "")
	}
	// The path may be in the staging directory, which means nothing to the user.
	what := asked(s.m.Module.Kind) + strings.ReplaceAll(failed.Message, file, s.m.Module.File)
	if detail := failed.Detail; detail != "" {
		what += "\n" + indent(strings.ToValidUTF8(detail[:min(len(detail), maxDetail)], ""))
	}
	switch failed.Code {
	case engine.CodeDigest:
		return s.problem("module", "sha256", what, "")
	case engine.CodeInvalidModule:
		return s.problem("module", "file", what, invalidRemedy(what, s.m.Build.Command))
	case engine.CodeModuleMissing, engine.CodeCanceled, engine.CodeInternal:
		return s.problem("module", "file", what, "")
	}
	return s.problem("module", "file", what, noAccess)
}

// asked returns the beginning of a problem with a module that was loaded. Unless it is a command, it was asked for its handlers.
func asked(kind string) string {
	if kind == manifest.KindCommand {
		return "the plugin "
	}
	return "asked for its handlers, the plugin "
}

// noAccess is the remedy for a module that fails when it is asked for its handlers.
const noAccess = "check its initialization: at this point it has no files, variables or host operations"

// compareTools reports differences between the tools of the manifest and those of the module.
func (s *source) compareTools(has abi.Description) tomlfile.Problems {
	var ps tomlfile.Problems
	handled := make(map[string]bool, len(has.Tools))
	for _, name := range has.Tools {
		handled[name] = true
	}
	tables := s.doc.Root().Tables("tools")
	for i, tool := range s.m.Tools {
		if handled[tool.Name] || tool.Name == "" {
			delete(handled, tool.Name)
			continue
		}
		ps = append(ps, tomlfile.Problem{File: s.file, Line: tables[i].LineOf("name"), Key: fmt.Sprintf("tools[%d].name", i),
			What:   fmt.Sprintf("the module has no handler for %s", tomlfile.Quote(tool.Name)),
			Remedy: "register one under this name, or remove the table"})
	}
	if s.m.Module.Kind == manifest.KindExtism { // the user removes the tables of unwanted tools, and cannot change the module
		return ps
	}
	unlisted := slices.Sorted(maps.Keys(handled))
	for i, name := range unlisted {
		p := tomlfile.Problem{File: s.file, Key: "tools", What: fmt.Sprintf("the module has a handler for %s, and no [[tools]] table names it", tomlfile.Quote(name)),
			Remedy: "add the table, or remove the handler"}
		if i == maxUnlisted {
			p.What = fmt.Sprintf("the module has handlers for %d more tools that no [[tools]] table names", len(unlisted)-i)
			return append(ps, p)
		}
		ps = append(ps, p)
	}
	return ps
}

// compareOffers reports differences between the offers of the manifest and those of the module.
func (s *source) compareOffers(has abi.Description) tomlfile.Problems {
	var ps tomlfile.Problems
	for _, offer := range []struct {
		key          string
		offered, has bool
	}{
		{"prompts", s.m.Offers.Prompts.Offers(), has.Prompts},
		{"resources", s.m.Offers.Resources.Offers(), has.Resources},
		{"completions", s.m.Offers.Completions, has.Completions},
	} {
		switch {
		case offer.offered && !offer.has:
			ps = append(ps, s.problem("offers", offer.key, fmt.Sprintf("is declared, but the module does not handle %s", offer.key),
				"register a handler, or remove the key"))
		case !offer.offered && offer.has && s.m.Module.Kind != manifest.KindExtism: // such modules may export functions that return nothing
			ps = append(ps, s.problem("offers", offer.key, fmt.Sprintf("is not declared, but the module handles %s", offer.key),
				fmt.Sprintf("write %s = true in [offers], or remove the handler", offer.key)))
		}
	}
	return ps
}
