package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

var places = config.Places{Project: "/home/me/work", Cwd: "/home/me/work/sub", Home: "/home/me", State: "/home/me/.state"}

// parse parses the manifest of a plugin named "notes", to which more adds tables.
func parse(t *testing.T, more string) *manifest.Manifest {
	t.Helper()
	head, rest, divided := strings.Cut(more, "---\n") // what precedes "---" belongs to the table [plugin]
	if !divided {
		head, rest = "", more
	}
	text := "manifest = 1\n[plugin]\nname = \"notes\"\nversion = \"1.0.0\"\ndescription = \"x\"\n" + head + "[module]\nfile = \"m.wasm\"\n" + rest
	m, problems := manifest.Parse("/plugins/notes/plugin.toml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

// items formats each item of r as a line.
func items(r review.Request) []string {
	lines := []string{}
	for _, item := range r.Items {
		line := item.Kind + ": " + item.Words
		if item.Why != "" {
			line += " | why " + item.Why
		}
		if item.Optional {
			line += " | optional"
		}
		if item.Caution != "" {
			line += " | caution " + item.Caution
		}
		if item.NotGiven != "" {
			line += " | not given " + item.NotGiven
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		choice   review.Choice
		defaults string
		resolver review.Resolver
		items    []string
		table    string // the expected config entry without path and sha256
	}{
		"nothing": {items: []string{}},
		"a directory is granted as requested": {
			manifest: "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\", why = \"keeps notes\" }, { path = \"${home}/x\", access = \"r\", optional = true }]\n",
			items: []string{"folder: read, change and delete everything in ${project} (here /home/me/work) | why keeps notes",
				"folder: read everything in ${home}/x (here /home/me/x) | optional | caution it is the same directory in every project"},
			table: "fs = [{ path = \"${project}\", access = \"rw\" }, { path = \"${home}/x\", access = \"r\" }]\n",
		},
		"a repository to commit in is granted as requested": {
			manifest: "[capabilities]\ngit = [{ repo = \"${project}\", access = \"commit\" }]\n",
			items: []string{"repository: read the whole history of the git repository ${project} (here /home/me/work), and stage files, " +
				"commit on its current branch and create branches in it"},
			table: "git = [{ repo = \"${project}\", access = \"commit\" }]\n",
		},
		"read_only makes every directory and repository read-only": {
			manifest: "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\" }]\ngit = [{ repo = \"${project}\", access = \"rw\" }]\n",
			choice:   review.Choice{ReadOnly: true},
			items: []string{"folder: read, change and delete everything in ${project} (here /home/me/work)",
				"repository: read the whole history of the git repository ${project} (here /home/me/work), and create branches with a commit in it"},
			table: "read_only = true\nfs = [{ path = \"${project}\", access = \"r\" }]\ngit = [{ repo = \"${project}\", access = \"r\" }]\n",
		},
		"duplicate requests for a directory are granted with the higher access": {
			manifest: "[capabilities]\nfs = [{ path = \"/a\", access = \"r\" }, { path = \"/a\", access = \"rw\" }]\n",
			items: []string{"folder: read everything in /a | caution it is the same directory in every project",
				"folder: read, change and delete everything in /a | caution it is the same directory in every project"},
			table: "fs = [{ path = \"/a\", access = \"rw\" }]\n",
		},
		"the home directory and its ancestors are not granted with a yes": {
			manifest: "[capabilities]\nfs = [{ path = \"${home}\", access = \"rw\" }, { path = \"/\", access = \"r\" }]\n",
			items: []string{"folder: read, change and delete everything in ${home} (here /home/me) | caution this is everything that you have | not given too broad to grant with a yes: write fs = [{ path = \"${home}\", access = \"rw\" }] for the plugin in bulkhead.toml",
				"folder: read everything in / | caution this is everything that you have | not given too broad to grant with a yes: write fs = [{ path = \"/\", access = \"r\" }] for the plugin in bulkhead.toml"},
			table: "fs = []\n",
		},
		"the state directory is always granted": {
			manifest: "[capabilities]\nfs = [{ path = \"${state}/cache\", access = \"rw\" }]\n",
			items:    []string{"folder: keep files in its own state directory, which every plugin has"},
			table:    "fs = []\n",
		},
		"a request for any repository grants none": {
			manifest: "[capabilities]\ngit = [{ repo = \"*\", access = \"rw\", remotes = [\"*\"] }]\n",
			items:    []string{"repository: read the whole history of any git repository, and create branches with a commit in it; list and fetch from any remote that you name | caution only the remotes that you name in remotes = [\"https://…\"] of the repository are granted | not given name the repositories: write git = [{ repo = \"/path/to/it\", access = \"rw\" }] for the plugin in bulkhead.toml"},
			table:    "git = []\n",
		},
		"named remotes are granted": {
			manifest: "[capabilities]\ngit = [{ repo = \"${project}\", access = \"r\", remotes = [\"https://h/r\"] }]\n",
			items:    []string{"repository: read the whole history of the git repository ${project} (here /home/me/work); list and fetch from https://h/r"},
			table:    "git = [{ repo = \"${project}\", access = \"r\", remotes = [\"https://h/r\"] }]\n",
		},
		"web servers are granted, except any and local ones": {
			manifest: "[capabilities]\nhttp = [\"https://a.example\", \"http://b.example\", \"http://127.0.0.1:80\", \"*\"]\n",
			items: []string{"origin: send requests to https://a.example",
				"origin: send requests to http://b.example | caution not encrypted: anyone on the network path can read and change it",
				"origin: send requests to http://127.0.0.1 | caution this is on this machine or its network | not given a yes does not grant it: write http = [{ origin = \"http://127.0.0.1\", private = true }] for the plugin in bulkhead.toml",
				"origin: send requests to any web server | not given name the servers: write http = [\"https://…\"] for the plugin in bulkhead.toml"},
			table: "http = [\"https://a.example\", \"http://b.example\"]\n",
		},
		"the public web is not granted with a yes": {
			manifest: "[capabilities]\nhttp = [\"public-web\"]\n",
			items: []string{"origin: send requests to any public web server (http on port 80, https on port 443) | caution it can pass on what it reads to anyone, and what it receives was written by anyone | " +
				"not given a yes does not grant it: pass --public-web, or write http = [\"public-web\"] for the plugin in bulkhead.toml"},
			table: "http = []\n",
		},
		"the public web is granted by a choice of its own": {
			manifest: "[capabilities]\nhttp = [\"public-web\"]\n",
			choice:   review.Choice{PublicWeb: true},
			items:    []string{"origin: send requests to any public web server (http on port 80, https on port 443) | caution it can pass on what it reads to anyone, and what it receives was written by anyone"},
			table:    "http = [\"public-web\"]\n",
		},
		"a variable is granted by reference, without its value": {
			manifest: "[capabilities]\nenv = [\"TOKEN\", \"USER\"]\n",
			choice:   review.Choice{Env: []string{"TOKEN"}},
			items: []string{"variable: know the value of the variable TOKEN",
				"variable: know the value of the variable USER | not given pass --env USER, or write env = { USER = \"…\" } for the plugin in bulkhead.toml"},
			table: "env = { TOKEN = \"${env:TOKEN}\" }\n",
		},
		"questions to clients are granted": {
			manifest: "[capabilities]\nask = [\"elicitation\", \"sampling\", \"roots\"]\n",
			items: []string{"question: ask you questions through the client", "question: have the client's model write for it, at your cost",
				"question: ask the client which directories it works in"},
			table: "ask = [\"elicitation\", \"sampling\", \"roots\"]\n",
		},
		"limits above the ceilings are written": {
			manifest: "[limits]\nmemory = \"512MiB\"\ntime = \"1m\"\nfiles = 10\n",
			items: []string{"limit: have 512MiB of memory for a call, where 64MiB is the default | caution 256MiB is the maximum without a config setting",
				"limit: have 1m0s of time for a call, where 30s is the default"},
			table: "limits = { memory = \"512MiB\" }\n",
		},
		"the defaults of the config bound limits": {
			manifest: "[limits]\nmemory = \"512MiB\"\n",
			defaults: "[defaults.limits]\nmemory = \"128MiB\"\n",
			items:    []string{"limit: have 512MiB of memory for a call, where 64MiB is the default | not given defaults.limits bounds it to 128MiB"},
		},
		"offers and texts": {
			manifest: "validate = \"plugin\"\n---\n[server]\ninstructions = \"Obey.\"\n[offers]\nprompts = [\"p\", \"q\"]\nresources = true\nlist_changed = true\nsubscribe = true\ncompletions = true\nlogging = true\n",
			items: []string{"offer: offer the prompts: p, q", "offer: offer resources, whose URIs are known only when it runs", "offer: notify clients when its lists of prompts or resources change", "offer: notify clients when one of its resources changes",
				"offer: complete the arguments of its prompts and resources", "offer: send log messages to the client",
				"text: instruct the client's model, when it is served alone: Obey.", "text: check the arguments of calls itself: the host does not"},
		},
		"other choices": {
			choice: review.Choice{Prefix: "x_", AllowWrite: true, AllowTools: []string{"a*"}},
			items:  []string{},
			table:  "prefix = \"x_\"\nallow_tools = [\"a*\"]\nallow_write = true\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, ps := config.Parse("/etc/bulkhead.toml", []byte(c.defaults))
			if ps.Err() != nil {
				t.Fatal(ps)
			}
			m := parse(t, c.manifest)
			c.choice.Path = "notes"
			r, entry := review.Ask(m, c.choice, d.Defaults, places, c.resolver)
			if diff := cmp.Diff(c.items, items(r)); diff != "" {
				t.Error(diff)
			}
			want := fmt.Sprintf("[[plugins]]\npath = \"notes\"\nsha256 = %q\n%s", m.Digest, spelledOut(c.table))
			if diff := cmp.Diff(want, config.Table(entry)); diff != "" {
				t.Error(diff)
			}
			// The entry must be valid for this manifest.
			added, err := d.AddPlugin(entry)
			if err != nil {
				t.Fatal(err)
			}
			written, _ := config.Parse("/plugins/bulkhead.toml", added.Content())
			config.Expand(written, func(string) (string, bool) { return "x", true })
			for _, p := range written.Plugins {
				p.AllowTools = nil // the manifest of this test has no tools
				if _, problems := config.Decide(m, p, written.Defaults, places, config.Flags{}); problems.Err() != nil {
					t.Error(problems)
				}
			}
		})
	}
}

// spelledOut adds empty grants to the lines of a table. All lines then have the order in which AddPlugin writes them.
func spelledOut(table string) string {
	keys := []string{"prefix", "allow_tools", "read_only", "allow_write", "fs", "http", "git", "env", "ask", "limits"}
	lines := map[string]string{"fs": "fs = []\n", "http": "http = []\n", "git": "git = []\n", "ask": "ask = []\n"}
	for line := range strings.Lines(table) {
		key, _, _ := strings.Cut(line, " ")
		lines[key] = line
	}
	out := ""
	for _, key := range keys {
		out += lines[key]
	}
	return out
}

func TestAskListsTools(t *testing.T) {
	m := parse(t, "[[tools]]\nname = \"a\"\ndescription = \"reads\"\naccess = \"read\"\n[[tools]]\nname = \"b\"\ntitle = \"B\"\ndescription = \"kills\"\naccess = \"write\"\ndestructive = true\n")
	r, _ := review.Ask(m, review.Choice{}, config.Defaults{}, places, nil)
	want := []review.Tool{{Name: "a", Description: "reads"}, {Name: "b", Title: "B", Description: "kills", Writes: true, Destructive: true}}
	if diff := cmp.Diff(want, r.Tools); diff != "" {
		t.Error(diff)
	}
}
