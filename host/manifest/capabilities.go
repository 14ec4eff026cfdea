package manifest

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Any stands, in what a manifest asks for, for whatever the admin names.
const Any = "*"

// The variables that a path may begin with.
const (
	VarProject = "project"
	VarCwd     = "cwd"
	VarHome    = "home"
	VarState   = "state"
)

func (m *Manifest) readCapabilities(t *tomlfile.Table) {
	m.Capabilities.FS = ReadFS(t, "fs")
	for _, g := range t.Tables("git") {
		m.Capabilities.Git = append(m.Capabilities.Git, readGit(g))
	}
	m.Capabilities.HTTP = t.Strings("http")
	for i, origin := range m.Capabilities.HTTP {
		if err := checkOrigin(origin); err != nil {
			t.FaultItem("http", i, fmt.Sprintf("%s %v", tomlfile.Quote(origin), err),
				`write scheme, host and, if need be, port: "https://registry.example.com"; or "*"`)
		}
	}
	pending(t, "http", len(m.Capabilities.HTTP) > 0)
	m.Capabilities.Env = t.Strings("env")
	for i, name := range m.Capabilities.Env {
		if name == Any {
			continue
		}
		if err := CheckEnv(name); err != nil {
			t.FaultItem("env", i, fmt.Sprintf("%s %v", tomlfile.Quote(name), err), "")
		}
		if slices.Index(m.Capabilities.Env, name) < i {
			t.FaultItem("env", i, "is there twice", "remove one")
		}
	}
}

// ReadFS reads the array of folders at key, each {path, access, optional, why}: nil if absent, not nil if
// empty.
func ReadFS(t *tomlfile.Table, key string) []FS {
	if !t.Has(key) {
		return nil
	}
	out := []FS{}
	for _, f := range t.Tables(key) {
		entry := FS{
			Path:     f.Required("path", `write path = "${project}", or another folder`),
			Access:   readAccess(f),
			Optional: f.Bool("optional", false),
			Why:      f.String("why"),
			Line:     f.Line(),
		}
		if _, _, err := SplitPath(entry.Path); entry.Path != "" && err != nil {
			f.Fault("path", fmt.Sprintf("%s %v", tomlfile.Quote(entry.Path), err), pathRemedy)
		}
		out = append(out, entry)
	}
	return out
}

const pathRemedy = "write an absolute path, or one that begins with ${project}, ${cwd}, ${home} or ${state}"

// readAccess has no default, since both of them would surprise somebody.
func readAccess(t *tomlfile.Table) Access {
	if !t.Has("access") {
		t.Fault("access", "is missing", `write access = "r" or access = "rw"`)
		return Read
	}
	return Access(t.OneOf("access", string(Read), string(ReadWrite)))
}

func readGit(t *tomlfile.Table) Git {
	g := Git{
		Repo:    t.Required("repo", `write repo = "${project}", another folder, or "*"`),
		Access:  readAccess(t),
		Remotes: t.Strings("remotes"),
		Line:    t.Line(),
	}
	if g.Repo != "" && g.Repo != Any {
		if _, _, err := SplitPath(g.Repo); err != nil {
			t.Fault("repo", fmt.Sprintf("%s %v", tomlfile.Quote(g.Repo), err), pathRemedy+`, or "*"`)
		}
	}
	for i, r := range g.Remotes {
		u, err := url.Parse(r)
		if r != Any && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
			t.FaultItem("remotes", i, fmt.Sprintf("%s is not an https URL", tomlfile.Quote(r)),
				`write "https://host/path" without user and password, or "*"`)
		}
	}
	pendingAs(t, "capabilities.git.access", "access", g.Access == ReadWrite)
	pendingAs(t, "capabilities.git.remotes", "remotes", len(g.Remotes) > 0)
	return g
}

// SplitPath checks a path as manifests and configs write them and takes it apart: the name of the
// variable that it begins with ("" for an absolute path) and the clean rest, which begins with a slash or
// is empty.
func SplitPath(p string) (variable, rest string, err error) {
	switch {
	case strings.ContainsRune(p, 0):
		return "", "", errors.New("holds a NUL byte")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", "", errors.New(`leads upward by ".."`)
	}
	if after, ok := strings.CutPrefix(p, "${"); ok {
		name, rest, closed := strings.Cut(after, "}")
		switch {
		case !closed || !slices.Contains([]string{VarProject, VarCwd, VarHome, VarState}, name):
			return "", "", errors.New("begins with an unknown variable")
		case rest != "" && rest[0] != '/':
			return "", "", errors.New("has no slash behind its variable")
		}
		variable, p = name, rest
	}
	switch {
	case strings.Contains(p, "${"):
		return "", "", errors.New("has a variable that is not at the beginning")
	case variable == "" && !strings.HasPrefix(p, "/"):
		return "", "", errors.New("is not absolute")
	}
	p = path.Clean("/" + p)
	if p == "/" && variable != "" {
		p = ""
	}
	return variable, p, nil
}

var envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckEnv tells why name cannot be granted as an environment variable.
func CheckEnv(name string) error {
	switch {
	case !envPattern.MatchString(name):
		return errors.New("is not the name of a variable: use letters, digits and _, not beginning with a digit")
	case name == "PWD" || strings.HasPrefix(name, "BULKHEAD_"):
		return errors.New("is set by the host for every plugin: remove it")
	}
	return nil
}

func checkOrigin(origin string) error {
	if origin == Any {
		return nil
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("is not the origin of an http or https URL")
	case u.Path != "" || strings.ContainsAny(origin, "?#@") || strings.HasSuffix(origin, ":"):
		return errors.New("has more than an origin has")
	}
	return nil
}
