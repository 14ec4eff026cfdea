//go:build unix

package tests

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// contextProject is a generated project of a size at which lists do not fit into a model's context. Its fields are what was generated, so
// that answers about it are computed without any plugin.
type contextProject struct {
	files        map[string]string // for newTestUser
	specs        []contextSpec
	changes      []contextChange
	capabilities []contextCapability
	packages     []contextPackage
	sources      []contextSource
	prompts      []contextPrompt
	modified     []string // prompts of agentpack whose deployed file differs
}

// contextSpec is a spec of chant.
type contextSpec struct {
	id, title, status string
	labels, dependsOn []string
	done, criteria    int
	text              string
}

// contextChange is a change of openspec.
type contextChange struct {
	name, dir   string // dir has the date if the change is archived
	archived    bool
	touches     []string // capabilities
	removes     []string // capabilities of which it removes a requirement
	done, tasks int
}

// contextCapability is a main spec of openspec.
type contextCapability struct {
	name         string
	requirements int
}

// contextPackage is an installed package of aam.
type contextPackage struct {
	name, version, registry string // version is the installed one, registry the latest in the registry
	dependsOn               []string
	keywords                []string
}

// contextSource is a file of the project.
type contextSource struct{ path, content string }

// contextPrompt is a prompt of mcpkg.
type contextPrompt struct{ name, description, content string }

var (
	contextAreas  = []string{"billing", "search", "storage", "login", "export", "mobile", "reports", "sync"}
	contextThings = []string{"invoice", "queue", "ledger", "basket", "session", "index", "cache", "schedule", "upload", "digest"}
	contextVerbs  = []string{"Rebuild", "Validate", "Archive", "Throttle", "Merge", "Rename", "Encrypt", "Report"}
)

func newContextProject() *contextProject {
	p := &contextProject{files: map[string]string{}}
	random := rand.New(rand.NewPCG(32, 20))
	p.addSpecs(random, 1200)
	p.addCapabilities(random, 240, 400)
	p.addPackages(random, 300)
	p.addSources(random, 900)
	p.addPrompts(random, 200)
	maps.Copy(p.files, agentpackRepo(150, "Prune the trees of the orchard before the harvest.\n"))
	for i := range 150 {
		name, text := fmt.Sprintf("prompt-%03d", i), "Prune the trees of the orchard before the harvest.\n"
		if random.IntN(12) == 0 {
			text, p.modified = "Changed by hand.\n", append(p.modified, name)
		}
		p.files["home/.codex/prompts/"+name+".md"] = text
	}
	return p
}

func pick[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }

func (p *contextProject) addSpecs(random *rand.Rand, n int) {
	for i := range n {
		s := contextSpec{
			id:     fmt.Sprintf("2026-%02d-%02d-%03d-%s", 1+i/112, 1+i/4%28, 1+i%4, string([]byte{'a' + byte(i/260%26), '0' + byte(i%10), 'a' + byte(i/10%26)})),
			title:  fmt.Sprintf("%s the %s of %s %d", pick(random, contextVerbs), pick(random, contextThings), pick(random, contextAreas), i),
			status: pick(random, []string{"pending", "pending", "completed", "completed", "completed", "in_progress", "failed"}),
			labels: []string{pick(random, contextAreas)},
		}
		if random.IntN(6) == 0 {
			s.labels = append(s.labels, "urgent")
		}
		for range random.IntN(3) {
			if i > 0 {
				if id := p.specs[random.IntN(i)].id; !slices.Contains(s.dependsOn, id) {
					s.dependsOn = append(s.dependsOn, id)
				}
			}
		}
		s.criteria = 1 + random.IntN(5)
		if s.done = random.IntN(s.criteria + 1); s.status == "completed" {
			s.done = s.criteria
		}
		s.text = "The " + pick(random, contextThings) + " is too slow for the largest customers, and support hears of it each week."
		if random.IntN(60) == 0 {
			s.text += "\nDo not start before the data protection review."
		}
		var b strings.Builder
		fmt.Fprintf(&b, "---\ntype: code\nstatus: %s\nlabels:\n- %s\n", s.status, strings.Join(s.labels, "\n- "))
		if s.dependsOn != nil {
			fmt.Fprintf(&b, "depends_on:\n- %s\n", strings.Join(s.dependsOn, "\n- "))
		}
		fmt.Fprintf(&b, "---\n\n# %s\n\n%s\n\n## Acceptance Criteria\n\n", s.title, s.text)
		for c := range s.criteria {
			fmt.Fprintf(&b, "- [%s] The %s is checked in case %d\n", mark(c < s.done), pick(random, contextThings), c+1)
		}
		p.specs = append(p.specs, s)
		p.files["project/.chant/specs/"+s.id+".md"] = b.String()
	}
}

func mark(done bool) string {
	if done {
		return "x"
	}
	return " "
}

// addCapabilities writes main specs of openspec, and changes of which a third are archived.
func (p *contextProject) addCapabilities(random *rand.Rand, specs, changes int) {
	var names []string
	for i := range specs {
		name := fmt.Sprintf("%s-%s-%d", pick(random, contextAreas), pick(random, contextThings), i)
		names = append(names, name)
		text := fmt.Sprintf("# %s Specification\n\n## Purpose\nKeeps what customers of %s rely on described in one place, so that changes are reviewed against it.\n\n## Requirements\n", name, name)
		requirements := 2 + random.IntN(4)
		p.capabilities = append(p.capabilities, contextCapability{name, requirements})
		for r := range requirements {
			text += contextRequirement(r)
		}
		p.files["project/openspec/specs/"+name+"/spec.md"] = text
	}
	for i := range changes {
		c := contextChange{name: fmt.Sprintf("%s-%s-%d", strings.ToLower(pick(random, contextVerbs)), pick(random, contextThings), i), archived: i%3 == 2, tasks: 2 + random.IntN(6)}
		c.done = random.IntN(c.tasks + 1)
		c.dir = c.name
		dir := "project/openspec/changes/" + c.dir
		if c.archived {
			c.dir = fmt.Sprintf("2026-%02d-%02d-%s", 1+i%9, 1+i%28, c.name)
			dir = "project/openspec/changes/archive/" + c.dir
		}
		for range 1 + random.IntN(3) {
			name := names[random.IntN(len(names))]
			if random.IntN(5) == 0 {
				name = p.hub()
			}
			if slices.Contains(c.touches, name) {
				continue
			}
			c.touches = append(c.touches, name)
			delta := fmt.Sprintf("## ADDED Requirements\n\n### Requirement: Added by %d\nThe system SHALL do it.\n\n#### Scenario: Works\n- **WHEN** asked\n- **THEN** it happens\n", i)
			if random.IntN(12) == 0 {
				c.removes = append(c.removes, name)
				delta += "\n## REMOVED Requirements\n\n### Requirement: Rule 0\n**Reason**: nobody uses it\n**Migration**: none\n"
			}
			p.files[dir+"/specs/"+name+"/spec.md"] = delta
		}
		p.files[dir+"/proposal.md"] = fmt.Sprintf("# Change: %s\n\n## Why\n\nCustomers of the workshop wait longer than they were promised, and complain.\n\n## What Changes\n\n- Change %d.\n", c.name, i)
		tasks := "## 1. Work\n\n"
		for t := range c.tasks {
			tasks += fmt.Sprintf("- [%s] 1.%d Do part %d and run the tests\n", mark(t < c.done), t+1, t+1)
		}
		p.files[dir+"/tasks.md"] = tasks
		p.changes = append(p.changes, c)
	}
}

// hub is the name of a capability that many changes touch.
func (p *contextProject) hub() string { return p.capabilities[7].name }

func contextRequirement(n int) string {
	return fmt.Sprintf("### Requirement: Rule %d\nThe system SHALL follow rule %d.\n\n#### Scenario: Works\n- **WHEN** asked\n- **THEN** it happens\n\n", n, n)
}

// addPackages writes a registry of aam, and its packages as installed.
func (p *contextProject) addPackages(random *rand.Rand, n int) {
	lock := "lockfile_version: 1\nresolved_at: '2026-02-10T12:00:00.000000+00:00'\npackages:\n"
	index := "packages:\n"
	for i := range n {
		k := contextPackage{name: fmt.Sprintf("%s-%s-%d", pick(random, contextThings), pick(random, []string{"kit", "rules", "prompts"}), i),
			version: fmt.Sprintf("1.%d.0", random.IntN(4)), keywords: []string{pick(random, contextAreas)}}
		if k.registry = k.version; random.IntN(8) == 0 {
			k.registry = "2.0.0"
		}
		dependencies := "{}"
		for d := range random.IntN(4) {
			if i > 0 {
				at := random.IntN(i)
				if d == 0 {
					at = random.IntN(min(i, 30)) // a few that many depend on
				}
				if name := p.packages[at].name; !slices.Contains(k.dependsOn, name) {
					k.dependsOn = append(k.dependsOn, name)
				}
			}
		}
		if k.dependsOn != nil {
			dependencies = "{" + strings.Join(k.dependsOn, ": '>=1.0.0', ") + ": '>=1.0.0'}"
		}
		lock += fmt.Sprintf("  %s:\n    version: %s\n    source: team\n    checksum: sha256:%064d\n    dependencies: %s\n    file_checksums: null\n    source_name: null\n    source_commit: null\n", k.name, k.version, i, dependencies)
		index += fmt.Sprintf("- name: %s\n  description: For teams that work on %s\n  latest: %s\n  keywords: [%s]\n  artifact_types: [prompt]\n  updated_at: '2026-02-10T12:00:00.000000+00:00'\n", k.name, k.keywords[0], k.registry, k.keywords[0])
		dir := "project/.aam/packages/" + k.name
		p.files[dir+"/aam.yaml"] = fmt.Sprintf("name: %s\nversion: %s\ndescription: For teams that work on %s\nkeywords: [%s]\nartifacts:\n  prompts:\n    - {name: p%d, path: prompts/p.md, description: A prompt}\ndependencies: %s\n", k.name, k.version, k.keywords[0], k.keywords[0], i, dependencies)
		p.files[dir+"/prompts/p.md"] = "Do it.\n"
		p.packages = append(p.packages, k)
	}
	p.files["project/.aam/aam-lock.yaml"] = lock
	p.files["registry/index.yaml"] = index
	p.files["registry/registry.yaml"] = "name: team\ntype: local\ndescription: Packages of the team\napi_version: 1\ncreated_at: '2026-02-10T12:00:00.000000+00:00'\n"
	p.files["home/.aam/config.yaml"] = "default_platform: cursor\nregistries: [{name: team, url: 'file://BASE/registry', default: true}]\n"
}

// addSources writes files that the plugin filesystem reads.
func (p *contextProject) addSources(random *rand.Rand, n int) {
	for i := range n {
		area := pick(random, contextAreas)
		s := contextSource{path: fmt.Sprintf("src/%s/%s_%d.go", area, pick(random, contextThings), i)}
		s.content = fmt.Sprintf("package %s\n\n", area)
		for f := range 1 + random.IntN(12) {
			s.content += fmt.Sprintf("// F%d does its part for %s.\nfunc F%d() int { return %d }\n\n", f, pick(random, contextThings), f, random.IntN(1000))
		}
		if random.IntN(40) == 0 {
			s.content += "// TODO: remove before the release\n"
		}
		p.sources = append(p.sources, s)
		p.files["project/"+s.path] = s.content
	}
}

func (p *contextProject) addPrompts(random *rand.Rand, n int) {
	for i := range n {
		k := contextPrompt{name: fmt.Sprintf("%s-%d", pick(random, contextThings), i), content: strings.Repeat("Look at the "+pick(random, contextThings)+" first. ", 1+random.IntN(20))}
		if random.IntN(5) > 0 {
			k.description = "Helps with " + pick(random, contextAreas)
		}
		p.prompts = append(p.prompts, k)
	}
}

// exported returns the prompts as a file of import_project.
func (p *contextProject) exported() members {
	var prompts []members
	for _, k := range p.prompts {
		m := members{"name": k.name, "content": k.content}
		if k.description != "" {
			m["description"] = k.description
		}
		prompts = append(prompts, m)
	}
	return members{"format": "mcpkg-project", "version": 1, "name": "orchard", "prompts": prompts, "resources": []any{}}
}
