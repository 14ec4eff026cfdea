// Package client adds the server to the configuration of MCP clients. Each client has its own file, format and shape, which the
// table in clients.go describes. Add and Remove compute a Change, which shows the difference; Change.Apply makes it, with the
// user's consent in between. List examines all clients.
//
// Files of clients contain credentials of other servers: no content of other entries is printed, and of Bulkhead's own
// entry only what this package writes. A file that cannot be parsed is never changed.
package client

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Scope says for whom an entry is: for the user in all projects, or for everyone in one project.
type Scope string

// The scopes.
const (
	UserScope    Scope = "user"
	ProjectScope Scope = "project"
)

// DefaultName is the default name of the entry in a client's file.
const DefaultName = "bulkhead"

// Client describes an MCP client.
type Client struct {
	ID    string // name of the client on the command line
	Title string

	programs []string                  // names of its programs; the client is installed if one of them is
	dirs     func(s System) []string   // its directories; the client is installed if one of them exists
	user     func(s System) []string   // possible files, in order of preference
	project  []string                  // possible files below the project, in order of preference; empty if not supported
	format   format                    // format of the files
	at       func(doc object) []string // path of the object of servers
	local    func(doc object) object   // objects of projects in the user's file, by path, each with servers as the file has them; nil if there are none
	shape    shape                     // shape of an entry that starts a program
	remote   *remote                   // shape of an entry with a URL
	expands  []string                  // strings that begin a variable in an entry
	places   map[string]string         // variables in an entry that a config has too, by the client's name
	// variable maps a scope to the variable that the client replaces with the project directory.
	variable map[Scope]string
	// elsewhere is set if the client does not start servers in the project directory.
	elsewhere bool
	own       *ownCommand // command of the client that edits its user file; nil if there is none, or if it would edit more than this entry
	next      map[Scope]string
}

// object is a decoded object of a file.
type object = map[string]any

// Entry is the command that a client starts as a server, or the URL of a server that runs.
type Entry struct {
	Command  string   `json:"command,omitempty"`
	Args     []string `json:"args,omitzero"`
	URL      string   `json:"url,omitempty"`
	TokenEnv string   `json:"token_env,omitempty"` // name of the variable with the bearer token; empty: the entry has none that is known
}

// satisfies reports whether the entry has what want has. An entry keeps a token that want does not mention, as it keeps other settings.
func (e Entry) satisfies(want Entry) bool {
	return e.Command == want.Command && slices.Equal(e.Args, want.Args) && e.URL == want.URL && (want.TokenEnv == "" || e.TokenEnv == want.TokenEnv)
}

// read returns the entry of fields.
func (c *Client) read(fields object) (Entry, bool) {
	if e, ok := c.shape.read(fields); ok {
		return e, true
	}
	return c.remote.read(fields)
}

// fields returns the fields of an entry.
func (c *Client) fields(e Entry) jsonfile.Object {
	if e.URL != "" {
		return c.remote.fields(e)
	}
	return c.shape.fields(e)
}

// shape converts an Entry with a command to the fields that a client expects, and back.
type shape struct {
	env    string // name of the field with the variables of a server
	fields func(e Entry) jsonfile.Object
	read   func(fields object) (Entry, bool)
}

// Find returns the client with an ID.
func Find(id string) (*Client, error) {
	for _, c := range clients {
		if c.ID == id {
			return c, nil
		}
	}
	return nil, usage.Errorf("there is no client %q: %s", id, usage.DidYouMean(id, IDs(), "the clients are "+strings.Join(IDs(), ", ")))
}

// IDs returns the IDs of all clients.
func IDs() []string {
	ids := make([]string, len(clients))
	for i, c := range clients {
		ids[i] = c.ID
	}
	return ids
}

// FindAll returns the clients with the IDs.
func FindAll(ids []string) ([]*Client, error) {
	var found []*Client
	for _, id := range ids {
		c, err := Find(id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	return found, nil
}

// Installed returns the clients that are installed and have a file of the scope.
func Installed(s System, scope Scope) []*Client {
	var found []*Client
	for _, c := range clients {
		if c.installed(s) && (scope == UserScope || len(c.project) > 0) {
			found = append(found, c)
		}
	}
	return found
}

func (c *Client) installed(s System) bool {
	for _, program := range c.programs {
		if _, err := s.LookPath(program); err == nil {
			return true
		}
	}
	return slices.ContainsFunc(c.dirs(s), s.exists)
}

// file returns the path of the client's file for a scope, or an error if the client has none. Of the possible files whose directory
// exists it is the first that has an entry with the name, else the first that exists, else the first.
func (c *Client) file(s System, scope Scope, name string) (string, error) {
	paths := c.user(s)
	if scope == ProjectScope {
		if len(c.project) == 0 {
			return "", usage.Errorf("%s does not support a configuration for each project: omit --scope project", c.Title)
		}
		if s.Project == "" {
			return "", usage.Errorf("there is no project: %s", s.NoProject)
		}
		paths = nil
		for _, p := range c.project {
			paths = append(paths, filepath.Join(s.Project, p))
		}
	}
	at := max(slices.IndexFunc(paths, func(p string) bool { return s.exists(filepath.Dir(p)) }), 0)
	best := paths[at]
	for _, p := range slices.Backward(paths[at:]) {
		if filepath.Dir(p) == filepath.Dir(best) && s.exists(p) {
			if best = p; c.hasEntry(p, name) {
				break
			}
		}
	}
	return best, nil
}

func (c *Client) hasEntry(path, name string) bool {
	data, err := c.format.read(path)
	if err != nil {
		return false
	}
	doc, err := c.format.decode(path, data)
	return err == nil && c.servers(doc)[name] != nil
}

// servers returns the entries in a decoded file.
func (c *Client) servers(doc object) object {
	for _, key := range c.at(doc) {
		doc, _ = doc[key].(object)
	}
	return doc
}

// Render returns the content of a client's file that contains only the given entry.
func (c *Client) Render(name string, e Entry) (string, error) {
	text, err := c.format.set(nil, append(c.at(nil), name), c.fields(e))
	return string(text), err
}

func checkName(name string) error {
	if !manifest.IsPortableName(name) {
		return usage.Errorf("--name: %q is not a name that all clients accept: use at most 64 letters, digits, _ and -", name)
	}
	return nil
}

// Serve contains the flags of serve in an entry.
type Serve struct {
	Config  string            // absolute path of the config; empty if the server is to discover it
	Plugins string            // absolute path of the directory of plugins
	Project string            // absolute path of the project, or a variable of the client
	Env     map[string]string // variables that the server passes to plugins, with values as in a config
}

// CheckPath returns an error unless path is a directory, or a file if isDir is false.
func CheckPath(path string, isDir bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case isDir && !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	case !isDir && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	}
	return nil
}

// IsVariable reports whether path is a variable that a client replaces.
func IsVariable(path string) bool {
	return strings.HasPrefix(path, "${") && strings.HasSuffix(path, "}")
}

// entry returns the entry that starts the program of the system.
func (c *Client) entry(s System, scope Scope, v Serve) (Entry, error) {
	if v.Project == "" {
		v.Project = c.variable[scope]
	}
	if v.Project == "" && c.elsewhere && scope == ProjectScope {
		v.Project = s.Project
	}
	e := Entry{Command: s.Program, Args: []string{"serve"}}
	for _, flag := range []struct{ name, value string }{{"--config", v.Config}, {"--plugins", v.Plugins}, {"--project", v.Project}} {
		if flag.value != "" {
			e.Args = append(e.Args, flag.name, flag.value)
		}
	}
	for _, value := range append([]string{s.Program}, e.Args...) {
		for _, begin := range c.expands {
			if strings.Contains(value, begin) && !IsVariable(value) {
				return e, usage.Errorf("%s would replace %s in %s: rename the directory, or use a symbolic link to it", c.Title, begin, value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		e.Args = append(e.Args, "--env", name+"="+c.ownPath(v.Env[name]))
	}
	return e, nil
}

// ownPath returns a path of a config with the client's name for its variable. Package reference leaves entries in whose paths other strings are
// variables of the client.
func (c *Client) ownPath(path string) string {
	for _, name := range slices.Sorted(maps.Keys(c.places)) {
		if rest, ok := strings.CutPrefix(path, c.places[name]); ok {
			return name + rest
		}
	}
	return path
}

// LacksProject reports whether the server would find no project: the client does not start it there, and the options name none.
func (c *Client) LacksProject(o Options) bool {
	return c.elsewhere && o.Scope == UserScope && o.Serve.Project == "" && o.URL == ""
}

// notes returns what the user should know about an entry.
func (c *Client) notes(e Entry) []string {
	var notes []string
	if e.URL != "" {
		if e.TokenEnv != "" {
			notes = append(notes, fmt.Sprintf("the file has no token: set the variable %s to it where %s is started", e.TokenEnv, c.Title))
		}
		return notes
	}
	if c.elsewhere && !slices.Contains(e.Args, "--project") {
		notes = append(notes, fmt.Sprintf("%s does not start servers in your project: pass --project DIR, or plugins get no project", c.Title))
	}
	if c.elsewhere && !slices.Contains(e.Args, "--config") && !slices.Contains(e.Args, "--plugins") {
		notes = append(notes, fmt.Sprintf("%s does not start servers where your bulkhead.toml is: pass --config FILE", c.Title))
	}
	return notes
}
