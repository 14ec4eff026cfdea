package scratch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Session is a host in a Dir that serves one plugin alone, and records every call.
type Session struct {
	*host.Host
	log   logText
	audit *os.File // its offset is the end of the records that were read
}

// Table returns the [[plugins]] table of a config for the plugin in dir. grants are further lines of the table.
func Table(dir, grants string) string {
	return "[[plugins]]\npath = " + tomlfile.Text(dir) + "\n" + grants
}

// Config returns a config with the table of a plugin and an audit log in d.
func (d *Dir) Config(table string) string {
	return "[audit]\nfile = " + tomlfile.Text(d.auditFile()) + "\nmax_size = \"1024GiB\"\narguments = \"none\"\non_failure = \"closed\"\n\n" + table
}

func (d *Dir) auditFile() string { return d.Path("audit", "audit.jsonl") }

// Open opens a host with the config that Config returns for a table.
func (d *Dir) Open(table string) (*Session, error) {
	s := &Session{}
	options, err := d.Options(d.Config(table), hclog.New(&hclog.LoggerOptions{Output: &s.log, Level: hclog.Info, DisableTime: true}))
	if err != nil {
		return nil, err
	}
	options.Panics = d.Panics
	if s.Host, err = host.Open(options); err != nil {
		return nil, err
	}
	if problem := s.Plugins()[0].Problem; problem != "" {
		return nil, errors.Join(fmt.Errorf("the plugin cannot be served: %s", problem), s.Host.Close(context.Background()))
	}
	if s.audit, err = os.Open(d.auditFile()); err != nil {
		return nil, errors.Join(err, s.Host.Close(context.Background()))
	}
	return s, nil
}

// Close closes the host.
func (s *Session) Close(ctx context.Context) error {
	return errors.Join(s.Host.Close(context.WithoutCancel(ctx)), s.audit.Close())
}

// Records returns the audit records that were written since the last call.
func (s *Session) Records() ([]audit.Entry, error) {
	text, err := io.ReadAll(s.audit)
	if err != nil {
		return nil, err
	}
	var all []audit.Entry
	for line := range bytes.Lines(text) {
		var e audit.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("the audit log has an invalid record: %w", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// Logged returns what was logged since the last call.
func (s *Session) Logged() string { return s.log.take() }

// Outcome is the outcome of a request in the host's audit log.
type Outcome struct {
	Outcome audit.Outcome `json:"outcome"`
	Code    string        `json:"code,omitempty"`
	Denied  []string      `json:"denied,omitempty"` // operations that the module was denied, as "op target", sorted and without duplicates
	Size    int64         `json:"bytes_out"`        // of the response
}

// Summarize returns the outcome of a request from its audit records.
func Summarize(records []audit.Entry) Outcome {
	var o Outcome
	for _, e := range records {
		switch {
		case e.Kind == audit.KindRefused && len(e.Operations) > 0:
			for _, done := range e.Operations {
				o.Denied = append(o.Denied, strings.TrimSpace(done.Op+" "+done.Target))
			}
		case e.Outcome != audit.Asked:
			o.Outcome, o.Code, o.Size = e.Outcome, e.Code, e.BytesOut
		}
	}
	slices.Sort(o.Denied)
	o.Denied = slices.Compact(o.Denied)
	return o
}

// Grants returns lines of a config that grant a plugin those directories and repositories that its manifest requests in a Dir, its write
// tools, and by default the questions to the client that it requests. They grant no origin and no variable. The state directory is left out,
// since a config need not grant it.
func Grants(m *manifest.Manifest) string {
	var fs, git []string
	for _, f := range m.Capabilities.FS {
		if inside(f.Path) && !strings.HasPrefix(f.Path, "${"+manifest.VarState+"}") {
			fs = append(fs, fmt.Sprintf("{ path = %s, access = %s }", tomlfile.Text(f.Path), tomlfile.Text(string(f.Access))))
		}
	}
	for _, g := range m.Capabilities.Git {
		if inside(g.Repo) {
			git = append(git, fmt.Sprintf("{ repo = %s, access = %s }", tomlfile.Text(g.Repo), tomlfile.Text(string(g.Access))))
		}
	}
	return fmt.Sprintf("fs = [%s]\ngit = [%s]\nhttp = []\nallow_write = true\n", strings.Join(fs, ", "), strings.Join(git, ", "))
}

// inside reports whether a path of a manifest lies in a Dir: it does if it begins with a variable such as ${project}, since the host
// of the Dir resolves all variables to directories of the Dir.
func inside(path string) bool { return strings.HasPrefix(path, "${") }

// logText collects what a host logs.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns what was written since the last call.
func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}
