package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// confinement is the state of the process after confineTo.
type confinement struct {
	report confine.Report
	code   string // path of the code directory, which changes with the root directory
}

// confineTo restricts the process to the files and limits in setup.
func confineTo(setup wire.Setup) (confinement, error) {
	report, err := confine.Apply(configOf(setup))
	if err != nil {
		return confinement{}, err
	}
	if report.Active(confine.LayerRoot) {
		return confinement{report, "/"}, nil
	}
	return confinement{report, setup.Code.Dir}, nil
}

// configOf returns the files and limits in setup. A descriptor of 0 means that there is no file.
func configOf(setup wire.Setup) confine.Config {
	c := confine.Config{
		Keep: slices.Clone(connectionFiles), Memory: setup.Confine.Memory, AddressSpace: setup.Confine.AddressSpace,
		Threads: setup.Confine.Threads, OpenFiles: setup.Confine.OpenFiles,
		Root: &confine.Dir{FD: setup.Code.Root},
	}
	for _, m := range setup.Mounts {
		if m.File > 0 {
			c.Dirs = append(c.Dirs, confine.Dir{FD: m.File, Write: m.Write})
		}
	}
	for _, r := range setup.Repos {
		if r.File > 0 {
			c.Dirs = append(c.Dirs, confine.Dir{FD: r.File, Write: r.Write})
		}
	}
	for _, fd := range []int{setup.Derived.Older, setup.Derived.Newer} {
		if fd > 0 {
			c.Keep = append(c.Keep, fd)
		}
	}
	c.Keep = append(c.Keep, setup.Held...)
	return c
}

// boxConfig returns the configuration of the module's sandbox.
func boxConfig(setup wire.Setup, derive func(context.Context, sandbox.Derivation, sandbox.DerivedFile) ([]byte, error), log hclog.Logger) sandbox.Config {
	c := sandbox.Config{
		Plugin: setup.Plugin, Hidden: sandbox.Hidden{Patterns: setup.Deny, Own: setup.Own}, Remotes: setup.Remotes, Transport: transport{},
		Env: setup.Env, Limits: manifest.Limits{Files: setup.Limits.Files, Memory: setup.Limits.Memory},
		Relative: engine.Kind(setup.Kind) == engine.Command,
		Cwd:      setup.Cwd, Project: setup.Project, Zone: setup.Zone, Messages: setup.Messages, Log: log,
		Claimed: claimed, Lock: lock, Changing: changes, GitUser: gitUser, Spend: engine.Spend, Derive: derive, Asks: sandbox.Asks(setup.Asks),
	}
	if setup.HTTP {
		c.Fetch = fetch
	}
	if engine.Kind(setup.Kind) == engine.Script {
		c.Call = callTools
	}
	for i, m := range setup.Mounts {
		if m.State {
			c.State = m.Path
		}
		c.Mounts = append(c.Mounts, mount(i, m))
	}
	for _, r := range setup.Repos {
		c.Repos = append(c.Repos, git.Grant{Repo: r.Path, Alias: r.Alias, Above: r.Above, Write: r.Write, Commit: r.Commit, Dir: file(r.File, r.Path)})
	}
	return c
}

// mount converts the i-th granted directory for the file tree. For a directory that does not exist, m.File is a staged directory,
// which the host moves to the path on the first write.
func mount(i int, m wire.Mount) vfs.Mount {
	out := vfs.Mount{Path: m.Path, Aliases: m.Aliases, Write: m.Write, InGit: m.InGit, Dir: file(m.File, m.Path)}
	for _, id := range m.Anchors {
		out.Anchors = append(out.Anchors, vfs.FileID(id))
	}
	if m.Staged {
		staged := out.Dir
		out.Dir = nil
		out.Create = func(ctx context.Context) (*os.File, error) {
			c := runningOf(ctx)
			if c == nil {
				return nil, errNoCall
			}
			c.changes()
			if _, err := c.operate(ctx, wire.OpCreate, []byte(strconv.Itoa(i))); err != nil {
				return nil, err
			}
			return staged, nil
		}
	}
	return out
}

// file returns the file of an inherited descriptor; nil for 0.
func file(fd int, name string) *os.File {
	if fd == 0 {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}

// spec returns what the engine needs to load the module.
func spec(setup wire.Setup, code string, tracker *dirtypages.Tracker, box *sandbox.Box, credit *credit, log hclog.Logger) engine.Spec {
	l := setup.Limits
	return engine.Spec{
		Name: setup.Plugin, Kind: engine.Kind(setup.Kind), File: setup.Code.File, Code: code,
		Memory: l.Memory, Input: l.Input, Output: l.Output, Time: l.Time, Fuel: l.Fuel, Operations: l.Operations,
		LogSize: l.LogSize, Reused: setup.Reused, Env: box.Env(), FS: box.FS, Operate: box.Operate, Tracker: tracker, Credit: credit, Log: log,
	}
}

// errNoCall is the error of a host operation outside of a call.
var errNoCall = errors.New("host operations are only available during a call")

// errLoading is the error of a change outside of a call, which no record would have.
var errLoading = errors.New("a module changes nothing but its state while it is being loaded, which is not part of a call")

// errReadsOnly is the error of a change by a call that may only read.
var errReadsOnly = errors.New("the manifest says that the tool only reads, so it changes nothing if read_tool or a script calls it: write access = \"write\" there")

func changes(ctx context.Context, state bool) error {
	c := runningOf(ctx)
	switch {
	case c == nil && state:
		return nil
	case c == nil:
		return errLoading
	case c.readsOnly && !state:
		return errReadsOnly
	}
	c.changes()
	return nil
}

// operate sends an operation to the host process and returns the result. Parameters and result are JSON.
func operate[R any](ctx context.Context, op string, params any) (result R, err error) {
	c := runningOf(ctx)
	if c == nil {
		return result, errNoCall
	}
	text, err := json.Marshal(params)
	if err != nil {
		return result, err
	}
	if text, err = c.operate(ctx, op, text); err != nil {
		return result, err
	}
	return result, json.Unmarshal(text, &result)
}

func callTools(ctx context.Context, calls []byte) ([]byte, error) {
	c := runningOf(ctx)
	if c == nil {
		return nil, errNoCall
	}
	return c.operate(ctx, abi.MethodToolsCall, calls)
}

func claimed(ctx context.Context, names abi.Claims) (abi.Claims, error) {
	return operate[abi.Claims](ctx, abi.OpClaims, names)
}

func lock(ctx context.Context, q abi.Lock) error {
	_, err := operate[any](ctx, abi.OpLock, q)
	return err
}

func gitUser(ctx context.Context) (git.UserConfig, error) {
	return operate[git.UserConfig](ctx, wire.OpGitUser, nil)
}

func fetch(ctx context.Context, q abi.HTTPRequest) (abi.HTTPResponse, error) {
	return operate[abi.HTTPResponse](ctx, abi.OpHTTPFetch, q)
}

// transport sends git's requests through the host process.
type transport struct{}

// RoundTrip implements http.RoundTripper.
func (transport) RoundTrip(r *http.Request) (*http.Response, error) {
	q := wire.GitRequest{Method: r.Method, URL: r.URL.String(), Header: map[string]string{}}
	for name, values := range r.Header {
		q.Header[name] = values[0]
	}
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if q.Body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	answer, err := operate[wire.GitAnswer](r.Context(), wire.OpGitOpen, q)
	if err != nil {
		return nil, err
	}
	response := &http.Response{
		StatusCode: answer.Status, Status: strconv.Itoa(answer.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		ContentLength: -1, Request: r, Body: &body{ctx: r.Context(), stream: []byte(strconv.Itoa(answer.Stream))},
	}
	for name, value := range map[string]string{"Content-Type": answer.ContentType, "Location": answer.Location} {
		if value != "" {
			response.Header.Set(name, value)
		}
	}
	return response, nil
}

// body reads a response's body from the host process.
type body struct {
	ctx    context.Context
	stream []byte
	rest   bytes.Reader
	closed bool
}

// Read implements io.Reader.
func (b *body) Read(to []byte) (int, error) {
	if b.rest.Len() == 0 {
		c := runningOf(b.ctx)
		if c == nil {
			return 0, errNoCall
		}
		data, err := c.operate(b.ctx, wire.OpGitRead, b.stream)
		if err != nil {
			return 0, err
		}
		if len(data) == 0 {
			return 0, io.EOF
		}
		b.rest.Reset(data)
	}
	return b.rest.Read(to)
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	c := runningOf(b.ctx)
	if c == nil {
		return errNoCall
	}
	_, err := c.operate(b.ctx, wire.OpGitShut, b.stream)
	return err
}
