package config

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// What is kept of a call's arguments: Audit.Arguments.
const (
	ArgumentsHash = "hash"
	ArgumentsFull = "full"
	ArgumentsNone = "none"
)

// What happens to calls while no record can be written: Audit.OnFailure.
const (
	FailOpen   = "open"   // they go on
	FailClosed = "closed" // they are refused
)

// Defaults and bounds of [audit]. A file has room for one record at least.
const (
	defaultAuditSize             = 64 << 20
	minAuditSize, maxAuditSize   = 64 << 10, 1 << 40
	defaultAuditKeep             = 5
	minAuditKeep, maxAuditKeep   = 1, 1000
	keyAuditFile, absoluteRemedy = "audit.file", "write an absolute path; ${env:NAME} in it stands for a variable"
)

// readAudit is nil where there is no [audit].
func (c *Config) readAudit(t *tomlfile.Table) {
	if !t.Present() {
		return
	}
	c.Audit = &Audit{
		File:      t.Required("file", `write file = "/…" in [audit]: where the log is`),
		MaxSize:   first(manifest.ReadSize(t, "max_size", minAuditSize, maxAuditSize), defaultAuditSize),
		Keep:      int(first(manifest.ReadCount(t, "keep", minAuditKeep, maxAuditKeep), defaultAuditKeep)),
		Arguments: t.OneOf("arguments", ArgumentsHash, ArgumentsFull, ArgumentsNone),
		OnFailure: t.OneOf("on_failure", FailOpen, FailClosed),
		Line:      t.Line(),
	}
	c.readFile(t, "file", keyAuditFile, &c.Audit.File)
}

// readFile checks the absolute path at key of t, which *file has, and makes it clean. name is the key's
// place in the whole file.
func (c *Config) readFile(t *tomlfile.Table, key, name string, file *string) {
	if *file == "" {
		return // reported
	}
	err := checkFile(*file)
	if refers(*file) {
		if err = checkPathReferences(*file); err == nil {
			c.References = append(c.References, name)
			return
		}
	}
	if err != nil {
		t.Fault(key, err.Error(), absoluteRemedy) // without the text: somebody may take it for the place of the secret
		return
	}
	*file = filepath.Clean(*file)
}
