package manifest

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Any stands for any name. A manifest that requests Any requests whatever the admin names in the config.
const Any = "*"

// PublicWeb, as an item of http, stands for every origin that has its scheme's default port and a host with public addresses only. Any
// does not include it: a manifest requests it by this name, and only a config that has this name grants it.
const PublicWeb = "public-web"

// Names of the variables with which a path may begin.
const (
	VarProject = "project"
	VarCwd     = "cwd"
	VarHome    = "home"
	VarState   = "state"
)

func (m *Manifest) readCapabilities(t *tomlfile.Table) {
	m.Capabilities.FS = ReadFS(t, "fs", checkRequestedPath)
	m.Capabilities.Git = ReadGit(t, "git", checkRequestedRepo)
	m.Capabilities.Deny = ReadDeny(t)
	if t.Has("deny") {
		m.Capabilities.DenyLine = t.LineOf("deny")
	}
	m.readOrigins(t)
	m.Capabilities.Ask = ReadAsk(t)
	if t.Has("ask") {
		m.Capabilities.AskLine = t.LineOf("ask")
	}
	m.Capabilities.Env = t.Distinct("env", func(name string) (what, remedy string) {
		if err := CheckEnv(name); name != Any && err != nil {
			what = fmt.Sprintf("%s %v", tomlfile.Quote(name), err)
		}
		return what, ""
	})
}

// ReadAsk reads the array ask of t, which lists what calls may ask clients for. It returns nil if the key is absent, and an empty
// slice that is not nil if the array is empty.
func ReadAsk(t *tomlfile.Table) []interaction.Kind {
	if !t.Has("ask") {
		return nil
	}
	out := []interaction.Kind{}
	for i, name := range t.Strings("ask") {
		kind := interaction.Kind(name)
		switch {
		case !slices.Contains(interaction.Kinds, kind):
			t.FaultItem("ask", i, fmt.Sprintf("%s is not something that a client can be asked for", tomlfile.Quote(name)), `write "elicitation", "sampling" or "roots"`)
		case slices.Contains(out, kind):
			t.FaultItem("ask", i, "is a duplicate", "remove one")
		default:
			out = append(out, kind)
		}
	}
	return out
}

func (m *Manifest) readOrigins(t *tomlfile.Table) {
	m.Capabilities.HTTP = t.Strings("http")
	m.Capabilities.HTTPLine = t.LineOf("http")
	seen := map[string]bool{}
	for i, text := range m.Capabilities.HTTP {
		name := text
		if text != Any && text != PublicWeb {
			o, err := origin.Parse(text)
			if err != nil {
				t.FaultItem("http", i, fmt.Sprintf("%s %v", tomlfile.Quote(text), err),
					`write scheme, host and, if need be, port: "https://registry.example.com"; or "*" or "public-web"`)
				continue
			}
			name = o.String()
		}
		if seen[name] {
			t.FaultItem("http", i, "is a duplicate", "remove one")
		}
		seen[name] = true
	}
}

// ReadFS reads the array of directories at key, each a table {path, access, optional, why}. It returns nil if the key is absent,
// and an empty slice that is not nil if the array is empty. check validates each path.
func ReadFS(t *tomlfile.Table, key string, check func(path string) error) []FS {
	if !t.Has(key) {
		return nil
	}
	out := []FS{}
	for _, f := range t.Tables(key) {
		entry := FS{
			Path:     f.Required("path", `write path = "${project}", or another directory`),
			Access:   readAccess(f, Read, ReadWrite),
			Optional: f.Bool("optional", false),
			Why:      f.String("why"),
			Line:     f.Line(),
		}
		if err := check(entry.Path); entry.Path != "" && err != nil {
			f.Fault("path", fmt.Sprintf("%s %v", tomlfile.Quote(entry.Path), err), pathRemedy)
		}
		out = append(out, entry)
	}
	return out
}

// pathRemedy is the remedy for a path that CheckPath refuses.
const pathRemedy = "write an absolute path, or one that begins with ${project}, ${cwd}, ${home} or ${state}"

// readAccess reads the key access, which is one of the values allowed. It has no default: the default "r" would break plugins silently, and "rw" would grant too much.
func readAccess(t *tomlfile.Table, allowed ...Access) Access {
	var names, remedies []string
	for _, a := range allowed {
		names, remedies = append(names, string(a)), append(remedies, fmt.Sprintf("access = %q", a))
	}
	if !t.Has("access") {
		t.Fault("access", "is missing", "write "+strings.Join(remedies, " or "))
		return Read
	}
	return Access(t.OneOf("access", names...))
}

// ReadGit reads the array of repositories at key, each a table {repo, access, remotes}. It returns nil if the key is absent, and an
// empty slice that is not nil if the array is empty. check validates each repo.
func ReadGit(t *tomlfile.Table, key string, check func(repo string) error) []Git {
	if !t.Has(key) {
		return nil
	}
	out := []Git{}
	for _, g := range t.Tables(key) {
		entry := Git{
			Repo:    g.Required("repo", `write repo = "${project}", or another directory`),
			Access:  readAccess(g, Read, ReadWrite, Commit),
			Remotes: g.Distinct("remotes", checkRemote),
			Line:    g.Line(),
		}
		if err := check(entry.Repo); entry.Repo != "" && err != nil {
			g.Fault("repo", fmt.Sprintf("%s %v", tomlfile.Quote(entry.Repo), err), pathRemedy)
		}
		out = append(out, entry)
	}
	return out
}

func checkRequestedRepo(repo string) error {
	if repo == Any {
		return nil
	}
	return checkRequestedPath(repo)
}

// checkRequestedPath is CheckPath for the paths of a manifest, and refuses invisible characters too, because an admin reviews these
// paths. CheckPath suffices for the paths of a config, which the admin writes.
func checkRequestedPath(p string) error {
	if !visible.Only(p) {
		return errors.New(invisible)
	}
	return CheckPath(p)
}

func checkRemote(remote string) (what, remedy string) {
	if !visible.Only(remote) {
		what = invisible
	} else if _, err := NormalizeRemote(remote); remote != Any && err != nil {
		what = err.Error()
	}
	return what, `write "https://host/path", or "*"`
}

// NormalizeRemote returns the URL of a remote repository in the form in which such URLs are compared. Its error does not contain the
// URL, which may contain a password.
func NormalizeRemote(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" {
		return "", errors.New("is not an https URL")
	}
	o, err := origin.Of(u)
	switch {
	case err != nil:
		return "", err
	case strings.ContainsAny(text, "?#"):
		return "", errors.New("has a query or a fragment")
	case strings.Trim(u.Path, "/") != "" && path.Clean(u.Path) != strings.TrimRight(u.Path, "/"):
		return "", errors.New(`has a path with "//", "." or ".."`)
	}
	return o.String() + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// CheckPath returns the error of SplitPath for p.
func CheckPath(p string) error {
	_, _, err := SplitPath(p)
	return err
}

// SplitPath validates a path of a manifest or config, and splits it into its leading variable and the rest. variable is the name of
// that variable; it is empty if p is an absolute path. rest is clean, and is empty or begins with a slash. If p is an absolute path,
// rest has the form of an absolute path of this system.
func SplitPath(p string) (variable, rest string, err error) {
	volume := filepath.VolumeName(p) // VolumeName returns an empty string except on Windows
	p = filepath.ToSlash(p[len(volume):])
	switch {
	case strings.ContainsRune(p, 0):
		return "", "", errors.New("contains a NUL byte")
	case len(volume) > len("C:"):
		return "", "", errors.New("is a network or device path: connect it to a drive")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", "", errors.New(`contains ".."`)
	}
	if after, ok := strings.CutPrefix(p, "${"); ok {
		name, rest, closed := strings.Cut(after, "}")
		switch {
		case !closed || !slices.Contains([]string{VarProject, VarCwd, VarHome, VarState}, name):
			return "", "", errors.New("begins with an unknown variable")
		case rest != "" && rest[0] != '/':
			return "", "", errors.New("has no slash after its variable")
		}
		variable, p = name, rest
	}
	switch {
	case strings.Contains(p, "${"):
		return "", "", errors.New("has a variable that is not at the beginning")
	case variable == "" && !filepath.IsAbs(volume+filepath.FromSlash(p)):
		return "", "", errors.New("is not absolute")
	}
	p = path.Clean("/" + p)
	if p == "/" && variable != "" {
		p = ""
	}
	if variable == "" {
		p = volume + filepath.FromSlash(p)
	}
	return variable, p, nil
}

// IsVariable reports whether name is a valid name of an environment variable.
func IsVariable(name string) bool {
	return name != "" && consistsOf(name[:1], lower+upper+"_") && consistsOf(name, lower+upper+digits+"_")
}

// Names of the variables that the host sets for every plugin.
const (
	EnvDirectory = "PWD"
	EnvProject   = "BULKHEAD_PROJECT"
	EnvState     = "BULKHEAD_STATE"
	EnvZoneInfo  = "BULKHEAD_ZONEINFO"
	EnvMemory    = "BULKHEAD_MEMORY"
)

// EnvDevelopment is the name of the variable that the host sets for a plugin that is being developed, so that an SDK reports what it would not
// report to users.
const EnvDevelopment = "BULKHEAD_DEVELOPMENT"

// SetByHost reports whether the host sets the variable called name for every plugin.
func SetByHost(name string) bool {
	return slices.Contains([]string{EnvDirectory, EnvProject, EnvState, EnvZoneInfo, EnvMemory}, name)
}

// CheckEnv returns an error if the environment variable called name cannot be granted.
func CheckEnv(name string) error {
	switch {
	case !IsVariable(name):
		return errors.New("is not a variable name: use letters, digits and _, not beginning with a digit")
	case name == EnvDirectory || strings.HasPrefix(name, "BULKHEAD_"):
		return errors.New("is set by the host for every plugin: remove it")
	}
	return nil
}
