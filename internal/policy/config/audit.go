package config

import (
	"cmp"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Values of Audit.Arguments: what the audit log keeps of a call's arguments.
const (
	argumentsHash = "hash"
	argumentsFull = "full"
	argumentsNone = "none"
)

// Values of Audit.OnFailure: what happens to calls while no record can be written.
const (
	FailOpen   = "open"   // calls run without a record
	FailClosed = "closed" // calls are refused
)

// Values of Audit.Also: where a copy of each record goes.
const (
	AuditJournald = "journald"
	AuditSyslog   = "syslog"
	AuditStdout   = "stdout"
)

// Defaults, minimums and maximums of the keys of [audit]. A file of minAuditSize bytes has room for any record.
const (
	defaultAuditSize             = 64 << 20
	minAuditSize, maxAuditSize   = 64 << 10, 1 << 40
	defaultAuditKeep             = 5
	minAuditKeep, maxAuditKeep   = 1, 1000
	keyAuditFile, absoluteRemedy = "audit.file", "write an absolute path; ${env:NAME} in it is expanded"
)

func (c *Config) readAudit(t *tomlfile.Table) {
	if !t.Present() {
		return
	}
	c.Audit = &Audit{
		File:      t.Required("file", `write file = "/…" in [audit]: the path of the log`),
		MaxSize:   cmp.Or(manifest.ReadSize(t, "max_size", minAuditSize, maxAuditSize), defaultAuditSize),
		Keep:      int(cmp.Or(manifest.ReadCount(t, "keep", minAuditKeep, maxAuditKeep), defaultAuditKeep)),
		Arguments: t.OneOf("arguments", argumentsHash, argumentsFull, argumentsNone),
		OnFailure: t.OneOf("on_failure", FailOpen, FailClosed),
		Also:      readCopies(t, runtime.GOOS, AuditJournald, AuditSyslog, AuditStdout),
		Metrics:   readMetrics(t, runtime.GOOS),
		Live:      readLive(t, runtime.GOOS),
		Traces:    readTraces(t),
		TracesAt:  Position{t.FileOf(keyHeadersFile), t.LineOf(keyHeadersFile)},
		Source:    t.FileOf("file"),
		Line:      t.LineOf("file"),
	}
	c.readFile(t, "file", keyAuditFile, &c.Audit.File)
	c.readFile(t, keyHeadersFile, auditHeadersFile, &c.Audit.Traces.HeadersFile)
}

// readCopies reads where a copy of each record goes, on a system with that GOOS.
func readCopies(t *tomlfile.Table, system string, allowed ...string) []string {
	return t.Distinct("also", func(name string) (what, remedy string) {
		switch {
		case !slices.Contains(allowed, name):
			return visible.Name(name) + " is not supported here", "use one of these: " + strings.Join(allowed, ", ")
		case name != AuditStdout && system != "linux":
			return name + " is for Linux", "remove it, or use " + AuditStdout + " with bulkhead serve --http, and collect that"
		}
		return "", ""
	})
}

// HasCopy reports whether a copy of each record goes there. a may be nil.
func (a *Audit) HasCopy(to string) bool { return a != nil && slices.Contains(a.Also, to) }

// Equal reports whether two tables have the same settings. Both may be nil.
func (a *Audit) Equal(b *Audit) bool {
	return a.SameLog(b) && a.MetricsAt() == b.MetricsAt() && a.HasLiveState() == b.HasLiveState() && a.TracesTo() == b.TracesTo()
}

// SameLog reports whether two tables have the same settings of the audit log. Both may be nil.
func (a *Audit) SameLog(b *Audit) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	for _, a := range []*Audit{&x, &y} {
		a.Line, a.Metrics, a.Live, a.Traces, a.TracesAt = 0, Metrics{}, false, Traces{}, Position{}
	}
	return reflect.DeepEqual(x, y)
}

// MetricsAt returns where metrics can be read. a may be nil.
func (a *Audit) MetricsAt() Metrics {
	if a == nil {
		return Metrics{}
	}
	return a.Metrics
}

// HasLiveState reports whether the user's other programs can read the live state of servers. a may be nil.
func (a *Audit) HasLiveState() bool { return a != nil && a.Live }

// Telemetry is a way in which others can see what servers do, besides the audit log.
type Telemetry struct {
	Kind string
	Text string // the kind, and where
}

// Telemetry returns what the table configures. a may be nil.
func (a *Audit) Telemetry() (all []Telemetry) {
	if at := a.MetricsAt(); at != (Metrics{}) {
		all = append(all, Telemetry{"metrics", "metrics at " + at.String()})
	}
	if to := a.TracesTo(); to != (Traces{}) {
		all = append(all, Telemetry{"traces", "traces to " + to.String()})
	}
	if a.HasLiveState() {
		all = append(all, Telemetry{"live state", "live state for other programs of the user"})
	}
	return all
}

const keyLive = "live"

// readLive reads the key live on a system with that GOOS.
func readLive(t *tomlfile.Table, system string) bool {
	if system == "windows" && t.Bool(keyLive, false) {
		t.Fault(keyLive, "needs a socket that only the user can read, which this program has on other systems than Windows", "remove it")
		return false
	}
	return t.Bool(keyLive, false)
}

// readFile validates the absolute path *file, which is the value of key in t, and cleans *file. name is the full name of key.
func (c *Config) readFile(t *tomlfile.Table, key, name string, file *string) {
	if *file == "" {
		return // t.Required has already reported the absent value
	}
	err := checkFile(*file)
	if hasReference(*file) {
		if err = checkPathReferences(*file); err == nil {
			c.References = append(c.References, name)
			return
		}
	}
	if err != nil {
		t.Fault(key, err.Error(), absoluteRemedy) // the message omits the value, since a user may have pasted a secret instead of a path
		return
	}
	*file = filepath.Clean(*file)
}
