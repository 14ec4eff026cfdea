// Package servers tells what the running servers of the user do now, from their sockets, with the remedies of refusals. It changes nothing.
package servers

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/remedy"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// Servers are the running servers that offer their state.
type Servers struct {
	Servers []Server
	Silent  []string // why sockets at which a program listens have told nothing
	More    bool     // whether there are more servers than are shown
	Config  string   // path of the config in force here; empty: there is none
	Offered bool     // whether that config has live = true
}

// Server is the state of one server. Its principals are named for people.
type Server struct {
	live.Snapshot
	Refusals, LimitsHit []Refusal
}

// Refusal is what was refused, or ended by a limit.
type Refusal struct {
	live.Event
	remedy.Remedy
}

// Bounds of the work for remedies.
const (
	maxExplained = 20               // of one server
	keep         = 10 * time.Second // how long a remedy is kept, which begins anew after a change of the config
)

// Watcher reads the state of servers again and again.
type Watcher struct {
	options discovery.Options
	since   time.Time
	view    *catalog.Catalog // nil: there is no valid config
	finder  *remedy.Finder   // of view
}

// NewWatcher returns a Watcher of the servers of the user. It is for one goroutine.
func NewWatcher(o discovery.Options) *Watcher { return &Watcher{options: o} }

// Look returns the state of the servers now.
func (w *Watcher) Look(ctx context.Context) (*Servers, error) {
	if now := time.Now(); now.Sub(w.since) > keep {
		w.since = now
		w.view, _ = catalog.Look(w.options) // the page Doctor has its problems
		w.finder = remedy.New(w.options, w.view)
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
		}{{&one.Refusals, snapshot.Refused}, {&one.LimitsHit, snapshot.Limits}} {
			for i, e := range list.from {
				r := Refusal{Event: e}
				switch {
				case w.view == nil:
					r.Why = "the config in force for this page is not valid: see Doctor"
				case snapshot.Config != w.view.Config:
					r.Why = "the server has another config than this page"
				case i >= maxExplained:
					r.Why = fmt.Sprintf("only the newest %d are explained", maxExplained)
				default:
					r.Remedy = w.finder.Find(remedy.Refusal{
						Plugin: e.Plugin, Method: e.Method, Tool: e.Tool, Principal: e.Principal, Transport: snapshot.Transport, Op: e.Op, Target: e.Target, Code: e.Code,
						Elsewhere: w.elsewhere(snapshot.ProjectDir, e.Project),
					})
				}
				*list.to = append(*list.to, r)
			}
		}
		one.name(w.finder)
		s.Servers = append(s.Servers, one)
	}
	return s, nil
}

// elsewhere returns why a project of a server, with the directory of the server's own project, may not be that of the page; empty if it is.
func (w *Watcher) elsewhere(dir, project string) string {
	switch {
	case project == w.view.Project && dir == w.view.Places.Project:
		return ""
	case project == w.view.Project && dir == "":
		return "the server does not tell its project"
	}
	return "it was refused in another project than that of this page"
}

// name replaces the principals by the names of the clients, in the form that all pages have.
func (s *Server) name(finder *remedy.Finder) {
	for i := range s.Calls {
		s.Calls[i].Principal = finder.Who(s.Calls[i].Principal, s.Calls[i].Client)
	}
	for i := range s.Waiting {
		nameIn(finder, &s.Waiting[i].Event)
	}
	for _, list := range [][]live.Event{s.Ended, s.Asked} {
		for i := range list {
			nameIn(finder, &list[i])
		}
	}
	for _, list := range [][]Refusal{s.Refusals, s.LimitsHit} {
		for i := range list {
			nameIn(finder, &list[i].Event)
		}
	}
}

func nameIn(finder *remedy.Finder, e *live.Event) { e.Principal = finder.Who(e.Principal, e.Client) }
