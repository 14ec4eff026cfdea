package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// example returns a remedy that names the line to write into the plugin's table of the config.
func example(format string, args ...any) string {
	return fmt.Sprintf("write "+format+" for the plugin in "+config.FileName, args...)
}

func (q *inquiry) directories() {
	for _, f := range q.m.Capabilities.FS {
		item := Item{Kind: Folder, What: f.Path, Access: string(f.Access), Why: f.Why, Optional: f.Optional}
		dir, missing := q.places.Resolve(f.Path, q.m.Name)
		place := q.placeOf(Folder, dir, missing)
		item.Words = accessWords(f.Access) + q.describePath(f.Path, place)
		variable, _, _ := manifest.SplitPath(f.Path)
		switch {
		case variable == manifest.VarState:
			item.Words = "keep files in its own state directory, which every plugin has"
			q.add(item)
			continue
		case missing == "" && (q.places.Broad(dir) || place.Broad):
			item.Caution = "this is everything that you have"
			item.NotGiven = "too broad to grant with a yes: " + example("fs = [{ path = %s, access = %q }]", tomlfile.Text(f.Path), f.Access)
			if place.Refused != "" {
				item.NotGiven = place.Refused
			}
		case missing != "" && variable != manifest.VarProject:
			item.NotGiven = "its variable is unset"
		case place.Refused != "":
			item.NotGiven = place.Refused
		case variable == "" || variable == manifest.VarHome:
			item.Caution = "it is the same directory in every project"
		}
		if item.NotGiven == "" {
			q.giveDirectory(f)
		}
		q.add(item)
	}
}

// hidden copies the patterns of files that the plugin does not ask for to the entry, where the admin can change them.
func (q *inquiry) hidden() {
	if q.entry.Deny = slices.Clone(q.m.Capabilities.Deny); len(q.entry.Deny) > 0 {
		q.add(Item{Kind: Folder, What: "deny", Words: "see none of the files that match " + strings.Join(q.entry.Deny, ", ") + " there"})
	}
}

// giveDirectory adds a directory to the entry. If the entry already has that directory, the higher access of the two counts.
func (q *inquiry) giveDirectory(f manifest.FS) {
	given := manifest.FS{Path: f.Path, Access: q.granted(f.Access)}
	for i, have := range q.entry.FS {
		if have.Path == given.Path {
			if given.Access == manifest.ReadWrite {
				q.entry.FS[i] = given
			}
			return
		}
	}
	q.entry.FS = append(q.entry.FS, given)
}

func accessWords(a manifest.Access) string {
	if a == manifest.ReadWrite {
		return "read, change and delete everything in "
	}
	return "read everything in "
}

// placeOf resolves the path dir. missing is the variable that the path contains if that variable is unset; otherwise it is empty.
func (q *inquiry) placeOf(kind, dir, missing string) Place {
	if missing != "" {
		return Place{}
	}
	return q.resolver.resolve(kind, dir, nil)
}

// describePath formats a path, followed by the value of its variable and by the resolved path.
func (q *inquiry) describePath(path string, place Place) string {
	variable, _, _ := manifest.SplitPath(path)
	dir, missing := q.places.Resolve(path, q.m.Name)
	switch {
	case variable == "":
		return path + place.Arrow(dir)
	case missing != "":
		return path + " (unset here)"
	}
	return fmt.Sprintf("%s (here %s)", path, dir+place.Arrow(dir))
}

func (q *inquiry) repositories() {
	for _, g := range q.m.Capabilities.Git {
		given := manifest.Git{Repo: g.Repo, Access: q.granted(g.Access)}
		item := Item{Kind: Repository, What: g.Repo, Access: string(g.Access)}
		dir, missing := q.places.Resolve(g.Repo, q.m.Name)
		var place Place
		if g.Repo != manifest.Any {
			place = q.placeOf(Repository, dir, missing)
		}
		where := "the git repository " + q.describePath(g.Repo, place)
		if g.Repo == manifest.Any {
			where = "any git repository"
			item.NotGiven = "name the repositories: " + example(`git = [{ repo = "/path/to/it", access = %q }]`, given.Access)
		} else if missing == "" && (q.places.Broad(dir) || place.Broad) {
			item.Caution = "this is every repository that you have"
			item.NotGiven = "too broad to grant with a yes: " + example(`git = [{ repo = "/path/to/it", access = %q }]`, given.Access)
		}
		if place.Refused != "" {
			item.NotGiven = place.Refused
		}
		item.Words = "read the whole history of " + where
		switch g.Access {
		case manifest.ReadWrite:
			item.Words += ", and create branches with a commit in it"
		case manifest.Commit:
			item.Words += ", and stage files, commit on its current branch and create branches in it"
		}
		if len(g.Remotes) > 0 {
			given.Remotes = q.remotes(g, &item)
		}
		if item.NotGiven == "" {
			q.giveRepository(given)
		}
		q.add(item)
	}
}

// remotes returns the remotes of g that consent grants. It adds all requested remotes to item.Words.
func (q *inquiry) remotes(g manifest.Git, item *Item) []string {
	var named []string
	for _, r := range g.Remotes {
		if r != manifest.Any {
			named = append(named, r)
			continue
		}
		item.Caution = "only the remotes that you name in remotes = [\"https://…\"] of the repository are granted"
	}
	words := slices.Clone(named)
	if len(named) < len(g.Remotes) {
		words = append(words, "any remote that you name")
	}
	item.Words += "; list and fetch from " + strings.Join(words, ", ")
	return named
}

// giveRepository adds a repository to the entry. If the entry already has that repository, it gets the union of both grants.
func (q *inquiry) giveRepository(given manifest.Git) {
	for i := range q.entry.Git {
		have := &q.entry.Git[i]
		if have.Repo != given.Repo {
			continue
		}
		if given.Access.Covers(have.Access) {
			have.Access = given.Access
		}
		for _, r := range given.Remotes {
			if !slices.Contains(have.Remotes, r) {
				have.Remotes = append(have.Remotes, r)
			}
		}
		return
	}
	q.entry.Git = append(q.entry.Git, given)
}

func (q *inquiry) origins() {
	for _, text := range q.m.Capabilities.HTTP {
		if text == manifest.Any {
			q.add(Item{Kind: Origin, What: text, Words: "send requests to any web server",
				NotGiven: "name the servers: " + example(`http = ["https://…"]`)})
			continue
		}
		if text == manifest.PublicWeb {
			q.publicWeb()
			continue
		}
		o, err := origin.Parse(text)
		if err != nil {
			continue // the manifest is invalid, so it is not reviewed
		}
		item := Item{Kind: Origin, What: text, Words: "send requests to " + o.String()}
		switch {
		case config.IsLocal(o.Host):
			item.Caution = "this is on this machine or its network"
			item.NotGiven = "a yes does not grant it: " + example("http = [{ origin = %q, private = true }]", o)
		case o.Scheme == "http":
			item.Caution = "not encrypted: anyone on the network path can read and change it"
		}
		if item.NotGiven == "" {
			q.entry.HTTP = append(q.entry.HTTP, config.HTTP{Origin: o})
		}
		q.add(item)
	}
}

// publicWeb adds the request for the public web, which consent grants only together with Choice.PublicWeb.
func (q *inquiry) publicWeb() {
	item := Item{Kind: Origin, What: manifest.PublicWeb, Words: "send requests to " + config.PublicWebWords,
		Caution: "it can pass on what it reads to anyone, and what it receives was written by anyone"}
	if q.choice.PublicWeb {
		q.entry.HTTP = append(q.entry.HTTP, config.HTTP{PublicWeb: true})
	} else {
		item.NotGiven = "a yes does not grant it: pass --public-web, or " + example("http = [%q]", manifest.PublicWeb)
	}
	q.add(item)
}

// questionWords describe what each kind of question lets a call do. In the review, each follows the word "may".
var questionWords = map[interaction.Kind]string{
	interaction.Elicitation: "ask you questions through the client",
	interaction.Sampling:    "have the client's model write for it, at your cost",
	interaction.Roots:       "ask the client which directories it works in",
}

func (q *inquiry) questions() {
	for _, kind := range q.m.Capabilities.Ask {
		q.entry.Ask = append(q.entry.Ask, kind)
		q.add(Item{Kind: Question, What: string(kind), Words: questionWords[kind]})
	}
}

func (q *inquiry) variables() {
	for _, name := range q.choice.Env {
		if q.entry.Env == nil {
			q.entry.Env = map[string]string{}
		}
		q.entry.Env[name] = "${env:" + name + "}"
	}
	for _, name := range q.m.Capabilities.Env {
		item := Item{Kind: Variable, What: name, Words: "know the value of the variable " + name}
		switch {
		case name == manifest.Any:
			item.Words = "know the value of any variable of the environment"
			item.NotGiven = "name the variables: pass --env NAME, or " + example(`env = { NAME = "…" }`)
		case !slices.Contains(q.choice.Env, name):
			item.NotGiven = fmt.Sprintf("pass --env %s, or %s", name, example(`env = { %s = "…" }`, name))
		}
		q.add(item)
	}
}
