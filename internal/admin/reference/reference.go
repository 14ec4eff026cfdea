// Package reference recognizes the reference servers of MCP in the entries of clients, and says with which grants a plugin replaces
// each. It reads no files: an entry is untrusted input, and package client decides what is replaced, with the user's consent. Start
// with Recognize.
//
// An entry is replaced only if all of it is understood. Anything else, such as an unknown option, is a reason in Server.Left.
package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Entry is how a client starts a server.
type Entry struct {
	Command string
	Args    []string
	Env     map[string]string
}

// System is what paths and variables of an entry refer to.
type System struct {
	Windows bool
	// Variables maps what the client replaces in an entry, such as ${workspaceFolder}, to the variable of a config, such as ${project}.
	Variables map[string]string
	// Expands are the strings that begin a variable of the client. A value with another variable than those of Variables is not understood.
	Expands []string
	// Base is the directory to which relative paths refer, as a path of a config; empty if it is unknown.
	Base string
}

// Grants are what a plugin needs to replace servers.
type Grants struct {
	FS        []manifest.FS // paths as in a config, absolute or with a variable; those of a plugin for repositories are repositories
	PublicWeb bool
	Env       map[string]string // variables of the plugin, with values as in the entry
}

// Add adds the grants of another server that the same plugin replaces. It returns the name of a variable whose values differ, and
// then adds nothing; otherwise it returns an empty string.
func (g *Grants) Add(other Grants) (conflict string) {
	for name, value := range other.Env {
		if have, ok := g.Env[name]; ok && have != value {
			return name
		}
	}
	for _, f := range other.FS {
		if i := slices.IndexFunc(g.FS, func(have manifest.FS) bool { return have.Path == f.Path }); i < 0 {
			g.FS = append(g.FS, f)
		} else if f.Access == manifest.ReadWrite {
			g.FS[i].Access = f.Access
		}
	}
	g.PublicWeb = g.PublicWeb || other.PublicWeb
	if g.Env == nil {
		g.Env = map[string]string{}
	}
	maps.Copy(g.Env, other.Env)
	return ""
}

// Server is a recognized reference server, and the grants of the plugin that replaces it.
type Server struct {
	Plugin   string `json:"plugin"`   // name of the plugin
	Replaces string `json:"replaces"` // name of the package of the reference server
	Grants   `json:"-"`
	Writes   []string `json:"-"` // its tools that the plugin need not have
	// Lost are differences that the user should know, none of which prevents the replacement.
	Lost []string `json:"lost,omitempty"`
	// Left are the reasons why the entry cannot be replaced; nil if it can. Recognize then returns no grants. No reason contains a value
	// of a variable.
	Left []string `json:"left,omitempty"`
}

// Lose adds a difference that the user should know.
func (s *Server) Lose(format string, args ...any) {
	s.Lost = append(s.Lost, fmt.Sprintf(format, args...))
}

// Leave adds a reason why the entry cannot be replaced, which names the argument or variable and says what to do about it.
func (s *Server) Leave(format string, args ...any) {
	if why := fmt.Sprintf(format, args...); !slices.Contains(s.Left, why) {
		s.Left = append(s.Left, why)
	}
}

// The names by which an entry names a server. The group of each is the name of the plugin.
var (
	// npmPackage has a version, range or tag after @. What npm reads there as a file, a URL or the name of another package is no match.
	npmPackage  = compiledLater(`^@modelcontextprotocol/server-(filesystem|memory)(?:@(?:[A-Za-z][A-Za-z0-9_-]*|[\^~<>=v]{0,3}[0-9x*]+(?:\.[0-9x*]+){0,2}(?:-[0-9A-Za-z-]+(?:\.[0-9]+)*)?)?)?$`)
	pypiPackage = compiledLater(`(?i)^mcp[-_.]+server[-_.]+(git|fetch|time)(?:\[[a-z0-9._,-]*\])?(?:(?:@|[<>=!~]=|[<>])[a-z0-9.*+!,<>=~-]*)?$`)
	program     = compiledLater(`^mcp-server-(filesystem|memory|git|fetch|time)$`)
	module      = compiledLater(`^mcp_server_(git|fetch|time)$`)
	image       = compiledLater(`^(?:docker\.io/)?mcp/(filesystem|memory|git|fetch|time)(?:[:@].*)?$`)
	// script is a JavaScript file of the package, or of a checkout of the reference servers.
	script = compiledLater(`(?:/@modelcontextprotocol/server-|/servers/src/)(filesystem|memory)/dist/index\.js$`)
)

// find returns the plugin for a name of a server, empty if it is none.
func find(names *pattern, name string) string {
	if m := names.get().FindStringSubmatch(name); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// packageOf returns the package of the reference server that a plugin replaces.
func packageOf(plugin string) string {
	if name := "@modelcontextprotocol/server-" + plugin; npmPackage.get().MatchString(name) {
		return name
	}
	return "mcp-server-" + plugin
}

// maxArgs bounds the arguments of an entry, which may come from a checkout, in bytes.
const maxArgs = 64 << 10

// Recognize returns the reference server that an entry starts, or nil if it starts something else.
func Recognize(e Entry, on System) *Server {
	start, size := start{}, 0
	for _, arg := range e.Args {
		size += len(arg) + 1
	}
	if size > maxArgs {
		start.unknown = fmt.Sprintf("its arguments have more than %d bytes", maxArgs)
	} else if start = launch(e.Command, e.Args, on); start.plugin == "" && start.unknown == "" {
		start.unknown = "its arguments before the package are not known"
	}
	if start.unknown != "" {
		if start.plugin = mentioned(e.Args, on); start.plugin == "" {
			return nil
		}
		return &Server{Plugin: start.plugin, Replaces: packageOf(start.plugin), Left: []string{start.unknown}}
	}
	r := reader{Server: &Server{Plugin: start.plugin, Replaces: packageOf(start.plugin)}, start: start, env: e.Env, on: on}
	if r.container {
		r.readContainer()
	}
	r.environment()
	if servers[r.Plugin](&r); len(r.Left) > 0 {
		r.Grants, r.Lost = Grants{}, nil
	}
	return r.Server
}

// mentioned returns the plugin for a server that an argument names, or an empty string: the user should hear of an entry that is left.
func mentioned(args []string, on System) string {
	for _, arg := range args {
		for word := range strings.FieldsFuncSeq(arg, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=;&|", r) }) {
			name, _, _ := strings.Cut(word[1:], "@")
			for _, names := range []*pattern{npmPackage, pypiPackage, program, module, image, script} {
				if plugin := cmp.Or(find(names, slashes(word, on)), find(names, word[:1]+name)); plugin != "" {
					return plugin
				}
			}
		}
	}
	return ""
}
