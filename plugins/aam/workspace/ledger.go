package workspace

import (
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxLedger is the maximum size of the ledger file, in bytes.
const maxLedger = 8 << 20

// deployment is an artifact that is deployed to a platform.
type deployment struct {
	platform string
	typ      manifest.Type
	name     string
	version  string // the version of the package; "" for the version of the ledger entry
	digest   string // the digest of the deployed content; "" if unknown
}

// artifact returns the type and name of the deployed artifact, and the platform.
func (d deployment) artifact() deploy.Artifact {
	return deploy.Artifact{Platform: d.platform, Type: d.typ, Name: d.name}
}

// ledger records the deployments of each package. The aam program neither reads nor writes the ledger.
type ledger struct {
	packages   []ledgerEntry // the entries in the order of the file
	resolvedAt string        // the field ResolvedAt of the lock file that was written in the same transaction; "" if unknown
}

type ledgerEntry struct {
	name     string
	version  string // the version in the lock file
	checksum string // the checksum in the lock file
	deployed []deployment
}

// matches reports whether the entry records deployments of the package version in the lock file. If not, the aam
// program has changed the package since the ledger was written.
func (e ledgerEntry) matches(locked lockfile.Entry) bool {
	return e.version == locked.Version && e.checksum == locked.Checksum
}

func (w *Workspace) ledgerPath() string { return filepath.Join(w.Dir(), "deployments.yaml") }

// readLedger returns the ledger, and the content of the ledger file; the content is nil if the file does not exist.
func (w *Workspace) readLedger() (*ledger, []byte, error) {
	data, err := w.readFile(w.ledgerPath(), maxLedger)
	if err != nil {
		return nil, nil, err
	}
	l, err := parseLedger(data)
	if err != nil {
		return nil, nil, fault.New(fault.Internal, "%s cannot be read: %w", w.ledgerPath(), err).
			WithHint("This file records all deployments; repair it, or remove it if it cannot be repaired")
	}
	return l, data, nil
}

// parseLedger parses the content of a ledger file. If data is nil, the file does not exist, and parseLedger returns an
// empty ledger.
func parseLedger(data []byte) (*ledger, error) {
	doc, err := yaml11.Parse(data, maxLedger)
	if err != nil {
		return nil, err
	}
	var r yaml11.Reader
	l := &ledger{resolvedAt: r.TextOr(doc.Root().Field("resolved_at"), "")}
	places := map[string]int{} // indexes in l.packages; the key is the name of the package
	for _, item := range r.Entries(doc.Root().Field("packages")) {
		entry := ledgerEntry{name: item.Key.Text(), deployed: []deployment{}}
		if err := pkgname.Check(entry.name); err != nil {
			r.Problem(item.Value, "%v", err)
		}
		for _, item := range r.List(item.Value) {
			entry.deployed = append(entry.deployed, parseDeployment(&r, item))
		}
		places[entry.name] = len(l.packages)
		l.packages = append(l.packages, entry)
	}
	for _, item := range r.Entries(doc.Root().Field("installed")) {
		if at, ok := places[item.Key.Text()]; ok && r.Mapping(item.Value) {
			l.packages[at].version = r.Text(item.Value.Field("version"))
			l.packages[at].checksum = r.Text(item.Value.Field("checksum"))
		}
	}
	return l, r.Err()
}

// parseDeployment parses a deployment of the ledger, and validates the names in it, which become parts of paths.
func parseDeployment(r *yaml11.Reader, item yaml11.Value) deployment {
	if !r.Mapping(item) {
		return deployment{}
	}
	d := deployment{platform: r.Text(item.Field("platform")), name: r.Text(item.Field("name"))}
	word := r.Text(item.Field("type"))
	t, ok := manifest.ParseType(word)
	if !ok && word != "" {
		r.Problem(item.Field("type"), "%.60q is not an artifact type", word)
	}
	d.typ = t
	d.version = r.TextOr(item.Field("version"), "")
	d.digest = r.TextOr(item.Field("digest"), "")
	if err := pkgname.CheckArtifact(d.name); err != nil {
		r.Problem(item.Field("name"), "%v", err)
	}
	if !deploy.Supported(d.platform) {
		r.Problem(item.Field("platform"), "%.60q is not a supported platform", d.platform)
	}
	return d
}

func (l *ledger) encode() ([]byte, error) {
	packages, installed := yaml11.Map{}, yaml11.Map{}
	for _, entry := range l.packages {
		list := []any{}
		for _, d := range entry.deployed {
			fields := yaml11.Map{{Key: "platform", Value: d.platform}, {Key: "type", Value: string(d.typ)}, {Key: "name", Value: d.name}}
			if d.version != "" {
				fields = append(fields, yaml11.Pair{Key: "version", Value: d.version})
			}
			if d.digest != "" {
				fields = append(fields, yaml11.Pair{Key: "digest", Value: d.digest})
			}
			list = append(list, fields)
		}
		packages = append(packages, yaml11.Pair{Key: entry.name, Value: list})
		if entry.version != "" {
			its := yaml11.Map{{Key: "version", Value: entry.version}, {Key: "checksum", Value: entry.checksum}}
			installed = append(installed, yaml11.Pair{Key: entry.name, Value: its})
		}
	}
	file := yaml11.Map{{Key: "packages", Value: packages}}
	if len(installed) > 0 {
		file = append(file, yaml11.Pair{Key: "installed", Value: installed})
	}
	if l.resolvedAt != "" {
		file = append(file, yaml11.Pair{Key: "resolved_at", Value: l.resolvedAt})
	}
	return yaml11.Encode(file)
}

func (l *ledger) index(name string) int {
	return slices.IndexFunc(l.packages, func(e ledgerEntry) bool { return e.name == name })
}

// of returns the entry of the package called name; nil if the ledger has no such entry.
func (l *ledger) of(name string) *ledgerEntry {
	if at := l.index(name); at >= 0 {
		return &l.packages[at]
	}
	return nil
}

// set replaces the entry of the package that entry names. If there is no such entry, set appends entry.
func (l *ledger) set(entry ledgerEntry) {
	if at := l.index(entry.name); at >= 0 {
		l.packages[at] = entry
		return
	}
	l.packages = append(l.packages, entry)
}

func (l *ledger) remove(name string) {
	l.packages = slices.DeleteFunc(l.packages, func(e ledgerEntry) bool { return e.name == name })
}

// Outdated returns the platforms that have another version of a package than the installed version. The key is the name
// of the package. This happens if the installed version was deployed only to another platform.
func (d *Deployments) Outdated() map[string][]string {
	platforms := map[string][]string{}
	for _, entry := range d.ledger.packages {
		for _, d := range entry.deployed {
			if d.version != "" && !slices.Contains(platforms[entry.name], d.platform) {
				platforms[entry.name] = append(platforms[entry.name], d.platform)
			}
		}
	}
	return platforms
}

// Deployed returns the set of the paths of all deployments in the ledger. The paths are slash-separated and relative to
// the project.
func (w *Workspace) Deployed() (map[string]bool, error) {
	l, _, err := w.readLedger()
	if err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for _, entry := range l.packages {
		for _, d := range entry.deployed {
			if path, ok := deploy.Path(d.platform, d.typ, d.name); ok {
				paths[filepath.ToSlash(path)] = true
			}
		}
	}
	return paths, nil
}
