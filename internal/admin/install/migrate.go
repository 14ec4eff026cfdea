package install

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/reference"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Migration says which reference servers plugins are to replace.
type Migration struct {
	// Servers are changed: one that no plugin can replace gets a reason in Left.
	Servers []*reference.Server
	// User grants in the user's config. Otherwise the servers are from a file of the project, whose author may be untrusted: only directories
	// in the project are granted, in its config, and the values of variables stay with the caller.
	User      bool
	PublicWeb bool // grants the public web to plugins that need it

	places  config.Places
	resolve review.Resolver
	grants  map[string]reference.Grants // by the name of the plugin
}

// ProposeMigration prepares a config for the plugins that replace servers, without changing anything. It returns nil if no server can be
// replaced.
func ProposeMigration(o discovery.Options, m Migration) (*Setup, error) {
	installed, dir, err := discovery.Installed(o)
	if err != nil {
		return nil, err
	}
	if m.places, err = discovery.FindPlaces(o); err != nil {
		return nil, err
	}
	m.resolve, m.grants = explain.NewResolver(m.places, nil), map[string]reference.Grants{}
	for _, s := range m.Servers {
		at := slices.IndexFunc(installed, func(c discovery.Candidate) bool { return c.Name() == s.Plugin && c.Problems.Err() == nil })
		if at < 0 {
			s.Leave("there is no valid plugin %s in %s", s.Plugin, dir)
			continue
		}
		offers := func(name string) bool {
			return slices.ContainsFunc(installed[at].Manifest.Tools, func(t manifest.Tool) bool { return t.Name == name })
		}
		if lost := slices.DeleteFunc(slices.Clone(s.Writes), offers); len(lost) > 0 {
			s.Lose("the plugin does not offer %s", strings.Join(lost, ", "))
		}
		m.add(s)
	}
	if len(m.grants) == 0 {
		return nil, nil
	}
	setup, err := ProposeSetup(o, Preparation{Plugins: slices.Sorted(maps.Keys(m.grants)), Grants: m.grants, User: m.User})
	if err != nil {
		return nil, err
	}
	view, err := catalog.LookWith(o, setup.config)
	if err != nil {
		return nil, err
	}
	for _, s := range m.Servers {
		inConfig := func(p SetupPlugin) bool { return p.Name == s.Plugin && p.InConfig }
		p := view.Plugin(s.Plugin)
		if p == nil || len(s.Left) > 0 || !slices.ContainsFunc(setup.Plugins, inConfig) {
			continue
		}
		for _, lack := range m.lacks(p, s.Grants) {
			s.Leave("%s is in %s already, and its table is not changed: add %s to it", s.Plugin, setup.Config, lack)
		}
	}
	return setup, nil
}

// Edits returns the changes of the config and its trust record, for a transaction with the files of clients, and sets Trust. New files
// must get the permission bits of a private file.
func (s *Setup) Edits() (edits []transaction.Change, err error) {
	if len(s.Files) > 0 {
		return nil, usage.Errorf("%s has to be created first: run `bulkhead init`", s.Files[0].Path)
	}
	if s.Adds != "" {
		edits, s.Trust, err = s.file.edits(s.config.Content(), s.store)
	}
	return edits, err
}

// add adds the grants of a server, or leaves it.
func (m *Migration) add(s *reference.Server) {
	if s.PublicWeb && !m.PublicWeb {
		s.Leave("it needs the public web: pass --public-web to grant it")
	}
	for i := range s.FS {
		s.FS[i].Path = m.place(s, s.FS[i].Path)
	}
	for name, value := range s.Env {
		variable, _, err := manifest.SplitPath(value)
		if err != nil || !m.User {
			continue // a time zone, or a value for the file of the client
		}
		if s.Env[name], _ = m.places.Resolve(value, s.Plugin); variable == manifest.VarProject {
			s.Leave("%s has no value that is the same in all projects", name)
		}
	}
	if len(s.Left) > 0 {
		return
	}
	grants := m.grants[s.Plugin]
	if conflict := grants.Add(s.Grants); conflict != "" {
		s.Leave("another entry for %s has a different %s, and a config has one table for each plugin", s.Plugin, conflict)
	}
	m.grants[s.Plugin] = grants
}

// place returns the path of a grant for the config, or leaves the server. It decides on the resolved path.
func (m *Migration) place(s *reference.Server, dir string) string {
	lexical, missing := m.places.Resolve(dir, s.Plugin)
	if missing != "" {
		s.Leave("%s has no meaning here: there is no such directory, or no project", tomlfile.Quote(dir))
		return dir
	}
	at := m.resolve(review.Folder, lexical, nil)
	info, err := os.Stat(lexical)
	switch rel, outside := filepath.Rel(m.places.Project, at.Resolved); {
	case err != nil || !info.IsDir():
		s.Leave("%s is not a directory", tomlfile.Quote(lexical))
	case at.Refused != "":
		s.Leave("%s cannot be granted: %s", tomlfile.Quote(lexical), at.Refused)
	case at.Broad:
		s.Leave("%s is too broad to grant with a yes: name the directories that are needed", tomlfile.Quote(lexical))
	case !m.User && (m.places.Project == "" || outside != nil || !filepath.IsLocal(rel)):
		s.Leave("%s is not in the project, whose author may not be trusted with it: grant it yourself, in %s", tomlfile.Quote(at.Resolved), config.FileName)
	case !m.User:
		return path.Join("${"+manifest.VarProject+"}", filepath.ToSlash(rel))
	}
	return dir
}

// repositories returns the grants of repositories in dirs to a plugin, with the access that it requests; nil if it requests none.
func repositories(m *manifest.Manifest, dirs []manifest.FS) (repos []manifest.Git) {
	for _, f := range dirs {
		access := manifest.Access("")
		for _, request := range m.Capabilities.Git {
			if (request.Repo == "*" || request.Repo == f.Path) && request.Access.Covers(access) {
				access = request.Access
			}
		}
		if access != "" {
			repos = append(repos, manifest.Git{Repo: f.Path, Access: access})
		}
	}
	return repos
}

// lacks returns the keys and values that the table of a plugin in the config lacks.
func (m *Migration) lacks(p *catalog.Plugin, needs reference.Grants) (lacks []string) {
	for _, f := range needs.FS {
		dir, _ := m.places.Resolve(f.Path, p.Name)
		if !slices.ContainsFunc(p.Grant.FS, func(have config.Mount) bool {
			return contain.Within(have.Path, dir) && have.Access.Covers(f.Access)
		}) {
			lacks = append(lacks, fmt.Sprintf("fs = [{ path = %s, access = %q }]", tomlfile.Text(f.Path), f.Access))
		}
	}
	for _, repo := range repositories(p.Manifest, needs.FS) {
		dir, _ := m.places.Resolve(repo.Repo, p.Name)
		if !slices.ContainsFunc(p.Grant.Git, func(have config.Git) bool { return contain.Within(have.Repo, dir) && have.Access.Covers(repo.Access) }) {
			lacks = append(lacks, fmt.Sprintf("git = [{ repo = %s, access = %q }]", tomlfile.Text(repo.Repo), repo.Access))
		}
	}
	if needs.PublicWeb && !slices.ContainsFunc(p.Grant.HTTP, func(h config.HTTP) bool { return h.PublicWeb }) {
		lacks = append(lacks, fmt.Sprintf("http = [%q]", manifest.PublicWeb))
	}
	for name, value := range needs.Env {
		if m.User && p.Grant.Env[name] != value {
			lacks = append(lacks, "env = { "+name+" = … }")
		}
	}
	return lacks
}
