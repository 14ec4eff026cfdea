package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	// maxDescription bounds a description, in bytes: the names of all tools that a manifest has room for.
	maxDescription = tomlfile.MaxSize
	// maxUnlisted is how many handlers without a table are named.
	maxUnlisted = 20
	// maxDetail bounds what is repeated of a module's own words, in bytes.
	maxDetail = 2 << 10
)

// inspect runs the module in file, which must have the digest sum unless that is empty, and says in what
// its handlers are others than the manifest promises. It runs in a process of its own, which is granted nothing.
func (b *builder) inspect(ctx context.Context, s *source, file, sum string) tomlfile.Problems {
	described, err := b.describe(ctx, s, file, sum)
	var own *abi.Error
	if err != nil && !errors.As(err, &own) {
		return tomlfile.Problems{s.failure(err, file)}
	}
	has, fault := decode(described, own)
	if fault != "" {
		return tomlfile.Problems{s.problem("module", "file", fmt.Sprintf("the module answers %s with %s", abi.MethodDescribe, fault),
			`answer {"result": {"tools": ["name"], "prompts": false, "resources": false, "completions": false}}, as the SDK does`)}
	}
	return append(s.toolsDiffer(has), s.offersDiffer(has)...)
}

// noBudget is more memory than a machine has, in bytes: the limits of the module hold.
const noBudget = 1 << 50

// describe asks the module for its handlers.
func (b *builder) describe(ctx context.Context, s *source, file, sum string) (json.RawMessage, error) {
	log := b.log.Named(s.m.Name)
	limits := wire.Limits{
		Memory: cmp.Or(b.memory, s.m.Limits.Memory, 64<<20), Time: cmp.Or(b.time, s.m.Limits.Time, 30*time.Second),
		Input: 1 << 10, Output: maxDescription, Ask: 1 << 10, Operations: 1, LogSize: 1 << 20, Concurrency: 1,
	}
	prepare := func(ctx context.Context) (*worker.Launch, error) {
		compiled, err := b.store.Ensure(ctx, code.Module{Name: s.m.Name, File: file, SHA256: sum}, code.Foreground)
		if err != nil {
			return nil, worker.CodeError(s.m.Name, file, err)
		}
		l := &worker.Launch{Release: func() { _ = compiled.Close() }, Discard: func() error { return b.store.Discard(compiled) }}
		l.Setup = wire.Setup{Plugin: s.m.Name, Limits: limits, Reused: true, Code: wire.Code{File: file, Dir: compiled.Dir, Root: l.Inherit(compiled.Handle())}}
		l.Bound(compiled.Size, noBudget)
		return l, nil
	}
	w := worker.New(worker.Config{
		Plugin: s.m.Name, Command: reexec.Command(reexec.Worker), Limits: limits, Queue: time.Minute, Prepare: prepare, Pool: worker.NewPool(noBudget), Log: log,
	})
	defer w.Close()
	response, err := w.Call(ctx, worker.Request{Call: wire.Call{Method: abi.MethodDescribe}})
	return response.Body, err
}

// decode reads a response to bulkhead/describe, or the error that there is in its place; fault says what is wrong
// with it. Members that are not known are left alone: a later SDK may say more.
func decode(body json.RawMessage, own *abi.Error) (has abi.Description, fault string) {
	if own != nil {
		return has, "the error " + tomlfile.Quote(own.Message)
	}
	if err := json.Unmarshal(body, &has); err != nil || has.Tools == nil {
		return has, "what is not a description: " + tomlfile.Quote(string(body))
	}
	return has, ""
}

// failure is the problem of a module in file that did not answer.
func (s *source) failure(err error, file string) tomlfile.Problem {
	failed := (*engine.Error)(nil)
	if !errors.As(err, &failed) {
		return s.problem("module", "file", err.Error(), "")
	}
	// The path may be one of the build's own, which means nothing to the reader.
	what := "asked for its handlers, the plugin " + strings.ReplaceAll(failed.Message, file, s.m.Module.File)
	if detail := failed.Detail; detail != "" {
		what += "\n" + indent(strings.ToValidUTF8(detail[:min(len(detail), maxDetail)], ""))
	}
	switch failed.Code {
	case engine.CodeDigest:
		return s.problem("module", "sha256", what, "")
	case engine.CodeInvalidModule:
		return s.problem("module", "file", what, "make a module that speaks ABI 1: in Go by `bulkhead plugin build`, or by go build -buildmode=c-shared for GOOS=wasip1 GOARCH=wasm")
	case engine.CodeModuleMissing, engine.CodeCanceled, engine.CodeInternal:
		return s.problem("module", "file", what, "")
	}
	return s.problem("module", "file", what, "see what it does before the first call: it is asked without files, variables and host operations")
}

func (s *source) toolsDiffer(has abi.Description) tomlfile.Problems {
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
	var unlisted []string
	for name := range handled {
		unlisted = append(unlisted, name)
	}
	slices.Sort(unlisted)
	for i, name := range unlisted {
		p := tomlfile.Problem{File: s.file, Key: "tools", What: fmt.Sprintf("the module has a handler for %s, and no [[tools]] table names it", tomlfile.Quote(name)),
			Remedy: "add the table, or remove the handler"}
		if i == maxUnlisted {
			p.What = fmt.Sprintf("the module has handlers for %d more, and no [[tools]] tables name them", len(unlisted)-i)
			return append(ps, p)
		}
		ps = append(ps, p)
	}
	return ps
}

func (s *source) offersDiffer(has abi.Description) tomlfile.Problems {
	var ps tomlfile.Problems
	for _, offer := range []struct {
		key          string
		offered, has bool
	}{
		{"prompts", claims(s.m.Offers.Prompts), has.Prompts},
		{"resources", claims(s.m.Offers.Resources), has.Resources},
		{"completions", s.m.Offers.Completions, has.Completions},
	} {
		switch {
		case offer.offered && !offer.has:
			ps = append(ps, s.problem("offers", offer.key, fmt.Sprintf("is offered, and the module does not handle %s", offer.key),
				"register what answers them, or remove the key"))
		case !offer.offered && offer.has:
			ps = append(ps, s.problem("offers", offer.key, fmt.Sprintf("is not offered, and the module handles %s", offer.key),
				fmt.Sprintf("write %s = true in [offers], or remove the handler", offer.key)))
		}
	}
	return ps
}

func claims(c manifest.Claim) bool { return c.Any || len(c.Names) > 0 }
