package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// days is how long the log of a sample is.
const days = 40

// used is how a tool is used in the log of a sample.
type used struct {
	plugin, tool      string
	principal, client string
	perDay            int
	ms                float64 // a usual duration; 0: the request is refused with code
	bytes             int64   // of a usual result
	until             int     // days before now at which the use ended; 0: it goes on
	failsEach         int     // one in so many calls fails with code; 0: none does
	code              string
	refusedEach       int // one in so many calls is refused op, with target; 0: none is
	op, target        string
	grant             string // kind, path and access of the granted directory or repository that was used; empty: none was used
}

// uses are the calls of a sample. DIR, PROJECT and ODD are replaced in paths, and TOKEN by the principal of a token.
var uses = []used{
	{plugin: "filesystem", tool: "read_text_file", client: "editor/2.4", perDay: 30, ms: 4, bytes: 6000, refusedEach: 25, op: "file/stat", target: "/etc/passwd", grant: "directory PROJECT r"},
	{plugin: "filesystem", tool: "list_directory", client: "editor/2.4", perDay: 22, ms: 3, bytes: 1200, grant: "directory DIR/notes r"},
	{plugin: "filesystem", tool: "edit_file", client: "editor/2.4", perDay: 8, ms: 9, bytes: 900, refusedEach: 12, op: "file/write", target: "DIR/archiveODD/2025.md", grant: "directory PROJECT rw"},
	{plugin: "filesystem", tool: "search_files", client: "editor/2.4", perDay: 5, ms: 3800, bytes: 14000, failsEach: 15, code: "timeout"},
	{plugin: "filesystem", tool: "read_text_file", principal: "TOKEN", perDay: 12, ms: 5, bytes: 4000},
	{plugin: "git", tool: "git_status", client: "editor/2.4", perDay: 18, ms: 40, bytes: 700, grant: "repository PROJECT r"},
	{plugin: "git", tool: "git_diff", client: "editor/2.4", perDay: 9, ms: 75, bytes: 22000},
	{plugin: "git", tool: "git_log", principal: "TOKEN", perDay: 16, ms: 120, bytes: 3000},
	{plugin: "git", tool: "git_commit", client: "editor/2.4", perDay: 2, ms: 210, bytes: 300, grant: "repository PROJECT rw"},
	{plugin: "fetch", tool: "fetch", client: "agent/0.9", perDay: 7, ms: 640, bytes: 48000, refusedEach: 6, op: "http/fetch", target: "https://tracker.example.net"},
	{plugin: "chant", tool: "chant_spec_list", client: "agent/0.9", perDay: 6, ms: 12, bytes: 900, grant: "directory PROJECT r"},
	{plugin: "chant", tool: "chant_add", client: "agent/0.9", perDay: 3, ms: 18, bytes: 200, until: 34, grant: "directory PROJECT rw"},
	{plugin: "time", tool: "get_current_time", client: "agent/0.9", perDay: 10, ms: 1, bytes: 120},
	// Requests for what is not granted, which are refused before a module runs.
	{plugin: "filesystem", tool: "move_file", client: "editor/2.4", perDay: 1, code: "not_granted"},
	{plugin: "git", tool: "git_commit", principal: "TOKEN", perDay: 1, code: "not_granted"},
	{plugin: "git", tool: "git_reset", principal: "token:ann", perDay: 1, code: "not_granted"},
}

// record is a line of an audit log, with the fields that matter here.
type record struct {
	Time       time.Time           `json:"time"`
	Kind       string              `json:"kind"`
	ID         string              `json:"id"`
	Plugin     string              `json:"plugin"`
	Client     string              `json:"client,omitempty"`
	Principal  string              `json:"principal"`
	Method     string              `json:"method"`
	Tool       string              `json:"tool"`
	Outcome    string              `json:"outcome"`
	Code       string              `json:"code,omitempty"`
	Duration   int64               `json:"duration_us,omitempty"`
	Fuel       int64               `json:"fuel,omitempty"`
	BytesIn    int64               `json:"bytes_in,omitempty"`
	BytesOut   int64               `json:"bytes_out,omitempty"`
	Grants     []map[string]string `json:"grants,omitempty"`
	Operations []map[string]string `json:"operations,omitempty"`
}

// writeLog writes a log of so many days that ends now. All logs of a sample have the same calls.
func writeLog(path string, all []used) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	random, encode := rand.New(rand.NewPCG(1, 2)), json.NewEncoder(f)
	today, n := time.Now().UTC(), 0
	for day := days; day > 0; day-- {
		var records []record
		for _, u := range all {
			for range u.perDay {
				if n++; day >= u.until {
					records = append(records, u.records(random, n, today.AddDate(0, 0, -day))...)
				}
			}
		}
		slices.SortStableFunc(records, func(a, b record) int { return a.Time.Compare(b.Time) })
		for _, r := range records {
			if err := encode.Encode(r); err != nil {
				return err
			}
		}
	}
	return f.Close()
}

// records returns the record of the call with a number, and that of what it was refused.
func (u used) records(random *rand.Rand, n int, begin time.Time) []record {
	r := record{
		Time: begin.Add(time.Duration(random.IntN(24*60*60)) * time.Second), Kind: "call", ID: fmt.Sprintf("sample-%d", n), Plugin: u.plugin, Client: u.client, Principal: u.principal,
		Method: "tools/call", Tool: u.tool, Outcome: "ok", Duration: int64(u.ms * 1000 * (0.6 + random.ExpFloat64()/2)), Fuel: int64(u.ms * 1e6), BytesIn: 90,
		BytesOut: int64(float64(u.bytes) * (0.5 + random.Float64())),
	}
	if r.Principal == "" {
		r.Principal = "local"
	}
	if g := strings.Split(u.grant, " "); len(g) == 3 {
		r.Grants = []map[string]string{{"kind": g[0], "path": g[1], "access": g[2]}}
	}
	switch {
	case u.ms == 0:
		r.Kind, r.Outcome, r.Code, r.Duration, r.Fuel, r.BytesOut = "refused", "denied", u.code, 0, 0, 0
	case u.failsEach > 0 && n%u.failsEach == 0:
		r.Outcome, r.Code, r.Duration, r.BytesOut = "failed", u.code, 10e6, 0
	case u.refusedEach > 0 && n%u.refusedEach == 0:
		r.Outcome = "tool_error"
		denied := r
		denied.Kind, denied.Outcome, denied.Code, denied.Duration, denied.Fuel, denied.BytesIn, denied.BytesOut = "refused", "denied", "denied", 0, 0, 0, 0
		denied.Grants = nil
		denied.Operations = []map[string]string{{"op": u.op, "target": u.target, "outcome": "denied", "code": "denied"}}
		return []record{r, denied}
	}
	return []record{r}
}
