package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/importer"
	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Imported is a plugin of hyper-mcp with the manifest that Import has written.
type Imported struct {
	Name      string            `json:"name"`
	Interface int               `json:"interface"` // version of hyper-mcp's interface to plugins
	SHA256    string            `json:"sha256"`
	Tools     []string          `json:"tools"`
	Prompts   []string          `json:"prompts"`
	Resources []string          `json:"resources"` // URIs and URI templates
	Needs     []string          `json:"needs"`     // lines of [capabilities] that the module could need; comments in the manifest
	Warnings  []string          `json:"warnings"`  // errors of the module for lists that it did not return
	Files     map[string][]byte `json:"-"`         // files of the plugin's directory, by name
}

// Import runs the module in file without access to anything, asks it for its tools, prompts and resources, and returns a plugin with a
// manifest for them. If name is empty, the name of the file is used. The error is tomlfile.Problems if the module cannot be imported.
func Import(ctx context.Context, file, name string, o Options) (Imported, error) {
	b, err := newBuilder(ctx, o)
	if err != nil {
		return Imported{}, err
	}
	defer b.close()
	info, digest, err := code.ReadInfo(ctx, reexec.Command(reexec.Info), file)
	if failure := (*code.Error)(nil); errors.As(err, &failure) {
		return Imported{}, tomlfile.Problems{{File: file, What: failure.Text}}
	}
	if err != nil {
		return Imported{}, err
	}
	refuse := func(what, remedy string) (Imported, error) {
		return Imported{}, tomlfile.Problems{{File: file, What: what, Remedy: remedy}}
	}
	version := extismVersion(info)
	switch {
	case info.Kind == modinfo.Plugin:
		return refuse("it is "+kinds[info.Kind].what+", which needs no import", "write its plugin.toml (docs/manifest.md)")
	case version == 0:
		return refuse("it is "+kinds[info.Kind].what+", not a plugin of hyper-mcp", kindRemedy(info))
	}
	if name == "" {
		name = nameOf(file)
	}
	if !manifest.IsPluginName(name) {
		return refuse(fmt.Sprintf("%s is not a valid name of a plugin", tomlfile.Quote(name)), "name it with --name: a to z, 0 to 9 and -, beginning with a letter, at most 64 characters")
	}
	p := importer.Plugin{Name: name, Module: name + ".wasm", SHA256: digest, Version: version, Imports: func(name string) bool {
		return slices.ContainsFunc(info.Imports, func(e Entry) bool { return e.Name == name && strings.HasPrefix(e.Module, "extism:host/") })
	}}
	warnings, err := b.list(ctx, file, &p)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return Imported{}, cause
		}
		return refuse(importProblem(err))
	}
	text, err := importer.Manifest(p)
	if failure := (*importer.Error)(nil); errors.As(err, &failure) {
		return refuse(failure.What, failure.Remedy)
	}
	if err != nil {
		return Imported{}, err
	}
	if ps := checkText(text); len(ps) > 0 {
		return Imported{}, ps
	}
	module, err := readModule(file, digest)
	if err != nil {
		return refuse(err.Error(), "")
	}
	return Imported{
		Name: name, Interface: int(version), SHA256: digest, Tools: toolNames(p.Tools), Prompts: nonNil(p.Prompts), Resources: nonNil(slices.Concat(p.Resources, p.Templates)),
		Needs: nonNil(p.Needs()), Warnings: nonNil(warnings), Files: map[string][]byte{manifest.FileName: text, p.Module: module},
	}, nil
}

func nonNil(list []string) []string { return append([]string{}, list...) }

func toolNames(tools []extism.Tool) []string {
	names := []string{}
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// nameOf returns the name of a plugin for the file name of its module.
func nameOf(file string) string {
	base, _, _ := strings.Cut(filepath.Base(file), ".")
	return strings.ReplaceAll(strings.ToLower(base), "_", "-")
}

// list asks the module for its tools, prompts and resources. If the module refuses a list other than that of its tools, the list is left
// out, with a warning.
func (b *builder) list(ctx context.Context, file string, p *importer.Plugin) (warnings []string, err error) {
	var prepared, compiling atomic.Int64
	w := b.start(subject{plugin: p.Name, kind: manifest.KindExtism, file: file, sum: p.SHA256}, &prepared, &compiling)
	defer w.Close()
	ask := func(method string) (json.RawMessage, error) {
		response, err := w.Call(ctx, worker.Hooked{Request: &call.Request{Method: method}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		return response.Body, nil
	}
	result, err := ask(abi.MethodDescribe)
	if err != nil {
		return nil, err
	}
	var d extism.Description
	if err := json.Unmarshal(result, &d); err != nil {
		return nil, fmt.Errorf("%s: an invalid description: %w", abi.MethodDescribe, err)
	}
	if p.Tools, err = extism.ReadTools(d.List); err != nil {
		return nil, err
	}
	p.Completions = d.Completions
	for _, l := range []struct {
		method, list, member string
		to                   *[]string
	}{
		{abi.MethodPromptsList, "prompts", "name", &p.Prompts},
		{abi.MethodResourcesList, "resources", "uri", &p.Resources},
		{abi.MethodResourcesTemplatesList, "resourceTemplates", "uriTemplate", &p.Templates},
	} {
		result, err := ask(l.method)
		if refused := (*abi.Error)(nil); errors.As(err, &refused) {
			warnings = append(warnings, l.method+": "+refused.Message)
			continue
		}
		if err != nil {
			return nil, err
		}
		if *l.to, err = extism.ReadNames(result, l.list, l.member); err != nil {
			return nil, fmt.Errorf("%s: %w", l.method, err)
		}
	}
	return warnings, nil
}

// importProblem returns what is wrong with a module that was asked for its lists, and what the user can do.
func importProblem(err error) (what, remedy string) {
	what = "asked for what it offers, the module failed: " + err.Error()
	if refused := (*abi.Error)(nil); errors.As(err, &refused) { // its text is the module's
		what = fmt.Sprintf("asked for what it offers, the module answered with the error %q", strings.ToValidUTF8(refused.Message[:min(len(refused.Message), maxDetail)], ""))
	}
	failed := (*engine.Error)(nil)
	if !errors.As(err, &failed) {
		return what, "it may need configuration to answer: write the manifest by hand (docs/extism.md)"
	}
	if failed.Detail != "" {
		what += "\n" + indent(strings.ToValidUTF8(failed.Detail[:min(len(failed.Detail), maxDetail)], ""))
	}
	if failed.Code == engine.CodeInvalidModule {
		return what, invalidRemedy(what, nil)
	}
	return what, "it may need files, variables or web requests to answer, which it does not get during the import: write the manifest by hand (docs/extism.md)"
}

// checkText returns the problems of a manifest that was written from a description.
func checkText(text []byte) tomlfile.Problems {
	m, ps := manifest.Parse(manifest.FileName, text)
	if m != nil {
		ps = append(ps, m.Check()...)
	}
	ps = ps.Errors()
	for i := range ps {
		ps[i].File, ps[i].Line = "the manifest that the module describes", 0
		ps[i].Remedy = "correct it in the source of the module, or write the manifest by hand (docs/extism.md): " + ps[i].Remedy
	}
	return ps
}

// readModule reads the module, which must be the one that was run.
func readModule(file, digest string) ([]byte, error) {
	f, err := code.OpenModule(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, code.MaxModule+1))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, errors.New("the file changed during the import: import it again")
	}
	return data, nil
}
