package workspace

import (
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxLedger bounds the ledger file, in bytes.
const maxLedger = 8 << 20

// deployment is an artifact on a platform.
type deployment struct {
	platform string
	typ      manifest.Type
	name     string
	version  string // version of the package; "" for the installed one
}

// ledger records the deployments of each package. The aam program does not have it.
type ledger struct {
	packages []ledgerEntry // in file order
}

type ledgerEntry struct {
	name     string
	deployed []deployment
}

func (w *Workspace) ledgerPath() string { return filepath.Join(w.Dir(), "deployments.yaml") }

// readLedger returns the ledger and the content of its file, nil if it does not exist.
func (w *Workspace) readLedger() (*ledger, []byte, error) {
	data, err := w.readFile(w.ledgerPath(), maxLedger)
	if err != nil {
		return nil, nil, err
	}
	l, err := parseLedger(data)
	if err != nil {
		return nil, nil, fault.New(fault.Internal, "%s cannot be read: %w", w.ledgerPath(), err).
			WithHint("It says what was deployed where; remove it if it cannot be repaired")
	}
	return l, data, nil
}

// parseLedger parses a ledger; nil data means that there is none.
func parseLedger(data []byte) (*ledger, error) {
	doc, err := yaml11.Parse(data, maxLedger)
	if err != nil {
		return nil, err
	}
	var r yaml11.Reader
	l := &ledger{}
	for _, entry := range r.Entries(doc.Root().Field("packages")) {
		name := entry.Key.Text()
		if err := pkgname.Check(name); err != nil {
			r.Problem(entry.Value, "%v", err)
		}
		deployed := []deployment{}
		for _, item := range r.List(entry.Value) {
			deployed = append(deployed, parseDeployment(&r, item))
		}
		l.set(name, deployed)
	}
	return l, r.Err()
}

// parseDeployment parses and validates a deployment, whose names become paths.
func parseDeployment(r *yaml11.Reader, item yaml11.Value) deployment {
	if !r.Mapping(item) {
		return deployment{}
	}
	d := deployment{platform: r.Text(item.Field("platform")), name: r.Text(item.Field("name"))}
	word := r.Text(item.Field("type"))
	t, ok := manifest.ParseType(word)
	if !ok && word != "" {
		r.Problem(item.Field("type"), "%.60q is no type of artifact", word)
	}
	d.typ = t
	d.version = r.TextOr(item.Field("version"), "")
	if err := pkgname.CheckArtifact(d.name); err != nil {
		r.Problem(item.Field("name"), "%v", err)
	}
	if !deploy.Supported(d.platform) {
		r.Problem(item.Field("platform"), "%.60q is no platform that is supported", d.platform)
	}
	return d
}

func (l *ledger) encode() ([]byte, error) {
	packages := yaml11.Map{}
	for _, entry := range l.packages {
		list := []any{}
		for _, d := range entry.deployed {
			fields := yaml11.Map{{Key: "platform", Value: d.platform}, {Key: "type", Value: string(d.typ)}, {Key: "name", Value: d.name}}
			if d.version != "" {
				fields = append(fields, yaml11.Pair{Key: "version", Value: d.version})
			}
			list = append(list, fields)
		}
		packages = append(packages, yaml11.Pair{Key: entry.name, Value: list})
	}
	return yaml11.Encode(yaml11.Map{{Key: "packages", Value: packages}})
}

// of returns the deployments of a package; false if it is not in the ledger.
func (l *ledger) of(name string) ([]deployment, bool) {
	at := slices.IndexFunc(l.packages, func(e ledgerEntry) bool { return e.name == name })
	if at < 0 {
		return nil, false
	}
	return l.packages[at].deployed, true
}

func (l *ledger) set(name string, deployed []deployment) {
	at := slices.IndexFunc(l.packages, func(e ledgerEntry) bool { return e.name == name })
	if at < 0 {
		l.packages = append(l.packages, ledgerEntry{name, deployed})
		return
	}
	l.packages[at].deployed = deployed
}

func (l *ledger) remove(name string) {
	l.packages = slices.DeleteFunc(l.packages, func(e ledgerEntry) bool { return e.name == name })
}

// Outdated returns, by package name, the platforms that have another than the installed version, because that was only
// deployed to another platform.
func (w *Workspace) Outdated() (map[string][]string, error) {
	l, _, err := w.readLedger()
	if err != nil {
		return nil, err
	}
	platforms := map[string][]string{}
	for _, entry := range l.packages {
		for _, d := range entry.deployed {
			if d.version != "" && !slices.Contains(platforms[entry.name], d.platform) {
				platforms[entry.name] = append(platforms[entry.name], d.platform)
			}
		}
	}
	return platforms, nil
}

// Deployed returns the slash-separated paths, relative to the project, that packages have deployed. A project without a
// ledger has none.
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

// deployedOf returns the deployments of an installed package. If it is not in the ledger, the aam program has installed it
// and deployed it to the default platform.
func (w *Workspace) deployedOf(s *state, name, otherwise string) []deployment {
	if known, ok := s.ledger.of(name); ok {
		return known
	}
	var all []deployment
	if m := w.manifest(s, name); m != nil && deploy.Supported(otherwise) {
		for _, a := range m.Artifacts {
			all = append(all, deployment{platform: otherwise, typ: a.Type, name: a.Name})
		}
	}
	return all
}
