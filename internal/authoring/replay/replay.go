// Package replay makes the calls of an audit log again in a temporary directory, with another version of a plugin, and reports which
// outcomes differ. Start with Run.
package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Options select the calls and the plugin.
type Options struct {
	Log      string      // path of the audit log
	Query    audit.Query // selects the calls
	Plugin   *manifest.Manifest
	Compiled string  // the host's cache of compiled code
	Project  string  // directory that is copied to be the project, absolute; empty: an empty project
	Policy   *Policy // what the plugin is granted; nil: what scratch.Grants returns
	Prefix   string  // prefix of the tool names in the log; empty: that of Policy
	Sizes    bool    // a response of a different size is a difference
	// Progress is called after each call with the number of calls so far; nil: it is not called.
	Progress func(calls int)
	// Damaged is called for each line that is not a record.
	Damaged func(audit.Damage)
}

// Report is the result of a replay.
type Report struct {
	Replayed    int          `json:"replayed"`
	Differing   int          `json:"differing"`
	Differences []Difference `json:"differences"` // at most maxDifferences of them
	LeftOut     LeftOut      `json:"left_out"`
}

// maxDifferences bounds Report.Differences.
const maxDifferences = 1000

// LeftOut counts the calls that were not made again, by the reason.
type LeftOut struct {
	NotRecorded int   `json:"not_recorded"` // the log has no arguments, or only their hash
	Truncated   int   `json:"truncated"`    // the arguments or the name are truncated
	Asked       int   `json:"asked"`        // the call asked its client, and the log has no answers
	Cancelled   int   `json:"cancelled"`    // the client cancelled the call
	Other       int   `json:"other"`        // neither a tool call, nor a prompt, nor a resource
	Lost        int64 `json:"lost"`         // records that were dropped when the log was written
}

// Calls returns the number of calls in the log that were not made again.
func (l LeftOut) Calls() int { return l.NotRecorded + l.Truncated + l.Asked + l.Cancelled + l.Other }

// Difference is a call whose outcome differs.
type Difference struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Tool   string    `json:"tool"`
	Was    Outcome   `json:"was"`
	Now    Outcome   `json:"now"`
}

// Outcome is how a call ended. Its denied operations have no targets.
type Outcome scratch.Outcome

// String describes an outcome for a report.
func (o Outcome) String() string {
	text := string(o.Outcome)
	if o.Code != "" {
		text += " (" + o.Code + ")"
	}
	if len(o.Denied) > 0 {
		text += ", denied " + strings.Join(o.Denied, ", ")
	}
	return text
}

// Run makes the calls in the order of the log, in one host.
func Run(ctx context.Context, o Options) (report Report, err error) {
	report.Differences = []Difference{}
	d, err := scratch.New(o.Compiled)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if o.Project != "" {
		source, err := os.OpenRoot(o.Project)
		if err == nil {
			err = errors.Join(scratch.Copy(d.Project(), source), source.Close())
		}
		if err != nil {
			return report, &host.UsageError{Err: fmt.Errorf("project: %w", err)}
		}
	}
	session, err := d.Open(o.table())
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	r := replay{o: o, dir: d, session: session, report: &report}
	err = audit.Read(o.Log, o.Query, func(e audit.Entry) error { return r.entry(ctx, e) }, o.Damaged)
	return report, err
}

// table returns the [[plugins]] table of the config with which the calls are made.
func (o Options) table() string {
	if o.Policy != nil {
		policy := *o.Policy
		policy.prefix = cmp.Or(o.Prefix, policy.prefix)
		return policy.table(o.Plugin)
	}
	grants := scratch.Grants(o.Plugin)
	if o.Prefix != "" {
		grants += "prefix = " + tomlfile.Text(o.Prefix) + "\n"
	}
	return scratch.Table(o.Plugin.Dir, grants)
}

type replay struct {
	o       Options
	dir     *scratch.Dir
	session *scratch.Session
	report  *Report
}

// entry makes the call of an entry, unless it is left out.
func (r *replay) entry(ctx context.Context, e audit.Entry) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if e.Kind == audit.KindGap {
		r.report.LeftOut.Lost += e.Lost
	}
	if e.Kind != audit.KindCall {
		return nil
	}
	if reason := r.leaveOut(e); reason != nil {
		*reason++
		return nil
	}
	if _, err := r.session.Ask(ctx, e.Method, r.params(e), host.Client{}); err != nil {
		return fmt.Errorf("the call %s of %s: %w", e.ID, e.Tool, err)
	}
	records, err := r.session.Records()
	if err != nil {
		return err
	}
	now, was := outcome(scratch.Summarize(records)), recorded(e)
	r.report.Replayed++
	if r.differs(was, now, e) {
		r.report.Differing++
		if len(r.report.Differences) < maxDifferences {
			r.report.Differences = append(r.report.Differences, Difference{e.ID, e.Time, e.Method, e.Tool, was, now})
		}
	}
	if r.o.Progress != nil {
		r.o.Progress(r.report.Replayed)
	}
	return nil
}

// leaveOut returns the count of the reason why a call cannot be made again; nil if it can.
func (r *replay) leaveOut(e audit.Entry) *int {
	l := &r.report.LeftOut
	switch e.Method {
	case abi.MethodToolsCall, abi.MethodPromptsGet, abi.MethodResourcesRead:
	default:
		return &l.Other
	}
	switch {
	case e.Outcome == audit.Asked, e.Round > 0:
		return &l.Asked
	case e.Outcome == audit.Cancelled:
		return &l.Cancelled
	case slices.Contains(e.Cut, "arguments"), slices.Contains(e.Cut, "tool"):
		return &l.Truncated
	case e.Method == abi.MethodResourcesRead:
		return nil
	case e.Arguments == "" && !hadNone(e):
		return &l.NotRecorded
	case e.Arguments != "" && !isObject(e.Arguments):
		return &l.NotRecorded // the log has the hash of the arguments
	}
	return nil
}

// hadNone reports whether the parameters of a call are too short to have arguments. A log that does not record arguments does not record
// either whether a call had any.
func hadNone(e audit.Entry) bool {
	return e.BytesIn < int64(len(`{"name":"","arguments":{"":0}}`)+len(e.Tool))
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

// params returns the parameters of a call, in which the path of the project is replaced by that of its copy.
func (r *replay) params(e audit.Entry) map[string]any {
	if e.Method == abi.MethodResourcesRead {
		return map[string]any{"uri": r.moved(e.Tool)}
	}
	params := map[string]any{"name": e.Tool}
	if e.Arguments != "" {
		params["arguments"] = json.RawMessage(r.moved(e.Arguments))
	}
	return params
}

// moved replaces the path of the project by that of its copy. It replaces nothing if one of the paths needs escapes in JSON, since text
// can be JSON.
func (r *replay) moved(text string) string {
	quoted, _ := json.Marshal(r.o.Project + r.dir.Project()) // strings always encode
	if r.o.Project == "" || len(quoted) != len(r.o.Project)+len(r.dir.Project())+2 {
		return text
	}
	return strings.ReplaceAll(text, r.o.Project, r.dir.Project())
}

func (r *replay) differs(was, now Outcome, e audit.Entry) bool {
	// If the log left out operations, the lists cannot be compared.
	return was.Outcome != now.Outcome || was.Code != now.Code || e.LeftOut == 0 && !slices.Equal(was.Denied, now.Denied) ||
		r.o.Sizes && was.Size != now.Size
}

// recorded returns the outcome in the log.
func recorded(e audit.Entry) Outcome {
	o := Outcome{Outcome: e.Outcome, Code: e.Code, Size: e.BytesOut}
	for _, done := range e.Operations {
		if done.Outcome == audit.Denied {
			o.Denied = append(o.Denied, done.Op)
		}
	}
	return o.sorted()
}

func outcome(s scratch.Outcome) Outcome {
	for i, operation := range s.Denied {
		s.Denied[i], _, _ = strings.Cut(operation, " ")
	}
	return Outcome(s).sorted()
}

func (o Outcome) sorted() Outcome {
	slices.Sort(o.Denied)
	o.Denied = slices.Compact(o.Denied)
	return o
}
