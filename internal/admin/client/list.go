package client

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// Status describes one file of a client and the entries in it that start Bulkhead, or have its URL.
type Status struct {
	Client    string  `json:"client"`
	Title     string  `json:"title"`
	Installed bool    `json:"installed"`
	Scope     Scope   `json:"scope"`
	File      string  `json:"file"`
	Exists    bool    `json:"exists"`
	Problem   string  `json:"problem,omitempty"` // why the file cannot be read
	Entries   []Found `json:"entries"`
}

// Healthy reports whether neither the file nor an entry has a problem.
func (s Status) Healthy() bool {
	return s.Problem == "" && !slices.ContainsFunc(s.Entries, func(f Found) bool { return len(f.Problems) > 0 })
}

// Found is an entry that starts Bulkhead, or has its URL.
type Found struct {
	Name string `json:"name"`
	Entry
	Problems []string `json:"problems,omitempty"`
}

// List returns the entries of the clients that start Bulkhead or have its URL, in the files of the user and of the project, if there is one.
func List(s System, which []*Client) []Status {
	if len(which) == 0 {
		which = clients
	}
	var all []Status
	for _, c := range which {
		for _, scope := range []Scope{UserScope, ProjectScope} {
			// A client without a file of this scope is left out.
			if path, err := c.file(s, scope, DefaultName); err == nil {
				all = append(all, c.status(s, scope, path))
			}
		}
	}
	return all
}

func (c *Client) status(s System, scope Scope, path string) Status {
	st := Status{Client: c.ID, Title: c.Title, Installed: c.installed(s), Scope: scope, File: path, Entries: []Found{}}
	file, err := userfile.Read(path, c.format.read)
	if err != nil {
		st.Problem = err.Error()
		return st
	}
	st.Exists = file.Exists
	doc, err := c.format.decode(path, file.Data)
	if err != nil {
		st.Problem = err.Error()
		return st
	}
	servers := c.servers(doc)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		fields, _ := servers[name].(object)
		entry, ok := c.read(fields)
		if now := (current{name: name, entry: entry, isEntry: ok}); now.ours(s) {
			problems := c.check(s, fields, entry)
			if entry.URL == "" {
				entry.Args = redact(entry.Args)
			}
			st.Entries = append(st.Entries, Found{Name: name, Entry: entry, Problems: problems})
		}
	}
	return st
}

// check returns what is wrong with an entry. It does not connect to a URL.
func (c *Client) check(s System, fields object, e Entry) []string {
	var problems []string
	if e.URL == "" {
		problems = c.checkCommand(s, e)
	}
	disabled, _ := fields["disabled"].(bool)
	if enabled, ok := fields["enabled"].(bool); disabled || ok && !enabled {
		problems = append(problems, "is disabled")
	}
	return problems
}

// checkCommand returns what is wrong with the command of an entry.
func (c *Client) checkCommand(s System, e Entry) []string {
	var problems []string
	command := e.Command
	if !strings.Contains(command, "/") {
		if found, err := s.LookPath(command); err == nil {
			command = found
		}
	}
	if !sameProgram(command, s.Program) {
		what := "starts %s instead of this program, %s"
		if info, err := os.Stat(e.Command); filepath.IsAbs(e.Command) && (err != nil || info.IsDir()) {
			what = "starts %s, which does not exist; this program is %s"
		}
		problems = append(problems, fmt.Sprintf(what, e.Command, s.Program))
	}
	if !slices.Contains(e.Args, "serve") {
		problems = append(problems, "does not run serve")
	}
	for _, flag := range []string{"--config", "--plugins", "--project"} {
		value := flagValue(e.Args, flag)
		if value == "" || IsVariable(value) {
			continue
		}
		if !filepath.IsAbs(value) {
			problems = append(problems, fmt.Sprintf("%s %s is not an absolute path", flag, value))
		} else if !s.exists(value) {
			problems = append(problems, fmt.Sprintf("%s %s does not exist", flag, value))
		}
	}
	return problems
}

// flagValue returns the value of a flag, "" if it is absent.
func flagValue(args []string, flag string) string {
	for i, arg := range args {
		if arg == flag && i+1 < len(args) {
			return args[i+1]
		}
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
	}
	return ""
}
