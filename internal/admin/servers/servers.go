// Package servers tells what the running servers of the user do now, from their sockets, and for each refusal which line of the config
// decides, what would allow it, and the command that explains it. It changes nothing.
package servers

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Servers are the running servers that offer their state.
type Servers struct {
	Servers []Server
	Silent  []string // why sockets at which a program listens have told nothing
	More    bool     // whether there are more servers than are shown
	Config  string   // path of the config in force here; empty: there is none
	Offered bool     // whether that config has live = true
}

// Server is the state of one server.
type Server struct {
	live.Snapshot
	Refused, Limits []Refusal
}

// Refusal is what was refused, or ended by a limit.
type Refusal struct {
	live.Event
	Remedy
}

// Remedy is what decides about a refusal.
type Remedy struct {
	At      []config.Position // the line that decides, or to which a key is added
	Why     string            // why the item is not granted
	Key     string            // key of the config to change
	Allow   string            // TOML: what the key needs; empty: it depends
	Command string            // that explains it in a terminal
}

// Bounds of the work for remedies.
const (
	maxExplained = 20               // of one server
	keep         = 10 * time.Second // how long a remedy is kept, which begins anew after a change of the config
)

// Watcher reads the state of servers again and again.
type Watcher struct {
	options discovery.Options
	known   map[question]Remedy
	since   time.Time
	view    *catalog.Catalog // nil: there is no valid config
}

// NewWatcher returns a Watcher of the servers of the user. It is for one goroutine.
func NewWatcher(o discovery.Options) *Watcher { return &Watcher{options: o} }

// Look returns the state of the servers now.
func (w *Watcher) Look(ctx context.Context) (*Servers, error) {
	if now := time.Now(); now.Sub(w.since) > keep {
		w.known, w.since = map[question]Remedy{}, now
		w.view, _ = catalog.Look(w.options) // the page Doctor has its problems
	}
	s := &Servers{}
	if w.view != nil {
		s.Config, s.Offered = w.view.Config, w.view.Audit.HasLiveState()
	}
	state, err := discovery.StateDir(w.options.System)
	if err != nil || state == "" {
		return s, err
	}
	read, err := live.Read(ctx, live.Dir(state))
	if err != nil {
		return nil, err
	}
	s.Silent, s.More = read.Silent, read.More
	for _, snapshot := range read.Servers {
		one := Server{Snapshot: snapshot}
		for _, list := range []struct {
			to   *[]Refusal
			from []live.Event
		}{{&one.Refused, snapshot.Refused}, {&one.Limits, snapshot.Limits}} {
			for i, e := range list.from {
				r := Refusal{Event: e}
				if i < maxExplained && w.view != nil && snapshot.Config == w.view.Config {
					r.Remedy = w.remedy(e)
				}
				*list.to = append(*list.to, r)
			}
		}
		s.Servers = append(s.Servers, one)
	}
	return s, nil
}

// question is what decides about a remedy.
type question struct{ plugin, method, tool, principal, op, target, code string }

func (w *Watcher) remedy(e live.Event) Remedy {
	q := question{e.Plugin, e.Method, e.Tool, e.Principal, e.Op, e.Target, e.Code}
	r, ok := w.known[q]
	if !ok {
		r = w.explain(q)
		w.known[q] = r
	}
	return r
}

// limitKeys are the keys of limits by the code of the failure that they cause.
var limitKeys = map[engine.Code]string{
	engine.CodeTimeout: "limits.time", engine.CodeFuel: "limits.fuel", engine.CodeMemory: "limits.memory", engine.CodeQueue: "limits.concurrency",
	engine.CodeInputSize: "limits.input", engine.CodeOutputSize: "limits.output", engine.CodeOperations: "limits.operations",
}

// explain returns the remedy of a refusal. What was refused may be hostile: it is quoted.
func (w *Watcher) explain(q question) (r Remedy) {
	asked := explain.Question{Plugin: q.plugin}
	if name, isToken := strings.CutPrefix(q.principal, "token:"); isToken {
		asked.Client, asked.OfClient = name, true
	}
	kind, _, _ := strings.Cut(q.op, "/")
	switch {
	case limitKeys[engine.Code(q.code)] != "":
		r.Key = limitKeys[engine.Code(q.code)]
	case kind == "file" && filepath.IsAbs(q.target):
		r.Key, asked.Path = "fs", q.target
	case kind == "http" && strings.Contains(q.target, "://"):
		r.Key, asked.Origin = "http", q.target
		r.Allow = tomlfile.Quote(q.target)
	case kind == "git":
		r.Key = "git"
	case strings.HasPrefix(q.code, "approval_"):
		r.Key = "approve"
	case q.method == abi.MethodToolsCall && q.op == "" && q.tool != "":
		r.Key, asked.Tool = "allow_tools", q.tool
	default:
		return Remedy{}
	}
	r.Command = command(asked)
	answers := w.answers(asked)
	for _, a := range answers {
		if !a.Allowed && r.Why == "" {
			r.Why = a.Why
		}
	}
	if r.Key == "fs" {
		access := "r"
		if slices.ContainsFunc(answers, func(a review.Answer) bool { return a.Allowed }) {
			access = "rw" // what may be read was written
		}
		r.Allow = "{ path = " + tomlfile.Quote(q.target) + ", access = \"" + access + "\" }"
	}
	plugin := q.plugin
	if plugin == "" && len(answers) > 0 {
		plugin = answers[0].Plugin
	}
	if i := slices.IndexFunc(w.view.Plugins, func(p *catalog.Plugin) bool { return p.Name == plugin }); i >= 0 && w.view.Plugins[i].Entry.File != "" {
		entry := w.view.Plugins[i].Entry
		r.Key = r.keyIn(entry)
		position := r.Key
		if entry.Lines[position] == 0 {
			position, _, _ = strings.Cut(position, ".")
		}
		r.At = []config.Position{entry.Position(position)}
	}
	return r
}

// keyIn returns the key that decides in the table of a plugin: several keys can withhold a tool, or require approval.
func (r Remedy) keyIn(entry config.Plugin) string {
	for _, key := range map[string][]string{"allow_tools": {"deny_tools", "allow_tools", "read_only"}, "approve": {"approve", "approve_tools"}}[r.Key] {
		if line := entry.Lines[key]; line > 0 && line != entry.Line {
			return key
		}
	}
	return r.Key
}

// answers returns what explains the item of a question; none if the question is about none.
func (w *Watcher) answers(q explain.Question) []review.Answer {
	if cmp.Or(q.Tool, q.Path, q.Origin) == "" {
		return nil
	}
	found, err := explain.Grants(w.options, q)
	if err != nil { // such as a tool that does not exist
		return nil
	}
	return found.Answers
}

// command returns the command line that answers a question.
func command(q explain.Question) string {
	words := []string{"bulkhead", "policy"}
	if q.Plugin != "" {
		words = append(words, visible.ShellWord(q.Plugin))
	}
	for _, f := range [][2]string{{"--tool", q.Tool}, {"--path", q.Path}, {"--origin", q.Origin}, {"--client", q.Client}} {
		if f[1] != "" {
			words = append(words, f[0], visible.ShellWord(f[1]))
		}
	}
	return strings.Join(words, " ")
}
