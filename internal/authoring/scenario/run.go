package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Plugin is a built plugin.
type Plugin struct {
	Dir      string // absolute path of its directory
	Manifest *manifest.Manifest
	Compiled string // the host's cache of compiled code
	Network  Network
	Ceiling  *config.Ceiling // of this machine, for the network; nil: there is none
}

// Network is what scenarios may reach of the network. A scenario file comes with the source of a plugin, so it cannot decide that itself.
type Network string

// The values of Network.
const (
	NoNetwork      Network = ""        // nothing
	PublicNetwork  Network = "public"  // the origins and remotes of their grants, except private ones
	PrivateNetwork Network = "private" // also those of this machine and its network
)

// Result is the outcome of a scenario.
type Result struct {
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Name     string        `json:"name"`
	Passed   bool          `json:"passed"`
	Took     time.Duration `json:"took_ns"`
	Failures []Failure     `json:"failures,omitempty"`
	Log      []string      `json:"log,omitempty"` // the last lines of the host's log, if the scenario failed
}

// Failure is an expectation that was not met.
type Failure struct {
	Line    int    `json:"line"` // in the scenario's file
	Key     string `json:"key"`
	Problem string `json:"problem"`
	// Diff has the lines that differ: expected lines begin with "- ", actual ones with "+ ", and equal ones with two spaces.
	Diff []string `json:"diff,omitempty"`
}

// run is the state of a scenario while it runs.
type run struct {
	scenario *Scenario
	dir      *scratch.Dir
	session  *scratch.Session
	places   *places
	failures []Failure
}

// Run runs all scenarios of the files, some of them concurrently, each with a host of its own. The error is tomlfile.Problems if
// scenarios cannot be run as they are written. After any other error, no further scenario is begun.
func Run(ctx context.Context, p Plugin, files []File) ([]Result, error) {
	var all []*Scenario
	for _, f := range files {
		all = append(all, f.Scenarios...)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	results, faults := make([]Result, len(all)), make([]tomlfile.Problems, len(all))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i, s := range all {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			var err error
			if results[i], err = s.run(ctx, p); err != nil && !errors.As(err, &faults[i]) {
				stop(err) // the first one is reported: the others follow from it, or are the same
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, tomlfile.Problems(slices.Concat(faults...)).Err()
}

func (s *Scenario) run(ctx context.Context, p Plugin) (result Result, err error) {
	start := time.Now()
	r, err := s.open(p)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, r.dir.Close()) }()
	before, err := takeSnapshot(r.places)
	if err != nil {
		return Result{}, errors.Join(err, r.session.Close(ctx))
	}
	log := ""
	for _, st := range s.steps {
		got, err := r.do(ctx, st)
		if err != nil {
			return Result{}, errors.Join(fmt.Errorf("%s: %w", position(st.table, st.kind), err), r.session.Close(ctx))
		}
		log += got.log
		if r.check(st, got); len(r.failures) > 0 {
			break
		}
	}
	if err := r.session.Close(ctx); err != nil {
		return Result{}, err
	}
	if len(r.failures) == 0 {
		after, err := takeSnapshot(r.places)
		if err != nil {
			return Result{}, err
		}
		r.checkFiles(before, after)
	}
	result = Result{File: s.file, Line: s.table.Line(), Name: s.Name, Passed: len(r.failures) == 0, Took: time.Since(start), Failures: r.failures}
	if !result.Passed {
		result.Log = lastLines(log+r.session.Logged(), 20)
	}
	return result, nil
}

// open creates the files of the scenario, and opens a host.
func (s *Scenario) open(p Plugin) (r *run, err error) {
	d, err := scratch.New(p.Compiled)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	d.Panics = true
	r = &run{scenario: s, dir: d, places: newPlaces(d, p.Manifest.Name)}
	if err := s.writeFiles(r.places); err != nil {
		return nil, err
	}
	table, err := s.config(d, p)
	if err != nil {
		return nil, err
	}
	r.session, err = d.Open(table)
	return r, err
}

func lastLines(text string, most int) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[max(0, len(lines)-most):]
}
