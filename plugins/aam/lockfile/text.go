package lockfile

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Parse parses the content of a lock file. The error is a *yaml11.SyntaxError, or yaml11.Problems with all problems of
// the file.
func Parse(data []byte) (*Lock, error) {
	document, err := yaml11.Parse(data, MaxSize)
	if err != nil {
		return nil, err
	}
	var r yaml11.Reader
	lock := &Lock{ResolvedAt: document.Root().Field("resolved_at").Text()}
	for _, entry := range r.Entries(document.Root().Field("packages")) {
		if entry.Value.Kind() != yaml11.Mapping {
			continue // the aam program ignores such entries, too
		}
		if err := pkgname.Check(entry.Key.Text()); err != nil {
			r.Problem(entry.Value, "%s", err)
		}
		lock.Packages = append(lock.Packages, parseEntry(&r, entry.Key.Text(), entry.Value))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return lock, nil
}

func parseEntry(r *yaml11.Reader, name string, value yaml11.Value) Entry {
	entry := Entry{
		Name:         name,
		Version:      r.Text(value.Field("version")),
		Source:       r.Text(value.Field("source")),
		Checksum:     r.Text(value.Field("checksum")),
		SourceName:   r.NullText(value.Field("source_name")),
		SourceCommit: r.NullText(value.Field("source_commit")),
	}
	for _, dependency := range r.Entries(value.Field("dependencies")) {
		entry.Dependencies = append(entry.Dependencies, manifest.Dependency{Name: dependency.Key.Text(), Constraint: r.Text(dependency.Value)})
	}
	if sums := value.Field("file_checksums"); sums.Kind() != yaml11.Null && r.Mapping(sums) {
		entry.FileChecksums = &FileChecksums{Algorithm: r.TextOr(sums.Field("algorithm"), "sha256")}
		for _, file := range r.Entries(sums.Field("files")) {
			entry.FileChecksums.Files = append(entry.FileChecksums.Files, FileChecksum{file.Key.Text(), r.Text(file.Value)})
		}
	}
	if (entry.SourceName == nil) != (entry.SourceCommit == nil) {
		r.Problem(value, "source_name and source_commit must both be set, or neither")
	}
	return entry
}

// Encode returns the content of the lock file. The argument resolvedAt is the current time, in the format of
// registry.Timestamp.
func (l *Lock) Encode(resolvedAt string) ([]byte, error) {
	packages := yaml11.Map{}
	for _, entry := range l.Packages {
		packages = append(packages, yaml11.Pair{Key: entry.Name, Value: entry.encode()})
	}
	return yaml11.Encode(yaml11.Map{
		{Key: "lockfile_version", Value: 1},
		{Key: "resolved_at", Value: resolvedAt},
		{Key: "packages", Value: packages},
	})
}

func (e Entry) encode() yaml11.Map {
	dependencies := yaml11.Map{}
	for _, d := range e.Dependencies {
		dependencies = append(dependencies, yaml11.Pair{Key: d.Name, Value: d.Constraint})
	}
	var sums any
	if e.FileChecksums != nil {
		list := yaml11.Map{}
		for _, file := range e.FileChecksums.Files {
			list = append(list, yaml11.Pair{Key: file.Path, Value: file.Hex})
		}
		sums = yaml11.Map{{Key: "algorithm", Value: e.FileChecksums.Algorithm}, {Key: "files", Value: list}}
	}
	return yaml11.Map{
		{Key: "version", Value: e.Version},
		{Key: "source", Value: e.Source},
		{Key: "checksum", Value: e.Checksum},
		{Key: "dependencies", Value: dependencies},
		{Key: "file_checksums", Value: sums},
		{Key: "source_name", Value: yaml11.NullText(e.SourceName)},
		{Key: "source_commit", Value: yaml11.NullText(e.SourceCommit)},
	}
}
