package config

import (
	"cmp"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
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
		Source:    t.FileOf("file"),
		Line:      t.LineOf("file"),
	}
	c.readFile(t, "file", keyAuditFile, &c.Audit.File)
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
